"""Samplers of a run's batches and the mechanisms they make of its steps: SAMPLERS, in the order of the pages.

Every draw comes from the run's own stream of batches (`randomness`), so a partition is as secret as Poisson's coins; a
loader's own order or seed is never used. A sampler whose account goes by the epoch is charged a whole epoch at its
first step: a run that stops inside one has paid for it.

>>> Allocation.mechanism(1.1, examples=1000, batch_size=100)
RandomAllocation(noise_multiplier=1.1, batches=10)
>>> stored(Allocation.mechanism(1.1, examples=1000, batch_size=100), 15)
['allocation', 1.1, 10, 15]
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from dpviz.mechanisms import (
    BandedNoise,
    CorrelatedEpoch,
    CorrelatedNoise,
    Event,
    FixedSize,
    Mechanism,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    Shuffled,
)
from dpviz.training.words import refusal

Index = npt.NDArray[np.int64]


def steps_per_epoch(examples: int, batch_size: int) -> int:
    """As many steps as expected batches fit into the data, rounded up."""
    return max(1, math.ceil(examples / batch_size))


_BY_EPOCH = (RandomAllocation, Shuffled, CorrelatedEpoch, BandedNoise)


def steps_of(mechanism: Mechanism) -> int:
    """Training steps that one step of its account covers: one, or all batches of an epoch."""
    return mechanism.batches if isinstance(mechanism, _BY_EPOCH) else 1


def charges(mechanism: Mechanism, steps: int) -> int:
    """Steps of the account that `steps` training steps have begun."""
    return math.ceil(steps / steps_of(mechanism))


def correlated(mechanism: Mechanism, step: int, *, decay: float, band: int) -> Mechanism:
    """What `step`, counted from 1, is one of the steps of, where noise is correlated as in `RunSettings`.

    Raises:
        ValueError: where batches are not the same in every epoch, which the account needs.
    """
    if decay == 0.0 and band == 1:
        return mechanism
    if not isinstance(mechanism, CorrelatedEpoch):
        raise refusal("correlated_batches", sampler=InOrder.key, mechanism=mechanism.text)
    if band > 1:
        return BandedNoise(mechanism.noise_multiplier, band, mechanism.batches, 1)
    return replace(mechanism, decay=decay, epochs=(step - 1) // mechanism.batches + 1)


def events(first: Mechanism, steps: int) -> tuple[Event, ...]:
    """What `steps` training steps cost, equal epochs together, where `first` is the first one's mechanism."""
    count = charges(first, steps)
    if not isinstance(first, CorrelatedEpoch):
        return ((first, count),)
    return first.run(count)


def equal_steps(first: Mechanism, steps: int) -> Event:
    """One mechanism, and how often, that together cost what `events` do."""
    count = charges(first, steps)
    if isinstance(first, CorrelatedEpoch) and first.decay:
        return CorrelatedNoise(first.noise_multiplier, first.decay, first.batches, count), 1
    return first, count


def poisson_indices(random: np.random.Generator, examples: int, sample_rate: float) -> Index:
    """Which of `examples` joined, in random order.

    The size is drawn from Binomial(N, q) and then a uniform subset of that size in uniform order: exactly the same
    distribution as N coins, at the cost of the batch. In that order consecutive examples are disjoint random pairs.
    """
    size = int(random.binomial(examples, sample_rate))
    return random.choice(examples, size, replace=False).astype(np.int64)


class TrainingSampler(ABC):
    """Draws the batches of one run.

    Class attributes say what pages and accounts ask before it:
        key, label, words: Its name in settings; on pages; a sentence for the form.
        kind: What its account counts.
        assumption: What a claim rests on, to follow "…;".
        public: Whether everybody may know who is in which batch.
        sized: Whether no batch is larger than the expected one.

    Attributes:
        dealt: The batches that the rest of an epoch is made of, where its examples are dealt to them at its beginning.

    Args:
        random: Where the draws come from.
        examples: N, what is drawn from.
    """

    key: ClassVar[str]
    label: ClassVar[str]
    words: ClassVar[str]
    kind: ClassVar[type[Mechanism]]
    assumption: ClassVar[str]
    public: ClassVar[bool] = False
    sized: ClassVar[bool] = False

    def __init__(self, random: np.random.Generator, examples: int) -> None:
        self._random, self._examples = random, examples
        self.dealt: list[Index] = []

    @staticmethod
    @abstractmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> Mechanism:
        """What one step of its account is: a training step, or an epoch (`steps_of`).

        Raises:
            ValueError: naming batch_size, where the data cannot be cut so.
        """

    @abstractmethod
    def draw(self, batch_size: int) -> Index:
        """Who is in the next batch of `batch_size` expected examples, in random order; may be nobody."""


class Poisson(TrainingSampler):
    """Every example joins independently with probability q."""

    key, kind = "poisson", SampledGaussian
    label = "Poisson"
    words = "Poisson: each one joins each step with probability q = batch ÷ N, independently."
    assumption = "Poisson batches"

    @staticmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> SampledGaussian:
        return SampledGaussian(noise_multiplier, batch_size / examples)

    def draw(self, batch_size: int) -> Index:
        return poisson_indices(self._random, self._examples, batch_size / self._examples)


class _Epochs(TrainingSampler):
    """Deals the examples of an epoch to its batches, at its first step."""

    def draw(self, batch_size: int) -> Index:
        if not self.dealt:
            self.dealt = self._deal(steps_per_epoch(self._examples, batch_size))
        return self.dealt.pop(0)

    @abstractmethod
    def _deal(self, batches: int) -> list[Index]:
        """The batches of one epoch."""


class Allocation(_Epochs):
    """Every epoch each example joins one of its batches, drawn uniformly and independently."""

    key, kind = "allocation", RandomAllocation
    label = "random allocation"
    words = "Random allocation: in every epoch each one joins one batch, drawn uniformly and independently."
    assumption = "each joins one random batch an epoch, independently"

    @staticmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> RandomAllocation:
        return RandomAllocation(noise_multiplier, steps_per_epoch(examples, batch_size))

    def _deal(self, batches: int) -> list[Index]:
        bins = self._random.integers(batches, size=self._examples)
        order = self._random.permutation(self._examples)
        return [order[bins[order] == batch] for batch in range(batches)]


class Shuffles(_Epochs):
    """Every epoch all examples in random order, cut into batches of one size."""

    key, kind = "shuffled", Shuffled
    sized = True
    label = "shuffled"
    words = (
        "Shuffled: every epoch goes through all of them in a new random order. ε is what is proven, which is far more "
        "than known attacks achieve."
    )
    assumption = "batches of one size, from a new secret order in every epoch"

    @staticmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> Shuffled:
        batches = steps_per_epoch(examples, batch_size)
        if examples % batches:
            fitting = next(size for size in range(batch_size, 0, -1) if examples % size == 0)
            raise refusal("shuffled_batches", batch_size=batch_size, examples=examples, fitting=fitting)
        return Shuffled(noise_multiplier, batches)

    def _deal(self, batches: int) -> list[Index]:
        return np.split(self._random.permutation(self._examples), batches)


class FixedBatches(TrainingSampler):
    """Every batch is a uniform set of exactly so many examples, independently of the others."""

    key, kind = "fixed", FixedSize
    sized = True
    label = "fixed size"
    words = "Fixed size: each step takes a random set of exactly this size, without replacement."
    assumption = "batches of a fixed size, drawn without replacement"

    @staticmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> FixedSize:
        return FixedSize(noise_multiplier, examples, batch_size)

    def draw(self, batch_size: int) -> Index:
        return self._random.choice(self._examples, batch_size, replace=False).astype(np.int64)


class InOrder(_Epochs):
    """The same batches in the same order in every epoch: example i is in batch i modulo their number."""

    key, kind = "order", CorrelatedEpoch
    public = sized = True
    label = "fixed order"
    words = (
        "Fixed order: the same batches in every epoch, known to everybody. Sampling does not lower ε, but noise may be "
        "correlated."
    )
    assumption = "the same batches in every epoch, in file order"

    @staticmethod
    def mechanism(noise_multiplier: float, *, examples: int, batch_size: int) -> CorrelatedEpoch:
        return CorrelatedEpoch(noise_multiplier, 0.0, steps_per_epoch(examples, batch_size))

    def _deal(self, batches: int) -> list[Index]:
        return [np.arange(batch, self._examples, batches) for batch in range(batches)]


SAMPLERS: dict[str, type[TrainingSampler]] = {
    each.key: each for each in (Poisson, Allocation, Shuffles, FixedBatches, InOrder)
}


# Mechanisms in records: [σ, q, times] of sampled Gaussian steps, [kind, parameters …, times] of all others, so that who
# knows only the first kind cannot take the others for it.

_KINDS = {each.kind.kind: each.kind for each in SAMPLERS.values() if each is not Poisson}
_KINDS |= {each.kind: each for each in (BandedNoise, ReplaceOneGaussian)}


def stored(mechanism: Mechanism, count: int) -> list[Any]:
    """A mechanism and how many times it ran, as JSON values."""
    if isinstance(mechanism, SampledGaussian):
        return [mechanism.noise_multiplier, mechanism.sample_rate, count]
    return [mechanism.kind, *(getattr(mechanism, name) for name in mechanism.parameters()), count]


def read(values: Sequence[Any]) -> Event:
    """From `stored`.

    Raises:
        ValueError: for what is no mechanism.
    """
    *first, count = values
    if int(count) != count:
        raise ValueError(f"Expected a whole number of times, found {count!r}.")
    if not isinstance(first[0], str):
        return SampledGaussian(*map(float, first)), int(count)
    if first[0] not in _KINDS or len(first) != 1 + len(_KINDS[first[0]].parameters()):
        raise ValueError(f"Expected a mechanism of {', '.join(_KINDS)}, found {first!r:.80}.")
    return _KINDS[first[0]](*first[1:]), int(count)
