"""The sampled Gaussian mechanism of private training, one example replaced by another.

>>> step = ReplaceOneGaussian(noise_multiplier=4.0, sample_rate=0.01)
>>> step.text
'sampled Gaussian, σ = 4, q = 0.01, replace one'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpviz.mechanisms.divergences import replaced_divergence
from dpviz.mechanisms.mechanism import Adjacency, RenyiCurve
from dpviz.mechanisms.noise import GaussianNoise
from dpviz.mechanisms.sampled import ReplacedPair
from dpviz.mechanisms.sampled_gaussian import GaussianSum


@dataclass(frozen=True, slots=True)
class ReplaceOneGaussian(GaussianSum):
    """`GaussianSum`, one example replaced: the sum may move by 2C.

    So σ counts for half as much where everyone is sampled.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    kind: ClassVar[str] = "replace"
    title: ClassVar[str] = "Gaussian, replace one"
    assumes: ClassVar[str] = (
        "**Noise:** Gaussian, standard deviation σ × C, on the sum of gradients clipped to C, fresh at every step. "
        "Replacing an example moves that sum by up to 2C; σ counts C, as in training."
    )

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
