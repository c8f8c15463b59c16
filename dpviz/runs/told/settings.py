"""What a program tells of its run before the first step, and the mechanism of each step that it tells.

>>> told = ToldSettings(examples=60_000, delta=1e-5, sampler="poisson", adjacency="add_remove")
>>> told.mechanism(1.1, 0.01)
SampledGaussian(noise_multiplier=1.1, sample_rate=0.01)
>>> ToldSettings.from_json(told.to_json()) == told
True
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from dpviz import _validate
from dpviz.mechanisms import Adjacency, Event, FixedSize, Mechanism, ReplaceOneGaussian, SampledGaussian, Shuffled
from dpviz.training.covered import NOT_COVERED
from dpviz.training.samplers import read

VERSION = 1  # of these settings in records, under MARK
MARK = "watched"
MOST_STEPS = 1_000_000  # of a plan, as the Train page allows
_FAILURE = 1e-15  # γ, part of δ_μ

ADJACENCIES: Mapping[str, Adjacency] = {
    "add_remove": Adjacency.ADD_REMOVE,
    "zero_out": Adjacency.ZERO_OUT,
    "replace_one": Adjacency.REPLACE_ONE,
}

Make = Callable[[float, float, int], Mechanism]


@dataclass(frozen=True)
class ToldSampler:
    """How batches are made, as a program says.

    Attributes:
        words: What it means, for whoever chooses.
        assumption: What a claim then rests on.
        mechanisms: Adjacency → what a step costs, of σ, q and N.
    """

    words: str
    assumption: str
    mechanisms: Mapping[str, Make]


def _gaussian(sigma: float, rate: float, examples: int) -> Mechanism:
    return SampledGaussian(sigma, rate)


def _replaced(sigma: float, rate: float, examples: int) -> Mechanism:
    return ReplaceOneGaussian(sigma, rate)


def _fixed(sigma: float, rate: float, examples: int) -> Mechanism:
    batch = round(rate * examples)
    if abs(rate * examples - batch) > 1e-6 or batch < 1:
        raise ValueError(
            f"Expected sample_rate={rate:.12g} to be batch size ÷ {examples:,}, found batches of {rate * examples:.6g}."
        )
    return FixedSize(sigma, examples, batch)


def _shuffled(sigma: float, rate: float, examples: int) -> Mechanism:
    """One epoch of as many whole batches as fit: where a smaller one is left it begins sooner, which errs above."""
    if rate <= 0.0:
        raise ValueError(f"Expected sample_rate={rate:.6g} > 0: batch size ÷ number of examples.")
    return Shuffled(sigma, math.floor(1.0 / rate * (1.0 + 1e-12)))


def _everyone(make: Make) -> Make:
    """The same where everyone is counted as in every batch."""
    return lambda sigma, rate, examples: make(sigma, 1.0, examples)


SAMPLERS: Mapping[str, ToldSampler] = {
    "poisson": ToldSampler(
        "each example joins each step independently with probability sample_rate, as with Opacus' DPDataLoader",
        "each example joins each step independently with the told probability (Poisson batches)",
        {"add_remove": _gaussian, "zero_out": _gaussian, "replace_one": _replaced},
    ),
    "fixed": ToldSampler(
        "each step draws sample_rate × examples different examples, independently of other steps",
        "each step draws a set of the told size uniformly, independently of other steps",
        {"replace_one": _fixed},
    ),
    "shuffled": ToldSampler(
        "every epoch shuffles the data anew, in secret, and cuts them into batches (a DataLoader with shuffle=True); a "
        "whole epoch is charged at its first step, and noise and rate stay the same",
        "every epoch shuffles the data anew, in secret, and cuts them into batches of the told size",
        {"zero_out": _shuffled},
    ),
    "any": ToldSampler(
        "batches are made in some other way, or you do not know: no gain from sampling is counted",
        "no example is in a batch twice, and nobody's batch depends on the data of others; no gain from sampling is "
        "counted",
        {"zero_out": _everyone(_gaussian), "replace_one": _everyone(_replaced)},
    ),
}


def _choose(name: str, value: object, options: Mapping[str, str]) -> None:
    if not isinstance(value, str) or value not in options:
        listed = "; ".join(f'"{key}": {words}' for key, words in options.items())
        problem = f"{name} to be given" if value is None else f"{name}={value!r} to be one of them"
        raise ValueError(f"Expected {problem}. Choose {listed}.")


@dataclass(frozen=True, kw_only=True)
class ToldSettings:
    """What is told of a run before its first step; checked by `check`.

    Attributes:
        examples: N, the number of training examples.
        delta: δ in (0, 1).
        sampler: How batches are made, a key of SAMPLERS.
        adjacency: Which data sets are neighbours, a key of ADJACENCIES.
        filter_epsilon: The budget, at δ; None for none.
        steps: T, where the number of steps and the noise and rate of all of them are fixed before the first; else None.
        max_grad_norm: C, for Bayesian accounting by gradient norms; None for none.
        bayesian_delta: δ_μ.
        before: What the runs were charged that this one goes on from, as `training.samplers.stored` writes it.
        steps_before: Their steps.
    """

    examples: int
    delta: float
    sampler: str
    adjacency: str
    filter_epsilon: float | None = None
    steps: int | None = None
    max_grad_norm: float | None = None
    bayesian_delta: float = 1e-5
    before: tuple[tuple[Any, ...], ...] = ()
    steps_before: int = 0

    def check(self) -> None:
        """Refuse what cannot be accounted for.

        Raises:
            ValueError: naming the argument, its value and the way out.
        """
        _choose("sampler", self.sampler, {key: sampler.words for key, sampler in SAMPLERS.items()})
        _choose("adjacency", self.adjacency, {key: each.name for key, each in ADJACENCIES.items()})
        if self.adjacency not in (priced := SAMPLERS[self.sampler].mechanisms):
            listed = ", ".join(f'"{key}" ({ADJACENCIES[key].name})' for key in priced)
            raise ValueError(
                f"Expected adjacency={self.adjacency!r} to be {listed} with sampler={self.sampler!r}: for the pair no "
                "bound is known here. Choose another adjacency, or the sampler that your loader really is."
            )
        _validate.whole(1, examples=self.examples)
        _validate.scalar("delta", _validate.delta(self.delta))
        if self.filter_epsilon is not None:
            _validate.scalar("epsilon", _validate.positive("epsilon", self.filter_epsilon))
        if self.steps is not None and _validate.whole(1, steps=self.steps) > MOST_STEPS:
            raise ValueError(f"Expected steps={self.steps:,} <= {MOST_STEPS:,}: leave steps out for a longer run.")
        if self.max_grad_norm is not None:
            self._check_bayesian(self.max_grad_norm)
        _validate.whole(0, steps_before=self.steps_before)
        for mechanism, count in self.charged_before:
            if count < 1 or not self.admits(mechanism):
                raise ValueError(
                    f"Expected what earlier steps of such a run cost, found {mechanism.text}, {count} times."
                )

    def _check_bayesian(self, max_grad_norm: float) -> None:
        _validate.scalar("max_grad_norm", _validate.positive("max_grad_norm", max_grad_norm))
        if self.sampler != "poisson" or self.adjacency == "replace_one":
            raise ValueError(
                f"Expected no max_grad_norm={max_grad_norm:.6g} with sampler={self.sampler!r} and "
                f"adjacency={self.adjacency!r}: norms bound the Bayesian ε of Poisson batches under add_remove and "
                "zero_out only. Leave it out."
            )
        if self.steps is None:
            raise ValueError(
                f"Expected steps with max_grad_norm={max_grad_norm:.6g}: Bayesian costs hold for a number of steps "
                "that is fixed in advance. Give steps=, or leave max_grad_norm out."
            )
        if self.before:
            raise ValueError(
                f"Expected no max_grad_norm={max_grad_norm:.6g} in a run that goes on: Bayesian costs need the norms "
                "of its earlier steps. Leave it out."
            )
        _validate.delta_beyond_failure(self.bayesian_delta, _FAILURE, 1)

    @property
    def charged_before(self) -> tuple[Event, ...]:
        """What the runs were charged that this one goes on from, in their order."""
        return tuple(map(read, self.before))

    @property
    def failure(self) -> float:
        """γ, the probability with which a Bayesian ε may be too low."""
        return _FAILURE

    def mechanism(self, noise_multiplier: float, sample_rate: float) -> Mechanism:
        """What a step with this noise and rate costs, or the epoch that it is part of.

        Raises:
            ValueError: naming the argument, its value and the way out.
        """
        sigma = _validate.scalar("noise_multiplier", _validate.noise_multiplier(noise_multiplier))
        rate = _validate.scalar("sample_rate", _validate.sample_rate(sample_rate))
        if not sigma > 0.0:
            raise ValueError(f"Expected noise_multiplier={sigma:.6g} > 0: a step without noise has no finite ε.")
        return SAMPLERS[self.sampler].mechanisms[self.adjacency](sigma, rate, self.examples)

    def admits(self, mechanism: Mechanism) -> bool:
        """Whether this is the mechanism of a step of such a run."""
        sigma = float(getattr(mechanism, mechanism.noise))
        rates = {
            "fixed": lambda: mechanism.batch / self.examples,  # type: ignore[attr-defined]
            "shuffled": lambda: 1.0 / mechanism.batches,  # type: ignore[attr-defined]
        }
        try:
            rate = float(rates.get(self.sampler, lambda: mechanism.sample_rate)())  # type: ignore[attr-defined]
            return self.mechanism(sigma, rate) == mechanism
        except (AttributeError, ValueError):
            return False

    @property
    def by_epoch(self) -> bool:
        """Whether an epoch is charged at its first step; its noise and rate are then those of all."""
        return self.sampler == "shuffled"

    @property
    def neighbours(self) -> Adjacency:
        return ADJACENCIES[self.adjacency]

    def to_json(self) -> dict[str, Any]:
        """JSON values, marked as of a watched run; `from_json` gives the same settings back."""
        return {MARK: VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> ToldSettings:
        """From `to_json`, checked.

        Raises:
            ValueError: for what is none of this version.
        """
        names = {field.name for field in fields(cls)}
        if stored.get(MARK) != VERSION or set(stored) != names | {MARK}:
            raise ValueError(f"Expected the settings of a watched run of version {VERSION}.")
        values = {name: stored[name] for name in names}
        settings = cls(**{**values, "before": tuple(map(tuple, values["before"]))})
        settings.check()
        steps = None if settings.steps is None else int(settings.steps)  # 64.0 is a whole number
        before = int(settings.steps_before)
        return replace(settings, examples=int(settings.examples), steps=steps, steps_before=before)


def assumptions(terms: ToldSettings) -> tuple[str, ...]:
    """What every claim of such a run rests on: dpviz saw nothing but what the program told."""
    size = (
        "The sums are divided by a number that does not depend on the data, as the expected batch size for a public N. "
        "A divisor that follows the real N or the real batch size is a gap: no ε here covers what it reveals."
    )
    return (
        f"Neighbours: {terms.neighbours.name}; {SAMPLERS[terms.sampler].assumption}.",
        "Told by the program, and not checked here: every step that used the data was told before its result was used, "
        "with its noise and rate; each example's gradient is clipped to C before the sum; Gaussian noise of standard "
        "deviation σ × C is added once to that sum, from a secret source.",
        size,
    )


UNPROTECTED = (
    f"These numbers are shown without noise, so they are {NOT_COVERED}: loss, gradient norms, the Bayesian ε, and "
    "times. Norms stay in this store and in run files. What the program did beside the told steps (scaling, tuning, "
    "other training on the same data) costs privacy that is not counted."
)
