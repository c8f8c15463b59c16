"""Gradients of small networks as they are measured, and how far such work has come."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from dpviz._remember import MEMORY
from dpviz.training import measured, progress
from dpviz.training.leakage import leakage_of_small_network
from dpviz.training.measured import Training, measure, network_at
from dpviz.training.models import SMALL
from dpviz.training.progress import Progress, advance, duration, listening, resumed, task
from tests.training.small import digits, small
from tests.training.steps import gradients_by_hand


@pytest.mark.parametrize("model", SMALL)
def test_norms_and_pair_distances_are_those_of_plain_gradients(model):
    sample = measure(model, training_step=3, examples=12, seed=1)
    network, data = network_at(Training(model, 3, 1)), digits()
    chosen = np.random.default_rng([measured._EXAMPLES, 1]).choice(10_000, 12, replace=False)
    gradients = gradients_by_hand(network, data.train_x[chosen], data.train_y[chosen]).double().numpy()
    norms = np.linalg.norm(gradients, axis=1)
    np.testing.assert_allclose(sample.norms, norms, rtol=1e-5)
    for bound in (None, float(np.median(norms))):
        factors = 1.0 if bound is None else np.minimum(1.0, bound / norms)[:, None]
        difference = (gradients * factors)[::2] - (gradients * factors)[1::2]
        np.testing.assert_allclose(sample.distances(bound), np.linalg.norm(difference, axis=1), rtol=2e-5)


def test_the_same_arguments_give_the_same_numbers_and_nothing_else_moves():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        state = torch.random.get_rng_state()
        first = measure("mlp", training_step=12, examples=100, seed=4)
        assert measure("mlp", training_step=12, examples=100, seed=4) is first
        MEMORY.clear()
        again = measure("mlp", training_step=np.int64(12), examples=np.int32(100), seed=4)
        assert torch.get_num_threads() == 2
        assert torch.equal(torch.random.get_rng_state(), state)
    finally:
        torch.set_num_threads(before)
    assert first is not again
    np.testing.assert_array_equal(first.norms, again.norms)
    np.testing.assert_array_equal(first.distances(), again.distances())
    assert not np.array_equal(first.norms, measure("mlp", training_step=12, examples=100, seed=5).norms)
    with pytest.raises(ValueError, match="read-only"):
        first.norms[0] = 0.0
    assert "100 of the 10,000 training digits of MNIST, included subset, in 50 disjoint pairs" in first.description
    assert "without noise: the measurement is not private itself" in first.description


def test_kept_steps_do_not_change_the_training():
    """Step 105 reached from kept steps 10 and 100 equals 105 plain steps of SGD in one go."""
    MEMORY.clear()
    measure("logistic", training_step=105, examples=4)
    resumed = network_at(Training("logistic", 105, 0))
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


def test_time_left_follows_the_pace(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    told = []
    with listening(told.append), task("cooking", "eggs", 100):
        resumed(60)
        for _ in range(2):
            now[0] += 2.0
            advance(10)
    pace = [(0,), (60,), (70, 6.0), (80, 4.0)]
    assert told == [Progress("cooking", "eggs", done, 100, *seconds) for done, *seconds in pace]
    assert told[-1].words == "Cooking: 80 of 100 eggs, about 4 s left."
    assert told[-1].share == 0.8
    words = ["less than a second", "about 2 s", "about 89 s", "about 2 min"]
    assert [duration(seconds) for seconds in (0.4, 1.2, 89.0, 91.0)] == words


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
