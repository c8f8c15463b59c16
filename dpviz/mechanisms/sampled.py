"""Noise on a Poisson-sampled sum, one example added or removed: Q = n(z) without it, P = (1 − q) n(z) + q n(z − 1).

That this pair dominates, in both directions: Zhu, Dong, Wang 2022, Theorem 11 (Poisson sampling); that a shift by all
of the sensitivity is the worst one holds for noise that is symmetric and log-concave on the line (the same, for the
unsampled pair), and for the Gaussian in any dimension, which a rotation makes a line.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpviz.mechanisms.noise import LEAST_SCALE, GaussianNoise, LaplaceNoise
from dpviz.mechanisms.pair import ULPS, UNIT, Cells, DominatingPair, LossSplit

Array = npt.NDArray[np.float64]


def log_mixture(rate: float, ratio: Array) -> Array:
    """ln(1 − q + q·e^ratio) without overflow, and with all digits near 0."""
    if rate == 1.0:
        return ratio
    grows = np.log(rate) + ratio + np.log1p((1.0 - rate) / rate * np.exp(-np.maximum(ratio, 30.0)))
    return np.where(ratio > 30.0, grows, np.log1p(rate * np.expm1(np.minimum(ratio, 30.0))))


@dataclass(frozen=True, slots=True)
class SampledPair(DominatingPair):
    """P = (1 − q) n(z) + q n(z − 1) and Q = n(z).

    Attributes:
        noise: n, in units of the sensitivity.
        rate: q in (0, 1].
    """

    noise: GaussianNoise | LaplaceNoise
    rate: float

    @property
    def scale(self) -> float:
        return self.noise.scale

    @property
    def symmetric(self) -> bool:
        return self.rate == 1.0

    @property
    def largest_losses(self) -> tuple[float, float]:
        most, q = self.noise.largest_ratio, self.rate
        removed = float(log_mixture(q, np.asarray(most))) if math.isfinite(most) else math.inf
        return removed, most if q == 1.0 else -math.log1p(q * math.expm1(-most))

    def loss(self, z: Array | float) -> Array:
        return log_mixture(self.rate, self.noise.ratio(np.asarray(z, dtype=np.float64)))

    def output(self, loss: Array | float) -> Array:
        q, loss = self.rate, np.asarray(loss, dtype=np.float64)
        if q == 1.0:
            return self.noise.output(loss)
        with np.errstate(divide="ignore"):
            small = np.log(np.maximum(np.expm1(np.minimum(loss, 1.0)) + q, 0.0))
        large = loss + np.log1p(-(1.0 - q) * np.exp(-np.maximum(loss, 1.0)))
        return self.noise.output(np.where(loss < 1.0, small, large) - math.log(q))

    def cells(self, z: Array) -> Cells:
        """Differences are taken on the side where the noise's tail is small, which keeps tails relatively exact."""
        cdf, q = self.noise.cdf, self.rate
        left = z[1:] <= 0.5  # one side for both centres, so that their rounding errors stay comparable
        low0, low1 = cdf(z), cdf(z - 1.0)
        high0, high1 = cdf(-z), cdf(1.0 - z)
        mass0 = np.where(left, np.diff(low0), -np.diff(high0))
        mass1 = np.where(left, np.diff(low1), -np.diff(high1))
        size0 = np.where(left, low0[1:], high0[:-1])
        size1 = np.where(left, low1[1:], high1[:-1])
        unit = ULPS * UNIT
        return Cells(mass0, q * (mass1 - mass0), unit * size0, unit * q * (size0 + size1))

    def split(self, loss: float) -> LossSplit:
        q, log_cdf = self.rate, self.noise.log_cdf
        z = self.output(loss)
        below = float(self.noise.cdf(z))
        if math.isfinite(self.noise.largest_ratio):  # ratios beyond 0 and 1 are those at 0 and 1
            z = np.clip(z, 0.0, 1.0)
        left = float(log_cdf(z - 1.0) - log_cdf(z))
        right = float(log_cdf(1.0 - z) - log_cdf(-z))
        if q == 1.0:
            return LossSplit(left, right, below)
        grown = float(np.logaddexp(math.log1p(-q), math.log(q) + right))
        return LossSplit(math.log1p(q * math.expm1(left)), grown, below)

    def below(self, z: float) -> tuple[float, float]:
        q, without, with_it = self.rate, *(float(self.noise.cdf(np.asarray(at))) for at in (z, z - 1.0))
        return without, (1 - q) * without + q * with_it

    def above(self, z: float) -> tuple[float, float]:
        q, without, with_it = self.rate, *(float(self.noise.cdf(np.asarray(at))) for at in (-z, 1.0 - z))
        return without, (1 - q) * without + q * with_it

    def reach(self, tail: float) -> tuple[float, float]:
        away = self.noise.reach(tail)
        return -away, 1.0 + away

    def rough(self, tail: float) -> tuple[Array, Array]:
        pair = replace(self, noise=replace(self.noise, scale=max(self.scale, LEAST_SCALE)))
        z, weight = pair.noise.rough(*pair.reach(tail))
        return pair.loss(z), weight

    def log_delta(self, epsilon: float) -> float:
        return max(self.log_delta_removed(epsilon), self.log_delta_added(epsilon))

    def log_delta_removed(self, epsilon: float) -> float:
        """ln of E_P[(1 − e^{ε − ln(P/Q)})₊], for ε ≥ 0.

        Sampling leaves q times the noise's δ, at the ε of the same output, ln(1 + (e^ε − 1)/q) (Balle, Barthe, Gaboardi
        2018, Theorem 2).
        """
        q = self.rate
        if q == 1.0:
            return float(self.noise.log_delta(epsilon))
        inner = (
            math.log1p(math.expm1(epsilon) / q)
            if epsilon < 1.0
            else epsilon + math.log((1.0 - (1.0 - q) * math.exp(-epsilon)) / q)
        )
        return math.log(q) + float(self.noise.log_delta(inner))

    def log_delta_added(self, epsilon: float) -> float:
        """ln of E_Q[(1 − e^{ε − ln(Q/P)})₊], for ε ≥ 0: times e^(ε − ε′), at ε′ = −ln(1 − (1 − e^−ε)/q).

        −∞ beyond the largest loss −ln(1 − q).
        """
        q = self.rate
        if q == 1.0:
            return float(self.noise.log_delta(epsilon))
        lost = math.expm1(-epsilon) / q
        if lost <= -1.0:
            return -math.inf
        inner = -math.log1p(lost)
        return math.log(q) + epsilon - inner + float(self.noise.log_delta(inner))
