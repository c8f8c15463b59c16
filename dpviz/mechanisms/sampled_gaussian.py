"""The sampled Gaussian mechanism of private training, one example added or removed.

>>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.noise import GaussianNoise
from dpviz.mechanisms.sampled import SampledPair

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampledGaussian(Mechanism):
    """One step: Poisson-sample with rate q, sum vectors of norm ≤ C, add N(0, (σC)²) noise.

    Adjacency is add/remove one example (Mironov, Talwar, Zhang 2019, §3).

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ sensitivity C; dimensionless, > 0.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    noise_multiplier: float
    sample_rate: float = 1.0

    def __post_init__(self) -> None:
        sigma = _validate.scalar("noise_multiplier", _validate.noise_multiplier(self.noise_multiplier))
        rate = _validate.scalar("sample_rate", _validate.sample_rate(self.sample_rate))
        object.__setattr__(self, "noise_multiplier", sigma)
        object.__setattr__(self, "sample_rate", rate)

    @property
    def text(self) -> str:
        if self.sample_rate == 1.0:
            return f"Gaussian, σ = {self.noise_multiplier:.6g}"
        return f"sampled Gaussian, σ = {self.noise_multiplier:.6g}, q = {self.sample_rate:.6g}"

    @property
    def latex(self) -> str:
        drawn = "" if self.sample_rate == 1.0 else rf",\quad \Pr[x_i \in B] = {self.sample_rate:.6g}"
        return rf"\sum_{{i \in B}} \bar g_i + \mathcal N(0, ({self.noise_multiplier:.6g}\,C)^2){drawn}"

    @property
    def releases(self) -> bool:
        return self.sample_rate > 0.0

    def pair(self) -> SampledPair:
        return SampledPair(GaussianNoise(self.noise_multiplier), self.sample_rate)

    def renyi(self) -> RenyiCurve:
        return lambda orders: renyi_divergence(self.noise_multiplier, self.sample_rate, orders)

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier if self.sample_rate == 1.0 else None

    @property
    def total_variation(self) -> float:
        """q(2Φ(1/(2σ)) − 1)."""
        return self.sample_rate * math.erf(1.0 / (2.0 * math.sqrt(2.0) * max(self.noise_multiplier, 1e-290)))
