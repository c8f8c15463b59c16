"""Recorded variational inference: its runs can be run again, and were charged what their settings say."""

from __future__ import annotations

import pytest

import dpviz
from dpviz.experiments.experiment import Experiment
from dpviz.experiments.inference import EXPERIMENTS, PLAIN, SIGMAS
from dpviz.experiments.inferred import infer
from dpviz.experiments.record import recorded
from dpviz.training.data import DATA_SETS
from dpviz.training.settings import RunSettings


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.key)
def test_each_run_was_charged_its_plan(experiment: Experiment) -> None:
    for trial in recorded(experiment.key).trials:
        settings = RunSettings.from_json(dict(experiment.arms[trial.arm]))
        examples = DATA_SETS[settings.data].examples
        assert trial.found["examples"] == examples
        assert trial.found["charged"] == [
            [settings.noise_multiplier, settings.sample_rate(examples), settings.steps],
        ]
        assert (trial.found["epsilon_mu"] is None) == (trial.arm == PLAIN)
        assert (trial.found["clipped"] == 0.0) == (trial.arm == PLAIN)
        assert 0.7 < trial.found["posterior_accuracy"] < 0.9


@pytest.mark.parametrize(("data", "epsilon"), [("abalone", 7.6), ("adult", 0.5)])
def test_one_level_of_noise_is_the_least_of_the_printed_epsilon(data: str, epsilon: float) -> None:
    settings = next(e for e in EXPERIMENTS if e.key == f"inference_{data}").arms["noise_1"]
    examples = DATA_SETS[data].examples
    least = dpviz.solve(
        "noise_multiplier", method="moments", target_epsilon=epsilon, steps=settings["steps"], delta=1e-5,
        sample_rate=settings["batch_size"] / examples,
    )  # fmt: skip
    assert min(sigma / least for sigma in SIGMAS[data] if sigma >= least) < 1.01


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.key)
def test_bayesian_epsilon_falls_with_noise_and_never_exceeds_the_moments(experiment: Experiment) -> None:
    record = recorded(experiment.key)
    measured = []
    for arm in list(experiment.arms)[1:]:
        (sigma, rate, steps), *_ = record.of(arm)[0].found["charged"]
        known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": 1e-10}
        found = record.spread(arm, "epsilon_mu")
        assert found.highest <= 1.0001 * float(dpviz.epsilon("moments", **known))
        measured.append(found.mean)
    assert measured == sorted(measured, reverse=True)


def test_a_short_run_tells_what_a_record_keeps() -> None:
    arm = dict(EXPERIMENTS[0].arms["noise_1"]) | {"steps": 4}
    found = infer(arm, 0)
    assert found == infer(arm, 0), "the seed decides"
    assert found["steps"] == 4
    assert found["charged"] == [[1.39, 157 / 3133, 4]]
    assert found["epsilon_mu"] > 0.7
    assert 0.5 < found["clipped"] <= 1.0
