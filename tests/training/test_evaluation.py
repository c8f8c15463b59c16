import pytest
import torch
from torch import nn

from dpviz.training.evaluation import Posterior, correct_predictions, evaluated, finite, loss_and_accuracy, outputs


def test_outputs_come_in_one_piece_and_without_gradients():
    network = nn.Linear(3, 2)
    x = torch.randn(2500, 3)
    found = outputs(network, x)
    torch.testing.assert_close(found, network(x).detach())
    assert not found.requires_grad


def test_loss_and_accuracy_by_hand():
    found = torch.tensor([[0.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    loss, accuracy = loss_and_accuracy(found, torch.tensor([0, 0, 0]))
    by_hand = (torch.log(torch.tensor(2.0)) + torch.log1p(torch.exp(torch.tensor(-3.0)))
               + torch.log1p(torch.exp(torch.tensor(1.0)))) / 3  # fmt: skip
    assert loss == pytest.approx(float(by_hand), rel=1e-6)
    assert accuracy == pytest.approx(2 / 3)


def test_correct_predictions_change_by_at_most_one_with_an_example():
    network, x = nn.Linear(3, 4), torch.randn(50, 3)
    x[7] = float("nan")
    y = torch.randint(0, 4, (50,))
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
