"""The upper ends of the tight ε(δ) and of the best attack's accuracy, from one privacy loss distribution.

    >>> from dpviz.mechanisms import SampledGaussian
    >>> mechanism = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
    >>> f"{quick_epsilon([(mechanism, 10_000)], 1e-5):.3f} {quick_accuracy(mechanism, 10_000, 1e-5):.4f}"
    '0.948 0.5506'

`tight_epsilon` and `best_accuracy` look again, on grids of their own, until they pinch the truth: some 0.1 s. Here the
loss of a step is put on one grid, and ε at δ and δ(0) are read off the same composed distribution: bounds whatever the
grid (`bounds`), in a few milliseconds. What is composed from below tells whether they are near enough; where they are
not (rarely sampled steps with little noise, mostly), the slow ones are asked, up to ε = 50. (1 + δ(0))/2 needs one
direction: at ε = 0 both are the total variation.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.attack.best_accuracy import ROUNDING, best_accuracy
from dpviz.accounting.pld import grid as grids
from dpviz.accounting.pld import two_grids
from dpviz.accounting.pld.bounds import TightProfile, tight_delta, tight_profile
from dpviz.accounting.pld.plan import (
    AIM,
    Aim,
    aim_at_epsilon,
    aim_for_rows,
    rough_epsilon,
    rough_log_delta,
    tail_for,
    wanted,
)
from dpviz.accounting.pld.read_off import blurred, delta_at, epsilon_above, epsilon_below
from dpviz.accounting.pld.single_step import LEAST_DELTA
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.mechanisms import Event, Mechanism, SampledGaussian, merge_events

ANCHOR = 0.15  # of the largest ε of a curve: one tilt resolves it all from there, from the middle not where δ is near 1
ENOUGH = 1.008  # times the truth at most, else the slow ones are asked
FINEST = 0.0625  # of an interval that is looked at once more; finer ones take as long as the slow ones
ZERO: Array = np.zeros(1)


def within_one_percent(exact: Array | float, quick: Array | float) -> Array:
    """The upper end that takes the place of a quick one: no larger, and at most 1 % smaller, for both are bounds."""
    return np.asarray(np.minimum(quick, np.maximum(exact, np.asarray(quick) / 1.01)))


def quick_epsilon(events: Iterable[Event], delta: float) -> float:
    """ε at δ in (0, 1) of events of equal steps [(mechanism, count), …] together, never below the truth.

    Args:
        events: each mechanism has a dominating pair; counts are whole, ≥ 0.
        delta: δ in (0, 1).
    """
    return _epsilon(tuple(merge_events(events)), _validate.number(delta=delta))


def quick_accuracy(mechanism: Mechanism, steps: int, delta: float) -> float:
    """How often the best attack is right at even odds, never below the truth; off the grid that ε at δ needs."""
    return _accuracy(tuple(merge_events([(mechanism, steps)])), _validate.number(delta=delta))


class _Look(NamedTuple):
    """What one grid says of removal.

    Attributes:
        aim, tail: the grid.
        epsilon, lower: ε at δ from above and below.
        blurred: whether the tilt resolves that ε badly.
        zero, least: δ(0) from above and below.
    """

    aim: Aim
    tail: float
    epsilon: float
    lower: float
    blurred: bool
    zero: float
    least: float


def _releasing(events: tuple[Event, ...]) -> tuple[list[Mechanism], Array]:
    return grids.releasing([m for m, _ in events], np.array([float(t) for _, t in events]))


@remembered
def _look(events: tuple[Event, ...], delta: float) -> _Look:
    mechanisms, counts = _releasing(events)
    row, tail = counts[None], tail_for(float(counts.sum()), delta)
    aim = aim_for_rows(mechanisms, row, grids.REMOVE, delta)
    [(above, below)] = grids.removed_rows(mechanisms, row, aim, tail)
    epsilon = epsilon_above(above, delta)
    poor = math.isfinite(epsilon) and blurred(above, epsilon, delta)
    zero, least = float(delta_at(above, ZERO, 1.0)[0]), float(delta_at(below, ZERO, -1.0)[0])
    return _Look(aim, tail, epsilon, epsilon_below(below, delta), poor, zero, least)


@remembered
def _epsilon(events: tuple[Event, ...], delta: float) -> float:
    """ε at δ from above."""
    mechanisms, counts = _releasing(events)
    exact = grids.epsilon_without_grid(mechanisms, counts, delta)
    if exact is not None:
        return exact[1]
    aim, tail, epsilon, lower, poor, *_ = _look(events, delta)
    row = counts[None]
    if poor:
        near = aim_at_epsilon(mechanisms, counts, grids.REMOVE, epsilon, delta, aim.interval)
        [(again, beneath)] = grids.removed_rows(mechanisms, row, near, tail)
        epsilon, lower = min(epsilon, epsilon_above(again, delta)), max(lower, epsilon_below(beneath, delta))
    if (most := grids.most_added(mechanisms, counts)) > epsilon:
        [added] = grids.added_rows(mechanisms, row, aim, tail)
        epsilon = max(epsilon, min(most, epsilon_above(added, delta)))
    if epsilon > ENOUGH * lower and lower < grids.LARGEST_EPSILON:
        [(_, upper)] = grids.epsilon_of_rows(mechanisms, row, delta)
        epsilon = min(epsilon, upper)
    return epsilon


@remembered
def _accuracy(events: tuple[Event, ...], delta: float) -> float:
    """(1 + δ(0))/2 from above."""
    mechanisms, counts = _releasing(events)
    overlap = sum(t * _log_overlap(m) for m, t in zip(mechanisms, counts.tolist(), strict=True))
    apart = -math.expm1(overlap) * (1.0 + 1e-9)  # of the total variation (`total_variation`)
    if grids.epsilon_without_grid(mechanisms, counts, delta) is None:
        apart = min(apart, _zero(events, delta))
    elif mechanisms and (
        counts.sum() == 1.0
        or all(m.as_gaussian is not None for m in mechanisms)
        or any(grids.in_turn(m) for m in mechanisms)
    ):
        apart = min(apart, grids.delta_of_row(mechanisms, counts, 0.0)[1])
    return min(0.5 * (1.0 + apart) * (1.0 + ROUNDING), 1.0)


def _log_overlap(mechanism: Mechanism) -> float:
    apart = mechanism.total_variation
    return math.log1p(-apart) if apart < 1.0 else -math.inf


def _zero(events: tuple[Event, ...], delta: float) -> float:
    """δ(0) from above."""
    mechanisms, counts = _releasing(events)
    aim, tail, _, lower, _, zero, least = _look(events, delta)
    for finest in (1.0, FINEST):  # a tilted window may be too wide; then the gap is in proportion to the interval
        if (gap := (zero - least) / (1.0 + least)) <= ENOUGH - 1.0:
            break
        level = Aim(max(0.9 * (ENOUGH - 1.0) / gap, finest) * aim.interval, 0.0, aim.log_wrap)
        [(above, below)] = grids.removed_rows(mechanisms, counts[None], level, tail, 0.0)
        zero, least = min(zero, float(delta_at(above, ZERO, 1.0)[0])), max(least, float(delta_at(below, ZERO, -1.0)[0]))
    if 1.0 + zero > ENOUGH * (1.0 + least) and len(mechanisms) == 1 and lower < grids.LARGEST_EPSILON:
        zero = min(zero, 2.0 * best_accuracy(mechanism=mechanisms[0], steps=int(counts[0])).upper - 1.0)
    return zero


@remembered
def quick_delta(mechanism: Mechanism, steps: int, epsilon: float, least: float = 0.0) -> float:
    """The upper end of δ(ε), never below the truth; what is below `least` need not be told apart."""
    counts = np.array([float(steps)])
    if grids.without_grid(mechanism, steps):
        return grids.delta_of_row([mechanism], counts, epsilon)[1]
    log_delta, _ = rough_log_delta([mechanism], counts, epsilon)
    if log_delta <= math.log(max(least, LEAST_DELTA)) and not Renyi().supports(mechanism):  # no bound: this is
        most = float(Renyi().delta_of(mechanism, steps=steps, epsilon=epsilon))
        if most <= least:
            return most
    delta = math.exp(min(max(log_delta, -600.0), -5.0))
    looks: list[Callable[[Mechanism, float, float, float], tuple[float, float]]]
    looks = [partial(_one_grid, finer=0.125**further) for further in range(4)]  # the last ones where δ is near 1
    if two_grids.worth_it(mechanism, float(steps)):
        looks.insert(1, _two_grids)
    below, most = 0.0, 1.0
    for look in looks:
        low, high = look(mechanism, float(steps), epsilon, delta)
        below, most = max(below, low), min(most, high)
        if most <= 1.1 * max(below, least):
            return most
    return min(most, float(tight_delta(mechanism, steps, epsilon).upper))


def _one_grid(
    mechanism: Mechanism, steps: float, epsilon: float, delta: float, finer: float = 1.0
) -> tuple[float, float]:
    """δ(ε) from below and above where it is about `delta`; the interval costs a share AIM of ε, or a tenth of it of δ.

    What adding shows is less, mostly: a coarse grid tells.
    """
    row, here, tail = np.array([[steps]]), np.array([epsilon]), tail_for(steps, delta)
    aim = aim_at_epsilon([mechanism], row[0], grids.REMOVE, epsilon, delta)
    interval = finer * max(aim.interval, math.sqrt(0.8 * AIM / (aim.tilt * (1.0 + aim.tilt) * steps)))
    aim = aim_at_epsilon([mechanism], row[0], grids.REMOVE, epsilon, delta, interval)
    [(above, below)] = grids.removed_rows([mechanism], row, aim, tail, epsilon)
    most, added = float(delta_at(above, here, 1.0)[0]), 0.0
    for coarse in (interval, None) if epsilon < grids.most_added([mechanism], row[0]) else ():
        aim = aim_at_epsilon([mechanism], row[0], grids.ADD, epsilon, delta, coarse)
        added = float(delta_at(grids.added_rows([mechanism], row, aim, tail, epsilon)[0], here, 1.0)[0])
        if added <= most:
            break
    return float(delta_at(below, here, -1.0)[0]), max(most, added)


def _two_grids(mechanism: Mechanism, steps: float, epsilon: float, delta: float) -> tuple[float, float]:
    """The same of many rarely sampled steps."""
    assert isinstance(mechanism, SampledGaussian)
    split, tail = two_grids.split_of(mechanism, steps), tail_for(steps, delta)
    large, missed = two_grids.most_large(split, steps, 1e-4 * delta)
    scales = two_grids.scales_for(mechanism, split, steps, epsilon, delta, 0.5 * wanted(epsilon))

    def at(side: str, way: int, small: float, sign: float) -> float:
        aim = aim_at_epsilon([mechanism], np.array([steps]), way, epsilon, delta, scales.coarse)
        loss = two_grids.composed(mechanism, split, steps, scales, aim, tail, side, small)
        return float(delta_at(loss, np.array([epsilon]), sign)[0])

    most = max(at("remove_above", grids.REMOVE, steps, 1.0), at("add_above", grids.ADD, steps, 1.0))
    return max(at("remove_below", grids.REMOVE, steps - large, -1.0) - missed, 0.0), most


@remembered
def quick_profile(mechanism: Mechanism, steps: int, points: int) -> TightProfile:
    """The privacy curve about where `tight_profile` has it, by one tilt instead of seven.

    Raises:
        ValueError: there is no finite ε.
    """
    if grids.without_grid(mechanism, steps):
        return tight_profile(mechanism, steps, points)
    last = rough_epsilon(mechanism, steps, 1e-10)
    epsilon = np.linspace(0.0, max(last, 1e-6), points)
    return TightProfile(epsilon, *grids.delta_bounds([mechanism], np.array([float(steps)]), ANCHOR * last, epsilon))
