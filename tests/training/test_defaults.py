import math

import pytest

from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.live import check_run
from dpviz.training.data import DATA_SETS
from dpviz.training.defaults import examples_of, recommended
from dpviz.training.loop import FreeRun, run
from dpviz.training.models import MODELS
from dpviz.training.settings import RunSettings


def cost_of(settings):
    return planned_claim(settings.with_(secure_noise=True), examples_of(settings.data)).epsilon


@pytest.mark.parametrize("model", list(MODELS))
@pytest.mark.parametrize("data", ["mnist-10k", "mnist", "adult", "abalone"])
@pytest.mark.parametrize("target", [1.0, 3.0])
@pytest.mark.one_of(6)
def test_recommended_plans_cost_what_was_asked_for(data, model, target):
    settings = recommended(data, model, target_epsilon=target)
    check_run(settings, examples_of(data))
    assert (settings.data, settings.model) == (data, model)
    assert 0.999 * target < cost_of(settings) <= target
    assert cost_of(RunSettings()) <= 3.0


@pytest.mark.sweep
def test_the_default_run_reaches_93_percent_at_epsilon_3():
    """MNIST, 10,000 digits, the CNN of 26,010 parameters; about 20 s on one free core."""
    events = []
    summary = run(RunSettings(evaluation_every=50, histogram_every=0, secure_noise=False), events.append, FreeRun())
    assert summary["state"] == "done"
    assert summary["epsilon"]["tight"] <= 3.0
    assert summary["test_accuracy"] >= 0.93
    assert DATA_SETS["mnist-10k"].examples == events[0]["examples"]
    losses = [loss for event in events if event["kind"] == "step" for loss in event["loss"]]
    assert losses[0] == pytest.approx(math.log(10), abs=0.1)
    assert losses[-1] < 0.5


@pytest.mark.parametrize(("data", "model", "accuracy"), [("abalone", "mlp", 0.74), ("adult", "mlp", 0.83)])
def test_small_tables_train_in_a_moment(data, model, accuracy):
    summary = run(recommended(data, model, target_epsilon=3.0).with_(secure_noise=False), lambda event: None, FreeRun())
    assert summary["epsilon"]["tight"] <= 3.0
    assert summary["test_accuracy"] >= accuracy
