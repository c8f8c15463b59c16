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
    asked: dict[str, Any] = {"noise_std": std, "sample_rate": rate, "total_steps": steps, "order": order}
    found = population_cost("weibull", shape=shape, threshold=limit, **asked)
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


# r = Tλ(λ+1)/(2σ²): 99 steps at λ = 1, σ = 10 give 0.99, 100 give 1.
USUAL = {"clipped": False, "noise_std": 10.0, "sample_rate": 0.01, "total_steps": 99, "order": 1}
TAILS = [
    ("weibull", {"shape": 0.5}, True),
    ("weibull", {"shape": 1.99}, True),
    ("weibull", {"shape": 2.01, "total_steps": 10**9}, False),
    ("lognormal", {"shape": 0.1}, True),
    ("lognormal", {"shape": 0.1, "clipped": True}, False),
    ("weibull", {"shape": 0.5, "sample_rate": 0.0}, False),
    ("weibull", {"shape": 2.0}, False),
    ("weibull", {"shape": 2.0, "total_steps": 100}, True),
    ("halfnormal", {"total_steps": 49}, False),
    ("halfnormal", {"total_steps": 50}, True),
    ("halfnormal", {"total_steps": 49, "scale": 1.1}, True),
]


@pytest.mark.parametrize(("family", "changed", "infinite"), TAILS)
def test_tails(family: str, changed: dict[str, Any], infinite: bool) -> None:
    assert tail_is_infinite(family, **USUAL | changed) == infinite


def test_norms_of_the_largest_shape_are_finite() -> None:
    assert np.isfinite(draw_norms("lognormal", count=10, seed=0, shape=20.0).norms).all()
