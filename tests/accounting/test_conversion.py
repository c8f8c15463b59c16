"""From Rényi divergences to (ε, δ): the two formulas, their inverses, and what is said about the order that decided."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order, to_bound, to_delta
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from tests.accounting.references import gaussian_delta

ORDERS = np.array(DEFAULT_ORDERS)
deltas = st.floats(-690.0, -0.01).map(math.exp)
mus = st.floats(math.log(1e-3), math.log(30.0)).map(math.exp)


class TestFormulas:
    @pytest.mark.parametrize("order", [1.0001, 1.5, 2.0, 33.0, 1e6])
    @pytest.mark.parametrize("delta", [0.9, 1e-5, 1e-300])
    def test_against_high_precision(self, order: float, delta: float) -> None:
        with mp.workdps(40):
            a, d, r = mp.mpf(order), mp.mpf(delta), mp.mpf("0.7")
            classic = r + mp.log(1 / d) / (a - 1)
            improved = r + mp.log((a - 1) / a) - (mp.log(d) + mp.log(a)) / (a - 1)
            scale = r + abs(mp.log(d)) / (a - 1)
        total, orders = np.array([0.7]), np.array([order])
        for name, exact in (("classic", classic), ("improved", improved)):
            found = epsilon_per_order(total, orders, np.asarray(delta), name)[0]
            assert found == pytest.approx(float(exact), rel=0, abs=2e-15 * float(scale))

    @given(st.floats(0, 100), deltas)
    @settings(deadline=None)
    def test_improved_never_above_classic(self, divergence: float, delta: float) -> None:
        total = np.full(ORDERS.size, divergence)
        improved = epsilon_per_order(total, ORDERS, np.asarray(delta), "improved")
        classic = epsilon_per_order(total, ORDERS, np.asarray(delta), "classic")
        assert (improved < classic).all()

    @given(mus, deltas)
    @settings(max_examples=60, deadline=None)
    def test_gaussian_never_below_its_exact_profile(self, mu: float, delta: float) -> None:
        """R(α) = αμ²/2 is all the divergence of N(0,1) against N(μ,1), so δ at the answered ε is at most δ."""
        for name in CONVERSIONS:
            epsilon = float(to_bound(ORDERS * mu**2 / 2, ORDERS, delta, name).epsilon)
            assert gaussian_delta(mu, epsilon) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -12)

    @pytest.mark.parametrize("order", [1.3, 2.0, 7.5])
    @pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
    def test_improved_factor_is_the_largest_of_a_brute_force_search(self, order: float, epsilon: float) -> None:
        """δ = E[(1 − e^{ε−L})⁺] ≤ sup_l (1 − e^{ε−l}) e^{−(α−1)l} · E e^{(α−1)L}: the factor is that supremum."""
        loss = np.linspace(epsilon, epsilon + 40, 2_000_001)
        supremum = ((1 - np.exp(epsilon - loss)) * np.exp(-(order - 1) * loss)).max()
        factor = to_delta(np.array([1e-300]), np.array([order]), epsilon, "improved")
        assert float(factor) == pytest.approx(supremum, rel=1e-8)


class TestRoundTrips:
    @given(mus, st.floats(-200.0, -0.7).map(math.exp), st.sampled_from(CONVERSIONS))
    @settings(max_examples=150, deadline=None)
    def test_delta_of_epsilon_of_delta(self, mu: float, delta: float, conversion: str) -> None:
        total = ORDERS * mu**2 / 2
        epsilon = float(to_bound(total, ORDERS, delta, conversion).epsilon)
        back = float(to_delta(total, ORDERS, epsilon, conversion))
        # Equal but for rounding: the exponent (α − 1)(R − ε) carries ε's last digit α times.
        digits = 1e-15 * (200 + 50 * mu**2 + abs(math.log(delta)) * 10)
        if epsilon > 0.0:
            assert back == pytest.approx(delta, rel=max(1e-10, digits * 100))
        else:
            assert back <= delta * (1 + 1e-12)

    @given(mus, st.floats(0.001, 50.0), st.sampled_from(CONVERSIONS))
    @settings(max_examples=100, deadline=None)
    def test_delta_never_below_the_exact_profile(self, mu: float, epsilon: float, conversion: str) -> None:
        found = float(to_delta(ORDERS * mu**2 / 2, ORDERS, epsilon, conversion))
        assert mp.mpf(found) >= gaussian_delta(mu, epsilon) * (1 - mp.mpf(10) ** -10) or found > 0.999999
        assert 0.0 <= found <= 1.0


class TestWhatDecided:
    orders = np.array([2.0, 3.0, 5.0, 9.0])

    def test_inner_order(self) -> None:
        total = np.array([0.1, 0.2, 3.0, 20.0])
        bound = to_bound(total, self.orders, 1e-2, "classic")
        assert float(bound.order) == 3.0
        assert not bound.at_grid_end
        assert float(bound.epsilon) == pytest.approx(0.2 + math.log(100) / 2, rel=1e-15)

    @pytest.mark.parametrize(("slope", "order"), [(0.0001, 9.0), (50.0, 2.0)])
    def test_end_of_the_grid_is_said(self, slope: float, order: float) -> None:
        bound = to_bound(slope * self.orders, self.orders, 1e-2, "classic")
        assert bound.at_grid_end
        assert float(bound.order) == order

    def test_end_of_what_has_a_value_is_an_end(self) -> None:
        total = np.array([np.nan, 0.1, 0.15, np.nan])
        bound = to_bound(total, self.orders, 1e-2, "classic")
        assert bound.at_grid_end
        assert float(bound.order) == 5.0
        assert float(bound.floor) == pytest.approx(math.log(100) / 4, rel=1e-15)

    def test_floor_is_what_doing_next_to_nothing_costs(self) -> None:
        """λ ≤ 32 and δ = 1e-10 cannot answer below 0.7196 (ln(1/δ)/32)."""
        orders = np.arange(2.0, 34.0)
        bound = to_bound(np.full(orders.size, 1e-30), orders, 1e-10, "classic")
        assert float(bound.floor) == pytest.approx(0.7196, abs=5e-5)
        assert float(bound.epsilon) == pytest.approx(float(bound.floor), rel=1e-12)
        assert bound.at_grid_end

    def test_shapes_broadcast(self) -> None:
        total = np.ones((3, 1, 4)) * self.orders
        bound = to_bound(total, self.orders, np.array([1e-3, 1e-6]), "classic")
        assert bound.epsilon.shape == bound.order.shape == bound.at_grid_end.shape == bound.floor.shape == (3, 2)
        assert to_delta(total, self.orders, np.array([0.5, 9.0]), "classic").shape == (3, 2)
