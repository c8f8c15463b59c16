"""PATE's sums: the threshold's check against exact coins, composition, what may be published and what may not."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_ndtr

import dpviz
from dpviz.accounting.pate.answers import Threshold, pate_epsilon, pate_epsilon_at
from dpviz.accounting.pate.noisy_max import GaussianNoisyMax
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from tests.accounting import outcomes

ORDERS = np.array([1.001, 1.3, 2.0, 5.0, 20.0, 150.0])
HISTOGRAMS = ((5, 5), (30, 10), (20, 1, 0), (12, 9, 3), (50, 0, 0), (9, 1, 0, 0, 0))
SOME = np.array([[90, 5, 3, 2], [60, 30, 10, 0], [99, 1, 0, 0], [40, 38, 12, 10]])


def answers(votes: np.ndarray, noise: float, threshold: Threshold) -> np.ndarray:
    """ln of the probabilities of no answer and of each class, exactly."""
    beyond = (votes.max() - threshold.votes) / threshold.noise_std
    return np.concatenate([[log_ndtr(-beyond)], log_ndtr(beyond) + outcomes.gaussian(votes, noise)])


@pytest.mark.parametrize("noise", [2.0, 8.0])
@pytest.mark.parametrize(("level", "std"), [(10.0, 1.0), (25.0, 4.0), (0.0, 3.0), (60.0, 20.0)])
def test_a_checked_answer_never_costs_more_than_is_said(noise: float, level: float, std: float) -> None:
    threshold = Threshold(level, std)
    for histogram in HISTOGRAMS:
        votes = np.array(histogram, dtype=float)
        here, there, back = answers(votes, noise, threshold), np.zeros(ORDERS.size), np.zeros(ORDERS.size)
        for moved in outcomes.neighbours(votes):
            other = answers(moved, noise, threshold)
            there = np.maximum(there, outcomes.divergence(here, other, ORDERS))
            back = np.maximum(back, outcomes.divergence(other, here, ORDERS))
        room = 1.0 + 1e-9
        for one_sided, exact in ((True, there), (False, np.maximum(there, back))):
            answer = GaussianNoisyMax(noise).divergence_at(votes[None], ORDERS, one_sided=one_sided)
            said = threshold.divergence_at(votes.max(keepdims=True), answer, ORDERS, one_sided=one_sided)[0]
            assert (exact <= said * room + 1e-12).all(), (histogram, one_sided)
            assert (said <= (ORDERS / noise**2 + ORDERS / (2.0 * std**2)) * room).all()


def test_the_check_alone_costs_what_two_coins_differ() -> None:
    """Where the answer is free, and the largest count 8 or 9: the closed form of two coins."""
    threshold, order = Threshold(9.0, 2.0), 3.0
    p, q = (math.exp(float(log_ndtr((m - 9.0) / 2.0))) for m in (8.0, 9.0))
    coins = [
        math.log(a**order * b ** (1 - order) + (1 - a) ** order * (1 - b) ** (1 - order)) / (order - 1)
        for a, b in ((p, q), (q, p))
    ]
    free = np.zeros((1, 1))
    assert threshold.divergence_at(np.array([8.0]), free, np.array([order]))[0, 0] >= max(coins) * (1 - 1e-12)
    p, lower = q, p
    only = max(
        math.log(p**order * b ** (1 - order) + (1 - p) ** order * (1 - b) ** (1 - order)) / (order - 1)
        for b in (lower, math.exp(float(log_ndtr(0.5))))
    )
    found = threshold.divergence_at(np.array([9.0]), free, np.array([order]), one_sided=True)[0, 0]
    assert found == pytest.approx(only, rel=1e-12)


def test_a_threshold_that_all_pass_or_none_is_its_answer_or_nothing() -> None:
    kept = {"delta": 1e-5, "noise_std": 8.0}
    without = pate_epsilon_at(SOME, **kept)
    assert pate_epsilon_at(SOME, threshold=-1e4, threshold_std=1.0, **kept) == pytest.approx(without, rel=1e-9)
    assert pate_epsilon_at(SOME, threshold=1e4, threshold_std=1.0, **kept) == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize(
    "noise",
    [
        {"noise_std": 8.0},
        {"noise_scale": 4.0},
        {"noise_std": 8.0, "threshold": 50.0, "threshold_std": 30.0},
    ],
    ids=str,
)
def test_costs_add_up_and_never_exceed_what_holds_for_all_votes(noise: dict[str, float]) -> None:
    votes = np.tile(SOME, (25, 1))
    found = pate_epsilon_at(votes, delta=1e-5, **noise)
    fixed = {key: value for key, value in noise.items() if key != "threshold"}
    whatever = np.asarray(pate_epsilon(np.arange(1, 101), delta=1e-5, **fixed))
    assert found.shape == (100,)
    assert (np.diff(found) >= 0.0).all()
    assert (found <= whatever).all()
    assert (pate_epsilon_at(votes, delta=1e-5, one_sided=True, **noise) <= found).all()
    # Fewer orders are a bound as well, and a query's place does not matter.
    assert (pate_epsilon_at(votes, delta=1e-5, orders=DEFAULT_ORDERS[::6], **noise) >= found * (1 - 1e-12)).all()
    assert pate_epsilon_at(votes[::-1], delta=1e-5, **noise)[-1] == pytest.approx(found[-1], rel=1e-12)


def test_divergences_of_all_queries_are_added_and_converted() -> None:
    noisy, order, delta = GaussianNoisyMax(8.0), 11.0, 1e-5
    each = noisy.divergence_at(SOME.astype(float), np.array([order]))[:, 0]
    tail = math.log1p(-1.0 / order) - (math.log(delta) + math.log(order)) / (order - 1.0)
    found = pate_epsilon_at(SOME, delta=delta, noise_std=8.0, orders=[order])
    assert len(set(each)) == len(SOME)
    assert found[1:] == pytest.approx(np.cumsum(each)[1:] + tail, rel=1e-12)


def test_what_holds_for_all_votes_is_a_gaussian_of_sensitivity_root_2() -> None:
    found = pate_epsilon([1, 100, 1000], delta=1e-5, noise_std=40.0)
    known = dpviz.epsilon(
        "renyi", noise_multiplier=40.0 / math.sqrt(2.0), sample_rate=1.0, steps=np.array([1, 100, 1000]), delta=1e-5
    )
    assert found == pytest.approx(known, rel=1e-12)
    # At one order by hand: 1000 α/σ², converted.
    by_hand = min(
        1000 * a / 1600 + math.log1p(-1 / a) - (math.log(1e-5) + math.log(a)) / (a - 1) for a in DEFAULT_ORDERS
    )
    assert np.asarray(found)[-1] == pytest.approx(by_hand, rel=1e-3)
    # With the check, 1000 (α/σ² + α/(2σ₁²)).
    checked = pate_epsilon(1000, delta=1e-5, noise_std=40.0, threshold_std=150.0)
    cost = 1 / 1600 + 1 / (2 * 150.0**2)
    by_hand = min(
        1000 * a * cost + math.log1p(-1 / a) - (math.log(1e-5) + math.log(a)) / (a - 1) for a in DEFAULT_ORDERS
    )
    assert checked == pytest.approx(by_hand, rel=1e-3)


def test_the_tight_number_lies_below_and_laplace_votes_are_no_more_than_pure_composition() -> None:
    for noise in ({"noise_std": 40.0}, {"noise_scale": 20.0}):
        known, tight = (pate_epsilon(100, delta=1e-5, method=method, **noise) for method in ("renyi", "tight"))
        assert 0.5 * known < tight < known
    for queries in (1, 3):
        assert pate_epsilon(queries, delta=1e-9, noise_scale=20.0, method="tight") <= queries * 0.1 * (1 + 1e-6)


def test_no_queries_cost_nothing() -> None:
    assert pate_epsilon(0, delta=1e-5, noise_std=1.0) == 0.0
