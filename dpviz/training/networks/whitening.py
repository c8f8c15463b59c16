"""Scattering features in the directions in which drawn curves differ: fixed, and far fewer.

A linear layer learns fast along directions in which its inputs vary much and slowly along others, while noise is the
same in all. Dividing by a power of the spread evens that out; spreads of private data would have to be paid for, those
of curves that were drawn by chance, as digits are drawn, cost nothing: no picture of anyone's is behind them. Full
whitening is the power 1/2; a third goes less far where curves are not what digits are.
"""

import math
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from dpviz.training.networks import scattering

DIRECTIONS = 400
LENGTH = 50.0  # of every example's features: near that of scattering features, so the same steps suit
_CURVES, _SEED, _POWER = 5000, 0, 1.0 / 3.0  # power of the variance
_MEAN, _STD = 0.1307, 0.3081  # curves are scaled as MNIST's pixels are
_FOLDER = "whitened"

# One stroke of a pen, with a slant, in the middle of a picture. Box and middle are those that LeCun, Bottou, Bengio,
# Haffner 1998 describe for MNIST: 20 of 28 pixels, the centre of mass in the middle.
_WAVES, _POINTS, _BLOCK = 5, 80, 500
_BOX = 20 / 28  # share of the side
_NARROWEST, _WIDEST = 0.3, 0.9  # width ÷ height
_LEFT, _RIGHT = -0.245, 0.455  # slant: pixels sideways for one upwards
_THIN, _THICK = 0.8, 1.6  # half the pen's width, in pixels of 28


def curves(count: int, side: int, *, seed: int) -> Tensor:
    """Grey images (count, 1, side, side) of one curve each, on [0, 1]; the same for the same seed."""
    random = torch.Generator().manual_seed(seed)
    parts = [_drawn(min(_BLOCK, count - done), side, random) for done in range(0, count, _BLOCK)]
    return torch.cat([torch.empty(0, 1, side, side), *parts])


def _drawn(count: int, side: int, random: torch.Generator) -> Tensor:
    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, 1, 1, generator=random)

    waves = torch.arange(1, _WAVES + 1, dtype=torch.float32)
    along = torch.cos(math.pi * waves[:, None] * torch.linspace(0.0, 1.0, _POINTS))  # (waves, points)
    # Slow waves are long ones, so that a curve turns a few times and has no corners.
    amplitudes = torch.randn(count, _WAVES, 2, generator=random) / waves[:, None] ** 1.5
    path = _boxed(torch.einsum("nwc,wp->npc", amplitudes, along))
    path[..., :1] *= between(_NARROWEST, _WIDEST)
    path[..., :1] -= between(_LEFT, _RIGHT) * path[..., 1:]
    pen = between(_THIN, _THICK) * side / 28
    path = _boxed(path, square=True) * (_BOX * side - 2.0 * pen)
    pixels = torch.arange(side) - (side - 1) / 2
    down, right = torch.meshgrid(pixels, pixels, indexing="ij")
    grid = torch.stack([right, down], -1).reshape(1, -1, 2)
    ink = _inked(path, pen, grid)
    middle = (ink[..., None] * grid).sum(1, keepdim=True) / ink.sum(1)[:, None, None]
    return _inked(path - middle, pen, grid).reshape(count, 1, side, side)


def _boxed(path: Tensor, *, square: bool = False) -> Tensor:
    """Paths (n, points, 2) moved to the middle of a box of side 1, which they fill; `square` keeps their form."""
    low, high = path.amin(1, keepdim=True), path.amax(1, keepdim=True)
    size = high - low
    return (path - 0.5 * (low + high)) / (size.amax(2, keepdim=True) if square else size)


def _inked(path: Tensor, pen: Tensor, grid: Tensor) -> Tensor:
    """How dark each pixel of the grid is, (n, pixels): 1 under the pen, with an edge one pixel wide."""
    distance = torch.cdist(grid.expand(len(path), -1, 2).contiguous(), path.contiguous()).amin(2)
    return (pen[..., 0] + 0.5 - distance).clamp(0.0, 1.0)


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
    projected = (scattering.features(images, keep=False) - mean) @ directions
    return LENGTH * torch.nn.functional.normalize(projected, dim=1)
