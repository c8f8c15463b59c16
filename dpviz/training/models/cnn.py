"""The two-convolution network of the TensorFlow Privacy tutorial, after Abadi et al. 2016, with tanh, for any side.

Papernot et al. 2021 ("Tempered sigmoid activations") found that tanh, which bounds activations, is what makes private
training of this network work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.training.models.base import Model, Shape, image, linear

if TYPE_CHECKING:
    from torch import nn


def cnn(shape: Shape, classes: int) -> nn.Module:
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(shape[0], 16, 8, stride=2, padding=3),  # (n, 16, 14, 14) of 28 × 28 pixels
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 16, 13, 13)
        nn.Conv2d(16, 32, 4, stride=2),  # (n, 32, 5, 5)
        nn.Tanh(),
        nn.MaxPool2d(2, stride=1),  # (n, 32, 4, 4)
        nn.Flatten(),
        nn.Linear(_width(shape), 32),
        nn.Tanh(),
        nn.Linear(32, classes),
    )


def _width(shape: Shape) -> int:
    """Numbers after both convolutions and their pooling."""
    height, width = (((side - 2) // 2 - 4) // 2 for side in shape[1:])
    return 32 * height * width


def _parameters(shape: Shape, classes: int) -> int:
    return linear(shape[0] * 64, 16) + linear(16 * 16, 32) + linear(_width(shape), 32) + linear(32, classes)


CNN = Model(
    key="cnn",
    title="CNN, tanh",
    short="CNN",
    make=cnn,
    parameters=_parameters,
    last=lambda classes: linear(32, classes),
    wants="images of at least 14 pixels a side",
    suits=lambda shape: image(shape) and min(shape[1:]) >= 14,
    most_plain_steps=2_000,  # some fifteen seconds
    usual={"batch_size": 1024, "steps": 150, "learning_rate": 5.0, "max_grad_norm": 0.1},
    large={"steps": 650},
)
