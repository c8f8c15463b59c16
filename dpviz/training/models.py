"""The small networks, by name, with their parameter counts and a seeded start.

>>> network = build("cnn", seed=0)
>>> parameter_count(network)
26010
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from dpviz import _validate

CLASSES = 10
SIDE = 28


def logistic_regression() -> nn.Module:
    """Softmax regression on the 784 pixels."""
    return nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, CLASSES))


def mlp() -> nn.Module:
    """784-128-10 with ReLU."""
    return nn.Sequential(nn.Flatten(), nn.Linear(SIDE * SIDE, 128), nn.ReLU(), nn.Linear(128, CLASSES))


def cnn() -> nn.Module:
    """The two-convolution network of the TensorFlow Privacy tutorial, after Abadi et al. 2016, with tanh.

    Papernot et al. 2021 ("Tempered sigmoid activations") found that tanh, which bounds activations, is what makes
    private training of this network work.
    """
    return nn.Sequential(
        nn.Conv2d(1, 16, 8, stride=2, padding=3),  # (n, 16, 14, 14)
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 16, 13, 13)
        nn.Conv2d(16, 32, 4, stride=2),  # (n, 32, 5, 5)
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 32, 4, 4)
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 32),
        nn.Tanh(),
        nn.Linear(32, CLASSES),
    )


@dataclass(frozen=True, slots=True)
class Model:
    """A network that can be asked for by name.

    Attributes:
        title: For the screen.
        make: Builds it, with PyTorch's default initialisation from the global generator; use `build`.
        parameters: Number of trainable parameters.
    """

    title: str
    make: Callable[[], nn.Module]
    parameters: int


MODELS: dict[str, Model] = {
    "logistic": Model("logistic regression", logistic_regression, 7_850),
    "mlp": Model("MLP 784-128-10", mlp, 101_770),
    "cnn": Model("CNN, tanh", cnn, 26_010),
}


def build(name: str, *, seed: int) -> nn.Module:
    """The network `name` of `MODELS` with weights drawn from `seed`; PyTorch's global generator is left as it was."""
    _validate.choice("model", name, tuple(MODELS))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MODELS[name].make()


def parameter_count(network: nn.Module) -> int:
    """Number of trainable numbers in `network`."""
    return sum(parameter.numel() for parameter in network.parameters() if parameter.requires_grad)
