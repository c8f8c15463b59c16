import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.training.settings import RunSettings, steps_per_epoch


def test_settings_survive_json():
    settings = RunSettings(data="adult", model="logistic", filter_epsilon=2.5, secure_noise=True, start_from="a/b.pt")
    assert RunSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    assert RunSettings.from_json(json.dumps(settings.to_json())) == settings


def test_missing_keys_take_their_default_and_unknown_ones_are_named():
    assert RunSettings.from_json({"steps": 7}) == RunSettings(steps=7, secure_noise=False)
    assert RunSettings.from_json({"bayesian": True}).bayesian_distances == "pairs"
    assert RunSettings.from_json({"policy": "adaptive_noise"}).margin_epochs == 50
    assert RunSettings.from_json({"policy": "adaptive_noise", "margin_epochs": 3}).margin_epochs == 3
    with pytest.raises(ValueError, match="unknown nosie, zeal"):
        RunSettings.from_json({"zeal": 1, "nosie": 2})


def test_the_defaults_work():
    RunSettings().check(10_000)


def test_settings_cannot_be_changed_but_copied():
    settings = RunSettings()
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.steps = 3  # type: ignore[misc]
    assert settings.with_(steps=3).steps == 3


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"data": "mnist-11k"}, "data='mnist-11k' to be one of mnist-10k"),
        ({"model": "vit"}, "model='vit' to be one of cnn"),
        ({"method": "dp-sgd"}, "method='dp-sgd' to be one of dp_sgd"),
        ({"policy": "wild"}, "policy='wild' to be one of fixed"),
        ({"optimiser": "lion"}, "optimiser='lion'"),
        ({"device": "tpu"}, "device='tpu'"),
        ({"target_measure": "train"}, "target_measure='train'"),
        ({"past_plan": "go"}, "past_plan='go'"),
        ({"bayesian": 1}, "bayesian=1 to be True or False"),
        ({"learning_rate": 0}, "learning_rate=0 > 0"),
        ({"learning_rate": "fast"}, "learning_rate='fast'"),
        ({"max_grad_norm": -1}, "max_grad_norm=-1 > 0"),
        ({"noise_multiplier": 0.0}, "noise_multiplier=0 > 0"),
        ({"noise_multiplier": float("nan")}, "found NaN"),
        ({"batch_size": 0}, "batch_size=0 to be a whole number >= 1"),
        ({"batch_size": 2.5}, "batch_size=2.5"),
        ({"steps": 0}, "steps=0"),
        ({"pairs": 1}, "pairs=1"),
        ({"views": 0}, "views=0"),
        ({"views": 2.5}, "views=2.5"),
        ({"views": 1000}, "views=1000 <= 256"),
        ({"views": 2, "data": "adult", "model": "logistic"}, "views=1 with data='adult', for only images"),
        ({"views": 2, "model": "scattering"}, "views=1 with model='scattering', whose features are computed once"),
        ({"views": 2, "method": "dp_sgld"}, "views=1 with method='dp_sgld', for only 'dp_sgd' or 'dp_adam'"),
        ({"views": 2, "method": "sgd"}, "views=1 with method='sgd'"),
        ({"views": 2, "method": "dpvi", "prior_std": 1.0}, "views=1 with method='dpvi'"),
        ({"margin_epochs": -1}, "margin_epochs=-1"),
        ({"delta": 0.0}, r"delta=0 in \(0, 1\)"),
        ({"delta_mu": 1.0}, r"delta_mu=1 in \(0, 1\)"),
        ({"momentum": 1.0}, r"momentum=1 in \[0, 1\)"),
        ({"friction": 1.5}, r"friction=1.5 in \(0, 1\]"),
        ({"learning_rate_end": 2.0}, "learning_rate_end=2"),
        ({"target_accuracy": 1.0}, "target_accuracy=1"),
        ({"filter_epsilon": 0.0}, "filter_epsilon=0 > 0"),
        ({"past_plan": "replan"}, "most_steps=0 > steps=150 to re-plan"),
        ({"method": "dp_sgld", "policy": "adaptive_noise"}, "follows from its step size"),
        ({"method": "dp_sgld", "burn_in": 150}, "burn_in=150 < steps=150"),
        ({"method": "sgd", "filter_epsilon": 1.0}, "filter_epsilon=1.0 with a private method"),
        ({"method": "sgd", "bayesian": True}, "bayesian=True with a private method"),
        ({"method": "sgd", "policy": "fine_tuning"}, "policy='fine_tuning' with a private method"),
        ({"method": "sgd", "target_measure": "private"}, "target_measure='private' with a private method"),
        ({"policy": "fine_tuning", "target_accuracy": 0.9}, "target_measure='private' with policy='fine_tuning'"),
        ({"model": "bayesian-logistic"}, "prior_std > 0"),
        ({"bayesian": True, "delta_mu": 1e-15}, "delta_mu=1e-15 > 1e-15"),
    ],
)
def test_settings_that_cannot_work_are_refused_by_name(changed, words):
    with pytest.raises(ValueError, match=words):
        RunSettings(**changed).check()


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="batch_size=1024 <= 1000, the number of training examples"):
        RunSettings().check(1000)


def test_a_budget_that_one_step_exceeds_is_refused_before_it():
    settings = RunSettings(filter_epsilon=0.5, noise_multiplier=0.6)
    settings.check()  # without N nothing is known
    with pytest.raises(ValueError, match=r"filter_epsilon=0.5 to allow one step: noise multiplier 0.6"):
        settings.check(10_000)
    settings.with_(noise_multiplier=5.0).check(10_000)


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_an_epoch_is_as_many_batches_as_cover_the_data(examples, batch_size):
    steps = steps_per_epoch(examples, batch_size)
    assert steps * batch_size >= examples > (steps - 1) * batch_size


def test_a_plan_of_very_many_different_steps_is_refused_in_words():
    sgld = RunSettings(data="abalone", model="logistic", method="dp_sgld", batch_size=64, learning_rate=0.1)
    with pytest.raises(ValueError, match="steps=840611 <= 30000 .* fewer steps"):
        sgld.with_(steps=840_611).check(3133)
    sgld.with_(steps=840_611, step_exponent=0.0).check(3133)
