"""The steps that a run keeps: those of its latest attempt and, up to its checkpoint, those of the attempts before.

Steps that were taken again are not among them. What they were charged is not forgotten: every claim holds it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz.runs.store.digest import Digest, Table, combined
from dpviz.runs.store.records import CONTINUED_KIND


class Stretch(NamedTuple):
    """Steps of one attempt that a run keeps, from `first` to `last`."""

    attempt: int
    first: int
    last: int

    def rows(self, table: Mapping[str, Array]) -> Table:
        """Its rows of a table with one for each step."""
        if not table:
            return {}
        keep = (table["step"] >= self.first) & (table["step"] <= self.last)
        return {name: values[keep] for name, values in table.items()}


def _first_step(digest: Digest) -> int:
    """The first step of an attempt: behind its checkpoint; 0 for one that has none."""
    checkpoint = int(digest.facts.get(CONTINUED_KIND, {}).get("step", 0))
    return checkpoint + 1 if checkpoint else 0


def steps_taken(digest: Digest) -> int:
    """How many steps an attempt took itself."""
    return digest.step - max(_first_step(digest) - 1, 0)


def stretches(attempt: int, latest: Digest, digest_of: Callable[[int], Digest]) -> list[Stretch]:
    """The stretches of steps that lead to the end of the latest `attempt`, in order; `digest_of` those before it.

    Who left a checkpoint began before that step and came as far. Of several who did, the last one's has replaced the
    others'.
    """
    parts = [Stretch(attempt, _first_step(latest), latest.step)]
    while parts[0].first and (attempt := attempt - 1):
        digest, last = digest_of(attempt), parts[0].first - 1
        if (first := _first_step(digest)) <= last <= digest.step:
            parts.insert(0, Stretch(attempt, first, last))
    return parts


def whole(attempt: int, latest: Digest, digest_of: Callable[[int], Digest]) -> Digest:
    """The digest of the latest `attempt` with the rows, notes and charges of the steps before its checkpoint."""
    if not _first_step(latest):
        return latest
    parts: list[Digest] = []
    seconds = 0.0
    for stretch in stretches(attempt, latest, digest_of)[:-1]:
        parts.append(_kept(digest_of(stretch.attempt), stretch, seconds))
        seconds = last_time(parts[-1].tables["step"], seconds)
    return combined([*parts, _later(latest, seconds)])


def later(table: Table, seconds: float) -> Table:
    """The table with its times so much later: each attempt counts the seconds from its own beginning."""
    return table | ({"time": table["time"] + seconds} if "time" in table else {})


def last_time(table: Table, otherwise: float) -> float:
    """The time of the last row."""
    times = table.get("time", np.empty(0))
    return float(times[-1]) if times.size else otherwise


def _later(digest: Digest, seconds: float) -> Digest:
    return replace(digest, tables={kind: later(table, seconds) for kind, table in digest.tables.items()})


def _kept(digest: Digest, stretch: Stretch, seconds: float) -> Digest:
    """What a run keeps of an attempt; the one that went on from its checkpoint tested the network there again."""
    tests = stretch._replace(first=max(stretch.first - 1, 0), last=stretch.last - 1)
    ranges = {"step": stretch, "count": stretch, "evaluation": tests}
    tables = {kind: ranges[kind].rows(table) for kind, table in digest.tables.items()}
    notes = [note for note in digest.notes if note[0] <= stretch.last]
    spent = _first_charges(digest.spent, stretch.last - max(stretch.first, 1) + 1)
    part = replace(digest, step=stretch.last, tables=tables, spent=spent, counted=(), facts={}, notes=notes)
    return _later(part, seconds)


def _first_charges(spent: Sequence[Sequence[Any]], steps: int) -> list[list[Any]]:
    """The charges of the first steps, of each its own."""
    first: list[list[Any]] = []
    for *mechanism, count in spent:
        first += [[*mechanism, min(count, steps)]] if steps > 0 else []
        steps -= count
    return first
