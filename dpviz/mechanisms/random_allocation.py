"""Random allocation ("balls and bins"): in every epoch each example joins one of t batches, chosen uniformly.

>>> step = RandomAllocation(noise_multiplier=1.1, batches=234)
>>> step.text
'Gaussian, σ = 1.1, one random batch of 234 an epoch'

With all batches seen, Q = N(0, σ²I) on t coordinates and P = (1/t) Σ N(e_i, σ²I) are a dominating pair of one epoch
(Chua et al. 2025; Feldman, Shenfeld 2025). Under Q their likelihood ratio W = P/Q is the mean of t independent
Y = exp((2x − 1)/(2σ²)), x ~ N(0, σ²), and both δ's are expectations of convex functions of W:

    δ_remove(ε) = E_Q[(W − e^ε)₊],   δ_add(ε) = E_Q[(1 − e^ε W)₊].

So what is larger in convex order bounds them from above, and what is smaller from below. The law of a sum of Y's is
kept on a grid of e^{k h}. From above, an atom between two grid points is split between them with its mean kept; from
below, atoms are put together at their mean. The sum of e^{i h} and e^{(i − d) h} lies ln(1 + e^{−d h})/h cells above
the first, whatever i is. Doubling reaches t; as a sum concentrates, its grid is made finer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.special import ndtr

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.mechanisms.loss_pairs import DiscretePair
from dpviz.mechanisms.mechanism import Adjacency, Mechanism
from dpviz.mechanisms.pair import ULPS, UNIT, DominatingPair, GaussianNoise, SampledPair

_LEAST_NOISE = 0.04  # σ below which ratios overflow
_MOST_NOISE = 1e6  # σ beyond which a first cell holds all ratios
_CELL = 0.02  # first h, in standard deviations of ln Y
_LEAST_CELL = 1e-5  # h below which rounding would count
_SHARE = 0.03  # of the spread of a sum's logarithm that h may be
_TAIL = 9.75  # deviations of ln Y beyond which nothing is told apart
_NEGLIGIBLE = 1e-22  # probability of an end that is cut off, to the side that the bound allows


@dataclass(frozen=True, slots=True)
class RandomAllocation(Mechanism):
    """One epoch: each example joins one of t batches; of each batch the sum, clipped to C, with noise N(0, (σC)²).

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C; dimensionless, > 0.
        batches: t, batches of an epoch; whole, 1 to 100,000: the bound on rounding grows with t.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ADD_REMOVE
    kind: ClassVar[str] = "allocation"
    most: ClassVar[Mapping[str, int]] = {"batches": 100_000}
    _upper: ClassVar[bool] = True
    noise_multiplier: float
    batches: int = 100

    def pair(self) -> DominatingPair:
        sigma = self.noise_multiplier
        if self.batches == 1 or (self._upper and not _LEAST_NOISE <= sigma <= _MOST_NOISE):
            return SampledPair(GaussianNoise(sigma), 1.0)  # to know the batch shows more
        if sigma > _MOST_NOISE:
            return SampledPair(GaussianNoise(sigma), 1.0 / self.batches)  # to see one batch shows less
        return _pair(max(sigma, _LEAST_NOISE), self.batches, upper=self._upper)  # more noise shows less

    @property
    def least(self) -> Mechanism:
        return _FromBelow(self.noise_multiplier, self.batches) if self._upper else self

    @property
    def as_gaussian(self) -> float | None:
        return self.gaussian_above if self.batches == 1 else None

    @property
    def gaussian_above(self) -> float:
        """Who is told the batch sees N(e_j, σ²I) against N(0, σ²I), whichever j it is, and forgets j to see P and Q."""
        return self.noise_multiplier


@dataclass(frozen=True, slots=True)
class _FromBelow(RandomAllocation):
    """What shows certainly no more than `RandomAllocation`, and nearly as much."""

    kind: ClassVar[str] = ""
    _upper: ClassVar[bool] = False


# --- laws of sums -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Sum:
    """The law of a sum of Y's, bounded from one side on the grid e^{(start + k) h}.

    Attributes:
        h, start: the grid.
        parts: probabilities of cells, and, of a bound from below, which has its atoms at cells' means, the mean's parts
            in them: (1, n) or (2, n).
        doubt: what rounding has done to a probability at most, relative to the largest of its neighbourhood.
        zero: probability of 0.
        infinite: the mean's part that lies at infinity, with probability 0.
    """

    h: float
    start: int
    parts: Array
    doubt: float
    zero: float = 0.0
    infinite: float = 0.0

    @property
    def upper(self) -> bool:
        return len(self.parts) == 1

    @property
    def size(self) -> int:
        return int(self.parts.shape[1])

    def spread(self) -> float:
        """The lesser standard deviation of the logarithm, under Q and under P: it steers, it proves nothing."""
        index = np.arange(self.size)
        each = (self.parts[0], self.parts[0] * self.points() if self.upper else self.parts[1])
        mean = [np.average(index, weights=mass) for mass in each]
        return self.h * min(math.sqrt(np.average((index - m) ** 2, weights=w)) for w, m in zip(each, mean, strict=True))

    def points(self) -> Array:
        """The grid (n,)."""
        return np.asarray(np.exp((self.start + np.arange(self.size)) * self.h))

    def finer(self) -> _Sum:
        """On half the cells."""
        parts = np.zeros((len(self.parts), 2 * self.size - 1))
        parts[:, ::2] = self.parts
        return _Sum(self.h / 2, 2 * self.start, parts, self.doubt, self.zero, self.infinite)

    def __add__(self, other: _Sum) -> _Sum:
        """The law of the sum of two independent ones."""
        one, two = self, other
        while one.h > two.h:
            one = one.finer()
        h, last = two.h, [each.start + each.size - 1 for each in (one, two)]
        start = max(one.start, two.start) + math.floor(_cells_above(abs(one.start - two.start), h))
        size = max(last) + math.ceil(_cells_above(abs(last[0] - last[1]), h)) + 2 - start
        firsts = [max(each.start - start, 0) for each in (one, two)]  # where its atoms are put that are added to 0
        total = np.zeros((len(one.parts), max(size, firsts[0] + one.size, firsts[1] + two.size)))
        one._add_below(two, start, total)
        if one is two:
            total += total
        else:
            two._add_below(one, start, total)
        one._add_near(two, range(1), start, total)
        zero = one.zero * two.zero
        for each, nothing, first in ((one, two.zero, firsts[0]), (two, one.zero, firsts[1])):
            # Split between 0 and a cell further up, the mean kept.
            alone = each.parts * (nothing * math.exp((each.start - start - first) * h))
            total[:, first : first + each.size] += alone
            zero += nothing * float(each.parts[0].sum()) - float(alone[0].sum())
        doubt = one.doubt + two.doubt + (4 * (one.size + two.size) + 64 + 8 * math.log(2.0) / h) * UNIT
        return _Sum(h, start, total, doubt, zero, one.infinite + two.infinite).trimmed()

    def _add_below(self, other: _Sum, start: int, total: Array) -> None:
        """Add sums of an atom of this and one of `other` that lies below it."""
        near = max(math.ceil(-math.log(math.expm1(self.h if self.upper else self.h / 2)) / self.h), 0) + 1
        self._add_near(other, range(1, near), start, total)
        below = self.start - other.start - near  # cells of `other` that lie so far below the first one here
        first = max(-below, 0)
        count = self.size - first
        if count <= 0:
            return
        # All these sums lie in the larger summand's cell; the share right of it falls by e^{−h} a cell.
        far, place = self.parts[:, first:], self.start + first - start
        smaller = np.pad(other.parts[:, : below + self.size], ((0, 0), (0, max(below + self.size - other.size, 0))))
        total[:, place : place + count] += _products(far, np.cumsum(smaller, axis=1)[:, below + first :])
        if self.upper:
            shares = np.exp(-self.h * (near + np.arange(smaller.shape[1]))) / math.expm1(self.h)
            right = np.array([np.convolve(row, shares)[below + first : smaller.shape[1]] for row in smaller])
            moved = far * right
            total[:, place : place + count] -= moved
            total[:, place + 1 : place + 1 + count] += moved

    def _add_near(self, other: _Sum, below: range, start: int, total: Array) -> None:
        """Add sums of an atom of this and one of `other` that lies so many cells below it."""
        apart = self.start - other.start
        distances = np.arange(max(below.start, apart - other.size + 1), min(below.stop, apart + self.size))
        above = _cells_above(distances, self.h)
        cell = np.floor(above) if self.upper else np.rint(above)
        right = np.expm1((above - cell) * self.h) / math.expm1(self.h) if self.upper else np.zeros(above.shape)
        for d, k, share in zip(distances.tolist(), cell.astype(int).tolist(), right.tolist(), strict=True):
            first, end = max(d - apart, 0), min(self.size, other.size + d - apart)
            sums = _products(self.parts[:, first:end], other.parts[:, first + apart - d : end + apart - d])
            place = self.start + first + k - start
            total[:, place : place + end - first] += (1.0 - share) * sums
            if share:
                total[:, place + 1 : place + 1 + end - first] += share * sums

    def trimmed(self) -> _Sum:
        """Without negligible ends: from above they go to 0 and to infinity, from below to the first and last cell."""
        points = self.points()
        mean = self.parts[0] * points if self.upper else self.parts[1]
        first = int(np.searchsorted(np.cumsum(self.parts[0]), _NEGLIGIBLE))
        last = self.size - int(np.searchsorted(np.cumsum(mean[::-1]), _NEGLIGIBLE))
        parts = self.parts[:, first:last].copy()
        low, high = self.parts[:, :first].sum(axis=1), self.parts[:, last:].sum(axis=1)
        zero, infinite = self.zero, self.infinite
        if self.upper:
            kept = float(mean[:first].sum() / points[first])
            zero += float(low[0]) - kept
            infinite += float(mean[last:].sum() - high[0] * points[last - 1])
            low[0] = kept
        parts[:, 0] += low
        parts[:, -1] += high
        return _Sum(self.h, self.start + first, parts, self.doubt, max(zero, 0.0), max(infinite, 0.0))


def _cells_above(apart: Any, h: float) -> Any:
    """Cells between the larger of two summands, `apart` cells from the other, and their sum."""
    return np.log1p(np.exp(-apart * h)) / h


def _products(a: Array, b: Array) -> Array:
    """Parts of sums of independent summands (1 or 2, n)."""
    first = a[:1] * b[:1]
    return first if len(a) == 1 else np.concatenate([first, a[1:] * b[:1] + a[:1] * b[1:]])


def one_step_sum(sigma: float, *, upper: bool) -> _Sum:
    """The law of one Y: ln Y is normal, with mean ∓1/(2σ²) under Q and P."""
    h, half = max(_CELL / sigma, _LEAST_CELL), 0.5 / sigma**2
    start = math.floor((-half - _TAIL / sigma) / h)
    edges = np.asarray(np.arange(start, math.ceil((half + _TAIL / sigma) / h) + 1) * h, dtype=np.float64)
    (below, mass, above), (below_part, part, above_part) = (_normal_cells(edges, mean, sigma) for mean in (-half, half))
    doubt = (ULPS + 5.0 * _TAIL**2) * UNIT
    if not upper:
        ends = (below, mass, above), (below_part, part, above_part)
        return _Sum(
            h, start - 1, np.array([np.concatenate([[low], cells, [high]]) for low, cells, high in ends]), doubt
        )
    points = np.exp(edges)
    right = np.clip((part - points[:-1] * mass) / np.diff(points), 0.0, mass)
    total = np.append(mass - right, 0.0) + np.append(0.0, right)
    total[0] += below_part / points[0]
    total[-1] += above
    zero, infinite = below - below_part / points[0], above_part - above * points[-1]
    return _Sum(h, start, total[None], doubt / h, max(zero, 0.0), max(infinite, 0.0))


def _normal_cells(edges: Array, mean: float, sigma: float) -> tuple[float, Array, float]:
    """Probabilities of N(mean, 1/σ²) below, between and above edges, taken of the smaller tails."""
    x = (edges - mean) * sigma
    low, high = ndtr(x), ndtr(-x)
    return float(low[0]), np.where(x[1:] < 0.0, np.diff(low), -np.diff(high)), float(high[-1])


@remembered
def _pair(sigma: float, batches: int, *, upper: bool) -> DiscretePair:
    """The pair that dominates, or that is dominated by, one epoch."""
    power, total = one_step_sum(sigma, upper=upper), None
    widest = power.h
    for bit in range(batches.bit_length()):
        if bit:
            power = power + power
            while power.h > max(_SHARE * power.spread(), widest * 2.0 ** -(1 + bit // 2)):
                power = power.finer()
        if batches >> bit & 1:
            total = power if total is None else total + power
    assert total is not None
    here = total.parts[0] > 0.0
    means = total.points() if total.upper else total.parts[1] / np.where(here, total.parts[0], 1.0)
    near = 2 * round(widest / total.h) + 1  # cells of the last grid in which a first cell's neighbours lie
    error = total.doubt * maximum_filter1d(total.parts[0], near)
    order = np.argsort(means[here], kind="stable")
    losses, mass, error = (each[here][order] for each in (np.log(np.where(here, means, 1.0)), total.parts[0], error))
    side = 1.0 if upper else -1.0
    return DiscretePair(sigma, losses - math.log(batches), mass, error, side, total.zero, total.infinite / batches)
