"""ε and δ read off a composed loss distribution, with its numerical errors on the safe side."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpviz._arrays import Array, Index
from dpviz.accounting.pld.composed_loss import LARGEST_EXPONENT, ComposedLoss


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
        right = float(pld.epsilon[j - 1]) + _along(float(part), interval)
    return max(right + pld.slack, 0.0)


def _along(part: float, interval: float) -> float:
    """ln(1 + part·(e^interval − 1)): how far along a chord in e^ε; also where e^interval overflows."""
    if interval < LARGEST_EXPONENT:
        return math.log1p(part * math.expm1(interval))
    return interval + math.log(part) if part > 0.0 else 0.0


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
            from_left, from_right = _slopes(
                low, high, np.array(interval), np.array([j]), np.array(0), np.array(low.size - 1)
            )
            parts = [0.0]
            if from_left[0] > 0:
                parts.append((low[j] - delta) / from_left[0])
            if from_right[0] > 0:
                parts.append(1.0 - (delta - low[j + 1]) / from_right[0])
            part = min(max(parts), 1.0)
        left += _along(float(part), interval)
    return max(left - pld.slack, 0.0)


def _sides(pld: ComposedLoss) -> tuple[Array, Array]:
    """δ at the points from below and from above, less an infinite loss's share."""
    resolved = pld.error < 1.0
    error = np.minimum(pld.error, 1.0)
    return np.where(resolved, pld.delta, 0.0) - error, np.where(resolved, pld.delta + error, np.inf)


def _slopes(low: Array, high: Array, interval: Array, j: Index, first: Index, last: Index) -> tuple[Array, Array]:
    """How steeply a convex δ(exp ε) falls at most left, at least right of the cells j, times the cells' widths; ≥ 0.

    A convex curve lies above its chords continued: those through the two points before a cell and the two behind it.
    Infinite, and 0, where there are none: its points are those from `first` to `last`.
    """
    with np.errstate(invalid="ignore"):
        before = np.where(j > first, high[np.maximum(j - 1, first)] - low[j], np.inf) * np.exp(interval)
        after = np.where(j + 2 <= last, low[np.minimum(j + 1, last)] - high[np.minimum(j + 2, last)], 0.0)
    return before, np.maximum(after * np.exp(-interval), 0.0)


def delta_at(pld: ComposedLoss, epsilon: Array, sign: float) -> Array:
    """δ(ε) plus (sign 1) or minus (sign −1) its error; left of the grid 1 or the first value, as δ falls; right of it
    the last value or 0.
    """
    delta: Array = DeltaCurves([pld], sign)(epsilon[None])[0]
    return delta


class DeltaCurves:
    """`delta_at` of several distributions, each at ε of its own: (distributions, n) → the same shape."""

    def __init__(self, plds: Sequence[ComposedLoss], sign: float) -> None:
        self.sign, self.grids = sign, [pld.epsilon for pld in plds]
        self.epsilon = np.concatenate(self.grids)
        low, high = (np.concatenate(side) for side in zip(*map(_sides, plds), strict=True))
        size, infinite = np.array([grid.size for grid in self.grids]), np.array([pld.infinite for pld in plds])
        self.low, self.high = low, high
        self.height = np.minimum(high + np.repeat(infinite, size), 1.0) if sign > 0 else np.maximum(low, 0.0)
        self.last = np.cumsum(size)[:, None] - 1
        self.first = self.last + 1 - size[:, None]
        self.straight = np.array([[sign > 0 or pld.dense] for pld in plds])

    def __call__(self, epsilon: Array) -> Array:
        low, height, first, last = self.low, self.height, self.first, self.last
        cell = [np.searchsorted(*pair, side="right") - 1 for pair in zip(self.grids, epsilon, strict=True)]
        j = np.maximum(np.minimum(np.stack(cell) + first, last - 1), first)
        after = np.minimum(j + 1, last)
        interval = self.epsilon[after] - self.epsilon[j]
        with np.errstate(invalid="ignore", divide="ignore"):
            along = np.clip(epsilon - self.epsilon[j], 0.0, interval)
            part = np.expm1(along) / np.expm1(interval)
            wide = interval > LARGEST_EXPONENT  # there the exponentials overflow
            part = np.where(wide, np.where(along > 0.0, np.exp(np.where(wide, along - interval, 0.0)), 0.0), part)
            value = height[j] + part * (height[after] - height[j])
            if not self.straight.all():
                from_left, from_right = _slopes(low, self.high, interval[:, :1], j, first, last)
                bent = np.where(part > 0, low[j] - part * from_left, low[j])
                bent = np.maximum(np.maximum(bent, low[after] + (1.0 - part) * from_right), height[after])
                value = np.where(self.straight, value, bent)
        value = np.where(epsilon < self.epsilon[first], 1.0 if self.sign > 0 else height[first], value)
        value = np.where((epsilon > self.epsilon[last]) & (self.sign < 0), 0.0, value)
        no_grid = 1.0 if self.sign > 0 else 0.0
        return np.asarray(np.where(first == last, no_grid, np.clip(value, 0.0, 1.0)))
