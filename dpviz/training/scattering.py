"""Wavelet scattering features of grey images: fixed, so they cost no privacy, and good enough for a linear layer.

Two orders at J = 2 scales and L = 8 angles (Bruna & Mallat 2013): S0 = x ⋆ φ, S1 = |x ⋆ ψ_{j,l}| ⋆ φ,
S2 = ||x ⋆ ψ_{0,l}| ⋆ ψ_{1,l′}| ⋆ φ, taken at every fourth pixel: 1 + 16 + 64 = 81 channels of 7 × 7 for 28 × 28 pixels.
Then each example's channels are normalised in groups, without any number from the data set (Tramèr & Boneh 2021 found
that a linear layer on these beats convolutional networks at small ε).
"""

from __future__ import annotations

import hashlib
import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from dpviz.training.progress import advance

Tensor = torch.Tensor

SCALES, ANGLES = 2, 8
CHANNELS = 1 + SCALES * ANGLES + ANGLES * ANGLES
_STRIDE = 2**SCALES
_GROUPS = 27
_BLOCK = 256
# Written into the name of cached features: to be raised when their definition changes.
_VERSION = 1
_FOLDER = "scattering"


def _grid(size: int) -> tuple[Tensor, Tensor]:
    """Pixel offsets (size, size) from the origin, wrapped around."""
    offsets = torch.fft.fftfreq(size, d=1.0 / size, dtype=torch.float64)
    y, x = torch.meshgrid(offsets, offsets, indexing="ij")
    return y, x


def low_pass(size: int) -> Tensor:
    """Fourier transform (size, size) of the Gaussian φ of width 0.8 · 2^(J−1) that averages."""
    y, x = _grid(size)
    width = 0.8 * 2 ** (SCALES - 1)
    kernel = torch.exp(-(x**2 + y**2) / (2.0 * width**2))
    found: Tensor = torch.fft.fft2(kernel / kernel.sum()).real.float()
    return found


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
    found: Tensor = torch.fft.fft2(morlet / (2.0 * math.pi * width**2 / slant)).real.float()
    return found


def _subsampled(transform: Tensor, by: int) -> Tensor:
    """The transform (…, s/by, s/by) of every by-th pixel of the signal that `transform` (…, s, s) belongs to."""
    size = transform.shape[-1] // by
    folded = transform.reshape(*transform.shape[:-2], by, size, by, size).mean((-4, -2))
    return folded


class _Filters:
    """The transforms for images of `size` pixels after padding."""

    def __init__(self, size: int) -> None:
        self.low = [low_pass(size)]
        # The same average of a signal of which every second pixel is left.
        self.low.append(_subsampled(self.low[0], 2) * 4.0)
        self.wavelets = [torch.stack([wavelet(size, j, k) for k in range(ANGLES)]) for j in range(SCALES)]

    def average(self, transform: Tensor, scale: int = 0) -> Tensor:
        """Transforms (…, s, s) of signals at every 2^scale-th pixel → smoothed, at every fourth pixel."""
        smooth: Tensor = torch.fft.ifft2(_subsampled(transform * self.low[scale], _STRIDE >> scale)).real
        return smooth

    def modulus(self, transform: Tensor, scale: int) -> Tensor:
        """|x ⋆ ψ| at every 2^scale-th pixel for all angles: transforms (…, s, s) → (…, ANGLES, s/2^scale, …)."""
        product = transform[..., None, :, :] * self.wavelets[scale]
        found: Tensor = torch.fft.ifft2(_subsampled(product, 2**scale) if scale else product).abs()
        return found


def scatter(images: Tensor) -> Tensor:
    """Features (n, 81, h/4, w/4) of grey images (n, 1, h, w), square, with a side that four divides."""
    side = images.shape[-1]
    if images.ndim != 4 or images.shape[1] != 1 or images.shape[2] != side or side % _STRIDE:
        raise ValueError(
            f"Expected grey images (n, 1, s, s) with s a multiple of {_STRIDE}, found {tuple(images.shape)}."
        )
    filters = _Filters(side + 2 * _STRIDE)
    empty = images.new_zeros(0, CHANNELS, side // _STRIDE, side // _STRIDE)
    found = [empty]
    for part in filter(len, torch.split(images, _BLOCK)):
        found.append(_scatter_block(part, filters))
        advance(len(part))
    return torch.cat(found)


def _scatter_block(images: Tensor, filters: _Filters) -> Tensor:
    padded = F.pad(images, [_STRIDE] * 4, mode="reflect")[:, 0]
    transform = torch.fft.fft2(padded)
    found = [filters.average(transform)[:, None]]
    edges = torch.fft.fft2(filters.modulus(transform, 0))
    found.append(filters.average(edges))
    found.append(filters.average(torch.fft.fft2(filters.modulus(transform, 1)), 1))
    found.extend(filters.average(torch.fft.fft2(filters.modulus(edges[:, angle], 1)), 1) for angle in range(ANGLES))
    return torch.cat(found, dim=1)[:, :, 1:-1, 1:-1]


def features(images: Tensor, *, keep: bool = True) -> Tensor:
    """Normalised scattering features (n, 81 · h/4 · w/4) of each image on its own; kept on disk by content.

    Without `keep` nothing is written: features of private images are as private as they.
    """
    return stored(images, _FOLDER, lambda: F.group_norm(scatter(images), _GROUPS).flatten(1), keep=keep)


def stored(images: Tensor, folder: str, compute: Callable[[], Tensor], *, keep: bool) -> Tensor:
    """What `compute` finds of these images, (n, f): read from `folder` of the cache where it is there."""
    path = _cache_path(images, folder)
    there = _read(path, images.shape[0]) if keep else None
    if there is not None:
        return there
    # Rounded as on disk, so that a run from kept features is the run from fresh ones.
    found = compute().half()
    if keep:
        _write(path, found)
    return found.float()


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


def _write(path: Path, found: Tensor) -> None:
    """Written beside and renamed; without room or permission it is computed again next time."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".npy", delete=False) as partial:
            try:
                np.save(partial, found.numpy(), allow_pickle=False)
                partial.close()
                os.replace(partial.name, path)
            except OSError:
                Path(partial.name).unlink(missing_ok=True)
    except OSError:
        return
