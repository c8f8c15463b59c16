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
the first, whatever i is. Doubling reaches t; as sums concentrate, the grid is made finer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.ndimage import maximum_filter1d
from scipy.signal import lfilter
from scipy.special import ndtr

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.mechanisms.discrete_pair import DiscretePair
from dpviz.mechanisms.mechanism import Adjacency, Mechanism
from dpviz.mechanisms.pair import ULPS, UNIT, DominatingPair, GaussianNoise, SampledPair

_MOST_BATCHES = 100_000
_LEAST_NOISE = 0.04  # σ below which ratios overflow
_CELL = 0.02  # first h, in standard deviations of ln Y
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
    title: ClassVar[str] = "Gaussian, one random batch an epoch"
    step: ClassVar[str] = "epoch"
    assumes: ClassVar[str] = (
        "**Sampling:** in every epoch, each example joins one of t batches. The choice is uniform, secret, and "
        "independent of other examples and epochs. **Noise:** Gaussian, standard deviation σ × C, on the sum of "
        "gradients clipped to C, fresh at every batch."
    )
    _upper: ClassVar[bool] = True
    noise_multiplier: float
    batches: int = 100

    def __post_init__(self) -> None:
        Mechanism.__post_init__(self)
        if self.batches > _MOST_BATCHES:
            raise ValueError(f"Expected batches={self.batches:.0f} <= {_MOST_BATCHES}.")
        object.__setattr__(self, "batches", int(self.batches))

    @property
    def text(self) -> str:
        return f"Gaussian, σ = {self.noise_multiplier:.6g}, one random batch of {self.batches} an epoch"

    @property
    def latex(self) -> str:
        noise = rf"g_i + \mathcal N(0, ({self.noise_multiplier:.6g}\,C)^2)"
        return rf"\Bigl(\sum_{{i \in B_j}} \bar {noise}\Bigr)_{{j \le {self.batches}}}"

    @property
    def releases(self) -> bool:
        return True

    def pair(self) -> DominatingPair:
        sigma = self.noise_multiplier
        if self.batches == 1 or (self._upper and sigma < _LEAST_NOISE):  # to know the batch shows more
            return SampledPair(GaussianNoise(sigma), 1.0)
        return _pair(max(sigma, _LEAST_NOISE), self.batches, upper=self._upper)  # more noise shows less

    @property
    def least(self) -> Mechanism:
        return _FromBelow(self.noise_multiplier, self.batches)

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier if self.batches == 1 else None

    @property
    def total_variation(self) -> float:
        return min(math.exp(self.pair().log_delta(0.0)), 1.0)


@dataclass(frozen=True, slots=True)
class _FromBelow(RandomAllocation):
    """What shows certainly no more than `RandomAllocation`, and nearly as much."""

    kind: ClassVar[str] = ""
    _upper: ClassVar[bool] = False

    @property
    def least(self) -> Mechanism:
        return self


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
        start = min(one.start, two.start)
        size = max(one.start + one.size, two.start + two.size) - start
        a, b = (np.pad(x.parts, ((0, 0), (x.start - start, start + size - x.start - x.size))) for x in (one, two))
        total = np.zeros((len(a), size + math.ceil(math.log(2.0) / two.h) + 3))
        above = np.log1p(np.exp(-np.arange(size) * two.h)) / two.h  # cells between the larger summand and the sum
        cell = (np.floor(above) if one.upper else np.rint(above)).astype(int)
        near = int(np.count_nonzero(cell)) + 1  # from there on all sums lie in the larger summand's cell
        right = np.expm1((above - cell) * two.h) / math.expm1(two.h) if one.upper else np.zeros(size)
        for d, (k, share) in enumerate(zip(cell[:near].tolist(), right[:near].tolist(), strict=True)):
            sums = _products(a[:, d:], b[:, : size - d])
            if d:
                sums += sums if one is two else _products(b[:, d:], a[:, : size - d])
            total[:, d + k : size + k] += (1.0 - share) * sums
            if share:
                total[:, d + k + 1 : size + k + 1] += share * sums
        if near < size:
            for larger, smaller in ((a, b), (b, a)):
                far = larger[:, near:]
                total[:, near:size] += _products(far, np.cumsum(smaller, axis=1)[:, :-near])
                if one.upper:  # the share right of the cell falls by e^{−h} a cell
                    moved = far * lfilter([right[near]], [1.0, -math.exp(-two.h)], smaller)[:, :-near]
                    total[:, near:size] -= moved
                    total[:, near + 1 : size + 1] += moved
        total[:, :size] += a * two.zero + b * one.zero
        doubt = one.doubt + two.doubt + (4 * size + 64 + 8 * math.log(2.0) / two.h) * UNIT
        zero, infinite = one.zero * two.zero, one.infinite + two.infinite
        return _Sum(two.h, start, total, doubt, zero, infinite).trimmed()

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


def _products(a: Array, b: Array) -> Array:
    """Parts of sums of independent summands (1 or 2, n)."""
    first = a[:1] * b[:1]
    return first if len(a) == 1 else np.concatenate([first, a[1:] * b[:1] + a[:1] * b[1:]])


def _one(sigma: float, *, upper: bool) -> _Sum:
    """The law of one Y: ln Y is normal, with mean ∓1/(2σ²) under Q and P."""
    h, half = _CELL / sigma, 0.5 / sigma**2
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
    power, total = _one(sigma, upper=upper), None
    for bit in range(batches.bit_length()):
        if bit:
            power = power + power
            power = power.finer() if bit % 2 == 0 else power
        if batches >> bit & 1:
            total = power if total is None else total + power
    assert total is not None
    here = total.parts[0] > 0.0
    means = total.points() if total.upper else total.parts[1] / np.where(here, total.parts[0], 1.0)
    near = 2 ** (batches.bit_length() // 2 + 1) + 1  # cells of the last grid in which a first cell's neighbours lie
    error = total.doubt * maximum_filter1d(total.parts[0], near)
    order = np.argsort(means[here], kind="stable")
    losses, mass, error = (each[here][order] for each in (np.log(np.where(here, means, 1.0)), total.parts[0], error))
    side = 1.0 if upper else -1.0
    return DiscretePair(sigma, losses - math.log(batches), mass, error, side, total.zero, total.infinite / batches)
