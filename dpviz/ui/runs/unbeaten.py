"""The runs that no other beats: none on the same data is as accurate at as little ε and δ, and better in one."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import ge

from dpviz.accounting.claims import Claim
from dpviz.runs.claims import claim_of_record
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.store import Store


@dataclass(frozen=True)
class RunResult:
    """A run with its accuracy on test data, a share, and its claim."""

    record: RunRecord
    accuracy: float
    claim: Claim

    @cached_property
    def goods(self) -> tuple[float, float, float]:
        """Accuracy, −ε and −δ: more of each is better. A run that claims nothing may have lost everything."""
        claim = self.claim
        return (self.accuracy, -claim.epsilon, -claim.delta) if claim.holds else (self.accuracy, -math.inf, -math.inf)

    def beats(self, other: "RunResult") -> bool:
        """Whether both protect the same unit of the same data, and this one is nowhere worse and somewhere better."""
        data = self.record.settings.get("data")  # which a watched run does not tell
        if self.accuracy < other.accuracy or data is None or data != other.record.settings.get("data"):
            return False
        if not self.protects_as(other):
            return False
        mine, its = self.goods, other.goods
        return mine != its and all(map(ge, mine, its))

    def protects_as(self, other: "RunResult") -> bool:
        """Whether both claims are about the same unit; one that claims nothing is about none."""
        return not (self.claim.holds and other.claim.holds) or self.claim.unit == other.claim.unit


def tested(records: Sequence[RunRecord], store: Store) -> list[RunResult]:
    """Those that were tested, in their order."""
    runs = []
    for record in records:
        accuracy = record.summary.get("test_accuracy")
        if isinstance(accuracy, float) and math.isfinite(accuracy):
            runs.append(RunResult(record, accuracy, claim_of_record(record, store)))
    return runs


def unbeaten(runs: Sequence[RunResult]) -> list[RunResult]:
    """Those that no other beats, the most accurate first."""
    kept = [run for run in runs if not any(other.beats(run) for other in runs)]
    return sorted(kept, key=lambda run: -run.accuracy)
