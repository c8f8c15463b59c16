"""Bayesian differential privacy: ε_μ for data drawn from a known distribution (Triastcyn & Faltings 2020).

The accountant sees m distances between gradients of examples of that distribution and estimates, with a margin that
fails with probability γ, what T steps cost a typical example (Theorem 1, Eq. 14):

    ĉ(λ, T) = (1/T) ln[ mean(x) + t_{1−γ, m−1} · std(x)/√(m−1) ],   x_i = exp(T ψ(λ, d_i)),
    ε_μ = min over λ of (1/λ) (t · ĉ(λ, T) − ln(δ_μ − Γ))               (Theorem 2, Corollary 1)

T is the number of steps planned in total, t ≤ T those done, Γ is γ times the number of distinct estimates used.

That estimate is asymptotic: at finite m it may be too low far more often than γ (a distance of C in one example of a
thousand: in nine samples of a hundred distances out of ten). Where the distances are known to be at most d_max, as
after clipping, `largest_distance` replaces it by a bound that fails with probability γ at most, whatever the
distribution and m (`envelope`), and never exceeds what d = d_max throughout costs, which needs no estimate.

    >>> import numpy as np
    >>> distances = np.random.default_rng(0).weibull(2.0, 1000)
    >>> round(bayesian_epsilon(distances, noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5), 3)
    3.504
    >>> clipped = np.minimum(distances, 1.0)
    >>> known = dict(noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
    >>> [round(bayesian_epsilon(clipped, **known, **bound), 3) for bound in ({}, {"largest_distance": 1.0})]
    [1.224, 1.226]
"""

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools, Index, Whole
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.bayesian.envelope import envelope
from dpviz.accounting.bayesian.estimator import Estimator, LogMeans
from dpviz.accounting.bound import Bound
from dpviz.accounting.card import card

ORDERS = range(1, 33)
NAME = "bayesian"  # of its readings and curves
READINGS = ("planned", "running", "another")  # whose steps a curve over t counts: see `bayesian_epsilon`
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


def largest_of(distances: Array, largest_distance: float) -> float:
    """Checks that d_max is above 0 and no distance above it."""
    largest = _validate.number(largest_distance=largest_distance)
    if float(distances.max()) > largest:
        raise ValueError(
            f"Expected distances={float(distances.max()):.12g} <= largest_distance={largest:.12g}, what clipping "
            "allows: clip them, or leave largest_distance out for the asymptotic estimate."
        )
    return largest


def prepared_sample(
    distances: ArrayLike, failure: float, largest_distance: float | None
) -> tuple[Array, Array | None, float]:
    """Values, their masses where they are the envelope's, and the margin τ where they are a sample's."""
    values = _validate.distances(distances)
    if largest_distance is None:
        return values, None, student_margin(values.size, failure)
    return *envelope(values, largest_of(values, largest_distance), failure), 0.0


def unique_orders(orders: ArrayLike) -> Whole:
    return np.unique(_validate.whole_orders(orders)).astype(np.int64)


def _estimator(
    distances: ArrayLike,
    noise_std: float,
    sample_rate: float,
    orders: ArrayLike,
    failure: float,
    divergence: str,
    largest: float | None,
) -> Estimator:
    """Checks the arguments that both public functions share."""
    values, masses, margin = prepared_sample(distances, failure, largest)
    std, rate = _validate.numbers(noise_std=noise_std, sample_rate=sample_rate)
    _validate.choice("divergence", divergence, ("left", "printed"))
    with np.errstate(over="ignore"):
        scaled = (values / std) ** 2 if rate > 0.0 else np.zeros_like(values)
    return Estimator(scaled, unique_orders(orders), rate, margin, divergence, masses)


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
    distances: ArrayLike,
    *,
    noise_std: float,
    sample_rate: float,
    total_steps: ArrayLike,
    orders: ArrayLike,
    estimator_failure: float = 1e-15,
    divergence: str = "left",
    largest_distance: float | None = None,
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
    distances: ArrayLike,
    *,
    noise_std: float,
    sample_rate: float,
    steps: ArrayLike,
    delta_mu: ArrayLike,
    estimator_failure: float = 1e-15,
    orders: ArrayLike = ORDERS,
    reading: str = "planned",
    divergence: str = "left",
    estimates: int = 1,
    largest_distance: float | None = None,
) -> BayesianBound:
    """ε_μ with the facts that explain it; arguments and errors as in `bayesian_epsilon`, arrays of the steps' shape."""
    failure = _validate.estimator_failure(estimator_failure)
    number = float(_validate.whole(1, estimates=estimates))
    taken, delta = np.broadcast_arrays(
        _validate.steps(steps, minimum=1), _validate.delta_beyond_failure(delta_mu, failure, number)
    )
    _validate.choice("reading", reading, READINGS)
    estimator = _estimator(distances, noise_std, sample_rate, orders, failure, divergence, largest_distance)
    shape, taken, slack = taken.shape, taken.ravel(), -np.log(delta.ravel() - failure * number)
    if taken.size == 0:
        raise ValueError("Expected steps as at least one number, found none.")
    if reading != "planned":
        # one T for all: every order may decide at some t, so each is made precise
        planned = taken.max(keepdims=True) if reading == "running" else np.ones(1)
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
    return bound_of_moments(
        estimator,
        candidates[np.arange(taken.size), best],
        best,
        slack,
        (moments.largest_share[rows, first], moments.effective_size[rows, first]),
        certain,
    ).reshape(shape)


def bound_of_moments(
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
    distances: ArrayLike,
    *,
    noise_std: float,
    sample_rate: float,
    steps: ArrayLike,
    delta_mu: ArrayLike,
    estimator_failure: float = 1e-15,
    orders: ArrayLike = ORDERS,
    reading: str = "planned",
    divergence: str = "left",
    estimates: int = 1,
    largest_distance: float | None = None,
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
            the plan, T = max(steps), and the others are moments of that run. "another": the differing example is
            drawn anew in each step, so that T steps cost T times one: a promise to nobody who takes part in all.
        divergence: "left" for ψ_L, "printed" for max(ψ_L, ψ_R) as printed in Theorem 3.
        estimates: number of distinct estimates that the run used (1 for one fixed distribution).
        largest_distance: d_max, which no distance of any example can exceed: C for norms of clipped gradients, 2C for
            distances of two. None where nothing is known of it.

    Returns:
        A float if steps and delta_mu are numbers, else an array of their broadcast shape.

    Raises:
        ValueError: for an argument out of its range, with the value; for δ_μ ≤ Γ, with both.
    """
    epsilon = bayesian_bound(
        distances,
        noise_std=noise_std,
        sample_rate=sample_rate,
        steps=steps,
        delta_mu=delta_mu,
        estimator_failure=estimator_failure,
        orders=orders,
        reading=reading,
        divergence=divergence,
        estimates=estimates,
        largest_distance=largest_distance,
    ).epsilon
    return float(epsilon) if epsilon.ndim == 0 else epsilon
