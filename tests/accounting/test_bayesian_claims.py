"""Percentiles, composition, groups and the binary estimator of Bayesian differential privacy."""

from __future__ import annotations

import math

import mpmath
import pytest

from dpviz.accounting.bayesian.statements import bayesian_basic, bayesian_group, bayesian_percentile, binary_estimator


def test_percentiles() -> None:
    assert bayesian_percentile(delta_mu=1e-10, share=0.99999) == pytest.approx(1e-5, rel=1e-10)
    assert bayesian_percentile(delta_mu=1e-10, share=0.99999) >= 1e-10 / (1 - 0.99999)
    assert bayesian_percentile(delta_mu=1e-5, share=0.0) == pytest.approx(1e-5)
    assert bayesian_percentile(delta_mu=1e-2, share=0.999) == 1.0


def test_basic_composition_and_groups() -> None:
    assert bayesian_basic(epsilon_mu=0.5, delta_mu=1e-6, count=3) == pytest.approx((1.5, 3e-6))
    assert bayesian_basic(epsilon_mu=0.5, delta_mu=0.4, count=3)[1] == 1.0
    assert bayesian_group(epsilon_mu=0.5, delta_mu=1e-6, size=1) == pytest.approx((0.5, math.e**0.5 * 1e-6))
    assert bayesian_group(epsilon_mu=0.5, delta_mu=1e-6, size=3) == pytest.approx((1.5, 3 * math.e**1.5 * 1e-6))
    assert bayesian_group(epsilon_mu=1e6, delta_mu=1e-6, size=3) == (3e6, 1.0)


def test_hundred_zeros() -> None:
    assert binary_estimator(zeros=100, ones=0, estimator_failure=0.99**101) == pytest.approx(0.01, rel=1e-12)
    assert abs(0.99**101 - 0.362) < 5e-4


@pytest.mark.parametrize(("zeros", "ones"), [(0, 0), (100, 0), (990, 10), (10**6, 3), (5, 10**4)])
@pytest.mark.parametrize("failure", [0.5, 0.01, 1e-15])
def test_quantile_of_the_posterior(zeros: int, ones: int, failure: float) -> None:
    found = binary_estimator(zeros=zeros, ones=ones, estimator_failure=failure)
    with mpmath.workdps(60):
        # P(Beta > ρ) = P(Binomial(N₀ + N₁ + 1, ρ) ≤ N₁)
        trials, rho = zeros + ones + 1, mpmath.mpf(found)
        few = range(ones + 1) if ones <= zeros else range(ones + 1, trials + 1)
        tail = mpmath.fsum(mpmath.binomial(trials, k) * rho**k * (1 - rho) ** (trials - k) for k in few)
        tail = tail if ones <= zeros else 1 - tail
    assert float(tail) == pytest.approx(failure, rel=1e-9)
