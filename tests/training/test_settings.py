import json

from hypothesis import given
from hypothesis import strategies as st

from dpviz.training.settings import RunSettings, steps_per_epoch


def test_settings_survive_json():
    settings = RunSettings(data="adult", model="logistic", filter_epsilon=2.5, secure_noise=True, start_from="a/b.pt")
    assert RunSettings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
    assert RunSettings.from_json(json.dumps(settings.to_json())) == settings


def test_missing_keys_take_their_default():
    assert RunSettings.from_json({"steps": 7}) == RunSettings(steps=7, secure_noise=False)
    assert RunSettings.from_json({"bayesian": True}).bayesian_distances == "pairs"
    assert RunSettings.from_json({"policy": "adaptive_noise"}).margin_epochs == 50
    assert RunSettings.from_json({"policy": "adaptive_noise", "margin_epochs": 3}).margin_epochs == 3


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_an_epoch_is_as_many_batches_as_cover_the_data(examples, batch_size):
    steps = steps_per_epoch(examples, batch_size)
    assert steps * batch_size >= examples > (steps - 1) * batch_size


def test_without_the_number_of_examples_no_budget_is_too_small():
    RunSettings(filter_epsilon=0.5, noise_multiplier=0.6).check()
