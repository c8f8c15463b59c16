"""Step sizes of a whole run, and their split into cells of nearly equal step size.

>>> float(split(PowerSchedule(first=0.1, exponent=1 / 3, steps=8), [8]).count.sum())
8.0
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools, Whole

# Steps up to here are added one by one, later ones by an integral that lies above their sum.
_ADDED_ONE_BY_ONE = 4096
LARGEST_LIST = 10_000_000


@dataclass(frozen=True, slots=True)
class PowerSchedule:
    """η_t = first · t^(−exponent) for t = 1 … steps; exponent 0 is a fixed step size.

    Attributes:
        first: η₁ > 0.
        exponent: ≥ 0 and ≤ 10; Li et al. 2019, Theorem 3, takes 1/3.
        steps: T, whole, ≥ 1.
    """

    first: float
    exponent: float
    steps: int

    def __post_init__(self) -> None:
        first, exponent = _validate.numbers(first=self.first, exponent=self.exponent)
        if exponent > 10.0:
            raise ValueError(f"Expected exponent={exponent:.12g} <= 10.")
        steps = _validate.whole(1, steps=self.steps)
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "exponent", exponent)
        object.__setattr__(self, "steps", steps)

    def at(self, t: ArrayLike) -> Array:
        """η_t; t ≥ 1 of any shape."""
        return np.asarray(self.first * np.asarray(t, dtype=np.float64) ** -self.exponent, dtype=np.float64)


StepSizes = PowerSchedule | ArrayLike | Callable[[Array], ArrayLike]
Schedule = PowerSchedule | Array


@dataclass(frozen=True, slots=True, eq=False)
class Grouped:
    """Steps gathered in parts; each part lies between two marks and within one cell of step sizes. Shapes (parts,).

    Attributes:
        mark: index of the mark at or before which the part ends.
        count: number of steps.
        mean: their mean step size, never too small.
        largest: their largest step size.
    """

    mark: Whole
    count: Array
    mean: Array
    largest: Array

    def of(self, kept: Bools) -> Grouped:
        """The parts that are `kept`."""
        return Grouped(self.mark[kept], self.count[kept], self.mean[kept], self.largest[kept])


def checked(step_sizes: Any, steps: int | None = None) -> Schedule:
    """A schedule from whatever names one: itself, a list of step sizes ≥ 0, or a function of t = 1 … `steps`.

    Raises:
        ValueError: a function without `steps`, a list of another length, negative or infinite step sizes.
    """
    if isinstance(step_sizes, PowerSchedule):
        if steps is not None and int(steps) != step_sizes.steps:
            raise ValueError(f"Expected steps={steps} to be the schedule's {step_sizes.steps}, or left out.")
        return step_sizes
    if callable(step_sizes):
        if steps is None:
            raise ValueError("Expected steps with a function of t: the number of steps to account for.")
        count = float(_validate.whole(1, steps=steps))
        if count > LARGEST_LIST:
            raise ValueError(f"Expected steps={count:.0f} <= {LARGEST_LIST} for a function; use a PowerSchedule.")
        step_sizes = step_sizes(np.arange(1.0, count + 1.0))
        steps = int(count)
    sizes = np.atleast_1d(_validate.non_negative("step_sizes", step_sizes))
    if sizes.ndim != 1 or sizes.size == 0 or sizes.size > LARGEST_LIST:
        raise ValueError(f"Expected step_sizes as a list of 1 to {LARGEST_LIST} numbers, found shape {sizes.shape}.")
    if steps is not None and sizes.size != int(steps):
        raise ValueError(f"Expected {int(steps)} step_sizes, found {sizes.size}.")
    return sizes


def total_steps(schedule: Schedule) -> int:
    return schedule.steps if isinstance(schedule, PowerSchedule) else int(schedule.size)


def largest_step(schedule: Schedule) -> float:
    return schedule.first if isinstance(schedule, PowerSchedule) else float(schedule.max())


def cell_edges(largest: float, *, even: bool = False) -> Array:
    """Edges of the cells, increasing, from 0 to at least `largest`: powers of 2^(1/16), sparser further down.

    The edges belong to one endless list, so that what was computed at them serves other schedules too. Where noise is
    scarcest moments bend most; far below the largest step size they are proportional to it and wide cells lose nothing
    where chords are bounds. With `even` they are not sparser, for bounds that take each step at the edge above it.
    """
    top = int(np.ceil(16.0 * np.log2(largest) - 1e-9))
    k = np.arange(top - 240, top + 1)
    down = top - k
    kept = even | (down < 16) | ((k % 2 == 0) & (down < 48)) | ((k % 4 == 0) & (down < 80)) | (k % 16 == 0)
    return np.concatenate([[0.0], np.exp2(k[kept] / 16.0)])


def split(schedule: Schedule, marks: Sequence[float] | Array, edges: Array | None = None) -> Grouped:
    """The steps up to each mark, in parts that stay within one cell of `edges`.

    Args:
        schedule: step sizes.
        marks: step counts, increasing, whole, at most the schedule's.
        edges: cell edges in units of the step size, increasing, the last one at least the largest step size.
    """
    edges = cell_edges(max(largest_step(schedule), np.finfo(np.float64).tiny)) if edges is None else edges
    ends = np.asarray(marks, dtype=np.float64)
    if isinstance(schedule, PowerSchedule):
        return _split_power(schedule, ends, edges)
    return _split_list(schedule[: int(ends[-1])], ends, edges)


def _split_power(schedule: PowerSchedule, ends: Array, edges: Array) -> Grouped:
    with np.errstate(divide="ignore", over="ignore"):
        # The last t whose step size is still above each edge. Rounding may put a step one cell too far: clipped below.
        power = 1.0 / schedule.exponent if schedule.exponent else np.inf
        crossings = np.floor((schedule.first / edges[-2::-1]) ** power)
    stops = np.unique(np.concatenate([ends, crossings, [0.0]]))
    stops = stops[(stops >= 0) & (stops <= ends[-1])]
    starts, stops = stops[:-1] + 1.0, stops[1:]
    count = stops - starts + 1.0
    mean = schedule.first * power_sums(starts, stops, schedule.exponent) / count
    largest = schedule.at(starts)
    return Grouped(np.searchsorted(ends, stops), count, np.minimum(mean, largest), largest)


def power_sums(starts: Array, stops: Array, exponent: float) -> Array:
    """Σ t^(−p) over start ≤ t ≤ stop, exact for early t and from above for late: t^(−p) is convex, so it lies below
    its mean over [t − ½, t + ½]."""
    early = np.arange(1.0, min(_ADDED_ONE_BY_ONE, float(stops[-1])) + 1.0)
    running = np.concatenate([[0.0], np.cumsum(early**-exponent)])
    last = np.minimum(stops, early.size).astype(np.int64)
    first = np.minimum(starts - 1.0, early.size).astype(np.int64)
    sums = running[last] - running[first]
    a, b = np.maximum(starts, early.size + 1.0) - 0.5, stops + 0.5
    late = b > a
    with np.errstate(invalid="ignore"):
        if abs(exponent - 1.0) < 1e-9:
            integral = np.log(b / a) * (1.0 + 1e-7)
        else:  # as expm1: for short stretches at large t the powers nearly cancel
            power = 1.0 - exponent
            integral = a**power * np.expm1(power * np.log1p((b - a) / a)) / power * (1.0 + 1e-12)
    return np.asarray(sums + np.where(late, integral, 0.0), dtype=np.float64)


def _split_list(sizes: Array, ends: Array, edges: Array) -> Grouped:
    cells = np.minimum(np.maximum(np.searchsorted(edges, sizes, side="left") - 1, 0), edges.size - 2)
    mark = np.searchsorted(ends, np.arange(1.0, sizes.size + 1.0))
    part = mark * (edges.size - 1) + cells
    total = ends.size * (edges.size - 1)
    count = np.bincount(part, minlength=total).astype(np.float64)
    sums = np.bincount(part, weights=sizes, minlength=total)
    largest = np.zeros(total)
    np.maximum.at(largest, part, sizes)
    kept = np.flatnonzero(count)
    mean = np.minimum(sums[kept] / count[kept] * (1.0 + 1e-12), largest[kept])
    return Grouped((kept // (edges.size - 1)).astype(np.int64), count[kept], mean, largest[kept])


def grouped(
    schedule: Schedule, groups: int, *, smallest: bool = False, marks: Sequence[float] = ()
) -> tuple[Array, Array]:
    """Counts and step sizes of at most `groups` groups; each group takes its largest (or smallest) step size.

    With no more distinct step sizes than groups the answer is exact. A `PowerSchedule`'s groups are in the order of its
    steps, and with `marks` (whole numbers up to its steps) there are more groups: one ends at each mark.
    """
    if isinstance(schedule, PowerSchedule):
        edges = np.floor(np.geomspace(1.0, schedule.steps + 1.0, groups + 1 if schedule.exponent else 2))
        edges = np.unique(np.append(edges, np.add(marks, 1.0)))
        counts, first, after = np.diff(edges), edges[:-1], np.minimum(edges[1:], schedule.steps)
        # The smallest is the next group's largest, so that both sides share their step sizes.
        return counts, schedule.at(np.where(counts > 1.0, after, first) if smallest else first)
    sizes = schedule[schedule > 0.0]
    if not sizes.size:
        return np.array([float(schedule.size)]), np.array([0.0])
    values, counts = np.unique(sizes, return_counts=True)
    if values.size > groups:
        cell = np.floor(np.log(values[-1] / values) / max(np.log(values[-1] / values[0]), 1e-300) * (groups - 1e-6))
        last = np.flatnonzero(np.diff(cell, append=-1.0))  # values ascend: the last of each cell is its largest
        counts = np.diff(np.cumsum(counts)[last], prepend=0)
        values = values[np.concatenate([[0], last[:-1] + 1])] if smallest else values[last]
    return counts.astype(np.float64), values


def scaled(schedule: Schedule, factor: float) -> Schedule:
    """Every step size times `factor` > 0."""
    if isinstance(schedule, PowerSchedule):
        return PowerSchedule(schedule.first * factor, schedule.exponent, schedule.steps)
    return schedule * factor
