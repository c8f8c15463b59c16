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
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dpviz import _validate
from dpviz._arrays import Array, Bools, Index
from dpviz.accounting.bayesian.envelope import envelope
from dpviz.accounting.bayesian.psi import step_costs
from dpviz.accounting.bayesian.table import Estimator
from dpviz.accounting.card import Card

ORDERS = range(1, 33)
NAME = "bayesian"  # of its readings and curves
CARD = Card(
    "Bayesian DP",
    "Bayesian differential privacy",
    "It asks what data like a sample cost, not what the strangest example could: ε_μ holds with probability 1 − δ_μ "
    "over noise and data. Outliers have what DP says.",
    "Upper bound for such data, failing with probability γ at most, where gradients are clipped and drawn "
    "independently (certified); else an approximation, the authors' asymptotic estimate.",
    "Beside an ordinary ε, never in its place: for what typical examples lose.",
    "Triastcyn, Faltings 2020",
    ("triastcyn2020",),
)
_TOLERANCE = 1e-4  # of λε; a tenth of what is promised, which costs a few milliseconds
_LEAST_QUANTILE = 1e-290  # probabilities below which Student's quantiles are not computed
TOO_LARGE = 1e270  # (d/σ)² beyond this overflows in T·ψ; the bound is then infinite for every purpose


@dataclass(frozen=True, slots=True)
class BayesianBound:
    """ε_μ at every point with what decided it; arrays of one shared shape.

    Attributes:
        epsilon: the bound; inf where (d/σ)² exceeds what numbers hold (the tail's facts are then NaN).
        order: α = λ + 1 of the deciding moment order λ.
        at_grid_end: True where λ is the first or last order tried: other orders might do better.
        floor: ln(1/(δ_μ − Γ))/λ_max, below which no ε can be with these orders.
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

    epsilon: Array
    order: Array
    at_grid_end: Bools
    floor: Array
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


def _estimator(
    distances: Any,
    noise_std: Any,
    sample_rate: Any,
    orders: Any,
    failure: float,
    divergence: str,
    largest_distance: Any,
) -> Estimator:
    """Checks the arguments that both public functions share."""
    found = _validate.distances(distances)
    masses = None
    if largest_distance is not None:
        found, masses = envelope(found, largest_of(found, largest_distance), failure)
    std, rate = _validate.numbers(noise_std=noise_std, sample_rate=sample_rate)
    whole = np.unique(_validate.whole_orders(orders)).astype(np.int64)
    _validate.choice("divergence", divergence, ("left", "printed"))
    with np.errstate(over="ignore"):
        scaled = (found / std) ** 2
    if rate == 0.0:
        scaled = np.zeros_like(scaled)
    if masses is not None:
        return Estimator(scaled, whole, rate, 0.0, divergence, masses)
    return Estimator(scaled, whole, rate, student_margin(found.size, failure), divergence)


def student_margin(size: int, failure: float) -> float:
    """t_{1−γ, m−1}/√(m−1), never too small.

    Far out, where no quantile can be computed, P(T > t) ≤ ½ (1 + t²/ν)^(−ν/2) ≤ ½ (t/√ν)^(−ν) bounds it: T is
    Z/√(χ²/ν), and a normal tail is at most ½ exp(−z²/2).
    """
    degrees = size - 1
    quantile = -float(stdtrit(degrees, failure))
    if failure < _LEAST_QUANTILE or not quantile >= 0.0:
        quantile = math.sqrt(degrees) * math.exp(-math.log(2.0 * failure) / degrees)
    return max(quantile, 0.0) / math.sqrt(degrees)


@dataclass(slots=True)
class _Moments:
    """ln[mean + τ·std] and its tail for every T (rows) and order (columns), refined where asked."""

    lower: Array
    upper: Array
    largest_share: Array
    effective_size: Array


def _moments(estimator: Estimator, total_steps: Array, slack: Array, *, only_best: bool) -> _Moments:
    """Bounds of every (T, λ), as precise as needed.

    Args:
        estimator: the sample.
        total_steps: T, shape (n,).
        slack: ln(1/(δ_μ − Γ)), shape (n,): the part of λ·ε that carries no error; 0 when the cost itself is wanted.
        only_best: refine only orders that may decide the minimum over λ of (moment + slack)/λ; an order whose
            lower bound is above another's upper bound cannot.
    """
    shape = (total_steps.size, estimator.orders.size)
    found = _Moments(*(np.full(shape, fill) for fill in (0.0, np.inf, np.nan, np.nan)))
    if estimator.ordered[-1] > TOO_LARGE:
        found.lower[:] = np.inf
        return found
    wanted = np.ones(shape, dtype=np.bool_)
    for level in range(estimator.last + 1):
        columns = np.flatnonzero(wanted.any(axis=0))
        _evaluate(estimator, found, total_steps, wanted, columns, level)
        if level == estimator.last:
            break
        # the smallest samples are evaluated directly wherever it matters, and then equal Eq. 14 to rounding
        tolerance = 0.0 if estimator.ordered.size <= 2000 else _TOLERANCE
        wanted = found.upper - found.lower > tolerance * (found.lower + slack[:, None])
        if only_best:
            best = ((found.upper + slack[:, None]) / estimator.orders).min(axis=1)
            wanted &= (found.lower + slack[:, None]) / estimator.orders <= best[:, None]
        if not wanted.any():
            break
    return found


def _evaluate(
    estimator: Estimator,
    found: _Moments,
    total_steps: Array,
    wanted: Bools,
    columns: Index,
    level: int,
) -> None:
    """Writes one level's answers into `found` where wanted, the rows of an order together."""
    for column in columns:
        rows = np.flatnonzero(wanted[:, column])
        (answer,) = estimator.log_means(total_steps[rows], np.array([column]), level)
        found.lower[rows, column] = answer.lower
        found.upper[rows, column] = answer.upper
        found.largest_share[rows, column] = answer.largest_share
        found.effective_size[rows, column] = answer.effective_size


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
    best = candidates.argmin(axis=1)
    rows = np.arange(taken.size) if reading == "planned" else np.zeros(taken.size, dtype=np.intp)
    share, size = moments.largest_share[rows, best], moments.effective_size[rows, best]
    worst, ceiling = np.zeros(taken.size, dtype=np.bool_), np.full(taken.size, np.inf)
    if largest_distance is not None:
        size = np.full(taken.size, np.nan)
        certain = (taken[:, None] * _worst_cost(estimator) - np.log(delta.ravel())[:, None]) / whole
        ceiling = certain.min(axis=1)
        worst = ceiling <= candidates.min(axis=1)
        candidates = np.where(worst[:, None], certain, candidates)
        best, share = candidates.argmin(axis=1), np.where(worst, 1.0, share)

    def shaped(values: Any) -> Any:
        return np.asarray(values).reshape(shape)

    return BayesianBound(
        epsilon=shaped(np.maximum(0.0, candidates[np.arange(taken.size), best])),
        order=shaped(whole[best] + 1.0),
        at_grid_end=shaped((best == 0) | (best == whole.size - 1)),
        floor=shaped(np.maximum(0.0, slack / whole[-1])),
        largest_share=shaped(share),
        effective_size=shaped(size),
        tail_dominated=shaped(share > 0.5),
        certified=largest_distance is not None,
        worst_case=shaped(worst),
        ceiling=shaped(np.maximum(0.0, ceiling)),
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
