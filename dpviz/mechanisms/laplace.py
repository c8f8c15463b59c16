"""The Laplace mechanism on a Poisson-sampled sum of numbers, one example added or removed.

>>> step = Laplace(scale=2.0, sample_rate=0.1)
>>> step.text
'sampled Laplace, b = 2, q = 0.1'
"""

from dataclasses import dataclass
from typing import ClassVar

from dpviz.mechanisms.divergences import laplace_divergence
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve, SampledSum
from dpviz.mechanisms.pair import LaplaceNoise, SampledPair


@dataclass(frozen=True, slots=True)
class Laplace(SampledSum):
    """One step: Poisson-sample with rate q, sum numbers of size ≤ C, add Laplace noise of scale bC.

    Attributes:
        scale: b, the noise's scale ÷ sensitivity C; dimensionless, > 0. One unsampled step is (1/b, 0)-DP.
        sample_rate: q, the probability with which each example joins the batch; in [0, 1].
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    kind: ClassVar[str] = "laplace"
    noise: ClassVar[str] = "scale"
    law: ClassVar[str] = "Laplace"
    symbol: ClassVar[str] = "b"
    added: ClassVar[str] = r"x_i + \mathrm{Lap}(%s\,C)"
    scale: float
    sample_rate: float = 1.0

    def pair(self) -> SampledPair:
        return SampledPair(LaplaceNoise(self.scale), self.sample_rate)

    def of_rows(self, rows: int) -> Mechanism | None:
        """Rows that are never left out move the number by k together: k/b in all. Sampled ones have no pair here."""
        return Laplace(self.scale / rows) if self.sample_rate == 1.0 else None

    def renyi(self) -> RenyiCurve:
        return lambda orders: laplace_divergence(self.scale, self.sample_rate, orders)
