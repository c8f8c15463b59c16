"""What steps cost at given gradient distances: one of them, and the mean over a sample of many.

ψ(λ, d): the moment that one step costs an example at gradient distance d (Triastcyn & Faltings 2020, Theorem 3).

With u = (d/σ)², σ the absolute noise standard deviation, and λ = 1, 2, …:

    ψ_L(λ, d) = ln E_{k ~ Bin(λ+1, q)} exp((k² − k) u/2)
    ψ_R(λ, d) = ln E_{k ~ Bin(λ, q)}   exp((k² + k) u/2)

The theorem takes the larger. ψ_L alone is enough: it is ln A_α at α = λ + 1, and A_α ≥ B_α (Mironov, Talwar, Zhang
2019, Theorem 5) covers the other direction. ψ_R as printed is first order in q and undoes the gain of sampling.

Both are log-sum-exps of lines in u with slopes ≥ 0: increasing and convex in u, and so is their maximum.

The estimator of the Bayesian cost over 10⁵ distances, from a few hundred bins, never too low.

Eq. 14 of Triastcyn & Faltings 2020 needs, for every order λ and number of steps T, mean and standard deviation of
x_i = exp(T ψ(λ, d_i)). ψ and exp(Tψ) are increasing and convex in u = (d/σ)². Over a bin [u_a, u_b] of n samples with
mean ū that gives, writing x_a for x(u_a) and so on,

    x(ū) ≤ mean x ≤ x_a + f (x_b − x_a),   f = (ū − u_a)/(u_b − u_a)     (Jensen; Edmundson–Madansky)

and, (x − c)² being convex in x for whatever centre c,

    mean (x − c)² ≤ (1 − g)(x_a − c)² + g (x_b − c)²,   g = (mean x − x_a)/(x_b − x_a),

where mean x is its upper bound if that makes the right side larger and its lower bound if not. The variance is at most
the mean of (x − c)² for every c: an upper bound out of squares only, which cannot cancel. A bin of equal samples is
exact, so the direct evaluation is the table whose bins are the distinct values.

A distribution that lies above the distances' own with probability 1 − γ, whatever that is: for bounds that hold.

The cost of Bayesian DP is ln E exp(Tψ(λ, d))/T, and the estimator of Triastcyn & Faltings 2020, Eq. 14 bounds that mean
only as m grows: one large distance in a thousand is not in most samples of a hundred. With clipping no distance exceeds
a known d_max, and then the mean has bounds at every m. Sort the sample to d_(1) ≤ … ≤ d_(m). If

    P( F(d_(i)) ≥ b_i for all i ) ≥ 1 − γ      (F the distances' unknown distribution function)

then the distribution with mass b_i − b_{i−1} at d_(i) and the rest, 1 − b_m, at d_max is stochastically larger than
F, and E x(d) under it bounds E x(d) under F for EVERY increasing x (Anderson 1969). ψ(λ, d/σ) increases in d: one
envelope serves all orders λ, steps T, noise levels and sampling rates at once, γ is paid once, and a search over them
may look at the sample as often as it likes.

F(d_(i)) is at least the i-th of m sorted uniform numbers, equal to it for continuous F. So b_i may be the larger of

    Massart 1990 (Dvoretzky–Kiefer–Wolfowitz, one side):  i/m − √(ln(1/γ₁)/(2m)),  all i together;
    Clopper–Pearson 1934, exact:  the γ₂-quantile of Beta(i, m − i + 1),  one rank i at a time;

the first serves the middle, the second the upper tail, at ranks m − k with k one √k apart, k's own uncertainty.
γ = γ₁ + Σγ₂; half of it goes to rank m, which decides how much mass nobody saw: 1 − b_m = 1 − (γ/2)^{1/m}, about
ln(2/γ)/m. Nothing that holds for every distribution can do much better there: a share of 1 − γ^{1/m} at d_max escapes m
draws with probability γ.

Left out, because they bound one mean at a time, and γ would be shared among all orders, steps and noise levels tried:
the empirical Bernstein bound (Maurer & Pontil 2009) and betting (Waudby-Smith & Ramdas 2024: capital Π (1 + b(μ − x_i))
averaged over a grid of b; at the true mean it reaches 1/γ with probability γ at most). For Weibull norms of shapes ½
and 2 clipped at quantiles .5 to .9999, σ = 4, q = 0.01, T = 10⁴, δ_μ = 1e-5, γ of 1e-15 and 1e-6, m of 10² to 10⁷ and
γ/2 shared among 32 orders, betting read ε at most 0.8 % of the truth lower than this envelope, and up to 2 % higher
where m is 100; empirical Bernstein was at most 0.02 % below betting, and up to 8 % above.

    >>> values, weights = envelope(np.zeros(100), 1.0, 0.01)
    >>> float(values[-1]), round(float(weights[-1]), 4)
    (1.0, 0.0516)
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv

from dpviz._arrays import Array, ArrayLike, Index, Whole
from dpviz._remember import remembered

_BLOCK = 1 << 20  # numbers in one temporary: 8 MB stays near the cache


@remembered
def _log_binomials(trials: int) -> Array:
    """ln C(trials, k), k = 0..trials, from exact integers: log-gamma differences lose digits at large orders."""
    return np.array([math.log(math.comb(trials, k)) for k in range(trials + 1)])


def _log_weights(trials: int, first: int, rate: float) -> Array:
    """ln P(k) of Bin(trials, rate) for k = first..trials."""
    k = np.arange(first, trials + 1)
    missed = np.where(k < trials, -np.inf, 0.0) if rate == 1.0 else (trials - k) * math.log1p(-rate)
    return np.asarray(_log_binomials(trials)[first:] + k * math.log(rate) + missed)


def _log_sum_exp(terms: Array) -> Array:
    """Along the last axis; rows that are all −inf give −inf."""
    top = terms.max(axis=-1, keepdims=True)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.exp(terms - shift).sum(axis=-1)) + shift[..., 0])


def step_costs(scaled: Array, orders: Whole, rate: float, divergence: str = "left") -> Array:
    """ψ at every u and order.

    The probabilities add to one, so ψ = ln(1 + Σ P(k) expm1((k² ∓ k) u/2)): positive terms only, and full relative
    precision where ψ is 1e-12 as well as where exp overflows. With j = k (left) or j = k + 1 (right) both sums run
    over expm1(j(j−1) u/2), j = 2..λ+1, which is computed once for all orders.

    Args:
        scaled: u = (d/σ)², shape (n,), ≥ 0.
        orders: λ, whole numbers ≥ 1, shape (r,).
        rate: q in [0, 1].
        divergence: "left" for ψ_L, "printed" for max(ψ_L, ψ_R).

    Returns:
        ψ, shape (n, r), ≥ 0.
    """
    costs = np.zeros((scaled.size, orders.size))
    if rate == 0.0 or scaled.size == 0:
        return costs
    widest = int(orders.max()) + 1
    slopes = np.arange(2, widest + 1) * np.arange(1, widest) / 2.0
    left = [_log_weights(int(order) + 1, 2, rate) for order in orders]
    right = [_log_weights(int(order), 1, rate) for order in orders] if divergence == "printed" else None
    rows = max(1, _BLOCK // widest)
    for start in range(0, scaled.size, rows):
        block = slice(start, start + rows)
        exponents = scaled[block, None] * slopes
        with np.errstate(divide="ignore"):
            excess = exponents + np.log(-np.expm1(-exponents))  # ln expm1, also where expm1 overflows
        for column, order in enumerate(orders):
            terms = excess[:, : int(order)]
            cost = np.logaddexp(0.0, _log_sum_exp(terms + left[column]))
            if right is not None:
                cost = np.maximum(cost, np.logaddexp(0.0, _log_sum_exp(terms + right[column])))
            costs[block, column] = cost
    return costs


FIRST_ORDERS = np.arange(1, 33)
_SLOPES = np.arange(2, 34) * np.arange(1, 33) / 2.0
_LARGEST_EXPONENT = 600.0
_UNTHREADED = 256  # rows of a product that OpenBLAS leaves to one thread: several spin longer than it takes


@remembered
def _probabilities(rate: float) -> Array | None:
    """P(k) of Bin(λ + 1, q) for k = 2 … 33 (rows λ); None where one is too small for a float to keep."""
    if not 0.0 < rate < 1.0:
        return None
    table = np.zeros((FIRST_ORDERS.size, _SLOPES.size))
    for row, order in enumerate(FIRST_ORDERS.tolist()):
        logs = _log_weights(order + 1, 2, rate)
        if logs.min() < -_LARGEST_EXPONENT:
            return None
        table[row, : logs.size] = np.exp(logs)
    return table


def psi(scaled: Array, rate: float) -> Array:
    """ψ_L at u = (d/σ)², shape (n,), and λ = 1 … 32: (n, 32). As `step_costs`, one product instead of 32 sums."""
    probabilities = _probabilities(rate)
    if probabilities is None or scaled.size == 0 or float(scaled.max()) * _SLOPES[-1] > _LARGEST_EXPONENT:
        return step_costs(scaled, FIRST_ORDERS, rate)
    costs = np.empty((scaled.size, FIRST_ORDERS.size))
    for start in range(0, scaled.size, _UNTHREADED):
        part = slice(start, start + _UNTHREADED)
        costs[part] = np.log1p(np.expm1(scaled[part, None] * _SLOPES) @ probabilities.T)
    return costs


def costs_of(scaled: Array, orders: Whole, rate: float, divergence: str = "left") -> Array:
    """ψ at every u and order, as `step_costs`: by `psi` where that holds them all, one product instead of many sums."""
    if divergence == "left" and orders.size > 1 and orders.min() >= 1 and orders.max() <= FIRST_ORDERS[-1]:
        return psi(scaled, rate)[:, orders - 1]
    return step_costs(scaled, orders, rate, divergence)


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


_WIDEST, _NARROWEST = 1.25, 1.02  # ratios of neighbouring k; finer ranks share γ among more, and take time
_TOP, _MASSART = 0.5, 0.25  # their parts of γ; the other ranks share the rest evenly


@remembered
def _ranks_below_top(size: int) -> tuple[int, ...]:
    """k = 1, 2, 3, …, then √k apart, in ratios within the two, below m: Clopper–Pearson holds at the ranks m − k."""
    ranks, k = [], 1
    while k < size:
        ranks.append(k)
        k = int(max(k + 1.0, min(k * _WIDEST, max(k + math.sqrt(k), k * _NARROWEST))))
    return tuple(ranks)


def _clopper_pearson(k: Array, size: int, failure: float) -> Array:
    """The `failure`-quantile of Beta(m − k, k + 1), rounded down until it is one."""
    first, second = size - k, k + 1.0
    quantile = np.asarray(betaincinv(first, second, failure), dtype=np.float64)
    for _ in range(60):
        wrong = ~(betainc(first, second, quantile) <= failure)
        if not wrong.any():
            return quantile
        quantile = np.where(wrong, quantile * (1.0 - 1e-12) - 1e-300, quantile)
    return np.where(wrong, 0.0, quantile)


def lower_band(ranks: ArrayLike, size: int, failure: float) -> Array:
    """b_i ≤ F(d_(i)) at the ranks i in 0 … m, with probability 1 − failure for all ranks together; b_0 = 0.

    Args:
        ranks: i, whole numbers in [0, size]; any shape.
        size: m ≥ 1.
        failure: γ in (0, 1).
    """
    asked = np.asarray(ranks, dtype=np.float64)
    band = np.maximum(asked / size - math.sqrt(-math.log(_MASSART * failure) / (2.0 * size)), 0.0)
    k = np.array(_ranks_below_top(size), dtype=np.float64)[::-1]
    # what holds at a rank holds at all above it
    place, back = np.unique(np.searchsorted(size - k, asked, side="right") - 1, return_inverse=True)
    if place.size and place[-1] >= 0:
        each = (1.0 - _TOP - _MASSART) * failure / k.size
        exact = np.maximum.accumulate(np.where(place >= 0, _clopper_pearson(k[place], size, each), 0.0))
        band = np.maximum(band, exact[back].reshape(asked.shape))
    top = math.exp(math.log(_TOP * failure) / size)
    band = np.where(asked >= size, np.maximum(band, top), band)
    return np.asarray(np.where(asked <= 0, 0.0, band * (1.0 - 2.0**-48)))


@remembered
def _whole_band(size: int, failure: float) -> Array:
    band = lower_band(np.arange(size + 1), size, failure)
    band.setflags(write=False)
    return band


def envelope(distances: Array, largest: float, failure: float) -> tuple[Array, Array]:
    """The stochastically larger distribution of the module's note.

    Args:
        distances: m independent draws, shape (m,), each at most `largest`.
        largest: d_max, which no draw can exceed.
        failure: γ, the probability that the distribution is not above the true one.

    Returns:
        Values, shape (m + 1,), ascending, the last one `largest`; and their masses, ≥ 0, which add to 1.
    """
    band = _whole_band(distances.size, failure)
    return np.append(np.sort(distances), largest), np.diff(band, append=1.0)
