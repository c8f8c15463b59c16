"""ψ_L and ψ_R against 40-digit sums, and the shape that the table relies on."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.bayesian.costs import step_costs
from tests.accounting.references import step_moment


def reference(u: float, order: int, rate: float, side: str) -> mpmath.mpf:
    with mpmath.workdps(60):
        return mpmath.log(step_moment(u, order, rate, side))


def psi(u: float, order: int, rate: float, divergence: str = "left") -> float:
    return float(step_costs(np.array([u]), np.array([order]), rate, divergence)[0, 0])


@pytest.mark.parametrize("u", [1e-14, 1e-6, 1 / 16, 1.0, 40.0, 1e5, 1e12])
@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.01, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("order", [1, 2, 19, 32, 255])
def test_both_divergences_to_twelve_digits(u: float, rate: float, order: int) -> None:
    left, right = reference(u, order, rate, "left"), reference(u, order, rate, "right")
    assert psi(u, order, rate) == pytest.approx(float(left), rel=1e-12)
    assert psi(u, order, rate, "printed") == pytest.approx(float(max(left, right)), rel=1e-12)


@given(u=st.floats(1e-8, 50), order=st.integers(1, 40), rate=st.floats(1e-6, 1 - 1e-6))
@settings(max_examples=50, deadline=None)
def test_random_arguments(u: float, order: int, rate: float) -> None:
    assert psi(u, order, rate) == pytest.approx(float(reference(u, order, rate, "left")), rel=1e-12)


def test_edges() -> None:
    orders = np.array([1, 7, 32])
    u = np.array([0.0, 0.25, 9.0])
    assert not step_costs(u, orders, 0.0).any()
    assert step_costs(u, orders, 1.0) == pytest.approx(u[:, None] * orders * (orders + 1) / 2, rel=1e-14)
    assert not step_costs(np.zeros(3), orders, 0.3, "printed").any()
    assert step_costs(np.zeros(0), orders, 0.3).shape == (0, 3)


def test_many_rows_are_the_same_as_one_by_one() -> None:
    u = np.random.default_rng(1).random(40_000)  # more than one block of work
    orders = np.array([3, 32])
    together = step_costs(u, orders, 0.02)
    for i in (0, 31_774, 31_775, 39_999):
        assert together[i] == pytest.approx([psi(u[i], 3, 0.02), psi(u[i], 32, 0.02)], rel=1e-14)


@given(
    u=st.lists(st.floats(0, 100), min_size=3, max_size=3, unique=True),
    order=st.integers(1, 40),
    rate=st.floats(0, 1),
    divergence=st.sampled_from(["left", "printed"]),
)
@settings(max_examples=200, deadline=None)
def test_increasing_and_convex_in_u(u: list[float], order: int, rate: float, divergence: str) -> None:
    a, b, c = sorted(u)
    low, middle, high = step_costs(np.array([a, b, c]), np.array([order]), rate, divergence)[:, 0]
    slack = 1e-13 * high
    assert low <= middle + slack <= high + 2 * slack
    assert middle <= low + (high - low) * ((b - a) / (c - a)) + slack
