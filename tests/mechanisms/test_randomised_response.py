"""Randomised response against its closed forms and the binomial law of its reports."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import dpviz
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.mechanisms import RandomisedResponse


@pytest.mark.parametrize("truth", [0.51, 0.75, 0.99, 1 - 1e-9, 0.25])
def test_epsilon_is_the_logarithm_of_the_odds(truth: float) -> None:
    epsilon = abs(math.log(truth / (1.0 - truth)))
    coin = RandomisedResponse(truth)
    assert coin.epsilon == pytest.approx(epsilon, rel=1e-12)
    assert coin.pair().largest_losses == pytest.approx((epsilon, epsilon), rel=1e-12)
    assert float(tight_epsilon(coin, 1, 1e-12).upper) == pytest.approx(epsilon, abs=1e-3)


@pytest.mark.parametrize(("truth", "steps"), [(0.75, 1), (0.75, 10), (0.6, 100), (0.51, 1000), (0.999, 4)])
@pytest.mark.parametrize("share", [0.0, 0.2, 0.7])
def test_delta_of_several_reports_is_the_binomial_sum(truth: float, steps: int, share: float) -> None:
    """Kairouz, Oh, Viswanath 2015, Theorem 3.3."""
    coin, count = RandomisedResponse(truth), np.arange(steps + 1)
    epsilon = share * steps * coin.epsilon
    loss = (2.0 * count - steps) * coin.epsilon
    exact = float(binom.pmf(count, steps, truth) @ np.maximum(-np.expm1(epsilon - loss), 0.0))
    found = tight_delta(coin, steps, epsilon)
    assert float(found.lower) <= exact * (1 + 1e-9)
    assert float(found.upper) >= exact * (1 - 1e-9)
    assert float(found.upper) <= 1.01 * exact + 1e-9 or steps > 100


@pytest.mark.parametrize("truth", [0.55, 0.75, 0.999, 0.1])
def test_divergence_is_a_sum_over_two_outcomes(truth: float) -> None:
    curve = RandomisedResponse(truth).renyi()
    for order in (1.01, 2.0, 7.5, 60.0):
        p, q = (truth, 1.0 - truth), (1.0 - truth, truth)
        exact = math.log(sum(a**order * b ** (1.0 - order) for a, b in zip(p, q, strict=True))) / (order - 1.0)
        assert exact * (1 - 1e-12) <= float(curve(np.array(order))) <= exact * (1 + 1e-9)


def test_a_coin_toss_costs_nothing() -> None:
    coin = RandomisedResponse(0.5)
    assert not coin.releases
    assert dpviz.epsilon("tight", mechanism=coin, steps=100, delta=1e-5) == 0.0


@pytest.mark.parametrize("truth", [0.0, 1.0, -0.1, 1.5, math.nan])
def test_what_is_no_chance_of_a_lie_is_refused(truth: float) -> None:
    with pytest.raises(ValueError, match="truth"):
        RandomisedResponse(truth)


def test_it_shows_no_less_than_laplace_noise_of_the_same_epsilon() -> None:
    """Of all mechanisms with one ε and δ = 0 it shows most (Kairouz, Oh, Viswanath 2015)."""
    coin, noise = RandomisedResponse(0.75), dpviz.Laplace(1.0 / math.log(3.0))
    for epsilon in (0.0, 0.3, 1.0):
        assert coin.pair().log_delta(epsilon) >= noise.pair().log_delta(epsilon)
