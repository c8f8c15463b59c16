"""Records are of the experiments as they stand, their ε follows from what they say was run, and pages draw them."""

import json
import subprocess
import sys

import numpy as np
import pytest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.charts.plot import LinePlot
from dpviz.experiments.catalogue import EXPERIMENTS, read
from dpviz.experiments.experiment import TRAINED, Experiment
from dpviz.experiments.record import Trial, folder, recorded
from dpviz.experiments.trained import infer
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.papers.clipping_runs import CLIPPING_RUNS
from dpviz.questions.papers.reached import DELTA, EPSILONS, REACHED_VIEW
from dpviz.questions.printed.bayesian import PLAIN
from dpviz.training.accounts.live import LiveAccounts, check_run
from dpviz.training.data import DATA_SETS
from dpviz.training.posterior_accuracy import accuracy
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing
from tests.experiments.same import same_settings
from tests.questions.asking import asked

TRAINING = [key for key, experiment in EXPERIMENTS.items() if experiment.measure == TRAINED]
INFERENCE = ["inference_abalone", "inference_adult"]
REACHED = ["reached", "reached_mnist", "reached_fashion_mnist", "reached_cifar10"]


def test_every_record_is_of_an_experiment() -> None:
    assert {file.stem for file in folder().iterdir()} == set(EXPERIMENTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.key)
def test_settings_are_those_of_the_table(experiment: Experiment) -> None:
    record = recorded(experiment.key)
    assert same_settings(experiment, record), f"run: python -m dpviz.experiments {experiment.key}"
    for trial in record.trials:
        assert trial.date > "2026"
        assert trial.seconds >= 0  # rounded: a sample of a posterior that is known takes no tenth of a second


def test_arms_take_what_they_share_and_then_their_own() -> None:
    [one] = read("""
[same.a]
x = 1
y = 1
[same.b]
y = 2
z = 2
[one]
title = "One"
seeds = [0]
measure = "elsewhere:measure"
same = ["a"]
settings = { x = 3 }
arms.first = { same = ["b"], z = "none" }
""")
    assert one.arms == {"first": {"x": 3, "y": 2, "z": None}}


def charged(trial: Trial, settings: RunSettings) -> LiveAccounts:
    """Accounts that were charged with what the record says was released, in its order."""
    examples, step = trial.found["examples"], 0
    accounts, counts = LiveAccounts(settings, examples=examples), list(trial.found["counts"])
    for sigma, batch, count in trial.found["schedule"]:
        for _ in range(count):
            accounts.step(SampledGaussian(sigma, batch / examples), None)
            step += 1
            if counts and counts[0][0] == step:
                accounts.count(SampledGaussian(counts.pop(0)[2]))
    assert (step, counts) == (trial.found["steps"], [])
    return accounts


@pytest.mark.parametrize("key", TRAINING)
@pytest.mark.one_of(3)
def test_every_epsilon_again(key: str) -> None:
    claimed: dict[tuple[str, str], float | None] = {}
    for trial in recorded(key).trials:
        settings = RunSettings.from_json(dict(EXPERIMENTS[key].arms[trial.arm]))
        check_run(settings, DATA_SETS[settings.data].examples)
        assert not settings.secure_noise, "a record can be repeated: its runs are seeded"
        if not settings.private:
            assert trial.found["epsilon"] is None
            continue
        what = {name: trial.found[name] for name in ("examples", "schedule", "counts", "steps", "reason")}
        released = (trial.arm, json.dumps(what))  # runs that differ in their seed alone have often released the same
        if released not in claimed:
            again = closing(
                settings.with_(secure_noise=True), charged(trial, settings), examples=trial.found["examples"],
                state="done", reason=trial.found["reason"], steps=trial.found["steps"], seconds=0.0,
            )  # fmt: skip
            claimed[released] = Claim.from_json(again["claim"]).epsilon
        assert trial.found["epsilon"] == pytest.approx(claimed[released], rel=1e-9)


def test_records_are_read_without_pytorch() -> None:
    script = (
        "import sys; from dpviz.experiments.catalogue import EXPERIMENTS;"
        "from dpviz.experiments.record import recorded; [recorded(key) for key in EXPERIMENTS];"
        "print('torch' in sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stdout.strip()) == (0, "False"), ended.stderr


@pytest.mark.parametrize("arm", ["sample_010", "wang_010"])
def test_a_trial_gives_what_was_recorded(arm: str) -> None:
    again = accuracy(dict(EXPERIMENTS["adult_posterior"].arms[arm]), 0)
    stored = recorded("adult_posterior").of(arm)[0].found
    # Another machine rounds otherwise, and may keep another draw.
    assert again.pop("test_accuracy") == pytest.approx(stored["test_accuracy"], abs=0.03)
    assert again == pytest.approx({name: value for name, value in stored.items() if name in again}, rel=1e-9)
    assert len(again) + 1 == len(stored)


def test_chains_learn_and_more_noise_learns_less() -> None:
    """Some steps of the chain by itself: 300 of the standard ones, and of ones with a tenth of the step size."""
    short = dict(EXPERIMENTS["adult_posterior"].arms["baseline"]) | {"steps": 300}
    large, small = (accuracy(short | {"first_step": first}, 0)["test_accuracy"] for first in (1.0, 0.01))
    assert large > 0.80 > small > 0.7


@pytest.mark.parametrize("key", INFERENCE)
def test_each_run_was_charged_its_plan(key: str) -> None:
    for trial in recorded(key).trials:
        settings = RunSettings.from_json(dict(EXPERIMENTS[key].arms[trial.arm]))
        examples = DATA_SETS[settings.data].examples
        assert trial.found["examples"] == examples
        assert trial.found["charged"] == [[settings.noise_multiplier, settings.sample_rate(examples), settings.steps]]
        assert (trial.found["epsilon_mu"] is None) == (trial.found["clipped"] == 0.0) == (trial.arm == PLAIN)
        assert 0.7 < trial.found["posterior_accuracy"] < 0.9


@pytest.mark.parametrize(("key", "epsilon"), [("inference_abalone", 7.6), ("inference_adult", 0.5)])
def test_one_level_of_noise_is_the_least_of_the_printed_epsilon(key: str, epsilon: float) -> None:
    arms = {arm: settings for arm, settings in EXPERIMENTS[key].arms.items() if arm != PLAIN}
    settings = arms["noise_1"]
    least = dpviz.solve(
        "noise_multiplier", method="moments", target_epsilon=epsilon, steps=settings["steps"], delta=1e-5,
        sample_rate=settings["batch_size"] / DATA_SETS[settings["data"]].examples,
    )  # fmt: skip
    assert 1.0 <= min(s for arm in arms.values() if (s := arm["noise_multiplier"] / least) >= 1.0) < 1.01


@pytest.mark.parametrize("key", INFERENCE)
def test_bayesian_epsilon_falls_with_noise_and_never_exceeds_the_moments(key: str) -> None:
    record, measured = recorded(key), []
    for arm in (arm for arm in record.settings if arm != PLAIN):
        (sigma, rate, steps), *_ = record.of(arm)[0].found["charged"]
        plan = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": 1e-10}
        epsilons = record.spread(arm, "epsilon_mu")
        assert epsilons.highest <= 1.0001 * float(dpviz.epsilon("moments", **plan))
        measured.append(epsilons.mean)
    assert measured == sorted(measured, reverse=True)


def test_a_short_run_tells_what_a_record_keeps() -> None:
    arm = dict(EXPERIMENTS["inference_abalone"].arms["noise_1"]) | {"steps": 4}
    kept = infer(arm, 0)
    assert kept == infer(arm, 0), "the seed decides"
    assert (kept["steps"], kept["charged"]) == (4, [[1.39, 157 / 3133, 4]])
    assert kept["epsilon_mu"] > 0.7
    assert 0.5 < kept["clipped"] <= 1.0


@pytest.mark.parametrize("key", REACHED)
def test_noise_is_the_least_of_its_epsilon(key: str) -> None:
    for name, settings in EXPERIMENTS[key].arms.items():
        epsilon, trial = float(name.rpartition("_")[2]), recorded(key).of(name)[0]
        [(sigma, batch, steps)] = trial.found["schedule"]
        assert sigma == settings["noise_multiplier"]
        plan = {"sample_rate": batch / trial.found["examples"], "steps": steps, "delta": DELTA}
        assert float(dpviz.epsilon("tight", noise_multiplier=sigma, **plan)) <= epsilon
        assert float(dpviz.epsilon("tight", noise_multiplier=0.998 * sigma, **plan)) > epsilon


def test_the_view_draws_the_record() -> None:
    answer, record = asked(REACHED_VIEW), recorded("reached")
    assert isinstance(answer.plot, LinePlot)
    assert [line.key for line in answer.plot.lines] == ["whitened", "scattering", "cnn", "logistic"]
    for line in answer.plot.lines:
        assert list(line.x) == list(EPSILONS)
        values = [record.values(f"{line.key}_{e}", "test_accuracy") for e in EPSILONS]
        assert list(line.y) == pytest.approx([np.median(each) for each in values])
        reaches = [one for one in answer.facts.arms[:12] if one.model == line.key]
        assert [one.accuracies for one in reaches] == [tuple(each) for each in values]
        assert all(one.epsilon <= one.planned for one in reaches)
    whole = float(np.median(recorded("reached_mnist").values("whitened_3", "test_accuracy")))
    assert answer.plot.rings[-1].y == whole
    assert f"<b>{100 * whole:.1f}\u00a0%</b>" in REACHED_VIEW.headline(answer)
    (table,) = REACHED_VIEW.more["The runs"](answer)
    assert len(table) == sum(len(EXPERIMENTS[key].arms) for key in REACHED)  # type: ignore[arg-type]


def test_runs_with_other_thresholds_cost_the_same_and_are_drawn_as_recorded() -> None:
    """ε of each run by its own recorded schedule: C has no part in it."""
    record, answer = recorded("thresholds"), asked(CLIPPING_RUNS)
    costs = set()
    for trial in record.trials:
        [(sigma, batch, steps)] = trial.found["schedule"]
        rate = batch / trial.found["examples"]
        plan = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": DELTA}
        costs.add(float(dpviz.epsilon("tight", **plan)))
    assert costs == {answer.facts.epsilon}
    assert answer.facts.epsilon <= 3.0
    assert "ε = 3.00" in CLIPPING_RUNS.headline(answer)
    assert isinstance(answer.plot, LinePlot)
    fixed, scaled = answer.plot.lines
    for line in (fixed, scaled):
        assert (line.x[0], line.x[-1], len(line.x)) == (0.01, 100.0, 9)
    for arm, settings in record.settings.items():
        read = RunSettings.from_json(dict(settings))
        threshold, step = read.max_grad_norm, float(f"{read.learning_rate / read.max_grad_norm:.6g}")
        values = record.values(arm, "test_accuracy")
        line = fixed if step == 8.0 else scaled
        at = list(line.x).index(threshold)
        low, high = line.spread or ((), ())
        assert (low[at], line.y[at], high[at]) == (values.min(), np.median(values), values.max())
        assert step == 8.0 or step * threshold == pytest.approx(0.8, rel=1e-5)
    assert scaled.y[list(scaled.x).index(0.1)] == fixed.y[list(fixed.x).index(0.1)], "both have the usual run"
    (table,) = CLIPPING_RUNS.more["The runs"](answer)
    assert len(table) == len(record.settings)  # type: ignore[arg-type]
