"""The number m of distances from which on the certified Bayesian bound stays within a target ε_μ.

>>> distances = np.minimum(np.random.default_rng(0).weibull(2.0, 200), 1.0) / 4
>>> known = dict(noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> bayesian_samples(distances, largest_distance=1.0, target_epsilon=0.8, **known)
115138.0
"""

import math

import numpy as np

from dpviz import _validate
from dpviz._arrays import ArrayLike
from dpviz.accounting.bayesian.accountant import ORDERS, largest_of, unique_orders
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.bayesian.envelope import lower_band

_VALUES = 1000  # more distances are grouped, from above
_MOST = 1e12


def bayesian_samples(
    distances: ArrayLike,
    *,
    largest_distance: float,
    target_epsilon: float,
    noise_std: float,
    sample_rate: float,
    steps: float,
    delta_mu: float,
    estimator_failure: float = 1e-15,
    orders: ArrayLike = ORDERS,
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
    largest, whole = largest_of(ordered, largest_distance), unique_orders(orders)
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
