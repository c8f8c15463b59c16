"""Composition of grid laws by one Fourier transform, whose powers serve every number of steps.

The δ of T composed steps is E[(1 − exp(ε − L))₊] for the sum L of T losses. The law of L is taken *tilted* by
exp(λL) (Esscher), because a transform knows probabilities to about 1e-16 of the largest one, and
δ = 1e-12 lives far out: tilted to where ε is, the interesting losses are the likely ones. With M = E[exp(λ·one loss)],

    δ(ε) = M^T Ẽ[exp(−λL) (1 − exp(ε − L))₊],   0 ≤ weight ≤ exp(−λε)·w(λ),   w(λ) = λ^λ/(1+λ)^(1+λ).

Every error is therefore at most M^T·exp(−λε)·w(λ) times its tilted probability. These are bounded:

* wrap-around: the tilted mass outside the window, by Chernoff on both sides (the window is chosen from it);
* rounding of the grid masses, relative ρ a step: (1 + ρ)^T − 1, as δ is multilinear in non-negative masses; mass
  rounded to a neighbouring point changes (1 − exp(ε − loss))₊ by 1 − exp(−mesh) at most, and counts so much only;
* rounding of the transforms: each coefficient errs by at most γ·Σ|input|, γ = 8·log₂(N) units (each level of the
  fast transform adds a few units of the absolute sums below it; Higham 2002, §24.1), raised to the power T mode by
  mode; the sum with the weights is bounded by Cauchy and Schwarz.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.fft import irfft, next_fast_len, rfft
from scipy.signal import lfilter

from dpviz.accounting.privacy_loss import UNIT, GridLaw

Array = npt.NDArray[np.float64]
Complex = npt.NDArray[np.complex128]

LOG_WRAP = -25.0  # ln of the tilted probability that may wrap around, each side
LOG_SILENT = -46.0  # modes below exp of this are counted as an error instead of computed
LARGEST_EXPONENT = 650.0


@dataclass(frozen=True, slots=True, eq=False)
class ComposedLaw:
    """δ(ε) of a composed grid law at its grid points, with a bound on the numerical error.

    Attributes:
        epsilon: grid points (n,), ascending.
        delta: computed δ(ε) (n,), exact at the grid points and linear in exp(ε) between them.
        error: bound on |computed − exact δ of the composed grid law| (n,); where it exceeds 1, δ is meaningless.
        infinite: probability of an infinite loss, to be added to an upper δ.
    """

    epsilon: Array
    delta: Array
    error: Array
    infinite: float


@dataclass(frozen=True, slots=True, eq=False)
class _Tilted:
    """One law tilted: masses that add up to 1, and what the tilt took out."""

    law: GridLaw
    mass: Array
    log_moment: float  # ln E[exp(λ loss)]
    rounding: float  # relative error of the tilted masses, added up
    shift: float  # the same for mass put at a neighbour
    mean: float  # tilted mean index
    spread: float  # tilted standard deviation, in indices

    def log_moment_at(self, shift: float) -> float:
        """ln Ẽ[exp(shift·(index − mean))]."""
        exponent = shift * (self.law.index() - self.mean)
        with np.errstate(divide="ignore"):
            weights = exponent + np.log(self.mass)
        top = float(weights.max())
        return top + math.log(float(np.exp(weights - top).sum()))


def _tilt(law: GridLaw, tilt: float) -> _Tilted:
    exponent = tilt * law.loss()
    with np.errstate(divide="ignore"):
        weights = exponent + np.log(law.mass)
    top = float(weights.max())
    weights = np.exp(weights - top)
    total = float(weights.sum())
    mass = weights / total
    log_moment = top + math.log(total)
    weights = np.exp(np.minimum(exponent - log_moment, LARGEST_EXPONENT))
    rounding = float(np.dot(law.rounding, weights))
    shift = float(np.dot(law.shift, weights)) * math.exp(min(tilt * law.mesh, LARGEST_EXPONENT))
    # exp and its argument round as well: |argument| units
    rounding += 4 * UNIT * (1.0 + float(np.dot(mass, np.abs(exponent))) + abs(log_moment))
    index = law.index()
    mean = float(np.dot(mass, index))
    spread = math.sqrt(max(float(np.dot(mass, (index - mean) ** 2)), 1e-6))
    return _Tilted(law, mass, log_moment, rounding, shift, mean, spread)


def _reach(laws: Sequence[_Tilted], counts: Array, sign: float) -> float:
    """Distance from the tilted mean, in indices, beyond which less than exp(LOG_WRAP) of the composed law lies."""
    deviation = math.sqrt(sum(float(t) * law.spread**2 for law, t in zip(laws, counts, strict=True)))
    shift = math.sqrt(-2.0 * LOG_WRAP) / deviation

    def bound(s: float) -> float:
        moment = sum(float(t) * law.log_moment_at(sign * s) for law, t in zip(laws, counts, strict=True))
        return (moment - LOG_WRAP) / s

    # The sum of supports bounds the reach as well; and no shift is tried that could overflow.
    edge = [(t.law.mass.size + t.law.start - 1 - t.mean) if sign > 0 else (t.mean - t.law.start) for t in laws]
    most = float(np.dot(counts, edge)) + 1.0
    limit = LARGEST_EXPONENT / max(*edge, 1.0, 1.0)
    shift = min(shift, limit)
    best = min(bound(shift), most)
    for factor in (1.6, 1 / 1.6):
        trial = shift
        while trial * factor <= limit:
            trial *= factor
            value = bound(trial)
            if value > 0.99 * best:
                best = min(best, value)
                break
            best = value
        if trial > 2 * shift:
            break
    return best


def _modes(law: _Tilted, size: int) -> tuple[Complex, int]:
    """Transform of a tilted law with its mean moved near 0, and the index that was moved there."""
    origin = round(law.mean)
    place = (law.law.start - origin) % size
    n = law.mass.size
    buffer: Array = np.zeros(size)
    if place + n <= size:
        buffer[place : place + n] = law.mass
    else:
        np.add.at(buffer, (place + np.arange(n)) % size, law.mass)
    return rfft(buffer), origin


def _powers(laws: Sequence[_Tilted], counts: Array, size: int) -> tuple[list[Complex], Array, list[int]]:
    """Composed transforms for each row of counts (rows, laws), the 2-norm of the law's error, and the laws' origins."""
    gamma = 8.0 * math.log2(size) * UNIT
    alive = np.arange(size // 2 + 1)
    exponent = np.zeros((counts.shape[0], alive.size), dtype=np.complex128)
    relative = np.zeros((counts.shape[0], alive.size))
    origins = [0] * len(laws)
    # Widest first: most modes fall silent early, and the other laws need no logarithm there.
    for j in sorted(range(len(laws)), key=lambda k: -float(counts[:, k].max()) * laws[k].spread ** 2):
        transform, origins[j] = _modes(laws[j], size)
        transform = transform[alive]
        modulus = np.maximum(np.abs(transform), 1e-300)
        strength = exponent.real + counts[:, j, None] * np.log(modulus)
        heard = (strength > LOG_SILENT).any(axis=0)
        alive, transform, modulus = alive[heard], transform[heard], modulus[heard]
        logarithm = np.log(transform)
        exponent = exponent[:, heard] + counts[:, j, None] * logarithm
        relative = relative[:, heard] + counts[:, j, None] * (gamma / modulus + 4 * UNIT * (np.abs(logarithm) + 1))
    value = np.exp(exponent)
    with np.errstate(over="ignore"):
        error = np.abs(value) * np.expm1(np.minimum(relative, LARGEST_EXPONENT))
    # Root mean square over all modes is the 2-norm of the error of the composed law (Parseval); the transform back adds
    # γ of the 2-norm itself (Higham 2002, Theorem 24.2). |silent mode| ≤ exp(LOG_SILENT) as computed, hence + 1.
    squares = 2.0 * (np.square(error) + np.square(gamma * np.abs(value))).sum(axis=1)
    norm = np.sqrt(2.0 * squares / size) + 2.0 * math.exp(LOG_SILENT + 1.0)
    full = []
    for row in value:
        modes = np.zeros(size // 2 + 1, dtype=np.complex128)
        modes[alive] = row
        full.append(modes)
    return full, norm, origins


def log_weight(tilt: Array | float) -> Array:
    """ln of the largest exp(−λx)(1 − exp(−x)) over x ≥ 0; 0 at λ = 0."""
    tilt = np.asarray(tilt, dtype=np.float64)
    safe = np.maximum(tilt, 1e-300)
    return np.where(tilt > 0, -safe * np.log1p(1.0 / safe) - np.log1p(safe), 0.0)


def _norm_of_weights(tilt: float, mesh: float, size: int) -> float:
    """2-norm over the grid of exp(−λx)(1 − exp(−x))₊: its squared integral ÷ mesh and one term, or `size` terms."""
    largest = math.exp(2.0 * float(log_weight(tilt)))
    if tilt == 0.0:
        return math.sqrt(size * largest)
    integral = 1.0 / (2.0 * tilt * (2.0 * tilt + 1.0) * (tilt + 1.0))
    return math.sqrt(min(size * largest, integral / mesh + largest))


def compose(laws: Sequence[GridLaw], counts: Array, tilt: float) -> list[ComposedLaw]:
    """Composes grid laws of one mesh, tilted by exp(tilt·loss).

    Args:
        laws: one grid law for each mechanism.
        counts: how often each is used; shape (curves, laws). All curves share the transforms.
        tilt: λ ≥ 0; right near the saddle point of the ε that is looked for, sound anywhere.
    """
    tilted = [_tilt(law, tilt) for law in laws]
    longest = counts.max(axis=0)
    above, below = _reach(tilted, longest, 1.0), _reach(tilted, longest, -1.0)
    size = int(next_fast_len(math.ceil(above + below) + 4, real=True))
    modes, transform_error, origins = _powers(tilted, counts, size)
    return [
        _read(tilted, row, tilt, irfft(spectrum, size), float(norm), origins, below)
        for row, spectrum, norm in zip(counts, modes, transform_error, strict=True)
    ]


def _read(
    laws: Sequence[_Tilted],
    counts: Array,
    tilt: float,
    cyclic: Array,
    transform_error: float,
    origins: list[int],
    below: float,
) -> ComposedLaw:
    """δ at every grid point of the window from the composed tilted law."""
    mesh, size = laws[0].law.mesh, cyclic.size
    uses = list(zip(laws, counts.tolist(), origins, strict=True))
    first = math.floor(sum(t * (law.mean - origin) for law, t, origin in uses) - below) - 1
    probability = np.roll(cyclic, -(first % size))
    loss = sum(t * (law.law.anchor + origin * mesh) for law, t, origin in uses) + (first + np.arange(size)) * mesh
    log_moment = sum(t * law.log_moment for law, t, _ in uses)
    rounding = sum(t * law.rounding for law, t, _ in uses)
    infinite = -math.expm1(sum(t * math.log1p(-law.law.infinite) for law, t, _ in uses))
    shift = math.expm1(min(sum(t * law.shift for law, t, _ in uses), LARGEST_EXPONENT))
    share = 2.0 * math.exp(LOG_WRAP) + math.expm1(min(rounding, LARGEST_EXPONENT)) + size * UNIT
    share = math.exp(float(log_weight(tilt))) * share + shift + _norm_of_weights(tilt, mesh, size) * transform_error
    # δ(ε_j) = (1 − e^−mesh) Σ_{l ≥ j} exp(ε_j − ε_l) Pr[L > ε_l]: two nested tail sums of positive terms, so nothing
    # cancels; both run from the right as recurrences in the local scale exp(−λε_j), so nothing overflows.
    ahead = np.concatenate([probability[1:], [0.0]])
    beyond = _tail_sum(ahead * math.exp(-tilt * mesh), tilt * mesh)
    weighted = -math.expm1(-mesh) * _tail_sum(beyond, (1.0 + tilt) * mesh)
    scale = np.exp(np.minimum(log_moment - tilt * loss, LARGEST_EXPONENT))
    return ComposedLaw(
        epsilon=loss,
        delta=scale * weighted,
        error=scale * share + 1e-100,
        infinite=infinite,
    )


def _tail_sum(values: Array, decay: float) -> Array:
    """Σ_{l ≥ j} exp(−decay·(l − j)) values_l for each j."""
    return np.asarray(lfilter([1.0], [1.0, -math.exp(-decay)], values[::-1])[::-1], dtype=np.float64)
