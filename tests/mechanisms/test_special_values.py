"""Where a parameter takes a special value, a mechanism is another one: both cost the same, by every accountant."""

import math
import warnings

import mpmath
import numpy as np
import pytest

from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.trade_off import best_advantage, best_tpr, gaussian_mu
from dpviz.accounting.methods import Renyi
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon, tight_epsilon_of_events
from dpviz.accounting.tuning import log_odds_of_mean, tuned_epsilon
from dpviz.mechanisms import (
    FixedPartition,
    FixedSize,
    Laplace,
    Mechanism,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    SecretPartition,
    TruncatedPoisson,
    WithReplacement,
)
from dpviz.mechanisms.person import of_person
from dpviz.mechanisms.random_allocation import one_step_sum

DELTA = 1e-5
SAME: list[tuple[Mechanism, Mechanism]] = [
    (TruncatedPoisson(1.1, 1.0, 100, 50), SampledGaussian(0.55)),
    (TruncatedPoisson(1.1, 0.01, 100, 100), SampledGaussian(1.1, 0.01)),
    (TruncatedPoisson(1.1, 1.0, 100, 100), SampledGaussian(1.1)),
    (FixedSize(1.1, 100, 100), SampledGaussian(0.55)),
    (WithReplacement(1.1, 1, 3), SampledGaussian(0.55 / 3)),
    (WithReplacement(1.1, 1000, 1), SampledGaussian(0.55, 0.001)),
    (PersonRows(1.1, 0.01, 1), SampledGaussian(1.1, 0.01)),
    (PersonRows(1.1, 1.0, 5), SampledGaussian(0.22)),
    (ReplaceOneGaussian(1.1), SampledGaussian(0.55)),
    (of_person(ReplaceOneGaussian(1.1), 2), SampledGaussian(0.275)),
    (of_person(WithReplacement(1.1, 1000, 1), 10), SampledGaussian(0.55, 0.01)),
    (of_person(Laplace(10.0), 5), Laplace(2.0)),
    (RandomAllocation(1.1, 1), SampledGaussian(1.1)),
    (SecretPartition(1.1, 10, 4), RandomAllocation(0.55, 10)),
    (FixedPartition(1.1), SampledGaussian(1.1)),
]


@pytest.mark.parametrize(("mechanism", "other"), SAME, ids=lambda each: each.text)
@pytest.mark.parametrize("steps", [1, 10])
def test_special_values_cost_what_the_simpler_mechanism_costs(
    mechanism: Mechanism, other: Mechanism, steps: int
) -> None:
    one, two = tight_epsilon(mechanism, steps, DELTA), tight_epsilon(other, steps, DELTA)
    assert float(one.upper) == pytest.approx(float(two.upper), rel=0.01)
    assert float(one.lower) <= float(two.upper) * (1.0 + 1e-9)
    if not Renyi().supports(mechanism) and not Renyi().supports(other):
        renyi = [float(Renyi().epsilon_of(each, steps=steps, delta=DELTA).epsilon) for each in (mechanism, other)]
        assert renyi[0] == pytest.approx(renyi[1], rel=1e-6)


def test_a_cut_sample_of_all_counts_twice_the_sensitivity() -> None:
    found = tight_epsilon(TruncatedPoisson(1.1, 1.0, 100, 50), 10, DELTA)
    assert float(found.upper) == pytest.approx(40.310, abs=1e-3)


def test_rows_of_one_person_move_an_unsampled_number_together() -> None:
    """Against P and Q convolved: losses of Laplace noise of scale 2, sampled finely."""
    found = tight_epsilon(of_person(Laplace(10.0), 5), 100, DELTA)
    z = np.linspace(-40.0, 41.0, 1_000_001)
    loss = (np.abs(z) - np.abs(z - 1.0)) / 2.0
    mass = np.exp(-np.abs(z - 1.0) / 2.0)
    mean = float(mass @ loss) / mass.sum()
    assert 100 * mean < float(found.lower) <= float(found.upper) < 50.0
    assert float(found.upper) <= 1.01 * float(found.lower)
    assert float(tight_delta(of_person(Laplace(10.0), 5), 1, 0.0).upper) == pytest.approx(-math.expm1(-0.25), rel=1e-6)


@pytest.mark.parametrize("mechanism", [SampledGaussian(1.1, 0.01), PersonRows(1.1, 0.01, 1), Laplace(2.0, 0.1)])
def test_mixed_mechanisms_that_are_one(mechanism: Mechanism) -> None:
    """Half of the steps under another name."""
    other = PersonRows(1.1, 0.01, 1) if isinstance(mechanism, SampledGaussian) else mechanism
    both = tight_epsilon_of_events([(mechanism, 50), (other, 50)], DELTA)
    alone = tight_epsilon(mechanism, 100, DELTA)
    assert float(both.lower) <= float(alone.upper)
    assert float(alone.lower) <= float(both.upper) <= 1.01 * float(alone.upper)


def test_number_types_change_nothing() -> None:
    here = tight_epsilon(SampledGaussian(2.0, 0.25), 100, DELTA)
    for sigma, rate, steps in ((2, np.float32(0.25), np.int32(100)), (np.float64(2), 0.25, 100.0)):
        assert tight_epsilon(SampledGaussian(sigma, float(rate)), steps, DELTA) == here


@pytest.mark.parametrize(
    "mechanism",
    [
        RandomAllocation(1e160, 100),
        pytest.param(WithReplacement(1e-200, 1000, 10), marks=pytest.mark.sweep),
        PersonRows(30.0, 1e-100, 37),
        SampledGaussian(1e-200, 0.01),
        ReplaceOneGaussian(1e200, 0.01),
    ],
    ids=lambda each: each.text,
)
def test_extreme_noise_raises_nothing_and_warns_of_nothing(mechanism: Mechanism) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = tight_epsilon(mechanism, 10, DELTA)
        assert 0.0 <= float(found.lower) <= float(found.upper)
        assert 0.0 <= best_advantage(mechanism=mechanism, steps=10) <= 1.0
        assert 0.1 * (1.0 - 1e-12) <= best_tpr(mechanism=mechanism, steps=10, fpr=0.1) <= 1.0
        assert gaussian_mu(mechanism=mechanism, steps=10).mu >= 0.0
        assert 0.5 <= best_accuracy(mechanism=mechanism, steps=10).upper <= 1.0
        assert 0.0 <= float(tight_delta(mechanism, 10, 0.1).upper) <= 1.0


def test_gaussian_mu_is_finite_where_losses_are_large() -> None:
    """It lies above the ε at δ: μ with that pair is a lower bound."""
    for mechanism, steps, low in ((SampledGaussian(0.07, 0.01), 100, 34.4), (PersonRows(1.1, 0.001, 1000), 1000, 34.5)):
        assert low < gaussian_mu(mechanism=mechanism, steps=steps).mu < 1.01 * low


def test_the_logarithmic_law_has_the_mean_that_is_asked_for() -> None:
    """η = 0: E[K] = (1/γ − 1)/ln(1/γ)."""
    for mean in (1.5, 40.0, 1000.0):
        odds = mpmath.exp(mpmath.mpf(log_odds_of_mean(0.0, mean)))
        assert float(odds / mpmath.log1p(odds)) == pytest.approx(mean, rel=1e-6)
        assert float(odds / mpmath.log1p(odds)) >= mean


def test_a_search_by_the_logarithmic_law_costs_what_it_did() -> None:
    run = {"mechanism": SampledGaussian(1.1, 256 / 60_000), "steps": 3510, "delta": DELTA, "runs": 40.0}
    ends = [tuned_epsilon(**run, law="negative_binomial", shape=0.0, method=each) for each in ("tight", "renyi")]  # type: ignore[call-overload]
    assert ends == pytest.approx([1.9821, 2.5466], rel=1e-3)


@pytest.mark.parametrize("upper", [True, False])
def test_the_doubt_of_a_sum_is_at_least_that_of_both_summands(upper: bool) -> None:
    one = one_step_sum(1.1, upper=upper)
    two = one + one
    three = one + two
    assert two.doubt > 2.0 * one.doubt
    assert three.doubt > one.doubt + two.doubt


def test_a_count_that_is_none_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="^Expected steps=True to be a whole number"):
        tight_epsilon(SampledGaussian(1.1), True, DELTA)
