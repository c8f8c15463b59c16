"""The sampled Gaussian mechanism of private training, one example replaced by another.

>>> step = ReplaceOneGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01, replace one'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.noise import GaussianNoise
from dpviz.mechanisms.replaced import ReplacedPair
from dpviz.mechanisms.replaced_moments import replaced_divergence
from dpviz.mechanisms.sampled_gaussian import SampledGaussian

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReplaceOneGaussian(Mechanism):
    """One step: Poisson-sample with rate q, sum vectors of norm ≤ C, add N(0, (σC)²) noise; one example is replaced.

    The sum may change by 2C then, so that σ counts for half as much where everyone is sampled.

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C (not ÷ 2C); dimensionless, > 0.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    noise_multiplier: float
    sample_rate: float = 1.0

    def __post_init__(self) -> None:
        sigma = _validate.scalar("noise_multiplier", _validate.noise_multiplier(self.noise_multiplier))
        rate = _validate.scalar("sample_rate", _validate.sample_rate(self.sample_rate))
        object.__setattr__(self, "noise_multiplier", sigma)
        object.__setattr__(self, "sample_rate", rate)

    @property
    def _added(self) -> SampledGaussian:
        return SampledGaussian(self.noise_multiplier, self.sample_rate)

    @property
    def text(self) -> str:
        return f"{self._added.text}, replace one"

    @property
    def latex(self) -> str:
        return self._added.latex

    @property
    def releases(self) -> bool:
        return self.sample_rate > 0.0

    def pair(self) -> ReplacedPair:
        return ReplacedPair(GaussianNoise(self.noise_multiplier), self.sample_rate)

    def renyi(self) -> RenyiCurve:
        return lambda orders: replaced_divergence(self.noise_multiplier, self.sample_rate, orders)

    @property
    def as_gaussian(self) -> float | None:
        return 0.5 * self.noise_multiplier if self.sample_rate == 1.0 else None

    @property
    def total_variation(self) -> float:
        """q(2Φ(1/σ) − 1)."""
        return self.sample_rate * math.erf(1.0 / (math.sqrt(2.0) * max(self.noise_multiplier, 1e-290)))
