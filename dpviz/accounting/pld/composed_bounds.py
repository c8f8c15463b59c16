"""ε and δ read off a composed loss distribution, with its numerical errors on the safe side."""

from __future__ import annotations

import math

import numpy as np

from dpviz._arrays import Array, Index
from dpviz.accounting.pld.composed_loss import ComposedLoss


def blurred(pld: ComposedLoss, epsilon: float, delta: float) -> bool:
    """Whether the numerical error, not the interval, is what keeps the bound at ε from the truth."""
    return float(pld.error[min(int(np.searchsorted(pld.epsilon, epsilon)), pld.error.size - 1)]) > 0.03 * delta


def epsilon_above(pld: ComposedLoss, delta: float) -> float:
    """An ε ≥ 0 with δ(ε) ≤ delta for certain; inf where the grid shows none."""
    height = np.where(pld.error < 1.0, pld.delta + pld.error + pld.infinite, 1e9)
    fits = height <= delta
    if not fits.any():
        return math.inf
    j = int(np.argmax(fits))
    right = float(pld.epsilon[j])
    if j:  # between grid points δ is linear in exp(ε), and the error lies below its chord
        part = (height[j - 1] - delta) / (height[j - 1] - height[j])
        interval = right - float(pld.epsilon[j - 1])
        right = float(pld.epsilon[j - 1]) + math.log1p(float(part) * math.expm1(interval))
    return max(right + pld.slack, 0.0)


def epsilon_below(pld: ComposedLoss, delta: float) -> float:
    """An ε ≥ 0 with δ(ε) ≥ delta for certain; 0 where the grid shows none."""
    low, high = _sides(pld)
    exceeds = np.flatnonzero(low > delta)
    if exceeds.size == 0:
        return 0.0
    j = int(exceeds[-1])
    left = float(pld.epsilon[j])
    if j + 1 < low.size:
        interval = float(pld.epsilon[j + 1]) - left
        if pld.dense:
            part = (low[j] - delta) / (low[j] - low[j + 1])
        else:
            from_left, from_right = _slopes(low, high, interval, np.array([j]))
            parts = [0.0]
            if from_left[0] > 0:
                parts.append((low[j] - delta) / from_left[0])
            if from_right[0] > 0:
                parts.append(1.0 - (delta - low[j + 1]) / from_right[0])
            part = min(max(parts), 1.0)
        left += math.log1p(float(part) * math.expm1(interval))
    return max(left - pld.slack, 0.0)


def _sides(pld: ComposedLoss) -> tuple[Array, Array]:
    """δ at the points from below and from above, less an infinite loss's share."""
    resolved = pld.error < 1.0
    error = np.minimum(pld.error, 1.0)
    return np.where(resolved, pld.delta, 0.0) - error, np.where(resolved, pld.delta + error, np.inf)


def _slopes(low: Array, high: Array, interval: float, j: Index) -> tuple[Array, Array]:
    """How steeply a convex δ(exp ε) falls at most left, at least right of the cells j, times the cells' widths; ≥ 0.

    A convex curve lies above its chords continued: those through the two points before a cell and the two behind it.
    Infinite, and 0, where there are none.
    """
    with np.errstate(invalid="ignore"):
        before = np.where(j > 0, high[np.maximum(j - 1, 0)] - low[j], np.inf) * math.exp(interval)
        last = low.size - 1
        after = np.where(j + 2 <= last, low[np.minimum(j + 1, last)] - high[np.minimum(j + 2, last)], 0.0)
    return before, np.maximum(after * math.exp(-interval), 0.0)


def delta_at(pld: ComposedLoss, epsilon: Array, sign: float) -> Array:
    """δ(ε) plus (sign 1) or minus (sign −1) its error; 1 or 0 left of the grid, the last value or 0 right of it."""
    if pld.epsilon.size < 2:  # no grid at all
        return np.full(np.shape(epsilon), 1.0 if sign > 0 else 0.0)
    low, high = _sides(pld)
    height = np.minimum(high + pld.infinite, 1.0) if sign > 0 else np.maximum(low, 0.0)
    j = np.clip(np.searchsorted(pld.epsilon, epsilon, side="right") - 1, 0, pld.epsilon.size - 2)
    interval = pld.epsilon[j + 1] - pld.epsilon[j]
    part = np.expm1(np.clip(epsilon - pld.epsilon[j], 0.0, interval)) / np.expm1(interval)
    if sign > 0 or pld.dense:
        value = height[j] + part * (height[j + 1] - height[j])
    else:
        from_left, from_right = _slopes(low, high, float(interval.flat[0]), j)
        with np.errstate(invalid="ignore"):
            value = np.where(part > 0, low[j] - part * from_left, low[j])
        value = np.maximum(np.maximum(value, low[j + 1] + (1.0 - part) * from_right), height[j + 1])
    value = np.where(epsilon < pld.epsilon[0], 1.0 if sign > 0 else 0.0, value)
    value = np.where((epsilon > pld.epsilon[-1]) & (sign < 0), 0.0, value)
    return np.clip(value, 0.0, 1.0)
