"""The best attack's accuracy: known numbers, exact ones by integration, and the best attack itself, played."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import dpviz
from dpviz.accounting.pld.bounds import tight_epsilon, tight_profile
from dpviz.mechanisms import SampledGaussian

PRIORS = (0.01, 0.3, 0.5, 0.7, 0.9)
PLAYS = 40_000
USUAL = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000}


def test_known_numbers() -> None:
    """σ = 4, q = 0.01, T = 10 000: 55.05 %, where the moments pair says 77.88 % and the tight one 72.07 %."""
    found = dpviz.best_accuracy(**USUAL)
    assert round(found.lower, 4) == round(found.upper, 4) == 0.5505
    assert round(dpviz.attack_success(dpviz.epsilon("moments", delta=1e-5, **USUAL), delta=1e-5), 4) == 0.7788
    tight = tight_epsilon(SampledGaussian(4.0, 0.01), [10_000], 1e-5).upper[0]
    assert round(dpviz.attack_success(tight, delta=1e-5), 4) == 0.7207


def exact_gaussian(shift: float, prior: float) -> float:
    """N(shift, 1) or N(0, 1): "in" beyond the output where both weigh the same."""
    threshold = shift / 2 + math.log((1 - prior) / prior) / shift
    return float(prior * norm.sf(threshold - shift) + (1 - prior) * norm.cdf(threshold))


@given(st.floats(0.05, 100.0), st.integers(1, 1000), st.floats(1e-6, 1 - 1e-6))
def test_unsampled_steps_are_one_gaussian(sigma: float, steps: int, prior: float) -> None:
    exact = exact_gaussian(math.sqrt(steps) / sigma, prior)
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=1.0, steps=steps, prior=prior)
    assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
    assert found.upper - found.lower < 1e-8


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.3), (0.4, 0.05), (3.0, 0.6)])
def test_one_sampled_step_by_integration(sigma: float, rate: float, prior: float) -> None:
    def better(z: float) -> float:
        without = norm.pdf(z / sigma) / sigma
        with_it = (1 - rate) * without + rate * norm.pdf((z - 1) / sigma) / sigma
        return float(max(prior * with_it, (1 - prior) * without))

    cuts = np.linspace(-12 * sigma, 1 + 12 * sigma, 60)
    exact = sum(quad(better, a, b, epsabs=1e-13)[0] for a, b in zip(cuts[:-1], cuts[1:], strict=True))
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=1, prior=prior)
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
    assert found.upper - found.lower < 1e-3


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 0.2, 50), (0.5, 0.05, 20), (3.0, 1.0, 8), (2.0, 0.5, 30)])
def test_the_best_attack_played(sigma: float, rate: float, steps: int, prior: float) -> None:
    """Members drawn by the prior, real outputs, the likelihood ratio test: right as often as said, within (ε, δ)."""
    rng = np.random.default_rng(7)
    member = rng.random(PLAYS) < prior
    joins = member[:, None] & (rng.random((PLAYS, steps)) < rate)
    outputs = joins + sigma * rng.standard_normal((PLAYS, steps))
    loss = SampledGaussian(sigma, rate).pair().loss(outputs).sum(axis=1)
    right = float(np.mean((loss > math.log((1 - prior) / prior)) == member))
    doubt = 4.0 * math.sqrt(0.25 / PLAYS) * 2.0 * math.sqrt(max(right * (1 - right), 1e-4))
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
    found = dpviz.best_accuracy(prior=prior, **mechanism)
    assert found.lower - doubt <= right <= found.upper + doubt
    assert found.upper - found.lower < 1e-3
    for delta in (1e-6, 1e-2, 0.3):
        pair = dpviz.attack_success(dpviz.epsilon("tight", delta=delta, **mechanism), delta=delta, prior=prior)
        assert found.upper <= pair + 1e-3
        assert right <= pair + doubt


@settings(max_examples=25)
@given(
    st.floats(math.log(0.3), math.log(30.0)),
    st.floats(math.log(1e-4), 0.0),
    st.floats(0.0, math.log(1e5)),
    st.floats(1e-3, 1 - 1e-3),
)
def test_never_beyond_a_pair_nor_the_whole_curve(sigma: float, rate: float, steps: float, prior: float) -> None:
    """Every (ε, δ) of the mechanism, Rényi's too, allows at least the lower end; more steps never make it smaller."""
    mechanism = {"noise_multiplier": math.exp(sigma), "sample_rate": math.exp(rate), "steps": round(math.exp(steps))}
    found = dpviz.best_accuracy(prior=prior, **mechanism)
    assert max(prior, 1 - prior) * (1 - 1e-13) <= found.lower <= found.upper <= 1.0
    for delta in (1e-5, 0.1):
        pair = dpviz.attack_success(dpviz.epsilon("renyi", delta=delta, **mechanism), delta=delta, prior=prior)
        assert found.lower <= pair + 1e-12
    more = dpviz.best_accuracy(prior=prior, **(mechanism | {"steps": 2 * mechanism["steps"]}))
    assert more.upper >= found.lower - 1e-12


def test_agrees_with_the_profile() -> None:
    profile = tight_profile(SampledGaussian(1.0, 0.05), 100)
    whole = dpviz.profile_success(epsilon=profile.epsilon, delta=profile.upper, prior=0.3)
    found = dpviz.best_accuracy(noise_multiplier=1.0, sample_rate=0.05, steps=100, prior=0.3)
    assert found.lower - 1e-9 <= whole
    assert whole == pytest.approx(found.upper, abs=3e-3)


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nothing", [{"sample_rate": 0.0}, {"steps": 0}])
def test_where_nothing_is_released_nothing_is_gained(nothing: dict[str, float], prior: float) -> None:
    assert dpviz.best_accuracy(prior=prior, **(USUAL | nothing)) == (max(prior, 1 - prior),) * 2


@pytest.mark.parametrize("prior", [1e-300, 1e-9, 0.5, 0.9, 1 - 2**-53])
@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(1e-6, 0.5, 10), (0.01, 0.01, 1000), (4.0, 0.01, 10**9), (1000.0, 1e-9, 10**9), (1e6, 1.0, 2**53), (5e-4, 0.1, 1)],
)
def test_where_grids_end_it_is_wide_and_holds(sigma: float, rate: float, steps: int, prior: float) -> None:
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=steps, prior=prior)
    assert max(prior, 1 - prior) <= found.lower <= found.upper <= 1.0
    if sigma < 0.1 and prior == 0.5:  # the example is seen as soon as it joins once
        assert found.upper >= 1 - 0.5 * (1 - rate) ** steps - 1e-12


def test_rare_steps_add_up_at_most() -> None:
    """T = 1e9, q = 1e-9, σ = 1000: no grid shows anything, T times one step's total variation does."""
    found = dpviz.best_accuracy(noise_multiplier=1000.0, sample_rate=1e-9, steps=10**9)
    assert 0.5 <= found.upper < 0.5003


@pytest.mark.parametrize("sigma", [1e-300, 1e-200, 1e-150, 1e-4, 1e12, 1e150, 1e300])
@pytest.mark.parametrize("rate", [1e-300, 1e-12, 0.5, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("steps", [1, 1000, 2**53])
def test_any_noise_has_an_answer(sigma: float, rate: float, steps: int) -> None:
    """σ = 1e-200 unsampled divided by 0, 1e300 overflowed: both can be typed into a page."""
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=steps)
    assert 0.5 <= found.lower <= found.upper <= 1.0
    if sigma <= 1e-4 and steps == 1:  # whoever joins is seen
        assert found == pytest.approx((0.5 + 0.5 * rate, 0.5 + 0.5 * rate), abs=1e-9)
    if sigma >= 1e150:
        assert found.lower == 0.5


def test_little_noise_shows_those_who_join() -> None:
    """σ = 0.01, q = 0.01, T = 1000: all but the 4e-5 who never join are seen; no grid resolves such losses."""
    found = dpviz.best_accuracy(noise_multiplier=0.01, sample_rate=0.01, steps=1000)
    assert found.upper == pytest.approx(1 - 0.5 * 0.99**1000, rel=1e-8)
    assert found.upper >= 1 - 0.5 * 0.99**1000
