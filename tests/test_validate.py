"""Argument checks: what passes, what is refused, and what the message says."""

import math
import warnings
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpviz import _validate

NOT_NUMBERS = [None, "1", b"1", True, False, ["1"], [True], [None], [[1], [1, 2]], {}, object(), 1j, [1j], np.True_]
NOT_NUMBERS += [np.datetime64("2020-01-01"), np.array(["a"])]

ONE_ARGUMENT: dict[str, tuple[Callable[[Any], Any], Any, list[Any]]] = {
    "noise_multiplier": (_validate.noise_multiplier, 1.5, [0, -1, math.inf, math.nan]),
    "sample_rate": (_validate.sample_rate, 0.25, [-1e-300, 1.0000001, math.nan, math.inf]),
    "delta": (_validate.delta, 0.25, [0, 1, -0.5, math.nan]),
    "epsilon": (_validate.epsilon, 0.25, [-1e-300, math.inf, math.nan]),
    "epsilon or infinite": (_validate.epsilon_or_infinite, math.inf, [-1e-300, -math.inf, math.nan]),
    "steps": (_validate.steps, 7, [-1, 0.5, math.inf, math.nan, 2.0**54]),
    "orders": (_validate.orders, 1.5, [1, 0.5, math.inf, math.nan]),
    "orders of any shape": (_validate.orders_of_any_shape, 1.5, [1, 0.5, math.inf, math.nan]),
    "whole_orders": (_validate.whole_orders, 3, [0, 1.5, math.inf, math.nan]),
}


@pytest.mark.parametrize("check", list(ONE_ARGUMENT))
class TestEachCheck:
    def test_passes_numbers_of_all_kinds(self, check: str) -> None:
        function, good, _ = ONE_ARGUMENT[check]
        for value in (good, np.float64(good), np.array(good), [good, good], np.array([[good]]).ravel()):
            assert np.asarray(function(value)).dtype == np.float64
            assert (function(value) == good).all()

    def test_refuses_what_is_out_of_range_alone_and_in_a_list(self, check: str) -> None:
        function, good, bad_values = ONE_ARGUMENT[check]
        for bad in bad_values:
            for value in (bad, [good, bad]):
                with pytest.raises(ValueError, match="Expected .*(NaN|=)"):
                    function(value)

    @pytest.mark.parametrize("bad", NOT_NUMBERS, ids=lambda v: "object" if type(v) is object else repr(v)[:30])
    def test_refuses_what_is_no_number(self, check: str, bad: Any) -> None:
        """numpy reads ["1"], [True] and dates as numbers and drops imaginary parts: none of it may pass."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(ValueError, match="Expected"):
                ONE_ARGUMENT[check][0](bad)


def test_what_passes() -> None:
    assert _validate.sample_rate(Fraction(1, 4)) == 0.25
    assert _validate.sample_rate(Decimal("0.25")) == 0.25
    assert _validate.steps(2**53) == 2.0**53
    assert _validate.scalar("x", np.array(3.0)) == 3.0
    assert _validate.orders(2.0).tolist() == [2.0]
    assert _validate.orders_of_any_shape([[2.0, 3.0]]).shape == (1, 2)
    assert _validate.whole_orders(range(1, 4)).tolist() == [1.0, 2.0, 3.0]
    assert _validate.distances([0.0, 1.0]).tolist() == [0.0, 1.0]
    assert _validate.estimator_failure(0.5) == 0.5
    assert _validate.delta_beyond_failure(1e-10, 1e-15, 1000) == 1e-10
