"""The estimator of the Bayesian cost over 10⁵ distances, from a few hundred bins, never too low.

Eq. 14 of Triastcyn & Faltings 2020 needs, for every order λ and number of steps T, mean and standard deviation of
x_i = exp(T ψ(λ, d_i)). ψ and exp(Tψ) are increasing and convex in u = (d/σ)². Over a bin [u_a, u_b] of n samples with
mean ū that gives, writing x_a for x(u_a) and so on,

    x(ū) ≤ mean x ≤ x_a + f (x_b − x_a),   f = (ū − u_a)/(u_b − u_a)     (Jensen; Edmundson–Madansky)

and, (x − c)² being convex in x for whatever centre c,

    mean (x − c)² ≤ (1 − g)(x_a − c)² + g (x_b − c)²,   g = (mean x − x_a)/(x_b − x_a),

where mean x is its upper bound if that makes the right side larger and its lower bound if not. The variance is at most
the mean of (x − c)² for every c: an upper bound out of squares only, which cannot cancel. A bin of equal samples is
exact, so the direct evaluation is the table whose bins are the distinct values.
"""

from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array, Index, Whole
from dpviz.accounting.bayesian.costs import costs_of

_STEPS_BLOCK = 1 << 18  # numbers in one temporary of the (steps × bins) work: 2 MB
_SMALL = 4096  # bins


@dataclass(frozen=True, slots=True)
class Bins:
    """Consecutive groups of the sorted u: ends, mean, share of all samples. Arrays of shape (bins,)."""

    low: Array
    high: Array
    mean: Array
    fraction: Array  # (mean − low)/(high − low), rounded up; 0 where the samples are equal
    share: Array
    exact: bool  # every bin holds equal samples: bounds from below and above coincide


def _starts(ordered: Array, count: int) -> Index:
    """First index of each of at most about `count` bins.

    exp(Tψ) piles up near the largest u, the closer the larger T is, and T may be anything: a quarter of the bins are
    the largest values one by one, half shrink geometrically towards the largest value, so that some scale fits every
    T; an eighth shrink towards zero (relative precision where all costs are small) and an eighth are quantiles.
    """
    size, top = ordered.size, float(ordered[-1])
    below = int(np.searchsorted(ordered, top, side="left"))  # clipping puts many samples at the top: one bin
    single = np.arange(max(0, below - count // 4), below + 1)
    quantiles = np.linspace(0, size - 1, count // 8, dtype=np.intp)
    reach = top - float(ordered[single[0]])
    spans = top - np.geomspace(max(reach, top * 1e-12), max(top - float(ordered[0]), top * 1e-12), count // 2)
    values = np.concatenate([spans, np.geomspace(top * 1e-6, top, count // 8)])
    places = np.concatenate([[0], single, quantiles, np.searchsorted(ordered, values)])
    places = places[places < size]
    # equal samples belong to one bin
    return np.unique(np.searchsorted(ordered, ordered[places], side="left"))


def make_bins(ordered: Array, count: int | None, masses: Array | None = None) -> Bins:
    """Bins of the sorted u; `count` None for one bin per distinct value (the direct evaluation).

    `masses`: of each u, adding to 1; None where all have the same.
    """
    size = ordered.size
    if count is None or count >= size or ordered[0] == ordered[-1]:
        starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    else:
        starts = _starts(ordered, count)
    number = np.diff(np.append(starts, size))
    low, high = ordered[starts], ordered[starts + number - 1]
    if masses is None:
        share, mean = number / size, np.add.reduceat(ordered, starts) / number
    else:
        share = np.add.reduceat(masses, starts)
        mean = np.divide(np.add.reduceat(masses * ordered, starts), share, out=high.copy(), where=share > 0)
    # the mean's rounding is at most n units in the last place: lean to the upper side
    mean = np.clip(mean * (1.0 + number * 2.0**-52), low, high)
    width = high - low
    wide = width > 0
    fraction = np.divide(mean - low, width, out=np.zeros_like(width), where=wide)
    return Bins(low, high, mean, fraction, share, exact=not wide.any())


@dataclass(frozen=True, slots=True)
class LogMeans:
    """ln[mean x + τ·std x] bounded from both sides, and the state of the tail. Arrays of one shared shape.

    Attributes:
        lower, upper: the bounds.
        largest_share: the part of the mean that is the largest sample's, or that the mass at d_max carries.
        effective_size: (Σx)²/Σx², in samples; of a sample whose masses are given it means nothing.
    """

    lower: Array
    upper: Array
    largest_share: Array
    effective_size: Array


class Estimator:
    """mean + τ·std of exp(Tψ) over one sample of distances, at growing precision.

    Level 0 is the coarsest table, level `last` the direct evaluation. Tables are kept between calls.

    With `masses` (adding to 1, of ascending `scaled`) the mean is weighted; only τ = 0 makes sense then.
    """

    def __init__(
        self, scaled: Array, orders: Whole, rate: float, tau: float, divergence: str, masses: Array | None = None
    ) -> None:
        self.ordered = np.sort(scaled) if masses is None else scaled
        self.masses = masses
        self._size = scaled.size
        self._last_mass = 1.0 / scaled.size if masses is None else float(masses[-1])
        self.orders = orders
        self.rate = rate
        self.tau = tau
        self.divergence = divergence
        size = scaled.size
        self.counts: tuple[int | None, ...] = (*(k for k in (64, 512, 4096, 32768) if 2 * k < size), None)
        if size <= 2000:  # so few are evaluated directly wherever it matters; very few, everywhere
            self.counts = (64, None) if size > 500 else (None,)
        self.last = len(self.counts) - 1
        self._tables: dict[int, Bins] = {}
        self._table_costs: dict[int, tuple[Array, Array, Array]] = {}

    def log_means(self, steps: Array, columns: Index, level: int) -> LogMeans:
        """The bounds for each T and order, shapes (n,) and (n,), or one of either for all of the other."""
        if level not in self._tables:
            self._tables[level] = make_bins(self.ordered, self.counts[level], self.masses)
        bins = self._tables[level]
        if bins.low.size <= _SMALL:  # all orders at once cost little more than one
            if level not in self._table_costs:
                self._table_costs[level] = self._costs_of(bins, self.orders)
            low, mean, high = (table[:, columns].T for table in self._table_costs[level])
        else:
            low, mean, high = (table.T for table in self._costs_of(bins, self.orders[columns]))
        return self.bounds(bins, low, mean, high, np.broadcast_to(steps, max(steps.size, columns.size)))

    def _costs_of(self, bins: Bins, orders: Whole) -> tuple[Array, Array, Array]:
        """ψ at the bins' low ends, means and high ends, shape (bins, orders) each."""
        high = costs_of(bins.high, orders, self.rate, self.divergence)
        if bins.exact:
            return high, high, high
        low, mean = (costs_of(at, orders, self.rate, self.divergence) for at in (bins.low, bins.mean))
        return low, mean, high

    def bounds(self, bins: Bins, low: Array, mean: Array, high: Array, steps: Array) -> LogMeans:
        """From ψ at the bins' low ends, means and high ends, (bins,) or (steps, bins), for each T (steps,).

        Split by where digits would be lost: x − 1 keeps those of x near 1, x/x_max cannot overflow.
        """
        low, mean, high = (np.broadcast_to(part, (steps.size, part.shape[-1])) for part in (low, mean, high))
        result = LogMeans(*(np.empty(steps.size) for _ in range(4)))
        small = steps * high[:, -1] <= 1.0
        rows = max(1, _STEPS_BLOCK // bins.low.size)
        for base, regime in ((1.0, small), (0.0, ~small)):
            chosen = np.flatnonzero(regime)
            for start in range(0, chosen.size, rows):
                part = chosen[start : start + rows]
                shift = np.zeros((part.size, 1)) if base else high[part, -1:]
                block = self._block(bins, low[part] - shift, mean[part] - shift, high[part] - shift, steps[part], base)
                result.lower[part] = steps[part] * shift[:, 0] + block.lower
                result.upper[part] = steps[part] * shift[:, 0] + block.upper
                result.largest_share[part] = block.largest_share
                result.effective_size[part] = block.effective_size
        return result

    def _block(self, bins: Bins, low: Array, mean: Array, high: Array, steps: Array, base: float) -> LogMeans:
        """Works on y = x/e^shift − base, the shift being taken off the logarithms already."""
        grow = np.expm1 if base else np.exp
        y_high = grow(steps[:, None] * high)
        if bins.exact:
            below = centre = y_high @ bins.share
            spread_below = spread = np.sqrt((y_high - centre[:, None]) ** 2 @ bins.share)
        else:
            y_low, y_jensen = (grow(steps[:, None] * at) for at in (low, mean))
            rise = y_high - y_low
            y_chord = y_low + bins.fraction * rise
            centre = y_chord @ bins.share
            with np.errstate(invalid="ignore", divide="ignore"):
                jensen = np.clip(np.nan_to_num((y_jensen - y_low) / rise), 0.0, 1.0)
            weight = np.where(y_low + y_high >= 2.0 * centre[:, None], bins.fraction, jensen)
            squares = (y_low - centre[:, None]) ** 2
            squares += weight * ((y_high - centre[:, None]) ** 2 - squares)
            spread = np.sqrt(squares @ bins.share)
            below = y_jensen @ bins.share
            between = np.sqrt((y_jensen - below[:, None]) ** 2 @ bins.share)
            spread_below = np.maximum(0.0, between - np.sqrt((y_chord - y_jensen) ** 2 @ bins.share))
        log = np.log1p if base else np.log
        average = np.maximum(base + centre, np.finfo(np.float64).tiny)
        with np.errstate(divide="ignore"):  # ln 0: nothing is known from below
            lower = log(below + self.tau * spread_below)
        return LogMeans(
            lower=lower,
            upper=log(np.maximum(centre + self.tau * spread, np.finfo(np.float64).tiny)),
            largest_share=self._last_mass * (base + y_high[:, -1]) / average,
            effective_size=self._size / (1.0 + (spread / average) ** 2),
        )
