"""The best order between the grid's orders, and what total variation implies."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.accountant import gaussian_rows
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.renyi.accountant import MOST_SEARCHED, Renyi
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS, FINE_ORDERS, SUBDIVISIONS
from dpviz.accounting.renyi.search import OrderSearch, best_epsilon, spent
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.training.accounts.live import Trajectory

Array = np.ndarray

sigmas = st.floats(math.log(0.3), math.log(100)).map(math.exp)
rates = st.floats(math.log(1e-6), 0.0).map(math.exp)
counts = st.floats(0.0, math.log(1e6)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-27.0, -0.1).map(math.exp)
conversions = st.sampled_from(CONVERSIONS)


def random_settings(count: int, seed: int) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(seed)
    spans = ((0.2, 200.0), (1e-6, 1.0), (1.0, 1e7), (1e-12, 0.1))
    sigma, rate, steps, delta = (np.exp(rng.uniform(*np.log(span), count)) for span in spans)
    return sigma, rate, np.round(steps), delta


def best_of_all(sigma: Array, rate: Array, steps: Array, delta: Array, conversion: str, near: Array) -> Array:
    """ε at the best real order within a spacing of the grid from `near`, by golden sections in ln(α − 1)."""

    def value(log_s: Array) -> Array:
        orders = 1.0 + np.exp(log_s)
        total = steps * renyi_divergence(sigma, rate, orders)
        return epsilon_per_order(total[:, None], orders[:, None], delta, conversion)[:, 0]

    place = np.clip(near, SUBDIVISIONS, FINE_ORDERS.size - SUBDIVISIONS - 1)
    low, high = (np.log(FINE_ORDERS[place + step] - 1.0) for step in (-SUBDIVISIONS, SUBDIVISIONS))
    golden = 0.5 * (math.sqrt(5.0) - 1.0)
    for _ in range(22):
        left, right = high - golden * (high - low), low + golden * (high - low)
        lower = value(left) < value(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return value(0.5 * (low + high))


@pytest.mark.parametrize("conversion", CONVERSIONS)
def test_within_a_thousandth_of_the_best_real_order(conversion: str) -> None:
    """Knees of R(α) included, in 400 random settings; the grid alone is up to several per cent above."""
    sigma, rate, steps, delta = random_settings(400, seed=7)
    found, place = best_epsilon(spent(gaussian_rows(sigma, rate, steps, delta)[0]), delta, conversion)
    inside = (found > 1e-3) & (place > 0) & (place < FINE_ORDERS.size - 1)
    assert inside.sum() > 280
    best = best_of_all(sigma, rate, steps, delta, conversion, place)
    excess = (found / best - 1.0)[inside]
    assert excess.max() <= 1.3e-3
    assert np.median(excess) < 1e-7
    assert excess.min() > -1e-9


# Where R(α) is steep within a spacing; the grid of DEFAULT_ORDERS is that much above the best order.
KNEES = [
    (19.42058629575075, 1.0810068227915892e-06, 5539, 1.4221041187224217e-11, 0.035),
    (20.92405319537284, 4.4951943099984386e-06, 32, 8.483348588018772e-12, 0.035),
    (18.57, 1.71e-6, 2348, 4.72e-11, 0.01),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "delta", "above"), KNEES)
def test_knees_between_two_orders(sigma: float, rate: float, steps: int, delta: float, above: float) -> None:
    known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
    grid = dpviz.epsilon("renyi", orders=DEFAULT_ORDERS[1:], **known)
    fine = dpviz.epsilon("renyi", **known)
    assert grid >= (1.0 + above) * fine
    assert fine >= float(tight_epsilon(SampledGaussian(sigma, rate), steps, delta).lower)


@given(sigmas, rates, counts, deltas, conversions)
@settings(max_examples=25, deadline=None)
def test_never_above_named_orders_nor_below_its_own(
    sigma: float, rate: float, steps: int, delta: float, conversion: str
) -> None:
    """All 21 057 orders looked at say what the search found."""
    known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
    found = float(Renyi(conversion).evaluate(**known).epsilon)
    some = DEFAULT_ORDERS[1::2]
    assert found <= dpviz.epsilon("renyi", orders=some, conversion=conversion, **known) * (1 + 1e-12)
    (uncapped,), (place,) = best_epsilon(
        spent(gaussian_rows(sigma, rate, steps, np.array(delta))[0]), np.array([delta]), conversion, capped=False
    )
    beside = FINE_ORDERS[max(place - 40, 0) : place + 41]
    assert uncapped == pytest.approx(
        dpviz.epsilon("renyi", orders=beside, conversion=conversion, **known), rel=1e-11, abs=1e-14
    )
    assert found in (0.0, uncapped)


class TestOrderSearch:
    @given(sigmas, rates, counts, deltas, conversions, st.one_of(st.none(), st.floats(1.001, 1e5)))
    @settings(max_examples=25, deadline=None)
    def test_is_the_accountant(
        self, sigma: float, rate: float, steps: int, delta: float, conversion: str, near: float | None
    ) -> None:
        found, order = OrderSearch(sigma, rate).epsilon(float(steps), delta, conversion, near)
        bound = Renyi(conversion).evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
        assert found[0] == pytest.approx(float(bound.epsilon), rel=1e-12)
        assert math.isnan(order[0]) == math.isnan(float(bound.order))
        assert math.isnan(order[0]) or order[0] == pytest.approx(float(bound.order), rel=1e-2)

    def test_a_whole_axis_and_again_with_other_steps(self) -> None:
        sigma = np.geomspace(0.5, 50.0, 13)
        search = OrderSearch(sigma, 0.01)
        for steps, delta in ((10_000, 1e-5), (500, 1e-5), (500, 1e-8)):
            known = {"noise_multiplier": sigma, "sample_rate": 0.01, "steps": steps, "delta": delta}
            np.testing.assert_allclose(
                search.epsilon(float(steps), delta, "improved")[0], dpviz.epsilon("renyi", **known), rtol=1e-12
            )
        assert search.nbytes < 13 * 200 * 16

    def test_orders_that_the_caller_names(self) -> None:
        whole = np.arange(2.0, 34.0)
        known = {"steps": 10_000, "delta": 1e-5}
        found, order = OrderSearch([4.0, 8.0], 0.01, whole).epsilon(10_000.0, 1e-5, "classic")
        exact = dpviz.accountant("moments").evaluate(noise_multiplier=[4.0, 8.0], sample_rate=0.01, **known)
        np.testing.assert_allclose(found, exact.epsilon, rtol=1e-12)
        assert order.tolist() == exact.order.tolist()

    def test_nothing_released_costs_nothing(self) -> None:
        assert OrderSearch([1.0, 2.0], 0.0).epsilon(100.0, 1e-5, "improved")[0].tolist() == [0.0, 0.0]
        assert OrderSearch([1.0], 0.5).epsilon(0.0, 1e-5, "classic")[0].tolist() == [0.0]


class TestCap:
    """ε = 0 where δ is at least the total variation, and not where it is less than the truth's."""

    def test_hardly_ever_drawn(self) -> None:
        known = {"noise_multiplier": 1e-3, "sample_rate": 1e-6, "steps": 100}
        drawn = 1.0 - (1.0 - 1e-6) ** 100
        assert dpviz.epsilon("renyi", delta=drawn * (1 + 1e-6), **known) == 0.0
        assert dpviz.epsilon("renyi", delta=drawn * (1 - 1e-6), **known) > 1.0
        assert dpviz.delta("renyi", epsilon=0.0, **known) == pytest.approx(drawn, rel=1e-6)
        assert dpviz.epsilon("renyi", delta=drawn, orders=[2.0, 3.0], **known) > 1.0  # named orders are left alone

    @given(sigmas, rates, st.integers(1, 1000), st.floats(-14.0, -0.01).map(math.exp), conversions)
    @settings(max_examples=40, deadline=None)
    def test_only_where_the_truth_is_zero(
        self, sigma: float, rate: float, steps: int, delta: float, conversion: str
    ) -> None:
        known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
        if float(Renyi(conversion).evaluate(delta=delta, **known).epsilon) == 0.0:
            assert float(tight_epsilon(SampledGaussian(sigma, rate), steps, delta).lower) == 0.0

    @given(sigmas, rates, counts, st.floats(0.0, 10.0), conversions)
    @settings(max_examples=40, deadline=None)
    def test_delta_stays_the_inverse(
        self, sigma: float, rate: float, steps: int, epsilon: float, conversion: str
    ) -> None:
        known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
        method = Renyi(conversion)
        delta = float(method.delta(epsilon=epsilon, **known))
        assert 0.0 < delta <= 1.0
        if delta < 0.999:
            assert float(method.evaluate(delta=delta * (1 + 1e-9), **known).epsilon) <= epsilon * (1 + 1e-9) + 1e-12
        if 1e-290 < delta < 1.0:
            assert float(method.evaluate(delta=delta * (1 - 1e-6), **known).epsilon) > epsilon * (1 - 1e-9)


class TestManyMechanisms:
    def steps(self, count: int) -> list[SampledGaussian]:
        return [SampledGaussian(4.0 + 0.1 * i, 0.01) for i in range(count)]

    def test_up_to_some_the_best_order_is_searched(self) -> None:
        events = [(step, 200) for step in self.steps(MOST_SEARCHED)]
        total = sum(200 * renyi_divergence(m.noise_multiplier, m.sample_rate, FINE_ORDERS[::4]) for m, _ in events)
        least = epsilon_per_order(total, FINE_ORDERS[::4], np.array(1e-5), "improved").min()
        assert float(Renyi().of_events(events, 1e-5).epsilon) == pytest.approx(least, rel=1e-7)
        assert float(Renyi().of_events(events, 1e-5).epsilon) <= least * (1 + 1e-12)

    def test_one_more_never_lowers_when_the_grid_takes_over(self) -> None:
        events = [(step, 200) for step in self.steps(MOST_SEARCHED)]
        more = [*events, (SampledGaussian(1e6, 1e-6), 1)]
        assert float(Renyi().of_events(more, 1e-5).epsilon) >= float(Renyi().of_events(events, 1e-5).epsilon)

    def test_a_live_run_reads_what_its_runs_cost(self) -> None:
        charges = [step for step in self.steps(MOST_SEARCHED + 2) for _ in range(3)]
        charges += charges[:5]
        trajectory, found = Trajectory(Renyi(), 1e-5), []
        for start in range(0, len(charges), 7):
            found += trajectory.read(charges[start : start + 7]).tolist()
        for taken in (1, 4, 20, 48, 49, 55, len(charges)):
            events = [(charge, 1) for charge in charges[:taken]]
            assert found[taken - 1] == pytest.approx(float(Renyi().of_events(events, 1e-5).epsilon), rel=1e-12)
