"""Gradients of small networks as they are measured, and how far such work has come."""

import doctest

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dpviz._remember import MEMORY
from dpviz.training import measured, progress
from dpviz.training.leakage import leakage_of_small_network
from dpviz.training.measured import measure, single_thread
from dpviz.training.models import SMALL
from dpviz.training.progress import Progress, advance, duration, listening, resumed, task
from tests.training.small import digits, small
from tests.training.steps import gradients_by_hand


def network_at(model, step, seed=0):
    return measured._network_at(model, step, seed, measured.BATCH_SIZE, measured.LEARNING_RATE)


@pytest.mark.parametrize("model", SMALL)
def test_norms_and_pair_distances_are_those_of_plain_gradients(model):
    sample = measure(model, training_step=3, examples=12, seed=1)
    network, data = network_at(model, 3, seed=1), digits()
    chosen = np.random.default_rng([measured._EXAMPLES, 1]).choice(10_000, 12, replace=False)
    gradients = gradients_by_hand(network, data.train_x[chosen], data.train_y[chosen]).double().numpy()
    norms = np.linalg.norm(gradients, axis=1)
    np.testing.assert_allclose(sample.norms, norms, rtol=1e-5)
    for bound in (None, float(np.median(norms))):
        factors = 1.0 if bound is None else np.minimum(1.0, bound / norms)[:, None]
        difference = (gradients * factors)[::2] - (gradients * factors)[1::2]
        np.testing.assert_allclose(sample.distances(bound), np.linalg.norm(difference, axis=1), rtol=2e-5)


def test_the_digits_are_different_and_in_disjoint_pairs():
    sample = measure("logistic", training_step=0, examples=600)
    assert sample.norms.shape == (600,)
    assert sample.size == 300
    assert sample.independent
    np.testing.assert_allclose(sample.pairs.left, sample.norms[::2], rtol=1e-5)
    np.testing.assert_allclose(sample.pairs.right, sample.norms[1::2], rtol=1e-5)


def test_the_same_arguments_give_the_same_numbers():
    first = measure("mlp", training_step=12, examples=100, seed=4)
    MEMORY.clear()
    again = measure("mlp", training_step=12, examples=100, seed=4)
    assert first is not again
    np.testing.assert_array_equal(first.norms, again.norms)
    np.testing.assert_array_equal(first.distances(), again.distances())
    other = measure("mlp", training_step=12, examples=100, seed=5)
    assert not np.array_equal(first.norms, other.norms)


def test_kept_steps_do_not_change_the_training():
    """Step 105 reached from kept steps 10 and 100 equals 105 plain steps of SGD in one go."""
    MEMORY.clear()
    measure("logistic", training_step=105, examples=4)
    resumed = network_at("logistic", 105)
    straight = small("logistic", seed=0)
    optimiser, data = torch.optim.SGD(straight.parameters(), lr=measured.LEARNING_RATE), digits()
    for step in range(105):
        draw = np.random.default_rng([measured._BATCHES, 0, step])
        batch = torch.from_numpy(draw.choice(10_000, measured.BATCH_SIZE, replace=False))
        optimiser.zero_grad()
        F.cross_entropy(straight(data.train_x[batch]), data.train_y[batch]).backward()
        optimiser.step()
    for found, wanted in zip(resumed.parameters(), straight.parameters(), strict=True):
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("model", "step", "least"), [("logistic", 100, 0.85), ("mlp", 100, 0.85), ("cnn", 60, 0.7)])
def test_the_network_learns(model, step, least):
    data, network = digits(), network_at(model, step)
    with torch.no_grad():
        right = (network(data.test_x[:1000]).argmax(1) == data.test_y[:1000]).float().mean()
    assert float(right) > least


def test_gradients_shrink_as_the_network_learns():
    early, late = (measure("mlp", training_step=step, examples=400) for step in (0, 200))
    assert np.median(late.norms) < 0.5 * np.median(early.norms)


def test_the_same_sample_is_answered_from_memory_and_cannot_be_written_into():
    sample = measure("logistic", training_step=1, examples=10)
    assert measure("logistic", training_step=1, examples=10) is sample
    with pytest.raises(ValueError, match="read-only"):
        sample.norms[0] = 0.0


def test_the_description_says_what_was_measured():
    text = measure("cnn", training_step=2, examples=20, seed=9).description
    for words in (
        "MNIST, shipped subset",
        "CNN",
        "26,010 parameters",
        "2 plain training steps",
        "20 of the 10,000",
        "10 disjoint pairs",
        "seed 9",
        "without noise",
        "not private",
    ):
        assert words in text


def test_threads_and_the_global_generator_are_left_as_they_were():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        state = torch.random.get_rng_state()
        MEMORY.clear()
        measure("logistic", training_step=1, examples=4)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.random.get_rng_state(), state)
        with single_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_numpy_whole_numbers_are_fine():
    assert measure("logistic", training_step=np.int64(0), examples=np.int32(4)).size == 2


def test_example():
    assert doctest.testmod(progress).failed == 0
    assert doctest.testmod(progress).attempted > 0


def test_time_left_follows_the_pace(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    told = []
    with listening(told.append), task("cooking", "eggs", 100):
        resumed(60)
        for _ in range(2):
            now[0] += 2.0
            advance(10)
    assert told == [
        Progress("cooking", "eggs", 0, 100),
        Progress("cooking", "eggs", 60, 100),
        Progress("cooking", "eggs", 70, 100, 6.0),
        Progress("cooking", "eggs", 80, 100, 4.0),
    ]
    assert told[-1].words == "Cooking: 80 of 100 eggs, about 4 s left."
    assert told[-1].share == 0.8
    assert [duration(s) for s in (0.4, 1.2, 89.0, 91.0)] == [
        "less than a second",
        "about 2 s",
        "about 89 s",
        "about 2 min",
    ]


def test_every_part_is_told_and_changes_nothing():
    quiet = leakage_of_small_network("logistic", training_step=120, examples=60, seed=5)
    MEMORY.clear()
    told = []
    with listening(told.append):
        found = leakage_of_small_network("logistic", training_step=120, examples=60, seed=5)
    np.testing.assert_array_equal(found.train_distances, quiet.train_distances)
    last = {(p.doing, p.total): p.done for p in told}
    assert last == {("training the network", 120): 120, ("measuring gradients", 120): 120}
    assert [p.done for p in told] == sorted(p.done for p in told[:-3]) + [0, 60, 120]


def test_who_raises_ends_it_and_nothing_half_done_is_kept():
    class Enough(Exception):
        pass

    def stop(told):
        if told.done == 7:
            raise Enough

    with listening(stop), pytest.raises(Enough):
        measure("logistic", training_step=9, examples=8, seed=77)
    assert measure("logistic", training_step=9, examples=8, seed=77).norms.shape == (8,)
