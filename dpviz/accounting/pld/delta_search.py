"""Search for δ at ε by the bounds on ε at δ.

δ(ε) is the inverse of ε(δ): the bounds at one are the bounds at the other, in both directions. Every result is checked
by inserting it again: ε_upper(δ_upper) ≤ ε and ε_lower(δ_lower) ≥ ε hold for the very floats, whatever δ is.
"""

import math
from collections.abc import Callable

LEAST_LOG_DELTA = -690.0  # below, a double has no digits to spare
LARGEST_LOG_DELTA = -1e-9
TOLERANCE = 1e-3  # of ln δ
_LONGEST_STEP = 50.0
_MOST_LOOKS = 40

Interval = Callable[[float], tuple[float, float]]


def delta_interval(interval: Interval, epsilon: float, start: float, slope: float) -> tuple[float, float]:
    """Lower and upper δ at ε.

    Args:
        interval: δ ↦ (lower, upper) ε, both falling.
        epsilon: ε ≥ 0.
        start: ln δ where to look first.
        slope: −d ln δ/dε there, an estimate; it only steers.
    """
    seen: dict[float, tuple[float, float]] = {}

    def at(x: float) -> tuple[float, float]:
        if x not in seen:
            seen[x] = interval(math.exp(x))
        return seen[x]

    def too_high(x: float) -> float:
        high = at(x)[1]
        return _gap(slope * (high - epsilon)) if high > 0.0 else -1.0  # ε ends at 0: there is no telling how far off

    def too_low(x: float) -> float:
        low = at(x)[0]
        return _gap(slope * (epsilon - low)) if low > 0.0 else 1.0

    upper = _search(too_high, _clipped(start), 1.0)
    nearest = min(seen, key=lambda x: abs(seen[x][0] - epsilon))
    lower = _search(too_low, nearest, -1.0)
    high = 1.0 if upper is None else math.exp(upper)
    return min(0.0 if lower is None else math.exp(lower), high), high


def _clipped(x: float) -> float:
    return min(max(x, LEAST_LOG_DELTA), LARGEST_LOG_DELTA)


def _gap(move: float) -> float:
    """How far ln δ has to move, about; > 0 exactly where it has to."""
    return max(move, -_LONGEST_STEP) if move <= 0.0 else min(max(move, 1e-300), _LONGEST_STEP)


def _search(gap: Callable[[float], float], x: float, towards: float) -> float | None:
    """The x nearest to where gap turns positive at which gap ≤ 0 was seen, to TOLERANCE; None where there is none."""
    good: tuple[float, float] | None = None
    bad: tuple[float, float] | None = None
    stretch = 1.0
    for step in range(_MOST_LOOKS):
        value = gap(x)
        if value <= 0.0:
            good = (x, value)
        else:
            bad = (x, value)
        if -TOLERANCE < value <= 0.0 or (good and bad and abs(good[0] - bad[0]) < TOLERANCE):
            break
        if good and bad:  # aimed a little on the good side
            share = (-0.3 * TOLERANCE - good[1]) / (bad[1] - good[1]) if step % 3 < 2 else 0.5
            x = good[0] + min(max(share, 0.02), 0.98) * (bad[0] - good[0])
            continue
        further = _clipped(x + towards * stretch * (value + 0.3 * TOLERANCE))
        stretch *= 2.0
        if further == x:
            break
        x = further
    return None if good is None else good[0]
