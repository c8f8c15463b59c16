import math

import torch

from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import LiveAccounts
from dpviz.training.methods import Info
from dpviz.training.settings import RunSettings
from dpviz.training.step_buffer import StepBuffer

BOUND = 0.1
STEP = SampledGaussian(2.0, 0.1)


def info(losses, norms, size=None, mechanism=STEP, **more):
    size = len(losses) if size is None else size
    fields = {"distances": None, "step_size": 0.5} | more
    return Info(mechanism, size, 4.0, torch.tensor(losses), None if norms is None else torch.tensor(norms), **fields)


def step_buffer(every=1):
    return StepBuffer(LiveAccounts(RunSettings(), examples=1000), max_grad_norm=BOUND, histogram_every=every)


def event_of(*steps, every=1):
    """What is told of steps that were added, then read together."""
    buffer = step_buffer(every)
    for number, step in enumerate(steps, 1):
        buffer.add(number, step)
    buffer.read()
    return buffer.take()


def test_steps_wait_until_they_are_read_and_are_told_together(monkeypatch):
    times = iter((0.0,))
    monkeypatch.setattr("time.monotonic", lambda: next(times, 1.0))
    found = step_buffer()
    found.add(1, info([1.0, 3.0, math.nan], [0.05, 0.2, math.nan]))
    found.add(2, info([], []))
    assert found.waiting == 2
    assert found.take() is None
    assert found.read() is None
    assert found.waiting == 0
    event = found.take()
    assert (event["first"], event["count"], event["mechanisms"]) == (1, 2, [[2.0, 0.1, 2]])
    assert event["batch_size"] == [3, 0]
    assert event["loss"] == [2.0, None]
    assert event["clipped"] == [1 / 3, None]
    assert event["non_finite"] == [1, 0]
    assert event["seconds"] == [0.5, 0.5]
    assert event["epsilon"]["renyi"][1] > event["epsilon"]["renyi"][0] > 0.0
    assert event["distances"] is None
    assert found.take() is None


def test_a_step_takes_what_passed_since_the_last_one_unless_the_run_rested(monkeypatch):
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    found = step_buffer()
    for read_at, rests in ((2.0, False), (5.0, False), (9.0, True)):
        now = read_at - 1.0
        if rests:
            found.rest()
        found.add(1, info([1.0], [0.05]))
        found.rest()  # nothing, for a step waits
        now = read_at
        found.read()
    assert found.take()["seconds"] == [2.0, 3.0, 1.0]


def test_padding_is_not_looked_at():
    event = event_of(info([1.0, 5.0, 0.0, 0.0], [0.05, 0.2, 0.0, math.nan], size=2))
    assert (event["loss"], event["clipped"], event["non_finite"]) == ([3.0], [0.5], [0])
    assert sum(event["norms"]["counts"]) == 2


def test_what_was_just_not_clipped_is_not_counted():
    event = event_of(info([1.0] * 3, [BOUND * 0.99, BOUND, BOUND * 1.0001]))
    assert event["clipped"] == [2 / 3]  # the engine clips a hair below C


def test_the_histogram_s_bins_hold_every_gradient():
    step = info([1.0] * 6, [0.0, 1e-9, 0.5 * BOUND, 2.0 * BOUND, 1e9, math.inf])
    norms = event_of(step, step, every=2)["norms"]
    edges, counts = norms["edges"], norms["counts"]
    assert (norms["step"], sum(counts)) == (2, 5)
    below = sum(n for n, end in zip(counts, edges[1:], strict=True) if end <= BOUND * (1 + 1e-9))
    assert below == 3
    assert (counts[0], counts[-1]) == (2, 1)


def test_a_batch_without_one_finite_loss_is_reported():
    found = step_buffer()
    found.add(4, info([1.0, math.nan], [0.1, 0.1]))
    found.add(5, info([math.nan, math.inf], [0.1, 0.1]))
    found.add(6, info([math.nan], [0.1]))
    assert found.read() == 5
    assert len(found.take()["loss"]) == 3  # and nothing is lost


def test_large_losses_do_not_overflow_together():
    assert math.isclose(event_of(info([3e38, 3e38], [0.1, 0.1]))["loss"][0], 3e38, rel_tol=1e-6)


def test_plain_steps_have_no_privacy_to_tell_of():
    found = StepBuffer(None, max_grad_norm=BOUND, histogram_every=1)
    found.add(1, info([1.0], None, mechanism=None))
    found.read()
    event = found.take()
    assert (event["mechanisms"], event["epsilon"], event["clipped"], event["norms"]) == ([], {}, [None], None)


def test_the_device_is_waited_for_once_however_many_steps_wait(monkeypatch):
    settings = RunSettings(bayesian=True)
    found = StepBuffer(LiveAccounts(settings, examples=1000), max_grad_norm=BOUND, histogram_every=2)
    pairs = [torch.arange(n, dtype=torch.float64) / 100 + n for n in (3, 0, 5)]
    for step, distances in enumerate((*pairs, None), 1):
        found.add(step, info([1.0, 2.0], [0.05, 0.2], distances=distances))
    waits = []
    for name in ("tolist", "item", "cpu", "numpy", "__bool__", "__float__", "__int__", "__index__"):
        original = getattr(torch.Tensor, name)
        monkeypatch.setattr(torch.Tensor, name, lambda x, *a, f=original, n=name: waits.append(n) or f(x, *a))
    found.read()
    assert waits == ["tolist"]
    event = found.take()
    assert waits.count("cpu") == 1  # the histogram
    monkeypatch.undo()
    assert event["distances"] == [[3.0, 3.01, 3.02], [], [5.0, 5.01, 5.02, 5.03, 5.04], []]
    assert event["clipped"] == [0.5] * 4
    assert event["norms"]["step"] == 4
    assert found.take() is None
    found.add(5, info([1.0], [0.05]))
    found.read()
    assert found.take()["norms"] is None
