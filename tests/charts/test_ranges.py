"""Axis ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts.ranges import x_span, y_span


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
def test_nothing_to_show_still_gives_a_range(log: bool) -> None:
    for ys in ([], [np.array([np.nan, np.inf])]):
        low, high = y_span(ys, log)
        assert low < high
    assert x_span([], log) == (1, 10)


def test_one_point_gets_room_on_both_sides() -> None:
    assert x_span([np.array([8.0])], log=True) == (4, 16)
    assert x_span([np.array([8.0])], log=False) == (4, 12)
