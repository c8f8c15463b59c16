"""Logistic regression on signed rows: its gradients, clipped, are autograd's."""

import numpy as np
import pytest
import torch

from dpviz.training.networks.logistic import LogisticEngine, signed, unit_rows, with_one


def test_rows_hold_a_one_and_the_label_and_are_never_longer_than_one():
    x = np.random.default_rng(0).normal(0.0, 10.0, (500, 7)).astype(np.float32)
    rows = unit_rows(x)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (500, 8)
    assert 1.0 - 1e-11 < lengths.min() <= lengths.max() <= 1.0
    np.testing.assert_allclose(rows[:, :7] / rows[:, 7:], x, rtol=1e-6)
    flipped = signed(rows[:2], np.array([0, 1]))
    np.testing.assert_array_equal(flipped, [-rows[0], rows[1]])


@pytest.mark.parametrize("bound", [0.5, 1.0, 1e9])
def test_clipped_sums_are_those_by_hand(bound):
    draw = torch.Generator().manual_seed(0)
    theta = torch.randn(6, generator=draw, dtype=torch.float64)
    rows = torch.from_numpy(with_one(torch.randn(40, 5, generator=draw).numpy()))
    found = LogisticEngine(theta).clipped(rows, torch.zeros(40), max_grad_norm=bound)
    at, total = theta.clone().requires_grad_(), torch.zeros(6, dtype=torch.float64)
    for row, loss, norm in zip(rows, found.losses, found.norms, strict=True):
        here = -torch.nn.functional.logsigmoid(row @ at)
        (gradient,) = torch.autograd.grad(here, at)
        assert float(loss) == pytest.approx(float(here.detach()), rel=1e-9)
        assert float(norm) == pytest.approx(float(gradient.norm()), rel=1e-9)
        total += gradient * min(1.0, bound / float(gradient.norm()))
    torch.testing.assert_close(found.total, total, rtol=1e-9, atol=1e-9)
    alone = LogisticEngine(theta).clipped(rows[:1], torch.zeros(1), max_grad_norm=bound).total
    assert float(alone.norm()) <= bound


def test_an_empty_batch_has_no_gradient():
    found = LogisticEngine(torch.ones(3)).clipped(torch.zeros(0, 3), torch.zeros(0), max_grad_norm=1.0)
    assert found.total.tolist() == [0.0, 0.0, 0.0]
