"""δ(ε) of composed loss distributions from their Fourier modes, with a bound on every numerical error.

Three ways: at every grid point, from the masses; at the two beside one ε, from the modes, whose weights have finite
sums; and, where few modes are left, at every r-th point, from the modes. There δ(ε_j) = Σ_k P_k W_k exp(2πijk/N)/N with
the transform W of the weights exp(−λx)(1 − exp(−x)), x ≥ 0, in closed form, and what the period wraps around is
an error of at most exp(−λ·distance to the window's end).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.fft import irfft

from dpviz._arrays import Array, Complex, Whole
from dpviz.accounting.pld.privacy_loss import LossDistribution
from dpviz.mechanisms.log_excess import log_sums
from dpviz.mechanisms.pair import UNIT

LOG_SILENT = -46.0  # modes below exp of this are counted as an error instead of computed
LARGEST_EXPONENT = 650.0
POINTS, MANY_POINTS = 512, 2048  # at which δ is read off few modes; many where the rows' windows differ in width
LARGEST_DENSE = 2**22  # grid points
LEAST_DECAY = 40.0  # −ln of the weight that one period must reach for that


@dataclass(frozen=True, slots=True, eq=False)
class ComposedLoss:
    """δ(ε) of a composed loss distribution at some of its grid points, with a bound on the numerical error.

    Attributes:
        epsilon: grid points (n,), ascending; a single one, meaningless, where the window would be too large.
        delta: computed δ(ε) (n,), exact at the grid points.
        error: bound on |computed − exact δ of the composed loss distribution| (n,); where it exceeds 1, δ is
            meaningless.
        infinite: probability of an infinite loss, to be added to an upper δ.
        slack: bound on the rounding of `epsilon`.
        dense: whether the points are neighbours, between which δ is linear in exp(ε); else δ is convex in exp(ε).
    """

    epsilon: Array
    delta: Array
    error: Array
    infinite: float
    slack: float = 0.0
    dense: bool = True

    def thinned(self) -> ComposedLoss:
        """At so many points as few modes are read at: δ is convex between them, and memory is bounded."""
        stride = self.epsilon.size // MANY_POINTS
        if stride <= 1:
            return self
        epsilon, delta, error = (np.array(each[::stride]) for each in (self.epsilon, self.delta, self.error))
        return replace(self, epsilon=epsilon, delta=delta, error=error, dense=False)


NOTHING = ComposedLoss(np.zeros(1), np.ones(1), np.full(1, 2.0), 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class TiltedLoss:
    """One loss distribution tilted: masses that add up to 1, and what the tilt took out."""

    pld: LossDistribution
    mass: Array
    log_moment: float  # ln E[exp(λ loss)]
    relative: float  # largest relative error of a mass, and of the moment
    rounding: float  # error of the tilted masses beyond that, added up
    shift: float  # the same for mass put at a neighbour
    mean: float  # tilted mean index
    spread: float  # tilted standard deviation, in indices

    def log_moment_at(self, shift: float) -> float:
        """ln Ẽ[exp(shift·(index − mean))]."""
        with np.errstate(divide="ignore"):
            return float(log_sums(shift * (self.pld.index() - self.mean) + np.log(self.mass)))


@dataclass(frozen=True, slots=True, eq=False)
class Modes:
    """Transforms of composed tilted losses, where they are not silent.

    Attributes:
        size: the period, in grid points.
        alive: indices of the modes kept (modes,).
        value, error: coefficients and bounds on their errors (rows, modes).
        origins: the index that each distribution's transform has at 0.
        silent: whether modes were left out.
    """

    size: int
    alive: Whole
    value: Complex
    error: Array
    origins: list[int]

    def all(self, row: int) -> Complex:
        modes = np.zeros(self.size // 2 + 1, dtype=np.complex128)
        modes[self.alive] = self.value[row]
        return modes

    def norm(self) -> Array:
        """2-norm of each row's error after the transform back (rows,).

        Root mean square over all modes is the 2-norm of the error of the composed distribution (Parseval); the
        transform back adds γ of the 2-norm itself (Higham 2002, Theorem 24.2). |silent mode| ≤ exp(LOG_SILENT) as
        computed, hence + 1.
        """
        gamma = unit_of_transform(self.size)
        squares = 2.0 * (np.square(self.error) + np.square(gamma * np.abs(self.value))).sum(axis=1)
        return np.asarray(np.sqrt(2.0 * squares / self.size) + 2.0 * math.exp(LOG_SILENT + 1.0))


def unit_of_transform(size: int) -> float:
    return 8.0 * math.log2(size) * UNIT


def log_weight(tilt: Array | float) -> Array:
    """ln of the largest exp(−λx)(1 − exp(−x)) over x ≥ 0; 0 at λ = 0."""
    tilt = np.asarray(tilt, dtype=np.float64)
    safe = np.maximum(tilt, 1e-300)
    return np.where(tilt > 0, -safe * np.log1p(1.0 / safe) - np.log1p(safe), 0.0)


def norm_of_weights(tilt: float, interval: float, size: int) -> float:
    """2-norm over the grid of exp(−λx)(1 − exp(−x))₊: its squared integral ÷ interval and one term, or `size` terms."""
    largest = math.exp(2.0 * float(log_weight(tilt)))
    if tilt == 0.0:
        return math.sqrt(size * largest)
    integral = 1.0 / (2.0 * tilt * (2.0 * tilt + 1.0) * (tilt + 1.0))
    return math.sqrt(min(size * largest, integral / interval + largest))


def read_modes(
    plds: Sequence[TiltedLoss],
    counts: Array,
    tilt: float,
    modes: Modes,
    below: float,
    log_wrap: float,
    near: float | None,
) -> list[ComposedLoss]:
    """δ of each row of counts, beside one ε; else at every r-th point where that can be, else at all."""
    interval = plds[0].pld.interval
    if near is not None:
        windows = [_window(plds, row, tilt, modes, below, log_wrap) for row in counts]
        return [_around(window, modes, i, near) for i, window in enumerate(windows)]
    points = points_for(counts)
    few = modes.size % points == 0 and modes.size > points and (not modes.alive.size or modes.alive[-1] < points // 2)
    if few and tilt * interval * modes.size >= LEAST_DECAY:
        return _sparse([_window(plds, row, tilt, modes, below, log_wrap) for row in counts], modes, points)
    if modes.size > LARGEST_DENSE:
        return [NOTHING] * len(counts)
    norms = modes.norm()
    return [
        _dense(_window(plds, row, tilt, modes, below, log_wrap), irfft(modes.all(i), modes.size), float(norms[i]))
        for i, row in enumerate(counts)
    ]


def points_for(counts: Array) -> int:
    total = counts.sum(axis=1)
    return MANY_POINTS if total.max() > 4.0 * total.min() else POINTS


@dataclass(frozen=True, slots=True)
class _Window:
    """What both ways of reading share: the window, and errors in units of the tilted probability."""

    tilt: float
    interval: float
    size: int
    first: int
    start: float  # loss of index 0
    log_moment: float
    infinite: float
    slack: float
    share: float
    relative: float

    def pld(self, index: Array, weighted: Array, share: Array | float, relative: float, dense: bool) -> ComposedLoss:
        loss = self.start + index * self.interval
        exponent = self.log_moment - self.tilt * loss if self.tilt else np.array(self.log_moment)  # mostly without
        scale = np.exp(np.minimum(exponent, LARGEST_EXPONENT))
        with np.errstate(over="ignore", invalid="ignore"):  # as large as that, an error says: not resolved
            error = scale * (share + relative * (np.maximum(weighted, 0.0) + share)) + 1e-300
        return ComposedLoss(loss, scale * weighted, error, self.infinite, self.slack, dense)


def _window(
    plds: Sequence[TiltedLoss], counts: Array, tilt: float, modes: Modes, below: float, log_wrap: float
) -> _Window:
    interval, size = plds[0].pld.interval, modes.size
    uses = list(zip(plds, counts.tolist(), modes.origins, strict=True))
    first = math.floor(sum(t * (pld.mean - origin) for pld, t, origin in uses) - below) - 1
    start = sum(t * (pld.pld.anchor + origin * interval) for pld, t, origin in uses)
    rounding = sum(t * pld.rounding for pld, t, _ in uses)
    added = sum(t * (abs(pld.pld.anchor) + abs(origin) * interval) for pld, t, origin in uses)
    slack = 8 * UNIT * (added + (abs(first) + size) * interval)
    shift = math.expm1(min(sum(t * pld.shift for pld, t, _ in uses), LARGEST_EXPONENT))
    share = 2.0 * math.exp(log_wrap) + math.expm1(min(rounding, LARGEST_EXPONENT))
    return _Window(
        tilt, interval, size, first, start,
        log_moment=sum(t * pld.log_moment for pld, t, _ in uses),
        infinite=-math.expm1(sum(t * math.log1p(-pld.pld.infinite) for pld, t, _ in uses)),
        slack=slack,
        share=math.exp(float(log_weight(tilt))) * share + shift,
        relative=math.expm1(min(sum(t * pld.relative for pld, t, _ in uses), LARGEST_EXPONENT)) + tilt * slack,
    )  # fmt: skip


def _dense(window: _Window, cyclic: Array, transform_error: float) -> ComposedLoss:
    """δ at every grid point of the window from the composed tilted loss; of those below ε = 0 at a few, which tell how
    steep a thinned curve is there.
    """
    tilt, interval, size = window.tilt, window.interval, window.size
    zero = math.floor(-window.start / interval) - 1 - size // POINTS
    first = min(max(zero, window.first), window.first + size - 2)
    probability = np.roll(cyclic, -(window.first % size))[first - window.first :]
    share = window.share + norm_of_weights(tilt, interval, size) * transform_error
    # δ(ε_j) = (1 − e^−interval) Σ_{l ≥ j} exp(ε_j − ε_l) Pr[L > ε_l]: two nested tail sums of positive terms, so
    # nothing cancels; both run from the right as recurrences in the local scale exp(−λε_j), so nothing overflows.
    ahead = np.concatenate([probability[1:], [0.0]])
    beyond = _tail_sum(ahead * math.exp(-tilt * interval), tilt * interval)
    weighted = -math.expm1(-interval) * _tail_sum(beyond, (1.0 + tilt) * interval)
    index = first + np.arange(probability.size, dtype=np.float64)
    return window.pld(index, weighted, share, window.relative + 8 * size * UNIT, True)


def _around(window: _Window, modes: Modes, row: int, epsilon: float) -> ComposedLoss:
    """δ at the two grid points around ε, or the outermost two on its side, from the modes of the whole window.

    The weights a^x − b^x, 0 ≤ x < reach, a = exp(−λ·interval), b = a·exp(−interval), have finite geometric sums.
    """
    tilt, interval, size, k = window.tilt, window.interval, window.size, modes.alive
    cell = min(max(math.floor((epsilon - window.start) / interval) - window.first, 0), size - 2)
    places = window.first + cell + np.arange(2, dtype=np.int64)[:, None]
    reach = size + window.first - places
    turn = 2j * math.pi / size
    weight, rounding = np.zeros((2, k.size), dtype=np.complex128), np.zeros((2, k.size))
    for decay, sign in ((tilt * interval, 1.0), ((1.0 + tilt) * interval, -1.0)):
        top, bottom = np.expm1(turn * (reach % size * k % size) - decay * reach), np.expm1(turn * k - decay)
        level = bottom == 0.0  # k = 0 without a tilt: ones are added
        bottom[level] = 1.0
        weight += sign * np.where(level, reach, top / bottom)
        rounding += np.where(level, reach, (1.0 + np.abs(top)) / np.abs(bottom))
    share = np.where((k == 0) | (2 * k == size), 1.0, 2.0) / size
    value = modes.value[row] * np.exp(turn * (places % size * k % size))
    weighted = (value * weight).real @ share
    numeric = (modes.error[row] * np.abs(weight)) @ share
    numeric += (unit_of_transform(size) + 64 * UNIT) * (np.abs(value) * rounding) @ share
    numeric += 2.0 * math.exp(LOG_SILENT + 1.0) * norm_of_weights(tilt, interval, size)
    return window.pld(
        places[:, 0].astype(np.float64), weighted, window.share + numeric, window.relative + 64 * UNIT, True
    )


def _tail_sum(values: Array, decay: float) -> Array:
    """Σ_{l ≥ j} exp(−decay·(l − j)) values_l for each j: sums of 2, 4, 8, … terms, until weights vanish."""
    total, ahead = values.copy(), 1
    while ahead < total.size and (weight := math.exp(-decay * ahead)) > 0.0:
        total[:-ahead] += weight * total[ahead:]
        ahead *= 2
    return total


def _sparse(windows: list[_Window], modes: Modes, points: int) -> list[ComposedLoss]:
    """δ at so many grid points of each row's window from few modes."""
    tilt, interval, size, k = windows[0].tilt, windows[0].interval, modes.size, modes.alive
    turn = 2j * math.pi * k / size
    shrink = -tilt * interval + turn
    # Σ_x exp(−λ·interval·x + iθx)(1 − exp(−interval·x)): two geometric series, their difference taken before anything
    # cancels
    weight = -math.expm1(-interval) * np.exp(shrink) / (np.expm1(shrink) * np.expm1(shrink - interval))
    first = np.array([window.first % size for window in windows], dtype=np.int64)
    place = (first[:, None] * k) % size  # whole numbers below 2⁵³
    term = modes.value * weight * np.exp(2j * math.pi * (place / size))
    spectrum = np.zeros((len(windows), points // 2 + 1), dtype=np.complex128)
    spectrum[:, k] = term
    weighted = irfft(spectrum, points) * (points / size)
    unit = unit_of_transform(points) + 64 * UNIT
    numeric = 2.0 / size * (modes.error @ np.abs(weight) + unit * np.abs(term).sum(axis=1))
    numeric += 2.0 * math.exp(LOG_SILENT + 1.0) * norm_of_weights(tilt, interval, size)
    along = (size // points) * np.arange(points, dtype=np.float64)
    wrapped = 1.01 * np.exp(-tilt * interval * (size - along))
    return [
        window.pld(window.first + along, row, window.share + error + wrapped, window.relative + 64 * UNIT, False)
        for window, row, error in zip(windows, weighted, numeric.tolist(), strict=True)
    ]
