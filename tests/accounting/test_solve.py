"""The solver and its bracketing search: answers hold for the very float, nothing better would do."""

import math
import warnings
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.boundary import boundary, bracket, last_whole, nudged
from dpviz.accounting.no_answer import NoAnswer
from dpviz.accounting.no_noise import chance_of_being_drawn

SHAPES = {
    "line": lambda x: x,
    "steep": lambda x: math.sinh(min(max(20 * x, -600), 600)),
    "flat": lambda x: math.copysign(min(abs(x), 1.0) ** 9, x),
    "jump": lambda x: -1.0 if x <= 0 else math.inf,
    "sizeless": lambda x: -math.inf if x <= 0 else math.inf,
}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.floats(-50.0, 50.0), st.floats(-50.0, 50.0), st.sampled_from([1.0, -1.0]))
def test_ends_on_the_good_side_and_near(shape: str, root: float, start: float, towards: float) -> None:
    seen = []

    def gap(x: float) -> float:
        seen.append(x)
        return SHAPES[shape]((root - x) * towards)

    found = bracket(gap, start, towards=towards, limit=200.0)
    assert found is not None
    answer = boundary(gap, *found, 1e-7)
    assert gap(answer) <= 0
    assert gap(answer - 1.01e-7 * towards) > 0 or shape == "flat"
    assert len(seen) < 150


def test_no_boundary_within_the_limit() -> None:
    assert bracket(lambda x: math.inf, 0.0, towards=1.0, limit=50.0) is None
    found = bracket(lambda x: -1.0, 0.0, towards=1.0, limit=50.0)
    assert found is not None
    assert found[:2] == (-50.0, -math.inf)


@pytest.mark.parametrize("answer", [0, 1, 2, 3, 17, 1000, 123_456_789, 2**53 - 1, 2**53])
@pytest.mark.parametrize("start", [1.0, 1000.0, 2.0**40])
def test_last_whole_is_exact(answer: int, start: float) -> None:
    seen = []

    def gap(x: float) -> float:
        seen.append(x)
        assert x == math.floor(x)
        size = abs(math.log(x / (answer + 0.5))) if answer else math.inf
        return max(size, 5e-324) if x > answer else -size

    found = last_whole(gap, start, 2.0**53)
    assert found == answer
    assert type(found) is float
    assert len(seen) < 60


TRAINING = {"noise_multiplier": 4.5, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
METHODS = ("basic", "strong", "moments", "renyi", "closed_form", "odometer")
UNKNOWNS = ("noise_multiplier", "steps", "sample_rate", "delta")


def known(unknown: str, **changes: float) -> dict[str, float]:
    return {name: value for name, value in (TRAINING | changes).items() if name != unknown}


def worse(unknown: str, answer: float) -> float:
    """The next better value, beyond the promised tolerance: it must not do any more."""
    return {
        "noise_multiplier": answer * (1 - 1e-6),
        "steps": answer + 1,
        "sample_rate": answer * (1 + 1e-6),
        "delta": answer * (1 - 1e-6),
    }[unknown]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unknown", UNKNOWNS)
def test_the_answer_holds_and_nothing_better_does(method: str, unknown: str) -> None:
    given = known(unknown, steps=1000) if method == "basic" else known(unknown)
    answer = dpviz.solve(unknown, target_epsilon=8.0, method=method, **given)
    assert type(answer) is (int if unknown == "steps" else float)
    assert dpviz.epsilon(method, **given, **{unknown: answer}) <= 8.0
    assert not dpviz.epsilon(method, **given, **{unknown: worse(unknown, answer)}) <= 8.0


trainings = st.fixed_dictionaries(
    {
        "noise_multiplier": st.floats(0.4, 50.0),
        "sample_rate": st.floats(-5.0, 0.0).map(lambda x: 10.0**x),
        "steps": st.integers(1, 100_000),
        "delta": st.floats(-9.0, -2.0).map(lambda x: 10.0**x),
    }
)


@settings(max_examples=40, deadline=None)
@given(st.sampled_from(("strong", "moments", "renyi")), st.sampled_from(UNKNOWNS), st.floats(0.05, 30.0), trainings)
def test_any_setting_has_a_safe_answer_or_a_reason(
    method: str, unknown: str, target: float, training: dict[str, float]
) -> None:
    given = known(unknown, **training)
    try:
        answer = dpviz.solve(unknown, target_epsilon=target, method=method, **given)
    except NoAnswer:
        best = {"noise_multiplier": 1e9, "steps": 1, "sample_rate": 1e-12, "delta": 1 - 1e-9}[unknown]
        assert not dpviz.epsilon(method, **given, **{unknown: best}) <= target
        return
    if unknown == "noise_multiplier" and answer == 0.0:
        assert training["delta"] >= chance_of_being_drawn(training["sample_rate"], int(training["steps"]))
        assert dpviz.epsilon(method, **given, noise_multiplier=1e-6) <= target
        return
    assert answer > 1e-9 or unknown != "noise_multiplier"
    assert dpviz.epsilon(method, **given, **{unknown: answer}) <= target
    beyond = worse(unknown, answer)
    as_small_as_doubles = unknown == "delta" and answer < 1e-300
    if not as_small_as_doubles and not (unknown == "sample_rate" and beyond > 1.0):
        assert dpviz.epsilon(method, **given, **{unknown: beyond}) > target * (1 - 1e-12)


@pytest.mark.parametrize("target", [0.5, 3.0])
def test_same_noise_as_dp_accounting(target: float) -> None:
    orders = [1.5, 2.0, 3.0, 5.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0]

    def run(sigma: float) -> dp_accounting.DpEvent:
        step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(sigma))
        return dp_accounting.SelfComposedDpEvent(step, 1000)

    between = dp_accounting.ExplicitBracketInterval(0.3, 30.0)
    calibrated = dp_accounting.calibrate_dp_mechanism(
        lambda: RdpAccountant(orders), run, target, 1e-5, between, tol=1e-6
    )
    asked = known("noise_multiplier", steps=1000)
    ours = dpviz.solve("noise_multiplier", target_epsilon=target, method="renyi", orders=orders, **asked)
    assert ours == pytest.approx(calibrated, rel=1e-4)  # its fractional moments are over-stated in the 5th digit


def test_same_noise_as_opacus() -> None:
    """Its search stops within 0.01 of ε; ours ends in that interval, below its σ."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from opacus.accountants import RDPAccountant
        from opacus.accountants.utils import get_noise_multiplier

        theirs = get_noise_multiplier(target_epsilon=2.0, target_delta=1e-5, sample_rate=0.01, steps=1000)
    given = known("noise_multiplier", steps=1000)
    orders = RDPAccountant.DEFAULT_ALPHAS
    ours = dpviz.solve("noise_multiplier", target_epsilon=2.0, method="renyi", orders=orders, **given)
    assert ours <= theirs * (1 + 1e-6)
    looser = dpviz.solve("noise_multiplier", target_epsilon=2.0 - 0.0101, method="renyi", orders=orders, **given)
    assert theirs <= looser


@pytest.mark.parametrize("unknown", UNKNOWNS)
def test_the_tight_accountant_asks_for_least(unknown: str) -> None:
    given = known(unknown, steps=300, noise_multiplier=1.2)
    tight = dpviz.solve(unknown, target_epsilon=1.0, method="tight", tolerance=1e-4, **given)
    renyi = dpviz.solve(unknown, target_epsilon=1.0, method="renyi", **given)
    assert dpviz.epsilon("tight", **given, **{unknown: tight}) <= 1.0
    assert tight >= renyi if unknown in ("steps", "sample_rate") else tight <= renyi


# q = 1e-6, T = 100: an example is drawn with probability 1e-4 (1 − 5e-5).
RARE = {"sample_rate": 1e-6, "steps": 100}


class TestNoNoise:
    @pytest.mark.parametrize("method", ["basic", "strong", "renyi", "tight"])
    @pytest.mark.parametrize("target", [0.0, 0.5, 8.0])
    def test_a_delta_that_covers_every_draw_needs_none(self, method: str, target: float) -> None:
        found = dpviz.solve("noise_multiplier", target_epsilon=target, method=method, delta=1.1e-4, **RARE)
        assert found == 0.0

    @pytest.mark.parametrize("method", ["basic", "strong", "renyi", "moments"])
    def test_a_delta_that_does_not_needs_some(self, method: str) -> None:
        found = dpviz.solve("noise_multiplier", target_epsilon=8.0, method=method, delta=0.9e-4, **RARE)
        assert found > 0.05
        assert dpviz.epsilon(method, noise_multiplier=found, delta=0.9e-4, **RARE) <= 8.0

    def test_rounding_is_on_the_safe_side(self) -> None:
        exact = chance_of_being_drawn(1e-6, 100)
        for delta in (np.nextafter(exact, 0.0), exact * (1 - 1e-9)):
            assert dpviz.solve("noise_multiplier", target_epsilon=0.5, method="renyi", delta=delta, **RARE) > 0.0
        assert dpviz.solve("noise_multiplier", target_epsilon=0.5, method="tight", delta=0.5 * exact, **RARE) > 0.0


@pytest.mark.parametrize("wrong", [{"method": "renyi"}, {"for_": "delta", "delta": None}, {"target_mu": 1.0}])
def test_a_search_is_solved_for_by_the_whole_curve_alone(wrong: dict[str, Any]) -> None:
    asked = {"for_": "noise_multiplier", "method": "tight", "sample_rate": 0.1, "steps": 10, "delta": 1e-5, "runs": 4}
    target = {} if "target_mu" in wrong else {"target_epsilon": 1.0}
    with pytest.raises(ValueError, match="Expected target_epsilon, method='tight' and delta with runs"):
        dpviz.solve(**asked | target | wrong)


def test_a_search_needs_noise_where_one_run_needs_none() -> None:
    """An example is drawn in 10 % of the runs, and in nearly every search of ten."""
    asked: dict[str, Any] = {"target_epsilon": 1.0, "method": "tight", "sample_rate": 0.01, "steps": 10, "delta": 0.2}
    assert dpviz.solve("noise_multiplier", **asked) == 0.0
    assert dpviz.solve("noise_multiplier", **asked, runs=10.0) > 0.1


def test_tight_beyond_what_grids_hold() -> None:
    """At 10¹² steps rounding drowns the grids: the Rényi bound takes over, and the answer is no worse than its own."""
    at = {"sample_rate": 0.01, "steps": 1e12, "delta": 1e-5}
    sigma = dpviz.solve("noise_multiplier", target_epsilon=3.0, method="tight", **at)
    assert sigma <= dpviz.solve("noise_multiplier", target_epsilon=3.0, method="renyi", **at) * 1.001
    assert dpviz.epsilon("tight", noise_multiplier=sigma, **at) <= 3.0


def test_an_answer_that_rounding_put_on_the_wrong_side_is_moved_and_looked_at_again() -> None:
    for direction, least in ((1.0, 1.0 + 1e-15), (-1.0, 1.0 - 1e-15)):
        found = nudged(1.0, direction, lambda value, d=direction, x=least: d * value >= d * x)
        assert 0.0 <= direction * (found - least) < 1e-13
    with pytest.raises(ArithmeticError, match="no safe answer"):
        nudged(1.0, 1.0, lambda value: False)


def test_is_never_rounded_down() -> None:
    assert chance_of_being_drawn(1e-6, 100) >= math.fsum([1e-4, -4950e-12, 161_700e-18])
