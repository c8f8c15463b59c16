"""The bracketing search: the good side of any monotone boundary, however wild the sizes it is told."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.boundary import boundary, bracket, last_whole

SHAPES = {
    "line": lambda x: x,
    "steep": lambda x: math.sinh(min(max(20 * x, -600), 600)),
    "flat": lambda x: math.copysign(min(abs(x), 1.0) ** 9, x),
    "jump": lambda x: -1.0 if x <= 0 else math.inf,
    "sizeless": lambda x: -math.inf if x <= 0 else math.inf,
}


@settings(max_examples=60, deadline=None)
@given(
    shape=st.sampled_from(sorted(SHAPES)),
    root=st.floats(-50.0, 50.0),
    start=st.floats(-50.0, 50.0),
    towards=st.sampled_from([1.0, -1.0]),
)
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


def test_smooth_gaps_take_few_looks() -> None:
    seen = []

    def gap(x: float) -> float:
        seen.append(x)
        return math.log(2.0 * math.exp(-2 * x) + math.exp(-x))

    found = bracket(gap, 5.0, towards=1.0, limit=100.0)
    assert found is not None
    boundary(gap, *found, 1e-7)
    assert len(seen) <= 14


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
