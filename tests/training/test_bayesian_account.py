import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from dpviz import bayesian_cost, bayesian_epsilon
from dpviz.accounting.bayesian_psi import step_costs
from dpviz.accounting.mechanism import SampledGaussian
from dpviz.accounting.renyi import Moments
from dpviz.training.bayesian_account import ORDERS, BayesianAccount, certain_cost, estimated, psi

BOUND = 0.5


def account(total_steps=20, **changed):
    return BayesianAccount(
        **{"total_steps": total_steps, "delta_mu": 1e-8, "failure": 1e-12, "max_grad_norm": BOUND} | changed
    )


@given(
    st.floats(1e-6, 50.0), st.sampled_from([0.0, 1e-300, 1e-6, 0.01, 0.3, 0.999, 1.0]), st.integers(1, 6),
    st.integers(0, 2**32),
)  # fmt: skip
def test_psi_is_the_library_s(largest, rate, size, seed):
    scaled = np.random.default_rng(seed).uniform(0.0, largest, size)
    np.testing.assert_allclose(psi(scaled, rate), step_costs(scaled, ORDERS, rate), rtol=1e-11, atol=1e-300)


@given(
    st.floats(0.01, 3.0), st.floats(0.001, 1.0), st.integers(2, 40), st.integers(1, 3000), st.integers(0, 2**32),
    st.sampled_from([1e-15, 1e-6, 0.1]),
)  # fmt: skip
def test_the_cost_is_the_one_of_the_public_function(noise_std, rate, size, total_steps, seed, failure):
    distances = np.random.default_rng(seed).weibull(1.0, size)
    fast = estimated(distances, noise_std=noise_std, rate=rate, total_steps=total_steps, failure=failure).cost
    slow = bayesian_cost(
        distances, noise_std=noise_std, sample_rate=rate, total_steps=total_steps, orders=ORDERS,
        estimator_failure=failure,
    )  # fmt: skip
    np.testing.assert_allclose(fast, slow, rtol=1e-9)


def test_equal_estimates_in_every_step_read_as_one_plan():
    """T steps with the same distances are `bayesian_epsilon` at T with T estimates."""
    distances = np.random.default_rng(3).uniform(0.1, 0.3, 2000)
    step, found = SampledGaussian(2.0, 0.05), account(30)
    for _ in range(30):
        found.charge(step, distances)
    expected = bayesian_epsilon(
        distances, noise_std=2.0 * BOUND, sample_rate=0.05, steps=30, delta_mu=1e-8, estimator_failure=1e-12,
        estimates=30,
    )  # fmt: skip
    assert found.epsilon() == pytest.approx(expected, rel=1e-9)


def test_nothing_costs_nothing():
    assert account().epsilon() == 0.0


@pytest.mark.parametrize("distances", [[], [0.3], [0.1, float("nan")], [2 * BOUND, 0.9, 0.95]])
def test_without_a_usable_estimate_the_largest_possible_distance_is_charged(distances):
    step, found, worst = SampledGaussian(1.5, 0.1), account(), account()
    found.charge(step, distances)
    worst.charge(step, [])
    assert found.epsilon() == worst.epsilon()
    # ... which is two clipped gradients that point in opposite directions.
    np.testing.assert_allclose(
        certain_cost(step, 2.0), step_costs(np.array([(2.0 / 1.5) ** 2]), ORDERS, 0.1)[0], rtol=1e-11
    )


def test_by_norms_the_worst_case_is_the_moments_accountant():
    """One clipped gradient more or less: Triastcyn & Faltings 2020, §4.4.2."""
    step, found, several = SampledGaussian(1.5, 0.1), account(farthest=1.0), account(farthest=1.0)
    for _ in range(20):
        found.charge(step, [])
        several.charge(step, [0.1] * 30 + [0.2] * 30)
    moments = 20 * Moments().step_divergence(1.5, 0.1) * ORDERS
    assert found.epsilon() == pytest.approx(((moments - np.log(1e-8 - 20e-12)) / ORDERS).min(), rel=1e-12)
    assert several.epsilon() < found.epsilon()


def renyi_by_quadrature(first, second, sigma, rate, order):
    """λ·R(λ + 1) of (1 − q) N(0, σ²) + q N(first, σ²) from the same with `second`."""
    z = np.linspace(-40.0 * sigma, 40.0 * sigma, 200_001)
    one, other = (
        np.logaddexp(np.log1p(-rate) - z**2 / (2 * sigma**2), np.log(rate) - (z - to) ** 2 / (2 * sigma**2))
        for to in (first, second)
    )
    density = (order + 1) * one - order * other - np.log(sigma * np.sqrt(2 * np.pi))
    return float(np.log(np.exp(density).sum() * (z[1] - z[0])))


def test_the_distance_of_two_gradients_does_not_bound_what_replacing_one_by_the_other_costs():
    """Why norms are offered: add or remove is exact at the norm, replacing exceeds the pair's distance."""
    for order in (1, 4, 8):
        added = step_costs(np.array([0.25]), np.array([order]), 0.1024)[0, 0]
        assert renyi_by_quadrature(1.0, 0.0, 2.0, 0.1024, order) == pytest.approx(added, rel=1e-6)
        replaced = step_costs(np.array([(0.7 / 2.0) ** 2]), np.array([order]), 0.1024)[0, 0]
        assert renyi_by_quadrature(1.0, 0.3, 2.0, 0.1024, order) > 1.1 * replaced


def test_close_gradients_cost_less_and_noise_helps():
    near, far, louder = account(), account(), account()
    near.charge(SampledGaussian(1.0, 0.1), np.full(32, 0.01))
    far.charge(SampledGaussian(1.0, 0.1), np.full(32, 0.4))
    louder.charge(SampledGaussian(2.0, 0.1), np.full(32, 0.4))
    assert near.epsilon() < louder.epsilon() < far.epsilon()


def test_past_the_plan_a_step_is_refused_until_it_is_planned_again():
    steps = [(SampledGaussian(1.0 + 0.1 * i, 0.1), np.random.default_rng(i).uniform(0.1, 0.4, 32)) for i in range(5)]
    found = account(3)
    for step in steps[:3]:
        found.charge(*step)
    before = found.epsilon()
    with pytest.raises(ValueError, match="at most 3 steps"):
        found.charge(*steps[3])
    assert found.epsilon() == before
    found.charge_certain(SampledGaussian(50.0, 1.0))
    found.replan(5)
    for step in steps[3:]:
        found.charge(*step)
    fresh = account(5)
    for step in steps:
        fresh.charge(*step)
    fresh.charge_certain(SampledGaussian(50.0, 1.0))
    assert found.epsilon() == pytest.approx(fresh.epsilon(), rel=1e-12)


def test_a_count_costs_its_renyi_divergence():
    """λ(λ + 1)/(2σ²), the Gaussian mechanism's moments."""
    np.testing.assert_allclose(certain_cost(SampledGaussian(100.0, 1.0), 1.0), ORDERS * (ORDERS + 1) / 2e4, rtol=1e-12)


@given(st.integers(2, 40), st.integers(1, 400), st.integers(0, 2**32))
def test_the_share_of_the_largest_distance_is_that_of_its_term_in_the_mean(size, total_steps, seed):
    distances = np.random.default_rng(seed).uniform(0.0, 1.0, (3, size))
    found = estimated(distances, noise_std=1.0, rate=0.1, total_steps=total_steps, failure=1e-12)
    for row, share in zip(distances, found.share, strict=True):
        terms = softmax(total_steps * step_costs(row**2, ORDERS, 0.1), axis=0)
        np.testing.assert_allclose(share, terms[row.argmax()], rtol=1e-8)


def test_an_estimate_on_one_pair_is_told_from_one_on_many():
    step = SampledGaussian(1.0, 0.1)
    even, alone, certain = account(200), account(200), account(200)
    for _ in range(4):
        even.charge(step, np.full(32, 0.2))
        alone.charge(step, [0.01] * 31 + [0.6])
        certain.charge(step, [])
    assert even.tail_share() == pytest.approx(1 / 32)
    assert 0.9 < alone.tail_share() <= 1.0
    assert certain.tail_share() == 0.0  # what cannot be exceeded rests on no pair
    assert account().tail_share() == 0.0
    alone.replan(300)
    assert 0.9 < alone.tail_share() <= 1.0


def test_bad_plans_are_refused():
    with pytest.raises(ValueError, match="delta_mu"):
        account(delta_mu=1e-12)
    found = account(3)
    found.charge(SampledGaussian(1.0, 0.1), [])
    found.charge(SampledGaussian(1.0, 0.1), [])
    with pytest.raises(ValueError, match="total_steps=1 >= 2"):
        found.replan(1)
    with pytest.raises(ValueError, match="delta_mu"):
        found.replan(20_000)
