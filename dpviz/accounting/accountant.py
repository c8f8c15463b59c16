"""The base class of accountants: a frozen value that turns steps into ε and describes itself.

It states its name, how its number compares with the truth (`kind`), which mechanisms it knows and why not others
(`supports`), its formula with today's numbers (`latex`) and its source. A new accountant is one file, and one entry in
`methods.ACCOUNTANTS`.

What-if pages ask `evaluate` for whole curves (arrays broadcast, cost independent of the number of steps); a live run
asks a `Ledger` (`ledger`), step by step. Whatever is asked becomes the rows of a `Composition`, and an accountant says
ε (and, where it knows better than bisection, δ) of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools, Index
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.card import KINDS, Card, words
from dpviz.accounting.formula import tex
from dpviz.mechanisms import Event, Mechanism, SampledGaussian, merge_events

_SMALLEST_LOG_DELTA = -700.0


@dataclass(frozen=True)
class Accountant(ABC):
    """ε and δ of composed steps.

    Attributes:
        name: what `dpviz.epsilon` calls it.
        aliases: what else it is called, accepted wherever a method is named; what is shown is the name.
        reference: whom it goes back to, as one cites it.
        bibtex: the same for a bibliography: keys in papers.bib, or entries of one's own; not of the conversion.
        title: what it is called in a sentence.
        about: what it is, in two or three sentences.
        cite: when to cite it. (These five stand in cards.toml, or in the class.)
        live: whether a run reads it after every step.
        options: option of the facade → the class's field.
        choices: options with a closed list of values, the first one the default.
        texts: label, short_label, family, formula, when and reason, where they are not the usual ones; one that an
            option decides has the option's value behind its name ("label_lower").
    """

    name: ClassVar[str]
    aliases: ClassVar[tuple[str, ...]] = ()
    reference: ClassVar[str] = ""
    bibtex: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    cite: ClassVar[str] = ""
    live: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    texts: ClassVar[Mapping[str, str]] = {}

    def __init_subclass__(cls) -> None:
        for key, value in words(getattr(cls, "name", "")).items():
            if key not in vars(cls):
                setattr(cls, key, value)

    def __post_init__(self) -> None:
        for option, allowed in self.choices.items():
            _validate.choice(option, getattr(self, self.options[option]), allowed)

    def _text(self, key: str, otherwise: str = "") -> str:
        """One of `texts`, as the options have it."""
        keys = (f"{key}_{getattr(self, self.options[option])}" for option in self.choices)
        return next((self.texts[each] for each in (*keys, key) if each in self.texts), otherwise)

    @property
    def label(self) -> str:
        """What people call it, its options included."""
        return self._text("label", self.name.replace("_", " "))

    @property
    def short_label(self) -> str:
        """What people call it where there is little room."""
        return self._text("short_label", self.name.replace("_", " "))

    @property
    def family(self) -> str:
        """Which of the charts' colours it has."""
        return self._text("family", self.name)

    @property
    def formula(self) -> str:
        """What it computes, as LaTeX without numbers."""
        return self._text("formula")

    @property
    def kind(self) -> Kind:
        """Whether these numbers bound the truth, and from which side; it may depend on the options."""
        return Kind.UPPER

    @property
    def kind_reason(self) -> str:
        """Why this is no upper bound, and what to choose instead; empty where it is one."""
        return self._text("reason")

    @property
    def card(self) -> Card:
        """What a page tells of it: no number of today's."""
        worth = " ".join([KINDS[self.kind], self.kind_reason]).strip()
        return Card(
            self.label, self.title, self.about, worth, self._text("cite", self.cite), self.reference, self.bibtex
        )

    def supports(self, mechanism: Mechanism) -> str:
        """Why it has no number for this mechanism; empty where it has."""
        return needs_sampled_gaussian(mechanism)

    def check(self, *mechanisms: Mechanism) -> None:
        """Refuses mechanisms that it does not know, and such as protect different neighbours.

        Raises:
            ValueError: with the reason of `supports`, or naming the adjacencies.
        """
        for mechanism in mechanisms:
            if reason := self.supports(mechanism):
                raise ValueError(f"Expected a mechanism that {self.name!r} knows, found {mechanism.text}: {reason}")
        if len({mechanism.adjacency for mechanism in mechanisms}) > 1:
            both = " and ".join(sorted({str(mechanism.adjacency) for mechanism in mechanisms}))
            raise ValueError(
                f"Expected steps with one adjacency, found {both}: their guarantees differ. Keep one account for each."
            )

    def latex(self, mechanism: Mechanism, steps: int, delta: float) -> str:
        """Its formula with the numbers of `steps` equal steps at δ, as LaTeX."""
        value = float(self.epsilon_of(mechanism, steps=steps, delta=delta).epsilon)
        return rf"\varepsilon = {self.formula} = {tex(value)}"

    def epsilon_of(self, mechanism: Mechanism, *, steps: ArrayLike, delta: ArrayLike) -> Bound:
        """ε of `steps` equal steps of one mechanism; steps and δ broadcast."""
        self.check(mechanism)
        count, target = np.broadcast_arrays(mechanism.counted(steps), _validate.delta(delta))
        return self._epsilon(equal_steps(mechanism, count), target.ravel()).reshape(count.shape)

    def epsilon_of_each(self, mechanisms: Sequence[Mechanism], steps: int, delta: float) -> Bound:
        """ε of `steps` ≥ 0 equal steps of each of these mechanisms at δ in (0, 1): a bound of shape (n,)."""
        self.check(*mechanisms)
        counts = np.array([[float(mechanism.counted(steps))] for mechanism in mechanisms])
        rows = Composition(tuple(mechanisms), np.arange(len(counts))[:, None], counts)
        return self._epsilon(rows, np.full(len(counts), delta))

    def delta_of(self, mechanism: Mechanism, *, steps: ArrayLike, epsilon: ArrayLike) -> Array:
        """The smallest δ with ε(δ) ≤ `epsilon`, rounded up; steps and ε broadcast."""
        self.check(mechanism)
        count, target = np.broadcast_arrays(mechanism.counted(steps), _validate.epsilon(epsilon))
        return self._delta(equal_steps(mechanism, count), target.ravel()).reshape(count.shape)

    def evaluate(
        self, *, noise_multiplier: ArrayLike, sample_rate: ArrayLike, steps: ArrayLike, delta: ArrayLike
    ) -> Bound:
        """ε of `steps` sampled Gaussian steps; all broadcast. σ > 0, q in [0, 1], whole steps ≥ 0, δ in (0, 1)."""
        rows, target = gaussian_rows(noise_multiplier, sample_rate, steps, _validate.delta(delta))
        return self._epsilon(rows, target.ravel()).reshape(target.shape)

    def delta(
        self, *, noise_multiplier: ArrayLike, sample_rate: ArrayLike, steps: ArrayLike, epsilon: ArrayLike
    ) -> Array:
        """The smallest δ with ε(δ) ≤ `epsilon`, rounded up; 1 where no δ < 1 will do. All four broadcast."""
        rows, target = gaussian_rows(noise_multiplier, sample_rate, steps, _validate.epsilon(epsilon))
        return self._delta(rows, target.ravel()).reshape(target.shape)

    def of_events(self, events: Sequence[Event], delta: float) -> Bound:
        """ε of events of different mechanisms, in any order (a bound of shape ())."""
        merged = merge_events(events)
        self.check(*(mechanism for mechanism, _ in merged))
        target = _validate.number(delta=delta)
        counts = np.array([[float(count) for _, count in merged]])
        return self.of_counts([mechanism for mechanism, _ in merged], counts, target).reshape(())

    def of_counts(self, mechanisms: Sequence[Mechanism], counts: Array, delta: float) -> Bound:
        """ε after each row of counts (rows, mechanisms), whole and ≥ 0: a bound of shape (rows,)."""
        member = np.broadcast_to(np.arange(len(mechanisms)), counts.shape)
        return self._epsilon(Composition(tuple(mechanisms), member, counts), np.full(len(counts), delta))

    @abstractmethod
    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        """ε of each row at its δ, (rows,)."""

    def _delta(self, rows: Composition, epsilon: Array) -> Array:
        """The least δ of each row at its ε: bisection on ln δ, keeping the end whose ε is small enough."""
        low, high = np.full(epsilon.shape, _SMALLEST_LOG_DELTA), np.zeros(epsilon.shape)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self._epsilon(rows, np.exp(middle)).epsilon <= epsilon
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        least = np.full(epsilon.shape, np.exp(_SMALLEST_LOG_DELTA))
        delta = np.where(self._epsilon(rows, least).epsilon <= epsilon, least, np.exp(high))
        return np.where(rows.releases, delta, 0.0)


@dataclass(frozen=True, eq=False, slots=True)
class GaussianSteps:
    """Different sampled Gaussian steps, too many to be a mechanism each: σ and q, shape (settings,)."""

    noise_multiplier: Array
    sample_rate: Array


def gaussian_steps(mechanisms: tuple[Mechanism, ...] | GaussianSteps) -> GaussianSteps:
    """σ and q of the sampled Gaussian steps among them."""
    if isinstance(mechanisms, GaussianSteps):
        return mechanisms
    steps = [(m.noise_multiplier, m.sample_rate) for m in mechanisms if isinstance(m, SampledGaussian)]
    return GaussianSteps(*np.array(steps).reshape(-1, 2).T)


@dataclass(frozen=True, eq=False, slots=True)
class Composition:
    """Rows of steps that are composed.

    Attributes:
        mechanisms: the different ones.
        member: which of them, shape (rows, parts).
        count: how many steps of each, shape (rows, parts).
    """

    mechanisms: tuple[Mechanism, ...] | GaussianSteps
    member: Index
    count: Array

    def mechanism(self, member: int) -> Mechanism:
        """One of the different mechanisms."""
        if isinstance(self.mechanisms, tuple):
            return self.mechanisms[member]
        return SampledGaussian(
            float(self.mechanisms.noise_multiplier[member]), float(self.mechanisms.sample_rate[member])
        )

    def events(self, row: int) -> list[Event]:
        """What one row is composed of."""
        parts = zip(self.member[row].tolist(), self.count[row].tolist(), strict=True)
        return [(self.mechanism(member), int(count)) for member, count in parts]

    @property
    def gaussian(self) -> GaussianSteps:
        """σ and q of the mechanisms, where the default `supports` let them pass."""
        return gaussian_steps(self.mechanisms)

    @property
    def releases(self) -> Bools:
        """Whether each row releases anything, shape (rows,)."""
        if isinstance(self.mechanisms, GaussianSteps):
            each = self.mechanisms.sample_rate > 0.0
        else:
            each = np.array([mechanism.releases for mechanism in self.mechanisms], dtype=np.bool_)
        return np.asarray(((self.count > 0.0) & each[self.member]).any(axis=-1))


def equal_steps(mechanism: Mechanism, count: Array) -> Composition:
    """One row for each number of steps of one mechanism, flattened."""
    return Composition((mechanism,), np.zeros((count.size, 1), dtype=np.intp), count.reshape(-1, 1))


def gaussian_rows(
    noise_multiplier: ArrayLike, sample_rate: ArrayLike, steps: ArrayLike, target: Array
) -> tuple[Composition, Array]:
    """One row for each element of the broadcast arguments, flattened; and the target (δ or ε) in that shape."""
    sigma, rate = _validate.noise_multiplier(noise_multiplier), _validate.sample_rate(sample_rate)
    count = _validate.steps(steps)
    shape = np.broadcast_shapes(sigma.shape, rate.shape, count.shape, target.shape)
    count, target = np.broadcast_to(count, shape), np.broadcast_to(target, shape)
    if sigma.size == rate.size == 1:  # as curves over steps ask
        return equal_steps(SampledGaussian(sigma.item(), rate.item()), count), target
    # As complex numbers, which are sorted by their real parts first: pairs take five times as long, and memory.
    settings = np.broadcast_to(sigma, shape).ravel() + 1j * np.broadcast_to(rate, shape).ravel()
    different, member = np.unique(settings, return_inverse=True)
    return Composition(
        GaussianSteps(different.real.copy(), different.imag.copy()), member.reshape(-1, 1), count.reshape(-1, 1)
    ), target


def needs_sampled_gaussian(mechanism: Mechanism) -> str:
    """Why what is worked out for the mechanism of private training alone cannot take this one; empty where it can."""
    if isinstance(mechanism, SampledGaussian):
        return ""
    return "only sampled Gaussian steps are supported, with one example added or removed."
