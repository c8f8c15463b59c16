"""The facade: names, options, types and shapes."""

from __future__ import annotations

import numpy as np
import pytest

import dpviz
from dpviz.accounting.renyi.accountant import Moments, Renyi

SETTING = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 1000, "delta": 1e-5}
OURS = ("basic", "strong", "moments", "renyi", "closed_form")


def test_methods_are_there() -> None:
    assert set(OURS) <= set(dpviz.METHODS)


@pytest.mark.parametrize("method", OURS)
class TestTypes:
    def test_numbers_in_a_float_out(self, method: str) -> None:
        assert type(dpviz.epsilon(method, **SETTING)) is float
        assert type(dpviz.epsilon(method, **{**SETTING, "steps": np.int64(1000)})) is float
        inverse = {k: v for k, v in SETTING.items() if k != "delta"}
        assert type(dpviz.delta(method, epsilon=1.0, **inverse)) is float

    def test_arrays_in_an_array_out(self, method: str) -> None:
        found = dpviz.epsilon(method, **{**SETTING, "steps": [1, 10, 100], "delta": [[1e-5], [1e-6]]})
        assert isinstance(found, np.ndarray)
        assert found.shape == (2, 3)
        one = dpviz.epsilon(method, **{**SETTING, "steps": [1000]})
        assert isinstance(one, np.ndarray)
        assert one.tolist() == [dpviz.epsilon(method, **SETTING)]

    def test_no_points_in_no_points_out(self, method: str) -> None:
        found = dpviz.epsilon(method, **{**SETTING, "steps": np.array([], dtype=int)})
        assert isinstance(found, np.ndarray)
        assert found.shape == (0,)

    def test_unknown_option_names_those_that_exist(self, method: str) -> None:
        with pytest.raises(ValueError, match=f"options of method '{method}' among .*; found wrong"):
            dpviz.epsilon(method, wrong=1, **SETTING)

    def test_shapes_that_do_not_broadcast(self, method: str) -> None:
        with pytest.raises(ValueError, match="broadcast"):
            dpviz.epsilon(method, **{**SETTING, "steps": [1, 2, 3], "delta": [1e-5, 1e-6]})


class TestOptions:
    def test_reach_the_accountant(self) -> None:
        assert dpviz.accountant("moments", max_order=7) == Moments(max_order=7)
        assert dpviz.accountant("renyi", orders=[3, 2], conversion="classic") == Renyi("classic", (2.0, 3.0))

    def test_more_moments_never_hurt(self) -> None:
        found = [dpviz.epsilon("moments", max_order=m, **SETTING) for m in (1, 2, 8, 32, 300)]
        assert all(a >= b for a, b in zip(found, found[1:], strict=False))


class TestDelta:
    @pytest.mark.parametrize("method", OURS)
    @pytest.mark.parametrize("delta", [1e-12, 1e-5, 1e-2])
    def test_inverts_epsilon(self, method: str, delta: float) -> None:
        epsilon = dpviz.epsilon(method, **{**SETTING, "delta": delta})
        back = dpviz.delta(method, noise_multiplier=4.0, sample_rate=0.01, steps=1000, epsilon=epsilon)
        assert back == pytest.approx(delta, rel=1e-9)

    @pytest.mark.parametrize("method", OURS)
    def test_is_on_the_safe_side(self, method: str) -> None:
        """Asked again at the answered δ, the accountant stays at the ε it was given, but for the last digits."""
        for epsilon in (0.05, 0.5, 3.0, 20.0):
            delta = dpviz.delta(method, noise_multiplier=4.0, sample_rate=0.01, steps=1000, epsilon=epsilon)
            if 1e-300 < delta < 1:
                assert dpviz.epsilon(method, **{**SETTING, "delta": delta}) <= epsilon * (1 + 1e-12)

    @pytest.mark.parametrize("method", OURS)
    def test_is_never_zero_where_something_was_spent(self, method: str) -> None:
        """δ = 0 would promise pure differential privacy; underflow used to say so."""
        delta = dpviz.delta(method, noise_multiplier=4.0, sample_rate=0.01, steps=1, epsilon=5000.0)
        assert 0.0 < delta < 1e-290

    @pytest.mark.parametrize("method", OURS)
    def test_is_at_most_one(self, method: str) -> None:
        assert dpviz.delta(method, noise_multiplier=4.0, sample_rate=0.2, steps=10**7, epsilon=0.0) == 1.0


class TestDivergence:
    def test_types(self) -> None:
        assert type(dpviz.renyi_divergence(noise_multiplier=1.0, sample_rate=0.1, orders=2)) is float
        found = dpviz.renyi_divergence(noise_multiplier=[[1.0], [2.0]], sample_rate=0.1, orders=[2, 2.5, 3])
        assert isinstance(found, np.ndarray)
        assert found.shape == (2, 3)
