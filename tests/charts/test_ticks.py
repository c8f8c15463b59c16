"""Ticks are round, few, inside the range, and P(A) ticks stand at the right ε."""

from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts.ticks import axis, linear_ticks, log_ticks

exponents = st.floats(-12, 12)


@given(exponents, st.floats(0.01, 20), st.integers(3, 15))
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
