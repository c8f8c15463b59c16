"""Poisson sampling with a largest batch: of a larger sample, some are left out.

>>> TruncatedPoisson(noise_multiplier=1.1, sample_rate=0.004, size=60_000, largest_batch=320).text
'sampled Gaussian, σ = 1.1, q = 0.004, at most 320 of 60000'
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc

from dpviz.mechanisms.loss_pairs import OneOfPairs
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.pair import DominatingPair, GaussianNoise, SampledPair
from dpviz.mechanisms.sampled_gaussian import GaussianSum, SampledGaussian


@dataclass(frozen=True, slots=True)
class TruncatedPoisson(GaussianSum):
    """A Poisson-sampled sum of at most B examples: of a larger sample B are kept, by chance or in a known order.

    Let S be the sample of all others, which does not depend on the example. If |S| < B, nothing is left out with or
    without the example: the step is the sampled Gaussian one. If |S| ≥ B, which happens with probability τ, the example
    may push another one out: the sum moves by up to 2C, with probability q at most, so that the step is the sampled
    Gaussian one at σ/2. Joint convexity lets S be told. So one of two pairs runs, and no δ has to be added: to count
    every larger sample as a failure adds up to 1 − (1 − τ)^T.

    Attributes:
        size: N, examples, the larger number of both neighbours; whole, ≥ 1.
        largest_batch: B; whole, ≥ 1.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    kind: ClassVar[str] = "truncated"
    sampler: ClassVar[str] = ""
    size: int = 60_000
    largest_batch: int = 1000

    @property
    def what(self) -> str:
        return f", at most {self.largest_batch} of {self.size}"

    @property
    def cut(self) -> float:
        """τ = Pr[Bin(N − 1, q) ≥ B], rounded up."""
        if self.largest_batch >= self.size or self.sample_rate == 0.0:
            return 0.0
        return min(
            float(betainc(self.largest_batch, self.size - self.largest_batch, self.sample_rate)) * (1.0 + 1e-9)
            + 1e-300,
            1.0,
        )

    def pair(self) -> DominatingPair:
        whole, cut = (SampledPair(GaussianNoise(self.noise_multiplier * s), self.sample_rate) for s in (1.0, 0.5))
        if self.cut in (0.0, 1.0):
            return cut if self.cut else whole
        return OneOfPairs(((1.0 - self.cut, whole), (self.cut, cut)))

    @property
    def least(self) -> Mechanism:
        """Others' gradients are 0, and the example is kept as often as the batch has room without it."""
        return SampledGaussian(self.noise_multiplier, self.sample_rate * (1.0 - self.cut))

    def renyi(self) -> RenyiCurve:
        whole, cut = (SampledGaussian(self.noise_multiplier * s, self.sample_rate).renyi() for s in (1.0, 0.5))
        if not self.cut:
            return whole
        with np.errstate(divide="ignore"):
            logs = np.log1p(-self.cut), np.log(self.cut)
        return lambda a: np.logaddexp(logs[0] + (a - 1.0) * whole(a), logs[1] + (a - 1.0) * cut(a)) / (a - 1.0)

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier if self.sample_rate == 1.0 and not self.cut else None

    @property
    def gaussian_above(self) -> float:
        return 0.5 * self.noise_multiplier

    total_variation = Mechanism.total_variation
