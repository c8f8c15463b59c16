"""Dominating pairs (P, Q) on the real line, as the tight accountant asks for them.

The likelihood ratio P/Q does not fall in the output z, so a cell of losses is a cell of outputs, and cumulative
distributions say all there is to know.

Noise that is added to a number of sensitivity 1: what dominating pairs are made of.

Both are symmetric about 0, and their log likelihood ratio ln(n(z − 1)/n(z)) does not fall in z.

Noise on a Poisson-sampled sum: the pairs of one example added or removed, and of one replaced by another.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr

from dpviz._arrays import Array
from dpviz.mechanisms.log_excess import log_mixture

UNIT = 2.0**-53  # rounding unit of a float
ULPS = 8.0  # generous: scipy's ndtr is right to a few units in the last place


class Cells(NamedTuple):
    """Probabilities of the cells between consecutive outputs, and bounds on their rounding errors.

    Attributes:
        mass: under Q.
        gain: under P less under Q.
        mass_error, gain_error: what they err by at most.
    """

    mass: Array
    gain: Array
    mass_error: Array
    gain_error: Array


class LossSplit(NamedTuple):
    """What one learns from "the loss is at most / above l": ln(P/Q) of either, and the Q mass of the first."""

    left: float
    right: float
    below: float


class DominatingPair(ABC):
    """P and Q, whose outputs are at least as easy to tell apart as those of any two neighbouring data sets."""

    __slots__ = ()

    @property
    @abstractmethod
    def scale(self) -> float:
        """Scale of the noise, in units of the sensitivity; it steers, it proves nothing."""

    @property
    @abstractmethod
    def symmetric(self) -> bool:
        """Whether (Q, P) is the same pair: then one direction is enough."""

    @property
    @abstractmethod
    def largest_losses(self) -> tuple[float, float]:
        """The suprema of ln(P/Q) and of ln(Q/P); inf where there are none."""

    @abstractmethod
    def loss(self, z: Array | float) -> Array:
        """ln(P/Q) at the output z."""

    @abstractmethod
    def output(self, loss: Array | float) -> Array:
        """The output with this loss; ∓∞ below and above the losses that there are."""

    @abstractmethod
    def cells(self, z: Array) -> Cells:
        """The cells between consecutive outputs z, shape (n + 1,), ascending."""

    @abstractmethod
    def split(self, loss: float) -> LossSplit: ...

    @abstractmethod
    def below(self, z: float) -> tuple[float, float]:
        """Probabilities under Q and P of an output of at most z."""

    @abstractmethod
    def above(self, z: float) -> tuple[float, float]:
        """Probabilities under Q and P of an output above z."""

    @abstractmethod
    def reach(self, tail: float) -> tuple[float, float]:
        """The outputs between which losses are told apart: beyond lies what `tail` deviations of a Gaussian leave."""

    @abstractmethod
    def rough(self, tail: float) -> tuple[Array, Array]:
        """Losses and ln of their Q probabilities, roughly: they steer, they prove nothing."""

    @abstractmethod
    def log_delta(self, epsilon: float) -> float:
        """ln δ(ε) of one step, the worse of both directions; −∞ where δ = 0. Right to 1e-9, relatively."""


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
        return np.asarray((z - 0.5) / self.scale / self.scale)  # the square might overflow

    def output(self, ratio: Array) -> Array:
        """A z with this ratio; ∓∞ beyond the ratios that there are."""
        with np.errstate(over="ignore"):  # then no output has this ratio
            return np.asarray(self.scale * (self.scale * ratio) + 0.5)

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


@dataclass(frozen=True, slots=True)
class ShiftedPair(DominatingPair):
    """P = (1 − q) n(z) + q n(z − 1), and Q = n(z) or a mixture like P.

    Attributes:
        noise: n, in units of the clipping norm.
        rate: q in (0, 1].
        without: whether Q's examples are never drawn; else they move the sum by −1.
    """

    without: ClassVar[bool]
    noise: GaussianNoise | LaplaceNoise
    rate: float

    @property
    def scale(self) -> float:
        return self.noise.scale

    @property
    def weights(self) -> dict[float, tuple[float, float]]:
        """Centre → weight under Q, and how much larger it is under P."""
        q = self.rate
        return {0.0: (1.0, -q), 1.0: (0.0, q)} if self.without else {-1.0: (q, -q), 0.0: (1.0 - q, 0.0), 1.0: (0.0, q)}

    @abstractmethod
    def log_ratio(self, up: Array, down: Array) -> Array:
        """ln of P's weighted sum over Q's, from logarithms at centres 1 and −1, relative to those at 0."""

    def loss(self, z: Array | float) -> Array:
        z = np.asarray(z, dtype=np.float64)
        return self.log_ratio(self.noise.ratio(z), self.noise.ratio(-z))

    def split(self, loss: float) -> LossSplit:
        z = self.output(loss)
        inside = np.clip(z, 0.0, 1.0) if math.isfinite(self.noise.largest_ratio) else z  # beyond, ratios are those

        def side(sign: float) -> float:
            without, up, down = (self.noise.log_cdf(sign * (inside - centre)) for centre in (0.0, 1.0, -1.0))
            with np.errstate(invalid="ignore"):  # NaN where nothing lies on that side: then nothing is learned from it
                return float(self.log_ratio(up - without, down - without))

        return LossSplit(side(1.0), side(-1.0), self.below(float(z))[0])

    def cells(self, z: Array) -> Cells:
        """Differences are taken on the side where the noise's tail is small, which keeps tails relatively exact."""
        left = z[1:] <= (0.5 if self.without else 0.0)  # one side for all centres: errors stay comparable
        mass, gain, mass_error, gain_error = np.zeros((4, z.size - 1))
        for centre, (under_q, more) in self.weights.items():
            low, high = self.noise.cdf(z - centre), self.noise.cdf(centre - z)
            each = np.where(left, np.diff(low), -np.diff(high))
            size = ULPS * UNIT * np.where(left, low[1:], high[:-1])
            mass += under_q * each
            mass_error += under_q * size
            gain += more * each
            gain_error += abs(more) * size
        return Cells(mass, gain, mass_error, gain_error)

    def _probabilities(self, z: float, sign: float) -> tuple[float, float]:
        """Under Q and P, of an output below z (sign 1) or above it (−1)."""
        q, cdf = self.rate, self.noise.cdf
        without, up, down = (float(cdf(np.asarray(sign * (z - centre)))) for centre in (0.0, 1.0, -1.0))
        return without if self.without else (1.0 - q) * without + q * down, (1.0 - q) * without + q * up

    def below(self, z: float) -> tuple[float, float]:
        return self._probabilities(z, 1.0)

    def above(self, z: float) -> tuple[float, float]:
        return self._probabilities(z, -1.0)

    def reach(self, tail: float) -> tuple[float, float]:
        away = self.noise.reach(tail)
        return min(self.weights) - away, 1.0 + away

    def rough(self, tail: float) -> tuple[Array, Array]:
        pair = replace(self, noise=replace(self.noise, scale=max(self.scale, LEAST_SCALE)))
        z, weight = pair.noise.rough(*pair.reach(tail))
        return pair.loss(z), weight if self.without else weight + log_mixture(self.rate, pair.noise.ratio(-z))


@dataclass(frozen=True, slots=True)
class SampledPair(ShiftedPair):
    """P = (1 − q) n(z) + q n(z − 1) with the example, Q = n(z) without it.

    That this pair dominates, in both directions: Zhu, Dong, Wang 2022, Theorem 11 (Poisson sampling); that a shift by
    all of the sensitivity is the worst one holds for noise that is symmetric and log-concave on the line (the same, for
    the unsampled pair), and for the Gaussian in any dimension, which a rotation makes a line.
    """

    without: ClassVar[bool] = True

    @property
    def symmetric(self) -> bool:
        return self.rate == 1.0

    @property
    def largest_losses(self) -> tuple[float, float]:
        most, q = self.noise.largest_ratio, self.rate
        removed = float(log_mixture(q, np.asarray(most))) if math.isfinite(most) else math.inf
        return removed, most if q == 1.0 else -math.log1p(q * math.expm1(-most))

    def log_ratio(self, up: Array, down: Array) -> Array:
        return log_mixture(self.rate, up)

    def output(self, loss: Array | float) -> Array:
        q, loss = self.rate, np.asarray(loss, dtype=np.float64)
        if q == 1.0:
            return self.noise.output(loss)
        with np.errstate(divide="ignore"):
            small = np.log(np.maximum(np.expm1(np.minimum(loss, 1.0)) + q, 0.0))
        large = loss + np.log1p(-(1.0 - q) * np.exp(-np.maximum(loss, 1.0)))
        return self.noise.output(np.where(loss < 1.0, small, large) - math.log(q))

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


@dataclass(frozen=True, slots=True)
class ReplacedPair(ShiftedPair):
    """P = (1 − q) n(z) + q n(z − 1) and Q = (1 − q) n(z) + q n(z + 1): each the other's mirror image; Gaussian noise.

    Both examples are drawn together or not at all. Given who else was drawn, the outputs are (1 − q) N(0, σ²I) +
    q N(g, σ²I) and (1 − q) N(0, σ²I) + q N(g′, σ²I), up to a shift, with |g| ≤ 1 and |g′| ≤ 1 the two examples'
    contributions, in units of the clipping norm. Of all these P and Q are the easiest to tell apart, at every privacy
    level at once. It is the pair of Koskela, Jälkö, Honkela 2020 and of Lebeda, Regehr, Kamath, Steinke 2024; the proof
    is short. For k ≥ 1 the hockey-stick divergence is

        E_P[(1 − k Q/P)₊] = q · E[(1 − a·A − c·B)₊],   a = k,  c = (1 − q)(k − 1)/q ≥ 0,

    where under N(g, σ²I) the likelihood ratios A (of g′ to g) and B (of 0 to g) are jointly log-normal with mean 1, and
    the covariances of their logarithms are |g′ − g|²/σ², |g|²/σ² and ⟨g′ − g, −g⟩/σ². The payoff is a convex function
    of a·A + c·B, so its second derivatives in (A, B) are all ≥ 0, and the expectation rises with each of the three:
    with covariances Σ(t) along a line its derivative is ½ Σ_ij Σ′_ij E[A_i A_j ∂_i∂_j payoff]. All three are largest at
    g = 1, g′ = −1 together. For k < 1 exchange the two worlds. Who else was drawn is averaged over, which joint
    convexity allows; and composition keeps domination (Zhu, Dong, Wang 2022, Theorem 10). That two examples make this
    pair shows it is tight.
    """

    without: ClassVar[bool] = False

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def largest_losses(self) -> tuple[float, float]:
        return math.inf, math.inf

    def log_ratio(self, up: Array, down: Array) -> Array:
        return log_mixture(self.rate, up) - log_mixture(self.rate, down)

    def output(self, loss: Array | float) -> Array:
        """With t = e^(z/σ²), c = e^(−1/(2σ²)) and k = e^loss: q c t² + (1 − q)(1 − k) t − q c k = 0, which gives

        z/σ² = loss/2 + arsinh((1 − q)/(q c) · sinh(loss/2)).
        """
        sigma, q, loss = self.scale, self.rate, np.asarray(loss, dtype=np.float64)
        if q == 1.0:
            return np.asarray(0.5 * sigma * (sigma * loss))
        half = np.abs(0.5 * loss)
        with np.errstate(divide="ignore", invalid="ignore"):
            log_sinh = half + np.log(-0.5 * np.expm1(-2.0 * half))
            log_argument = math.log1p(-q) - math.log(q) + 0.5 / sigma / sigma + log_sinh
            inverse = np.where(
                log_argument > 300.0, log_argument + math.log(2.0), np.arcsinh(np.exp(np.minimum(log_argument, 300.0)))
            )
        with np.errstate(over="ignore"):  # then no output has this loss
            return np.asarray(sigma * (sigma * (np.sign(loss) * (half + inverse))))

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
