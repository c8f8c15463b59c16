"""Wavelet scattering features of images: fixed, so they cost no privacy, and good enough for a linear layer.

Two orders at J = 2 scales and L = 8 angles (Bruna & Mallat 2013): S0 = x ⋆ φ, S1 = |x ⋆ ψ_{j,l}| ⋆ φ,
S2 = ||x ⋆ ψ_{0,l}| ⋆ ψ_{1,l′}| ⋆ φ, taken at every fourth pixel: 1 + 16 + 64 = 81 channels of 7 × 7 for 28 × 28 pixels.
Each colour is transformed on its own: 243 channels of 8 × 8 for 32 × 32 pixels of three colours. Then each example's
channels are normalised in groups, without any number from the data set (Tramèr & Boneh 2021 found that a linear layer
on these beats convolutional networks at small ε).
"""

import hashlib
import math
import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dpviz.training.files import whole_file
from dpviz.training.progress import advance
from dpviz.training.words import refusal

SCALES, ANGLES = 2, 8
CHANNELS = 1 + SCALES * ANGLES + ANGLES * ANGLES
_STRIDE = 2**SCALES
_WIDTH = 0.8 * 2 ** (SCALES - 1)  # of φ
_GROUPS = 27
_BLOCK = 32  # what is worked on stays near the cache: half the time of 256
# Written into the name of cached features: to be raised when their definition changes.
_VERSION = 2
_FOLDER = "scattering"


def _grid(size: int) -> tuple[Tensor, Tensor]:
    """Pixel offsets (size, size) from the origin, wrapped around."""
    offsets = torch.fft.fftfreq(size, d=1.0 / size, dtype=torch.float64)
    y, x = torch.meshgrid(offsets, offsets, indexing="ij")
    return y, x


def wavelet(size: int, scale: int, angle: int) -> Tensor:
    """Fourier transform (size, size) of the Morlet wavelet ψ at 2^scale pixels and `angle` of ANGLES half turns.

    An oriented Gaussian of width 0.8 · 2^scale, half as narrow across, times a wave of frequency 3π/4 · 2^(−scale),
    less a Gaussian that makes its mean zero.
    """
    y, x = _grid(size)
    width, slant, frequency = 0.8 * 2**scale, 4.0 / ANGLES, 0.75 * math.pi / 2**scale
    theta = math.pi * angle / ANGLES
    along, across = math.cos(theta) * x + math.sin(theta) * y, math.cos(theta) * y - math.sin(theta) * x
    envelope = torch.exp(-(along**2 + (slant * across) ** 2) / (2.0 * width**2))
    wave = torch.polar(envelope, frequency * along)
    morlet = wave - envelope * (wave.sum() / envelope.sum())
    # Even up to complex conjugation, so its transform is real.
    spectrum: Tensor = torch.fft.fft2(morlet / (2.0 * math.pi * width**2 / slant)).real.float()
    return spectrum


def _folded(transform: Tensor) -> Tensor:
    """The transform (…, s/2, s/2) of every second pixel of the signal that `transform` (…, s, s) belongs to."""
    half = transform.shape[-1] // 2
    rows = transform[..., :half, :] + transform[..., half:, :]
    return (rows[..., :half] + rows[..., half:]) / 4.0


def _average(size: int, scale: int) -> Tensor:
    """Rows of φ for every fourth pixel of a line of `size`, of which every 2^scale-th pixel is there: (size/4, …).

    φ is a product of one Gaussian down and one across, so that two small matrices average a picture.
    """
    offsets = torch.fft.fftfreq(size, d=1.0 / size, dtype=torch.float64)
    kernel = torch.exp(-(offsets**2) / (2.0 * _WIDTH**2))
    kernel = (kernel / kernel.sum())[:: 2**scale] * 2**scale
    return torch.stack([torch.roll(kernel, at) for at in range(0, len(kernel), _STRIDE >> scale)]).float()


class _Filters:
    """What images of `size` pixels after padding are multiplied by."""

    def __init__(self, size: int) -> None:
        self.low = [_average(size, scale) for scale in range(SCALES)]
        self.wavelets = [torch.stack([wavelet(size, j, k) for k in range(ANGLES)]) for j in range(SCALES)]

    def average(self, signal: Tensor, scale: int = 0) -> Tensor:
        """Signals (…, s, s) at every 2^scale-th pixel → smoothed, at every fourth pixel."""
        return self.low[scale] @ signal @ self.low[scale].t()

    def modulus(self, transform: Tensor, scale: int) -> Tensor:
        """|x ⋆ ψ| at every 2^scale-th pixel for all angles: transforms (…, s, s) → (…, ANGLES, s/2^scale, …)."""
        product = transform[..., None, :, :] * self.wavelets[scale]
        magnitude: Tensor = torch.fft.ifft2(_folded(product) if scale else product).abs()
        return magnitude


def scatter(images: Tensor) -> Tensor:
    """Features (n, 81 c, h/4, w/4) of square images (n, c, h, w) with a side that four divides; a colour's together."""
    n, colours, side = _checked(images)
    channels = _scatter_grey(images.reshape(-1, 1, side, side), _filters(side + 2 * _STRIDE))
    return channels.view(n, colours * CHANNELS, side // _STRIDE, side // _STRIDE)


def _checked(images: Tensor) -> tuple[int, int, int]:
    """How many images there are, their colours and their side."""
    if images.ndim != 4 or not images.shape[1] or images.shape[2] != images.shape[3] or images.shape[3] % _STRIDE:
        raise refusal("shape_of_scattering", stride=_STRIDE, shape=tuple(images.shape))
    return images.shape[0], images.shape[1], images.shape[3]


@lru_cache(maxsize=2)
def _filters(size: int) -> _Filters:
    return _Filters(size)


def _scatter_grey(images: Tensor, filters: _Filters) -> Tensor:
    padded = F.pad(images, [_STRIDE] * 4, mode="reflect")[:, 0]
    transform = torch.fft.fft2(padded)
    fine = filters.modulus(transform, 0)
    edges = torch.fft.fft2(fine)
    maps = [filters.average(padded)[:, None], filters.average(fine)]
    maps.append(filters.average(filters.modulus(transform, 1), 1))
    maps.extend(filters.average(filters.modulus(edges[:, angle], 1), 1) for angle in range(ANGLES))
    return torch.cat(maps, dim=1)[:, :, 1:-1, 1:-1]


def features(images: Tensor, *, keep: bool = True) -> Tensor:
    """Normalised scattering features (n, 81 c · h/4 · w/4) of each image on its own; kept on disk by content.

    Without `keep` nothing is written: features of private images are as private as they.
    """
    return stored(images, _FOLDER, lambda: _normalised(images), keep=keep)


def _normalised(images: Tensor) -> Tensor:
    n, colours, side = _checked(images)
    rows = torch.empty(n, colours * CHANNELS * (side // _STRIDE) ** 2, dtype=torch.float16)
    for start in range(0, n, _BLOCK):
        part = images[start : start + _BLOCK]
        rows[start : start + _BLOCK] = F.group_norm(scatter(part), _GROUPS).flatten(1)
        advance(len(part))
    return rows


def stored(images: Tensor, folder: str, compute: Callable[[], Tensor], *, keep: bool) -> Tensor:
    """What `compute` finds of these images, (n, f): read from `folder` of the cache where it is there."""
    path = _cache_path(images, folder)
    there = _read(path, images.shape[0]) if keep else None
    if there is not None:
        return there
    # Rounded as on disk, so that a run from kept features is the run from fresh ones.
    computed = compute().half()
    if keep:  # without room or permission it is computed again next time
        with suppress(OSError), whole_file(path) as file:
            np.save(file, computed.numpy(), allow_pickle=False)
    return computed.float()


def kept(images: Tensor, folder: str = _FOLDER) -> bool:
    """Whether `features` of these images need not be computed again."""
    return _cache_path(images, folder).is_file()


def _cache_path(images: Tensor, folder: str) -> Path:
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dpviz" / folder
    content = hashlib.sha256(np.ascontiguousarray(images.numpy()).tobytes()).hexdigest()[:32]
    return root / f"v{_VERSION}-{'x'.join(map(str, images.shape))}-{content}.npy"


def _read(path: Path, examples: int) -> Tensor | None:
    """Half precision on disk: the features are of order 1, and a damaged or missing file is computed again."""
    try:
        stored = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if stored.dtype != np.float16 or stored.ndim != 2 or stored.shape[0] != examples:
        return None
    return torch.from_numpy(stored).float()
