"""A network that lives in the program that trains it (`dpviz.training.PrivateTraining`): no page can build it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.training.models.base import Model, Shape

if TYPE_CHECKING:
    from torch import nn


def _make(shape: Shape, classes: int) -> nn.Module:
    raise ValueError("Expected a network that can be built here, found one of somebody's own program: run that again.")


ELSEWHERE = Model(
    key="elsewhere", title="a network of one's own program", short="own", make=_make,
    parameters=lambda shape, classes: 0, suits=lambda shape: False, wants="what its own program reads", usual={},
)  # fmt: skip
