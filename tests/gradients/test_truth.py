"""The true cost of a synthetic distribution lies in its interval, and certified bounds above it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpviz.accounting.bayesian.accountant import ORDERS, bayesian_cost, bayesian_epsilon
from dpviz.gradients.families import FAMILIES, draw_norms
from dpviz.gradients.law_sample import true_norms_epsilon, true_vectors_epsilon
from dpviz.gradients.sample import weibull_vectors
from tests.gradients.population import population_cost

KNOWN: dict[str, Any] = {"noise_std": 2.0, "sample_rate": 0.02}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("steps", [1, 300, 10**6])
@pytest.mark.parametrize("shape", [0.5, 2.0])
def test_the_interval_holds_the_quadrature_s_value_and_is_narrow(family: str, steps: int, shape: float) -> None:
    """`population_cost` integrates the density; the interval sums the distribution function."""
    found = true_norms_epsilon(family, shape=shape, threshold=1.2, steps=[steps], delta_mu=1e-5, **KNOWN)
    cost = [
        population_cost(family, shape=shape, threshold=1.2, total_steps=steps, order=order, **KNOWN) for order in ORDERS
    ]
    truth = min((steps * c + math.log(1e5)) / order for order, c in zip(ORDERS, cost, strict=True))
    assert found.lower[0] * (1 - 1e-9) <= truth <= found.upper[0] * (1 + 1e-9)
    assert found.upper[0] < found.lower[0] * 1.001


def test_running_and_one_order() -> None:
    options: dict[str, Any] = {"shape": 1.0, "threshold": 1.0, "delta_mu": 1e-5, "orders": [5], **KNOWN}
    planned = true_norms_epsilon("weibull", steps=[100, 3000], **options)
    running = true_norms_epsilon("weibull", steps=[100, 3000], reading="running", **options)
    assert running.upper[1] == planned.upper[1]
    assert running.upper[0] > planned.upper[0]
    cost = population_cost("weibull", threshold=1.0, total_steps=3000, order=5, shape=1.0, **KNOWN)
    assert running.upper[0] == pytest.approx((100 * cost + math.log(1e5)) / 5, rel=1e-3)


def test_a_simulated_interval_holds_what_other_draws_average() -> None:
    """50-dimensional vectors; T small enough that another simulation's mean is a good guess of the truth."""
    limit, steps = 7.0, 20
    known: dict[str, Any] = {"noise_std": 42.0, "sample_rate": 0.05, "steps": [steps], "delta_mu": 1e-5}
    found = true_vectors_epsilon(dimensions=50, shape=0.5, threshold=limit, **known)
    other = weibull_vectors(vectors=60_000, dimensions=50, shape=0.5, seed=12)
    del known["steps"], known["delta_mu"]
    cost = bayesian_cost(other.distances(limit), estimator_failure=0.5, total_steps=steps, orders=ORDERS, **known)
    guess = ((steps * cost + math.log(1e5)) / np.array(ORDERS)).min()
    assert found.lower[0] < guess < found.upper[0]
    assert found.upper[0] < 1.05 * found.lower[0]
    assert "fresh pairs" in found.how


def test_certified_bounds_lie_above_the_truth_where_estimates_do_not() -> None:
    """Clipped heavy tails: at m = 50 more than a third of the printed estimates are too low, at γ = 0.01."""
    known: dict[str, Any] = {"noise_std": 1.0, "sample_rate": 0.05, "steps": [200], "delta_mu": 0.5}
    options: dict[str, Any] = {"shape": 0.5, "scale": 0.03}
    truth = true_norms_epsilon("weibull", threshold=1.0, **options, **known).lower[0]
    below = {"printed": 0, "certified": 0}
    for seed in range(60):
        distances = draw_norms("weibull", count=50, seed=seed, **options).distances(1.0)
        for name, more in (("printed", {}), ("certified", {"largest_distance": 1.0})):
            below[name] += bayesian_epsilon(distances, estimator_failure=0.01, **known, **more)[0] < truth
    assert below["printed"] > 20
    assert below["certified"] <= 3


def test_hardly_any_noise_costs_without_end() -> None:
    known = KNOWN | {"noise_std": 1e-9}
    assert np.isinf(true_norms_epsilon("weibull", threshold=1e300, steps=[1], delta_mu=1e-5, **known).upper)
