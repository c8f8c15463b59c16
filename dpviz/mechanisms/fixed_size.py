"""Batches of a fixed size, drawn afresh at every step: without and with replacement.

>>> FixedSize(noise_multiplier=1.1, size=60_000, batch=256).text
'Gaussian, σ = 1.1, batches of 256 out of 60000'
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from dpviz._arrays import Array
from dpviz.mechanisms.loss_pairs import BothWaysPair
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.mixture_pair import MixturePair
from dpviz.mechanisms.pair import DominatingPair, GaussianNoise, SampledPair
from dpviz.mechanisms.person_rows import MOST_CENTRES, binomial
from dpviz.mechanisms.row_moments import RowsCurve, row_variation
from dpviz.mechanisms.sampled_gaussian import SampledGaussian


@dataclass(frozen=True, slots=True)
class _Drawn(Mechanism):
    """One step: a batch of exactly b of N examples; of it the sum, clipped to C, with noise N(0, (σC)²).

    An example that joins takes another one's place in the batch, so that the sum moves by up to 2C.

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C; dimensionless, > 0.
        size: N, examples; whole, ≥ 1; the larger number where neighbours differ in it.
        batch: b, examples of a batch; whole, ≥ 1.
    """

    noise_multiplier: float
    size: int
    batch: int


@dataclass(frozen=True, slots=True)
class FixedSize(_Drawn):
    """Batches of exactly `batch` of `size` examples, drawn without replacement at each step; one example is replaced.

    Fixed b and N reveal the number of examples, so adding or removing one is not hidden.

    An example is in the batch with probability q = b/N. With everyone else's draw given, the sums are m₀ without it, m₁
    with it and m₁′ with the other one in its place, of which no two are further apart than 2C. For ε ≥ 0 and
    e^ε = 1 + q(e^ε′ − 1), advanced joint convexity (Balle, Barthe, Gaboardi 2018, Theorem 1) makes

        δ(ε) = q δ_{m₁ | (1 − β)m₀ + βm₁′}(ε′) ≤ q δ_Gauss(σ/2)(ε′),   β = e^{ε − ε′},

    which is the profile of P = (1 − q) N(0, σ²) + q N(2, σ²) against Q = N(0, σ²). As neighbours may be exchanged, for
    ε < 0 it is that of Q against P, 1 − e^ε + e^ε δ(−ε): a pair that is right for ε ≥ 0 alone must not be composed
    (Lebeda, Regehr, Kamath, Steinke 2024). `BothWaysPair` has this profile, and composes (Zhu, Dong, Wang 2022).

    (P, Q) itself is reached: all others' gradients are −v, the example's is v and the other one's −v. So it is the
    lower end, and it is exactly what adding or removing an example costs, with N the larger number: P and Q then share
    all but the example and whoever has its place. The upper end holds for that too, and for zero-out.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.REPLACE_ONE
    kind: ClassVar[str] = "fixed"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.batch > self.size:
            raise ValueError(f"Expected batch={self.batch} <= size={self.size}: it is drawn without replacement.")

    def _base(self) -> SampledPair:
        return SampledPair(GaussianNoise(0.5 * self.noise_multiplier), self.batch / self.size)

    def pair(self) -> DominatingPair:
        return self._base() if self.batch == self.size else BothWaysPair(self._base())

    def renyi(self) -> RenyiCurve:
        """With A_α = E(P/Q)^α of `_base`: at most 1 + 2(A_α − 1), each way once (Sason, Verdú 2016, on E_γ)."""
        curve = SampledGaussian(0.5 * self.noise_multiplier, self.batch / self.size).renyi()
        if self.batch == self.size:
            return curve

        def twice(orders: Array) -> Array:
            log = (orders - 1.0) * curve(orders)
            small = np.log1p(2.0 * np.expm1(np.minimum(log, 1.0)))
            return np.asarray(np.where(log < 1.0, small, log + math.log(2.0)) / (orders - 1.0))

        return twice

    @property
    def gaussian_above(self) -> float:
        """δ(ε) ≤ q δ_Gauss(σ/2)(ε′), ε′ ≥ ε."""
        return 0.5 * self.noise_multiplier

    @property
    def least(self) -> Mechanism:
        return self if self.batch == self.size else _Reached(self.noise_multiplier, self.size, self.batch)

    @property
    def as_gaussian(self) -> float | None:
        return 0.5 * self.noise_multiplier if self.batch == self.size else None


@dataclass(frozen=True, slots=True)
class _Reached(FixedSize):
    """What two data sets show that differ in one example."""

    kind: ClassVar[str] = ""

    def pair(self) -> DominatingPair:
        return self._base()

    def renyi(self) -> RenyiCurve:
        return SampledGaussian(0.5 * self.noise_multiplier, self.batch / self.size).renyi()

    @property
    def least(self) -> Mechanism:
        return self


@dataclass(frozen=True, slots=True)
class WithReplacement(_Drawn):
    """Batches of `batch` draws from `size` examples, with replacement; one example is added or removed.

    The example is drawn j times with probability Bin(b, 1/N)(j). It then stands in the place of j draws of others, so
    that with these given P = Σ Bin(b, 1/N)(j) N(d_j, σ²I), |d_j| ≤ 2jC, and Q = N(0, σ²I). As in `PersonRows`, the
    easiest to tell apart lie at d_j = 2jC on a line, which is reached where all others' gradients are −v.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    kind: ClassVar[str] = "replacement"

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.batch > MOST_CENTRES:
            raise ValueError(f"Expected batch={self.batch} <= {MOST_CENTRES}, with replacement.")

    def pair(self) -> MixturePair:
        return MixturePair(0.5 * self.noise_multiplier, binomial(self.batch, self._share), ((0.0, 1.0),))

    @property
    def _share(self) -> Fraction:
        """The probability with which a place of the batch gets what differs."""
        return Fraction(1, self.size)

    def of_rows(self, rows: int) -> Mechanism | None:
        return _RowsDrawn(self.noise_multiplier, self.size, self.batch, rows)

    def renyi(self) -> RenyiCurve:
        return RowsCurve(0.5 * self.noise_multiplier, binomial(self.batch, self._share))

    @property
    def as_gaussian(self) -> float | None:
        return self.gaussian_above if self._share == 1 else None

    @property
    def gaussian_above(self) -> float:
        """As if the example had all places."""
        return 0.5 * self.noise_multiplier / self.batch

    @property
    def total_variation(self) -> float:
        return row_variation(binomial(self.batch, self._share), 0.5 * self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class _RowsDrawn(WithReplacement):
    """The same, k ≤ N examples added or removed: a place of the batch gets one of them with probability k/N."""

    kind: ClassVar[str] = ""
    rows: int

    @property
    def _share(self) -> Fraction:
        return Fraction(int(self.rows), self.size)

    def of_rows(self, rows: int) -> None:
        """They are the rows of a person already."""
