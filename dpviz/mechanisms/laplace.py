"""The Laplace mechanism on a Poisson-sampled sum of numbers, one example added or removed.

>>> step = Laplace(scale=2.0, sample_rate=0.1)
>>> step.text
'sampled Laplace, b = 2, q = 0.1'
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpviz import _validate
from dpviz.mechanisms.laplace_moments import laplace_divergence
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.noise import LaplaceNoise
from dpviz.mechanisms.sampled import SampledPair


@dataclass(frozen=True, slots=True)
class Laplace(Mechanism):
    """One step: Poisson-sample with rate q, sum numbers of size ≤ C, add Laplace noise of scale bC.

    Attributes:
        scale: b, the noise's scale ÷ sensitivity C; dimensionless, > 0. One unsampled step is (1/b, 0)-DP.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    scale: float
    sample_rate: float = 1.0

    def __post_init__(self) -> None:
        scale = _validate.scalar("scale", _validate.positive("scale", self.scale))
        rate = _validate.scalar("sample_rate", _validate.sample_rate(self.sample_rate))
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "sample_rate", rate)

    @property
    def text(self) -> str:
        if self.sample_rate == 1.0:
            return f"Laplace, b = {self.scale:.6g}"
        return f"sampled Laplace, b = {self.scale:.6g}, q = {self.sample_rate:.6g}"

    @property
    def latex(self) -> str:
        drawn = "" if self.sample_rate == 1.0 else rf",\quad \Pr[x_i \in B] = {self.sample_rate:.6g}"
        return rf"\sum_{{i \in B}} \bar x_i + \mathrm{{Lap}}({self.scale:.6g}\,C){drawn}"

    @property
    def releases(self) -> bool:
        return self.sample_rate > 0.0

    def pair(self) -> SampledPair:
        return SampledPair(LaplaceNoise(self.scale), self.sample_rate)

    def renyi(self) -> RenyiCurve:
        return lambda orders: laplace_divergence(self.scale, self.sample_rate, orders)

    @property
    def total_variation(self) -> float:
        """q(1 − e^(−1/(2b)))."""
        return -self.sample_rate * math.expm1(-0.5 / self.scale)
