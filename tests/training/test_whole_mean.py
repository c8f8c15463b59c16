"""The procedure of Table 1 of Triastcyn & Faltings 2020: means are clipped as a whole, distances leave one out."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import dpviz
from dpviz.training.data.catalogue import load
from dpviz.training.measured import DIGITS
from dpviz.training.networks.by_name import build
from dpviz.training.whole_mean import LEFT_OUT, measure

SETTINGS: dict[str, Any] = {
    "model": "logistic", "batch_size": 12, "learning_rate": 0.02, "max_grad_norm": 1.0, "noise_multiplier": 0.1,
    "share": 1.0, "steps": 1, "steps_per_epoch": 1, "orders": [2, 8], "estimator_failure": 1e-9, "examples": 600,
}  # fmt: skip


def gradients() -> torch.Tensor:
    """Those of the first batch, (12, p), one by one."""
    data, network = load(DIGITS.key), build("logistic", DIGITS, seed=5)
    rows = torch.from_numpy(np.random.default_rng([1, 5, 1]).choice(len(data.train_y), 12, replace=False))
    losses = [F.cross_entropy(network(data.train_x[i][None]), data.train_y[i][None]) for i in rows]
    each = [torch.autograd.grad(loss, list(network.parameters())) for loss in losses]
    return torch.stack([nn.utils.parameters_to_vector(one) for one in each]).double()


def clipped(mean: torch.Tensor, bound: float) -> torch.Tensor:
    return mean * min(1.0, bound / float(mean.norm()))


@pytest.mark.parametrize("bound", [0.05, 1e3])
def test_distances_are_those_of_means_that_leave_one_out_and_are_clipped_as_a_whole(bound: float) -> None:
    each = gradients()
    without = [clipped((each.sum(0) - one) / 11, bound) for one in each]
    apart = [float((without[i] - without[j]).norm()) / bound for i, j in combinations(range(LEFT_OUT), 2)]
    result = measure(SETTINGS | {"max_grad_norm": bound}, seed=5)
    assert result["distances"] == [pytest.approx(apart, rel=1e-4)]
    assert result["clipped"] == float(bound < 1.0)


@pytest.mark.parametrize("bound", [0.05, 1e3])
def test_nobody_moves_the_mean_by_more_than_is_said(bound: float) -> None:
    each = gradients()
    whole = clipped(each.mean(0), bound)
    moves = [float((whole - clipped((each.sum(0) - one) / 11, bound)).norm()) / bound for one in each]
    [moved] = measure(SETTINGS | {"max_grad_norm": bound}, seed=5)["moved"]
    assert max(moves) <= moved
    assert moved <= 1.7 * max(moves) or bound < 1.0, "unclipped, it is at most as much too high as the mean is long"


def test_costs_are_those_of_the_library_for_these_distances() -> None:
    result = measure(SETTINGS | {"max_grad_norm": 0.5}, seed=5)
    cost = dpviz.bayesian_cost(
        0.5 * np.array(result["distances"][0]), noise_std=0.05, sample_rate=12 / 600, total_steps=1, orders=[2, 8],
        estimator_failure=1e-9,
    )  # fmt: skip
    assert result["costs"] == [pytest.approx(cost.tolist(), rel=1e-5)]


def test_costs_add_up_epoch_by_epoch_and_seeds_decide() -> None:
    settings = SETTINGS | {"steps": 4, "steps_per_epoch": 2, "share": 0.1}
    result = measure(settings, seed=1)
    assert [len(result[name]) for name in ("costs", "distances", "moved")] == [2, 2, 2]
    assert (np.diff(result["costs"], axis=0) > 0).all()
    assert measure(settings, seed=1) == result
    assert measure(settings, seed=2) != result


def test_a_tenth_of_the_coordinates_has_a_tenth_of_the_squared_distance() -> None:
    whole, tenth = (np.array(measure(SETTINGS | {"share": share}, seed=5)["distances"]) for share in (1.0, 0.1))
    assert (tenth**2).mean() / (whole**2).mean() == pytest.approx(0.1, abs=0.04)
