"""The asymptotic moment bound: its conditions, its value, and on which side of the exact moment it lies."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.mechanisms.log_moments import log_moment


@given(st.floats(1.0, 100.0), st.floats(1e-8, 1.0), st.integers(1, 10_000))
def test_value_and_conditions(sigma: float, rate: float, order: int) -> None:
    found = dpviz.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=order)
    s, q = mpmath.mpf(sigma), mpmath.mpf(rate)
    last = s**2 * mpmath.log(1 / (q * s))
    if abs(last - order) < 1e-9 * order or abs(16 * q * s - 1) < 1e-12:
        return  # on the border rounding may decide
    if 16 * q * s < 1 and order <= last:
        assert found == pytest.approx(float(q**2 * order * (order + 1) / ((1 - q) * s**2)), rel=1e-13)
    else:
        assert math.isnan(float(found))


@settings(max_examples=200, deadline=None)
@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_within_a_factor_of_two_of_the_exact_moment(a: float, b: float, c: float) -> None:
    """It keeps no promise, but wherever the lemma covers it, the exact moment was 0.49 to 1 times it."""
    sigma = 100.0**a
    rate = math.exp(math.log(1e-6) + b * math.log(0.99 / (16 * sigma) / 1e-6))
    last = dpviz.asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)
    order = max(1.0, math.floor(min(last, 3000.0) ** c))
    value = dpviz.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=order)
    exact = float(log_moment(sigma, rate, [order + 1.0])[0])
    assert 0.45 * float(value) < exact <= 1.02 * float(value)


def test_last_order_is_the_last_with_a_value() -> None:
    for sigma, rate in [(4.0, 0.01), (1.0, 0.01), (10.0, 1e-3), (1.5, 0.04)]:
        last = dpviz.asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)
        values = dpviz.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=[last, last + 1])
        assert np.isfinite(values[0])  # type: ignore[index]
        assert np.isnan(values[1])  # type: ignore[index]
    assert dpviz.asymptotic_last_order(noise_multiplier=4.0, sample_rate=0.01) == math.floor(16 * math.log(25))
