"""The digest of a stretch of events: all that pages and claims read of it, however long it is.

A long run keeps those of its rows that a chart can tell apart: in each stretch of steps, as wide as a pixel, the ones
with the least and the largest value of every quantity. Stretches are powers of two and begin at multiples of
themselves, so that the digest of a whole is that of its parts together.

>>> one, two = (Digest.of([Event(1, i, "step", i + 1, 0.0, {"loss": loss})]) for i, loss in enumerate((2.5, 1.5)))
>>> whole = one + two
>>> whole.tables["step"]["loss"].tolist(), (whole.events, whole.last, whole.step)
([2.5, 1.5], (2, 1, 2))
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.runs.store.blocks import pack, unpack
from dpviz.runs.store.records import CHARGED_KIND, CONTINUED_KIND, FINAL_KINDS, IMPORTED_KIND, Event
from dpviz.training.accounts.followed import LENGTHS

# Stretches of a run's steps that are told apart, at most: pixels across a chart.
PIXELS = 512
NOTES = 100  # the latest ones are kept
RECENT = 20  # rows at the end of a table that are all kept: a step's time is their mean

TABLES = ("step", "evaluation", "count")  # kinds of events that are rows of numbers
Table = dict[str, Array]

# In a "step" event these are not one number a step.
_NOT_COLUMNS = frozenset(
    ("kind", "step", "time", "first", "count", "mechanisms", "epsilon", "distances", LENGTHS, "norms", "noise")
)


class Columns:
    """Columns of numbers that grow; rows that a column has no value for are NaN."""

    def __init__(self) -> None:
        self.rows = 0
        self._columns: dict[str, list[Any]] = {}

    def extend(self, count: int, values: Mapping[str, Sequence[float | int | bool | None]]) -> None:
        """Add `count` rows.

        Raises:
            ValueError: if a list has another length.
        """
        for name, entries in values.items():
            if len(entries) != count:
                raise ValueError(f"Expected {name} with {count} numbers, found {len(entries)}.")
        for name, entries in values.items():
            column = self._columns.setdefault(name, [])
            column += [math.nan] * (self.rows - len(column))
            column += entries
        self.rows += count

    def table(self) -> Table:
        """All columns, (rows,) each.

        Raises:
            ValueError, TypeError: if one holds what is no number.
        """
        return {
            name: np.array(column + [math.nan] * (self.rows - len(column)), dtype=np.float64)
            for name, column in self._columns.items()
        }


def joined(parts: Sequence[Table]) -> Table:
    """The rows of all parts, in order; NaN where a part lacks a column."""
    names = dict.fromkeys(name for part in parts for name in part)
    rows = [next(iter(part.values())).size if part else 0 for part in parts]
    return {
        name: np.concatenate([part.get(name, np.full(count, np.nan)) for part, count in zip(parts, rows, strict=True)])
        for name in names
    }


def width(step: int) -> int:
    """The steps of a stretch in a run of so many: a power of two."""
    return 1 << max(0, math.ceil(math.log2(max(step, 1) / PIXELS)))


def thinned(table: Mapping[str, Array], stretch: int) -> Table:
    """The first row and the last ones, and of each stretch of steps those with the least and largest of each column."""
    if stretch == 1 or not table:
        return dict(table)
    part = table["step"] // stretch
    begins = np.flatnonzero(np.diff(part, prepend=-1.0))
    place = np.repeat(np.arange(begins.size), np.diff(begins, append=part.size))
    keep = np.zeros(part.size, dtype=bool)
    keep[0] = keep[-RECENT:] = True
    for values in table.values():
        for extreme in (np.fmin, np.fmax):
            extremes = np.flatnonzero(values == extreme.reduceat(values, begins)[place])
            keep[extremes[np.flatnonzero(np.diff(place[extremes], prepend=-1))]] = True
    return {name: values[keep] for name, values in table.items()}


def numbers(data: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of an event, those of dicts inside it as "epsilon.renyi"."""
    flat: dict[str, float] = {}
    for key, value in data.items():
        if isinstance(value, Mapping):
            flat |= numbers(value, f"{prefix}{key}.")
        elif isinstance(value, (int, float)):
            flat[prefix + key] = float(value)
    return flat


def decode_mechanisms(stored: Iterable[Sequence[Any]], count: int) -> tuple[list[float], list[float]]:
    """σ and q of each of `count` steps from [[σ, q, count], …]; NaN unless these are the charges of so many steps."""
    sigma: list[float] = []
    rate: list[float] = []
    for one in stored:
        if not isinstance(one[0], str):
            sigma += [one[0]] * int(one[2])
            rate += [one[1]] * int(one[2])
    return (sigma, rate) if len(sigma) == count else ([math.nan] * count, [math.nan] * count)


def _row(event: Event) -> dict[str, list[float]]:
    """The numbers of an event as columns of one row."""
    return {"step": [float(event.step)]} | {name: [value] for name, value in numbers(event.data).items()}


def _add_stretch(table: Columns, event: Event) -> None:
    """Add the steps of one "step" event: a stretch of steps, or a single step of plain numbers."""
    data = event.data
    if "first" not in data:
        return table.extend(1, _row(event))
    count, first = int(data["count"]), int(data["first"])
    columns: dict[str, Sequence[float | None]] = {"step": range(first, first + count)}
    columns |= {name: value for name, value in data.items() if name not in _NOT_COLUMNS and isinstance(value, list)}
    columns |= {f"epsilon.{name}": value for name, value in (data.get("epsilon") or {}).items()}
    columns["noise_multiplier"], columns["sample_rate"] = decode_mechanisms(data.get("mechanisms") or [], count)
    seconds = list(accumulate(data.get("seconds") or [0.0] * count))
    # The event says when its last step ended.
    columns["time"] = [event.time - seconds[-1] + passed for passed in seconds]
    table.extend(count, columns)


def add_run(runs: list[list[Any]], stored: Iterable[Sequence[Any]]) -> None:
    """Add mechanisms [[…, count], …] in order, equal neighbours together."""
    for *mechanism, count in stored:
        if runs and runs[-1][:-1] == mechanism:
            runs[-1][-1] += count
        else:
            runs.append([*mechanism, count])


@dataclass(frozen=True, slots=True)
class Digest:
    """What is read of a stretch of events of one attempt.

    Attributes:
        events: How many they are.
        last: The largest number of one; −1 for none.
        step: The last step that one names.
        tables: Of each kind in `TABLES` its numbers, a column each, one row an event or step; thinned.
        spent: What the steps that it holds charged, [[…, count], …], in order.
        counted: Likewise what else was charged: private counts, and steps that a checkpoint brought.
        facts: By name: "started", "final", "charged", "continued" and "imported", the last event of each kind;
            "norms", "noise", "coming", "bayesian_text" as a view has them.
        notes: Step and text of the latest notes, oldest first.
    """

    events: int = 0
    last: int = -1
    step: int = 0
    tables: Mapping[str, Table] = field(default_factory=lambda: {kind: {} for kind in TABLES})
    spent: Sequence[Sequence[Any]] = ()
    counted: Sequence[Sequence[Any]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[tuple[int, str]] = ()

    @classmethod
    def of(cls, events: Iterable[Event], *, whole: bool = False) -> Digest:
        """The digest of events in order, with every row if `whole`.

        Raises:
            ValueError, TypeError, KeyError: if one is not as `dpviz.training.events` says.
        """
        rows = {kind: Columns() for kind in TABLES}
        spent: list[list[Any]] = []
        counted: list[list[Any]] = []
        facts: dict[str, Any] = {}
        notes: list[tuple[int, str]] = []
        number, last, step = 0, -1, 0
        for event in events:
            number, last, step = number + 1, max(last, event.seq), max(step, event.step)
            if event.kind == "step":
                _add_stretch(rows["step"], event)
                add_run(spent, event.data.get("mechanisms") or ())
            elif event.kind in rows:
                rows[event.kind].extend(1, _row(event))
                add_run(counted, [event.data["mechanism"]] if event.kind == "count" else ())
            elif event.kind in ("note", "notice", "replanned", CONTINUED_KIND):
                add_run(counted, event.data["mechanisms"] if event.kind == CONTINUED_KIND else ())
                notes.append((event.step, str(event.data.get("text", ""))))
            facts |= _facts(event)
        stretch = 1 if whole else width(step)
        tables = _thinned({kind: columns.table() for kind, columns in rows.items()}, stretch)
        return cls(number, last, step, tables, spent, counted, facts, notes[-NOTES:])

    def __add__(self, later: Digest) -> Digest:
        """The digest of these events and later ones."""
        return combined([self, later])

    def pack(self) -> bytes:
        """As bytes, from which `Digest.unpack` makes it again."""
        columns = {f"{kind} {name}": v for kind, table in self.tables.items() for name, v in table.items()}
        rest = [self.events, self.last, self.step, self.spent, self.counted, self.facts, self.notes]
        return pack(rest, columns)

    @classmethod
    def unpack(cls, packed: bytes) -> Digest:
        """From `pack`.

        Raises:
            ValueError, KeyError: for other bytes.
        """
        (events, last, step, spent, counted, facts, notes), columns = unpack(packed)
        tables: dict[str, Table] = {kind: {} for kind in TABLES}
        for name, column in columns.items():
            kind, _, quantity = name.partition(" ")
            tables[kind][quantity] = column
        return cls(events, last, step, tables, spent, counted, facts, [(at, text) for at, text in notes])


def combined(parts: Sequence[Digest]) -> Digest:
    """The digest of stretches that follow each other."""
    step = max((part.step for part in parts), default=0)
    spent: list[list[Any]] = []
    counted: list[list[Any]] = []
    facts: dict[str, Any] = {}
    for part in parts:
        add_run(spent, part.spent)
        add_run(counted, part.counted)
        facts |= part.facts
    return Digest(
        events=sum(part.events for part in parts),
        last=max((part.last for part in parts), default=-1),
        step=step,
        tables=_thinned({kind: joined([part.tables[kind] for part in parts]) for kind in TABLES}, width(step)),
        spent=spent,
        counted=counted,
        facts=facts,
        notes=[note for part in parts for note in part.notes][-NOTES:],
    )


def _thinned(tables: Mapping[str, Table], stretch: int) -> dict[str, Table]:
    """Private counts are all kept: what they cost is read off their number."""
    return {kind: table if kind == "count" else thinned(table, stretch) for kind, table in tables.items()}


def _facts(event: Event) -> dict[str, Any]:
    """What one event says that later ones replace."""
    data = event.data
    facts: dict[str, Any] = {}
    if event.kind == "step":
        facts |= {"norms": data["norms"]} if data.get("norms") else {}
        facts |= {"noise": {**data["noise"], "step": event.step}} if data.get("noise") else {}
    elif event.kind == "progress":
        facts["coming"] = str(data.get("text", ""))
    elif event.kind == "started":
        facts |= {"started": data, "coming": ""}
    elif event.kind in FINAL_KINDS:
        facts |= {"final": data, "coming": ""}
    elif event.kind in (CHARGED_KIND, CONTINUED_KIND, IMPORTED_KIND):
        facts[event.kind] = data
    if (event.kind == "step" or event.kind in FINAL_KINDS) and data.get("bayesian_text"):
        facts["bayesian_text"] = str(data["bayesian_text"])
    return facts


class News(NamedTuple):
    """The result of `Store.news`.

    Attributes:
        attempt: The latest attempt. A reader that knew an earlier one starts again from nothing.
        digest: What came after the event that was asked for.
        last: Number of the last event read, −1 before the first.
    """

    attempt: int
    digest: Digest
    last: int
