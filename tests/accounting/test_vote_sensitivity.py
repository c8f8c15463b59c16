"""How much one teacher changes the cost of an answer: against all histograms of a few teachers, one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from dpviz.accounting.pate.noisy_max import GaussianNoisyMax
from dpviz.accounting.pate.release import VoteSensitivity, smooth

Array = np.ndarray


def histograms(teachers: int, classes: int) -> Array:
    """All of them, (histograms, classes)."""
    every = itertools.product(range(teachers + 1), repeat=classes - 1)
    return np.array([[*each, teachers - sum(each)] for each in every if sum(each) <= teachers], dtype=float)


def apart(votes: Array) -> Array:
    """How many teachers must change between any two of these: (histograms, histograms)."""
    return np.abs(votes[:, None] - votes[None]).sum(axis=-1) / 2.0


CASES = [
    # Noise, order, teachers, classes.
    (1.0, 2.0, 12, 3),
    (1.0, 6.0, 12, 3),
    (0.5, 4.0, 7, 4),
    (2.0, 3.0, 16, 3),
    (3.0, 1.5, 30, 2),
    (0.3, 2.5, 6, 3),
    (4.0, 2.0, 3, 3),
]


@pytest.mark.parametrize("one_sided", [True, False])
@pytest.mark.parametrize(("noise", "order", "teachers", "classes"), CASES)
def test_no_change_of_a_teacher_within_any_distance_is_larger(
    noise: float, order: float, teachers: int, classes: int, one_sided: bool
) -> None:
    votes = histograms(teachers, classes)
    cost = GaussianNoisyMax(noise).divergence_at(votes, np.array([order]), one_sided=one_sided)[:, 0]
    said = VoteSensitivity(noise, order, teachers, classes, one_sided).local(votes)
    steps, room = apart(votes), 1e-12 * order / noise**2
    here = np.where(steps <= 1.0, np.abs(cost[:, None] - cost[None]), 0.0).max(axis=1)
    for d in range(teachers + 1):
        exact = np.where(steps <= d, here[None], 0.0).max(axis=1)
        assert (exact <= said[:, min(d, said.shape[1] - 1)] + room).all(), d
    # And it is of use: the largest change of all is not many times what is said.
    if here.max() > 0.0:
        assert said[:, -1].max() <= 2.5 * here.max()
    # From neighbour to neighbour what is said widens: then S is smooth, exactly.
    first, second = np.nonzero(steps == 1.0)
    assert (said[first, :-1] <= said[second, 1:]).all()
    for beta in (0.02, 0.3):
        found = smooth(said, beta, order / noise**2)
        assert (found[first] <= found[second] * math.exp(beta) * (1.0 + 1e-12)).all()
        assert (found >= here * (1.0 - 1e-9)).all()


@pytest.mark.parametrize(("noise", "order", "teachers", "classes"), [(25.0, 5.0, 250, 10), (40.0, 10.0, 1000, 4)])
def test_along_random_ways_of_changing_teachers(noise: float, order: float, teachers: int, classes: int) -> None:
    draw, answer = np.random.default_rng(2), GaussianNoisyMax(noise)
    start = draw.multinomial(teachers, draw.dirichlet(np.full(classes, 0.25), size=12)).astype(float)
    said = VoteSensitivity(noise, order, teachers, classes).local(start)
    for way in range(2):
        votes, before = start.copy(), answer.divergence_at(start, np.array([order]))[:, 0]
        for d in range(120):
            for row in votes:
                ranked = np.argsort(row)
                # To and fro between the two leaders: the quickest way to close and to widen a lead.
                given, taken = (ranked[-1], ranked[-2]) if way else (ranked[-2], ranked[-1])
                if row[given] > 0:
                    row[given] -= 1.0
                    row[taken] += 1.0
            now = answer.divergence_at(votes, np.array([order]))[:, 0]
            assert (np.abs(now - before) <= said[:, min(d, said.shape[1] - 1)] + 1e-12).all()
            before = now


@pytest.mark.parametrize("classes", [3, 5, 10])
def test_from_neighbour_to_neighbour_it_widens_for_many_teachers_too(classes: int) -> None:
    """To the last digit: S is smooth by these bounds' own order, not by rounding's grace."""
    draw = np.random.default_rng(classes)
    votes = draw.multinomial(60, draw.dirichlet(np.full(classes, 0.4), size=400)).astype(float)
    moved = votes.copy()
    for row in moved:
        row[draw.choice(np.flatnonzero(row))] -= 1.0
        row[draw.integers(classes)] += 1.0
    at = VoteSensitivity(6.0, 4.0, 60, classes)
    here, there = at.local(votes), at.local(moved)
    assert (here[:, :-1] <= there[:, 1:]).all()
    assert (there[:, :-1] <= here[:, 1:]).all()


def test_it_starts_where_the_authors_own_code_does() -> None:
    """TensorFlow Privacy's own tests of its smooth sensitivity (one direction): where it starts, and how high it is."""
    at = VoteSensitivity(0.5, 1.5, 10, 3, one_sided=True).local(np.array([[10.0, 0.0, 0.0]]))[0]
    assert at[0] == pytest.approx(3.13503646e-17, rel=0.1)
    assert at[1:3] == pytest.approx([1.6e-8, 5.9e-3], rel=0.4)
    assert at[-1] == pytest.approx(5.99981308, rel=0.01)
    far = VoteSensitivity(250.0, 10.0, 2000, 5, one_sided=True).local(np.array([[1000.0, 500, 300, 200, 0]]))[0]
    assert int((far > 0.0).argmax()) == 298
    assert far[-1] == pytest.approx(2.73113623988e-6, rel=0.05)


def test_where_even_one_mind_costs_as_any_votes_nothing_changes() -> None:
    at = VoteSensitivity(100.0, 5.0, 20, 10)
    assert at.local(histograms(20, 2) @ np.eye(2, 10)).max() == 0.0


def test_the_cost_does_not_rise_with_the_lead() -> None:
    for noise, order in ((0.4, 2.0), (3.0, 9.0), (25.0, 5.0), (25.0, 60.0), (300.0, 3.0)):
        at = VoteSensitivity(noise, order, 10_000, 10)
        cost = at.cost(np.linspace(-2.0, 30.0 * noise, 20_001))
        assert (np.diff(cost) <= 1e-12 * order / noise**2).all()
        assert cost[0] == pytest.approx(order / noise**2)
        assert cost[-1] < 1e-6 * cost[0]


def test_many_teachers_and_little_noise_are_no_trouble() -> None:
    for noise, teachers in ((0.01, 1_000_000), (1e6, 1_000_000), (40.0, 5000)):
        votes = np.array([[teachers - 7.0, 4.0, 3.0]])
        found = VoteSensitivity(noise, 8.0, teachers, 3).local(votes)
        assert np.isfinite(found).all()
        assert (np.diff(found[0]) >= 0.0).all()
        assert found.max() <= 8.0 / noise**2 * (1 + 1e-12)
