"""The cost of a noisy maximum, against the exact divergence of its outcomes from those of every neighbour."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.integrate import quad

from dpviz.accounting.pate.noisy_max import GaussianNoisyMax, LaplaceNoisyMax, NoisyMax
from tests.accounting import outcomes

ORDERS = np.array([1.001, 1.05, 1.3, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 40.0, 80.0, 200.0, 1000.0])
# Close calls, clear ones, ties, a class without votes, two classes and many.
HISTOGRAMS = (
    (5, 5), (6, 4), (10, 0), (30, 10), (3, 3, 3), (20, 1, 0), (12, 9, 3), (40, 3, 2), (25, 24, 1), (50, 0, 0),
    (60, 20, 20), (9, 1, 0, 0, 0), (70, 4, 4, 4, 3, 3, 3, 3, 3, 3), (99, 1, 0, 0, 0),
)  # fmt: skip
NOISES = tuple(GaussianNoisyMax(std) for std in (0.7, 1.5, 4.0, 12.0, 40.0)) + tuple(
    LaplaceNoisyMax(scale) for scale in (0.5, 2.0, 6.0)
)


@cache
def outcome(noisy: NoisyMax, votes: tuple[float, ...]) -> np.ndarray:
    if isinstance(noisy, GaussianNoisyMax):
        return outcomes.gaussian(np.array(votes, dtype=float), noisy.noise_std)
    return outcomes.laplace(np.array(votes, dtype=float), noisy.noise_scale)


def known(noisy: NoisyMax, votes: np.ndarray) -> np.ndarray:
    """Outcomes do not depend on the order of the classes: computed once for each multiset."""
    order = np.argsort(votes, kind="stable")
    found = np.empty(votes.size)
    found[order] = outcome(noisy, tuple(votes[order]))
    return found


def worst(noisy: NoisyMax, votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The exact divergence to the worst neighbour, and from it: (orders,) each."""
    here, there, back = known(noisy, votes), np.zeros(ORDERS.size), np.zeros(ORDERS.size)
    for moved in {tuple(each) for each in outcomes.neighbours(votes)}:
        other = known(noisy, np.array(moved))
        there = np.maximum(there, outcomes.divergence(here, other, ORDERS))
        back = np.maximum(back, outcomes.divergence(other, here, ORDERS))
    return there, back


@pytest.mark.parametrize("noisy", NOISES, ids=str)
def test_no_bound_lies_below_the_exact_divergence(noisy: NoisyMax) -> None:
    whatever = noisy.divergence(ORDERS)
    for histogram in HISTOGRAMS:
        votes = np.array(histogram, dtype=float)
        there, back = worst(noisy, votes)
        room = 1.0 + 1e-9
        one_sided = noisy.divergence_at(votes[None], ORDERS, one_sided=True)[0]
        both = noisy.divergence_at(votes[None], ORDERS)[0]
        assert (there <= one_sided * room + 1e-12).all(), histogram
        assert (np.maximum(there, back) <= both * room + 1e-12).all(), histogram
        assert (one_sided <= both * room).all(), histogram
        assert (both <= whatever).all(), histogram


def test_one_direction_says_nothing_of_the_other() -> None:
    """Why both is the default: from a neighbour to these votes it may cost more than the papers' bound."""
    noisy, votes = GaussianNoisyMax(3.0), np.array([40.0, 3.0, 2.0])
    _, back = worst(noisy, votes)
    assert (back > noisy.divergence_at(votes[None], ORDERS, one_sided=True)[0]).any()


@pytest.mark.parametrize("noisy", NOISES, ids=str)
def test_the_chance_of_an_upset_is_bounded_here_and_at_every_neighbour(noisy: NoisyMax) -> None:
    for histogram in HISTOGRAMS:
        votes = np.array(histogram, dtype=float)
        leader = int(votes.argmax())
        bounds = [float(noisy.log_miss(votes[None], one_sided=one)[0]) for one in (True, False)]

        def missed(counts: np.ndarray, leader: int = leader) -> float:
            return float(np.logaddexp.reduce(np.delete(known(noisy, counts), leader)))

        assert missed(votes) <= bounds[0] + 1e-9
        assert max(missed(moved) for moved in outcomes.neighbours(votes)) <= bounds[1] + 1e-9


@pytest.mark.parametrize("noisy", [GaussianNoisyMax(3.0), LaplaceNoisyMax(2.0)], ids=str)
def test_between_two_classes_an_upset_is_known_exactly(noisy: NoisyMax) -> None:
    for lead in (0.0, 1.0, 4.0, 20.0):
        exact = known(noisy, np.array([20.0 + lead, 20.0]))[1]
        assert noisy.log_upset(np.array(lead)) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("noisy", [GaussianNoisyMax(4.0), LaplaceNoisyMax(3.0)], ids=str)
def test_counts_with_noise_cost_what_is_said_whatever_the_votes(noisy: NoisyMax) -> None:
    """Two counts move by 1, one up and one down; all others stay: the divergence of both releases, integrated."""
    orders = np.array([1.5, 4.0, 20.0])

    def log_density(x: float, middle: float) -> float:
        if isinstance(noisy, GaussianNoisyMax):
            return -((x - middle) ** 2) / (2.0 * noisy.noise_std**2) - np.log(noisy.noise_std * np.sqrt(2.0 * np.pi))
        return -abs(x - middle) / noisy.noise_scale - np.log(2.0 * noisy.noise_scale)

    for order, found in zip(orders, noisy.divergence(orders), strict=True):
        one = quad(
            lambda x, a=order: np.exp(a * log_density(x, 0.0) + (1.0 - a) * log_density(x, 1.0)),
            -160.0, 160.0, points=[0.0, 1.0], limit=400, epsabs=0.0, epsrel=1e-10,
        )[0]  # fmt: skip
        assert found == pytest.approx(2.0 * np.log(one) / (order - 1.0), rel=1e-7)


def test_a_bound_never_falls_as_the_votes_come_closer() -> None:
    """q is only an upper bound: a larger one may not give a smaller cost."""
    orders = np.geomspace(1.01, 200.0, 60)
    for noisy in NOISES:
        close = np.array([[100.0 - k, k] for k in range(51)])
        cost = noisy.divergence_at(close, orders)
        assert (np.diff(cost, axis=0) >= -1e-12).all(), noisy


@pytest.mark.parametrize("noisy", [GaussianNoisyMax(3.0), GaussianNoisyMax(12.0), LaplaceNoisyMax(2.0)], ids=str)
def test_votes_that_agree_are_worth_looking_at(noisy: NoisyMax) -> None:
    orders = np.array([2.0, 4.0])
    assert (noisy.divergence_at(np.array([[70.0, 3.0, 2.0]]), orders) < 0.5 * noisy.divergence(orders)).all()


def test_votes_that_nearly_agree_cost_next_to_nothing() -> None:
    cost = GaussianNoisyMax(5.0).divergence_at(np.array([[1000.0, 0.0, 0.0]]), np.array([2.0, 10.0]))
    assert (cost < 1e-100).all()
    assert (cost >= 0.0).all()


def test_where_a_condition_of_the_theorem_fails_it_proves_nothing() -> None:
    """GNMax at q = 0.4 is not steep enough; LNMax needs q ≤ 1/(e^(2/b) + 1), where B = A."""
    order, gnmax, lnmax = np.array([2.0]), GaussianNoisyMax(40.0), LaplaceNoisyMax(2.0)
    known = {q: float(gnmax._likely(np.log([[q]]), order)[0, 0]) for q in (0.4, 0.1)}
    assert np.isinf(known[0.4])
    assert np.isfinite(known[0.1])
    assert np.isinf(gnmax._likely(np.log([[0.1]]), np.array([1.0 + 1.001 + 40.0 * np.sqrt(np.log(10.0))])))
    last = 1.0 / (np.e + 1.0)
    assert np.isfinite(lnmax._likely(np.log([[0.999 * last]]), order))
    assert np.isinf(lnmax._likely(np.log([[1.001 * last], [0.9]]), order)).all()
