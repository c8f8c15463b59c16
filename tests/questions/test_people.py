"""Who pays how much: each ε is the library's at that person's noise, and nobody's is above what DP promises."""

import numpy as np
import pytest

import dpviz
from dpviz.fields import numbers
from dpviz.questions.compose.people import MEDIAN, OUTLIER, PEOPLE, TENTH
from tests.questions.asking import curves, linked

PLAN = {"sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}


def of(query: str = ""):
    return linked(PEOPLE, query)


@pytest.mark.parametrize("query", ["", "shape=1&quantile=0.5", "family=lognormal&shape=1", "family=halfnormal&sigma=1"])
def test_a_persons_epsilon_is_that_of_noise_as_loud_as_it_is_to_their_gradients(query):
    answer = of(query)
    facts, lines = answer.facts, curves(answer)
    [own] = [line for line in answer.plot.lines if line.key == "own"]
    x = np.asarray(own.x)
    for place in (0, x.size // 3, x.size // 2, -1):
        louder = max(facts.over_median / x[place], 1.0)
        sigma = facts.mechanism.noise_multiplier * louder
        assert lines["own"][place] == pytest.approx(dpviz.epsilon("renyi", noise_multiplier=sigma, **PLAN), rel=1e-6)
    assert (lines["own"] <= lines["dp"]).all()
    assert (np.diff(lines["own"]) >= 0.0).all(), "longer gradients never cost less"
    assert (lines["dp"] == facts.epsilon).all()


def test_the_outlier_pays_what_dp_promises_more_than_bayesian_dp_does_and_the_median_far_less():
    facts = of().facts
    assert facts.own[OUTLIER] == facts.epsilon > facts.promise > facts.own[TENTH] > 10 * facts.own[MEDIAN]
    known = {"family": "weibull", "shape": 0.5, "quantile": 0.95, "noise_multiplier": 4.0}
    plan = {"sample_rate": 0.01, "steps": 10_000, "delta_mu": 1e-5}
    assert facts.promise == pytest.approx(dpviz.bayesian_law_epsilon(**known, **plan), rel=1e-9)
    assert f"<b>ε ≤ {numbers.up(facts.own[MEDIAN])}</b>" in PEOPLE.headline(of())


@pytest.mark.parametrize("query", ["", "quantile=0.6", "shape=2&sigma=1"])
def test_the_share_of_people_above_the_weaker_promise_is_that_of_the_distribution(query):
    """By draws: whose own ε, read off the curve, is larger."""
    answer = of(query)
    [own] = [line for line in answer.plot.lines if line.key == "own"]
    shape = answer.facts.law.shape
    norms = np.random.default_rng(1).weibull(shape, 200_000) / np.log(2.0) ** (1.0 / shape)
    above = np.interp(np.log(norms), np.log(own.x), own.y) > answer.facts.promise
    assert answer.facts.above == pytest.approx(above.mean(), abs=0.006)


def test_without_sampling_nobody_pays_and_nobody_has_more():
    answer = of("q=0")
    assert answer.facts.epsilon == answer.facts.promise == answer.facts.above == 0.0
    assert "for <b>none</b> of the people" in PEOPLE.headline(answer)


def test_the_way_on_leads_to_the_town():
    [onward] = PEOPLE.below(of())
    assert (onward.page, onward.texts["aview"]) == ("attack", "residents")
