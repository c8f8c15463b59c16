"""Axes show the curves with few round ticks, names keep apart, and numbers are short and near."""

import json

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpviz.charts.axes import AxisScale, axis, linear_ticks, log_ticks, x_span, y_span
from dpviz.charts.labels import pushed_apart
from dpviz.charts.marks import short_floats

finite = st.floats(-1e300, 1e300, allow_nan=False)


@given(st.floats(-12, 12), st.floats(0.01, 20), st.integers(3, 15))
@example(np.log10(8e-6), np.log10(15.0), 5)  # 1-1.5-2-3-5-7 would be seven
def test_log_ticks_fit(start: float, decades: float, most: int) -> None:
    low, high = 10**start, 10 ** (start + decades)
    ticks = log_ticks(low, high, most=most)
    assert 1 <= len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert low * (1 - 1e-6) <= ticks[0] <= ticks[-1] <= high * (1 + 1e-6)


def test_few_decades_have_five_ticks_at_least() -> None:
    assert log_ticks(1e3, 1e6, most=9) == [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6]
    assert log_ticks(1.0, 1e4, most=9) == [1.0, 10.0, 100.0, 1e3, 1e4], "whole decades are enough"
    assert log_ticks(0.02, 2.0, most=9) == [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    assert log_ticks(8e-6, 1.2e-4, most=10) == [1e-5, 1.5e-5, 2e-5, 3e-5, 5e-5, 7e-5, 1e-4], "1-2-5 would be four"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e9), st.integers(3, 12))
def test_linear_ticks_fit(low: float, span: float, most: int) -> None:
    ticks = linear_ticks(low, low + span, most=most)
    assert 1 <= len(ticks) <= most
    slack = 1e-6 * (abs(low) + span)
    assert low - slack <= ticks[0] <= ticks[-1] <= low + span + slack


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e9), st.integers(8, 12))
@example(1.0, 19.0, 9)  # k from 1 to 20: tens and fives alone would be four
@example(0.02, 0.46, 8)
def test_a_linear_axis_with_room_for_eight_ticks_has_five_at_least(low: float, span: float, most: int) -> None:
    assert len(linear_ticks(low, low + span, most=most)) >= 5


@pytest.mark.parametrize(
    ("scale", "kind", "ends", "last"),
    [
        (AxisScale(1, 1000, log=True), "plain", [0, 3], "1000"),
        (AxisScale(1, 1000), "plain", [1, 1000], "1000"),
        (AxisScale(1, 40_000, log=True), "steps", [0, np.log10(40_000)], "10k"),
        (AxisScale(0, 50), "percent", [0, 50], "50 %"),
    ],
)
def test_an_axis_in_its_own_coordinate(scale: AxisScale, kind: str, ends: list[float], last: str) -> None:
    built = axis(scale, kind=kind)
    assert built["range"] == ends
    assert built["ticktext"][-1] == last
    shares = scale.shares(built["tickvals"])
    assert scale.data(shares) == pytest.approx(built["tickvals"])
    assert [scale.share(tick) for tick in built["tickvals"]] == pytest.approx(shares)


@given(st.lists(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=5), min_size=1, max_size=5), st.booleans())
def test_a_range_is_one_and_holds_the_lowest_curve(curves: list[list[float]], log: bool) -> None:
    arrays = [np.array(curve) for curve in curves]
    low, high = y_span(arrays, log)
    assert 0 <= low < high < np.inf
    assert high >= min(array.max() for array in arrays)
    assert not log or (low > 0 and high >= max(array.max() for array in arrays))


@pytest.mark.parametrize("log", [False, True])
def test_nothing_to_show_still_gives_a_range_and_one_point_gets_room(log: bool) -> None:
    for ys in ([], [np.array([np.nan, np.inf])]):
        low, high = y_span(ys, log)
        assert low < high
    assert x_span([], log) == (1, 10)
    assert x_span([np.array([8.0])], log) == ((4, 16) if log else (4, 12))


@given(st.lists(st.floats(-1000, 1000), min_size=1, max_size=20), st.floats(1, 30), st.floats(100, 800))
def test_names_keep_apart_order_and_bounds(wanted: list[float], gap: float, height: float) -> None:
    placed = np.array(pushed_apart(wanted, gap=gap, low=0, high=height))
    order = np.argsort(wanted, kind="stable")
    assert len(placed) == len(wanted)
    assert np.all(np.diff(placed[order]) >= min(gap, height / max(len(wanted) - 1, 1)) - 1e-6)
    assert -1e-9 <= placed.min() <= placed.max() <= height + 1e-6


def test_names_are_pushed_by_the_least_squares_answer() -> None:
    wanted = [10.0, 12.0, 13.0, 60.0, 61.0, 97.0]
    constraints = [{"type": "ineq", "fun": lambda p, i=i: p[i + 1] - p[i] - 12} for i in range(5)]
    start, bounds = np.linspace(0, 100, 6), [(0, 100)] * 6
    best = minimize(lambda p: ((p - wanted) ** 2).sum(), start, bounds=bounds, constraints=constraints)
    assert np.allclose(pushed_apart(wanted, gap=12, low=0, high=100), best.x, atol=1e-3)


@given(st.lists(finite, min_size=1, max_size=20))
def test_short_numbers_have_six_digits_and_no_more(values: list[float]) -> None:
    for value, short in zip(values, short_floats(values), strict=True):
        assert short is not None
        assert abs(short - value) <= 5.1e-6 * abs(value)
        if 1e-15 < abs(value) < 1e15:
            assert len(json.dumps(short).split("e")[0].replace(".", "").lstrip("-0").rstrip("0")) <= 6
