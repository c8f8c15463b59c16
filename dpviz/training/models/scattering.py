"""A linear layer on fixed scattering features (`dpviz.training.scattering`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.training.models.base import Features, Model, Shape, image, linear_network, linear_parameters

if TYPE_CHECKING:
    from torch import Tensor


def _shape(shape: Shape) -> Shape:
    return (81 * shape[0] * (shape[1] // 4) * (shape[2] // 4),)


def _square(shape: Shape) -> bool:
    return image(shape) and shape[0] in (1, 3) and shape[1] == shape[2] and shape[1] >= 8 and shape[1] % 4 == 0


def _compute(images: Tensor, keep: bool) -> Tensor:
    from dpviz.training import scattering

    return scattering.features(images, keep=keep)


def _kept(images: Tensor) -> bool:
    from dpviz.training import scattering

    return scattering.kept(images)


SCATTERING = Model(
    key="scattering",
    title="linear on scattering features",
    short="Scattering",
    make=linear_network,
    parameters=lambda shape, classes: linear_parameters(_shape(shape), classes),
    wants="square images, grey or of three colours, whose side is a multiple of 4, at least 8",
    suits=_square,
    features=Features("scattering features", _shape, _compute, _kept),
    usual={
        "batch_size": 1024,
        "steps": 150,
        "learning_rate": 8.0,
        "learning_rate_end": 0.1,
        "max_grad_norm": 0.1,
    },
    large={"steps": 300},
    low_epsilon={"steps": 60, "learning_rate": 5.0, "learning_rate_end": 0.2},  # more cost more than they bring
)
