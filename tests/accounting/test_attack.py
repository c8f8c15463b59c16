"""Attack success and the ROC region: the papers' numbers and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz

epsilons = st.floats(0.0, 40.0)


class TestAttackSuccess:
    @pytest.mark.parametrize(
        ("epsilon", "expected", "digits"),
        [
            (2.0, 0.8808, 4),
            (5.0, 0.9933, 4),
            (10.0, 0.99995, 5),
            (2.2, 0.9002, 4),  # Triastcyn & Faltings 2020, Table 1, prints 0.898
            (0.95, 0.721, 3),
            (8.0, 0.9997, 4),
            (0.76, 0.681, 3),
            (7.6, 0.9995, 4),
            (0.61, 0.648, 3),
            (0.5, 0.6225, 4),
            (0.2, 0.550, 3),
        ],
    )
    def test_published_numbers(self, epsilon: float, expected: float, digits: int) -> None:
        assert round(dpviz.attack_success(epsilon), digits) == expected

    @given(epsilons, st.floats(0, 1))
    def test_with_delta(self, epsilon: float, delta: float) -> None:
        expected = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
        assert dpviz.attack_success(epsilon, delta=delta) == pytest.approx(expected, rel=1e-14)

    @given(epsilons, st.floats(1e-12, 1 - 1e-12))
    def test_with_prior(self, epsilon: float, prior: float) -> None:
        e = math.exp(epsilon)
        expected = prior * e / (1 - prior + prior * e)
        assert dpviz.attack_success(epsilon, prior=prior) == pytest.approx(expected, rel=1e-12)

    def test_ends(self) -> None:
        assert dpviz.attack_success(0.0) == 0.5
        assert dpviz.attack_success(0.0, prior=0.01) == pytest.approx(0.01, rel=1e-14)
        assert dpviz.attack_success(math.inf) == 1.0
        assert dpviz.attack_success(1e5) == 1.0
        assert dpviz.attack_success(3.0, delta=1.0) == 1.0

    def test_types(self) -> None:
        assert isinstance(dpviz.attack_success(1), float)
        found = dpviz.attack_success([0.0, 1.0], delta=[[0.0], [0.1]])
        assert isinstance(found, np.ndarray)
        assert found.shape == (2, 2)

    @pytest.mark.parametrize("bad", [-0.1, math.nan, None, "2", True, [1.0, -1.0], [math.nan]])
    def test_bad_epsilon(self, bad: object) -> None:
        """NaN came back as NaN and True counted as 1 here."""
        with pytest.raises(ValueError, match="Expected epsilon"):
            dpviz.attack_success(bad)  # type: ignore[arg-type]

    @pytest.mark.parametrize("options", [{"prior": 0.0}, {"prior": 1.0}, {"delta": -1e-9}, {"delta": 1.1}])
    def test_bad_options(self, options: dict[str, float]) -> None:
        with pytest.raises(ValueError, match=f"Expected {next(iter(options))}="):
            dpviz.attack_success(1.0, **options)


class TestRoc:
    @given(epsilons, st.floats(0, 1))
    def test_best_accuracy_over_the_region_is_the_attack_success(self, epsilon: float, delta: float) -> None:
        """The corner, where both lines of the region meet, is the best point of a balanced guess."""
        corner = (1 - delta) / (1 + math.exp(epsilon))
        rates = np.append(np.linspace(0, 1, 201), corner)
        accuracy = 0.5 * (dpviz.roc_bound(rates, epsilon=epsilon, delta=delta) + 1 - rates)
        expected = dpviz.attack_success(epsilon, delta=delta)
        assert accuracy[-1] == pytest.approx(expected, abs=1e-14)
        assert accuracy.max() <= expected + 1e-14

    @given(st.floats(0, 1), epsilons, st.floats(0, 1))
    def test_formula_and_symmetry(self, rate: float, epsilon: float, delta: float) -> None:
        top = float(dpviz.roc_bound(rate, epsilon=epsilon, delta=delta))
        lines = (math.exp(epsilon) * rate + delta, 1 - math.exp(-epsilon) * (1 - delta - rate))
        assert top == pytest.approx(min(1.0, *lines), abs=1e-13)
        slack = 1e-12 + 1e-15 * math.exp(epsilon)  # 1 − TPR has lost digits, and e^ε magnifies that
        # Swapping the two hypotheses mirrors the region: (FPR, TPR) ↔ (1 − TPR, 1 − FPR).
        assert float(dpviz.roc_bound(1 - top, epsilon=epsilon, delta=delta)) >= 1 - rate - slack

    @given(epsilons, st.floats(0, 1))
    def test_rising_concave_and_never_below_guessing(self, epsilon: float, delta: float) -> None:
        rates = np.linspace(0, 1, 101)
        top = dpviz.roc_bound(rates, epsilon=epsilon, delta=delta)
        assert (top >= rates - 1e-15).all()
        assert (np.diff(top) >= 0).all()
        assert (np.diff(top, 2) <= 1e-13).all()

    def test_ends(self) -> None:
        assert float(dpviz.roc_bound(0.0, epsilon=3.0, delta=0.01)) == pytest.approx(0.01, rel=1e-14)
        assert float(dpviz.roc_bound(1.0, epsilon=3.0)) == 1.0
        assert float(dpviz.roc_bound(0.0, epsilon=1e5)) == 0.0
        np.testing.assert_allclose(dpviz.roc_bound([0.2, 0.7], epsilon=0.0), [0.2, 0.7], rtol=1e-15)

    def test_huge_epsilon_beside_a_tiny_rate(self) -> None:
        """e^800 · 1e-310 > 1; cutting the exponent at 700 claimed that no attack does better than 1e-6."""
        assert float(dpviz.roc_bound(1e-310, epsilon=800.0)) == 1.0
        assert float(dpviz.roc_bound(1e-310, epsilon=10.0)) == pytest.approx(math.exp(10) * 1e-310, rel=1e-9)
