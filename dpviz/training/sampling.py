"""Batches of examples or persons, as a sampler draws them (`samplers`).

On an accelerator a batch is padded to a fixed size with examples whose label is ignored, so that shapes never change
and nothing waits for the device.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from dpviz._remember import remembered
from dpviz.mechanisms import Mechanism
from dpviz.training.engine.accepted import refuse_class_targets
from dpviz.training.samplers import Poisson, TrainingSampler, steps_of

# Cross-entropy gives examples with this label no loss and no gradient.
IGNORED = -100


class Batch(NamedTuple):
    """One batch.

    Attributes:
        x: Examples, (b, …), or several inputs of each (`engine.inputs`); beyond `size` padding.
        y: Labels, (b,) int64; `IGNORED` beyond `size`.
        size: How many examples are real; may be 0.
        expected: Expected size, by which sums are divided.
        unit_noise: What one step of its account is where σ = 1.
        real: Where persons were drawn, which of a person's K places hold a row, (b, K): x and y are (b, K, …) then.
    """

    x: Tensor
    y: Tensor
    size: int
    expected: float
    unit_noise: Mechanism
    real: Tensor | None = None

    def mechanism(self, noise_multiplier: float) -> Mechanism:
        """What a step with this noise releases, or is one of the steps of (`samplers.steps_of`)."""
        return _with_noise(self.unit_noise, noise_multiplier)


@lru_cache(maxsize=64)  # most steps have the noise of the step before
def _with_noise(unit_noise: Mechanism, noise_multiplier: float) -> Mechanism:
    return unit_noise.changed(noise_multiplier=noise_multiplier)


@remembered  # asked at every step
def drawn_by(sampler: type[TrainingSampler], examples: int, batch_size: int) -> tuple[float, Mechanism]:
    """`expected` and `unit_noise` of a batch."""
    mechanism = sampler.mechanism(1.0, examples=examples, batch_size=batch_size)
    return examples / steps_of(mechanism) if steps_of(mechanism) > 1 else float(batch_size), mechanism


class Persons:
    """Whose rows are whose: a person joins a batch with all of them, and counts as one example.

    Attributes:
        places: Positions of each person's rows, int64 (N, K), K the most rows of one; behind them the last one again,
            so that nothing that is computed for a person depends on another's row.
        real: Which of these places hold a row, (N, K).

    Args:
        persons: Whose each row is, (rows,): numbers or names.
    """

    def __init__(self, persons: npt.ArrayLike) -> None:
        _, owner, counts = np.unique(np.asarray(persons), return_inverse=True, return_counts=True)
        order, most = np.argsort(owner.reshape(-1), kind="stable"), np.arange(counts.max())
        first = np.cumsum(counts) - counts
        self.places = torch.from_numpy(order[first[:, None] + np.minimum(most, counts[:, None] - 1)])
        self.real = torch.from_numpy(most < counts[:, None])

    def __len__(self) -> int:
        return len(self.places)


class Batches:
    """Draws batches of one training set, which lies on the device.

    Args:
        x: All training examples, (N, …).
        y: Their labels, (N,).
        random: Where the draws come from.
        pad: Whether to pad to a fixed size; None does so unless the data is in the CPU's memory.
        persons: Who is drawn, with all their rows; None for single examples.
        sampler: How.

    Attributes:
        sampler: What draws them.
    """

    def __init__(
        self,
        x: Tensor,
        y: Tensor,
        random: np.random.Generator,
        *,
        pad: bool | None = None,
        persons: Persons | None = None,
        sampler: type[TrainingSampler] = Poisson,
    ) -> None:
        self.x, self.y = x, y
        self._units = len(x) if persons is None else len(persons)
        self._places = None if persons is None else (persons.places.to(x.device), persons.real.to(x.device))
        self.sampler = sampler(random, self._units)
        self._pad = x.device.type != "cpu" if pad is None else pad

    def draw(self, batch_size: int) -> Batch:
        """A batch of `batch_size` expected examples or persons."""
        facts = drawn_by(type(self.sampler), self._units, batch_size)
        chosen = self.sampler.draw(batch_size)
        if not self._pad:
            index, real = torch.from_numpy(chosen), None
            if self._places is not None:
                index, real = (part[index] for part in self._places)
            return Batch(self.x[index], self.y[index], chosen.size, *facts, real)
        capacity = padded_size(batch_size, self._units, chosen.size)
        padded = torch.zeros(capacity, dtype=torch.int64, pin_memory=self.x.is_cuda)
        padded[: chosen.size] = torch.from_numpy(chosen)
        index = padded.to(self.x.device, non_blocking=True)
        joined = torch.arange(capacity, device=self.x.device) < chosen.size
        if self._places is None:
            y = torch.where(joined, self.y[index], IGNORED)
            return Batch(self.x[index], y, chosen.size, *facts)
        index, real = (part[index] for part in self._places)
        return Batch(self.x[index], self.y[index], chosen.size, *facts, real & joined[:, None])


def padded_size(batch_size: int, examples: int, size: int) -> int:
    """The fixed size that holds all but one in 10⁹ batches; a larger batch gets the next multiple of 64."""
    usual = batch_size + 6.0 * math.sqrt(batch_size) + 8.0
    return min(64 * math.ceil(max(usual, size) / 64), max(examples, size))


def usual_batch(batch_size: int, examples: int, sampler: type[TrainingSampler]) -> int:
    """What 98 of 100 batches do not exceed: of a random size, two standard deviations above the expected one."""
    deviation = 0.0 if sampler.sized else math.sqrt(batch_size * (1.0 - batch_size / examples))
    return min(math.ceil(batch_size + 2.0 * deviation), examples)


def loss_per_example(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each example, (b,); 0 for padding."""
    refuse_class_targets(outputs, labels)
    return F.cross_entropy(outputs, labels, reduction="none", ignore_index=IGNORED)
