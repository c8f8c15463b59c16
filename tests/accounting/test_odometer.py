"""The odometer against printed and independently computed numbers, and what any odometer must keep."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.adaptive.odometer import PAPER_ORDERS, VARIANTS, OdometerAccountant
from dpviz.accounting.renyi.accountant import Renyi

CIFAR = {"noise_multiplier": 1.0, "sample_rate": 512 / 50_000, "delta": 1e-6}

sigmas = st.floats(math.log(0.3), math.log(100)).map(math.exp)
rates = st.floats(math.log(1e-6), 0.0).map(math.exp)
counts = st.floats(0.0, math.log(1e8)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-60.0, -0.01).map(math.exp)
variants = st.sampled_from(tuple(VARIANTS))


def slowly(sigma: float, rate: float, steps: int, delta: float, variant: str) -> float:
    """§4.5 read aloud: try filter after filter at every order, in 40 digits."""
    orders, share = VARIANTS[variant]
    best = mpmath.inf
    with mpmath.workdps(40):
        for alpha in orders:
            spent = steps * mpmath.mpf(
                float(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=alpha))
            )
            odds = mpmath.log(2 * len(orders) / mpmath.mpf(delta))
            f = 1
            while spent > mpmath.mpf(2) ** (f - 1) * share * odds / (alpha - 1):
                f += 1
            filled = mpmath.mpf(2) ** (f - 1) * share * odds / (alpha - 1)
            tail = mpmath.log(2 * len(orders) * mpmath.mpf(f) ** 2 / mpmath.mpf(delta)) / (alpha - 1)
            best = min(best, filled + tail)
    return float(best)


class TestNumbers:
    @given(sigmas, rates, counts, deltas, variants)
    @settings(max_examples=30, deadline=None)
    def test_against_the_definition(self, sigma: float, rate: float, steps: int, delta: float, variant: str) -> None:
        found = dpviz.odometer_epsilon(
            noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta, variant=variant
        )
        assert found == pytest.approx(slowly(sigma, rate, steps, delta, variant), rel=1e-11)


class TestSound:
    @given(sigmas, rates, counts, deltas, variants)
    @settings(max_examples=60, deadline=None)
    def test_never_below_the_plan_on_its_orders(
        self, sigma: float, rate: float, steps: int, delta: float, variant: str
    ) -> None:
        setting = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
        plan = Renyi("classic", VARIANTS[variant][0]).evaluate(**setting).epsilon
        assert dpviz.odometer_epsilon(**setting, variant=variant) >= plan

    def test_lower_delta_may_read_less(self) -> None:
        """The documented exception: filters grow with ln(1/δ), and what was spent may fit one fewer."""
        deltas = np.geomspace(1e-4, 1e-9, 400)
        found = np.asarray(dpviz.odometer_epsilon(**{**CIFAR, "delta": deltas}, steps=4900))
        assert (np.diff(found) < 0).any()
        assert (
            found >= np.asarray(dpviz.epsilon("renyi", conversion="classic", **{**CIFAR, "delta": deltas}, steps=4900))
        ).all()

    def test_filters_hold_what_was_spent_exactly_at_their_size(self) -> None:
        accountant = OdometerAccountant()
        unit = (np.log(76.0) - np.log(1e-6)) / (np.array(PAPER_ORDERS) - 1.0)
        for f in (1, 2, 3, 10, 40):
            size = 2.0 ** (f - 1) * unit
            assert (accountant.filters(size, 1e-6) == f).all()
            assert (accountant.filters(np.nextafter(size, np.inf), 1e-6) == f + 1).all()
        assert (accountant.filters(np.zeros(38), 1e-6) == 1).all()

    @given(sigmas, rates, counts, st.floats(0.0, 30.0), variants)
    @settings(max_examples=60, deadline=None)
    def test_delta_is_enough_and_hardly_more(
        self, sigma: float, rate: float, steps: int, target: float, variant: str
    ) -> None:
        setting = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
        delta = float(dpviz.delta("odometer", **setting, epsilon=target, variant=variant))
        assert 0.0 <= delta <= 1.0
        if 1e-300 < delta < 1.0:
            read = [float(dpviz.odometer_epsilon(**setting, delta=delta * f, variant=variant)) for f in (1.0, 0.999)]
            assert read[0] <= target * (1 + 1e-9) < read[1] * (1 + 1e-9)


class TestEdges:
    @pytest.mark.parametrize("sigma", [1e-200, 1e-3, 1e6])
    @pytest.mark.parametrize("delta", [1e-300, 0.999])
    def test_extremes(self, sigma: float, delta: float) -> None:
        found = dpviz.odometer_epsilon(noise_multiplier=sigma, sample_rate=1.0, steps=10**12, delta=delta)
        plan = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=1.0, steps=10**12, delta=delta)
        assert found >= plan >= 0.0
        assert found > 0.0
        assert math.isinf(found) == (sigma < 1e-100)


class TestLive:
    @given(st.lists(st.tuples(sigmas, rates, st.integers(1, 10**5)), min_size=1, max_size=5), deltas, variants)
    @settings(max_examples=20, deadline=None)
    def test_reads_what_its_accountant_reads(
        self, events: list[tuple[float, float, int]], delta: float, variant: str
    ) -> None:
        odometer, read = dpviz.Odometer(delta=delta, variant=variant), [0.0]
        assert odometer.epsilon() == 0.0
        for sigma, rate, count in events:
            odometer.spend(dpviz.SampledGaussian(sigma, rate), count)
            read.append(odometer.epsilon())
        assert read == sorted(read)
        again = dpviz.accountant("odometer", variant=variant).of_events(odometer.events, delta)
        assert read[-1] == pytest.approx(float(again.epsilon), rel=1e-9)
        assert odometer.steps == sum(count for *_, count in events)
