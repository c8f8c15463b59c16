"""One suite for all accountants: what any of them must keep, whatever it computes.

A new accountant joins by a line in ACCOUNTANTS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.accountant import Accountant, Ledger
from dpviz.accounting.mechanism import SampledGaussian
from dpviz.accounting.methods import accountant

ACCOUNTANTS: dict[str, Accountant] = {
    "basic": accountant("basic"),
    "strong": accountant("strong"),
    "moments": accountant("moments"),
    "renyi, improved": accountant("renyi", conversion="improved"),
    "renyi, classic": accountant("renyi", conversion="classic"),
    "closed_form": accountant("closed_form"),
    "odometer, paper": accountant("odometer"),
    "odometer, authors": accountant("odometer", variant="authors"),
}

# An odometer's filters double in size: ε is a staircase in steps, and a lower δ, which starts with larger filters, may
# need one filter fewer. Its own tests say so.
STAIRS = ("odometer",)
# Relative rounding that two ways to the same number may differ by.
DIGITS = 1e-12

sigmas = st.floats(math.log(0.2), math.log(300)).map(math.exp)
rates = st.one_of(st.floats(math.log(1e-7), 0.0).map(math.exp), st.just(1.0))
counts = st.floats(0.0, math.log(1e7)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-80.0, -0.01).map(math.exp)
# Often close neighbours, where a grid's effects would show.
factors = st.one_of(st.floats(1.0, 10.0), st.floats(1.0, 1.01))
# Where the closed form holds too.
gentle_steps = st.builds(
    SampledGaussian,
    noise_multiplier=st.floats(math.log(4.0), math.log(100)).map(math.exp),
    sample_rate=st.floats(math.log(1e-5), math.log(0.2)).map(math.exp).map(lambda q: min(q, 0.2)),
)


@pytest.fixture(params=list(ACCOUNTANTS), scope="module")
def method(request: pytest.FixtureRequest) -> Accountant:
    return ACCOUNTANTS[request.param]


def epsilon(method: Accountant, sigma: Any, rate: Any, steps: Any, delta: Any) -> Any:
    found = method.evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta).epsilon
    return found if found.ndim else float(found)


class TestMonotone:
    """More steps, more sampling, less noise, smaller δ never lower ε: exactly, but for the last digits.

    Where the closed form ceases to hold ε is NaN, and where it holds for fewer orders it may only rise.
    """

    @staticmethod
    def never_lower(more: float, less: float) -> None:
        assert math.isnan(more) or math.isnan(less) or more >= less * (1 - DIGITS)

    @given(sigmas, rates, counts, deltas, factors)
    @settings(max_examples=40, deadline=None)
    def test_in_all_four(
        self, method: Accountant, sigma: float, rate: float, steps: int, delta: float, factor: float
    ) -> None:
        here = epsilon(method, sigma, rate, steps, delta)
        self.never_lower(epsilon(method, sigma, rate, math.ceil(steps * factor), delta), here)
        self.never_lower(epsilon(method, sigma, min(1.0, rate * factor), steps, delta), here)
        self.never_lower(epsilon(method, sigma / factor, rate, steps, delta), here)
        if method.name not in STAIRS:
            self.never_lower(epsilon(method, sigma, rate, steps, delta / factor), here)

    @given(gentle_steps, counts, deltas, factors)
    @settings(max_examples=20, deadline=None)
    def test_where_all_hold(
        self, method: Accountant, step: SampledGaussian, steps: int, delta: float, factor: float
    ) -> None:
        sigma, rate = step.noise_multiplier * 10, step.sample_rate / 10
        here = epsilon(method, sigma, rate, steps, delta)
        assert not math.isnan(here)
        assert epsilon(method, sigma, rate, math.ceil(steps * factor), delta) >= here * (1 - DIGITS)
        assert epsilon(method, sigma, rate * factor, steps, delta) >= here * (1 - DIGITS)
        assert epsilon(method, sigma / factor, rate, steps, delta) >= here * (1 - DIGITS)
        assert method.name in STAIRS or epsilon(method, sigma, rate, steps, delta / factor) >= here * (1 - DIGITS)

    @given(sigmas, rates, counts, st.floats(0.0, 30.0), factors)
    @settings(max_examples=15, deadline=None)
    def test_delta_in_epsilon(
        self, method: Accountant, sigma: float, rate: float, steps: int, target: float, factor: float
    ) -> None:
        wide, narrow = (
            float(method.delta(noise_multiplier=sigma, sample_rate=rate, steps=steps, epsilon=e))
            for e in (target, target * factor)
        )
        self.never_lower(wide, narrow)
        assert math.isnan(wide) or 0.0 <= narrow <= 1.0


class TestOneArithmetic:
    """Curve, run and ledger are the same numbers."""

    @given(gentle_steps, st.integers(1, 40), deltas)
    @settings(max_examples=15, deadline=None)
    def test_curve_is_step_by_step(self, method: Accountant, step: SampledGaussian, steps: int, delta: float) -> None:
        curve = epsilon(method, step.noise_multiplier, step.sample_rate, np.arange(steps + 1), delta)
        ledger = Ledger(method)
        live = [float(ledger.bound(delta).epsilon)]
        for _ in range(steps):
            ledger.spend(step)
            live.append(float(ledger.bound(delta).epsilon))
        np.testing.assert_allclose(live, curve, rtol=DIGITS)

    @given(gentle_steps, st.integers(1, 10**6), st.integers(1, 10**6), deltas)
    @settings(max_examples=15, deadline=None)
    def test_two_equal_runs_merge(
        self, method: Accountant, step: SampledGaussian, first: int, second: int, delta: float
    ) -> None:
        whole = epsilon(method, step.noise_multiplier, step.sample_rate, first + second, delta)
        parts = float(method.of_runs([(step, first), (step, second)], delta).epsilon)
        ledger = Ledger(method)
        ledger.spend(step, first)
        ledger.spend(step, second)
        np.testing.assert_allclose([parts, float(ledger.bound(delta).epsilon)], whole, rtol=DIGITS)

    @given(st.lists(st.tuples(gentle_steps, st.integers(1, 10**5)), min_size=2, max_size=6), deltas, st.randoms())
    @settings(max_examples=15, deadline=None)
    def test_order_of_runs_does_not_matter(
        self, method: Accountant, runs: list[tuple[SampledGaussian, int]], delta: float, random: Any
    ) -> None:
        shuffled = random.sample(runs, len(runs))
        found = float(method.of_runs(runs, delta).epsilon)
        ledger = Ledger(method)
        for mechanism, count in shuffled:
            ledger.spend(mechanism, count)
        both = [float(method.of_runs(shuffled, delta).epsilon), float(ledger.bound(delta).epsilon)]
        np.testing.assert_allclose(both, found, rtol=DIGITS)

    @given(st.lists(st.tuples(gentle_steps, st.integers(1, 10**4)), min_size=1, max_size=3), gentle_steps, deltas)
    @settings(max_examples=15, deadline=None)
    def test_one_more_run_never_lowers(
        self, method: Accountant, runs: list[tuple[SampledGaussian, int]], step: SampledGaussian, delta: float
    ) -> None:
        before, after = (float(method.of_runs(r, delta).epsilon) for r in (runs, [*runs, (step, 1)]))
        assert after >= before * (1 - DIGITS)

    def test_arrays_are_scalars_side_by_side(self, method: Accountant) -> None:
        sigma, rate = np.array([[4.0], [9.5], [0.7]]), np.array([[0.01], [0.2], [1.0]])
        steps, delta = np.array([0, 1, 777, 10**6]), np.array([1e-5, 1e-9, 0.3, 1e-12])
        together = epsilon(method, sigma, rate, steps, delta)
        assert together.shape == (3, 4)
        alone = [
            [epsilon(method, float(s), float(q), t, d) for t, d in zip(steps.tolist(), delta.tolist(), strict=True)]
            for s, q in zip(sigma.ravel(), rate.ravel(), strict=True)
        ]
        np.testing.assert_allclose(together, alone, rtol=DIGITS)

    def test_all_fields_share_one_shape(self, method: Accountant) -> None:
        bound = method.evaluate(noise_multiplier=[4.0, 5.0], sample_rate=0.1, steps=[[1], [2], [3]], delta=1e-5)
        shapes = {getattr(bound, name).shape for name in ("epsilon", "order", "at_grid_end", "floor")}
        assert shapes == {(3, 2)}


# (σ, q, T, δ), each a fraction of a second by an independent library.
LOWER = [(4.0, 0.01, 2000, 1e-5), (0.8, 0.05, 10, 1e-3), (1.5, 1.0, 5, 1e-6), (6.0, 0.2, 300, 1e-8)]
# Losses are rounded down to multiples of this, in every step: it has to be small beside ε/T.
ROUNDING = 5e-5


@pytest.fixture(scope="module", params=LOWER, ids=str)
def pinched(request: pytest.FixtureRequest) -> tuple[tuple[float, float, int, float], float]:
    """A setting and an ε that the truth is not below, from rounding privacy losses down."""
    sigma, rate, steps, delta = request.param
    one = privacy_loss_distribution.from_gaussian_mechanism(
        sigma,
        sampling_prob=rate,
        pessimistic_estimate=False,
        use_connect_dots=False,
        value_discretization_interval=ROUNDING,
    )
    return request.param, one.self_compose(steps).get_epsilon_for_delta(delta)


class TestSound:
    def test_never_below_the_lower_tight_curve(
        self, method: Accountant, pinched: tuple[tuple[float, float, int, float], float]
    ) -> None:
        setting, lower = pinched
        found = epsilon(method, *setting)
        assert lower > 0.0
        assert math.isnan(found) or found >= lower * (1 - 1e-9)
        assert method.name != "closed_form" or math.isnan(found) == (setting[0] < 4 or setting[1] > 0.2)


class TestEdges:
    @pytest.mark.parametrize("sigma", [0.01, 0.5, 4.0, 1e3])
    def test_no_steps_and_no_sampling_cost_nothing(self, method: Accountant, sigma: float) -> None:
        assert epsilon(method, sigma, 0.5, 0, 1e-5) == 0.0
        assert epsilon(method, sigma, 0.0, [1, 10**9], 1e-300).tolist() == [0.0, 0.0]
        assert float(method.of_runs([], 1e-5).epsilon) == 0.0

    @pytest.mark.parametrize("delta", [1e-300, 0.999])
    @pytest.mark.parametrize("sigma", [1e-3, 0.5, 4.0, 1e3, 1e6])
    @pytest.mark.parametrize("rate", [1e-9, 0.2, 1 - 1e-9, 1.0])
    def test_extremes_give_a_number_or_say_why_not(
        self, method: Accountant, sigma: float, rate: float, delta: float
    ) -> None:
        bound = method.evaluate(noise_multiplier=sigma, sample_rate=rate, steps=[1, 10**9], delta=delta)
        assert (np.isnan(bound.epsilon) == bool(bound.reason)).all()
        assert (np.isnan(bound.epsilon) | (bound.epsilon >= 0.0)).all()

    def test_full_sampling_is_the_limit_of_nearly_full(self, method: Accountant) -> None:
        full, nearly = (epsilon(method, 4.0, q, 10, 1e-5) for q in (1.0, 1 - 1e-12))
        assert math.isnan(full) or nearly == pytest.approx(full, rel=1e-9)

    def test_huge_noise_costs_next_to_nothing(self, method: Accountant) -> None:
        bound = method.evaluate(noise_multiplier=1e6, sample_rate=0.01, steps=1, delta=1e-5)
        assert float(bound.epsilon) <= float(bound.floor) + 1e-3

    def test_step_counts_cost_no_rounding(self, method: Accountant) -> None:
        """10^9 + 1 steps are more than 10^9."""
        few, many = epsilon(method, 50.0, 1e-6, np.array([10**9, 10**9 + 1000]), 1e-5)
        assert many > few or (many == few and method.name in STAIRS)


BAD: list[tuple[str, Any, str]] = [
    *(("noise_multiplier", bad, "noise_multiplier") for bad in (0, -1.5, math.nan, math.inf, "4", None, True)),
    *(("sample_rate", bad, "sample_rate") for bad in (-0.1, 1.4, math.nan, "0.1", None, False, b"1")),
    *(("steps", bad, "steps") for bad in (-1, 2.5, math.nan, math.inf, "10", None, True, 1e300, 10**400)),
    *(("delta", bad, "delta") for bad in (0.0, 1.0, -1e-5, 2, math.nan, "1e-5", None, True)),
    ("noise_multiplier", [4.0, -2.0], "noise_multiplier=-2 "),
    ("sample_rate", ["0.1"], "sample_rate=.*'0.1'"),
    ("steps", [True, False], "steps"),
    ("delta", [1e-5, None], "delta"),
    ("sample_rate", 0.1 + 0.2j, "sample_rate"),
]


class TestBadInput:
    @pytest.mark.parametrize(("argument", "value", "named"), BAD, ids=lambda v: repr(v)[:20])
    def test_message_names_argument_and_value(self, method: Accountant, argument: str, value: Any, named: str) -> None:
        good = {"noise_multiplier": 4.0, "sample_rate": 0.1, "steps": 10, "delta": 1e-5}
        with pytest.raises(ValueError, match=f"Expected {named}") as caught:
            method.evaluate(**{**good, argument: value})
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            assert f"{value:.12g}".replace("nan", "NaN") in str(caught.value)

    @pytest.mark.parametrize("bad", [0.0, 1.0, math.nan, None, "1e-5"])
    def test_delta_of_runs(self, method: Accountant, bad: Any) -> None:
        with pytest.raises(ValueError, match="Expected delta"):
            method.of_runs([(SampledGaussian(4.0, 0.1), 1)], bad)
