"""Divergences between tabulated noise levels: never below the exact ones, and close to them where it counts."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.renyi.varying_noise import (
    VARYING_ORDERS,
    MomentTable,
    moment_table,
    node_steps,
    nodes_of,
)
from dpviz.mechanisms.log_moments import log_moment, renyi_divergence

ORDERS = (1.005, 1.2, 1.31, 1.32, 1.5, 1.9, 2.0, 2.5, 3.0, 5.5, 8.0, 31.7, 64.0, 300.0)
ACCOUNTANTS = [Renyi(order_values=ORDERS), Moments(), OdometerAccountant()]


@settings(max_examples=60, deadline=None)
@given(
    sigma=st.floats(math.log(0.15), math.log(60)).map(math.exp),
    rate=st.floats(math.log(1e-6), 0.0).map(math.exp),
    beside=st.lists(st.floats(-0.1, 0.1), min_size=1, max_size=3),
    which=st.integers(0, 2),
)
def test_never_below_the_exact_divergence(sigma: float, rate: float, beside: list[float], which: int) -> None:
    inner = ACCOUNTANTS[which]
    nodes = frozenset(sigma * math.exp(part) for part in beside)
    found = replace(inner, nodes=nodes).step_divergence(sigma, rate)
    exact = inner.step_divergence(sigma, rate)
    assert (found >= exact * (1 - 1e-12)).all()
    assert (found <= exact * 1.5 + 1e-300).all()


def test_never_below_25_digits() -> None:
    """Where a cell is narrow, second differences lose digits: the bend that is subtracted may not."""
    with mpmath.workdps(25):
        for sigma, q, order in [(2.0, 0.01, 2.5), (0.8, 1e-3, 4.5), (5.0, 0.2, 1.4)]:
            s, rate = mpmath.mpf(sigma), mpmath.mpf(q)
            integrand = lambda x: mpmath.npdf(x) * (1 - rate + rate * mpmath.exp(x / s - 1 / (2 * s**2))) ** order  # noqa: B023, E731
            truth = float(mpmath.log(mpmath.quad(integrand, mpmath.linspace(-15, 30, 19))))
            for width in (1e-9, 1e-7, 1e-5, 1e-3):
                around = frozenset({sigma * (1 - width), sigma * (1 + 2 * width), sigma * (1 + 3 * width)})
                found = Renyi(order_values=(order,), nodes=around).step_divergence(sigma, q)[0] * (order - 1)
                assert truth * (1 - 1e-13) <= found <= truth * (1 + 1e-5)


@settings(max_examples=12, deadline=None)
@given(
    sigma=st.floats(math.log(0.4), math.log(12)).map(math.exp),
    rate=st.floats(math.log(1e-5), math.log(0.4)).map(math.exp),
    exponent=st.sampled_from([0.05, 0.1, 1 / 3, 0.5, 1.0]),
    steps=st.integers(1, 60),
    delta=st.sampled_from([1e-9, 1e-5]),
)
def test_the_epsilon_of_a_falling_schedule_is_the_exact_one(
    sigma: float, rate: float, exponent: float, steps: int, delta: float
) -> None:
    u = sigma**-2 * np.arange(1.0, steps + 1.0) ** -exponent
    nodes = nodes_of(sigma**-2 * np.array(node_steps(exponent)) ** -exponent)
    orders = np.array(VARYING_ORDERS)
    exact = log_moment(1.0 / np.sqrt(u)[:, None], rate, orders).sum(axis=0) / (orders - 1.0)
    found = MomentTable(rate, VARYING_ORDERS).bounds(u, nodes).sum(axis=0) / (orders - 1.0)
    least, shown = (float(to_bound(total, orders, delta, "improved").epsilon) for total in (exact, found))
    assert least * (1 - 1e-12) <= shown <= least * (1 + 1e-4)


def test_values_do_not_depend_on_who_asked_first() -> None:
    asked = MomentTable(0.01, ORDERS)
    asked.bounds(np.geomspace(0.01, 3.0, 40), np.array([0.3]))
    u = np.array([0.2, 0.30001, 1.1])
    fresh = MomentTable(0.01, ORDERS).bounds(u, np.zeros(0))
    np.testing.assert_array_equal(asked.bounds(u, np.zeros(0)), fresh)
    np.testing.assert_array_equal(fresh, np.concatenate([asked.bounds(u[i : i + 1], np.zeros(0)) for i in range(3)]))


def test_third_derivatives_are_not_negative_from_the_stated_order_on() -> None:
    """L³f of the module's docstring, by 30-digit differentiation."""
    with mpmath.workdps(30):
        for order in (1.32, 1.5, 2.2, 7.3):
            for x in (0.01, 0.2, 0.4, 1.0, 5.0):
                twice = lambda s, a=order: (  # noqa: E731
                    s**2 * (1 + s) ** (a - 4) * (2 + 4 * (a - 1) * s + a * (a - 1) * s**2)
                )
                once = lambda s, a=order: s**2 * (1 + s) ** (a - 2)  # noqa: E731
                assert mpmath.diff(once, x, 2) * x**2 == pytest.approx(float(twice(mpmath.mpf(x))), rel=1e-9)
                assert mpmath.diff(twice, x, 2) >= 0


def test_edges() -> None:
    bounded = Renyi(order_values=(2.0, 8.5), nodes=frozenset({1.2}))
    assert bounded.step_divergence(1.0, 0.0).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(bounded.step_divergence(3.0, 1.0), renyi_divergence(3.0, 1.0, [2.0, 8.5]), rtol=1e-3)
    assert np.isinf(bounded.step_divergence(1e-200, 0.3)).all()
    assert np.isinf(bounded.step_divergence(1e-7, 0.3)).all()
    tiny = bounded.step_divergence(1e150, 0.3)
    assert ((tiny >= 0) & (tiny < 1e-280)).all()
    shape = bounded.step_divergence(np.full((2, 1), 1.5), np.array([0.1, 0.2, 0.0])).shape
    assert shape == (2, 3, 2)
    assert moment_table(0.01, ORDERS) is moment_table(0.01, ORDERS)
