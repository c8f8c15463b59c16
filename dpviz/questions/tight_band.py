"""The tight interval on every ε chart: a grey band that all valid bounds lie above."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.methods import Renyi, Tight
from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events
from dpviz.accounting.pld.plan import rough_epsilon
from dpviz.accounting.pld.quick import quick_epsilon, within_one_percent
from dpviz.charts import Band, LinePlot, Plot
from dpviz.fields import numbers
from dpviz.mechanisms import Event, Mechanism
from dpviz.questions import guessing
from dpviz.questions.answer import AnyAnswer, Slow, slow_facts
from dpviz.questions.kinds import with_noise
from dpviz.questions.words import Metric

NAME = "PLD ε"  # of the upper end among a page's four numbers
MARKS = 16
NOISE_POINTS = 33
LARGEST_EPSILON = 500.0  # beyond, the grids grow and nothing is gained


@dataclass(frozen=True, eq=False)
class TightBand:
    """Lower and upper ε at marked x; all of shape (n,). `reason` says where the promised width is not kept.

    `soon`: the last upper end alone, in the place of what is to come; its lower one is 0.
    """

    x: Array
    lower: Array
    upper: Array
    reason: str = ""
    soon: bool = False

    def after(self, earlier: TightBand) -> TightBand:
        """Both along x."""
        x, lower, upper = (np.append(getattr(earlier, end), getattr(self, end)) for end in ("x", "lower", "upper"))
        return TightBand(x, lower, upper, self.reason)

    @property
    def last(self) -> str:
        """The interval at the last mark, for a figure: lower end rounded down, upper end up."""
        return numbers.interval(float(self.lower[-1]), float(self.upper[-1]))


def tight_figures(tight: TightBand | None, held: str = "") -> Iterator[Metric]:
    """Its place among the four numbers: the last upper end, rounded up, and beside it the lower one; none for NaN.

    Args:
        tight: None while it is on its way.
        held: what it holds for.
    """
    if tight is None:
        yield Metric(NAME, "…")
    elif not math.isnan(most := float(tight.upper[-1])):
        note = f"≥ {'…' if tight.soon else numbers.down(float(tight.lower[-1]), 4)}"
        yield Metric(NAME, f"≤ {numbers.epsilon(most, up=True)}", f"{note}; {held}" if held else note)


def marked_steps(steps: int, *, log: bool) -> Array:
    """At most MARKS whole numbers from 1 to `steps`, both included; denser early, where ε bends."""
    if steps <= MARKS:
        return np.arange(1.0, steps + 1.0)
    spread = np.geomspace(1.0, steps, MARKS) if log else 1.0 + (steps - 1.0) * np.linspace(0.0, 1.0, MARKS) ** 2
    return np.unique(np.round(spread))


def end(events: Sequence[Event], delta: float) -> TightBand:
    """The upper end after all of [(mechanism, steps), …], some milliseconds; NaN where the interval has none."""
    most = quick_epsilon(events, delta)
    known = most <= LARGEST_EPSILON
    low, high = np.array([0.0 if known else np.nan]), np.array([most if known else np.nan])
    return TightBand(np.array([float(sum(t for _, t in events))]), low, high, soon=True)


def interval(events: Sequence[Event], delta: float) -> TightBand:
    """Both ends after all of them."""
    tight, soon = tight_epsilon_of_events(events, delta), end(events, delta)
    low = np.where(np.isnan(soon.upper), np.nan, tight.lower)
    return TightBand(soon.x, low, within_one_percent(tight.upper, soon.upper), tight.reason)


@remembered
def along_steps(mechanism: Mechanism, steps: int, delta: float, *, log: bool) -> TightBand:
    """The interval at marked steps of one mechanism; some 0.2 s."""
    marks = marked_steps(steps, log=log)
    soon = end([(mechanism, steps)], delta).upper[-1]
    useful = np.append(_rough(mechanism, marks, delta)[:-1] <= LARGEST_EPSILON, not np.isnan(soon))
    lower, upper = np.full(marks.shape, np.nan), np.full(marks.shape, np.nan)
    reasons = []
    for part in (slice(-1), slice(-1, None)):  # the last one alone: as where no steps are marked, digit by digit
        if useful[part].any():
            tight = tight_epsilon(mechanism, marks[part][useful[part]], delta)
            lower[part][useful[part]], upper[part][useful[part]] = tight.lower, tight.upper
            reasons.append(tight.reason)
    upper[-1] = within_one_percent(upper[-1], soon)
    if not useful.all():
        first = numbers.steps(float(marks[~useful][0]))
        reasons.append(
            f"The interval is not computed from step {first} on, where ε exceeds 500 and guarantees almost nothing."
        )
    return TightBand(marks, lower, upper, " ".join(dict.fromkeys(filter(None, reasons))))


def _rough(mechanism: Mechanism, steps: Array, delta: float) -> Array:
    """An upper bound on ε where there is one that is quick, else an estimate."""
    if Renyi().supports(mechanism):
        return np.array([rough_epsilon(mechanism, count, delta) for count in steps.tolist()])
    return Renyi().epsilon_of(mechanism, steps=steps, delta=delta).epsilon


def noise_grid(low: float, high: float) -> Array:
    """NOISE_POINTS amounts of noise from `low` to `high`, even on a log axis; ValueError where these are too near."""
    if high < 1.2 * low:
        raise ValueError(
            f"The σ axis goes from {low:.6g} to {high:.6g}: under Show, let it end at {1.2 * low:.3g} or more."
        )
    return np.geomspace(low, high, NOISE_POINTS)


@remembered
def along_noise(low: float, high: float, mechanism: Mechanism, steps: int, delta: float) -> TightBand:
    """The interval at every other of `noise_grid`, after so many steps of the mechanism; about half a second.

    Where a pair is computed, and no divergence is known (random allocation), at every fourth: each takes a second.
    """
    marks = noise_grid(low, high)[:: 4 if Renyi().supports(mechanism) else 2]
    lower, upper = np.full(marks.shape, np.nan), np.full(marks.shape, np.nan)
    reasons: dict[str, None] = {}
    for i, noise in enumerate(marks.tolist()):
        here = with_noise(mechanism, noise)
        if _rough(here, np.array([float(steps)]), delta)[0] <= LARGEST_EPSILON:
            tight = tight_epsilon(here, steps, delta)
            lower[i], upper[i] = float(tight.lower), float(tight.upper)
            if tight.reason:
                reasons[tight.reason] = None
    return TightBand(marks, lower, upper, " ".join(reasons))


def band(tight: TightBand) -> Band:
    """The band on a chart."""
    return Band(Tight().label, tight.x, tight.lower, tight.upper, key=Tight.name)


def with_bands(answer: AnyAnswer, *bands: Band) -> Plot:
    """The plot with more bands behind its curves."""
    assert isinstance(answer.plot, LinePlot)
    return replace(answer.plot, bands=(*answer.plot.bands, *bands))


def with_tight(answer: AnyAnswer) -> Plot:
    """The plot with the interval of the answer's facts, where there is one."""
    tight = answer.facts.tight
    return answer.plot if tight is None or tight.soon else with_bands(answer, band(tight))


def tight_part(
    events: Callable[[AnyAnswer], Sequence[Event]],
    *,
    wanted: Callable[[AnyAnswer], bool] = lambda _: True,
    log: str = "",
    attack: bool = False,
    drawn: Callable[[AnyAnswer], Plot] = with_tight,
) -> Slow[Any]:
    """The slow part that brings the facts `tight`, the interval, and `accuracy`, the best attack's.

    Args:
        events: what was done, [(mechanism, steps), …]; nothing where there is no interval of it.
        wanted: whether the interval is asked for.
        log: the setting that says whether steps lie on a log axis: the interval at marked steps of one mechanism. After
            all of them alone where empty.
        attack: whether the accuracy after all steps of one mechanism is asked for.
        drawn: the plot of an answer that has them.
    """

    def key(answer: AnyAnswer) -> Hashable | None:
        every, shown = tuple(events(answer)), wanted(answer)
        if not every or not (shown or attack):
            return None
        return every, *((answer.given["delta"], answer.given.get(log)) if shown else ())

    def part(answer: AnyAnswer, *, quick: bool) -> dict[str, Any]:
        every, delta, tight = events(answer), answer.given["delta"], None
        if wanted(answer) and quick:
            tight = end(every, delta)
        elif wanted(answer):
            tight = along_steps(*every[0], delta, log=answer.given[log]) if log else interval(every, delta)
        accuracy = guessing.accuracy_soon if quick else guessing.accuracy
        return {"tight": tight} | ({"accuracy": accuracy(*every[0])} if attack else {})

    return slow_facts(key, partial(part, quick=False), partial(part, quick=True), drawn)
