"""Percentiles, composition, groups and the binary estimator of Bayesian differential privacy."""

from __future__ import annotations

import mpmath
import pytest

from dpviz.accounting.bayesian.accountant import binary_estimator


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
