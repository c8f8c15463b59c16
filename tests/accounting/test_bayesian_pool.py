"""All steps' distances together bound what the steps cost, however their distributions change: by simulation too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.bayesian.accountant import student_margin
from dpviz.accounting.bayesian.costs import FIRST_ORDERS, psi, step_costs
from dpviz.accounting.bayesian.pool import _ENDS, Pool
from tests.accounting.slow_pool import slow_pool_cost

Array = npt.NDArray[np.float64]
ORDERS = (1, 2, 4, 8)


@given(
    largest=st.floats(1e-6, 50.0),
    rate=st.sampled_from([0.0, 1e-300, 1e-6, 0.01, 0.3, 0.999, 1.0]),
    size=st.integers(1, 6),
    seed=st.integers(0, 2**32),
)
def test_the_quick_psi_is_psi(largest: float, rate: float, size: int, seed: int) -> None:
    scaled = np.random.default_rng(seed).uniform(0.0, largest, size)
    np.testing.assert_allclose(psi(scaled, rate), step_costs(scaled, FIRST_ORDERS, rate), rtol=1e-11, atol=1e-300)


@given(
    seed=st.integers(0, 999),
    steps=st.integers(1, 12),
    most=st.integers(0, 40),
    scale=st.floats(1e-4, 4.0),
    total_steps=st.sampled_from([12, 200, 5000]),
    failure=st.sampled_from([0.5, 1e-3, 1e-15]),
)
@settings(max_examples=12, deadline=None)
def test_the_formula_written_out(
    seed: int, steps: int, most: int, scale: float, total_steps: int, failure: float
) -> None:
    rng = np.random.default_rng(seed)
    drawn = [np.minimum(rng.weibull(0.7, rng.integers(0, most + 1)) * 0.3, 1.0) for _ in range(steps)]
    pool = Pool(rate=0.05, total_steps=total_steps, failure=failure)
    course = pool.add(scale, drawn)
    for at in range(steps):
        slow = slow_pool_cost(drawn[: at + 1], scale, 0.05, total_steps, failure)
        np.testing.assert_allclose(course[at], slow, rtol=1e-9, atol=1e-15)


def test_one_by_one_or_together_to_the_last_digit() -> None:
    rng = np.random.default_rng(4)
    drawn = [np.minimum(rng.weibull(1.0, rng.integers(0, 70)) * 0.3, 1.0) for _ in range(40)]
    courses = []
    for chunk in (1, 7, 40):
        pool = Pool(rate=0.02, total_steps=40, failure=1e-12)
        parts = [drawn[start : start + chunk] for start in range(0, 40, chunk)]
        courses.append(np.concatenate([pool.add(0.5, part) for part in parts]))
    np.testing.assert_array_equal(courses[0], courses[1])
    np.testing.assert_array_equal(courses[0], courses[2])


def test_more_noise_in_the_same_pool_costs_no_more_and_less_noise_costs_all_steps() -> None:
    drawn = [np.full(30, 0.5)]
    one, other = (Pool(rate=0.1, total_steps=10, failure=1e-9) for _ in range(2))
    one.add(1.0, drawn)
    other.add(0.9, drawn)
    np.testing.assert_array_equal(one.add(0.9, drawn), other.add(1.0, drawn))


def test_distances_tell_and_more_of_them_tell_more() -> None:
    near = Pool(rate=0.05, total_steps=100, failure=1e-15)
    cost = near.add(1.0, [np.full(64, 0.1)] * 100)[-1]
    worst = 100 * psi(np.array([1.0]), 0.05)[0]
    assert (cost < worst).all()
    more = Pool(rate=0.05, total_steps=100, failure=1e-15)
    assert (more.add(1.0, [np.full(6400, 0.1)] * 100)[-1] < cost).all()
    assert ((near.unseen() > 0.0) & (near.unseen() <= 1.0)).all()
    far = Pool(rate=0.05, total_steps=100, failure=1e-15)
    np.testing.assert_allclose(far.add(1.0, [np.ones(64)] * 100)[-1], worst, rtol=1e-12)
    np.testing.assert_allclose(far.unseen(), 0.0, atol=1e-12)
    none = Pool(rate=0.05, total_steps=100, failure=1e-15)
    np.testing.assert_allclose(none.add(1.0, [np.empty(0)] * 2)[-1], worst / 50, rtol=1e-12)
    assert (none.unseen() == 0.0).all()


def still(step: int, rng: np.random.Generator, seen: bool) -> float:
    return 0.02


def drifting(step: int, rng: np.random.Generator, seen: bool) -> float:
    return 0.001 + 0.004 * step


def contrary(step: int, rng: np.random.Generator, seen: bool) -> float:
    """Reacts to what was seen: large distances as long as none came, none afterwards."""
    return 0.0 if seen else 0.05


@pytest.mark.parametrize("share", [still, drifting, contrary])
@pytest.mark.parametrize("failure", [0.5, 0.01])
def test_too_low_at_any_step_no_more_often_than_gamma(
    share: Callable[[int, np.random.Generator, bool], float], failure: float
) -> None:
    """P(d = d_max) of each step may depend on all that came before; batches of uneven sizes."""
    trials, total, scale, rate = 100, 10, 1.0, 0.2
    low, high = total * step_costs(np.array([scale * 0.2**2, scale]), np.array(ORDERS), rate)
    columns, rng, wrong = np.array(ORDERS) - 1, np.random.default_rng(7), 0
    for _ in range(trials):
        pool, seen, truth, below = Pool(rate=rate, total_steps=total, failure=failure), False, 0.0, False
        for step in range(total):
            p = share(step, rng, seen)
            drawn = np.where(rng.random(1 + rng.poisson(9)) < p, 1.0, 0.2)
            seen = seen or bool((drawn == 1.0).any())
            truth = truth + np.log((1 - p) * np.exp(low) + p * np.exp(high)) / total
            below |= bool((pool.add(scale, [drawn])[-1][columns] < truth * (1 - 1e-12)).any())
        wrong += below
    assert wrong / trials <= failure + 3.5 * math.sqrt(failure * (1 - failure) / trials)


@pytest.mark.parametrize("failure", [0.5, 0.1])
def test_the_share_above_a_threshold_is_within_gamma_of_giving_nothing_away(failure: float) -> None:
    """What is paid for all thresholds, tilts and stopping times together: some 40 % here."""
    rng: Any = np.random.default_rng(0)
    pool = Pool(rate=0.1, total_steps=100, failure=failure)
    pool.add(1.0, [(rng.random(100) < 0.05).astype(float) for _ in range(100)])
    masses = pool._masses(pool.cells[None])[0]
    assert 0.05 < masses[-1] < 0.07


def test_what_the_paper_estimates_from_each_step_alone() -> None:
    """Eq. 14 written out: ln[M + τ S]/T, at the cells' upper ends; a step with one distance costs what d_max costs."""
    drawn = [np.random.default_rng(step).uniform(0.0, 1.0, 40) for step in range(3)]
    pool = Pool(rate=0.05, total_steps=20, failure=1e-6)
    pool.add(0.01, [*drawn, np.array([0.2])])
    wanted = psi(np.array([0.01]), 0.05)[0]
    for part in drawn:
        ends = _ENDS[np.searchsorted(_ENDS, part)]
        x = np.exp(20 * psi(0.01 * ends**2, 0.05))
        wanted = wanted + np.log(x.mean(axis=0) + student_margin(40, 1e-6) * x.std(axis=0)) / 20
    np.testing.assert_allclose(pool.printed, wanted, rtol=1e-9)
