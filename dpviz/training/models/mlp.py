"""One hidden layer of 128 units with ReLU."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dpviz.training.models.base import Model, Shape, linear

if TYPE_CHECKING:
    from torch import nn


def mlp(shape: Shape, classes: int) -> nn.Module:
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(shape), 128), nn.ReLU(), nn.Linear(128, classes))


MLP = Model(
    key="mlp",
    title="MLP, 128 hidden units",
    short="MLP",
    make=mlp,
    parameters=lambda shape, classes: linear(math.prod(shape), 128) + linear(128, classes),
    last=lambda classes: linear(128, classes),
    usual={"batch_size": 1024, "steps": 100, "learning_rate": 3.0, "max_grad_norm": 0.1},
)
