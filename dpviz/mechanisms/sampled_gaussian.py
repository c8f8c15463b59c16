"""The sampled Gaussian mechanism of private training, one example added or removed.

>>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01'

The sampled Gaussian mechanism of private training, one example replaced by another.

>>> step = ReplaceOneGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01, replace one'
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from dpviz.mechanisms.divergences import replaced_divergence
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.mechanism import Adjacency, RenyiCurve, SampledSum
from dpviz.mechanisms.pair import GaussianNoise, ReplacedPair, SampledPair


@dataclass(frozen=True, slots=True)
class GaussianSum(SampledSum):
    """One step: Poisson-sample with rate q, sum vectors of norm ≤ C, add N(0, (σC)²) noise.

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C; dimensionless, > 0.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    law: ClassVar[str] = "Gaussian"
    added: ClassVar[str] = r"g_i + \mathcal N(0, (%s\,C)^2)"
    noise_multiplier: float
    sample_rate: float = 1.0

    @property
    def moves(self) -> float:
        """How far neighbours' sums may lie apart, in C."""
        return 1.0

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier / self.moves if self.sample_rate == 1.0 else None

    @property
    def gaussian_above(self) -> float:
        """Who is told who is drawn sees no less."""
        return self.noise_multiplier / self.moves

    @property
    def total_variation(self) -> float:
        """q(2Φ(moves/(2σ)) − 1), where it moves whenever anyone who differs is drawn."""
        sigma = max(self.noise_multiplier, 1e-290)
        return self.sample_rate * math.erf(self.moves / (2.0 * math.sqrt(2.0) * sigma))


@dataclass(frozen=True, slots=True)
class SampledGaussian(GaussianSum):
    """A Poisson-sampled sum with Gaussian noise; one example is added or removed (Mironov, Talwar, Zhang 2019, §3)."""

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    kind: ClassVar[str] = "gaussian"

    def pair(self) -> SampledPair:
        return SampledPair(GaussianNoise(self.noise_multiplier), self.sample_rate)

    def renyi(self) -> RenyiCurve:
        return lambda orders: renyi_divergence(self.noise_multiplier, self.sample_rate, orders)


@dataclass(frozen=True, slots=True)
class ReplaceOneGaussian(GaussianSum):
    """A Poisson-sampled sum with Gaussian noise; one example is replaced, so that the sum may move by 2C.

    So σ counts for half as much where everyone is sampled.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    kind: ClassVar[str] = "replace"

    @property
    def moves(self) -> float:
        return 2.0

    @property
    def what(self) -> str:
        return ", replace one"

    def pair(self) -> ReplacedPair:
        return ReplacedPair(GaussianNoise(self.noise_multiplier), self.sample_rate)

    def renyi(self) -> RenyiCurve:
        return lambda orders: replaced_divergence(self.noise_multiplier, self.sample_rate, orders)


GaussianEvent = tuple[SampledGaussian, int]
