"""One release: its numbers are closed forms, and those of the same mechanism on Compose and Attack."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import norm

import dpviz
from dpviz.charts.plot import LinePlot
from dpviz.questions.attack.release import ReleaseFacts
from dpviz.questions.guessing import accuracy


def facts(**settings: Any) -> ReleaseFacts:
    return dpviz.ask("release", **settings).answer.facts


def plot(**settings: Any) -> LinePlot:
    found = dpviz.ask("release", **settings).answer.plot
    assert isinstance(found, LinePlot)
    return found


@pytest.mark.parametrize("people", [1, 3])
def test_epsilon_is_the_closed_form(people: int) -> None:
    given = {"people": people, "sensitivity": 2.0, "scale": 5.0}
    response = facts(kind="response", truth=0.8, people=people)
    assert response.largest == pytest.approx(people * math.log(4.0), rel=1e-12)
    assert facts(kind="laplace", **given).largest == pytest.approx(people * 2.0 / 5.0, rel=1e-12)
    assert facts(kind="exponential", **given).largest == pytest.approx(people * 4.0 / 5.0, rel=1e-12)
    assert facts(kind="gaussian", **given).largest == math.inf


def test_right_guesses_are_the_closed_form() -> None:
    assert facts(kind="response", truth=0.8).success == pytest.approx(0.8)
    assert facts(kind="laplace").success == pytest.approx(1.0 - 0.5 * math.exp(-0.5))
    assert facts(kind="gaussian").success == pytest.approx(norm.cdf(0.5))
    assert facts(kind="exponential").success == pytest.approx(1.0 / (1.0 + math.exp(-2.0)))


@pytest.mark.parametrize(
    ("kind", "mechanism"), [("laplace", dpviz.Laplace(2.5)), ("gaussian", dpviz.SampledGaussian(2.5))]
)
def test_numbers_are_those_of_the_same_mechanism_elsewhere(kind: str, mechanism: Any) -> None:
    here = facts(kind=kind, scale=5.0, sensitivity=2.0, epsilon=0.3)
    tight = dpviz.epsilon("tight", mechanism=mechanism, steps=1, delta=1e-5)
    assert here.success == pytest.approx(accuracy(mechanism, 1).upper, rel=1e-8)
    assert here.outside == pytest.approx(dpviz.delta("tight", mechanism=mechanism, steps=1, epsilon=0.3), rel=1e-7)
    assert here.at_delta >= tight * (1 - 1e-9)
    assert kind == "laplace" or here.at_delta == tight
    for threshold in (-3.0, 1.0, 4.0):
        one = facts(kind=kind, scale=5.0, sensitivity=2.0, threshold=threshold)
        best = dpviz.best_tpr(mechanism=mechanism, steps=1, fpr=one.false_alarms)
        assert one.hits <= best * (1 + 1e-9)
        assert one.hits == pytest.approx(best, rel=2e-3)


@pytest.mark.parametrize("kind", ["response", "laplace", "gaussian", "exponential"])
def test_no_threshold_is_right_more_often_than_the_best_attack(kind: str) -> None:
    each = [facts(kind=kind, threshold=float(t)) for t in np.linspace(-4.0, 5.0, 37)]
    most = max(one.accuracy for one in each)
    assert most <= each[0].success * (1 + 1e-12)
    assert kind == "exponential" or most == pytest.approx(each[0].success, rel=1e-3)


@pytest.mark.parametrize("kind", ["response", "laplace", "exponential"])
def test_the_band_of_its_epsilon_is_never_left(kind: str) -> None:
    largest = facts(kind=kind).largest
    assert facts(kind=kind, epsilon=largest).outside == 0.0
    assert facts(kind=kind, epsilon=0.5 * largest).outside > 0.0
    band, left = plot(kind=kind, epsilon=largest).areas
    there = np.asarray(plot(kind=kind).lines[1].y)
    assert (there <= np.asarray(band.upper) * (1 + 1e-9)).all()
    assert (there >= np.asarray(band.lower) * (1 - 1e-9)).all()
    assert np.asarray(left.upper) == pytest.approx(np.asarray(left.lower))


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_rounding_costs_nothing(kind: str) -> None:
    exact, rounded = facts(kind=kind, epsilon=0.5), facts(kind=kind, epsilon=0.5, rounding=2.0)
    assert rounded.outside < exact.outside
    assert (rounded.largest, rounded.at_delta, rounded.success) == (exact.largest, exact.at_delta, exact.success)


@pytest.mark.parametrize("kind", ["response", "laplace", "gaussian", "exponential"])
def test_one_more_draw_leaves_the_others_where_they_are(kind: str) -> None:
    few, more = ([float(x) for dots in plot(kind=kind, draws=n).dots for x in np.asarray(dots.x)] for n in (40, 41))
    few_facts, more_facts = facts(kind=kind, draws=40), facts(kind=kind, draws=41)
    assert more_facts.right - few_facts.right in (0, 1)
    assert plot(kind=kind, draws=40).dots[0].x == pytest.approx(plot(kind=kind, draws=40).dots[0].x)
    if kind in ("laplace", "gaussian"):
        assert len(set(few) - set(more)) == 0


def test_draws_are_right_as_often_as_the_threshold_says() -> None:
    one = facts(kind="gaussian", draws=500)
    deviations = (one.right / 500 - one.accuracy) / math.sqrt(one.accuracy * (1.0 - one.accuracy) / 500)
    assert abs(deviations) < 3.0


def test_dots_pile_up_to_the_mean_of_both_curves() -> None:
    shown = plot(kind="response", draws=500)
    tops = [
        max(float(y) for dots in shown.dots for x, y in zip(dots.x, dots.y, strict=True) if abs(x - at) < 0.5)
        for at in (0, 1)
    ]
    assert tops == pytest.approx([0.5, 0.5], abs=0.08)


def test_the_threshold_on_the_chart_is_the_setting() -> None:
    [guide] = plot(threshold=1.25).guides
    assert (guide.at, guide.sets and guide.sets.key) == (1.25, "onecut")


def test_dots_outside_the_chart_are_not_drawn_and_counted() -> None:
    shown = plot(kind="gaussian", draws=500, scale=100.0)
    low, high = shown.plane().x.low, shown.plane().x.high
    assert all(low <= float(x) <= high for dots in shown.dots for x in dots.x)
