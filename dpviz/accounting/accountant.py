"""One face for all accountants: a frozen value that turns steps into ε and says all about itself.

What it is called, what its number is compared with the truth (`kind`), which mechanisms it knows and why not others
(`supports`), its formula with today's numbers (`latex`), where it comes from: a new one is one file, and one entry in
`methods.ACCOUNTANTS`.

What-if pages ask `evaluate` for whole curves (arrays broadcast, cost independent of the number of steps); a live run
asks a `Ledger` (`ledger`), step by step. Both go through the same per-step cost and the same conversion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.card import KINDS, Card
from dpviz.accounting.formula import tex
from dpviz.mechanisms import Event, Mechanism, SampledGaussian, merge_events

_SMALLEST_LOG_DELTA = -700.0


@dataclass(frozen=True)
class Accountant(ABC):
    """ε and δ of composed steps.

    Attributes:
        name: what `dpviz.epsilon` calls it.
        reference: whom it goes back to, as one cites it.
        bibtex: the same for a bibliography: keys in papers.bib, or entries of one's own; not of the conversion.
        title: what it is called in a sentence.
        about: what it is, in two sentences.
        when: when to cite it.
        live: whether a run reads it after every step.
        options: option of the facade → the class's field.
        choices: options with a closed list of values, the first one the default.
    """

    name: ClassVar[str]
    reference: ClassVar[str]
    bibtex: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    about: ClassVar[str]
    when: ClassVar[str]
    live: ClassVar[bool] = False
    options: ClassVar[Mapping[str, str]] = {}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    @property
    def label(self) -> str:
        """What people call it, its options included."""
        return self.name.replace("_", " ")

    @property
    def short_label(self) -> str:
        """What people call it where there is little room."""
        return self.name.replace("_", " ")

    @property
    def family(self) -> str:
        """Which of the charts' colours it has."""
        return self.name

    @property
    @abstractmethod
    def formula(self) -> str:
        """What it computes, as LaTeX without numbers."""

    @property
    def kind(self) -> Kind:
        """Whether these numbers bound the truth, and from which side; it may depend on the options."""
        return Kind.UPPER

    @property
    def kind_reason(self) -> str:
        """Why this is no upper bound, and what to choose instead; empty where it is one."""
        return ""

    @property
    def card(self) -> Card:
        """What a page tells of it: no number of today's."""
        worth = " ".join([KINDS[self.kind], self.kind_reason]).strip()
        return Card(self.label, self.title, self.about, worth, self.when, self.reference, self.bibtex)

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
            raise ValueError(f"Expected steps with one adjacency, found {both}: they promise different things.")

    def latex(self, mechanism: Mechanism, steps: int, delta: float) -> str:
        """Its formula with the numbers of `steps` equal steps at δ, as LaTeX."""
        value = float(self.epsilon_of(mechanism, steps=steps, delta=delta).epsilon)
        return rf"\varepsilon = {self.formula} = {tex(value)}"

    def epsilon_of(self, mechanism: Mechanism, *, steps: ArrayLike, delta: ArrayLike) -> Bound:
        """ε of `steps` equal steps of one mechanism; steps and δ broadcast."""
        self.check(mechanism)
        return self._epsilon_of(mechanism, _validate.steps(steps), _validate.delta(delta))

    def delta_of(self, mechanism: Mechanism, *, steps: ArrayLike, epsilon: ArrayLike) -> Array:
        """The smallest δ with ε(δ) ≤ `epsilon`, rounded up; steps and ε broadcast."""
        self.check(mechanism)
        return self._delta_of(mechanism, _validate.steps(steps), _validate.epsilon(epsilon))

    def _epsilon_of(self, mechanism: Mechanism, steps: Array, delta: Array) -> Bound:
        return self._evaluate(*_settings(mechanism), steps, delta)

    def _delta_of(self, mechanism: Mechanism, steps: Array, epsilon: Array) -> Array:
        return self._delta(*_settings(mechanism), steps, epsilon)

    def evaluate(
        self,
        *,
        noise_multiplier: ArrayLike,
        sample_rate: ArrayLike,
        steps: ArrayLike,
        delta: ArrayLike,
    ) -> Bound:
        """ε of `steps` sampled Gaussian steps; all broadcast. σ > 0, q in [0, 1], whole steps ≥ 0, δ in (0, 1)."""
        return self._evaluate(
            _validate.noise_multiplier(noise_multiplier),
            _validate.sample_rate(sample_rate),
            _validate.steps(steps),
            _validate.delta(delta),
        )

    @abstractmethod
    def _evaluate(self, sigma: Array, rate: Array, steps: Array, delta: Array) -> Bound: ...

    def of_events(self, events: Sequence[Event], delta: float) -> Bound:
        """ε of events of different mechanisms, in any order (a bound of shape ())."""
        merged = merge_events(events)
        self.check(*(mechanism for mechanism, _ in merged))
        return self._of_events(merged, _validate.scalar("delta", _validate.delta(delta)))

    @abstractmethod
    def _of_events(self, events: tuple[Event, ...], delta: float) -> Bound: ...

    def delta(
        self,
        *,
        noise_multiplier: ArrayLike,
        sample_rate: ArrayLike,
        steps: ArrayLike,
        epsilon: ArrayLike,
    ) -> Array:
        """The smallest δ with ε(δ) ≤ `epsilon`, rounded up; 1 where no δ < 1 will do. All four broadcast."""
        sigma = _validate.noise_multiplier(noise_multiplier)
        rate = _validate.sample_rate(sample_rate)
        count = _validate.steps(steps)
        return self._delta(sigma, rate, count, _validate.epsilon(epsilon))

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        """Bisection on ln δ, keeping the end whose ε is small enough."""
        shape = np.broadcast_shapes(sigma.shape, rate.shape, steps.shape, epsilon.shape)
        low, high = np.full(shape, _SMALLEST_LOG_DELTA), np.zeros(shape)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self._evaluate(sigma, rate, steps, np.exp(middle)).epsilon <= epsilon
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        zero = self._evaluate(sigma, rate, steps, np.full(shape, np.exp(_SMALLEST_LOG_DELTA))).epsilon <= epsilon
        nothing_released = (steps == 0.0) | (rate == 0.0)
        return np.where(nothing_released, 0.0, np.where(zero, np.exp(_SMALLEST_LOG_DELTA), np.exp(high)))


def needs_sampled_gaussian(mechanism: Mechanism) -> str:
    """Why what is worked out for the mechanism of private training alone cannot take this one; empty where it can."""
    if isinstance(mechanism, SampledGaussian):
        return ""
    return "only worked out for sampled Gaussian steps, one example added or removed."


def _settings(mechanism: Mechanism) -> tuple[Array, Array]:
    """σ and q of a sampled Gaussian step."""
    assert isinstance(mechanism, SampledGaussian)  # `check` let it pass
    return np.asarray(mechanism.noise_multiplier), np.asarray(mechanism.sample_rate)


def gaussian_steps(events: Sequence[Event]) -> tuple[Array, Array, Array]:
    """σ, q and counts, (events,) each, of sampled Gaussian steps, as the default `supports` lets pass."""
    known = [mechanism for mechanism, _ in events if isinstance(mechanism, SampledGaussian)]
    sigma = np.array([mechanism.noise_multiplier for mechanism in known])
    rate = np.array([mechanism.sample_rate for mechanism in known])
    return sigma, rate, np.array([float(count) for _, count in events])
