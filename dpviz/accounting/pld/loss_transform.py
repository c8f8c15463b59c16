"""Composition of loss distributions by one Fourier transform, whose powers serve every number of steps.

The δ of T composed steps is E[(1 − exp(ε − L))₊] for the sum L of T losses. The distribution of L is taken *tilted* by
exp(λL) (Esscher), because a transform knows probabilities to about 1e-16 of the largest one, and
δ = 1e-12 lives far out: tilted to where ε is, the interesting losses are the likely ones. With M = E[exp(λ·one loss)],

    δ(ε) = M^T Ẽ[exp(−λL) (1 − exp(ε − L))₊],   0 ≤ weight ≤ exp(−λε)·w(λ),   w(λ) = λ^λ/(1+λ)^(1+λ).

Every error is therefore at most M^T·exp(−λε)·w(λ) times its tilted probability. These are bounded:

* wrap-around: the tilted mass outside the window, by Chernoff on both sides (the window is chosen from it);
* rounding of the grid masses, ρ of the tilted mass a step: (1 + ρ)^T − 1, as δ is multilinear in non-negative masses;
  mass rounded to a neighbouring point changes (1 − exp(ε − loss))₊ by 1 − exp(−interval) at most, and counts so much
  only;
* rounding of the transforms: each coefficient errs by at most γ·Σ|input|, γ = 8·log₂(N) units (each level of the
  fast transform adds a few units of the absolute sums below it; Higham 2002, §24.1), raised to the power T mode by
  mode; the sum with the weights is bounded by Cauchy and Schwarz.

Where a step rarely shows anything (small q), one atom holds nearly all of its mass. It is not transformed: for a + ĝ,
with the atom a and Σg = 1 − a, the power is exp(T·log1p(ĝ − Σg)), and the errors are γ·Σg instead of γ. So T·Σg, the
expected number of steps that show something, decides, not T. For the same reason errors that are small beside every
single mass, such as the atom's, are kept apart: they change δ by a factor, (1 ± ρ)^T, and not by an amount. Without
this δ = 1e-12 after 10⁶ steps would drown, as no tilt helps where single large losses make δ.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dpviz._arrays import Array, Complex, Whole
from dpviz.accounting.pld.composed_loss import (
    LARGEST_EXPONENT,
    LEAST_DECAY,
    LOG_SILENT,
    NOTHING,
    ComposedLoss,
    Modes,
    TiltedLoss,
    points_for,
    read_modes,
    unit_of_transform,
)
from dpviz.accounting.pld.loud_modes import LARGEST_PERIOD, loud_modes, transform_at
from dpviz.accounting.pld.privacy_loss import LossDistribution
from dpviz.mechanisms.pair import UNIT

LOG_WRAP = -25.0  # ln of the tilted probability that may wrap around, each side, unless asked for less
MASS_WRAP = -36.0  # the same for bounds on single masses
LARGEST_SIZE = 2**22  # grid points; a window that needs more shows nothing
LEAST_FOR_FEW = 2**14  # grid points from which on few modes are quicker than a transform
STRETCH = 4.0  # times the window: the longest period from which few modes are read
LEAST_ATOM = 0.6  # tilted mass from which on an atom is kept out of the transform
SMALLEST = 1e-300  # modulus of a coefficient that comes to 0
RELATIVE = 1024 * UNIT  # errors up to so much of a mass count as relative


def tilt_loss(pld: LossDistribution, tilt: float) -> TiltedLoss:
    exponent = tilt * pld.loss()
    with np.errstate(divide="ignore"):
        weights = exponent + np.log(pld.mass)
    top = float(weights.max())
    weights = np.exp(weights - top)
    total = float(weights.sum())
    mass = weights / total
    log_moment = top + math.log(total)
    weights = np.exp(np.minimum(exponent - log_moment, LARGEST_EXPONENT))
    beside = pld.rounding <= RELATIVE * pld.mass
    rounding = float(np.dot(np.where(beside, 0.0, pld.rounding), weights))
    shift = float(np.dot(pld.shift, weights)) * math.exp(min(tilt * pld.interval, LARGEST_EXPONENT))
    # exp and its argument round as well: |argument| units
    relative = float((pld.rounding[beside] / np.maximum(pld.mass[beside], 1e-300)).max(initial=0.0))
    relative += (4 * UNIT) * (1.0 + abs(log_moment)) + pld.mass.size * UNIT
    rounding += 4 * UNIT * float(np.dot(mass, np.abs(exponent)))
    index = pld.index()
    mean = float(np.dot(mass, index))
    spread = math.sqrt(max(float(np.dot(mass, (index - mean) ** 2)), 1e-6))
    return TiltedLoss(pld, mass, log_moment, relative, rounding, shift, mean, spread)


def _reach(plds: Sequence[TiltedLoss], counts: Array, sign: float, log_wrap: float) -> float:
    """Distance from the tilted mean, in indices, beyond which less than exp(log_wrap) of the composed loss lies."""
    deviation = math.sqrt(sum(float(t) * pld.spread**2 for pld, t in zip(plds, counts, strict=True)))
    shift = math.sqrt(-2.0 * log_wrap) / deviation

    def bound(s: float) -> float:
        moment = sum(float(t) * pld.log_moment_at(sign * s) for pld, t in zip(plds, counts, strict=True))
        return (moment - log_wrap) / s

    # The sum of supports bounds the reach as well; and no shift is tried that could overflow.
    edge = [(t.pld.mass.size + t.pld.start - 1 - t.mean) if sign > 0 else (t.mean - t.pld.start) for t in plds]
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


def _without_atom(pld: TiltedLoss) -> tuple[Array, float, int]:
    """The masses less the atom, what they add up to, and the index that is moved to 0.

    What is moved there is the atom, and where there is none (rest = 1), the mean.
    """
    heaviest = int(pld.mass.argmax())
    if pld.mass[heaviest] < LEAST_ATOM:
        return pld.mass, 1.0, round(pld.mean)
    mass = pld.mass.copy()
    mass[heaviest] = 0.0
    return mass, float(mass.sum()), pld.pld.start + heaviest


def _modes(pld: TiltedLoss, size: int) -> tuple[Complex, float, int]:
    """Transform of a tilted distribution less its atom, the mass of the rest, and the index that was moved to 0."""
    mass, rest, origin = _without_atom(pld)
    place = (pld.pld.start - origin) % size
    n = mass.size
    buffer: Array = np.zeros(size)
    if place + n <= size:
        buffer[place : place + n] = mass
    else:
        np.add.at(buffer, (place + np.arange(n)) % size, mass)
    return rfft(buffer), rest, origin


def _logarithm(transform: Complex, rest: float) -> Complex:
    """ln of the distribution's coefficients, with small relative errors of what differs from 0."""
    if rest == 1.0:  # a coefficient of 0 has no logarithm; its modulus is taken as this elsewhere too
        return np.asarray(np.log(np.where(transform == 0.0, SMALLEST, transform)), dtype=np.complex128)
    away = transform - rest
    real, imaginary = away.real, away.imag
    return np.asarray(
        0.5 * np.log1p(2.0 * real + np.square(real) + np.square(imaginary)) + 1j * np.arctan2(imaginary, 1.0 + real)
    )


def _powers(plds: Sequence[TiltedLoss], counts: Array, size: int) -> Modes:
    """Composed transforms for each row of counts (rows, plds)."""
    gamma = unit_of_transform(size)
    alive = np.arange(size // 2 + 1)
    exponent, relative = np.zeros((counts.shape[0], 1), dtype=np.complex128), np.zeros((counts.shape[0], 1))
    origins = [0] * len(plds)
    # Widest first: most modes fall silent early, and the other distributions need no logarithm there.
    for j in sorted(range(len(plds)), key=lambda k: -float(counts[:, k].max()) * plds[k].spread ** 2):
        transform, rest, origins[j] = _modes(plds[j], size)
        transform = transform[alive]
        modulus = np.maximum(np.abs(transform + (1.0 - rest)), SMALLEST)
        loudest = exponent.real.max(axis=0) + counts[:, j].min() * np.log(modulus)  # of any row, at least
        heard = loudest > LOG_SILENT
        if exponent.shape[1] > 1:
            exponent, relative = exponent[:, heard], relative[:, heard]
        alive = alive[heard]
        power, error = _power(transform[heard], modulus[heard], rest, counts[:, j], gamma)
        exponent, relative = exponent + power, relative + error
    return _exponentiated(size, alive, exponent, relative, origins)


def _power(transform: Complex, modulus: Array, rest: float, counts: Array, unit: float) -> tuple[Complex, Array]:
    """counts × ln of the coefficients (rows, modes), and the errors that gives the coefficients, relative."""
    logarithm = _logarithm(transform, rest)
    # 64 units of Σg: its summing (pairwise), ĝ − Σg, and what log1p makes of their errors, for Σg ≤ 0.4
    each = (unit + 64 * UNIT) * rest / modulus + 4 * UNIT * np.abs(logarithm)
    return counts[:, None] * logarithm, counts[:, None] * each + 4 * UNIT


def _exponentiated(size: int, alive: Whole, exponent: Complex, relative: Array, origins: list[int]) -> Modes:
    value = np.exp(exponent)
    with np.errstate(over="ignore"):
        error = np.abs(value) * np.expm1(np.minimum(relative, LARGEST_EXPONENT))
    return Modes(size, alive, value, error, origins)


def _few_powers(pld: TiltedLoss, counts: Array, size: int) -> Modes | None:
    """The same of one distribution (rows,), from the modes that are not silent alone; None where these are many."""
    loud = loud_modes(pld, float(counts.min()), size)
    if loud is None:
        return None
    mass, rest, origin = _without_atom(pld)
    transform, unit = transform_at(mass, pld.pld.start - origin, loud, size)
    modulus = np.maximum(np.abs(transform + (1.0 - rest)), 1e-300)
    return _exponentiated(size, np.arange(loud), *_power(transform, modulus, rest, counts, unit), [origin])


def _period(window: int, points: int) -> int:
    """Grid points of the transform: no fewer than the window has, and quickly transformed."""
    if window >= 2 * points:
        return points * int(next_fast_len(-(-window // points), real=True))
    return int(next_fast_len(window, real=True))


def compose(
    plds: Sequence[LossDistribution],
    counts: Array,
    tilt: float,
    log_wrap: float = LOG_WRAP,
    *,
    thin: bool = False,
    near: float | None = None,
) -> list[ComposedLoss]:
    """Composes loss distributions of one interval, tilted by exp(tilt·loss).

    Args:
        plds: one loss distribution for each mechanism.
        counts: how often each is used; shape (curves, plds). All curves share the transforms.
        tilt: λ ≥ 0; right near the saddle point of the ε that is looked for, sound anywhere.
        log_wrap: ln of the tilted probability that may lie outside the window, each side.
        thin: δ at few points of each curve, in less time and memory, for whoever holds many curves; hardly wider.
        near: δ at the grid points on both sides of this ε alone, in less time still.
    """
    if not all(pld.mass.any() for pld in plds):  # a lower distribution of which nothing is left
        return [NOTHING] * len(counts)
    tilted = [tilt_loss(pld, tilt) for pld in plds]
    longest = counts.max(axis=0)
    above, below = _reach(tilted, longest, 1.0, log_wrap), _reach(tilted, longest, -1.0, log_wrap)
    if not above + below <= LARGEST_PERIOD:  # NaN too
        return [NOTHING] * len(counts)
    points, window = points_for(counts), math.ceil(above + below) + 4
    size, modes = _period(window, points), None
    if len(plds) == 1 and size >= LEAST_FOR_FEW:
        decayed = LEAST_DECAY / max(tilt * tilted[0].pld.interval, 1e-300)
        if thin and window < decayed <= STRETCH * window:
            modes = _few_powers(tilted[0], counts[:, 0], _period(math.ceil(decayed), points))
        if modes is None or modes.alive[-1] >= points // 2:
            modes = _few_powers(tilted[0], counts[:, 0], size)
    if modes is None:
        if size > LARGEST_SIZE:
            return [NOTHING] * len(counts)
        modes = _powers(tilted, counts, size)
    curves = read_modes(tilted, counts, tilt, modes, below, log_wrap, near)
    return [curve.thinned() for curve in curves] if thin else curves


def masses_of(pld: LossDistribution, count: float, tilts: Sequence[float]) -> tuple[float, Array, Array, float]:
    """Bounds on each mass of `count` composed loss distributions, the best of several tilts.

    Returns:
        The loss of the first mass, upper and lower bounds of the masses, and a bound on the probability of a loss
        beyond the last one (an infinite one included). How much lies before the first one is not said.
    """
    windows: list[tuple[int, Array, Array, float]] = []
    for tilt in tilts:
        one = tilt_loss(pld, tilt)
        above, below = (_reach([one], np.array([count]), sign, MASS_WRAP) for sign in (1.0, -1.0))
        if not above + below <= LARGEST_SIZE:  # NaN too
            continue
        size = int(next_fast_len(math.ceil(above + below) + 4, real=True))
        modes = _powers([one], np.array([[count]]), size)
        spectrum, norm, (origin,) = modes.all(0), modes.norm(), modes.origins
        start = math.floor(count * (one.mean - origin) - below) - 1
        tilted = np.roll(irfft(spectrum, size), -(start % size))
        loss = count * (pld.anchor + origin * pld.interval) + (start + np.arange(size)) * pld.interval
        scale = np.exp(np.minimum(count * one.log_moment - tilt * loss, LARGEST_EXPONENT))
        moved = 2.0 * one.shift / -math.expm1(-pld.interval)
        error = float(norm[0]) + 2.0 * math.exp(MASS_WRAP) + math.expm1(min(count * (one.rounding + moved), 600.0))
        slack = 8 * UNIT * (count * (abs(pld.anchor) + abs(origin) * pld.interval) + abs(float(loss[-1])))
        part = math.expm1(min(count * one.relative + tilt * slack, 600.0))
        upper = (np.maximum(tilted, 0.0) + error) * (1.0 + part) * scale
        lower = np.maximum(tilted - error, 0.0) * max(1.0 - part, 0.0) * scale
        beyond = math.exp(MASS_WRAP) * float(scale[-1]) if tilt > 0 else math.exp(MASS_WRAP)
        at = start + origin * int(count)
        if windows and at > windows[-1][0] + windows[-1][1].size:  # a gap: nothing is known in between
            break
        windows.append((at, upper, lower, beyond))
        if beyond < 1e-40:
            break
    if not windows:
        return count * pld.anchor, np.ones(1), np.zeros(1), 1.0
    first = min(start for start, *_ in windows)
    last = max(start + upper.size for start, upper, *_ in windows)
    most, least = np.ones(last - first), np.zeros(last - first)
    for start, upper, lower, _ in windows:
        here = slice(start - first, start - first + upper.size)
        most[here], least[here] = np.minimum(most[here], upper), np.maximum(least[here], lower)
    # The window that reaches furthest says how little lies beyond.
    beyond = min(part for start, upper, _, part in windows if start + upper.size == last)
    infinite = -math.expm1(count * math.log1p(-pld.infinite))
    return count * pld.anchor + first * pld.interval, most, least, beyond + infinite
