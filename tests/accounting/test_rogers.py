"""The filter and odometer of Rogers et al. 2016; their constants are quoted ones: held above strong composition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.adaptive.rogers import (
    rogers_filter_steps,
    rogers_odometer,
    rogers_odometer_epsilon,
    rogers_spent,
)
from dpviz.accounting.composition import amplify, gaussian_step_epsilon

step_epsilons = st.floats(math.log(1e-6), math.log(3.0)).map(math.exp)
counts = st.floats(0.0, math.log(1e8)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-60.0, -1.0).map(math.exp)


def strong(epsilon: float, count: int, delta: float) -> float:
    """Strong composition with the sharp drift (Kairouz, Oh, Viswanath 2015, Theorem 3.4): ε tanh(ε/2) a step."""
    return epsilon * math.sqrt(2 * count * math.log(1 / delta)) + count * epsilon * math.tanh(epsilon / 2)


def sums(epsilon: float, count: int) -> dict[str, float]:
    return {"squares": count * epsilon**2, "drift": count * epsilon * math.expm1(epsilon) / 2}


def step_epsilon(sigma: float, rate: float, delta: float) -> float:
    """ε of one sampled step whose tails take δ."""
    return float(amplify(gaussian_step_epsilon(np.asarray(sigma), np.asarray(delta)), np.asarray(rate), "exact"))


class TestAboveStrongComposition:
    @given(step_epsilons, counts, deltas, st.integers(2, 10**9))
    @settings(max_examples=200, deadline=None)
    def test_odometer(self, epsilon: float, count: int, delta: float, size: int) -> None:
        found = float(rogers_odometer(**sums(epsilon, count), delta=delta, size=size))
        assert found >= strong(epsilon, count, delta / 2)

    @given(step_epsilons, counts, deltas, st.floats(0.01, 100.0))
    @settings(max_examples=200, deadline=None)
    def test_filter(self, epsilon: float, count: int, delta: float, target: float) -> None:
        found = float(rogers_spent(**sums(epsilon, count), target_epsilon=target, delta=delta))
        assert found >= strong(epsilon, count, delta / 2)

    @pytest.mark.parametrize("sigma", [5.0, 20.0, 80.0])
    def test_sampled_gaussian(self, sigma: float) -> None:
        """The whole path: steps with δ/2 for the tails, against strong composition of the same steps."""
        steps, delta, rate = np.array([1, 100, 10_000]), 1e-6, 0.01
        found = np.asarray(
            rogers_odometer_epsilon(
                noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta, size=50_000, horizon=10_000
            )
        )
        step = step_epsilon(sigma, rate, delta / (2 * 10_000 * rate))
        assert (found >= [strong(step, int(t), delta / 2) for t in steps]).all()
        assert (
            found >= dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
        ).all()


class TestFormulas:
    def test_odometer_by_hand(self) -> None:
        """S = 0.25 lies between 1/n² and 1, S = 4 above, S = 1e-8 below (n = 1000)."""
        delta, size = 1e-5, 1000
        odds = math.log(4 * math.log2(size) / delta)
        inside = math.sqrt(2 * 0.25 * (1 + math.log(3) / 2) * odds)
        above = math.sqrt(2 * (1e-6 + 4) * (1 + 0.5 * math.log(1 + 4e6)) * odds)
        below = math.sqrt(2 * (1e-6 + 1e-8) * (1 + 0.5 * math.log(1.01)) * odds)
        found = rogers_odometer(squares=[0.25, 4.0, 1e-8], drift=[0.1, 0.2, 0.0], delta=delta, size=size)
        np.testing.assert_allclose(found, [inside + 0.1, above + 0.2, below], rtol=1e-13)

    def test_filter_steps_is_the_last_that_passes(self) -> None:
        setting = {"noise_multiplier": 20.0, "sample_rate": 0.01}
        found = rogers_filter_steps(**setting, target_epsilon=1.0, delta=1e-6)

        def spent(count: int) -> float:
            step = step_epsilon(20.0, 0.01, 1e-6 / (2 * count * 0.01))
            return float(rogers_spent(**sums(step, count), target_epsilon=1.0, delta=1e-6))

        assert 1 < found < 10**6
        assert spent(found) <= 1.0 < spent(found + 1)
        # The RDP filter pays nothing for being one.
        rdp = dpviz.Filter(target_epsilon=1.0, delta=1e-6).remaining_steps(dpviz.SampledGaussian(20.0, 0.01))
        assert rdp > 10 * found


class TestEdges:
    def test_beyond_the_horizon_nothing_is_promised(self) -> None:
        found = np.asarray(
            rogers_odometer_epsilon(
                noise_multiplier=20, sample_rate=0.01, steps=[0, 1, 10, 11], delta=1e-6, size=100, horizon=10
            )
        )
        assert found[0] == 0.0
        assert np.isfinite(found[:3]).all()
        assert math.isinf(found[3])

    @pytest.mark.parametrize("sigma", [1e-200, 1e-3, 1e6])
    @pytest.mark.parametrize("rate", [0.0, 1e-12, 1.0])
    def test_extremes(self, sigma: float, rate: float) -> None:
        found = rogers_odometer_epsilon(
            noise_multiplier=sigma, sample_rate=rate, steps=10**12, delta=1e-300, size=2, horizon=10**12
        )
        assert found >= 0.0
        assert (found == 0.0) == (rate == 0.0)
