"""The certified Bayesian bound holds at γ for every distribution and m, where the printed estimate does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc

from dpviz.accounting.bayesian.accountant import (
    ORDERS,
    BayesianSweep,
    bayesian_bound,
    bayesian_cost,
    bayesian_epsilon,
    bayesian_samples,
    envelope,
    lower_band,
)
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.bayesian.solve import solve_bayesian

Array = npt.NDArray[np.float64]

# Where the printed estimate was first seen to fail: P(d = C) = 1e-3.
SETTING: dict[str, Any] = {"noise_std": 1.0, "sample_rate": 0.05, "total_steps": 200, "orders": (1, 2, 3, 5, 8)}


def two_point(size: int, rng: np.random.Generator) -> Array:
    return (rng.random(size) < 1e-3).astype(float)


def clipped_weibull(size: int, rng: np.random.Generator) -> Array:
    return np.minimum(rng.weibull(0.5, size) / 8.0, 1.0)


def uniform(size: int, rng: np.random.Generator) -> Array:
    return rng.random(size)


def point(size: int, rng: np.random.Generator) -> Array:
    return np.full(size, 0.3)


def coin(size: int, rng: np.random.Generator) -> Array:
    """The one that a band of one side fears most: an atom at zero of about the mass that m draws cannot exclude."""
    return (rng.random(size) < 0.05).astype(float)


DISTRIBUTIONS = (two_point, clipped_weibull, uniform, point, coin)


def true_cost(draw: Any) -> Array:
    """T·c(λ, T) = ln E exp(Tψ(λ, d)), exactly or from quantiles of two million draws, of which it is a lower bound."""
    if draw in (two_point, coin):
        share = 1e-3 if draw is two_point else 0.05
        values, masses = np.array([0.0, 1.0]), np.array([1.0 - share, share])
    else:
        values = np.quantile(draw(2_000_000, np.random.default_rng(99)), np.arange(4000) / 4000)
        masses = np.full(values.size, 1.0 / values.size)
    grown = 200 * step_costs(values**2, np.array(SETTING["orders"]), 0.05)
    return np.asarray(grown[-1] + np.log(masses @ np.exp(grown - grown[-1])))


def failures(draw: Any, size: int, failure: float, trials: int, *, certified: bool) -> float:
    """Share of samples that give a cost below the true one at any order."""
    truth, rng = true_cost(draw), np.random.default_rng(size)
    option = {"largest_distance": 1.0} if certified else {}
    below = [
        (
            200 * bayesian_cost(draw(size, rng), estimator_failure=failure, **SETTING, **option) < truth * (1 - 1e-9)
        ).any()
        for _ in range(trials)
    ]
    return float(np.mean(below))


@pytest.mark.parametrize(("size", "wrong"), [(100, 0.85), (1000, 0.25)])
def test_the_printed_estimate_is_too_low_far_more_often_than_it_says(size: int, wrong: float) -> None:
    """Why there is another bound: P(d = C) = 1e-3, γ = 0.01."""
    assert failures(two_point, size, 0.01, 60, certified=False) > wrong
    assert failures(two_point, size, 0.01, 60, certified=True) == 0.0


@pytest.mark.parametrize("draw", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [20, 50, 1000])
@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
def test_the_certified_bound_is_too_low_no_more_often_than_it_says(draw: Any, size: int, failure: float) -> None:
    trials = 60
    allowed = failure + 3.5 * math.sqrt(failure * (1 - failure) / trials)
    assert failures(draw, size, failure, trials, certified=True) <= allowed


@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("size", [1, 2, 20, 100, 2000])
def test_the_band_is_left_with_probability_gamma(size: int, failure: float) -> None:
    """Sorted uniform numbers are F(d_(i)) of any continuous F; all ranks together."""
    trials = 4000 if size <= 100 else 1000
    rng = np.random.default_rng(size)
    drawn = np.sort(rng.random((trials, size)), axis=1)
    left = float((drawn < lower_band(np.arange(1, size + 1), size, failure)).any(axis=1).mean())
    assert left <= failure + 3.5 * math.sqrt(failure / trials)
    assert left >= 0.2 * failure - 3.5 * math.sqrt(failure / trials)  # and γ is not given away


@pytest.mark.parametrize("failure", [0.3, 1e-6, 1e-15, 1e-300])
@pytest.mark.parametrize("size", [1, 5, 100, 100_000, 10**9])
def test_the_band_by_its_definitions(size: int, failure: float) -> None:
    """Each rank's bound is met with the probability that the exact tails say; their sum is γ."""
    ranks = np.unique(np.round(np.geomspace(1, size, 40)))
    band = lower_band(ranks, size, failure)
    massart = ranks / size - math.sqrt(math.log(4.0 / failure) / (2 * size))
    exact = band > massart + 1e-12
    assert (np.diff(band) >= 0).all()
    assert (band >= 0).all()
    assert (band < 1).all()
    inner = exact & (ranks < size)
    assert (betainc(ranks[inner], size - ranks[inner] + 1, band[inner]) <= failure / 4).all()
    assert band[-1] ** size <= failure / 2 * (1 + 1e-6) or not exact[-1]
    assert lower_band(0, size, failure) == 0.0


def test_large_samples_come_close_to_their_law() -> None:
    """9,000 of a million draws above a distance: with ranks in ratios of 1.25 up to 11,247 had to be reckoned with."""
    band = float(lower_band(1_000_000 - 9_000, 1_000_000, 1e-15))
    assert 9e-3 < 1.0 - band < 1.01e-2


@given(
    size=st.integers(2, 300), seed=st.integers(0, 999), failure=st.sampled_from([0.5, 1e-3, 1e-15]),
    share=st.floats(0, 1),
)  # fmt: skip
@settings(max_examples=40, deadline=None)
def test_the_envelope_is_a_distribution_above_the_sample_s(size: int, seed: int, failure: float, share: float) -> None:
    rng = np.random.default_rng(seed)
    distances = np.where(rng.random(size) < share, 1.0, rng.random(size))
    values, masses = envelope(distances, 1.0, failure)
    assert (masses >= 0).all()
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert values[-1] == 1.0
    for at in rng.random(5):
        assert masses[values > at].sum() >= np.mean(distances > at) - 1e-12


@pytest.mark.parametrize("size", [2, 64, 500, 3000])
@pytest.mark.parametrize("steps", [1, 200, 10**6])
@pytest.mark.parametrize("reading", ["planned", "running"])
def test_between_the_sample_s_own_mean_and_the_worst_case(size: int, steps: int, reading: str) -> None:
    distances = clipped_weibull(size, np.random.default_rng(size))
    known = {"noise_std": 2.0, "sample_rate": 0.02, "steps": [1, steps], "delta_mu": 1e-5, "reading": reading}
    bound = bayesian_bound(distances, largest_distance=1.0, **known)
    worst = bayesian_bound([1.0, 1.0], **(known | {"estimator_failure": 1e-300}))
    grown = steps * step_costs((distances / 2.0) ** 2, np.array(ORDERS), 0.02)
    mean = grown.max(axis=0) + np.log(np.exp(grown - grown.max(axis=0)).mean(axis=0))
    plain = max(float(((mean + math.log(1e5)) / np.array(ORDERS)).min()), 0.0)
    assert bound.certified
    assert not worst.certified
    assert plain * (1 - 1e-9) <= bound.epsilon[-1]
    assert (bound.epsilon <= worst.epsilon * (1 + 1e-12)).all()
    assert bound.ceiling == pytest.approx(worst.epsilon, rel=1e-12)
    assert np.isnan(bound.effective_size).all()
    assert ((bound.largest_share > 0) & (bound.largest_share <= 1)).all()


def test_the_direct_sum_over_the_envelope() -> None:
    """ε_μ and ĉ are those of the envelope's mean; the table of many distances is never below it."""
    for size in (50, 5000):
        distances = uniform(size, np.random.default_rng(1))
        values, masses = envelope(distances, 1.5, 1e-4)
        grown = 300 * step_costs((values / 2.0) ** 2, np.array(ORDERS), 0.1)
        moments = grown[-1] + np.log(masses @ np.exp(grown - grown[-1]))
        known = {"noise_std": 2.0, "sample_rate": 0.1, "estimator_failure": 1e-4, "largest_distance": 1.5}
        cost = bayesian_cost(distances, total_steps=300, orders=ORDERS, **known)
        assert (cost * 300 >= moments * (1 - 1e-11)).all()
        assert cost * 300 == pytest.approx(moments, rel=1e-3)
        epsilon = bayesian_epsilon(distances, steps=300, delta_mu=1e-3, estimates=3, **known)
        by_hand = ((moments - math.log(1e-3 - 3e-4)) / np.array(ORDERS)).min()
        assert epsilon == pytest.approx(by_hand, rel=1e-3 if size > 2000 else 1e-12)
        sweep = BayesianSweep(
            distances, noise_std=[2.0], sample_rate=0.1, estimator_failure=1e-4, largest_distance=1.5
        ).bound(steps=300, delta_mu=1e-3)
        alone = bayesian_bound(distances, steps=300, delta_mu=1e-3, **known)
        assert sweep.epsilon[0] == pytest.approx(float(alone.epsilon), rel=1e-3)
        assert sweep.largest_share[0] == pytest.approx(float(alone.largest_share), rel=1e-2)
        assert sweep.certified


def test_a_hundred_zeros_say_little() -> None:
    """The estimate of 0.72 for a hundred zeros; behind such samples the truth can be 7.75."""
    known = {"noise_std": 1.0, "sample_rate": 0.05, "steps": 200, "delta_mu": 1e-10}
    zeros = np.zeros(100)
    assert bayesian_epsilon(zeros, **known) == pytest.approx(0.7196, abs=1e-4)
    bound = bayesian_bound(zeros, largest_distance=1.0, **known)
    assert 7.75 < bound.epsilon < bayesian_epsilon(np.ones(2), **known)
    assert bound.tail_dominated


def test_d_max_throughout_decides_where_the_sample_cannot_help() -> None:
    """All at d_max: no sample does better, and without a sample γ is not paid."""
    known = {"noise_std": 1.0, "sample_rate": 0.05, "steps": 200, "delta_mu": 1e-3, "estimator_failure": 9e-4}
    bound = bayesian_bound(np.ones(1000), largest_distance=1.0, **known)
    assert bound.worst_case
    assert bound.epsilon == pytest.approx(
        bayesian_epsilon(np.ones(2), **(known | {"estimator_failure": 1e-300})), rel=1e-12
    )
    sweep = BayesianSweep(
        np.ones(1000), noise_std=[1.0], sample_rate=0.05, estimator_failure=9e-4, largest_distance=1.0
    )
    assert sweep.bound(steps=200, delta_mu=1e-3).epsilon == pytest.approx(float(bound.epsilon), rel=1e-12)
    assert sweep.bound(steps=200, delta_mu=1e-3).worst_case.all()


def test_nothing_finite_is_claimed_where_numbers_end() -> None:
    known: dict[str, Any] = {"sample_rate": 0.5, "largest_distance": 1e200}
    assert np.isinf(bayesian_epsilon([0.0, 1.0], noise_std=1e-9, steps=3, delta_mu=1e-5, **known))
    assert np.isinf(bayesian_cost([0.0, 1.0], noise_std=1e-9, total_steps=3, orders=[1], **known)).all()
    sweep = BayesianSweep([0.0, 1.0], noise_std=[1e-9, 1e201], **known)
    assert np.isinf(sweep.bound(steps=3, delta_mu=1e-5).epsilon).tolist() == [True, False]


@pytest.mark.parametrize("missing", ["noise_std", "steps", "sample_rate", "delta_mu"])
@pytest.mark.parametrize("distances", [np.zeros(3000), clipped_weibull(800, np.random.default_rng(5))])
def test_solve_keeps_the_certified_bound(missing: str, distances: Array) -> None:
    known = {"noise_std": 4.0, "steps": 3000, "sample_rate": 0.02, "delta_mu": 1e-5, "largest_distance": 1.0}
    del known[missing]
    value = solve_bayesian(missing, distances, target_epsilon=1.2, **known)
    assert 0.0 < value < math.inf
    assert bayesian_epsilon(distances, **known, **{missing: value}) <= 1.2
    further = value * (0.99 if missing in ("noise_std", "delta_mu") else 1.01)
    assert (
        bayesian_epsilon(distances, **known, **{missing: math.ceil(further) if missing == "steps" else further}) > 1.2
    )


def test_samples_needed_are_what_the_bound_needs() -> None:
    """With m draws laid out as the few were, the bound is at the target; with a tenth fewer above it."""
    few = np.linspace(0.0, 0.5, 20)
    known = {"noise_std": 1.0, "sample_rate": 0.05, "steps": 200, "delta_mu": 1e-5, "largest_distance": 1.0}
    target = 0.75 * bayesian_epsilon(np.ones(2), **(known | {"largest_distance": None}))
    size = bayesian_samples(few, target_epsilon=target, **known)
    assert size > 1000
    for factor, above in ((1.0, False), (0.9, True)):
        count = int(size * factor / 20)
        many = np.repeat(few, count + 1)
        assert (bayesian_epsilon(many, **known) > target) is above
    assert math.isinf(bayesian_samples(np.ones(20), target_epsilon=target, **known))
