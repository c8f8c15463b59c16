"""What a network gets right: on test data, on a part of the training data, and in a private count."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

Tensor = torch.Tensor

_CHUNK = 1000


@torch.no_grad()
def outputs(network: nn.Module, x: Tensor) -> Tensor:
    """The network's outputs (n, classes), chunk by chunk."""
    return torch.cat([network(part) for part in torch.split(x, _CHUNK)])


def loss_and_accuracy(found: Tensor, y: Tensor) -> tuple[float, float]:
    """Mean cross-entropy and share of right predictions of outputs (n, classes)."""
    loss = F.cross_entropy(found, y)
    right = (found.argmax(1) == y).double().mean()
    both: list[float] = torch.stack((loss.double(), right)).tolist()
    return both[0], both[1]


def correct_predictions(network: nn.Module, x: Tensor, y: Tensor) -> int:
    """How many of all n training examples are predicted right: one example more or less changes it by at most 1."""
    return int((outputs(network, x).argmax(1) == y).sum())


class Posterior:
    """Predictions on the test data, averaged over posterior samples of the parameters."""

    def __init__(self) -> None:
        self.samples = 0
        self._total: Tensor | None = None

    def add(self, found: Tensor) -> None:
        """One sample's outputs (n, classes)."""
        probabilities = found.double().softmax(1)
        self._total = probabilities if self._total is None else self._total + probabilities
        self.samples += 1

    def accuracy(self, y: Tensor) -> float | None:
        """Share of right predictions of the average; None without a sample."""
        if self._total is None:
            return None
        return float((self._total.argmax(1) == y).double().mean())


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
