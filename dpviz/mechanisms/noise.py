"""Noise that is added to a number of sensitivity 1: what dominating pairs are made of.

Both are symmetric about 0, and their log likelihood ratio ln(n(z − 1)/n(z)) does not fall in z.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from dpviz._arrays import Array

LEAST_SCALE = 1e-3  # what estimates take for less noise than this: the true losses would overflow
_ROUGH_POINTS = 481
SMALL_MEAN, FAR = 1e-4, 100.0  # 1/σ below which, and deviations up to which, δ(ε) is expanded in 1/σ


def gaussian_log_delta(noise_multiplier: Array | float, epsilon: Array | float) -> Array:
    """ln δ(ε) of the Gaussian mechanism (Balle, Wang 2018, Theorem 8), in logs so that tiny δ keep their digits."""
    epsilon, mean = np.asarray(epsilon, dtype=np.float64), 1.0 / np.asarray(noise_multiplier, dtype=np.float64)
    small = mean < SMALL_MEAN
    if small.all():
        return _log_delta_of_small_mean(mean, epsilon / mean)
    first = log_ndtr(mean / 2 - epsilon / mean)
    second = epsilon + log_ndtr(-mean / 2 - epsilon / mean)
    log_delta = first + np.log(-np.expm1(np.minimum(second - first, -1e-300)))
    if not small.any():
        return log_delta
    little = np.minimum(mean, SMALL_MEAN)
    return np.where(small, _log_delta_of_small_mean(little, epsilon / little), log_delta)


def mills(x: Any) -> Any:
    """Mills' ratio (1 − Φ(x))/φ(x)."""
    return math.sqrt(0.5 * math.pi) * erfcx(x / math.sqrt(2.0))


def _log_delta_of_small_mean(mean: Array, x: Array) -> Array:
    """The same at ε = mean · x, where the two terms cancel: with the Mills ratio R = (1 − Φ)/φ,

    δ/φ(x) = mean (1 + mean² (x² − 1)/24) − expm1(mean x) R(x + mean/2) exp(−mean x/2 − mean²/8), to (mean x)⁴/1920.
    """
    near = np.minimum(x, FAR)
    second = np.expm1(mean * near) / mean * mills(near + 0.5 * mean) * np.exp(-0.5 * mean * near - 0.125 * mean**2)
    inside = 1.0 + mean**2 * (near**2 - 1.0) / 24.0 - second
    log_delta = np.log(mean) - 0.5 * near**2 - 0.5 * math.log(2.0 * math.pi) + np.log(inside)
    return np.where(x > FAR, log_ndtr(0.5 * mean - x), log_delta)  # there an upper bound, far below any double


@dataclass(frozen=True, slots=True)
class GaussianNoise:
    """N(0, scale²), in units of the sensitivity; n is its density."""

    scale: float

    @property
    def largest_ratio(self) -> float:
        """The supremum of |ln(n(z − 1)/n(z))|."""
        return math.inf

    def ratio(self, z: Array) -> Array:
        """ln(n(z − 1)/n(z))."""
        return np.asarray((2.0 * z - 1.0) / (2.0 * self.scale**2))

    def output(self, ratio: Array) -> Array:
        """A z with this ratio; ∓∞ beyond the ratios that there are."""
        return np.asarray(self.scale**2 * ratio + 0.5)

    def cdf(self, z: Array) -> Array:
        return np.asarray(ndtr(z / self.scale))

    def log_cdf(self, z: Array) -> Array:
        """ln of the cdf; right in the far tail too."""
        return np.asarray(log_ndtr(z / self.scale))

    def reach(self, tail: float) -> float:
        """How far outputs lie from their centre that do not count as tail, at `tail` standard deviations of a Gaussian.

        Infinite ratios must lie within it, for what lies beyond may be taken for an infinite loss.
        """
        return tail * self.scale

    def rough(self, low: float, high: float) -> tuple[Array, Array]:
        """Outputs between low and high and ln of their probabilities, roughly: it steers, it proves nothing."""
        z = np.linspace(low, high, _ROUGH_POINTS)
        return z, -0.5 * (z / self.scale) ** 2 + math.log((z[1] - z[0]) / (self.scale * math.sqrt(2 * math.pi)))

    def log_delta(self, epsilon: Array | float) -> Array:
        """ln δ(ε) of n(z − 1) against n(z); −∞ where δ = 0."""
        return gaussian_log_delta(self.scale, epsilon)


@dataclass(frozen=True, slots=True)
class LaplaceNoise:
    """Density exp(−|z|/scale)/(2·scale); its functions are `GaussianNoise`'s."""

    scale: float

    @property
    def largest_ratio(self) -> float:
        return 1.0 / self.scale

    def ratio(self, z: Array) -> Array:
        return np.asarray(np.clip(2.0 * z - 1.0, -1.0, 1.0) / self.scale)

    def output(self, ratio: Array) -> Array:
        inside = 0.5 * (self.scale * np.clip(ratio, -self.largest_ratio, self.largest_ratio) + 1.0)
        beyond = np.where(ratio > self.largest_ratio, math.inf, inside)
        return np.where(ratio < -self.largest_ratio, -math.inf, beyond)

    def cdf(self, z: Array) -> Array:
        half = 0.5 * np.exp(-np.abs(z) / self.scale)
        return np.where(z <= 0.0, half, 1.0 - half)

    def log_cdf(self, z: Array) -> Array:
        half = 0.5 * np.exp(-np.abs(z) / self.scale)
        return np.where(z <= 0.0, np.minimum(z, 0.0) / self.scale - math.log(2.0), np.log1p(-half))

    def reach(self, tail: float) -> float:
        """0: at 0 and at 1 the losses have reached their extremes, and nothing counts as tail."""
        return 0.0

    def rough(self, low: float, high: float) -> tuple[Array, Array]:
        z = np.linspace(0.0, 1.0, _ROUGH_POINTS)
        weight = np.exp(-z / self.scale) * (z[1] - z[0]) / (2.0 * self.scale)
        weight[[0, -1]] += 0.5, 0.5 * math.exp(-1.0 / self.scale)
        return z, np.log(np.maximum(weight, 1e-300))

    def log_delta(self, epsilon: Array | float) -> Array:
        """1 − e^((ε − 1/b)/2) (Balle, Barthe, Gaboardi 2018, Theorem 3)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(-np.expm1(np.minimum(0.5 * (np.asarray(epsilon) - self.largest_ratio), 0.0))))
