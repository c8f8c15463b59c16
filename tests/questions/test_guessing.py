"""How pages say how often the best attack is right."""

import pytest

import dpviz
from dpviz.accounting.attack.best_accuracy import Accuracy
from dpviz.fields import numbers
from dpviz.questions import guessing


@pytest.mark.parametrize("found", [Accuracy(0.5, 1.0), Accuracy(0.5, 0.9)])
def test_the_pair_where_the_curve_is_not_resolved(found):
    assert guessing.guess(1.0, 0.1, found).pair == dpviz.attack_success(1.0, delta=0.1)
    chance = guessing.guess(0.3, 1e-5, found)
    assert not chance.by_curve
    assert chance.right == chance.alone == numbers.probability(dpviz.attack_success(0.3, delta=1e-5), up=True)
    assert chance.figure == ("Best attack accuracy", f"≤ {chance.right}", "from ε and δ alone")


def test_the_quick_one_is_never_below_and_hardly_above():
    for sigma in (0.7, 1.3, 4.0):
        setting = dpviz.SampledGaussian(sigma, 0.01), 1000
        soon, exact = guessing.accuracy_soon(*setting), guessing.accuracy(*setting)
        assert soon.lower <= exact.lower <= exact.upper <= soon.upper <= 1.01 * exact.upper


def test_never_said_below_what_it_is():
    for sigma, steps in ((4.0, 1), (4.0, 100), (1.0, 1000), (0.5, 5000)):
        exact = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=0.01, steps=steps)
        said = guessing.guess(50.0, 1e-5, exact).right
        assert float(said.lstrip("> ").removesuffix(" %")) >= 100 * exact.lower or said.startswith(">")
