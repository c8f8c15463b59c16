"""μ and its regret stand beside ε, rounded up, wherever one mechanism is all that is done."""

import re

import pytest

import dpviz
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.compose import COMPOSE
from dpviz.questions.gaussian_dp import NAME, gaussian_dp
from dpviz.questions.train.question import TRAIN
from tests.questions.asking import asked

[GROWTH, *_] = COMPOSE.questions


def said(blocks) -> tuple[float, float]:
    mu, regret = re.search(r"μ ≤ ([\d.e-]+), regret ≤ ([\d.e-]+)\.\*\*", blocks[0].text).groups()
    return float(mu), float(regret)


@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_both_are_rounded_up(rate: float) -> None:
    mu, regret = said(gaussian_dp([(SampledGaussian(3.0, rate), 100)], 1e-5))
    exact = dpviz.gaussian_mu(noise_multiplier=3.0, sample_rate=rate, steps=100, delta=1e-5)
    assert exact.mu <= mu <= 1.01 * exact.mu
    assert exact.regret <= regret <= 1.1 * exact.regret + 1e-9


def test_compose_says_those_of_its_steps_and_a_warning_for_the_best_of_several_runs() -> None:
    answer = asked(GROWTH, sigma="2", q="0.01", steps="1000")
    mu, _ = said(GROWTH.more[NAME](answer))
    assert mu >= dpviz.gaussian_mu(noise_multiplier=2.0, sample_rate=0.01, steps=1000, delta=answer.facts.delta).mu
    assert len(GROWTH.more[NAME](answer)) == 2
    several = asked(GROWTH, sigma="2", q="0.01", steps="1000", tried="10")
    assert "costs more" in GROWTH.more[NAME](several)[-1].text


def test_a_plan_with_private_counts_or_without_noise_has_none() -> None:
    plan = {
        "t_data": "abalone", "t_model": "logistic", "t_noise_by": "sigma", "t_noise_multiplier": "2",
        "t_batch_size": "64",
    }  # fmt: skip
    assert "**μ ≤" in TRAIN.more[NAME](asked(TRAIN, **plan))[0].text
    for changed in ({"t_target_measure": "private"}, {"t_method": "sgd"}):
        assert "no number here" in TRAIN.more[NAME](asked(TRAIN, **plan | changed))[0].text
