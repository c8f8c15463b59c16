"""A filter for each person: what each may spend, and that nobody gets beyond the promise."""

from __future__ import annotations

import numpy as np
import pytest

import dpviz
from dpviz.accounting.adaptive.individual import IndividualFilter, individual_steps

KNOWN = {"noise_std": 20.0, "largest_norm": 1.0, "target_epsilon": 2.0, "delta": 1e-5}


def test_unsampled_steps_cost_alpha_times_the_squared_norm() -> None:
    budget = IndividualFilter(people=3, **KNOWN)  # type: ignore[arg-type]
    norms = np.array([1.0, 0.3, 0.0])
    assert budget.divergence(norms) == pytest.approx(budget.order * norms**2 / (2 * 20.0**2), rel=1e-12)
    steps = individual_steps(norms, **KNOWN)  # type: ignore[arg-type]
    room = budget.budget * 2 * 20.0**2 / budget.order
    assert steps[:2].tolist() == [np.floor(room), np.floor(room / 0.09)]
    assert np.isinf(steps[2])


@pytest.mark.parametrize("rate", [1.0, 0.02])
def test_someone_at_c_may_take_part_as_long_as_everybody_with_one_filter(rate: float) -> None:
    known = {**KNOWN, "noise_std": 2.0 if rate < 1 else 20.0}
    (steps,) = individual_steps([1.0], sample_rate=rate, **known).tolist()  # type: ignore[arg-type]
    plain = {"noise_multiplier": known["noise_std"], "sample_rate": rate, "delta": 1e-5}
    # at the best of the library's orders, as a plan at that order would have it: no step more at any other
    assert float(dpviz.epsilon("renyi", steps=steps, **plain)) <= 2.0  # type: ignore[arg-type]
    assert float(dpviz.epsilon("renyi", steps=np.ceil(1.02 * steps + 2), **plain)) > 2.0  # type: ignore[arg-type]


def test_changing_norms_are_added_up_and_whoever_would_exceed_is_left_out() -> None:
    draw = np.random.default_rng(0)
    budget = IndividualFilter(people=40, **KNOWN)  # type: ignore[arg-type]
    mine = np.zeros(40)
    for _ in range(400):
        norms = np.minimum(draw.weibull(1.0, 40), 1.0)
        cost = budget.order * norms**2 / (2 * 20.0**2)
        expected = mine + cost <= budget.budget
        assert (budget.allows(norms) == expected).all()
        assert (budget.spend(norms) == expected).all()
        mine += np.where(expected, cost, 0.0)
    assert budget.spent == pytest.approx(mine)
    assert (budget.spent <= budget.budget).all()
    assert not expected.all(), "some have left by now"
    # what each spent is a plan of its own: its ε at that order is within the promise
    tail = 2.0 - budget.budget
    assert (budget.spent + tail <= 2.0).all()
    left = budget.spend(np.zeros(40))
    assert left.all(), "who adds nothing loses nothing"


def test_a_shorter_gradient_never_leaves_earlier() -> None:
    norms = np.geomspace(1e-12, 1.0, 60)
    steps = individual_steps(norms, sample_rate=0.01, **{**KNOWN, "noise_std": 2.0})  # type: ignore[arg-type]
    assert (np.diff(steps) <= 0).all()
    assert np.isfinite(steps).all()


def test_steps_that_do_not_fit_are_none() -> None:
    assert individual_steps([1.0], **{**KNOWN, "noise_std": 0.1}).tolist() == [0.0]  # type: ignore[arg-type]
