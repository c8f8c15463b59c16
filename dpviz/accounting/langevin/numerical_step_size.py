"""The largest first step size that the PLD accountant proves private, against ε.

The cost of T steps η_t = η₁ t^(−p) depends on u₁ = 1/σ₁² alone, and rises with it. So the upper end of the numerical
interval at some u₁ gives a point of the curve: at that ε this u₁ is private. Between two such points the curve is not
known, but lies above the lower one.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.schedules import PowerSchedule, grouped, power_sums
from dpviz.mechanisms import ReplaceOneGaussian, SampledGaussian

FACTOR = 4.0  # from one u₁ of the curve to the next
MOST_POINTS = 24
GROUPS_ALONG, GROUPS_AT_TARGET = 12, 132  # of steps, each taken at its largest
NEAR = 0.999  # of the target: near enough
LOOKS = 6  # at the target
EXTREME = 1e-150, 1e150  # of u₁


class NumericalStepSizes(NamedTuple):
    """Points of the curve, rising, and the target's own.

    Attributes:
        epsilon: ε that is proven at each u₁, (points,).
        inverse: u₁ = 1/σ₁², (points,).
        at_target: the largest u₁ seen to keep the target; 0 where none was.
    """

    epsilon: Array
    inverse: Array
    at_target: float


@remembered
def numerical_step_sizes(
    *,
    target: float,
    low: float,
    high: float,
    delta: float,
    sample_rate: float,
    exponent: float,
    steps: int,
    replaced: bool = False,
) -> NumericalStepSizes:
    """The curve from about `low` to about `high`, and what keeps `target`, at most a thousandth of ε below it.

    Args:
        target, low, high: ε > 0, `low` < `target` < `high`.
        delta: δ in (0, 1).
        sample_rate: q in (0, 1].
        exponent: p ≥ 0 of η₁ t^(−p).
        steps: T ≥ 1.
        replaced: whether neighbours replace an example.
    """

    def cost(inverse: float, groups: int = GROUPS_ALONG) -> float:
        """ε from above of steps with 1/σ_t² = `inverse` · t^(−p)."""
        counts, sizes = grouped(PowerSchedule(inverse, exponent, steps), groups)
        mechanism = ReplaceOneGaussian if replaced else SampledGaussian
        events = [
            (mechanism(float(size) ** -0.5, sample_rate), int(count)) for count, size in zip(counts, sizes, strict=True)
        ]
        return float(tight_epsilon_of_events(events, delta).upper)

    # Many steps with much noise are about a Gaussian mechanism of μ² = q² Σ 1/σ_t², whose ε is about μ √(2 ln(1/δ)).
    length = float(power_sums(np.array([1.0]), np.array([float(steps)]), exponent)[0])
    begin = (low / sample_rate) ** 2 / (-2.0 * math.log(delta) * length)
    points = _along(cost, begin, low, high)
    inverse = np.array(sorted(points), dtype=np.float64)
    epsilon = np.maximum.accumulate([points[size] for size in inverse.tolist()])
    at_target = _largest(lambda size: cost(size, GROUPS_AT_TARGET), inverse, epsilon, target)
    shown = (epsilon > 0.0) & np.isfinite(epsilon)
    return NumericalStepSizes(epsilon[shown], inverse[shown], at_target)


def _along(cost: Callable[[float], float], begin: float, low: float, high: float) -> dict[float, float]:
    """u₁ → ε, evenly from below `low` to above `high`, as far as the number of points reaches."""
    points: dict[float, float] = {}
    inverse = begin
    while len(points) < MOST_POINTS // 2 and inverse > EXTREME[0]:
        points[inverse] = cost(inverse)
        if points[inverse] <= low:
            break
        inverse /= FACTOR
    inverse = begin * FACTOR
    while len(points) < MOST_POINTS and max(points.values()) < high and inverse < EXTREME[1]:
        points[inverse] = cost(inverse)
        inverse *= FACTOR if points[inverse] < high / FACTOR else math.sqrt(FACTOR)  # large ε take longest
    return points


def _largest(cost: Callable[[float], float], inverse: Array, epsilon: Array, target: float) -> float:
    """The largest u₁ with a cost of at most `target`; `cost` is no more than `epsilon` at the same u₁."""
    inside = np.flatnonzero((epsilon > 0.0) & (epsilon <= target))
    if not inside.size:
        return float(inverse[epsilon <= target].max(initial=0.0))
    low, aim = float(inverse[inside[-1]]), 0.5 * (1.0 + NEAR) * target
    near = slice(max(int(inside[-1]) - 1, 0), int(inside[-1]) + 2)
    rise = math.log(epsilon[near][-1] / epsilon[near][0]) / math.log(inverse[near][-1] / inverse[near][0])
    # ε grows as u₁ to some power about here: each look aims anew.
    power = 1.0 / rise if 0.1 < rise < 10.0 else 2.0
    high, size, cost_here = math.inf, low, float(epsilon[inside[-1]])
    for _ in range(LOOKS):
        size *= (aim / cost_here) ** power
        if not low < size < high:
            size = math.sqrt(low * high) if high < math.inf else 2.0 * low
        cost_here = cost(size)
        if cost_here > target:
            high = size
        else:
            low = size
            if cost_here >= NEAR * target:
                break
    return low
