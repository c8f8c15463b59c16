"""The networks that can be trained, and their sizes from shapes alone. PyTorch is imported where they are made."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from dpviz.training.models.base import FeatureModule, Features, Shape, image, linear

if TYPE_CHECKING:
    from torch import nn


def softmax_regression(shape: Shape, classes: int) -> nn.Module:
    """A linear layer on all that is there."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), classes))


def mlp(shape: Shape, classes: int) -> nn.Module:
    """One hidden layer of 128 units with ReLU."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.ReLU(), nn.Linear(128, classes))


def cnn(shape: Shape, classes: int) -> nn.Module:
    """The two-convolution network of the TensorFlow Privacy tutorial, after Abadi et al. 2016, with tanh, for any side.

    Papernot et al. 2021 ("Tempered sigmoid activations") found that tanh, which bounds activations, is what makes
    private training of this network work.
    """
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(shape[0], 16, 8, stride=2, padding=3),  # (n, 16, 14, 14) of 28 × 28 pixels
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 16, 13, 13)
        nn.Conv2d(16, 32, 4, stride=2),  # (n, 32, 5, 5)
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 32, 4, 4)
        nn.Flatten(),
        nn.Linear(_cnn_width(shape), 32),
        nn.Tanh(),
        nn.Linear(32, classes),
    )


def _cnn_width(shape: Shape) -> int:
    """Numbers after both convolutions and their pooling."""
    height, width = (((side - 2) // 2 - 4) // 2 for side in shape[1:])
    return 32 * height * width


def cnn_parameters(shape: Shape, classes: int) -> int:
    return linear(shape[0] * 64, 16) + linear(16 * 16, 32) + linear(_cnn_width(shape), 32) + linear(32, classes)


def resnet(shape: Shape, classes: int) -> nn.Module:
    """Eight layers with weights: a first convolution, three residual blocks of 16, 32 and 64 channels, a last layer."""
    from torch import nn

    from dpviz.training.networks.residual import Residual

    return nn.Sequential(
        nn.Conv2d(shape[0], 16, 3, padding=1, bias=False),
        nn.GroupNorm(8, 16),
        nn.ReLU(),
        Residual(16, 16, 2),
        Residual(16, 32, 2),
        Residual(32, 64, 2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, classes),
    )


def resnet_parameters(shape: Shape, classes: int) -> int:
    def block(inputs: int, outputs: int) -> int:
        return 9 * inputs * outputs + 9 * outputs * outputs + 4 * outputs + inputs * outputs

    return 9 * shape[0] * 16 + 32 + block(16, 16) + block(16, 32) + block(32, 64) + linear(64, classes)


def elsewhere(shape: Shape, classes: int) -> nn.Module:
    raise ValueError("Expected a network that dpviz can build, found one from another program: run that program again.")


def _scattering() -> FeatureModule:
    from dpviz.training.networks import scattering

    return scattering


def _whitening() -> FeatureModule:
    from dpviz.training.networks import whitening

    return whitening


def _public_digits() -> FeatureModule:
    from dpviz.training.networks import public_digits

    return public_digits


def _scattered(shape: Shape) -> Shape:
    return (81 * shape[0] * (shape[1] // 4) * (shape[2] // 4),)


def _square(shape: Shape) -> bool:
    return image(shape) and shape[0] in (1, 3) and shape[1] == shape[2] and shape[1] >= 8 and shape[1] % 4 == 0


LINEAR = {"make": softmax_regression, "read_parameters": lambda shape, classes: linear(math.prod(shape), classes)}
# What a row of `models.toml` cannot say of the network of its key.
NETWORKS: dict[str, dict[str, Any]] = {
    "cnn": {
        "make": cnn,
        "read_parameters": cnn_parameters,
        "suits": lambda shape: image(shape) and min(shape[1:]) >= 14,
    },
    "scattering": LINEAR | {"suits": _square, "features": Features("scattering features", _scattering, _scattered)},
    "whitened": LINEAR
    | {
        "suits": lambda shape: _square(shape) and shape[0] == 1,
        "features": Features(
            "whitened scattering features",
            _whitening,
            lambda shape: (min(400, _scattered(shape)[0] // 2),),  # `whitening.size`, without PyTorch
        ),
    },
    "public-digits": LINEAR
    | {
        "suits": lambda shape: image(shape) and shape[0] == 1 and min(shape[1:]) >= 16,
        "features": Features("features of public digits", _public_digits, lambda shape: (1024,)),
    },
    "mlp": {
        "make": mlp,
        "read_parameters": lambda shape, classes: linear(math.prod(shape), 128) + linear(128, classes),
    },
    "resnet": {"make": resnet, "read_parameters": resnet_parameters, "suits": image},
    "logistic": LINEAR,
    "bayesian-logistic": LINEAR,
    "elsewhere": {"make": elsewhere, "read_parameters": lambda shape, classes: 0, "suits": lambda shape: False},
}
