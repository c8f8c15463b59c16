"""Poisson batches: every example joins independently with probability q.

The size is drawn from Binomial(N, q) and then a uniform subset of that size in uniform order: exactly the same
distribution as N coins, at the cost of the batch. In that order consecutive examples are disjoint random pairs.

On an accelerator a batch is padded to a fixed size with examples whose label is ignored, so that shapes never change
and nothing waits for the device.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F

Tensor = torch.Tensor

# Cross-entropy gives examples with this label no loss and no gradient.
IGNORED = -100


class PoissonBatch(NamedTuple):
    """One Poisson batch.

    Attributes:
        x: Examples, (b, …); beyond `size` padding.
        y: Labels, (b,) int64; `IGNORED` beyond `size`.
        size: How many examples are real; may be 0.
        expected: Expected size, qN, by which sums are divided.
        sample_rate: q that the batch was drawn with.
    """

    x: Tensor
    y: Tensor
    size: int
    expected: float
    sample_rate: float


def poisson_indices(random: np.random.Generator, examples: int, sample_rate: float) -> npt.NDArray[np.int64]:
    """Which of `examples` joined, in random order."""
    size = int(random.binomial(examples, sample_rate))
    return random.choice(examples, size, replace=False).astype(np.int64)


class Batches:
    """Draws Poisson batches of one training set, which lies on the device.

    Args:
        x: All training examples, (N, …).
        y: Their labels, (N,).
        random: Where the draws come from.
        pad: Whether to pad to a fixed size; None does so unless the data is in the CPU's memory.
    """

    def __init__(self, x: Tensor, y: Tensor, random: np.random.Generator, *, pad: bool | None = None) -> None:
        self.x, self.y = x, y
        self._random = random
        self._pad = x.device.type != "cpu" if pad is None else pad

    def draw(self, batch_size: int) -> PoissonBatch:
        """A batch of `batch_size` expected examples."""
        examples = self.x.shape[0]
        rate = batch_size / examples
        chosen = poisson_indices(self._random, examples, rate)
        if not self._pad:
            index = torch.from_numpy(chosen)
            return PoissonBatch(self.x[index], self.y[index], chosen.size, float(batch_size), rate)
        capacity = padded_size(batch_size, examples, chosen.size)
        padded = torch.zeros(capacity, dtype=torch.int64, pin_memory=self.x.is_cuda)
        padded[: chosen.size] = torch.from_numpy(chosen)
        index = padded.to(self.x.device, non_blocking=True)
        real = torch.arange(capacity, device=self.x.device) < chosen.size
        y = torch.where(real, self.y[index], IGNORED)
        return PoissonBatch(self.x[index], y, chosen.size, float(batch_size), rate)


def padded_size(batch_size: int, examples: int, size: int) -> int:
    """The fixed size that holds all but one in 10⁹ batches; a larger batch gets the next multiple of 64."""
    usual = batch_size + 6.0 * math.sqrt(batch_size) + 8.0
    return min(64 * math.ceil(max(usual, size) / 64), max(examples, size))


def usual_batch(batch_size: int, examples: int) -> int:
    """What 98 of 100 Poisson batches do not exceed: two standard deviations above the expected size."""
    return min(math.ceil(batch_size + 2.0 * math.sqrt(batch_size * (1.0 - batch_size / examples))), examples)


def loss_per_example(outputs: Tensor, labels: Tensor) -> Tensor:
    """Cross-entropy of each example, (b,); 0 for padding."""
    return F.cross_entropy(outputs, labels, reduction="none", ignore_index=IGNORED)
