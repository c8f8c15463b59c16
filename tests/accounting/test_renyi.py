"""Rényi accounting: conversions, orders and their search, the cap of total variation, closed and asymptotic forms."""

import math
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import laplace, norm

import dpviz
from dpviz.accounting.accountant import gaussian_rows
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.accounting.renyi.accountant import MOST_SEARCHED, Renyi
from dpviz.accounting.renyi.best_epsilon import OrderSearch, best_epsilon, parts
from dpviz.accounting.renyi.both_directions import both_directions
from dpviz.accounting.renyi.closed_form import ClosedForm, closed_form_divergence
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order, to_bound, to_delta
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS, FINE_ORDERS
from dpviz.accounting.renyi.search import lowest
from dpviz.accounting.renyi.total_variation import one_step_variation, total_variation
from dpviz.mechanisms import Laplace, SampledGaussian
from dpviz.mechanisms.log_moments import log_moment, renyi_divergence
from dpviz.training.accounts.stepwise import Trajectory
from tests.accounting.references import gaussian_delta, geometric


@pytest.mark.parametrize("method", ["moments", "renyi", "basic", "strong"])
@given(geometric(0.3, 300), st.integers(1, 1000), st.floats(-40.0, -0.5).map(math.exp))
@settings(max_examples=30, deadline=None)
def test_without_sampling_never_below_the_exact_gaussian(method: str, sigma: float, steps: int, delta: float) -> None:
    found = dpviz.epsilon(method, noise_multiplier=sigma, sample_rate=1.0, steps=steps, delta=delta)
    assert gaussian_delta(math.sqrt(steps) / sigma, found) <= delta * (1 + 1e-9)


def test_one_setting_is_computed_once_and_can_not_be_written_to() -> None:
    first = Renyi().step_divergence(4.0, 0.01)
    assert Renyi().step_divergence(4.0, 0.01).base is first.base or first is Renyi().step_divergence(4.0, 0.01)
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 0.0


ORDERS = np.array(DEFAULT_ORDERS)
any_deltas = st.floats(-690.0, -0.01).map(math.exp)
mus = geometric(1e-3, 30.0)


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


@pytest.mark.parametrize(
    ("total", "order", "at_end"),
    [
        ([0.1, 0.2, 3.0, 20.0], 3.0, False),
        ([0.0002, 0.0003, 0.0005, 0.0009], 9.0, True),
        ([100.0, 150.0, 250.0, 450.0], 2.0, True),
        ([np.nan, 0.1, 0.15, np.nan], 5.0, True),  # an end of what has a value is an end
    ],
)
def test_what_decided(total: list[float], order: float, at_end: bool) -> None:
    orders = np.array([2.0, 3.0, 5.0, 9.0])
    bound = to_bound(np.array(total), orders, 1e-2, "classic")
    assert (float(bound.order), bool(bound.at_grid_end)) == (order, at_end)
    divergence = total[orders.tolist().index(order)]
    assert float(bound.epsilon) == pytest.approx(divergence + math.log(100) / (order - 1), rel=1e-15)
    last = orders[np.isfinite(total)][-1]
    assert float(bound.floor) == pytest.approx(math.log(100) / (last - 1), rel=1e-15)


ALL = tuple((1.0 + np.geomspace(1e-4, 1e6, 8001)).tolist())  # neighbours 0.3 % apart


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "delta"),
    [
        (1.0, 0.01, 10_000, 1e-5),
        (0.3, 0.1, 100, 1e-6),  # ε above 100, an order close to 1
        # Knees: a geometric grid of ratio 1.04 (1.12 above 1000) reads these 4 to 30 % too high, DEFAULT_ORDERS 2 %.
        (13.88, 1.658e-6, 4, 7.762e-11),
        (18.57, 1.71e-6, 2348, 4.72e-11),
        (7.232, 8.471e-6, 138_500, 1.088e-12),
        (1.025, 1.584e-6, 246_300, 3.574e-4),
        (7.338, 5.765e-5, 587, 2.94e-4),
    ],
)
def test_no_order_is_much_better(sigma: float, rate: float, steps: int, delta: float) -> None:
    setting = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps, "delta": delta}
    best = dpviz.epsilon("renyi", **setting, orders=ALL)
    assert dpviz.epsilon("renyi", **setting, orders=DEFAULT_ORDERS[1:]) <= 1.05 * best
    assert dpviz.epsilon("renyi", **setting) <= 1.0013 * best


PLACES = FINE_ORDERS.size


@settings(max_examples=40, deadline=None)
@given(
    bottoms=st.lists(st.integers(0, PLACES - 1), min_size=1, max_size=5),
    steepness=st.sampled_from([(1.0, 1.0), (1.0, 50.0), (50.0, 1.0)]),
    power=st.sampled_from([1.0, 2.0]),
    hole=st.integers(0, 3000),
    guess=st.one_of(st.none(), st.integers(-5, PLACES + 5)),
)
def test_the_bottom_of_any_valley(
    bottoms: list[int], steepness: tuple[float, float], power: float, hole: int, guess: int | None
) -> None:
    """Kinks, lopsided ones, and values that are infinite from some place on."""
    at = np.array(bottoms)
    seen = []

    def values(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        seen.append(places.size)
        away = places - at[rows]
        height = np.where(away < 0, steepness[0] * -away, steepness[1] * away) ** power
        return np.where(away > 2000 + hole, np.inf, height)

    place, value = lowest(values, at.size, PLACES, guess)
    assert place.tolist() == bottoms
    assert value.tolist() == [0.0] * at.size
    assert guess is not None or sum(seen) < 260 * at.size


def test_nothing_finite_is_told_as_infinite() -> None:
    place, value = lowest(lambda rows, places: np.full(np.broadcast_shapes(rows.shape, places.shape), np.inf), 2, 40)
    assert np.isinf(value).all()
    assert place.shape == (2,)


Array = np.ndarray

sigmas = geometric(0.3, 100)
rates = geometric(1e-6, 1.0)
counts = st.floats(0.0, math.log(1e6)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-27.0, -0.1).map(math.exp)
plain_runs = st.fixed_dictionaries({"noise_multiplier": sigmas, "sample_rate": rates, "steps": counts, "delta": deltas})
conversions = st.sampled_from(CONVERSIONS)


@given(plain_runs, conversions)
@settings(max_examples=25, deadline=None)
def test_never_above_named_orders_nor_below_its_own(run: dict[str, Any], conversion: str) -> None:
    """All 21 057 orders looked at say what the search found."""
    found = float(Renyi(conversion).evaluate(**run).epsilon)
    some = dpviz.epsilon("renyi", orders=DEFAULT_ORDERS[1::2], conversion=conversion, **run)
    assert found <= some * (1 + 1e-12)
    rows, delta = gaussian_rows(run["noise_multiplier"], run["sample_rate"], run["steps"], np.array(run["delta"]))
    ((_, spent),) = parts(rows)
    (uncapped,), (place,) = best_epsilon(spent, delta.ravel(), conversion, capped=False)
    beside = FINE_ORDERS[max(place - 40, 0) : place + 41]
    wanted = dpviz.epsilon("renyi", orders=beside, conversion=conversion, **run)
    assert uncapped == pytest.approx(wanted, rel=1e-11, abs=1e-14)
    assert found in (0.0, uncapped)


class TestOrderSearch:
    @given(plain_runs, conversions, st.one_of(st.none(), st.floats(1.001, 1e5)))
    @settings(max_examples=25, deadline=None)
    def test_is_the_accountant(self, run: dict[str, Any], conversion: str, near: float | None) -> None:
        search = OrderSearch(run["noise_multiplier"], run["sample_rate"])
        found, order = search.epsilon(float(run["steps"]), run["delta"], conversion, near)
        bound = Renyi(conversion).evaluate(**run)
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


class TestCap:
    """ε = 0 where δ is at least the total variation, and not where it is less than the truth's."""

    def test_hardly_ever_drawn(self) -> None:
        known = {"noise_multiplier": 1e-3, "sample_rate": 1e-6, "steps": 100}
        drawn = 1.0 - (1.0 - 1e-6) ** 100
        assert dpviz.epsilon("renyi", delta=drawn * (1 + 1e-6), **known) == 0.0
        assert dpviz.epsilon("renyi", delta=drawn * (1 - 1e-6), **known) > 1.0
        assert dpviz.delta("renyi", epsilon=0.0, **known) == pytest.approx(drawn, rel=1e-6)
        assert dpviz.epsilon("renyi", delta=drawn, orders=[2.0, 3.0], **known) > 1.0  # named orders are left alone

    @given(sigmas, rates, st.integers(1, 1000), st.floats(-14.0, -0.01).map(math.exp))
    @settings(max_examples=40, deadline=None)
    def test_only_where_the_truth_is_zero(self, sigma: float, rate: float, steps: int, delta: float) -> None:
        known = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
        for conversion in CONVERSIONS:
            if float(Renyi(conversion).evaluate(delta=delta, **known).epsilon) == 0.0:
                assert float(tight_epsilon(SampledGaussian(sigma, rate), steps, delta).lower) == 0.0


def test_a_live_run_reads_what_its_runs_cost() -> None:
    charges = [SampledGaussian(4.0 + 0.1 * i, 0.01) for i in range(MOST_SEARCHED + 2) for _ in range(3)]
    charges += charges[:5]
    trajectory, found = Trajectory(Renyi(), 1e-5), []
    for start in range(0, len(charges), 7):
        found += trajectory.read(charges[start : start + 7]).tolist()
    for taken in (1, 4, 20, 48, 49, 55, len(charges)):
        events = [(charge, 1) for charge in charges[:taken]]
        assert found[taken - 1] == pytest.approx(float(Renyi().of_events(events, 1e-5).epsilon), rel=1e-12)


some_sigmas = geometric(0.3, 50)
some_rates = st.one_of(geometric(1e-5, 1.0), st.just(1.0))


def bound(sigma: float, rate: float, steps: float) -> float:
    one = one_step_variation(np.array([sigma]), np.array([rate]))
    return float(total_variation(one, np.array([steps]), steps * renyi_divergence(sigma, rate, 1.0001)))


@given(some_sigmas, some_rates)
@settings(max_examples=30, deadline=None)
def test_one_step_is_exact_or_below_no_truth(sigma: float, rate: float) -> None:
    exact = rate * (2.0 * norm.cdf(0.5 / sigma) - 1.0)
    assert bound(sigma, rate, 1.0) == pytest.approx(exact, rel=1e-8)
    assert bound(sigma, rate, 1.0) >= exact


@given(some_sigmas, some_rates, st.integers(2, 5000))
@settings(max_examples=25, deadline=None)
def test_never_below_the_truth(sigma: float, rate: float, steps: int) -> None:
    assert bound(sigma, rate, steps) >= float(tight_delta(SampledGaussian(sigma, rate), steps, 0.0).lower)


@given(some_rates, st.integers(1, 10**7))
@settings(max_examples=30, deadline=None)
def test_never_above_the_chance_of_being_drawn(rate: float, steps: int) -> None:
    drawn = -math.expm1(steps * math.log1p(-rate)) if rate < 1.0 else 1.0
    assert bound(0.01, rate, steps) == pytest.approx(drawn, rel=1e-6)


def test_mechanisms_add_up_and_nothing_is_nothing() -> None:
    sigma, rate = np.array([[1.0, 2.0], [1.0, 2.0]]), np.array([[1e-3, 1.0], [1e-3, 0.0]])
    found = total_variation(one_step_variation(sigma, rate), np.array([[3.0, 0.0], [3.0, 9.0]]), np.array([1.0, 1.0]))
    alone = 1.0 - (1.0 - 1e-3 * (2.0 * norm.cdf(0.5) - 1.0)) ** 3
    assert found.tolist() == pytest.approx([alone] * 2, rel=1e-8)
    assert total_variation(one_step_variation(sigma, rate), np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]
    assert total_variation(one_step_variation(np.array([1e200]), np.array([0.5])), np.array([1.0]), np.array(0.0)) > 0.0


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
    @given(geometric(4.0, 1000), st.floats(math.log(1e-9), math.log(0.2)), alphas)
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


@given(st.floats(1.0, 100.0), st.floats(1e-8, 1.0), st.integers(1, 10_000))
def test_value_and_conditions(sigma: float, rate: float, order: int) -> None:
    found = dpviz.papers.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=order)
    s, q = mp.mpf(sigma), mp.mpf(rate)
    last = s**2 * mp.log(1 / (q * s))
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
    last = dpviz.papers.asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)
    order = max(1.0, math.floor(min(last, 3000.0) ** c))
    value = dpviz.papers.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=order)
    exact = float(log_moment(sigma, rate, [order + 1.0])[0])
    assert 0.45 * float(value) < exact <= 1.02 * float(value)


BOTH_ORDERS = np.array([1.05, 2.0, 3.5, 16.0])


@pytest.mark.parametrize(
    "mechanism",
    [SampledGaussian(0.8, 0.3), SampledGaussian(3.0, 0.05), SampledGaussian(1.0, 0.999), Laplace(0.7, 0.2)],
    ids=lambda m: m.text,
)
def test_both_are_what_quadrature_gives(mechanism: SampledGaussian | Laplace) -> None:
    scale, rate = getattr(mechanism, mechanism.noise), mechanism.sample_rate
    noise, width = (laplace(scale=scale) if isinstance(mechanism, Laplace) else norm(scale=scale)), 60.0 * scale

    def moment(power: float, over: int) -> float:
        """∫ top^power bottom^(1 − power), the ratio of logs first: nothing overflows."""

        def value(z: float) -> float:
            without = float(noise.logpdf(z))
            mixed = float(np.logaddexp(math.log1p(-rate) + without, math.log(rate) + noise.logpdf(z - 1)))
            top, bottom = (mixed, without) if over else (without, mixed)
            return math.exp(power * top + (1 - power) * bottom)

        return float(quad(value, -width, 1 + width, points=(0.0, 1.0), limit=600, epsabs=0, epsrel=1e-11)[0])

    removed, added = both_directions(mechanism, BOTH_ORDERS)
    for i, order in enumerate(BOTH_ORDERS):
        assert removed[i] == pytest.approx(math.log(moment(order, 1)) / (order - 1), rel=1e-6)
        assert added[i] == pytest.approx(math.log(moment(order, 0)) / (order - 1), rel=1e-6)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("scale", [0.05, 0.5, 2.0, 40.0])
def test_removing_never_costs_less(scale: float, rate: float) -> None:
    orders = np.geomspace(1.01, 64.0, 15)
    for mechanism in (SampledGaussian(scale, rate), Laplace(scale, rate)):
        removed, added = both_directions(mechanism, orders)
        assert (removed >= added * (1 - 1e-9)).all()
        if rate == 1.0:
            assert added == pytest.approx(removed)


def test_hardly_any_noise() -> None:
    """Added: Q lies where P has half its mass, at every order."""
    _, added = both_directions(SampledGaussian(1e-3, 0.5), BOTH_ORDERS)
    assert added == pytest.approx(math.log(2.0))
