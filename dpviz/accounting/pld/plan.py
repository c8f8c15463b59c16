"""Numerical parameters of a composition (discretisation interval, tails, tilts), from rough Chernoff estimates.

Nothing here is part of a proof: `bounds` hold for any plan, a poor plan only makes them wide.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.composed_loss import log_weight
from dpviz.accounting.pld.loss_transform import LARGEST_SIZE as LONGEST_TRANSFORM
from dpviz.accounting.pld.loss_transform import LEAST_ATOM
from dpviz.accounting.pld.loud_modes import LONGEST_LOSS
from dpviz.accounting.pld.privacy_loss import pair_of
from dpviz.mechanisms import Mechanism, one_row_of
from dpviz.mechanisms.log_excess import log_sums

RELATIVE_WIDTH, ABSOLUTE_WIDTH = 0.01, 0.005  # promised: the larger of 1 % of ε and 0.005
AIM = 0.002  # share of ε that the discretisation may take
LEAST_WIDTH = 1e-6  # nobody needs an ε that is known better than this
COMMON_SIZE, LARGEST_SIZE = 2**17, 2**20  # grid points: what is quick, and what is the limit
# Tilts that are tried; the least ones where ε is in the thousands.
ORDERS = 2.0 ** np.concatenate([np.arange(-30.0, -10.0), np.arange(-10.0, 30.0, 1 / 3)])
FIRST_SIZE = 2**16  # grid points of a first look; a finer one is tried where that was not enough
FEW_SIZE = 2**12  # of a step's own window, where few modes are left of many steps
LEAST_NOISE_FOR_FEW = 1.2
LARGEST_INTERVAL = 64.0
MOST_MOMENTS = 40  # mechanisms of which moments are estimated
LOG_SPILL = 28.0  # −ln of the tilted probability that may lie outside the window, where Chernoff's bound is near δ
MOST_SPILL = 60.0
DEVIATIONS = 14.0  # of a composed loss in its window, at least


@dataclass(frozen=True, slots=True)
class Aim:
    """Grid and tilt for one direction: where its ε (or δ) is expected."""

    interval: float
    tilt: float
    log_wrap: float  # ln of the tilted probability that may lie outside the window


@remembered
def _log_moments(mechanism: Mechanism, tail: float) -> tuple[Array, Array]:
    """Estimates of ln E[exp(λ loss)] at ORDERS for removing and for adding; they steer, they prove nothing."""
    loss, weight = pair_of(mechanism).rough(tail)
    return log_sums(weight + (ORDERS[:, None] + 1.0) * loss), log_sums(weight - ORDERS[:, None] * loss)


def _tilt_for_delta(moments: Array, delta: float) -> tuple[int, float]:
    """Index of the best tilt and the ε that Chernoff's bound gives for δ."""
    bound = (moments - math.log(delta) + log_weight(ORDERS)) / ORDERS
    best = int(np.argmin(bound))
    return best, max(float(bound[best]), 0.0)


def _tilt_for_epsilon(moments: Array, epsilon: float, steps: float) -> int:
    """Index of the tilt with the least numerical error: Chernoff's bound times the steps that then show something."""
    rest = -np.expm1(-np.maximum(moments, 0.0) / steps)
    shown = steps * np.where(rest > 1.0 - LEAST_ATOM, 1.0, rest)
    return int(np.argmin(moments - ORDERS * epsilon + log_weight(ORDERS) + np.log1p(shown)))


def _window(moments: Array, best: int) -> float:
    """Rough width of the composed distribution tilted by ORDERS[best], in units of ε."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        chord = (moments - moments[best]) / (ORDERS - ORDERS[best])
        reach = LOG_SPILL / np.abs(ORDERS - ORDERS[best])
        above = np.nanmin((chord + reach)[best + 1 :], initial=math.inf)
        below = np.nanmax((chord - reach)[:best], initial=-math.inf)
    return float(above - below) if math.isfinite(above - below) else 100.0


def _interval(steps: float, tilt: float, epsilon: float, window: float, counting: float) -> float:
    """Discretisation interval that costs AIM of ε, coarser where that would be slow and the promise allows it."""
    fine = math.sqrt(8.0 * max(AIM * epsilon, LEAST_WIDTH) / ((1.0 + tilt) * steps))
    fine = max(min(fine, 0.25 / tilt, window / 3000.0), 2.0**-60)
    promised = max(0.3 * ABSOLUTE_WIDTH, 0.4 * RELATIVE_WIDTH * epsilon)
    coarse = math.sqrt(8.0 * promised / ((1.0 + tilt) * steps))
    interval = max(fine, min(coarse, counting / COMMON_SIZE), counting / LARGEST_SIZE)
    return float(
        2.0 ** (math.floor(4.0 * math.log2(interval)) / 4.0)
    )  # few distinct values, so that grids are found again


def tail_for(steps: float, delta: float) -> float:
    """Standard deviations beyond which all steps together hold less than 1e-7 of δ."""
    return math.ceil(-4.0 * float(ndtri(max(1e-7 * delta / steps, 1e-290)))) / 4.0


def _composed_moments(mechanisms: Sequence[Mechanism], counts: Array, tail: float, direction: int) -> Array:
    """Their sum; of many that differ in noise alone some, between which it is straight in 1/σ²: this only steers."""
    pairs = [pair_of(mechanism) for mechanism in mechanisms]
    kept, weights = np.arange(len(pairs)), counts
    if len(pairs) > MOST_MOMENTS and len({(type(pair), pair.largest_losses) for pair in pairs}) == 1:
        signal = np.array([pair.scale**-2 for pair in pairs])
        share = 1.0 - np.linspace(1.0, 0.0, MOST_MOMENTS) ** 2  # denser where noise is least
        kept = np.argsort(signal)[np.unique((share * (len(pairs) - 1.0)).round().astype(np.intp))]
        weights = np.array([counts @ np.interp(signal, signal[kept], at) for at in np.eye(kept.size)])
    total = np.zeros(ORDERS.size)
    for i, weight in zip(kept.tolist(), weights.tolist(), strict=True):
        total += weight * _log_moments(mechanisms[i], math.ceil(tail))[direction]
    return total


def aim_for_rows(mechanisms: Sequence[Mechanism], counts: Array, direction: int, delta: float) -> Aim:
    """Aim for compositions (rows, mechanisms) in one direction (0 remove, 1 add) when their ε at δ is wanted.

    Several rows share the interval of the one that needs the finest, and the tilt of the one with half the most steps:
    too small a tilt costs less numerical error than too large a one. A tilt of a fourth of the best one costs some 0.6
    ln(1/δ) nats, of which there are 35 to spare.
    """
    total = counts.sum(axis=1)
    half = int(np.argmin(np.abs(np.log(2.0 * total / total.max()))))
    few = np.unique([int(total.argmin()), half, int(total.argmax())]).tolist()
    aims = [aim_at_epsilon(mechanisms, counts[i], direction, None, delta) for i in few]
    interval = min(aim.interval for aim in aims)
    spare = -0.6 * math.log(delta) if total.max() > 2.0 * total.min() else 0.0
    return Aim(interval, min(aims[few.index(half)].tilt, 0.5 / interval), min(aim.log_wrap for aim in aims) - spare)


def rough_epsilon(mechanism: Mechanism, steps: float, delta: float) -> float:
    """Chernoff's estimate of ε after removal; not below the truth by much, and above it by up to a few times.

    Of k rows, as if one row's were Gaussian.
    """
    one, rows = one_row_of(mechanism)
    if one != mechanism and mechanism.pair() is None:
        away = math.sqrt(-2.0 * math.log(delta))
        mean = rows * gaussian_mean(rough_epsilon(one, steps, delta), away)
        return mean * (away + 0.5 * mean)
    moments: Array = steps * _log_moments(mechanism, math.ceil(tail_for(steps, delta)))[0]
    _, epsilon = _tilt_for_delta(moments, delta)
    return epsilon


def gaussian_mean(epsilon: float, away: float) -> float:
    """The mean of a Gaussian whose loss is about ε `away` deviations out."""
    return math.sqrt(away**2 + 2.0 * epsilon) - away


def rough_log_delta(mechanisms: Sequence[Mechanism], counts: Array, epsilon: float) -> tuple[float, float]:
    """Chernoff's estimate of ln δ at ε after removal, and of −d ln δ/dε there.

    Where δ is near 1 the best tilt is near 0, and tells nothing of the slope: ε itself is then the scale.
    """
    moments = _composed_moments(mechanisms, counts, 20.0, 0)
    bound = moments - ORDERS * epsilon + log_weight(ORDERS)
    best = int(np.argmin(bound))
    return float(bound[best]), max(float(ORDERS[best]), 0.5 / (1.0 + epsilon))


def rough_log_deltas(mechanisms: Sequence[Mechanism], steps: Array, epsilon: Array) -> Array:
    """Chernoff's estimate of ln δ at ε (rows,) after removal of `steps` (rows,) of each mechanism alone.

    Returns:
        Estimates (rows, mechanisms), at most 0.
    """
    moments = np.stack([_log_moments(mechanism, 20.0)[0] for mechanism in mechanisms])
    bound = steps[:, None, None] * moments - (ORDERS * epsilon[:, None] - log_weight(ORDERS))[:, None]
    return np.asarray(np.minimum(bound.min(axis=2), 0.0))


def aim_at_epsilon(
    mechanisms: Sequence[Mechanism],
    counts: Array,
    direction: int,
    epsilon: float | None,
    delta: float,
    interval: float | None = None,
) -> Aim:
    """Aim where ε is known, exactly or nearly, or else where Chernoff's bound has it; `interval` if that is known too.

    The tilt is less than ε asks for where the interval could not follow so steep a weight.
    """
    steps = float(counts.sum())
    tail = tail_for(steps, delta)
    moments = _composed_moments(mechanisms, counts, tail, direction)
    best, near = _tilt_for_delta(moments, delta)
    if epsilon is not None:
        best, near = _tilt_for_epsilon(moments, epsilon, steps), epsilon
    pairs = [pair_of(mechanism) for mechanism in mechanisms]
    low, high = np.array([pair.loss(np.array(pair.reach(tail))) for pair in pairs]).T
    span = float((high - low).max())  # of one step's loss
    width = max(min(_window(moments, best), 8.0 * (near + span)), span)
    # The window whose grid points take time. Of one mechanism with enough noise it is a step's own, times a factor:
    # few modes are left of many steps there, and these cost the same however long the period is (`loud_modes`).
    few = len(pairs) == 1 and pairs[0].scale >= LEAST_NOISE_FOR_FEW
    counting = min(width, FIRST_SIZE / FEW_SIZE * span) if few else width
    least = counting / FIRST_SIZE
    if epsilon is not None:
        least = width / LARGEST_SIZE if counting == width else min(least, width / LARGEST_SIZE)
    if interval is None:
        interval = _interval(steps, float(ORDERS[best]), near, width, counting)
    interval = min(max(interval, least), LARGEST_INTERVAL)
    # Errors count exp(excess) times: by that much the total tilted mass exceeds δ at ε.
    excess = float(moments[best] - ORDERS[best] * near + log_weight(ORDERS[best])) - math.log(delta)
    return Aim(interval, min(float(ORDERS[best]), 0.5 / interval), -min(LOG_SPILL + max(excess, 0.0), MOST_SPILL))


def too_wide(mechanisms: Sequence[Mechanism], counts: Array, direction: int, tail: float, aim: Aim) -> bool:
    """Whether the composed loss exceeds the longest transform, so that a grid, which takes its time, shows nothing.

    Of a step whose own grid is short few modes are left, which hold any width.
    """
    spans, variance = [], 0.0
    for mechanism, count in zip(mechanisms, counts.tolist(), strict=True):
        low, high, each = _spread(mechanism, direction, math.ceil(tail), aim.tilt)
        spans.append(high - low)
        variance += count * each
    window = DEVIATIONS * math.sqrt(variance)
    return max(spans) > LONGEST_LOSS * aim.interval and window > LONGEST_TRANSFORM * aim.interval


@remembered
def _spread(mechanism: Mechanism, direction: int, tail: float, tilt: float) -> tuple[float, float, float]:
    """Least and largest loss of one step, and their tilted variance; estimates."""
    loss, weight = pair_of(mechanism).rough(tail)
    weight = weight + ((1.0 + tilt) * loss if direction == 0 else -tilt * loss)
    share = np.exp(weight - weight.max())
    share /= share.sum()
    return float(loss.min()), float(loss.max()), float(share @ (loss - share @ loss) ** 2)


def finer(interval: float, lower: float, upper: float) -> float:
    """Interval for the promised width after `interval` gave [lower, upper]: widths fall with it or with its square."""
    share = 0.3 * promised(lower) / max(upper - lower, 1e-300)
    return interval * min(max(math.pow(share, 0.75), 1 / 16), 0.5)


def promised(epsilon: float) -> float:
    """Largest width that keeps the promise at ε."""
    return max(RELATIVE_WIDTH * epsilon, ABSOLUTE_WIDTH)


def wanted(epsilon: float) -> float:
    """Width that is tried for on two scales, where a narrower interval costs little: keeps small ε in sight too."""
    return 0.5 * max(RELATIVE_WIDTH * epsilon, 0.4 * ABSOLUTE_WIDTH)
