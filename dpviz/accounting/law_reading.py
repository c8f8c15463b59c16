"""ε and δ read off a composed grid law, with its numerical errors on the safe side."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz.accounting.loss_transform import ComposedLaw

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
    resolved = law.error < 1.0
    height = np.where(resolved, law.delta, 0.0) - np.minimum(law.error, 1.0)
    exceeds = np.flatnonzero(height > delta)
    if exceeds.size == 0:
        return 0.0
    j = int(exceeds[-1])
    left = float(law.epsilon[j])
    if j + 1 < height.size:
        part = (height[j] - delta) / (height[j] - height[j + 1])
        mesh = float(law.epsilon[j + 1]) - left
        left += math.log1p(float(part) * math.expm1(mesh))
    return max(left - law.slack, 0.0)


def delta_at(law: ComposedLaw, epsilon: Array, sign: float) -> Array:
    """δ(ε) plus (sign 1) or minus (sign −1) its error; 1 or 0 left of the grid, the last value or 0 right of it."""
    if law.epsilon.size < 2:  # no grid at all
        return np.full(np.shape(epsilon), 1.0 if sign > 0 else 0.0)
    height = law.delta + sign * law.error + (law.infinite if sign > 0 else 0.0)
    height = np.where(law.error < 1.0, height, 1.0 if sign > 0 else 0.0)
    j = np.clip(np.searchsorted(law.epsilon, epsilon, side="right") - 1, 0, law.epsilon.size - 2)
    mesh = law.epsilon[j + 1] - law.epsilon[j]
    part = np.expm1(np.clip(epsilon - law.epsilon[j], 0.0, mesh)) / np.expm1(mesh)
    value = height[j] + part * (height[j + 1] - height[j])
    value = np.where(epsilon < law.epsilon[0], 1.0 if sign > 0 else 0.0, value)
    value = np.where((epsilon > law.epsilon[-1]) & (sign < 0), 0.0, value)
    return np.clip(value, 0.0, 1.0)
