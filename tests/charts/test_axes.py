"""Axes: ranges that show the curves, ticks that are round, few and inside."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts.axes import axis, linear_ticks, log_ticks, x_span, y_span


@given(st.floats(-12, 12), st.floats(0.01, 20), st.integers(3, 15))
def test_log_ticks_fit(start: float, decades: float, most: int) -> None:
    low, high = 10**start, 10 ** (start + decades)
    ticks = log_ticks(low, high, most=most)
    assert 1 <= len(ticks) <= most
    assert ticks == sorted(set(ticks))
    assert all(low * (1 - 1e-6) <= t <= high * (1 + 1e-6) for t in ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e9), st.integers(3, 12))
def test_linear_ticks_fit(low: float, span: float, most: int) -> None:
    ticks = linear_ticks(low, low + span, most=most)
    assert 1 <= len(ticks) <= most
    slack = 1e-6 * (abs(low) + span)
    assert all(low - slack <= t <= low + span + slack for t in ticks)


def test_axis_range_is_in_the_axis_own_units() -> None:
    assert axis(span=(1, 1000), log=True)["range"] == [0, 3]
    assert axis(span=(1, 1000), log=False)["range"] == [1, 1000]
    assert axis(span=(1, 40_000), log=True, kind="steps")["ticktext"][-1] == "10k"


def test_linear_range_reaches_the_largest_curve_within_thirty_times_the_smallest() -> None:
    assert y_span([np.array([2.0]), np.array([59.0]), np.array([61.0])], log=False) == (0, pytest.approx(59 * 1.15))


@given(st.lists(st.lists(st.floats(1e-9, 1e12), min_size=1, max_size=5), min_size=1, max_size=5), st.booleans())
def test_a_range_is_one_and_holds_the_lowest_curve(curves: list[list[float]], log: bool) -> None:
    arrays = [np.array(c) for c in curves]
    low, high = y_span(arrays, log)
    assert 0 <= low < high < np.inf
    assert high >= min(a.max() for a in arrays)
    if log:
        assert low > 0
        assert high >= max(a.max() for a in arrays)


@pytest.mark.parametrize("log", [False, True])
def test_nothing_to_show_still_gives_a_range_and_one_point_gets_room(log: bool) -> None:
    for ys in ([], [np.array([np.nan, np.inf])]):
        low, high = y_span(ys, log)
        assert low < high
    assert x_span([], log) == (1, 10)
    assert x_span([np.array([8.0])], log) == ((4, 16) if log else (4, 12))
