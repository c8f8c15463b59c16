"""Values of ε that an imported run recorded but that do not follow from its steps."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dpviz._remember import MEMORY
from dpviz.runs.store.records import IMPORTED_KIND, RunRecord
from dpviz.runs.store.store import Store

MISMATCH = "claims do not match"
IMPORTED = (
    "Imported from a file: its data, model, accuracy and the source of its noise are as the file states and were not "
    "checked. Every ε is recomputed from the mechanisms and distances in the file."
)
# Other processors and libraries round otherwise; a step costs far more than this.
_SAME = 1e-6


class Dispute(NamedTuple):
    """A recorded number that differs from the recomputed one.

    Attributes:
        what: in words, as "ε, Rényi, after step 12".
        recorded: what the file said.
        recomputed: what follows from mechanisms and distances; this is what is shown.
    """

    what: str
    recorded: float
    recomputed: float

    @property
    def words(self) -> str:
        return f"{self.what}: recorded {_number(self.recorded)}, recomputed {_number(self.recomputed)}"


def _number(value: float) -> str:
    return "∞" if value == math.inf else f"{value:.4g}"


def differ(recorded: Any, recomputed: float) -> bool:
    """Whether a recorded ε differs from the recomputed one; a missing ε never does."""
    if not isinstance(recorded, (int, float)) or recorded == recomputed:
        return False
    return not math.isclose(recorded, recomputed, rel_tol=_SAME, abs_tol=1e-9)


def disputes_of(record: RunRecord, store: Store) -> tuple[Dispute, ...]:
    """The differences of an imported run, which no longer change."""
    if not record.imported:
        return ()

    def read() -> tuple[Dispute, ...]:
        return of_event(store.digest(record.id).facts.get(IMPORTED_KIND, {}))

    return MEMORY.recall(("disputes", record.id), read)


def dispute_words(disputes: Sequence[Dispute]) -> str:
    """All of them in one sentence; empty where there is none."""
    if not disputes:
        return ""
    listed = "; ".join(dispute.words for dispute in disputes)
    return f"Its {MISMATCH} its steps: {listed}. The numbers shown are recomputed from its mechanisms and distances."


def of_event(data: Mapping[str, Any]) -> tuple[Dispute, ...]:
    """Those of an event of kind "imported"."""
    return tuple(Dispute(**entry) for entry in data.get("disputes", ()))
