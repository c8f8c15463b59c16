"""Bayesian differential privacy: ε_μ for data drawn from a known distribution (Triastcyn & Faltings 2020).

The accountant sees m distances between gradients of examples of that distribution and estimates, with a margin that
fails with probability γ, what T steps cost a typical example (Theorem 1, Eq. 14):

    ĉ(λ, T) = (1/T) ln[ mean(x) + t_{1−γ, m−1} · std(x)/√(m−1) ],   x_i = exp(T ψ(λ, d_i)),
    ε_μ = min over λ of (1/λ) (t · ĉ(λ, T) − ln(δ_μ − Γ))               (Theorem 2, Corollary 1)

T is the number of steps planned in total, t ≤ T those done, Γ is γ times the number of distinct estimates used.

That estimate is asymptotic: at finite m it may be too low far more often than γ (a distance of C in one example of a
thousand: in nine samples of a hundred distances out of ten). Where the distances are known to be at most d_max, as
after clipping, `largest_distance` replaces it by a bound that fails with probability γ at most, whatever the
distribution and m (`bayesian_envelope`), and never exceeds what d = d_max throughout costs, which needs no estimate.

    >>> import numpy as np
    >>> distances = np.random.default_rng(0).weibull(2.0, 1000)
    >>> round(bayesian_epsilon(distances, noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5), 3)
    3.504
    >>> clipped = np.minimum(distances, 1.0)
    >>> known = dict(noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
    >>> [round(bayesian_epsilon(clipped, **known, **bound), 3) for bound in ({}, {"largest_distance": 1.0})]
    [1.224, 1.226]

ε_μ along a whole axis of noise levels at once: what a curve of ε_μ against σ needs.

The same estimator as `bayesian`, one plan of T steps for each noise level. ψ does not depend on T or δ_μ, so it is kept
between calls; orders are found by walking downhill from a few of them, as (T ĉ(λ) + ln(1/(δ_μ − Γ)))/λ has one valley
in practice: were it not so the answer would only be larger, for every order gives a bound.

    >>> sweep = BayesianSweep(np.random.default_rng(0).weibull(2.0, 1000), noise_std=[4.0, 8.0], sample_rate=0.01)
    >>> sweep.bound(steps=10_000, delta_mu=1e-5).epsilon.round(3)
    array([3.504, 1.488])

What an (ε_μ, δ_μ) Bayesian guarantee says about shares of the data, several mechanisms, groups, and rare events.

Triastcyn & Faltings 2020: §4.4.1 (percentiles), Propositions on basic composition and group privacy, §4.3.1 (the
estimator for distances that are either 0 or C).

How many distances the certified Bayesian bound needs: the m from which on it keeps a target ε_μ.

>>> distances = np.minimum(np.random.default_rng(0).weibull(2.0, 200), 1.0) / 4
>>> known = dict(noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> bayesian_samples(distances, largest_distance=1.0, target_epsilon=0.8, **known)
115138.0
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import betainccinv, stdtrit

from dpviz import _validate
from dpviz._arrays import Array, Bools, Index, Whole
from dpviz.accounting.bayesian.costs import Bins, Estimator, LogMeans, envelope, lower_band, make_bins, step_costs
from dpviz.accounting.bound import Bound
from dpviz.accounting.card import card
from dpviz.accounting.renyi.search import downhill

ORDERS = range(1, 33)
NAME = "bayesian"  # of its readings and curves
CARD = card(NAME)
_TOLERANCE = 1e-4  # of λε; a tenth of what is promised, which costs a few milliseconds
_LEAST_QUANTILE = 1e-290  # probabilities below which Student's quantiles are not computed
TOO_LARGE = 1e270  # (d/σ)² beyond this overflows in T·ψ; the bound is then infinite for every purpose


@dataclass(frozen=True, slots=True, kw_only=True)
class BayesianBound(Bound):
    """ε_μ at every point with what decided it; arrays of one shared shape.

    ε_μ is inf where (d/σ)² exceeds what numbers hold (the tail's facts are then NaN), the order is α = λ + 1, and the
    floor is ln(1/(δ_μ − Γ))/λ_max.

    Attributes:
        largest_share: the part of mean(x) that the largest distance carries alone, at the deciding λ. Of a certified
            bound: the part that stands for distances which the sample did not show and cannot exclude.
        effective_size: (Σx)²/Σx², the number of samples that the estimate really rests on, at the deciding λ; NaN for
            a certified bound, which rests on all.
        tail_dominated: largest_share > ½: an estimate is one sample's, and would grow with more samples; a certified
            bound is mostly the price of having so few.
        certified: True for the bound that fails with probability γ at most, False for the asymptotic estimate.
        worst_case: True where d = d_max throughout, which needs no sample, proves the least ε.
        ceiling: what that proves at the orders looked at; inf without a largest distance.
    """

    largest_share: Array
    effective_size: Array
    tail_dominated: Bools
    certified: bool
    worst_case: Bools
    ceiling: Array


def largest_of(distances: Array, largest_distance: Any) -> float:
    """Checks that d_max is above 0 and no distance above it."""
    largest = _validate.number(largest_distance=largest_distance)
    if float(distances.max()) > largest:
        raise ValueError(
            f"Expected distances={float(distances.max()):.12g} <= largest_distance={largest:.12g}, what clipping "
            "allows: clip them, or leave largest_distance out for the asymptotic estimate."
        )
    return largest


def _sample(distances: Any, failure: float, largest_distance: Any) -> tuple[Array, Array | None, float]:
    """Values, their masses where they are the envelope's, and the margin τ where they are a sample's."""
    values = _validate.distances(distances)
    if largest_distance is None:
        return values, None, student_margin(values.size, failure)
    return *envelope(values, largest_of(values, largest_distance), failure), 0.0


def _orders(orders: Any) -> Whole:
    return np.unique(_validate.whole_orders(orders)).astype(np.int64)


def _estimator(
    distances: Any, noise_std: Any, sample_rate: Any, orders: Any, failure: float, divergence: str, largest: Any
) -> Estimator:
    """Checks the arguments that both public functions share."""
    values, masses, margin = _sample(distances, failure, largest)
    std, rate = _validate.numbers(noise_std=noise_std, sample_rate=sample_rate)
    _validate.choice("divergence", divergence, ("left", "printed"))
    with np.errstate(over="ignore"):
        scaled = (values / std) ** 2 if rate > 0.0 else np.zeros_like(values)
    return Estimator(scaled, _orders(orders), rate, margin, divergence, masses)


def student_margin(size: int, failure: float) -> float:
    """t_{1−γ, m−1}/√(m−1), never too small.

    Far out, where no quantile can be computed, P(T > t) ≤ ½ (1 + t²/ν)^(−ν/2) ≤ ½ (t/√ν)^(−ν) bounds it: T is
    Z/√(χ²/ν), and a normal tail is at most ½ exp(−z²/2).
    """
    degrees = size - 1
    quantile = -float(stdtrit(degrees, failure))
    if -1e-9 <= quantile < 0.0:  # γ next to ½, rounded
        quantile = 1e-9
    if failure < _LEAST_QUANTILE or not quantile >= 0.0:
        quantile = math.sqrt(degrees) * math.exp(-math.log(2.0 * failure) / degrees)
    return max(quantile, 0.0) / math.sqrt(degrees)


def _moments(estimator: Estimator, total_steps: Array, slack: Array, *, only_best: bool) -> LogMeans:
    """Bounds of ln[mean + τ·std] for every (T, λ), as precise as needed.

    Args:
        estimator: the sample.
        total_steps: T, shape (n,).
        slack: ln(1/(δ_μ − Γ)), shape (n,): the part of λ·ε that carries no error; 0 when the cost itself is wanted.
        only_best: refine only orders that may decide the minimum over λ of (moment + slack)/λ; an order whose
            lower bound is above another's upper bound cannot.
    """
    shape = (total_steps.size, estimator.orders.size)
    moments = LogMeans(*(np.full(shape, fill) for fill in (0.0, np.inf, np.nan, np.nan)))
    if estimator.ordered[-1] > TOO_LARGE:
        moments.lower[:] = np.inf
        return moments
    wanted = np.ones(shape, dtype=np.bool_)
    # the smallest samples are evaluated directly wherever it matters, and then equal Eq. 14 to rounding
    tolerance = 0.0 if estimator.ordered.size <= 2000 else _TOLERANCE
    for level in range(estimator.last + 1):
        some = np.flatnonzero(wanted.any(axis=0))
        for columns in [some] if total_steps.size == 1 else some[:, None]:
            rows = np.flatnonzero(wanted[:, columns[0]])
            refined = estimator.log_means(total_steps[rows], columns, level)
            for field in fields(LogMeans):
                getattr(moments, field.name)[rows, columns] = getattr(refined, field.name)
        wanted = moments.upper - moments.lower > tolerance * (moments.lower + slack[:, None])
        if only_best:
            best = ((moments.upper + slack[:, None]) / estimator.orders).min(axis=1)
            wanted &= (moments.lower + slack[:, None]) / estimator.orders <= best[:, None]
        if not wanted.any():
            break
    return moments


def bayesian_cost(
    distances: Any,
    *,
    noise_std: Any,
    sample_rate: Any,
    total_steps: Any,
    orders: Any,
    estimator_failure: Any = 1e-15,
    divergence: str = "left",
    largest_distance: Any = None,
) -> Array:
    """ĉ(λ, T): the privacy cost of one of T steps (Triastcyn & Faltings 2020, Eq. 10 and 14).

    Never below the direct evaluation of the estimator, at most 0.1 % above.

    Args:
        distances: ‖g − g′‖ of m ≥ 2 independent pairs, shape (m,), in the units of noise_std.
        noise_std: absolute standard deviation of the noise on the sum of gradients (σC).
        sample_rate: q in [0, 1].
        total_steps: T ≥ 1, all steps that will be taken; a number or an array of shape (n,).
        orders: λ, whole numbers ≥ 1.
        estimator_failure: γ, the probability that the estimate is too low.
        divergence: "left" for ψ_L, "printed" for max(ψ_L, ψ_R) as printed in Theorem 3.
        largest_distance: d_max, for the bound that holds at every m; None for the asymptotic estimate.

    Returns:
        ĉ in the given order of `orders`: shape (orders,) for a scalar T, (n, orders) for an array.

    Raises:
        ValueError: for an argument out of its range, with the value.
    """
    failure = _validate.estimator_failure(estimator_failure)
    steps = _validate.steps(total_steps, "total_steps", minimum=1)
    estimator = _estimator(distances, noise_std, sample_rate, orders, failure, divergence, largest_distance)
    flat = steps.ravel()
    moments = _moments(estimator, flat, np.zeros(flat.size), only_best=False)
    given = np.searchsorted(estimator.orders, _validate.whole_orders(orders).astype(np.int64))
    cost = moments.upper / flat[:, None]
    if largest_distance is not None:
        cost = np.minimum(cost, _worst_cost(estimator))
    cost = cost[:, given]
    return np.asarray(cost.reshape(*steps.shape, given.size))


def _worst_cost(estimator: Estimator) -> Array:
    """ψ(λ, d_max), shape (orders,): what no step can exceed."""
    if estimator.ordered[-1] > TOO_LARGE:
        return np.full(estimator.orders.size, np.inf)
    return np.asarray(step_costs(estimator.ordered[-1:], estimator.orders, estimator.rate, estimator.divergence)[0])


def bayesian_bound(
    distances: Any,
    *,
    noise_std: Any,
    sample_rate: Any,
    steps: Any,
    delta_mu: Any,
    estimator_failure: Any = 1e-15,
    orders: Any = ORDERS,
    reading: str = "planned",
    divergence: str = "left",
    estimates: Any = 1,
    largest_distance: Any = None,
) -> BayesianBound:
    """ε_μ with the facts that explain it; arguments and errors as in `bayesian_epsilon`, arrays of the steps' shape."""
    failure = _validate.estimator_failure(estimator_failure)
    number = float(_validate.whole(1, estimates=estimates))
    taken, delta = np.broadcast_arrays(
        _validate.steps(steps, minimum=1), _validate.delta_beyond_failure(delta_mu, failure, number)
    )
    _validate.choice("reading", reading, ("planned", "running"))
    estimator = _estimator(distances, noise_std, sample_rate, orders, failure, divergence, largest_distance)
    shape, taken, slack = taken.shape, taken.ravel(), -np.log(delta.ravel() - failure * number)
    if taken.size == 0:
        raise ValueError("Expected steps as at least one number, found none.")
    if reading == "running":
        # one T for all: every order may decide at some t, so each is made precise
        planned = taken.max(keepdims=True)
        moments = _moments(estimator, planned, slack.min(keepdims=True), only_best=False)
    else:
        planned = taken
        moments = _moments(estimator, planned, slack, only_best=True)
    whole = estimator.orders
    candidates = ((taken / planned)[:, None] * moments.upper + slack[:, None]) / whole
    first = best = candidates.argmin(axis=1)
    rows = np.arange(taken.size) if reading == "planned" else np.zeros(taken.size, dtype=np.intp)
    certain = None
    if largest_distance is not None:
        certain = (taken[:, None] * _worst_cost(estimator) - np.log(delta.ravel())[:, None]) / whole
        worst = certain.min(axis=1) <= candidates.min(axis=1)
        candidates = np.where(worst[:, None], certain, candidates)
        best, certain = candidates.argmin(axis=1), certain.min(axis=1)
    return _bound(
        estimator,
        candidates[np.arange(taken.size), best],
        best,
        slack,
        (moments.largest_share[rows, first], moments.effective_size[rows, first]),
        certain,
    ).reshape(shape)


def _bound(
    estimator: Estimator, epsilon: Array, best: Index, slack: Array, tail: tuple[Array, Array], certain: Array | None
) -> BayesianBound:
    """What was found at the places `best` of the orders, capped by what d = d_max `certain`ly costs; all (n,)."""
    share, size = tail
    worst, ceiling = np.zeros(epsilon.size, dtype=np.bool_), np.full(epsilon.size, np.inf)
    if certain is not None:
        worst, ceiling, size = certain <= epsilon, certain, np.full(epsilon.size, np.nan)
        epsilon, share = np.minimum(epsilon, certain), np.where(worst, 1.0, share)
    return BayesianBound(
        epsilon=np.maximum(epsilon, 0.0),
        order=np.asarray(estimator.orders[best] + 1.0, dtype=np.float64),
        at_grid_end=(best == 0) | (best == estimator.orders.size - 1),
        floor=np.broadcast_to(np.maximum(slack / float(estimator.orders[-1]), 0.0), epsilon.shape),
        largest_share=share,
        effective_size=size,
        tail_dominated=share > 0.5,
        certified=certain is not None,
        worst_case=worst,
        ceiling=np.maximum(ceiling, 0.0),
    )


def bayesian_epsilon(
    distances: Any,
    *,
    noise_std: Any,
    sample_rate: Any,
    steps: Any,
    delta_mu: Any,
    estimator_failure: Any = 1e-15,
    orders: Any = ORDERS,
    reading: str = "planned",
    divergence: str = "left",
    estimates: Any = 1,
    largest_distance: Any = None,
) -> Any:
    """ε_μ of the subsampled Gaussian mechanism (Triastcyn & Faltings 2020, Theorems 1–4, Corollary 1).

    With `largest_distance` a bound that holds: with probability 1 − γ over the sample ε_μ is not too low, for every
    distribution of distances up to d_max, and for all orders, steps and noise levels that are tried together. Without
    it the asymptotic estimate as printed, whose γ is reached only as m grows.

    Never below the direct evaluation of either, at most 0.1 % above; equal to it up to 2000 distances.

    Args:
        distances: ‖g − g′‖ of m ≥ 2 independent pairs, shape (m,), in the units of noise_std.
        noise_std: absolute standard deviation of the noise on the sum of gradients (σC).
        sample_rate: q in [0, 1].
        steps: numbers of steps ≥ 1; a number or an array.
        delta_mu: δ_μ in (Γ, 1), Γ = estimator_failure · estimates; a number or an array that broadcasts with steps.
        estimator_failure: γ, the probability that one estimate is too low, in (0, ½].
        orders: moment orders λ to minimise over, whole numbers ≥ 1; one of them fixes λ.
        reading: "planned": each element of steps is a plan of its own, T = that element. "running": the largest is
            the plan, T = max(steps), and the others are moments of that run.
        divergence: "left" for ψ_L, "printed" for max(ψ_L, ψ_R) as printed in Theorem 3.
        estimates: number of distinct estimates that the run used (1 for one fixed distribution).
        largest_distance: d_max, which no distance of any example can exceed: C for norms of clipped gradients, 2C for
            distances of two. None where nothing is known of it.

    Returns:
        A float if steps and delta_mu are numbers, else an array of their broadcast shape.

    Raises:
        ValueError: for an argument out of its range, with the value; for δ_μ ≤ Γ, with both.
    """
    epsilon = bayesian_bound(**locals()).epsilon
    return float(epsilon) if epsilon.ndim == 0 else epsilon


_BINS = 192  # more distances than twice that are grouped, from above: ε_μ reads at most about 0.1 % high
_STRIDES = (8, 2, 1)
_LED = 7  # rows that share one search from afar


class BayesianSweep(Estimator):
    """ψ of every noise level and order that was looked at; see `bayesian_epsilon` for the arguments.

    Args:
        distances: ‖g − g′‖ of m ≥ 2 independent pairs, shape (m,).
        noise_std: absolute standard deviations of the noise, shape (n,), > 0.
        sample_rate: q in [0, 1].
        estimator_failure: γ.
        orders: λ, whole numbers ≥ 1.
        largest_distance: d_max, for the bound that holds at every m; None for the asymptotic estimate.

    Raises:
        ValueError: for an argument out of its range.
    """

    def __init__(
        self,
        distances: Any,
        *,
        noise_std: Any,
        sample_rate: Any,
        estimator_failure: Any = 1e-15,
        orders: Any = ORDERS,
        largest_distance: Any = None,
    ) -> None:
        self.failure = _validate.estimator_failure(estimator_failure)
        self.certified = largest_distance is not None
        values, masses, margin = _sample(distances, self.failure, largest_distance)
        self.noise = np.atleast_1d(_validate.noise_multiplier(noise_std, "noise_std"))
        rate, top = _validate.number(sample_rate=sample_rate), float(values.max())
        relative = (values / top) ** 2 if top > 0.0 and rate > 0.0 else np.zeros_like(values)
        super().__init__(relative, _orders(orders), rate, margin, "left", masses)
        # u = (d/σ)² = relative · scale, with bins that fit every σ
        with np.errstate(over="ignore"):
            self._scale = (top / self.noise) ** 2
        self._groups: Bins = make_bins(self.ordered, None if values.size <= 2 * _BINS else _BINS, masses)
        # Only the groups are asked from here on, and sweeps are kept: the sample is not to be kept with them.
        del self.ordered, self.masses
        self._costs: dict[tuple[int, int], tuple[Array, Array, Array]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return (3 * len(self._costs) + 5) * self._groups.low.nbytes

    def bound(self, *, steps: Any, delta_mu: Any) -> BayesianBound:
        """ε_μ of a plan of `steps` steps (whole, ≥ 1) at `delta_mu` for each noise level; arrays of shape (n,)."""
        total = float(_validate.whole(1, steps=steps))
        delta = _validate.scalar("delta_mu", _validate.delta_beyond_failure(delta_mu, self.failure, 1.0))
        slack = -math.log(delta - self.failure)
        tails: dict[tuple[int, int], tuple[float, float]] = {}
        value = np.full((self.noise.size, self.orders.size), np.inf)

        def epsilon(rows: Index, places: Index) -> Array:
            """ε of rows (k, 1) at places (k, m) of the orders, by each order itself."""
            for place in np.unique(places).tolist():
                asked = rows[(places == place).any(axis=1), 0]
                fresh = asked[np.isinf(value[asked, place])]
                if fresh.size:
                    means = self._means(fresh, place, total)
                    value[fresh, place] = (means.upper + slack) / self.orders[place]
                    finite = np.isfinite(means.upper)
                    facts = (np.where(finite, part, np.nan) for part in (means.largest_share, means.effective_size))
                    tails.update(zip([(row, place) for row in fresh.tolist()], zip(*facts, strict=True), strict=True))
            return value[rows, places]

        best = self._search(epsilon)
        rows = np.arange(self.noise.size)
        share, size = np.array([tails[at] for at in zip(rows.tolist(), best.tolist(), strict=True)]).T
        certain = self._worst(rows, best, total, delta) if self.certified else None
        return _bound(self, value[rows, best], best, np.asarray(slack), (share, size), certain)

    def _worst(self, rows: Index, best: Index, total: float, delta: float) -> Array:
        """ε of d = d_max throughout at each row's best order: it needs no sample, and pays no γ."""
        worst = np.empty(rows.size)
        for column in np.unique(best).tolist():
            chosen = np.flatnonzero(best == column)
            top = np.array([high[-1] for _, _, high in self._psi(rows[chosen], column)])
            worst[chosen] = (total * top - math.log(delta)) / float(self.orders[column])
        worst[self._scale > TOO_LARGE] = np.inf
        return worst

    def _search(self, epsilon: Callable[[Index, Index], Array]) -> Index:
        """Each row's best order: some rows search from afar, the others start where their neighbour ended."""
        rows, last = np.arange(self.noise.size), self.orders.size - 1
        lead = rows[_LED // 2 :: _LED] if rows.size > _LED else rows
        spread = np.unique(np.round(np.geomspace(1, last + 1, 6)).astype(np.intp) - 1)
        tried = epsilon(lead[:, None], np.broadcast_to(spread, (lead.size, spread.size)))
        best = spread[tried.argmin(axis=1)]
        for stride in _STRIDES:
            best, _ = downhill(lambda row, places: epsilon(lead[row], places), best, stride, last)
        nearest = np.abs(rows[:, None] - lead).argmin(axis=1)
        return downhill(epsilon, best[nearest], 1, last)[0]

    def _means(self, rows: Index, column: int, steps: float) -> LogMeans:
        """ln[mean x + τ·std x] at one order for several noise levels; infinite where (d/σ)² is too large."""
        means = LogMeans(*(np.full(rows.size, fill) for fill in (np.inf, np.inf, np.nan, np.nan)))
        sane = np.flatnonzero(self._scale[rows] <= TOO_LARGE)
        if sane.size:
            low, mean, high = (np.stack(part) for part in zip(*self._psi(rows[sane], column), strict=True))
            bounds = self.bounds(self._groups, low, mean, high, np.full(sane.size, steps))
            for field in fields(LogMeans):
                getattr(means, field.name)[sane] = getattr(bounds, field.name)
        return means

    def _psi(self, rows: Index, column: int) -> list[tuple[Array, Array, Array]]:
        """ψ at the lower ends, means and upper ends of the groups, for each row; kept."""
        fresh = [row for row in rows.tolist() if (row, column) not in self._costs]
        if fresh:
            ends = (
                [self._groups.high] if self._groups.exact else [self._groups.low, self._groups.mean, self._groups.high]
            )
            scale = np.minimum(self._scale[fresh], TOO_LARGE)
            u = scale[:, None, None] * np.stack(ends)
            psi = step_costs(u.ravel(), self.orders[[column]], self.rate, "left").reshape(u.shape)
            for row, cost in zip(fresh, psi, strict=True):
                self._costs[row, column] = (cost[0], cost[len(ends) // 2], cost[-1])
        return [self._costs[row, column] for row in rows.tolist()]


def bayesian_percentile(*, delta_mu: Any, share: Any) -> float:
    """The δ with which a share of the data has ordinary (ε_μ, δ)-DP: δ_μ/(1 − share), by Markov's inequality.

    Args:
        delta_mu: δ_μ in (0, 1).
        share: part of the data (a draw of the distribution) that the statement covers, in [0, 1).

    Returns:
        δ, capped at 1, where it says nothing.
    """
    delta, covered = _validate.numbers(delta_mu=delta_mu, share=share)
    if covered == 1.0:
        raise ValueError("Expected share=1 in [0, 1): a Bayesian guarantee covers all of the data only with δ = 1.")
    # 1 − share is exact for share ≥ ½; the division errs by one unit in the last place: round up
    return min(1.0, math.nextafter(delta / (1.0 - covered), math.inf))


def bayesian_basic(*, epsilon_mu: Any, delta_mu: Any, count: Any) -> tuple[float, float]:
    """Basic composition of `count` mechanisms, each (ε_μ, δ_μ): (count·ε_μ, count·δ_μ), the latter capped at 1."""
    epsilon, delta = _validate.numbers(epsilon_mu=epsilon_mu, delta_mu=delta_mu)
    number = float(_validate.whole(1, count=count))
    return number * epsilon, min(1.0, number * delta)


def bayesian_group(*, epsilon_mu: Any, delta_mu: Any, size: Any) -> tuple[float, float]:
    """Privacy of a group of `size` = k examples: (k ε_μ, k e^{k ε_μ} δ_μ), the latter capped at 1."""
    epsilon, delta = _validate.numbers(epsilon_mu=epsilon_mu, delta_mu=delta_mu)
    number = float(_validate.whole(1, size=size))
    log_delta = math.log(number) + number * epsilon + math.log(delta)
    return number * epsilon, math.exp(log_delta) if log_delta < 0.0 else 1.0


def binary_estimator(*, zeros: Any, ones: Any, estimator_failure: Any = 1e-15) -> float:
    """ρ̂, the probability that an example's distance is C and not 0, too low with probability at most γ.

    With a flat prior the posterior after N₀ zeros and N₁ ones is Beta(N₁ + 1, N₀ + 1); ρ̂ is its (1 − γ)-quantile.
    After zeros alone, ρ̂ = 1 − γ^{1/(N₀ + 1)}.
    """
    none = float(_validate.whole(0, zeros=zeros))
    some = float(_validate.whole(0, ones=ones))
    failure = _validate.estimator_failure(estimator_failure)
    return float(np.asarray(betainccinv(some + 1.0, none + 1.0, failure)))


_VALUES = 1000  # more distances are grouped, from above
_MOST = 1e12


def bayesian_samples(
    distances: Any,
    *,
    largest_distance: Any,
    target_epsilon: Any,
    noise_std: Any,
    sample_rate: Any,
    steps: Any,
    delta_mu: Any,
    estimator_failure: Any = 1e-15,
    orders: Any = ORDERS,
) -> float:
    """The smallest m at which `bayesian_epsilon(…, largest_distance=…)` would be at most `target_epsilon`.

    For m distances that lie as the given ones do (their quantiles): what to expect, not a promise about other draws.

    Args:
        distances, largest_distance, noise_std, sample_rate, steps, delta_mu, estimator_failure, orders: as in
            `bayesian_epsilon`, one plan of `steps` steps.
        target_epsilon: ε_μ ≥ 0; half of what d = d_max costs, say.

    Returns:
        m, a whole number ≥ 2; inf where no 10^12 distances of this distribution would do.

    Raises:
        ValueError: for an argument out of its range, with the value.
    """
    ordered = np.sort(_validate.distances(distances))
    largest, whole = largest_of(ordered, largest_distance), _orders(orders)
    target, std, rate = _validate.numbers(target_epsilon=target_epsilon, noise_std=noise_std, sample_rate=sample_rate)
    total, failure = _validate.whole(1, steps=steps), _validate.estimator_failure(estimator_failure)
    delta = _validate.scalar("delta_mu", _validate.delta_beyond_failure(delta_mu, failure, 1.0))

    last = np.unique(np.linspace(0, ordered.size - 1, min(ordered.size, _VALUES)).round().astype(np.intp))
    reached = (last + 1.0) / ordered.size
    values = np.append(ordered[last], largest)
    grown = total * step_costs((values / std) ** 2, whole, rate)

    def fits(size: float) -> bool:
        ranks = np.floor(reached * size * (1.0 + 1e-12))
        masses = np.diff(lower_band(np.minimum(ranks, size), int(size), failure), prepend=0.0, append=1.0)
        moments = grown[-1] + np.log(masses @ np.exp(grown - grown[-1]))
        return float(((moments - math.log(delta - failure)) / whole).min()) <= target

    if not fits(_MOST):
        return math.inf
    low, high = 1.0, _MOST
    while high > low + 1.0 and high > low * (1.0 + 1e-4):
        middle = math.sqrt(low * high) if high > 2.0 * low else (low + high) / 2.0
        middle = max(float(math.floor(middle)), low + 1.0)
        low, high = (low, middle) if middle >= 2.0 and fits(middle) else (middle, high)
    return float(max(high, 2.0))
