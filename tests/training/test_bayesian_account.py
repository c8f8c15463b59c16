import numpy as np
import pytest

from dpviz import bayesian_cost
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.renyi.accountant import Moments
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.bayesian import ORDERS, BayesianAccount, certain_cost
from tests.accounting.slow_pool import slow_pool_cost

BOUND = 0.5


def account(total_steps=20, **changed):
    return BayesianAccount(
        **{"total_steps": total_steps, "delta_mu": 1e-8, "failure": 1e-12, "max_grad_norm": BOUND, "definition": 1}
        | changed
    )


def charged(found, *steps):
    """The account, charged with (mechanism, distances) each."""
    for step in steps:
        found.charge(*step)
    return found


def test_all_steps_together_at_a_gamma_for_the_run():
    """The j-th mechanism takes γ/(j(j + 1)); σ within a fiftieth is one; a count is certain."""
    drawn = list(np.random.default_rng(3).uniform(0.0, BOUND, (30, 50)))
    steps = [SampledGaussian(sigma, 0.05) for sigma in [2.0] * 10 + [1.0] * 10 + [2.0] * 10]
    found = charged(account(30), *zip(steps, drawn, strict=True))
    found.charge_certain(SampledGaussian(100.0, 1.0))
    parts = [[d / (2 * BOUND) for d in part] for part in (drawn[:10] + drawn[20:], drawn[10:20])]
    costs = slow_pool_cost(parts[0], 1.0, 0.05, 30, 1e-12 / 2) + slow_pool_cost(parts[1], 4.0, 0.05, 30, 1e-12 / 6)
    costs = costs + ORDERS * (ORDERS + 1) / 2e4
    assert found.epsilon() == pytest.approx(((costs - np.log(1e-8 - 1e-12)) / ORDERS).min(), rel=1e-9)


def test_many_steps_prove_what_one_could_not():
    """Why steps are taken together: 64 small distances cannot exclude large ones, 64 a step can."""
    distances = np.full(64, 0.1 * BOUND)
    found = charged(account(400, farthest=1.0), *[(SampledGaussian(1.0, 0.05), distances)] * 400)
    alone = bayesian_cost(
        distances, noise_std=BOUND, sample_rate=0.05, total_steps=400, orders=ORDERS,
        estimator_failure=1e-12, largest_distance=BOUND,
    )  # fmt: skip
    apart = ((400 * alone - np.log(1e-8 - 400e-12)) / ORDERS).min()
    assert found.epsilon() < 0.85 * apart
    assert apart < found.worst_epsilon()


@pytest.mark.parametrize("distances", [[], [0.3], [float("nan")] * 3, [float("nan")] * 5000, [1e300, 2 * BOUND, 0.997]])
def test_without_a_usable_estimate_the_largest_possible_distance_is_charged(distances):
    step = SampledGaussian(1.5, 0.1)
    found, worst = (charged(account(), (step, given)) for given in (distances, []))
    assert found.epsilon() == pytest.approx(worst.epsilon(), rel=1e-9)
    assert worst.epsilon() == worst.worst_epsilon()
    # ... which is two clipped gradients that point in opposite directions.
    np.testing.assert_allclose(
        certain_cost(step, 2.0), step_costs(np.array([(2.0 / 1.5) ** 2]), ORDERS, 0.1)[0], rtol=1e-11
    )


def test_by_norms_the_worst_case_is_the_moments_accountant():
    """One clipped gradient more or less: Triastcyn & Faltings 2020, §4.4.2."""
    step, distances = SampledGaussian(1.5, 0.1), ([], [0.1] * 30 + [0.2] * 30)
    found, several = (charged(account(farthest=1.0), *[(step, given)] * 20) for given in distances)
    moments = 20 * Moments().step_divergence(1.5, 0.1) * ORDERS
    assert found.epsilon() == pytest.approx(((moments - np.log(1e-8)) / ORDERS).min(), rel=1e-12)
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


def test_past_the_plan_a_step_is_refused_until_it_is_planned_again():
    steps = [(SampledGaussian(1.0 + 0.1 * i, 0.1), np.random.default_rng(i).uniform(0.1, 0.4, 32)) for i in range(5)]
    found, fresh = charged(account(3), *steps[:3]), charged(account(5), *steps)
    before = found.epsilon()
    with pytest.raises(ValueError, match="at most 3 steps"):
        found.charge(*steps[3])
    with pytest.raises(ValueError, match="total_steps=2 >= 3"):
        found.replan(2)
    assert found.epsilon() == before
    found.charge_certain(SampledGaussian(50.0, 1.0))
    found.replan(5)
    charged(found, *steps[3:])
    fresh.charge_certain(SampledGaussian(50.0, 1.0))
    assert found.epsilon() == pytest.approx(fresh.epsilon(), rel=1e-12)
    assert found.epsilon() != pytest.approx(before, rel=1e-3)


def test_what_nobody_saw_is_told():
    step = SampledGaussian(1.0, 0.1)
    distances = (np.full(32, 0.05), np.full(32, 2 * BOUND), [])
    small, large, certain = (charged(account(5), *[(step, given)] * 4) for given in distances)
    assert 0.9 < small.tail_share() <= 1.0
    assert large.tail_share() == pytest.approx(0.0, abs=1e-9)  # all was seen
    assert certain.tail_share() == 0.0  # what cannot be exceeded rests on no sample
    assert account().tail_share() == account().epsilon() == 0.0
    assert small.facts()[3:] == (small.tail_share(), 0.0, 128)
    assert large.facts().longest == 1.0
    assert np.isnan(certain.facts().longest)
