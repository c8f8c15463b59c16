"""How pages say how often the best attack is right."""

import math
from dataclasses import replace

import pytest

import dpviz
from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.accounting.claims import Claim
from dpviz.fields import numbers
from dpviz.questions import guessing


def test_the_curve_where_it_says_less():
    chance = guessing.guess(1.2586, 1e-5, guessing.accuracy(dpviz.SampledGaussian(4.0, 0.01), 10_000))
    assert chance.by_curve
    assert (chance.right, chance.alone) == ("55.1 %", "77.9 %")
    assert chance.figure == ("Best attack is right", "≤ 55.1 %", "ε and δ alone: 77.9 %")


@pytest.mark.parametrize("found", [Accuracy(0.5, 1.0), Accuracy(0.5, 0.9)])
def test_the_pair_where_the_curve_is_not_resolved(found):
    assert guessing.guess(1.0, 0.1, found).pair == dpviz.attack_success(1.0, delta=0.1)
    chance = guessing.guess(0.3, 1e-5, found)
    assert not chance.by_curve
    assert chance.right == chance.alone == numbers.probability(dpviz.attack_success(0.3, delta=1e-5), up=True)
    assert chance.figure == ("Best attack is right", f"≤ {chance.right}", "by ε and δ alone; chance: 50 %")


def test_no_other_number_is_in_the_place_of_one_that_is_to_come():
    chance = guessing.guess(1.0, 1e-5, None)
    assert chance.right == "…"
    assert chance.figure == ("Best attack is right", "…", "")


def test_the_quick_one_is_never_below_and_hardly_above():
    for sigma in (0.7, 1.3, 4.0):
        setting = dpviz.SampledGaussian(sigma, 0.01), 1000
        soon, exact = guessing.accuracy_soon(*setting), guessing.accuracy(*setting)
        assert soon.lower <= exact.lower <= exact.upper <= soon.upper <= 1.01 * exact.upper


def test_what_the_pair_alone_allows_is_told_where_the_curve_says_less():
    claim = Claim(epsilon=1.0, delta=1e-5, accountant="tight", covers="plan", success=0.6)
    assert guessing.alone(claim) == f"; alone they would allow {numbers.probability(claim.pair, up=True)}"
    assert guessing.alone(replace(claim, success=None)) == guessing.alone(None) == ""


def test_without_any_epsilon():
    assert guessing.guess(math.inf, 1e-5, Accuracy(1.0, 1.0)).figure.value == "≤ 100 %"
    assert guessing.guess(math.inf, 1e-5, Accuracy(0.7, 0.7)).figure == (
        "Best attack is right",
        "≤ 70.0 %",
        "by the whole privacy curve; chance: 50 %",
    )


def test_never_said_below_what_it_is():
    for sigma, steps in ((4.0, 1), (4.0, 100), (1.0, 1000), (0.5, 5000)):
        exact = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=0.01, steps=steps)
        said = guessing.guess(50.0, 1e-5, exact).right
        assert float(said.lstrip("> ").removesuffix(" %")) >= 100 * exact.lower or said.startswith(">")
