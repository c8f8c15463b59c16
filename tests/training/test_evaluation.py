import math

import pytest
import torch
from torch import nn

from dpviz.training import evaluation
from dpviz.training.evaluation import SHARE, Posterior, Schedule, evaluated, finite, outputs
from dpviz.training.models import MODELS


@pytest.mark.parametrize(
    ("model", "shape", "count"),
    [("logistic", (3,), 2500), ("cnn", (1, 28, 28), 60), ("cnn", (3, 32, 32), 60), ("resnet", (3, 32, 32), 60)],
)
def test_outputs_come_in_one_piece_and_convolutions_read_channels_side_by_side(
    model: str, shape: tuple[int, ...], count: int
) -> None:
    torch.manual_seed(1)
    network, x = MODELS[model].make(shape, 10), torch.randn(count, *shape)
    with torch.no_grad():
        expected = network(x)
    strides = []
    for layer in network.modules():
        if isinstance(layer, nn.Conv2d):
            layer.register_forward_pre_hook(lambda layer, inputs: strides.append(inputs[0].stride()[1]))
    answers = outputs(network, x)
    assert set(strides) == ({1} if len(shape) == 3 else set())
    assert not answers.requires_grad
    torch.testing.assert_close(answers, expected, rtol=1e-5, atol=1e-6)
    assert torch.equal(answers.argmax(1), expected.argmax(1))


def evaluated_at(every: int | None, evaluation_seconds: float, steps: int = 2000) -> list[int]:
    """Steps of a second each after which one looks."""
    schedule, times = Schedule(every), [0]
    schedule.evaluated(evaluation_seconds)
    for step in range(1, steps):
        schedule.stepped(1.0)
        if schedule.due(step):
            times.append(step)
            schedule.evaluated(evaluation_seconds)
            spent = len(times) * evaluation_seconds
            early = evaluation_seconds <= evaluation.QUICK and step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
            assert every is not None or early or spent <= SHARE * (spent + step) * (1 + 1e-9)
    return times


# A number is kept to whatever it costs; None is as the time allows.
SCHEDULES = [
    *((7, seconds, range(0, 2000, 7)) for seconds in (0.0, 1e3)),
    *((0, seconds, [0]) for seconds in (0.0, 1e3)),
    (None, 0.01, [0, 1, 2, 5, *range(10, 2000, 10)]),
    (None, 1.0, [0, 1, 2, 5, 10, 20, 50, *range(80, 2000, 10)]),
    (None, 10.0, [0, *range(180, 2000, 90)]),
    (None, 1e4, [0]),
]


@pytest.mark.parametrize(("every", "seconds", "steps"), SCHEDULES)
def test_when_a_run_is_evaluated(every, seconds, steps) -> None:
    assert evaluated_at(every, seconds) == list(steps)


def test_loss_and_accuracy_by_hand():
    found = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    loss, accuracy = evaluation.loss_and_accuracy(found, torch.tensor([0, 0, 0]))
    assert loss == pytest.approx((math.log(2.0) + math.log1p(math.exp(-3.0)) + math.log1p(math.exp(1.0))) / 3, rel=1e-6)
    assert accuracy == pytest.approx(2 / 3)


def test_correct_predictions_change_by_at_most_one_with_an_example():
    network, x = nn.Linear(3, 4), torch.randn(50, 3)
    x[7] = float("nan")
    y = torch.randint(0, 4, (50,))
    correct_predictions = evaluation.correct_predictions
    whole = correct_predictions(network, x, y)
    for left_out in range(50):
        kept = torch.arange(50) != left_out
        assert 0 <= whole - correct_predictions(network, x[kept], y[kept]) <= 1


def test_averaged_predictions_are_not_averaged_outputs():
    posterior = Posterior()
    y = torch.tensor([1, 0])
    assert posterior.accuracy(y) is None
    posterior.add(torch.tensor([[100.0, 0.0], [1.0, 0.0]]))
    assert posterior.accuracy(y) == 0.5
    posterior.add(torch.tensor([[0.0, 3.0], [1.0, 0.0]]))
    posterior.add(torch.tensor([[0.0, 3.0], [1.0, 0.0]]))
    assert posterior.samples == 3
    assert posterior.accuracy(y) == 1.0  # one sure sample does not outvote two; its logits would


def test_json_gets_no_nan():
    assert [finite(value) for value in (1.5, None, float("nan"), float("inf"))] == [1.5, None, None, None]
    network = nn.Linear(2, 2)
    nn.init.constant_(network.weight, float("nan"))
    found = evaluated(network, (torch.ones(3, 2), torch.zeros(3).long()), (torch.ones(1, 2), torch.zeros(1).long()))
    assert found["test_loss"] is None
