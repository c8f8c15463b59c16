"""The modes of a power that are not silent, by themselves, where a whole transform would hold millions that are.

After T steps only frequencies below about 14/(√T·deviation) are left; with a period of some twenty deviations of the
composed distribution these are a few dozen, whatever T is. That all others are silent, below exp(LOG_SILENT), is
proven:

* near 0, |φ(θ)|² = E cos((X − X′)θ) ≤ 1 − s²θ² + (m₄ + 3s⁴)θ⁴/12 for a distribution of variance s² and fourth central
  moment m₄;
* further out, |φ| exceeds its value at the nearest of N points by at most s·π/N, for |φ′| ≤ s (centred).
"""

import math

import numpy as np
from scipy.fft import rfft

from dpviz._arrays import Array, Complex, Whole
from dpviz.accounting.pld.composed_loss import (
    LOG_SILENT,
    TiltedLoss,
)
from dpviz.mechanisms.pair import UNIT

LARGEST_PERIOD = 2**50
LONGEST_LOSS = 2**13  # grid points; beyond, a transform is no slower
POINTS_PER_POINT = 32  # of the transform that bounds φ, for each grid point of the distribution
MOST_MODES = 1024


def loud_modes(pld: TiltedLoss, steps: float, size: int) -> int | None:
    """How many modes 0, 1, … may be loud after `steps` steps; None where that is not proven, or they are many."""
    if pld.mass.size > LONGEST_LOSS or size > LARGEST_PERIOD:
        return None
    away = pld.pld.index() - pld.mean
    variance, fourth = float(pld.mass @ away**2) * (1 - 1e-9), float(pld.mass @ away**4) * (1 + 1e-9)
    near = math.sqrt(6.0 * variance / (fourth + 3.0 * variance**2)) if variance > 0 else 0.0
    loud = math.sqrt(-4.0 * LOG_SILENT / (steps * variance)) if variance > 0 else math.inf
    if not loud < near:
        return None
    size_here = 2 ** math.ceil(math.log2(POINTS_PER_POINT * pld.mass.size))
    seen = np.abs(rfft(pld.mass, size_here))
    spacing = 2.0 * math.pi / size_here
    beyond = float(seen[math.floor(near / spacing) :].max()) + 0.5 * spacing * math.sqrt(variance) * (1 + 1e-8) + 1e-12
    if beyond >= 1.0 or steps * math.log(beyond) > LOG_SILENT:
        return None
    count = math.ceil(loud * size / (2.0 * math.pi)) + 1
    return count if count <= min(MOST_MODES, size // 2) else None


def transform_at(mass: Array, start: int, count: int, size: int) -> tuple[Complex, float]:
    """Σ_l mass_l exp(−2πik(start + l)/size) for k < count, and what they err by, in units of Σ|mass|."""
    k = np.arange(count, dtype=np.int64)
    width = math.isqrt(mass.size) + 1
    blocks = -(-mass.size // width)
    padded = np.zeros(blocks * width)
    padded[: mass.size] = mass

    def turn(index: Whole) -> Complex:  # angles from whole numbers: nothing is lost
        return np.asarray(np.exp(-2j * math.pi * ((k[:, None] * (index % size)) % size / size)))

    rows, by = padded.reshape(blocks, width).T, turn(np.arange(width))
    inner = by.real @ rows + 1j * (by.imag @ rows)  # as complex numbers they would wake threads for a few microseconds
    outer = turn(start + width * np.arange(blocks, dtype=np.int64))
    return np.asarray((inner * outer).sum(axis=1)), (width + blocks + 32) * UNIT
