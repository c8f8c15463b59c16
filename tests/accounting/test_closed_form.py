"""The closed form 2q²α/σ²: above the exact divergence wherever its conditions hold, NaN with a reason elsewhere."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.renyi.closed_form import ClosedForm, closed_form_divergence

alphas = st.floats(math.log(1e-4), math.log(1e5)).map(lambda t: 1 + math.exp(t))


def conditions_hold(sigma: float, rate: float, order: float) -> bool:
    """Mironov, Talwar, Zhang 2019, Theorem 11, word by word in 40 digits."""
    with mp.workdps(40):
        s, q, a = mp.mpf(sigma), mp.mpf(rate), mp.mpf(order)
        log_term = mp.log(1 + 1 / (q * (a - 1)))
        first = a <= s**2 * log_term / 2 - 2 * mp.log(s)
        denominator = log_term + mp.log(q * a) + 1 / (2 * s**2)
        second = a <= (s**2 * log_term**2 / 2 - mp.log(5) - 2 * mp.log(s)) / denominator
        return bool(q <= mp.mpf(0.2) and s >= 4 and first and second)


class TestDivergence:
    @given(st.floats(math.log(4.0), math.log(1000)).map(math.exp), st.floats(math.log(1e-9), math.log(0.2)), alphas)
    @settings(max_examples=300, deadline=None)
    def test_above_the_exact_value_where_it_holds(self, sigma: float, log_rate: float, order: float) -> None:
        rate = math.exp(log_rate)
        found = dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=rate, orders=order)
        assert math.isnan(found) == (not conditions_hold(sigma, rate, order))
        if not math.isnan(found):
            assert found >= dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=order)
            assert found == pytest.approx(2 * rate**2 * order / sigma**2, rel=1e-14)

    @pytest.mark.parametrize(("sigma", "rate"), [(4.0, 0.01), (4.0, 0.2), (10.0, 0.05), (300.0, 1e-5)])
    def test_edge_in_the_order(self, sigma: float, rate: float) -> None:
        """The largest order that the theorem admits, found by bisection in 40 digits, is where ours ends too."""
        low, high = 1.5, 1e7
        for _ in range(100):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if conditions_hold(sigma, rate, middle) else (low, middle)
        found = closed_form_divergence(
            noise_multiplier=sigma, sample_rate=rate, orders=[low * (1 - 1e-12), high * (1 + 1e-12)]
        )
        assert np.isnan(found).tolist() == [False, True]


class TestAccountant:
    def test_reason_names_each_failed_condition(self) -> None:
        bound = ClosedForm().evaluate(noise_multiplier=1.5, sample_rate=0.3, steps=10, delta=1e-5)
        assert math.isnan(float(bound.epsilon))
        assert "q <= 1/5 (q is 0.3)" in bound.reason
        assert "σ >= 4 (σ is 1.5)" in bound.reason

    def test_reason_when_no_order_tried_qualifies(self) -> None:
        bound = ClosedForm(order_values=(5000.0,)).evaluate(noise_multiplier=4.0, sample_rate=0.1, steps=10, delta=1e-5)
        assert math.isnan(float(bound.epsilon))
        assert "no order" in bound.reason

    @given(
        st.floats(math.log(4.0), math.log(500)).map(math.exp),
        st.floats(math.log(1e-8), math.log(0.2)).map(math.exp),
        st.integers(1, 10**8),
        st.floats(-100.0, -0.1).map(math.exp),
        st.sampled_from(["improved", "classic"]),
    )
    @settings(max_examples=60, deadline=None)
    def test_never_below_the_exact_accountant(
        self, sigma: float, rate: float, steps: int, delta: float, conversion: str
    ) -> None:
        setting = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
        rough = dpviz.epsilon("closed_form", conversion=conversion, **setting)
        exact = dpviz.epsilon("renyi", conversion=conversion, **setting)
        assert math.isnan(rough) or rough >= exact
