"""What may be published of PATE's cost at known votes: nothing left out, and erring above."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpviz.accounting.pate.answers import pate_divergence_at, pate_epsilon_at
from dpviz.accounting.pate.release import SmoothRelease, answers, pate_epsilon_released, released_epsilon, smooth

VOTES = np.tile(np.array([[900, 60, 40], [700, 200, 100], [990, 10, 0]]), (100, 1))
HOW = SmoothRelease(order=5.0, smoothness=0.05, noise=3.0, log_noise=4.0, chance=0.01)


class Fixed(np.random.Generator):
    """Two known draws."""

    def __init__(self, *draws: float) -> None:
        super().__init__(np.random.PCG64(0))
        self._draws = iter(draws)

    def normal(self, *_: object) -> float:  # type: ignore[override]
        return next(self._draws)


def converted(total: np.ndarray, delta: float) -> np.ndarray:
    order = HOW.order
    return total + math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)


@pytest.mark.parametrize("check", [None, 50.0])
@pytest.mark.parametrize("one_sided", [True, False])
def test_it_is_the_limit_and_the_cost_of_publishing(check: float | None, one_sided: bool) -> None:
    known = {"delta": 1e-5, "noise_std": 40.0, "one_sided": one_sided}
    found = pate_epsilon_released(VOTES, release=HOW, draw=Fixed(0.0, -HOW.factor), threshold_std=check, **known)
    # With this noise the limit is the private divergence itself.
    spent = np.cumsum(pate_divergence_at(VOTES, [5.0], noise_std=40.0, one_sided=one_sided)[:, 0]) + HOW.cost
    if check is not None:
        spent += np.arange(1, 301) * 5.0 / (2.0 * check**2)
    assert found == pytest.approx(converted(spent, 1e-5), rel=1e-9)
    # It is no less than ε at these votes of the answers alone, at any draw above.
    usual = pate_epsilon_released(VOTES, release=HOW, draw=Fixed(0.0, 0.0), threshold_std=check, **known)
    assert (usual > found).all()
    assert (usual > pate_epsilon_at(VOTES, **known)).all()


def test_however_noisy_it_is_no_more_than_any_votes_and_the_cost() -> None:
    found = pate_epsilon_released(VOTES, delta=1e-5, noise_std=40.0, release=HOW, draw=Fixed(0.0, 1e12))
    assert found == pytest.approx(converted(np.arange(1, 301) * 5.0 / 40.0**2 + HOW.cost, 1e-5), rel=1e-12)


def test_the_two_draws_are_two() -> None:
    first, again, other = (
        pate_epsilon_released(VOTES, delta=1e-5, noise_std=40.0, release=HOW, draw=np.random.default_rng(seed))[-1]
        for seed in (3, 3, 4)
    )
    assert first == again != other
    both = np.random.default_rng(3).normal(size=2)
    total, local = answers(VOTES.astype(float), 40.0, 5.0, one_sided=False)
    known = released_epsilon(
        total.sum(keepdims=True),
        local.sum(axis=0, keepdims=True),
        np.array([300.0]),
        delta=1e-5,
        noise_std=40.0,
        release=HOW,
        draws=(both[0], both[1]),
    )
    assert first == pytest.approx(known[0], rel=1e-9)


def test_two_queries_change_together() -> None:
    """One teacher changes a vote of both queries: all pairs of histograms of 7 teachers, and S of the sum."""
    teachers, noise, order = 7, 0.8, 3.0
    every = np.array([[a, b, teachers - a - b] for a in range(8) for b in range(8 - a)], dtype=float)
    cost, local = answers(every, noise, order, one_sided=True)
    steps = np.abs(every[:, None] - every[None]).sum(axis=-1) / 2.0
    near = steps <= 1.0
    down = np.where(near, cost[:, None] - cost[None], 0.0).max(axis=1)
    up = np.where(near, cost[None] - cost[:, None], 0.0).max(axis=1)
    for i, j in itertools.product(range(len(every)), repeat=2):
        found = float(smooth(local[i] + local[j], 0.1, 2.0 * order / noise**2))
        assert max(down[i] + down[j], up[i] + up[j]) <= found * (1.0 + 1e-9)


def test_it_can_pay() -> None:
    many = np.tile(np.array([[4500, 300, 200]]), (2000, 1))
    usual = pate_epsilon_released(many, delta=1e-5, noise_std=100.0, release=HOW, draw=Fixed(0.0, 0.0))[-1]
    whatever = converted(np.array([2000 * 5.0 / 100.0**2]), 1e-5)[0]
    assert pate_epsilon_at(many, delta=1e-5, noise_std=100.0, orders=[5.0])[-1] < usual < whatever
