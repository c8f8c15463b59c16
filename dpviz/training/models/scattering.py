"""A linear layer on fixed scattering features (`dpviz.training.networks.scattering`), all of them or whitened."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpviz.training.models.base import Features, Model, Shape, image, linear, linear_network, linear_parameters

if TYPE_CHECKING:
    from torch import Tensor


def _shape(shape: Shape) -> Shape:
    return (81 * shape[0] * (shape[1] // 4) * (shape[2] // 4),)


def _square(shape: Shape) -> bool:
    return image(shape) and shape[0] in (1, 3) and shape[1] == shape[2] and shape[1] >= 8 and shape[1] % 4 == 0


def _compute(images: Tensor, keep: bool) -> Tensor:
    from dpviz.training.networks import scattering

    return scattering.features(images, keep=keep)


def _kept(images: Tensor) -> bool:
    from dpviz.training.networks import scattering

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


def _whitened_shape(shape: Shape) -> Shape:
    return (min(400, _shape(shape)[0] // 2),)  # `whitening.size`, without PyTorch


def _whiten(images: Tensor, keep: bool) -> Tensor:
    from dpviz.training.networks import whitening

    return whitening.features(images, keep=keep)


def _whitened(images: Tensor) -> bool:
    from dpviz.training.networks import whitening

    return whitening.kept(images)


WHITENED = Model(
    key="whitened",
    title="linear on whitened scattering features",
    short="Whitened",
    make=linear_network,
    parameters=lambda shape, classes: linear(_whitened_shape(shape)[0], classes),
    wants="square grey images whose side is a multiple of 4, at least 8",
    suits=lambda shape: _square(shape) and shape[0] == 1,
    features=Features("whitened scattering features", _whitened_shape, _whiten, _whitened),
    usual={**SCATTERING.usual, "batch_size": 3000, "steps": 60, "learning_rate": 12.0, "momentum": 0.8},
    large={"batch_size": 6000, "steps": 400},
)
