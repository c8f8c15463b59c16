"""One contract for all accountants, tight and Bayesian included: what any of them must keep (`checks`)."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.bound import Kind
from dpviz.accounting.methods import METHODS
from dpviz.accounting.no_answer import NoAnswer
from dpviz.accounting.solve import UNKNOWNS
from dpviz.mechanisms import SampledGaussian
from tests.accounting.references import geometric, library_epsilon
from tests.contract import checks
from tests.contract.cases import CASES, UPPER, Case

sigmas = geometric(0.2, 300)
rates = st.one_of(geometric(1e-7, 1.0), st.just(1.0))
counts = st.floats(0.0, math.log(1e7)).map(lambda t: round(math.exp(t)))
deltas = st.floats(-80.0, -0.01).map(math.exp)
# Often close neighbours, where a grid's effects would show.
factors = st.one_of(st.floats(1.0, 10.0), st.floats(1.0, 1.01))
# Where the closed form holds too.
gentle_steps = st.builds(
    SampledGaussian, noise_multiplier=geometric(4.0, 100), sample_rate=geometric(1e-5, 0.2).map(lambda q: min(q, 0.2))
)
Setting = tuple[float, float, int, float]  # σ, q, T, δ
any_settings = st.tuples(sigmas, rates, counts, deltas)
# For what takes its time: T small enough for a grid to be fine.
COMMON = [(1.1, 0.02, 40, 1e-5), (4.0, 0.01, 900, 1e-6), (9.0, 0.3, 60, 1e-3), (0.7, 1.0, 3, 1e-8)]


def test_every_method_is_here() -> None:
    assert {name.partition(",")[0] for name in CASES} - {"bayesian"} == set(METHODS)
    assert {case.method.kind for case in CASES.values()} == set(Kind)


class TestMonotone:
    @given(any_settings, factors)
    @settings(max_examples=30, deadline=None)
    def test_in_all_four(self, quick: Case, setting: Setting, factor: float) -> None:
        checks.monotone(quick, *setting, factor)

    @given(gentle_steps, counts, deltas, factors)
    @settings(max_examples=15, deadline=None)
    def test_where_all_hold(self, quick: Case, step: SampledGaussian, steps: int, delta: float, factor: float) -> None:
        setting = step.noise_multiplier * 10, step.sample_rate / 10, steps, delta
        assert not math.isnan(quick.epsilon(*setting))
        checks.monotone(quick, *setting, factor)

    @given(any_settings, st.floats(0.0, 30.0), factors)
    @settings(max_examples=15, deadline=None)
    def test_delta_in_epsilon(self, quick: Case, setting: Setting, target: float, factor: float) -> None:
        checks.delta_falls_in_epsilon(quick, *setting[:3], target, factor)

    @pytest.mark.parametrize("setting", COMMON, ids=str)
    @pytest.mark.parametrize("factor", [1.003, 2.0])
    @pytest.mark.one_of(2)
    def test_common_settings(self, slow: Case, setting: Setting, factor: float) -> None:
        checks.monotone(slow, *setting, factor)
        checks.delta_falls_in_epsilon(slow, *setting[:3], 1.0, factor)


class TestInverse:
    @given(gentle_steps, counts, deltas)
    @settings(max_examples=15, deadline=None)
    def test_delta_of_epsilon(self, quick: Case, step: SampledGaussian, steps: int, delta: float) -> None:
        checks.delta_inverts_epsilon(quick, step.noise_multiplier, step.sample_rate, steps, delta)

    @pytest.mark.parametrize("setting", COMMON, ids=str)
    def test_common_settings(self, slow: Case, setting: Setting) -> None:
        checks.delta_inverts_epsilon(slow, *setting)


class TestOneArithmetic:
    """Curve, run and ledger are the same numbers."""

    @given(gentle_steps, st.integers(1, 25), deltas)
    @settings(max_examples=8, deadline=None)
    def test_curve_is_step_by_step(self, quick: Case, step: SampledGaussian, steps: int, delta: float) -> None:
        checks.curve_is_step_by_step(quick, step, steps, delta)

    @given(st.lists(st.tuples(gentle_steps, st.integers(1, 10**5)), min_size=2, max_size=6), deltas, st.randoms())
    @settings(max_examples=15, deadline=None)
    def test_runs_of_any_order(self, quick: Case, events: checks.Runs, delta: float, random: Any) -> None:
        (step, first), (_, second), *_ = events
        checks.equal_runs_merge(quick, step, first, second, delta)
        checks.order_does_not_matter(quick, events, random.sample(events, len(events)), delta)
        checks.one_more_never_lowers(quick, events[1:], step, delta)

    def test_common_settings(self, slow: Case) -> None:
        step, other = SampledGaussian(3.0, 0.02), SampledGaussian(5.0, 0.1)
        checks.curve_is_step_by_step(slow, step, 4, 1e-5)
        checks.equal_runs_merge(slow, step, 100, 33, 1e-6)
        checks.one_more_never_lowers(slow, [(step, 50)], step, 1e-6)
        if slow.mixes:
            checks.order_does_not_matter(slow, [(step, 50), (other, 7)], [(other, 7), (step, 50)], 1e-5)
            checks.one_more_never_lowers(slow, [(step, 50)], other, 1e-6)

    def test_arrays_are_scalars_side_by_side(self, quick: Case) -> None:
        sigma, rate = np.array([[4.0], [9.5], [0.7]]), np.array([[0.01], [0.2], [1.0]])
        steps, delta = np.array([0, 1, 777, 10**6]), np.array([1e-5, 1e-9, 0.3, 1e-12])
        checks.arrays_are_scalars_side_by_side(quick, sigma, rate, steps, delta)

    def test_common_arrays_are_scalars_side_by_side(self, slow: Case) -> None:
        checks.arrays_are_scalars_side_by_side(slow, np.array([[4.0], [9.5]]), 0.05, np.array([0, 1, 77]), 1e-6)

    def test_all_fields_share_one_shape(self, case: Case) -> None:
        bound = case.method.evaluate(noise_multiplier=[4.0, 5.0], sample_rate=0.1, steps=[[1], [2], [3]], delta=1e-5)
        shapes = {getattr(bound, name).shape for name in ("epsilon", "order", "at_grid_end", "floor")}
        assert shapes == {(3, 2)}


# (σ, q, T, δ), each a fraction of a second by an independent library.
PINCHED = [(4.0, 0.01, 2000, 1e-5), (0.8, 0.05, 10, 1e-3), (1.5, 1.0, 5, 1e-6), (6.0, 0.2, 300, 1e-8)]
# Losses are rounded to multiples of this, in every step: it has to be small beside ε/T.
ROUNDING = 5e-5


@lru_cache
def pinch(setting: Setting) -> tuple[float, float]:
    """An ε that the truth is not below and one that it is not above, by rounding losses down and up."""
    return library_epsilon(setting, ROUNDING, above=False), library_epsilon(setting, ROUNDING, above=True)


class TestKind:
    """An accountant is on the side of the truth that it says it is on, and `solve` answers with upper bounds only."""

    def test_is_said_with_a_reason(self, case: Case) -> None:
        assert case.method.kind in set(Kind)
        assert bool(case.method.kind_reason) == (case.method.kind is not Kind.UPPER)

    @pytest.mark.parametrize("setting", PINCHED, ids=str)
    @pytest.mark.one_of(2)
    def test_side_of_the_truth(self, case: Case, setting: Setting) -> None:
        lower, upper = pinch(setting)
        found = case.epsilon(*setting)
        assert 0.0 < lower <= upper
        if case.method.kind is Kind.UPPER:
            assert math.isnan(found) or found >= lower * (1 - 1e-9)
        if case.method.kind is Kind.LOWER:
            assert 0.0 <= found <= upper * (1 + 1e-9)
        assert not (math.isnan(found) and case.method.name != "closed_form")

    def test_no_lower_bound_above_an_upper_one(self, case: Case) -> None:
        if case.method.kind is not Kind.LOWER:
            return
        for setting in COMMON:
            found = case.epsilon(*setting)
            assert found > 0.0
            for other in UPPER.values():
                assert not other.epsilon(*setting) < found

    @pytest.mark.parametrize("unknown", UNKNOWNS)
    def test_solve_refuses_what_is_no_upper_bound(self, case: Case, unknown: str) -> None:
        if not case.solving:
            return
        method, options = case.solving
        # So many steps for δ that it is neither beyond 1 nor below what grids resolve.
        steps = 5000 if unknown == "delta" else 50
        known = {"noise_multiplier": 6.0, "sample_rate": 0.02, "steps": steps, "delta": 1e-5}
        asked = {name: value for name, value in known.items() if name != unknown}
        if case.method.kind is not Kind.UPPER:
            with pytest.raises(NoAnswer, match=case.method.kind_reason[:30].replace("(", r"\(")):
                dpviz.solve(unknown, target_epsilon=2.0, method=method, **options, **asked)
            return
        target = 1.5 if unknown == "delta" else 4.0
        easiest = {"noise_multiplier": 1e9, "sample_rate": 1e-9, "steps": 1, "delta": 1.0 - 1e-9}[unknown]
        if not case.epsilon(*(known | {unknown: easiest}).values()) <= target:  # as basic composition for δ
            with pytest.raises(NoAnswer):
                dpviz.solve(unknown, target_epsilon=target, method=method, **options, **asked)
            return
        found = dpviz.solve(unknown, target_epsilon=target, method=method, tolerance=1e-3, **options, **asked)
        assert case.epsilon(*(known | {unknown: found}).values()) <= target
        better = {"noise_multiplier": 0.99, "sample_rate": 1.01, "delta": 0.9, "steps": 1.02}[unknown] * found
        better = max(math.ceil(better), found + 1.0) if unknown == "steps" else better
        if unknown in ("noise_multiplier", "steps") or better <= 1.0:
            beyond = case.epsilon(*(known | {unknown: better}).values())
            assert not beyond <= target - 2.0 * case.room(target)


class TestEdges:
    @pytest.mark.parametrize("sigma", [0.01, 0.5, 4.0, 1e3])
    def test_no_steps_and_no_sampling_cost_nothing(self, case: Case, sigma: float) -> None:
        checks.nothing_released_costs_nothing(case, sigma)

    @pytest.mark.parametrize("delta", [1e-300, 0.999])
    @pytest.mark.parametrize("sigma", [1e-3, 0.5, 4.0, 1e3, 1e6])
    @pytest.mark.parametrize("rate", [1e-9, 0.2, 1 - 1e-9, 1.0])
    def test_extremes_give_a_number_or_say_why_not(self, quick: Case, sigma: float, rate: float, delta: float) -> None:
        checks.a_number_or_a_reason(quick, sigma, rate, [1, 10**9], delta)

    @pytest.mark.parametrize("delta", [1e-14, 0.999])
    @pytest.mark.parametrize("sigma", [1e-3, 1e6])
    @pytest.mark.parametrize("rate", [1e-9, 1.0])
    def test_common_extremes(self, slow: Case, sigma: float, rate: float, delta: float) -> None:
        checks.a_number_or_a_reason(slow, sigma, rate, [1, 1000], delta)

    def test_full_sampling_is_the_limit_of_nearly_full(self, case: Case) -> None:
        full, nearly = (case.epsilon(4.0, q, 10, 1e-5) for q in (1.0, 1 - 1e-12))
        assert math.isnan(full) or nearly == pytest.approx(full, rel=1e-9, abs=case.room(full))

    def test_huge_noise_costs_next_to_nothing(self, case: Case) -> None:
        bound = case.method.evaluate(noise_multiplier=1e6, sample_rate=0.01, steps=1, delta=1e-5)
        assert case.floor or float(bound.epsilon) <= float(bound.floor) + 1e-3 + case.room(0.0)

    def test_step_counts_cost_no_rounding(self, quick: Case) -> None:
        """10^9 + 1000 steps are more than 10^9."""
        few, many = quick.epsilon(50.0, 1e-6, np.array([10**9, 10**9 + 1000]), 1e-5)
        assert many > few or (many == few and quick.stairs)


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
    def test_message_names_argument_and_value(self, case: Case, argument: str, value: Any, named: str) -> None:
        good = {"noise_multiplier": 4.0, "sample_rate": 0.1, "steps": 10, "delta": 1e-5}
        with pytest.raises(ValueError, match=f"Expected {named}") as caught:
            case.method.evaluate(**{**good, argument: value})
        if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:
            assert f"{value:.12g}".replace("nan", "NaN") in str(caught.value)

    @pytest.mark.parametrize("bad", [0.0, 1.0, math.nan, None, "1e-5"])
    def test_delta_of_runs(self, case: Case, bad: Any) -> None:
        with pytest.raises(ValueError, match="Expected delta"):
            case.method.of_events([(SampledGaussian(4.0, 0.1), 1)], bad)
