"""The procedure behind Figures 1, 3 and 4 of Triastcyn & Faltings 2020, as their public notebooks do it.

50 gradients of 1000 Weibull(0.5) coordinates, all 1225 pairs, C at a quantile of the norms, sensitivity 2C, the same
noise 2σC for DP and Bayesian DP, q = 1/1000. Figure 1 draws 50 new gradients at every step. All pairs of 50 vectors
are not independent, so γ is not kept: what comes out is the authors' estimate, no bound.
"""

import math

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import bayesian_cost
from dpviz.gradients.weibull_vectors import weibull_vectors

VECTORS, DIMENSIONS, SHAPE = 50, 1000, 0.5
RATE, STEPS, DELTA, FAILURE = 1e-3, 100, 1e-5, 1e-15
ORDERS = tuple(range(1, 33))


@remembered
def fresh_costs(quantile: float, seed: int, orders: tuple[int, ...] = ORDERS) -> Array:
    """ĉ_t(λ, T) of each of T = 100 steps, 50 new unclipped gradients each, shape (steps, orders)."""
    rng = np.random.default_rng(seed)
    costs = np.empty((STEPS, len(orders)))
    for step in range(STEPS):
        sample = weibull_vectors(vectors=VECTORS, dimensions=DIMENSIONS, shape=SHAPE, seed=rng, pairing="all")
        costs[step] = bayesian_cost(
            sample.distances(),
            noise_std=2.0 * sample.threshold(quantile),
            sample_rate=RATE,
            total_steps=STEPS,
            orders=orders,
            estimator_failure=FAILURE,
        )
    return costs


def epsilon_of_costs(costs: Array, orders: tuple[int, ...] = ORDERS) -> Array:
    """(Σ ĉ_t(λ) − ln(δ − tγ))/λ after each step, shape of `costs`: each step has its own estimate."""
    count = np.arange(1, len(costs) + 1)[:, None]
    return np.asarray((np.cumsum(costs, axis=0) - np.log(DELTA - count * FAILURE)) / np.array(orders))


@remembered
def distances(quantile: float, seed: int, *, clipped: bool) -> tuple[Array, float]:
    """Distances of the gradients, shape (1225,), and 2C."""
    sample = weibull_vectors(vectors=VECTORS, dimensions=DIMENSIONS, shape=SHAPE, seed=seed, pairing="all")
    threshold = sample.threshold(quantile)
    return sample.distances(threshold if clipped else None), 2.0 * threshold


@remembered
def one_step_curve(quantile: float, unclipped: bool, seed: int, sigmas: tuple[float, ...]) -> Array:
    """ε_μ(λ) of one step at each σ, shape (sigmas, orders)."""
    lengths, sensitivity = distances(quantile, seed, clipped=not unclipped)
    return np.array([one_step(lengths, sensitivity, sigma) for sigma in sigmas])


def one_step(lengths: Array, sensitivity: float, sigma: float, orders: tuple[int, ...] = ORDERS) -> Array:
    """ε_μ(λ) of one step (T = 1) at noise σ · sensitivity, shape (orders,)."""
    cost = bayesian_cost(
        lengths,
        noise_std=sigma * sensitivity,
        sample_rate=RATE,
        total_steps=1,
        orders=orders,
        estimator_failure=FAILURE,
    )
    return np.asarray((cost - math.log(DELTA - FAILURE)) / np.array(orders))


def median_share(quantile: float, seed: int = 0) -> float:
    """The median distance of clipped gradients ÷ 2C, what DP takes for every pair."""
    lengths, sensitivity = distances(quantile, seed, clipped=True)
    return float(np.median(lengths)) / sensitivity
