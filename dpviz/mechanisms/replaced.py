"""Gaussian noise on a Poisson-sampled sum, one example replaced by another: both are drawn together or not at all.

Given who else was drawn, the outputs are (1 − q) N(0, σ²I) + q N(g, σ²I) and (1 − q) N(0, σ²I) + q N(g′, σ²I), up to a
shift, with |g| ≤ 1 and |g′| ≤ 1 the two examples' contributions, in units of the clipping norm. Of all these the pair

    P = (1 − q) N(0, σ²) + q N(1, σ²),   Q = (1 − q) N(0, σ²) + q N(−1, σ²)

is the easiest to tell apart, at every privacy level at once. It is the pair of Koskela, Jälkö, Honkela 2020 and of
Lebeda, Regehr, Kamath, Steinke 2024; the proof is short. For k ≥ 1 the hockey-stick divergence is

    E_P[(1 − k Q/P)₊] = q · E[(1 − a·A − c·B)₊],   a = k,  c = (1 − q)(k − 1)/q ≥ 0,

where under N(g, σ²I) the likelihood ratios A (of g′ to g) and B (of 0 to g) are jointly log-normal with mean 1, and
the covariances of their logarithms are |g′ − g|²/σ², |g|²/σ² and ⟨g′ − g, −g⟩/σ². The payoff is a convex function of
a·A + c·B, so its second derivatives in (A, B) are all ≥ 0, and the expectation rises with each of the three: with
covariances Σ(t) along a line its derivative is ½ Σ_ij Σ′_ij E[A_i A_j ∂_i∂_j payoff]. All three are largest at g = 1,
g′ = −1 together. For k < 1 exchange the two worlds. Who else was drawn is averaged over, which joint convexity allows;
and composition keeps domination (Zhu, Dong, Wang 2022, Theorem 10). That two examples make this pair shows it is tight.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dpviz.mechanisms.noise import FAR, LEAST_SCALE, SMALL_MEAN, GaussianNoise, mills
from dpviz.mechanisms.pair import ULPS, UNIT, Cells, DominatingPair, LossSplit
from dpviz.mechanisms.sampled import log_mixture

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReplacedPair(DominatingPair):
    """P = (1 − q) n(z) + q n(z − 1) and Q = (1 − q) n(z) + q n(z + 1): each the other's mirror image.

    Attributes:
        noise: n, in units of the clipping norm (half of the sensitivity).
        rate: q in (0, 1].
    """

    noise: GaussianNoise
    rate: float

    @property
    def scale(self) -> float:
        return self.noise.scale

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def largest_losses(self) -> tuple[float, float]:
        return math.inf, math.inf

    def loss(self, z: Array | float) -> Array:
        z = np.asarray(z, dtype=np.float64)
        return log_mixture(self.rate, self.noise.ratio(z)) - log_mixture(self.rate, self.noise.ratio(-z))

    def output(self, loss: Array | float) -> Array:
        """With t = e^(z/σ²), c = e^(−1/(2σ²)) and k = e^loss: q c t² + (1 − q)(1 − k) t − q c k = 0, which gives

        z/σ² = loss/2 + arsinh((1 − q)/(q c) · sinh(loss/2)).
        """
        sigma, q, loss = self.scale, self.rate, np.asarray(loss, dtype=np.float64)
        if q == 1.0:
            return np.asarray(0.5 * sigma**2 * loss)
        half = np.abs(0.5 * loss)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_sinh = half + np.log(-0.5 * np.expm1(-2.0 * half))
            log_argument = math.log1p(-q) - math.log(q) + 0.5 / sigma / sigma + log_sinh
            inverse = np.where(
                log_argument > 300.0, log_argument + math.log(2.0), np.arcsinh(np.exp(np.minimum(log_argument, 300.0)))
            )
        return np.asarray(sigma**2 * np.sign(loss) * (half + inverse))

    def cells(self, z: Array) -> Cells:
        """Differences are taken on the side where the noise's tail is small, which keeps tails relatively exact."""
        cdf, q = self.noise.cdf, self.rate
        left = z[1:] <= 0.0
        mass, size = [], []
        for centre in (-1.0, 0.0, 1.0):
            low, high = cdf(z - centre), cdf(centre - z)
            mass.append(np.where(left, np.diff(low), -np.diff(high)))
            size.append(np.where(left, low[1:], high[:-1]))
        unit = ULPS * UNIT
        mass_error = unit * ((1.0 - q) * size[1] + q * size[0])
        return Cells(
            (1.0 - q) * mass[1] + q * mass[0], q * (mass[2] - mass[0]), mass_error, unit * q * (size[0] + size[2])
        )

    def split(self, loss: float) -> LossSplit:
        z, log_cdf = self.output(loss), self.noise.log_cdf
        without, with_it, other = (log_cdf(z - centre) for centre in (0.0, 1.0, -1.0))
        left = log_mixture(self.rate, with_it - without) - log_mixture(self.rate, other - without)
        without, with_it, other = (log_cdf(centre - z) for centre in (0.0, 1.0, -1.0))
        right = log_mixture(self.rate, with_it - without) - log_mixture(self.rate, other - without)
        return LossSplit(float(left), float(right), self.below(float(z))[0])

    def below(self, z: float) -> tuple[float, float]:
        q = self.rate
        without, with_it, other = (float(self.noise.cdf(np.asarray(z - centre))) for centre in (0.0, 1.0, -1.0))
        return (1.0 - q) * without + q * other, (1.0 - q) * without + q * with_it

    def above(self, z: float) -> tuple[float, float]:
        mirrored_q, mirrored_p = self.below(-z)
        return mirrored_p, mirrored_q

    def reach(self, tail: float) -> tuple[float, float]:
        away = 1.0 + self.noise.reach(tail)
        return -away, away

    def rough(self, tail: float) -> tuple[Array, Array]:
        pair = replace(self, noise=replace(self.noise, scale=max(self.scale, LEAST_SCALE)))
        z, weight = pair.noise.rough(*pair.reach(tail))
        return pair.loss(z), weight + log_mixture(self.rate, pair.noise.ratio(-z))

    def log_delta(self, epsilon: float) -> float:
        """P less e^ε Q above the output z with loss ε: q(S(z − 1) − e^ε S(z + 1)) − (1 − q)(e^ε − 1) S(z)."""
        q = self.rate
        if q == 1.0:
            return float(replace(self.noise, scale=0.5 * self.scale).log_delta(epsilon))
        z = self.output(epsilon)
        mean, y = 1.0 / self.scale, float(z) / self.scale
        if mean < SMALL_MEAN and y <= FAR:  # there the terms below cancel
            apart = 2.0 * mean * (1.0 + mean**2 * (y**2 - 1.0) / 6.0)  # (S(z − 1) − S(z + 1))/φ(y), to (mean y)⁴/120
            beside = (1.0 - q) * mills(y) + q * mills(y + mean) * math.exp(-mean * y - 0.5 * mean**2)
            return math.log(q * apart - math.expm1(epsilon) * beside) - 0.5 * y**2 - 0.5 * math.log(2.0 * math.pi)
        with_it, without, other = (float(self.noise.log_cdf(centre - z)) for centre in (1.0, 0.0, -1.0))
        away = math.exp(min(math.log1p(-q) + without - with_it + _log_expm1(epsilon), 0.0)) if epsilon > 0.0 else 0.0
        left = -q * math.expm1(min(epsilon + other - with_it, 0.0)) - away
        return with_it + math.log(left) if left > 0.0 else -math.inf


def _log_expm1(x: float) -> float:
    return math.log(math.expm1(x)) if x < 1.0 else x + math.log(-math.expm1(-x))
