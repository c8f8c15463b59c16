"""How far an axis reaches, so that one exploding curve does not squash the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpviz.charts.marks import Array

OUTLIER = 30.0
HEADROOM = 1.15
DECADES = 24.0


def x_span(xs: Sequence[Array], log: bool) -> tuple[float, float]:
    """From the smallest to the largest x of all curves (positive ones where `log`); (1, 10) where there is none."""
    found = np.concatenate([*xs, np.empty(0)])
    found = found[np.isfinite(found) & ((found > 0) | (not log))]
    if not found.size:
        return 1.0, 10.0
    low, high = float(found.min()), float(found.max())
    if low < high:
        return low, high
    return (low / 2, low * 2) if log else (low - max(abs(low), 1.0) / 2, low + max(abs(low), 1.0) / 2)


def y_span(ys: Sequence[Array], log: bool) -> tuple[float, float]:
    """The y range that shows the curves `ys` well.

    Linear: from 0 (or the lowest negative value) to 1.15 times the largest maximum among the curves whose maximum is at
    most 30 times the smallest one; what is above leaves through the top. Log: from the smallest positive to the largest
    value, at least one decade and at most 24 below the top, with a little air.
    """
    valid = [y[np.isfinite(y) & ((y > 0) | (not log))] for y in ys]
    valid = [y for y in valid if y.size]
    if not valid:
        return (0.1, 10.0) if log else (0.0, 1.0)
    maxima = np.array([y.max() for y in valid])
    lowest = float(min(y.min() for y in valid))
    if not log:
        positive = maxima[maxima > 0]
        top = float(positive[positive <= OUTLIER * positive.min()].max()) if positive.size else 0.0
        bottom = min(lowest, 0.0)
        span = top - bottom or 1.0
        return bottom - (HEADROOM - 1) * span * (bottom < 0), top + (HEADROOM - 1) * span
    low, high = np.log10(lowest), np.log10(maxima.max())
    low = max(low, high - DECADES)
    if high - low < 1:
        middle = (high + low) / 2
        low, high = middle - 0.5, middle + 0.5
    air = 0.04 * (high - low)
    return float(10 ** max(low - air, -307)), float(10 ** min(high + air, 308))
