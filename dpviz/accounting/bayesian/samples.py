"""How many distances the certified Bayesian bound needs: the m from which on it keeps a target ε_μ.

>>> distances = np.minimum(np.random.default_rng(0).weibull(2.0, 200), 1.0) / 4
>>> known = dict(noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> bayesian_samples(distances, largest_distance=1.0, target_epsilon=0.8, **known)
115138.0
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.bayesian.accountant import ORDERS, largest_of
from dpviz.accounting.bayesian.envelope import lower_band
from dpviz.accounting.bayesian.psi import step_costs

Array = npt.NDArray[np.float64]

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
    found = np.sort(_validate.distances(distances))
    largest = largest_of(found, largest_distance)
    target, std, rate = _validate.numbers(target_epsilon=target_epsilon, noise_std=noise_std, sample_rate=sample_rate)
    total = float(_validate.whole(1, steps=steps))
    failure = _validate.estimator_failure(estimator_failure)
    delta = _validate.scalar("delta_mu", _validate.delta_beyond_failure(delta_mu, failure, 1.0))
    whole = np.unique(_validate.whole_orders(orders)).astype(np.int64)

    last = np.unique(np.linspace(0, found.size - 1, min(found.size, _VALUES)).round().astype(np.intp))
    reached = (last + 1.0) / found.size
    values = np.append(found[last], largest)
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
