"""Evaluation of a network: loss and accuracy on test and training data, private counts, and when they are taken."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

_CHUNK = 500  # at a time: activations of more leave the processor's cache, and the CNN takes up to twice as long

# Where time decides how often a run is evaluated: the largest share of its time, and the fewest steps in between.
SHARE = 0.1
EVERY = 10
QUICK = 1.0  # seconds: evaluations that take no longer are also made after 1, 2, 5, 10, 20, 50, … steps, as curves bend


@torch.no_grad()
def outputs(network: nn.Module, x: Tensor) -> Tensor:
    """The network's outputs (n, classes), chunk by chunk."""
    convolves = any(isinstance(layer, nn.Conv2d) for layer in network.modules())
    parts = torch.split(x, _CHUNK)
    return torch.cat([network(_channels_last(part) if convolves else part) for part in parts])


def _channels_last(images: Tensor) -> Tensor:
    """The same images with their channels side by side in memory, which convolutions on a CPU read 2 to 4 times faster.

    PyTorch's own `contiguous(memory_format=…)` leaves the strides of one channel as they are, and layers look at those.
    """
    if images.device.type != "cpu":
        return images
    _, channels, _, width = images.shape
    strides = (images[0].numel(), 1, width * channels, channels)
    return torch.empty_strided(images.shape, strides, dtype=images.dtype).copy_(images)


class Schedule:
    """After which steps a run is evaluated: each `every` steps, never before its end (0), or as its time allows (None).

    It is told how long steps and evaluations took, and decides nothing but when to look: evaluations take nothing from
    the random numbers of a training, and no private count is one.
    """

    def __init__(self, every: int | None) -> None:
        self.every = every
        self._stepping = self._evaluating = self._latest = 0.0

    def stepped(self, seconds: float) -> None:
        self._stepping += seconds

    def evaluated(self, seconds: float) -> None:
        self._evaluating += seconds
        self._latest = seconds

    def due(self, step: int) -> bool:
        """Whether to evaluate now, if the next evaluation takes as long as the latest."""
        if self.every is not None:
            return self.every > 0 and step % self.every == 0
        coming = self._evaluating + self._latest
        if self._latest <= QUICK and str(step).rstrip("0") in ("1", "2", "5"):
            return True
        return step % EVERY == 0 and coming <= SHARE * (self._stepping + coming)


def loss_and_accuracy(logits: Tensor, y: Tensor) -> tuple[float, float]:
    """Mean cross-entropy and share of right predictions of outputs (n, classes)."""
    loss = F.cross_entropy(logits, y)
    right = (logits.argmax(1) == y).double().mean()
    both: list[float] = torch.stack((loss.double(), right)).tolist()
    return both[0], both[1]


def correct_predictions(network: nn.Module, x: Tensor, y: Tensor) -> int:
    """How many of all n training examples are predicted right: one example more or less changes it by at most 1."""
    return int((outputs(network, x).argmax(1) == y).sum())


class Posterior:
    """Predictions on the test data, averaged over posterior samples of the parameters.

    Attributes:
        samples: How many.
        total: Σ of their predicted probabilities, double precision (n, classes); None without a sample.
    """

    def __init__(self) -> None:
        self.samples = 0
        self.total: Tensor | None = None

    def add(self, logits: Tensor) -> None:
        """One sample's outputs (n, classes)."""
        probabilities = logits.double().softmax(1)
        self.total = probabilities if self.total is None else self.total + probabilities
        self.samples += 1

    def accuracy(self, y: Tensor) -> float | None:
        """Share of right predictions of the average; None without a sample."""
        if self.total is None:
            return None
        return float((self.total.argmax(1) == y).double().mean())


def finite(value: float | None) -> float | None:
    """JSON has no NaN: None instead."""
    return value if value is not None and value == value and abs(value) != float("inf") else None


def evaluated(network: nn.Module, test: tuple[Tensor, Tensor], part: tuple[Tensor, Tensor]) -> dict[str, Any]:
    """Loss and accuracy on test data and on a part of the training data."""
    test_loss, test_accuracy = loss_and_accuracy(outputs(network, test[0]), test[1])
    train_loss, train_accuracy = loss_and_accuracy(outputs(network, part[0]), part[1])
    return {
        "test_loss": finite(test_loss),
        "test_accuracy": test_accuracy,
        "train_loss": finite(train_loss),
        "train_accuracy": train_accuracy,
    }
