"""ε and δ read off a composed grid law, with its numerical errors on the safe side."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting.composed_law import ComposedLaw

Array = npt.NDArray[np.float64]


def blurred(law: ComposedLaw, epsilon: float, delta: float) -> bool:
    """Whether the numerical error, not the mesh, is what keeps the bound at ε from the truth."""
    return float(law.error[min(int(np.searchsorted(law.epsilon, epsilon)), law.error.size - 1)]) > 0.03 * delta


def epsilon_above(law: ComposedLaw, delta: float) -> float:
    """An ε ≥ 0 with δ(ε) ≤ delta for certain; inf where the grid shows none."""
    height = np.where(law.error < 1.0, law.delta + law.error + law.infinite, 1e9)
    fits = height <= delta
    if not fits.any():
        return math.inf
    j = int(np.argmax(fits))
    right = float(law.epsilon[j])
    if j:  # between grid points δ is linear in exp(ε), and the error lies below its chord
        part = (height[j - 1] - delta) / (height[j - 1] - height[j])
        mesh = right - float(law.epsilon[j - 1])
        right = float(law.epsilon[j - 1]) + math.log1p(float(part) * math.expm1(mesh))
    return max(right + law.slack, 0.0)


def epsilon_below(law: ComposedLaw, delta: float) -> float:
    """An ε ≥ 0 with δ(ε) ≥ delta for certain; 0 where the grid shows none."""
    low, high = _sides(law)
    exceeds = np.flatnonzero(low > delta)
    if exceeds.size == 0:
        return 0.0
    j = int(exceeds[-1])
    left = float(law.epsilon[j])
    if j + 1 < low.size:
        mesh = float(law.epsilon[j + 1]) - left
        if law.dense:
            part = (low[j] - delta) / (low[j] - low[j + 1])
        else:
            from_left, from_right = _slopes(low, high, mesh, np.array([j]))
            parts = [0.0]
            if from_left[0] > 0:
                parts.append((low[j] - delta) / from_left[0])
            if from_right[0] > 0:
                parts.append(1.0 - (delta - low[j + 1]) / from_right[0])
            part = min(max(parts), 1.0)
        left += math.log1p(float(part) * math.expm1(mesh))
    return max(left - law.slack, 0.0)


def _sides(law: ComposedLaw) -> tuple[Array, Array]:
    """δ at the points from below and from above, less an infinite loss's share."""
    resolved = law.error < 1.0
    error = np.minimum(law.error, 1.0)
    return np.where(resolved, law.delta, 0.0) - error, np.where(resolved, law.delta + error, np.inf)


def _slopes(low: Array, high: Array, mesh: float, j: npt.NDArray[np.intp]) -> tuple[Array, Array]:
    """How steeply a convex δ(exp ε) falls at most left, at least right of the cells j, times the cells' widths; ≥ 0.

    A convex curve lies above its chords continued: those through the two points before a cell and the two behind it.
    Infinite, and 0, where there are none.
    """
    with np.errstate(invalid="ignore"):
        before = np.where(j > 0, high[np.maximum(j - 1, 0)] - low[j], np.inf) * math.exp(mesh)
        last = low.size - 1
        after = np.where(j + 2 <= last, low[np.minimum(j + 1, last)] - high[np.minimum(j + 2, last)], 0.0)
    return before, np.maximum(after * math.exp(-mesh), 0.0)


def delta_at(law: ComposedLaw, epsilon: Array, sign: float) -> Array:
    """δ(ε) plus (sign 1) or minus (sign −1) its error; 1 or 0 left of the grid, the last value or 0 right of it."""
    if law.epsilon.size < 2:  # no grid at all
        return np.full(np.shape(epsilon), 1.0 if sign > 0 else 0.0)
    low, high = _sides(law)
    height = np.minimum(high + law.infinite, 1.0) if sign > 0 else np.maximum(low, 0.0)
    j = np.clip(np.searchsorted(law.epsilon, epsilon, side="right") - 1, 0, law.epsilon.size - 2)
    mesh = law.epsilon[j + 1] - law.epsilon[j]
    part = np.expm1(np.clip(epsilon - law.epsilon[j], 0.0, mesh)) / np.expm1(mesh)
    if sign > 0 or law.dense:
        value = height[j] + part * (height[j + 1] - height[j])
    else:
        from_left, from_right = _slopes(low, high, float(mesh.flat[0]), j)
        with np.errstate(invalid="ignore"):
            value = np.where(part > 0, low[j] - part * from_left, low[j])
        value = np.maximum(np.maximum(value, low[j + 1] + (1.0 - part) * from_right), height[j + 1])
    value = np.where(epsilon < law.epsilon[0], 1.0 if sign > 0 else 0.0, value)
    value = np.where((epsilon > law.epsilon[-1]) & (sign < 0), 0.0, value)
    return np.clip(value, 0.0, 1.0)
