import numpy as np
import pytest

from dpviz.accounting.filter import Filter
from dpviz.accounting.mechanism import SampledGaussian
from dpviz.training.counting import Counting, make_policy
from dpviz.training.settings import RunSettings

EXAMPLES = 10_000


def counting(**changed):
    settings = RunSettings(**{"noise_multiplier": 1.0, "batch_size": 512} | changed)
    return Counting(settings, EXAMPLES, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("changed", "every"),
    [
        ({}, 0),
        ({"policy": "adaptive_noise"}, 10),
        ({"policy": "adaptive_batch", "count_every": 3}, 3),
        ({"policy": "fine_tuning"}, 1),
        ({"target_accuracy": 0.9, "target_measure": "private"}, 10),
        ({"target_accuracy": 0.9}, 0),
    ],
)
def test_how_often_a_policy_counts(changed, every):
    assert make_policy(RunSettings(**changed), EXAMPLES).every == every


def test_a_count_is_due_after_so_many_epochs():
    found = counting(policy="adaptive_noise", count_every=2)
    due = [step for step in range(1, 101) if found.due(512)]
    assert due == [40, 80]  # an epoch is 20 batches of 512
    # Five epochs are done; with smaller batches an epoch takes more steps.
    assert [step for step in range(1, 161) if found.due(256)] == [40, 120]


def test_the_count_s_noise_is_what_is_charged():
    found = counting(policy="adaptive_noise", count_noise=50.0)
    assert found.mechanism == SampledGaussian(50.0, 1.0)
    noise = np.array([found.observe(4000, None)["count"] - 4000 for _ in range(4000)])
    assert abs(noise.mean()) < 5 * 50 / np.sqrt(4000)
    assert abs(noise.std() - 50.0) < 5 * 50 / np.sqrt(8000)


def test_noise_grows_after_a_rise_and_comes_back():
    found = counting(policy="adaptive_noise")
    first = found.observe(5000, None)
    assert (first["rose"], first["noise_multiplier"]) == (True, 1.1)
    again = found.observe(5000, None)
    assert (again["rose"], again["noise_multiplier"]) == (False, 1.0)


def test_a_budget_with_little_left_keeps_the_baseline():
    step, epoch = SampledGaussian(1.0, 512 / EXAMPLES), 20
    tight, roomy = counting(policy="adaptive_noise"), counting(policy="adaptive_noise")
    small = Filter(target_epsilon=3.0, delta=1e-5)
    assert small.remaining_steps(step) <= 50 * epoch
    assert tight.observe(5000, small)["noise_multiplier"] == 1.0
    large = Filter(target_epsilon=30.0, delta=1e-5)
    assert large.remaining_steps(step) > 50 * epoch
    assert roomy.observe(5000, large)["noise_multiplier"] == 1.1


def test_the_goal_stops():
    found = counting(target_accuracy=0.6, target_measure="private")
    found.observe(5000, None)
    assert not found.stopped
    assert found.observe(6600, None)["accuracy"] > 0.6
    assert found.stopped


def test_fine_tuning_starts_loud_and_gets_quieter():
    found = counting(policy="fine_tuning", noise_multiplier=2.0, target_accuracy=0.95, target_measure="private")
    assert found.observe(9000, None)["noise_multiplier"] == 2.0
    assert found.observe(9000, None)["noise_multiplier"] == 1.9
    assert not found.stopped
    found.observe(9990, None)
    assert found.stopped
