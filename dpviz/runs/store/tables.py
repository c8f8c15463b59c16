"""Events as arrays: one row a step, whatever stretches the events came in.

>>> table = Columns()
>>> table.extend(2, {"loss": [2.3, None]})
>>> table.extend(1, {"loss": [1.9], "clipped": [0.5]})
>>> {name: values.tolist() for name, values in table.arrays().items()}
{'loss': [2.3, nan, 1.9], 'clipped': [nan, nan, 0.5]}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.runs.exchange.disputes import Dispute, of_event
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, IMPORTED_KIND, Event, RunRecord
from dpviz.training.events import covered, covered_part, titled

Array = npt.NDArray[np.float64]

# In a "step" event these are not one number a step.
_NOT_COLUMNS = ("kind", "step", "time", "first", "count", "mechanisms", "epsilon", "distances", "norms", "noise")


class Columns:
    """Columns of numbers that grow; rows that a column has no value for are NaN."""

    def __init__(self) -> None:
        self.rows = 0
        self._room = 64
        self._columns: dict[str, Array] = {}

    def extend(self, count: int, values: Mapping[str, Sequence[float | int | bool | None]]) -> None:
        """Add `count` rows; every list in `values` has that length.

        Raises:
            ValueError: if a list has another length, or holds what is no number.
        """
        fresh = {}
        for name, entries in values.items():
            try:
                found = np.array([np.nan if entry is None else entry for entry in entries], dtype=np.float64)
            except OverflowError:  # whole numbers that no float holds, which a program may well record
                found = np.array([np.nan if entry is None else _float(entry) for entry in entries])
            if found.shape != (count,):
                raise ValueError(f"Expected {name} with {count} numbers, found shape {found.shape}.")
            fresh[name] = found
        end = self.rows + count
        if end > self._room:
            # Into new memory: arrays handed out before stay as they are.
            self._room = max(2 * self._room, end)
            self._columns = {name: _longer(column, self.rows, self._room) for name, column in self._columns.items()}
        for name, found in fresh.items():
            if name not in self._columns:
                self._columns[name] = np.full(self._room, np.nan)
            self._columns[name][self.rows : end] = found
        self.rows = end

    def arrays(self) -> dict[str, Array]:
        """Read-only views of all columns, each (rows,); what comes later does not change them."""
        found = {}
        for name, column in self._columns.items():
            view = column[: self.rows]
            view.flags.writeable = False
            found[name] = view
        return found


def _longer(column: Array, rows: int, room: int) -> Array:
    found = np.full(room, np.nan)
    found[:rows] = column[:rows]
    return found


def _float(value: float) -> float:
    """The number itself, infinite where it is too large for a float."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, str)


def numbers(data: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of an event, those of dicts inside it as "epsilon.renyi"."""
    found: dict[str, float] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            found.update(numbers(value, f"{prefix}{key}."))
        elif _is_number(value):
            found[prefix + key] = _float(value)
    return found


def decode_mechanisms(stored: Iterable[Sequence[float]], count: int) -> tuple[Array, Array]:
    """σ and q of each of `count` steps from [[σ, q, count], …]; NaN where nothing was charged ([])."""
    triples = np.array(list(stored), dtype=np.float64).reshape(-1, 3)
    if triples.size == 0:
        return np.full(count, np.nan), np.full(count, np.nan)
    times = triples[:, 2].astype(np.int64)
    if times.sum() != count or (times < 1).any():
        raise ValueError(f"Expected mechanisms of {count} steps, found {int(times.sum())}.")
    return np.repeat(triples[:, 0], times), np.repeat(triples[:, 1], times)


def add_stretch(table: Columns, event: Event) -> None:
    """Add the steps of one "step" event: a stretch of steps, or a single step of plain numbers."""
    data = event.data
    if "first" not in data:
        single = {name: [value] for name, value in numbers(data).items()}
        table.extend(1, single)
        return
    count, first = int(data["count"]), int(data["first"])
    columns: dict[str, Sequence[float | None]] = {"step": list(range(first, first + count))}
    columns.update({name: value for name, value in data.items() if name not in _NOT_COLUMNS and _is_list(value)})
    columns.update({f"epsilon.{name}": value for name, value in (data.get("epsilon") or {}).items()})
    sigma, rate = decode_mechanisms(data.get("mechanisms") or [], count)
    columns["noise_multiplier"], columns["sample_rate"] = sigma.tolist(), rate.tolist()
    seconds = np.array(data.get("seconds") or [0.0] * count, dtype=np.float64)
    # The event says when its last step ended.
    columns["time"] = (event.time - seconds.sum() + seconds.cumsum()).tolist()
    table.extend(count, columns)


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as pages draw it, at one moment.

    Attributes:
        record: What the store knows.
        steps: One array a quantity, each (steps,): "step", "time", "loss", "epsilon.renyi", "noise_multiplier", …
        evaluations, counts: Likewise, of the events "evaluation" and "count".
        started: The event "started", {} before it came.
        norms: Histograms of gradient norms, oldest first.
        noise: Norms of signal and noise of the last watched step, and its number "step"; {} if none was.
        notes: Texts of "note" and "replanned", with their step, oldest first.
        coming: How far the preparation is, in words; "" before and after it.
        final: The last event, {} before the end.
        disputes: What a run from a file recorded that does not follow from its mechanisms.
        checksums: What the checksums of that file say; "" for a run that is from none.
        charged: The last event "charged", {} before the first.
        bayesian_text: What the Bayesian ε of the last step is and why it lies where it does; "" without.
    """

    record: RunRecord
    steps: dict[str, Array]
    evaluations: dict[str, Array]
    counts: dict[str, Array]
    started: dict[str, Any] = field(default_factory=dict)
    norms: tuple[dict[str, Any], ...] = ()
    noise: dict[str, Any] = field(default_factory=dict)
    notes: tuple[tuple[int, str], ...] = ()
    coming: str = ""
    final: dict[str, Any] = field(default_factory=dict)
    disputes: tuple[Dispute, ...] = ()
    checksums: str = ""
    charged: dict[str, Any] = field(default_factory=dict)
    bayesian_text: str = ""

    def series(self, labels: Mapping[tuple[str, str], str]) -> tuple[dict[str, tuple[Array, Array]], str]:
        """What was recorded of these numbers, and how `events.titled` marks them behind a title.

        Args:
            labels: (event's kind, number's name) → what the chart calls it.

        Returns:
            Label → (steps, values), each shape (n,); the mark, empty where ε covers all of them.
        """
        columns = {"step": self.steps, "evaluation": self.evaluations, "count": self.counts}
        labels = {(kind, name): label for (kind, name), label in labels.items() if name in columns[kind]}
        series = {label: (columns[kind]["step"], columns[kind][name]) for (kind, name), label in labels.items()}
        return series, titled("", labels)

    def covered(self) -> RunView:
        """The same run without what was measured on the training data."""
        columns = {"step": self.steps, "evaluation": self.evaluations, "count": self.counts}
        steps, evaluations, counts = (
            {name: column for name, column in table.items() if covered(kind, name)} for kind, table in columns.items()
        )
        return replace(
            self,
            record=replace(self.record, started=None, ended=None, summary=covered_part(self.record.summary)),
            steps=steps,
            evaluations=evaluations,
            counts=counts,
            started=covered_part({"kind": "started", **self.started}),
            norms=(),
            noise={},
            final=covered_part(self.final),
            bayesian_text="",
        )


class Tables:
    """Grows with the events of one attempt."""

    def __init__(self) -> None:
        self.steps, self.evaluations, self.counts = Columns(), Columns(), Columns()
        self.started: dict[str, Any] = {}
        self.noise: dict[str, Any] = {}
        self.final: dict[str, Any] = {}
        self.norms: list[dict[str, Any]] = []
        self.notes: list[tuple[int, str]] = []
        self.coming = ""
        self.disputes: tuple[Dispute, ...] = ()
        self.checksums = self.bayesian_text = ""
        self.charged: dict[str, Any] = {}

    def add(self, events: Iterable[Event]) -> None:
        """Take further events, in order."""
        for event in events:
            data = event.data
            if event.kind == "step" or event.kind in FINAL_KINDS:
                self.bayesian_text = str(data.get("bayesian_text") or self.bayesian_text)
            if event.kind == "step":
                add_stretch(self.steps, event)
                if data.get("norms"):
                    self.norms.append(data["norms"])
                if data.get("noise"):
                    self.noise = {**data["noise"], "step": event.step}
            elif event.kind in ("evaluation", "count"):
                table = self.evaluations if event.kind == "evaluation" else self.counts
                table.extend(1, {name: [value] for name, value in numbers(data).items()})
            elif event.kind == "progress":
                self.coming = str(data.get("text", ""))
            elif event.kind == "started":
                self.started, self.coming = data, ""
            elif event.kind in FINAL_KINDS:
                self.final, self.coming = data, ""
            elif event.kind == IMPORTED_KIND:
                self.disputes, self.checksums = of_event(data), str(data.get("checksums", ""))
            elif event.kind == CHARGED_KIND:
                self.charged = data
            if event.kind in ("note", "replanned"):
                self.notes.append((event.step, str(data.get("text", ""))))

    def view(self, record: RunRecord) -> RunView:
        return RunView(
            record=record,
            steps=self.steps.arrays(),
            evaluations=self.evaluations.arrays(),
            counts=self.counts.arrays(),
            started=self.started,
            norms=tuple(self.norms),
            noise=self.noise,
            notes=tuple(self.notes),
            coming=self.coming,
            final=self.final,
            disputes=self.disputes,
            checksums=self.checksums,
            charged=self.charged,
            bayesian_text=self.bayesian_text,
        )


def view_of(record: RunRecord, events: Iterable[Event]) -> RunView:
    """The view of a run from all its events at once."""
    tables = Tables()
    tables.add(events)
    return tables.view(record)
