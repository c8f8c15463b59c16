"""Scattering features seen from the directions in which drawn curves differ: fixed, and far fewer.

A linear layer learns fast along directions in which its inputs vary much and slowly along others, while noise is the
same in all. Dividing by a power of the spread evens that out; spreads of private data would have to be paid for, those
of curves that were drawn by chance (`dpviz.training.data.curves`) cost nothing. Full whitening is the power 1/2; a
third goes less far where curves are not what digits are.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import torch

from dpviz.training.data.curves import curves
from dpviz.training.networks import scattering

Tensor = torch.Tensor

DIRECTIONS = 400
LENGTH = 50.0  # of every example's features: near that of scattering features, so the same steps suit
_CURVES, _SEED, _POWER = 5000, 0, 1.0 / 3.0  # power of the variance
_MEAN, _STD = 0.1307, 0.3081  # curves are scaled as MNIST's pixels are
_FOLDER = "whitened"


class Basis(NamedTuple):
    """What curves say of scattering features.

    Attributes:
        mean: (f,).
        directions: (f, k), each divided by its variance to the power 1/3, widest first.
    """

    mean: Tensor
    directions: Tensor


def size(features: int) -> int:
    """How many directions are kept of so many features: at most half, as groups of features have mean zero."""
    return min(DIRECTIONS, features // 2)


@lru_cache(maxsize=1)
def basis(side: int) -> Basis:
    """Of images with `side` pixels a side; half a minute the first time."""
    drawn = scattering.features((curves(_CURVES, side, seed=_SEED) - _MEAN) / _STD)
    mean = drawn.mean(0)
    kept = size(drawn.shape[1])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(_SEED)
        _, singular, directions = torch.svd_lowrank(drawn - mean, q=min(kept + 100, *drawn.shape), niter=2)
    variance = singular[:kept] ** 2 / _CURVES
    return Basis(mean, directions[:, :kept] / variance**_POWER)


def features(images: Tensor, *, keep: bool = True) -> Tensor:
    """Features (n, k) of grey images (n, 1, s, s), each of its image alone and LENGTH long; kept as `scattering`'s."""
    return scattering.stored(images, _FOLDER, lambda: _computed(images), keep=keep)


def kept(images: Tensor) -> bool:
    """Whether `features` of these images need not be computed again."""
    return scattering.kept(images, _FOLDER)


def _computed(images: Tensor) -> Tensor:
    mean, directions = basis(images.shape[-1])
    found = (scattering.features(images, keep=False) - mean) @ directions
    return LENGTH * torch.nn.functional.normalize(found, dim=1)
