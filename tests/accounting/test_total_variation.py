"""Total variation bounds hold, and are attained by one step."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.renyi.search import one_step_variation, total_variation
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence

sigmas = st.floats(math.log(0.3), math.log(50)).map(math.exp)
rates = st.one_of(st.floats(math.log(1e-5), 0.0).map(math.exp), st.just(1.0))


def bound(sigma: float, rate: float, steps: float) -> float:
    one = one_step_variation(np.array([sigma]), np.array([rate]))
    return float(total_variation(one, np.array([steps]), steps * renyi_divergence(sigma, rate, 1.0001)))


@given(sigmas, rates)
@settings(max_examples=30, deadline=None)
def test_one_step_is_exact_or_below_no_truth(sigma: float, rate: float) -> None:
    exact = rate * (2.0 * norm.cdf(0.5 / sigma) - 1.0)
    assert bound(sigma, rate, 1.0) == pytest.approx(exact, rel=1e-8)
    assert bound(sigma, rate, 1.0) >= exact


@given(sigmas, rates, st.integers(2, 5000))
@settings(max_examples=25, deadline=None)
def test_never_below_the_truth(sigma: float, rate: float, steps: int) -> None:
    assert bound(sigma, rate, steps) >= float(tight_delta(SampledGaussian(sigma, rate), steps, 0.0).lower)


@given(rates, st.integers(1, 10**7))
@settings(max_examples=30, deadline=None)
def test_never_above_the_chance_of_being_drawn(rate: float, steps: int) -> None:
    drawn = -math.expm1(steps * math.log1p(-rate)) if rate < 1.0 else 1.0
    assert bound(0.01, rate, steps) == pytest.approx(drawn, rel=1e-6)


def test_many_small_steps_are_less_than_their_sum() -> None:
    """Pinsker: √T, where the coupling says T."""
    coupled = -math.expm1(10_000 * math.log1p(-0.01 * (2.0 * norm.cdf(0.125) - 1.0)))
    assert bound(4.0, 0.01, 10_000) < 0.2 * coupled


def test_mechanisms_add_up_and_nothing_is_nothing() -> None:
    sigma, rate = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[1e-3, 1.0], [1e-3, 0.0]])
    found = total_variation(one_step_variation(sigma, rate), np.array([[3.0, 0.0], [3.0, 9.0]]), np.array([1.0, 1.0]))
    alone = 1.0 - (1.0 - 1e-3 * (2.0 * norm.cdf(0.5) - 1.0)) ** 3
    assert found.tolist() == pytest.approx([alone] * 2, rel=1e-8)
    assert total_variation(one_step_variation(sigma, rate), np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]
    assert total_variation(one_step_variation(np.array([1e200]), np.array([0.5])), np.array([1.0]), np.array(0.0)) > 0.0
