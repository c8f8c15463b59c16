"""Scalar families: their laws, their tails, and the cost that the estimator estimates."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpviz.accounting.bayesian.accountant import bayesian_cost
from dpviz.gradients.families import FAMILIES, draw_norms, tail_is_infinite
from tests.accounting.references import step_moment
from tests.gradients.population import population_cost

LAWS = {
    "weibull": stats.weibull_min(0.5, scale=2.0),
    "lognormal": stats.lognorm(0.5, scale=2.0),
    "halfnormal": stats.halfnorm(scale=2.0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_follow_the_law(family: str) -> None:
    sample = draw_norms(family, count=20_000, seed=11, shape=0.5, scale=2.0)
    assert stats.kstest(sample.norms, LAWS[family].cdf).pvalue > 1e-3
    assert sample.independent
    assert "seed 11" in sample.description
    assert (draw_norms(family, count=20_000, seed=11, shape=0.5, scale=2.0).norms == sample.norms).all()


def mp_population(shape: float, limit: float, std: float, rate: float, steps: int, order: int) -> float:
    """c(λ, T) of clipped Weibull norms; substituting by the tail probability removes the singularity at zero."""
    with mpmath.workdps(30):

        def grown(d: mpmath.mpf) -> mpmath.mpf:
            return step_moment((d / mpmath.mpf(std)) ** 2, order, rate) ** steps

        top = mpmath.mpf(limit) ** mpmath.mpf(shape)
        inside = mpmath.quad(
            lambda y: (grown(y ** (1 / mpmath.mpf(shape))) - 1) * mpmath.exp(-y), mpmath.linspace(0, top, 9)
        )
        return float(mpmath.log1p(inside + (grown(mpmath.mpf(limit)) - 1) * mpmath.exp(-top)) / steps)


@pytest.mark.parametrize(
    ("shape", "limit", "std", "rate", "steps", "order"),
    [
        (0.5, 1.0, 4.0, 0.01, 1000, 4),
        (1.0, 2.0, 2.0, 0.1, 50, 2),
        (2.0, 1.5, 1.0, 0.5, 3, 8),
        (0.5, 1.0, 9.0, 1e-4, 10, 3),
    ],
)
def test_population_cost(shape: float, limit: float, std: float, rate: float, steps: int, order: int) -> None:
    found = population_cost(
        "weibull",
        shape=shape,
        threshold=limit,
        noise_std=std,
        sample_rate=rate,
        total_steps=steps,
        order=order,
    )
    assert found == pytest.approx(mp_population(shape, limit, std, rate, steps, order), rel=1e-8)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_estimate_covers_the_population(family: str) -> None:
    common: dict[str, Any] = {"noise_std": 3.0, "sample_rate": 0.02, "total_steps": 2000}
    truth = population_cost(family, threshold=1.0, order=8, shape=0.5, **common)
    sample = draw_norms(family, count=100_000, seed=4, shape=0.5)
    (careful,) = bayesian_cost(sample.distances(1.0), orders=[8], **common)
    (plain,) = bayesian_cost(sample.distances(1.0), orders=[8], estimator_failure=0.5, **common)
    assert truth < careful
    assert plain == pytest.approx(truth, rel=0.02)
    assert careful == pytest.approx(truth, rel=0.1)


def infinite(family: str, **changed: Any) -> bool:
    values: dict[str, Any] = {
        "clipped": False,
        "noise_std": 10.0,
        "sample_rate": 0.01,
        "total_steps": 99,
        "order": 1,
    }
    return tail_is_infinite(family, **{**values, **changed})


def test_tails() -> None:
    assert infinite("weibull", shape=0.5)
    assert infinite("weibull", shape=1.99)
    assert not infinite("weibull", shape=2.01, total_steps=10**9)
    assert infinite("lognormal", shape=0.1)
    assert not infinite("lognormal", shape=0.1, clipped=True)
    assert not infinite("weibull", shape=0.5, sample_rate=0.0)
    # r = Tλ(λ+1)/(2σ²): 99 steps at λ = 1, σ = 10 give 0.99, 100 give 1
    assert not infinite("weibull", shape=2.0)
    assert infinite("weibull", shape=2.0, total_steps=100)
    assert not infinite("halfnormal", total_steps=49)
    assert infinite("halfnormal", total_steps=50)
    assert infinite("halfnormal", total_steps=49, scale=1.1)


def test_infinite_tail_shows_in_the_estimate() -> None:
    """Ten times more samples of a heavy tail raise the estimate; of a clipped one they lower it."""
    common: dict[str, Any] = {"noise_std": 3.0, "sample_rate": 0.1, "total_steps": 100, "orders": [4]}
    few, many = (draw_norms("weibull", count=n, seed=2, shape=0.5) for n in (1000, 100_000))
    assert bayesian_cost(many.distances(), **common) > 2 * bayesian_cost(few.distances(), **common)
    assert bayesian_cost(many.distances(1.0), **common) < bayesian_cost(few.distances(1.0), **common)


def test_norms_of_the_largest_shape_are_finite() -> None:
    assert np.isfinite(draw_norms("lognormal", count=10, seed=0, shape=20.0).norms).all()
