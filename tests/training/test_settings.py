import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.training.plan import learning_rate, mechanism_at, planned_events
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


def test_the_step_size_falls_in_a_line_and_stays_past_the_plan():
    settings = RunSettings(steps=11, learning_rate=2.0, learning_rate_end=0.5)
    assert [learning_rate(settings, step) for step in (1, 6, 11, 50)] == [2.0, 1.5, 1.0, 1.0]


def test_langevin_step_sizes_fall_as_printed():
    settings = RunSettings(method="dp_sgld", learning_rate=0.1)
    assert learning_rate(settings, 1) == 0.1
    assert learning_rate(settings, 8) == pytest.approx(0.05, rel=1e-15)
    assert learning_rate(settings.with_(step_exponent=0.0), 8) == 0.1


def test_the_noise_multiplier_of_langevin_steps_is_the_one_of_the_theorem():
    """σ_t = τ/(L √(η_t N)) for DP-SGLD, τ √(2β/(η_t N))/L for DP-SGHMC (Li et al. 2019)."""
    settings = RunSettings(method="dp_sgld", learning_rate=0.1, batch_size=245, max_grad_norm=4.0)
    first = mechanism_at(settings, 1, 60_000)
    assert first.noise_multiplier == pytest.approx(245 / (4.0 * math.sqrt(0.1 * 60_000)), rel=1e-12)
    assert first.noise_multiplier == pytest.approx(0.79, abs=5e-3)  # the paper's MNIST setting
    assert first.sample_rate == 245 / 60_000
    eighth = mechanism_at(settings, 8, 60_000)
    assert eighth.noise_multiplier == pytest.approx(first.noise_multiplier * math.sqrt(2.0), rel=1e-12)
    momentum = mechanism_at(settings.with_(method="dp_sghmc", friction=0.05), 1, 60_000)
    assert momentum.noise_multiplier == pytest.approx(245 * math.sqrt(2 * 0.05 / (0.1 * 60_000)) / 4.0, rel=1e-12)


@pytest.mark.parametrize(("changed", "different"), [({}, 1), ({"method": "dp_sgld"}, 9), ({"method": "sgd"}, 0)])
def test_the_plan_holds_every_step(changed, different):
    runs = planned_events(RunSettings(steps=9, learning_rate=0.1, batch_size=64, **changed), 1000)
    assert len(runs) == different
    assert sum(count for _, count in runs) == (9 if different else 0)
