"""Eight layers with weights: a first convolution, three residual blocks of 16, 32 and 64 channels, a last layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.training.models.base import Model, Shape, image, linear

if TYPE_CHECKING:
    from torch import nn


def resnet(shape: Shape, classes: int) -> nn.Module:
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


def _parameters(shape: Shape, classes: int) -> int:
    def block(inputs: int, outputs: int) -> int:
        return 9 * inputs * outputs + 9 * outputs * outputs + 4 * outputs + inputs * outputs

    return 9 * shape[0] * 16 + 32 + block(16, 16) + block(16, 32) + block(32, 64) + linear(64, classes)


RESNET = Model(
    key="resnet",
    title="ResNet 8, group norm",
    short="ResNet",
    make=resnet,
    parameters=_parameters,
    last=lambda classes: linear(64, classes),
    wants="images",
    suits=image,
    usual={
        "batch_size": 1024,
        "steps": 250,
        "learning_rate": 8.0,
        "learning_rate_end": 0.1,
        "max_grad_norm": 0.1,
    },
    large={"steps": 650},
)
