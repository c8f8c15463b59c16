"""Rounded numbers are short and near."""

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts.marks import short_floats

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)


@given(st.lists(finite, min_size=1, max_size=20))
def test_six_digits_and_no_more(values: list[float]) -> None:
    for value, short in zip(values, short_floats(values), strict=True):
        assert short is not None
        assert abs(short - value) <= 5.1e-6 * abs(value)
        if 1e-15 < abs(value) < 1e15:
            digits = json.dumps(short)
            assert len(digits.split("e")[0].replace(".", "").lstrip("-0").rstrip("0")) <= 6


def test_missing_numbers_become_none() -> None:
    assert short_floats(np.array([1.0, np.nan, np.inf, 0.0, -2.5])) == [1.0, None, None, 0.0, -2.5]
