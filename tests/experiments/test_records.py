"""Records are of the experiments as they stand, and their ε follows from what they say was run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from dpviz.accounting.claims import Claim
from dpviz.experiments.catalogue import EXPERIMENTS
from dpviz.experiments.experiment import TRAINED, Experiment
from dpviz.experiments.record import Trial, folder, recorded
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import LiveAccounts, check_run
from dpviz.training.data import DATA_SETS
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing

TRAINING = [experiment for experiment in EXPERIMENTS.values() if experiment.measure == TRAINED]


def test_every_record_is_of_an_experiment() -> None:
    assert {file.stem for file in folder().iterdir()} == set(EXPERIMENTS)


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.key)
def test_settings_are_those_of_the_code(experiment: Experiment) -> None:
    record = recorded(experiment.key)
    assert experiment.same_settings(record), f"run: python -m dpviz.experiments {experiment.key}"
    for trial in record.trials:
        assert trial.date > "2026"
        assert trial.seconds >= 0  # rounded: a sample of a posterior that is known takes no tenth of a second


@pytest.mark.parametrize("experiment", TRAINING, ids=lambda e: e.key)
def test_settings_of_runs_can_be_run(experiment: Experiment) -> None:
    for settings in experiment.arms.values():
        asked = RunSettings.from_json(dict(settings))
        check_run(asked, DATA_SETS[asked.data].examples)
        assert not asked.secure_noise, "a record can be repeated: its runs are seeded"


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


@pytest.mark.parametrize("experiment", TRAINING, ids=lambda e: e.key)
def test_every_epsilon_again(experiment: Experiment) -> None:
    for trial in recorded(experiment.key).trials:
        settings = RunSettings.from_json(dict(experiment.arms[trial.arm]))
        if not settings.private:
            assert trial.found["epsilon"] is None
            continue
        accounts = charged(trial, settings)
        again = closing(
            settings.with_(secure_noise=True),
            accounts,
            examples=trial.found["examples"],
            state="done",
            reason=trial.found["reason"],
            steps=trial.found["steps"],
            seconds=0.0,
        )
        assert trial.found["epsilon"] == pytest.approx(Claim.from_json(again["claim"]).epsilon, rel=1e-9)


def test_records_are_read_without_pytorch() -> None:
    script = (
        "import sys; from dpviz.experiments.catalogue import EXPERIMENTS;"
        "from dpviz.experiments.record import recorded; [recorded(key) for key in EXPERIMENTS];"
        "print('torch' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (found.returncode, found.stdout.strip()) == (0, "False"), found.stderr
