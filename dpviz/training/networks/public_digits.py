"""Features learnt from public digits: a small convolutional network that is fixed and never saw private data.

Its numbers are shipped (`public-digits.npz`), and `tools/make_public_digits.py` makes them again from 1,797 handwritten
digits of 13 persons (the test part of UCI's Optical Recognition of Handwritten Digits, Alpaydin and Kaynak 1998). ε
protects none of these 13. Whoever trains a linear layer on the features spends the privacy of that layer's gradients
and no more, as long as no private example is among the public ones: transfer from public data, as in Abadi et al. 2016,
§4, and Tramèr and Boneh 2021 ("Differentially private learning needs better features").

Weights, pixels and what each layer passes on are whole numbers, and sums of them are exact in double precision in any
order: every machine, device and number of threads finds the same features.
"""

from functools import lru_cache
from hashlib import sha256
from importlib import resources
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dpviz.training.networks import scattering
from dpviz.training.progress import advance
from dpviz.training.words import refusal

FILE = "public-digits.npz"
GRID, CHANNELS, SMALLEST = 4, 64, 16  # what is averaged over; of the last convolution; pixels a side, at least
LENGTH = 50.0  # of every example's features: near that of scattering features, so the same steps suit
STEPS_OF_PIXEL, MOST_OF_PIXEL = 32, 127  # a scaled pixel in whole numbers, and the largest
MOST = 255  # of what a layer passes on
_STEPS_OF_MEAN = 16
_BLOCK = 100


class Convolution(NamedTuple):
    """A convolution in whole numbers.

    Attributes:
        weight: float64 (out, in, k, k), whole, −127 to 127.
        bias: float64 (out,), whole.
        scale: By what sums are multiplied before they are rounded to 0 to MOST.
    """

    weight: Tensor
    bias: Tensor
    scale: float

    def __call__(self, x: Tensor) -> Tensor:
        """(n, in, h, w) → (n, out, h, w), whole numbers from 0 to MOST."""
        sums = F.conv2d(x, self.weight, padding=self.weight.shape[-1] // 2).round_()
        return ((sums + self.bias[:, None, None]) * self.scale).round_().clamp_(0, MOST)


@lru_cache(maxsize=1)
def layers() -> tuple[Convolution, ...]:
    """Those that are shipped."""
    with resources.files(__package__).joinpath(FILE).open("rb") as file, np.load(file, allow_pickle=False) as stored:
        return tuple(
            Convolution(
                torch.from_numpy(stored[f"weight_{layer}"].astype(np.float64)),
                torch.from_numpy(stored[f"bias_{layer}"].astype(np.float64)),
                float(stored[f"scale_{layer}"]),
            )
            for layer in range(3)
        )


@lru_cache(maxsize=1)
def mark() -> str:
    """Names these numbers: the first digits of the SHA-256 of their file."""
    return sha256(resources.files(__package__).joinpath(FILE).read_bytes()).hexdigest()[:12]


def features(images: Tensor, *, keep: bool = True) -> Tensor:
    """Features (n, 1024) of grey images (n, 1, h, w), each of its image alone and LENGTH long; kept as `scattering`'s.

    Without `keep` nothing is written: features of private images are as private as they.
    """
    return scattering.stored(images, _folder(), lambda: _computed(images), keep=keep)


def kept(images: Tensor) -> bool:
    """Whether `features` of these images need not be computed again."""
    return scattering.kept(images, _folder())


def _folder() -> str:
    return f"public-digits-{mark()}"


def _computed(images: Tensor) -> Tensor:
    if images.ndim != 4 or images.shape[1] != 1 or min(images.shape[2:]) < SMALLEST:
        raise refusal("shape_of_public_digits", smallest=SMALLEST, shape=tuple(images.shape))
    rows = torch.empty(len(images), CHANNELS * GRID**2, dtype=torch.float16)
    for start in range(0, len(images), _BLOCK):
        part = images[start : start + _BLOCK]
        rows[start : start + _BLOCK] = passed(part, layers())
        advance(len(part))
    return rows


def passed(images: Tensor, network: tuple[Convolution, ...]) -> Tensor:
    """Through a network of three convolutions: (n, 1, h, w) → float64 (n, 1024), each row LENGTH long or 0."""
    first, second, third = network
    x = (images.double() * STEPS_OF_PIXEL).round_().clamp_(-MOST_OF_PIXEL, MOST_OF_PIXEL)
    maps = third(F.max_pool2d(second(F.max_pool2d(first(x), 2)), 2))
    means = (F.adaptive_avg_pool2d(maps, GRID) * _STEPS_OF_MEAN).round_().flatten(1)
    return LENGTH * means / means.square().sum(1, keepdim=True).sqrt().clamp_(min=1.0)
