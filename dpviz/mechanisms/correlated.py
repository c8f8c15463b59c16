"""Noise that a later step takes back in part: z_t − κ z_{t−1} (DP-λCGD), or a banded square root; fixed, known batches.

>>> run = CorrelatedNoise(noise_multiplier=4.0, decay=0.9, batches=100, epochs=10)
>>> round(run.sensitivity, 4)
7.2549

A run of T = t·E steps releases G + C⁻¹Z, which is made of C G + Z: G (T, d) are the sums of clipped gradients, Z has
independent N(0, (σC)²) entries, and C is lower triangular with entries c_{i−j} (Denisov, McMahan, Rush, Smith, Thakurta
2022, Theorem 2.1, where each sum may depend on what was released before). So it is the Gaussian mechanism, whose
sensitivity is the largest ‖C U‖, U what one example changes: the rows S of its batches, each at most 1 long.

Where the column c is ≥ 0 and never rises, and any two of S lie ≥ t steps apart, that is ‖Σ_j c_{·−jt}‖, the sum over
jt < T (Kalinin, Lampert 2024, Theorem 2). For ‖C U‖² ≤ Σ over pairs of S of (CᵀC)_{rs} = Σ_{k < T−s} c_k c_{k+s−r},
r ≤ s: none is negative, none rises as s or s − r grows. The j-th of S lies at jt or later, and the j-th and the i-th
(j − i)t apart or more: no S shows more than 0, t, 2t, … An example of the first batch has just these. Steps up to any
T′ < T are rows of the same C, so a run that stops inside an epoch shows no more than one that ends with it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from dpviz._arrays import Array
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.pair import UNIT, DominatingPair
from dpviz.mechanisms.sampled_gaussian import SampledGaussian


class Correlated(Mechanism):
    """A whole run whose noise has a Toeplitz strategy C with column c, c_0 = 1.

    Attributes:
        noise_multiplier: σ, standard deviation of fresh noise ÷ clipping norm C; dimensionless, > 0.
        batches: t, steps of an epoch, which is how far an example's batches lie apart; whole, ≥ 1.
        epochs: E; whole, ≥ 1.
    """

    __slots__ = ()

    adjacency: ClassVar[Adjacency] = Adjacency.ZERO_OUT
    sampler: ClassVar[str] = "cyclic"
    most: ClassVar[Mapping[str, int]] = {"batches": 100_000, "epochs": 1_000_000, "band": 100_000}
    step: ClassVar[str] = "run"
    noise_multiplier: float
    batches: int
    epochs: int

    @property
    def sensitivity(self) -> float:
        """The largest ‖C U‖, in clipping norms, rounded up."""
        return math.sqrt(self._squared) * (1.0 + 8.0 * (self.batches + self.epochs + 64) * UNIT)

    @property
    def _squared(self) -> float:
        raise NotImplementedError

    def column(self, steps: int) -> Array:
        """c_0, …, c_{steps − 1}."""
        raise NotImplementedError

    @property
    def as_gaussian(self) -> float:
        return self.noise_multiplier / self.sensitivity

    def pair(self) -> DominatingPair:
        return SampledGaussian(self.as_gaussian).pair()

    def renyi(self) -> RenyiCurve | None:
        return SampledGaussian(self.as_gaussian).renyi()


@dataclass(frozen=True, slots=True)
class CorrelatedNoise(Correlated):
    """DP-λCGD: the noise of step t is z_t − κ z_{t−1}, which needs no memory but the last z; c_k = κ^k.

    Attributes:
        decay: κ in [0, 1); 0 for independent noise.
    """

    kind: ClassVar[str] = "correlated"
    noise_multiplier: float
    decay: float = 0.9
    batches: int = 100
    epochs: int = 15

    @property
    def _repeats(self) -> Array:
        """What a row holds of the uses of one example, ÷ the first one's part, in each epoch."""
        return np.asarray(np.cumsum(self.decay ** (float(self.batches) * np.arange(self.epochs))))

    @property
    def _squared(self) -> float:
        return float(np.sum(self.column(self.batches) ** 2) * np.sum(self._repeats**2))

    def column(self, steps: int) -> Array:
        return np.asarray(self.decay ** np.arange(steps, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class CorrelatedEpoch(CorrelatedNoise):
    """The part of such a run that its `epochs`-th epoch adds, for accounts that follow a run; no page offers it."""

    kind: ClassVar[str] = "correlated epoch"
    decay: float = 0.0
    epochs: int = 1

    def __post_init__(self) -> None:
        CorrelatedNoise.__post_init__(self)
        # From where κ^(t·epochs) is lost in rounding, which `sensitivity` covers, all epochs cost the same.
        object.__setattr__(self, "epochs", min(self.epochs, self._last))

    @property
    def _last(self) -> int:
        return math.ceil(-37.0 / (self.batches * math.log(self.decay))) + 1 if self.decay else 1

    def run(self, epochs: int) -> tuple[tuple[CorrelatedEpoch, int], ...]:
        """The first so many epochs, equal ones together."""
        different = min(epochs, self._last)
        each = [replace(self, epochs=epoch) for epoch in range(1, different + 1)]
        return tuple((epoch, 1) for epoch in each[:-1]) + ((each[-1], epochs - different + 1),)

    @property
    def _squared(self) -> float:
        return float(np.sum(self.column(self.batches) ** 2) * self._repeats[-1] ** 2)


@dataclass(frozen=True, slots=True)
class BandedNoise(Correlated):
    """The banded square root: c_k = (2k choose k)/4^k for k < w ≤ t, the root of prefix sums (Kalinin, Lampert 2024).

    The parts of an example's uses do not meet, so that every epoch costs the same.

    Attributes:
        band: w, from 1 (independent noise) to t. Training keeps the noise of the last w − 1 steps.
    """

    kind: ClassVar[str] = "banded"
    noise_multiplier: float
    band: int = 10
    batches: int = 100
    epochs: int = 15

    def __post_init__(self) -> None:
        Correlated.__post_init__(self)
        if self.band > self.batches:
            raise ValueError(
                f"Expected band={self.band} <= batches={self.batches}: a wider band would hold two uses of one "
                "example. Take a smaller band."
            )

    @property
    def _squared(self) -> float:
        return float(self.epochs * np.sum(self.column(self.band) ** 2))

    def column(self, steps: int) -> Array:
        k = np.arange(1.0, min(steps, self.band))
        return np.pad(np.cumprod(np.append(1.0, 1.0 - 0.5 / k)), (0, max(steps - self.band, 0)))
