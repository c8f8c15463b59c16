"""Moments and Rényi accountants: the papers' numbers, the exact Gaussian, and the order that decides."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import log_ndtr

import dpviz
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS

ABADI = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta": 1e-5}


class TestNumbersOfThePapers:
    """Abadi et al. 2016 print 1.26 and 2.55 for these runs; the digits were computed independently."""

    @pytest.mark.parametrize(("steps", "exact"), [(10_000, 1.258574741), (20_000, 1.795666812), (40_000, 2.575872501)])
    def test_moments(self, steps: int, exact: float) -> None:
        assert dpviz.epsilon("moments", steps=steps, **ABADI) == pytest.approx(exact, abs=5e-10)

    @pytest.mark.parametrize(("steps", "order"), [(10_000, 20.0), (40_000, 10.0)])
    def test_deciding_moment(self, steps: int, order: float) -> None:
        bound = Moments().evaluate(steps=steps, **ABADI)
        assert float(bound.order) == order
        assert not bound.at_grid_end

    @pytest.mark.parametrize(("steps", "exact"), [(10_000, 1.258574741), (20_000, 1.795666812), (40_000, 2.575872501)])
    def test_classic_on_whole_orders_is_the_moments_accountant(self, steps: int, exact: float) -> None:
        found = dpviz.epsilon("renyi", steps=steps, orders=np.arange(2, 513), conversion="classic", **ABADI)
        assert found == pytest.approx(exact, abs=5e-10)

    @pytest.mark.parametrize(("steps", "exact"), [(10_000, 1.035490066), (20_000, 1.510117299), (40_000, 2.212905513)])
    def test_improved_on_whole_orders(self, steps: int, exact: float) -> None:
        found = dpviz.epsilon("renyi", steps=steps, orders=np.arange(2, 513), **ABADI)
        assert found == pytest.approx(exact, abs=5e-10)
        # Whole orders are no part of the default grid, so it may be above by its spacing only.
        assert dpviz.epsilon("renyi", steps=steps, **ABADI) <= exact * 1.0002

    def test_orders_that_stop_at_63_cost_three_times(self) -> None:
        many = {"noise_multiplier": 10.0, "sample_rate": 1e-4, "steps": 1_000_000, "delta": 1e-5}
        short = Renyi(order_values=tuple(range(2, 64))).evaluate(**many)
        assert float(short.epsilon) == pytest.approx(0.106, abs=5e-4)
        assert short.at_grid_end
        long = Renyi().evaluate(**many)
        assert float(long.epsilon) == pytest.approx(0.0309, abs=1e-4)
        assert not long.at_grid_end


class TestGrid:
    @given(
        st.floats(math.log(0.3), math.log(100)).map(math.exp),
        st.floats(math.log(1e-6), 0).map(math.exp),
        st.integers(1, 10**7),
        st.floats(-60.0, -1.0).map(math.exp),
        st.sampled_from(["improved", "classic"]),
    )
    @settings(max_examples=25, deadline=None)
    def test_default_grid_close_to_a_far_finer_one(
        self, sigma: float, rate: float, steps: int, delta: float, conversion: str
    ) -> None:
        setting = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
        usual = Renyi(conversion=conversion).evaluate(**setting)
        fine = tuple(1 + np.geomspace(1e-4, 1e6, 3000))
        finer = float(Renyi(conversion=conversion, order_values=fine).evaluate(**setting).epsilon)
        # R increases, so the grid's order just below the best one costs at most its spacing r in the falling part. The
        # improved conversion subtracts terms from the classic one, so an ε near 0 is measured by the latter's.
        spacing = 0.041 if float(usual.order) < 1000.0 else 0.125
        scale = float(Renyi(conversion="classic").evaluate(**setting).epsilon)
        if not usual.at_grid_end:
            assert float(usual.epsilon) <= finer + spacing * scale

    def test_orders_are_sorted_and_made_unique(self) -> None:
        assert Renyi(order_values=(5.0, 2.0, 5.0)).order_values == (2.0, 5.0)

    def test_default_orders(self) -> None:
        orders = np.array(DEFAULT_ORDERS)
        assert orders[0] < 1.001
        assert orders[-1] > 1e5
        assert (np.diff(orders) > 0).all()

    def test_max_order_is_lambda(self) -> None:
        assert Moments(max_order=1).orders.tolist() == [2.0]
        assert Moments(max_order=32).orders[-1] == 33.0

    def test_floor_binds_where_nearly_nothing_is_released(self) -> None:
        bound = Moments().evaluate(noise_multiplier=100.0, sample_rate=1e-6, steps=1, delta=1e-10)
        assert float(bound.epsilon) == pytest.approx(math.log(1e10) / 32, rel=1e-9)
        assert float(bound.floor) == pytest.approx(0.7196, abs=5e-5)
        assert bound.at_grid_end


def exact_gaussian_epsilon(mu: float, delta: float) -> float:
    """ε(δ) of N(0,1) against N(μ,1), Balle & Wang 2018, Theorem 8, solved in logs."""

    def log_excess(epsilon: float) -> float:
        near, far = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return float(near + np.log1p(-np.exp(far - near)) - math.log(delta))

    top = mu**2 / 2 + mu * math.sqrt(2 * math.log(1 / delta)) + 1
    return 0.0 if log_excess(1e-12) <= 0 else float(brentq(log_excess, 1e-12, top, xtol=1e-13, rtol=1e-12))


@given(
    st.floats(math.log(0.3), math.log(300)).map(math.exp),
    st.integers(1, 1000),
    st.floats(-40.0, -0.5).map(math.exp),
    st.sampled_from(["moments", "renyi", "basic", "strong"]),
)
@settings(max_examples=120, deadline=None)
def test_without_sampling_never_below_the_exact_gaussian(sigma: float, steps: int, delta: float, method: str) -> None:
    exact = exact_gaussian_epsilon(math.sqrt(steps) / sigma, delta)
    found = dpviz.epsilon(method, noise_multiplier=sigma, sample_rate=1.0, steps=steps, delta=delta)
    assert found >= exact * (1 - 1e-9)


def test_one_setting_is_computed_once_and_can_not_be_written_to() -> None:
    first = Renyi().step_divergence(4.0, 0.01)
    assert Renyi().step_divergence(4.0, 0.01).base is first.base or first is Renyi().step_divergence(4.0, 0.01)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0
