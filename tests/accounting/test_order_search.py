"""Walking downhill finds the best order of the whole grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.order_search import OrderSearch


@settings(max_examples=30, deadline=None)
@given(
    sigma=st.floats(0.3, 100.0),
    rate=st.floats(-5.0, 0.0).map(lambda x: 10.0**x),
    steps=st.integers(1, 1_000_000),
    delta=st.floats(-12.0, -1.0).map(lambda x: 10.0**x),
    conversion=st.sampled_from(["improved", "classic"]),
    guess=st.one_of(st.none(), st.integers(0, 500)),
)
def test_same_epsilon_as_all_orders(
    sigma: float, rate: float, steps: int, delta: float, conversion: str, guess: int | None
) -> None:
    known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
    found, _ = OrderSearch(sigma, rate).epsilon(float(steps), delta, conversion, guess)
    assert found[0] == pytest.approx(dpviz.epsilon("renyi", conversion=conversion, **known), rel=1e-9, abs=1e-12)


def test_a_whole_axis_and_again_with_other_steps() -> None:
    sigma = np.geomspace(0.5, 50.0, 13)
    search = OrderSearch(sigma, 0.01)
    for steps, delta in ((10_000, 1e-5), (500, 1e-5), (500, 1e-8)):
        found, best = search.epsilon(float(steps), delta, "improved")
        known = {"noise_multiplier": sigma, "sample_rate": 0.01, "steps": steps, "delta": delta}
        np.testing.assert_allclose(found, np.asarray(dpviz.epsilon("renyi", **known)), rtol=1e-9)
        bound = dpviz.accountant("renyi").evaluate(**known)
        assert (search.orders[best] == bound.order).mean() > 0.9  # neighbours may tie


def test_only_a_few_orders_are_looked_at() -> None:
    search = OrderSearch(np.geomspace(0.5, 50.0, 20), 0.01)
    search.epsilon(10_000.0, 1e-5, "improved")
    assert np.isfinite(search._found).sum() < 20 * 40


def test_nothing_released_costs_nothing() -> None:
    assert OrderSearch([1.0, 2.0], 0.0).epsilon(100.0, 1e-5, "improved")[0].tolist() == [0.0, 0.0]
    assert OrderSearch([1.0], 0.5).epsilon(0.0, 1e-5, "classic")[0].tolist() == [0.0]
