"""Group privacy as a mechanism: any mechanism, for a person with several rows in its data.

>>> of_person(ReplaceOneGaussian(noise_multiplier=4.0), rows=2).text
'Gaussian, σ = 4, replace one, a person with 2 rows'
>>> of_person(ReplaceOneGaussian(noise_multiplier=4.0), rows=2).as_gaussian
1.0
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar

from dpviz.mechanisms.divergences import mixture_divergence
from dpviz.mechanisms.fixed_size import WithReplacement
from dpviz.mechanisms.mechanism import WORDS, Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.mixture_pair import MixturePair
from dpviz.mechanisms.pair import DominatingPair
from dpviz.mechanisms.person_rows import PersonRows, binomial, row_count
from dpviz.mechanisms.sampled_gaussian import ReplaceOneGaussian, SampledGaussian


def _of_base(name: str) -> Any:
    return property(attrgetter(f"base.{name}"))


@dataclass(frozen=True, slots=True)
class PersonOf(Mechanism):
    """A step of `base`, with all k rows of one person in the place of one example.

    Without sampling, Gaussian noise hides k rows as it hides one with σ/k. Where nothing exact is known there is no
    pair: the curve of all steps for one row becomes that of k rows (`dpviz.accounting.pld.persons`).

    Attributes:
        base: the step, for one row.
        rows: k, the most rows of one person; whole, 1 to 1000, and at most N.
    """

    kind: ClassVar[Any] = _of_base("kind")
    title: ClassVar[Any] = _of_base("title")
    step: ClassVar[Any] = _of_base("step")
    sampler: ClassVar[Any] = _of_base("sampler")
    noise: ClassVar[Any] = _of_base("noise")
    symbol: ClassVar[Any] = _of_base("symbol")
    latex: ClassVar[Any] = _of_base("latex")
    releases: ClassVar[Any] = _of_base("releases")
    base: Mechanism
    rows: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", row_count(self.rows))
        if self.rows > (size := getattr(self.base, "size", self.rows)):
            raise ValueError(f"Expected rows={self.rows} <= size={size}: all rows are in the data.")

    def __getattr__(self, name: str) -> Any:
        """The parameters of `base`."""
        if name.startswith("_") or name in ("base", "rows"):
            raise AttributeError(name)
        return getattr(self.base, name)

    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]  # of a value
        return (*self.base.parameters(), "rows")

    def changed(self, **values: Any) -> Mechanism:
        return PersonOf(self.base.changed(**values), self.rows)

    @property
    def adjacency(self) -> Adjacency:  # type: ignore[override]  # of a value
        return self.base.adjacency.of_person

    @property
    def assumes(self) -> str:  # type: ignore[override]  # of a value
        return f"{self.base.assumes} {WORDS['persons']['exact' if self.least is self else 'group']}"

    @property
    def text(self) -> str:
        return f"{self.base.text}, a person with {self.rows} row{'s' * (self.rows > 1)}"

    @property
    def exact(self) -> Mechanism | None:
        """What costs as much as its upper end; None where that is group privacy."""
        if self.base.as_gaussian is not None:
            return SampledGaussian(self.base.as_gaussian / self.rows)
        return self.base.of_rows(self.rows)

    @property
    def one_row(self) -> Mechanism:
        """What shows no less than each of the k steps from data with all rows to data with none."""
        if isinstance(self.base, WithReplacement) and self.exact:  # a row of fewer examples is drawn more often
            return self.base.changed(size=self.base.size - self.rows + 1)
        return self.base

    @property
    def has_pair(self) -> bool:
        return self.base.has_pair

    def pair(self) -> DominatingPair | None:
        return self.exact.pair() if self.exact else None

    def renyi(self) -> RenyiCurve | None:
        return self.exact.renyi() if self.exact else None

    @property
    def least(self) -> Mechanism:
        if isinstance(self.base, ReplaceOneGaussian) and self.exact is None:
            return _Replaced(self.base.noise_multiplier, self.base.sample_rate, self.rows)
        return self if self.exact and self.base.least == self.base else self.base.least

    @property
    def as_gaussian(self) -> float | None:
        return self.exact.as_gaussian if self.exact else None

    @property
    def gaussian_above(self) -> float | None:
        return None if self.base.gaussian_above is None else self.base.gaussian_above / self.rows

    @property
    def total_variation(self) -> float:
        return self.exact.total_variation if self.exact else min(self.rows * self.one_row.total_variation, 1.0)


@dataclass(frozen=True, slots=True)
class _Replaced(PersonRows):
    """What two data sets show of k replaced rows, drawn independently: all gradients v, or all −v, and others' 0."""

    kind: ClassVar[str] = ""

    @property
    def moves(self) -> float:
        return 2.0 * self.rows

    def pair(self) -> MixturePair:
        weights = binomial(self.rows, Fraction(self.sample_rate))
        return MixturePair(self.noise_multiplier, weights, tuple((-j, weight) for j, weight in reversed(weights)))

    def renyi(self) -> RenyiCurve:
        return partial(mixture_divergence, self.pair())

    @property
    def total_variation(self) -> float:
        return math.exp(self.pair().log_delta(0.0)) if self.releases else 0.0


def of_person(mechanism: Mechanism, rows: int) -> Mechanism:
    """`mechanism`, of which one person's rows, `rows` at most, are protected together; itself for one row.

    Raises:
        ValueError: it protects persons already.
    """
    if mechanism.adjacency.unit == Adjacency.PERSON.unit:
        raise ValueError(f"Expected a mechanism for one example, found {mechanism.text}. Give it the rows itself.")
    if rows == 1:
        return mechanism
    if isinstance(mechanism, SampledGaussian):
        return PersonRows(mechanism.noise_multiplier, mechanism.sample_rate, rows)
    return PersonOf(mechanism, rows)


def one_row_of(mechanism: Mechanism) -> tuple[Mechanism, int]:
    """The step for one row, and how many rows in turn make the step; itself and 1 where it protects one example."""
    if isinstance(mechanism, PersonOf):
        return mechanism.one_row, mechanism.rows
    if isinstance(mechanism, PersonRows):
        return SampledGaussian(mechanism.noise_multiplier, mechanism.sample_rate), mechanism.rows
    return mechanism, 1
