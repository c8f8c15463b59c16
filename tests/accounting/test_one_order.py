"""One order fixed ahead: whatever is chosen from what was seen, the total read there never exceeds the promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.adaptive.filter import one_order_filter, planned_epsilon
from dpviz.accounting.adaptive.odometer import PAPER_ORDERS
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms.log_moments import renyi_divergence

PLAN = ((dpviz.SampledGaussian(2.0, 0.1), 150), (dpviz.SampledGaussian(100.0), 15))

mechanisms = st.builds(
    dpviz.SampledGaussian,
    noise_multiplier=st.floats(math.log(0.5), math.log(50)).map(math.exp),
    sample_rate=st.floats(math.log(1e-4), 0.0).map(math.exp),
)
plans = st.lists(st.tuples(mechanisms, st.integers(1, 2000)), min_size=1, max_size=3)


def at_order(events: list[tuple[dpviz.SampledGaussian, int]], order: float, delta: float) -> float:
    """ε at one order, from nothing but the divergences."""
    spent = sum(
        count * renyi_divergence(np.array(step.noise_multiplier), np.array(step.sample_rate), np.array([order]))
        for step, count in events
    )
    return float(epsilon_per_order(np.asarray(spent), np.array([order]), np.asarray(delta), "improved")[0])


@given(plans, st.sampled_from([1e-10, 1e-5, 1e-2]))
@settings(max_examples=40, deadline=None)
def test_the_plan_just_fits_its_own_epsilon_in_any_order(
    plan: list[tuple[dpviz.SampledGaussian, int]], delta: float
) -> None:
    promise = planned_epsilon(plan, delta)
    # The accountant looks between the orders that the filter may choose from, and knows too that nothing is proven
    # against δ where it exceeds the total variation: 0, which no order says.
    least = float(dpviz.accountant("renyi").of_events(plan, delta).epsilon)
    assert least <= promise
    assert promise <= 1.03 * least + 1e-6 or least == 0
    for one_by_one in (plan, plan[::-1]):
        budget = one_order_filter(plan, target_epsilon=promise, delta=delta)
        for step, count in one_by_one:
            for part in (count // 2, count - count // 2):
                budget.spend(step, part)
        assert budget.accountant.orders.size == 1
        assert budget.epsilon() <= promise
        if promise > 1e-3:
            assert not budget.allows(plan[0][0], max(plan[0][1], 1))


@given(plans, st.floats(0.1, 30.0))
@settings(max_examples=30, deadline=None)
def test_no_other_order_holds_the_plan_more_often(plan: list[tuple[dpviz.SampledGaussian, int]], target: float) -> None:
    (step, _), *_ = plan
    found = one_order_filter(plan[:1], target_epsilon=target, delta=1e-5)
    for order in (1.5, 2.0, 4.0, 8.0, 16.0, 64.0, 256.0):
        other = dpviz.Filter(target_epsilon=target, delta=1e-5, orders=[order], conversion="improved")
        most = other.remaining_steps(step)
        if most < 2**50:
            assert found.remaining_steps(step) >= most - max(1, 1e-3 * most)  # the grid of orders is that fine


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_policy_that_chooses_anything_never_exceeds_the_promise(seed: int, greedy: bool) -> None:
    """σ, batch and count anew at every step; the greedy one asks for the dearest thing that still fits."""
    random = np.random.default_rng(seed)
    promise, delta = 3.0, 1e-5
    budget = one_order_filter(PLAN, target_epsilon=promise, delta=delta)
    (order,) = budget.accountant.orders.tolist()
    charged: list[tuple[dpviz.SampledGaussian, int]] = []
    for _ in range(400):
        some = [
            dpviz.SampledGaussian(float(np.exp(random.uniform(-1, 4))), float(random.choice([0.01, 0.1, 0.5, 1.0])))
            for _ in range(4 if greedy else 1)
        ]
        fitting = [step for step in some if budget.allows(step)]
        if not fitting:
            continue
        step = min(fitting, key=lambda one: one.noise_multiplier / one.sample_rate)
        budget.spend(step)
        charged.append((step, 1))
    assert len(charged) > 10
    spent = at_order(charged, order, delta)
    assert spent <= promise
    assert spent > 0.5 * promise, "else the test shows nothing"


def test_one_order_costs_less_than_a_share_for_each() -> None:
    """What adaptive runs paid before: δ/38 at the classic conversion."""
    promise = planned_epsilon(PLAN, 1e-5)
    step = PLAN[0][0]
    shared = dpviz.Filter(target_epsilon=promise, delta=1e-5, orders=PAPER_ORDERS, union=True)
    assert one_order_filter(PLAN, target_epsilon=promise, delta=1e-5).remaining_steps(step) >= 150
    assert shared.remaining_steps(step) < 100


def test_no_noise_to_speak_of_has_no_finite_budget() -> None:
    assert planned_epsilon([(dpviz.SampledGaussian(1e-200), 1)], 1e-5) == math.inf
    budget = one_order_filter([(dpviz.SampledGaussian(1e-200), 1)], target_epsilon=1.0, delta=1e-5)
    assert not budget.allows(dpviz.SampledGaussian(1e-200))
