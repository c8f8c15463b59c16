"""A run as pages draw it: its events as arrays, one row a step, read once for everybody.

>>> table = Columns()
>>> table.extend(2, {"loss": [2.3, None]})
>>> table.extend(1, {"loss": [1.9], "clipped": [0.5]})
>>> {name: values.tolist() for name, values in table.arrays().items()}
{'loss': [2.3, nan, 1.9], 'clipped': [nan, nan, 0.5]}
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.runs.exchange.disputes import Dispute, of_event
from dpviz.runs.store.records import CHARGED_KIND, FINAL_KINDS, IMPORTED_KIND, Event, RunRecord
from dpviz.runs.store.store import Store
from dpviz.training.events import covered, covered_part, titled

# Runs whose arrays are kept in memory at once: what twenty sessions watch costs what one does.
MOST_READERS = 24

# In a "step" event these are not one number a step.
_NOT_COLUMNS = ("kind", "step", "time", "first", "count", "mechanisms", "epsilon", "distances", "norms", "noise")


class Columns:
    """Columns of numbers that grow; rows that a column has no value for are NaN."""

    def __init__(self) -> None:
        self.rows = 0
        self._whole: dict[str, Array] = {}
        self._fresh: list[tuple[int, dict[str, Array]]] = []  # what came since, with its number of rows

    def extend(self, count: int, values: Mapping[str, Sequence[float | int | bool | None]]) -> None:
        """Add `count` rows; every list in `values` has that length.

        Raises:
            ValueError: if a list has another length, or holds what is no number.
        """
        fresh = {}
        for name, entries in values.items():
            column = np.array([np.nan if entry is None else entry for entry in entries], dtype=np.float64)
            if column.shape != (count,):
                raise ValueError(f"Expected {name} with {count} numbers, found shape {column.shape}.")
            fresh[name] = column
        self._fresh.append((count, fresh))
        self.rows += count

    def arrays(self) -> dict[str, Array]:
        """Read-only arrays of all columns, each (rows,); what comes later does not change them."""
        if self._fresh:
            before = self.rows - sum(count for count, _ in self._fresh)
            parts = [(before, self._whole), *self._fresh]
            names = dict.fromkeys(name for _, columns in parts for name in columns)
            self._whole = {name: _joined(name, parts) for name in names}
            self._fresh = []
        return dict(self._whole)


def _joined(name: str, parts: Sequence[tuple[int, Mapping[str, Array]]]) -> Array:
    column = np.concatenate([columns[name] if name in columns else np.full(count, np.nan) for count, columns in parts])
    column.flags.writeable = False
    return column


def numbers(data: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of an event, those of dicts inside it as "epsilon.renyi"."""
    flat: dict[str, float] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            flat[prefix + key] = float(value)
    return flat


def decode_mechanisms(stored: Iterable[Sequence[Any]], count: int) -> tuple[Array, Array]:
    """σ and q of each of `count` steps from [[σ, q, count], …]; NaN where nothing was charged ([]), or other kinds."""
    stored = [one for one in stored if not isinstance(one[0], str)]
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
        return table.extend(1, _single(data))
    count, first = int(data["count"]), int(data["first"])
    columns: dict[str, Sequence[float | None]] = {"step": list(range(first, first + count))}
    columns |= {name: value for name, value in data.items() if name not in _NOT_COLUMNS and isinstance(value, list)}
    columns |= {f"epsilon.{name}": value for name, value in (data.get("epsilon") or {}).items()}
    sigma, rate = decode_mechanisms(data.get("mechanisms") or [], count)
    columns["noise_multiplier"], columns["sample_rate"] = sigma.tolist(), rate.tolist()
    seconds = np.array(data.get("seconds") or [0.0] * count, dtype=np.float64)
    # The event says when its last step ended.
    columns["time"] = (event.time - seconds.sum() + seconds.cumsum()).tolist()
    table.extend(count, columns)


def _single(data: Mapping[str, Any]) -> dict[str, list[float]]:
    """The numbers of an event as columns of one row."""
    return {name: [value] for name, value in numbers(data).items()}


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

    @property
    def _by_kind(self) -> dict[str, dict[str, Array]]:
        return {"step": self.steps, "evaluation": self.evaluations, "count": self.counts}

    def series(self, labels: Mapping[tuple[str, str], str]) -> tuple[dict[str, tuple[Array, Array]], str]:
        """What was recorded of these numbers, and how `events.titled` marks them behind a title.

        Args:
            labels: (event's kind, number's name) → what the chart calls it.

        Returns:
            Label → (steps, values), each shape (n,); the mark, empty where ε covers all of them.
        """
        columns = self._by_kind
        labels = {(kind, name): label for (kind, name), label in labels.items() if name in columns[kind]}
        series = {label: (columns[kind]["step"], columns[kind][name]) for (kind, name), label in labels.items()}
        return series, titled("", labels)

    def covered(self) -> RunView:
        """The same run without what was measured on the training data."""
        steps, evaluations, counts = (
            {name: column for name, column in table.items() if covered(kind, name)}
            for kind, table in self._by_kind.items()
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
        self._columns = {"step": Columns(), "evaluation": Columns(), "count": Columns()}
        self._norms: list[dict[str, Any]] = []
        self._notes: list[tuple[int, str]] = []
        self._rest: dict[str, Any] = {}  # of a view, by attribute

    def add(self, events: Iterable[Event]) -> None:
        """Take further events, in order."""
        rest = self._rest
        for event in events:
            data = event.data
            if event.kind == "step":
                add_stretch(self._columns["step"], event)
                if data.get("norms"):
                    self._norms.append(data["norms"])
                if data.get("noise"):
                    rest["noise"] = {**data["noise"], "step": event.step}
            elif event.kind in self._columns:
                self._columns[event.kind].extend(1, _single(data))
            elif event.kind == "progress":
                rest["coming"] = str(data.get("text", ""))
            elif event.kind == "started":
                rest |= {"started": data, "coming": ""}
            elif event.kind in FINAL_KINDS:
                rest |= {"final": data, "coming": ""}
            elif event.kind == IMPORTED_KIND:
                rest |= {"disputes": of_event(data), "checksums": str(data.get("checksums", ""))}
            elif event.kind == CHARGED_KIND:
                rest["charged"] = data
            elif event.kind in ("note", "replanned"):
                self._notes.append((event.step, str(data.get("text", ""))))
            if (event.kind == "step" or event.kind in FINAL_KINDS) and data.get("bayesian_text"):
                rest["bayesian_text"] = str(data["bayesian_text"])

    def view(self, record: RunRecord) -> RunView:
        steps, evaluations, counts = (columns.arrays() for columns in self._columns.values())
        return RunView(
            record, steps, evaluations, counts, norms=tuple(self._norms), notes=tuple(self._notes), **self._rest
        )


def view_of(record: RunRecord, events: Iterable[Event]) -> RunView:
    """The view of a run from all its events at once."""
    tables = Tables()
    tables.add(events)
    return tables.view(record)


class _Reader:
    """One run as far as it was read. Whoever comes while another reads on sees what was read before."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self._reading = threading.Lock()
        self._attempt, self._seq = -1, -1
        self._tables = Tables()
        self._shown: tuple[RunView, float] | None = None  # and when it was read

    def look(self, max_age: float) -> RunView:
        now = _seen_at_once(self._store.run(self._run))
        if (view := self._recent(now, max_age)) is not None:
            return view
        # Another state shows at once, so it is waited for.
        late = self._recent(now)
        if not self._reading.acquire(blocking=late is None) and late is not None:
            return late
        try:
            if (view := self._recent(now, max_age)) is None:
                view = self._read()
                self._shown = view, time.monotonic()
            return view
        finally:
            self._reading.release()

    def _recent(self, now: tuple[Hashable, ...], max_age: float = math.inf) -> RunView | None:
        """What is shown, if it has this state and is no older."""
        if self._shown is None or _seen_at_once(self._shown[0].record) != now:
            return None
        return self._shown[0] if time.monotonic() - self._shown[1] <= max_age else None

    def _read(self) -> RunView:
        # Before the events: a record that says "done" then has all its events after it.
        record = self._store.run(self._run)
        news = self._store.events_since(self._run, self._seq, self._attempt)
        if news.attempt != self._attempt:
            self._tables = Tables()
        self._tables.add(news.events)
        self._attempt, self._seq = news.attempt, news.last
        return self._tables.view(record)


def _seen_at_once(record: RunRecord) -> tuple[Hashable, ...]:
    return record.attempt, record.state, record.desired, record.reason


class Live:
    """Shared views of runs; their events are read at most every `max_age` seconds however many look.

    What somebody just clicked must not show late: a run in another state is read anew.

    Safe to use from many threads. The views' arrays do not change once handed out.
    """

    def __init__(self, store: Store, *, max_age: float = 0.2) -> None:
        self.max_age = max_age
        self._store = store
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, _Reader] = OrderedDict()

    def look(self, run: str) -> RunView:
        """The run as it was at most `max_age` seconds ago. KeyError if there is none."""
        with self._lock:
            reader = self._readers.setdefault(run, _Reader(self._store, run))
            self._readers.move_to_end(run)
            while len(self._readers) > MOST_READERS:
                self._readers.popitem(last=False)
        return reader.look(self.max_age)
