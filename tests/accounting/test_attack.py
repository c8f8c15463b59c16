"""Attack success and the ROC region: the papers' numbers and each other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz

epsilons = st.floats(0.0, 40.0)
priors = st.floats(1e-12, 1 - 1e-12)
Pair = tuple[np.ndarray, np.ndarray]


@st.composite
def mechanisms(draw: st.DrawFn) -> Pair:
    """Two distributions on a few outcomes, some of which one of them never shows."""
    seed, outcomes = draw(st.integers(0, 2**32)), draw(st.integers(2, 12))
    rng = np.random.default_rng(seed)
    weights = rng.exponential(size=(2, outcomes)) ** draw(st.floats(0.1, 4.0))
    weights *= rng.random((2, outcomes)) > draw(st.sampled_from([0.0, 0.3]))
    weights[0, 0], weights[1, 1] = 1.0, 1.0
    with_it, without = weights / weights.sum(axis=1, keepdims=True)
    return with_it, without


def delta_of(pair: Pair, epsilon: float) -> float:
    """The least δ with which both directions keep ε."""
    return max(float(np.maximum(p - math.exp(epsilon) * q, 0).sum()) for p, q in (pair, pair[::-1]))


def worst_pair(epsilon: float, delta: float) -> Pair:
    """Outcomes: surely in, likely in, likely out, surely out."""
    likely = (1 - delta) * np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    return np.array([delta, *likely, 0.0]), np.array([0.0, *likely[::-1], delta])


class TestAttackSuccess:
    @given(epsilons, st.floats(0, 1))
    def test_with_delta(self, epsilon: float, delta: float) -> None:
        expected = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
        assert dpviz.attack_success(epsilon, delta=delta) == pytest.approx(expected, rel=1e-14)

    @given(epsilons, st.floats(0, 1), priors)
    def test_best_point_of_the_region(self, epsilon: float, delta: float, prior: float) -> None:
        """π·TPR + (1 − π)(1 − FPR) over the whole border: never above the bound, which one of the corners reaches."""
        corner = (1 - delta) / (1 + math.exp(epsilon))
        rates = np.r_[np.linspace(0, 1, 201), corner, 1 - delta]
        top = dpviz.roc_bound(rates, epsilon=epsilon, delta=delta)
        accuracy = prior * top + (1 - prior) * (1 - rates)
        bound = dpviz.attack_success(epsilon, delta=delta, prior=prior)
        assert accuracy.max() == pytest.approx(bound, abs=1e-13)

    @given(mechanisms(), epsilons, priors)
    def test_bounds_the_best_attack_on_any_mechanism(self, pair: Pair, epsilon: float, prior: float) -> None:
        """The likelier side at every outcome is the best guess there is; δ is the pair's own at ε."""
        for with_it, without in (pair, pair[::-1]):
            best = np.maximum(prior * with_it, (1 - prior) * without).sum()
            bound = dpviz.attack_success(epsilon, delta=delta_of(pair, epsilon), prior=prior)
            assert best <= bound + 1e-12

    @given(epsilons, st.floats(0, 1), priors)
    def test_some_mechanism_reaches_it(self, epsilon: float, delta: float, prior: float) -> None:
        """Full disclosure with probability δ, else randomised response (Kairouz, Oh, Viswanath 2015)."""
        pair = worst_pair(epsilon, delta)
        assert delta_of(pair, epsilon) == pytest.approx(delta, abs=1e-12)
        best = np.maximum(prior * pair[0], (1 - prior) * pair[1]).sum()
        assert best == pytest.approx(dpviz.attack_success(epsilon, delta=delta, prior=prior), abs=1e-12)


class TestPosteriorBelief:
    @given(epsilons, priors)
    def test_formula(self, epsilon: float, prior: float) -> None:
        expected = prior * math.exp(epsilon) / (1 - prior + prior * math.exp(epsilon))
        assert dpviz.posterior_belief(epsilon, prior=prior) == pytest.approx(expected, rel=1e-12)

    @given(mechanisms(), priors)
    def test_without_delta_no_outcome_makes_anybody_believe_more(self, pair: Pair, prior: float) -> None:
        with_it, without = (0.9 * one + 0.1 / one.size for one in pair)  # every outcome possible: ε is finite
        ratio = np.maximum(with_it / without, without / with_it).max()
        belief = prior * with_it / (prior * with_it + (1 - prior) * without)
        assert belief.max() <= dpviz.posterior_belief(math.log(ratio), prior=prior) * (1 + 1e-12)

    @given(mechanisms(), st.floats(0.0, 5.0), st.floats(0, 1), priors)
    def test_with_delta_it_is_passed_with_at_most_that_probability(
        self, pair: Pair, epsilon: float, failure: float, prior: float
    ) -> None:
        """Whether the example is in or not; exact over all outcomes, whichever of the two distributions is "in"."""
        delta = delta_of(pair, epsilon)
        bound = dpviz.posterior_belief(epsilon, delta=delta, failure=failure, prior=prior)
        for with_it, without in (pair, pair[::-1]):
            shown = with_it + without > 0
            weighed = prior * with_it[shown], (1 - prior) * without[shown]
            beyond = weighed[0] / (weighed[0] + weighed[1]) > bound * (1 + 1e-12)
            for one in (with_it, without):
                assert one[shown][beyond].sum() <= failure + 1e-12

    def test_it_can_be_passed_nearly_that_often(self) -> None:
        """δ = 0.01, ε = 1: an outcome at a ratio just above e^ε' takes nearly δ/(1 − e^(ε − ε')) of the outputs."""
        epsilon, delta, failure = 1.0, 0.01, 0.05
        ratio = math.e / (1 - delta / failure) * (1 + 1e-9)
        pair = np.array([failure, 1 - failure]), np.array([failure / ratio, 1 - failure / ratio])
        assert delta_of(pair, epsilon) == pytest.approx(delta, rel=1e-6)
        belief = 0.3 * pair[0] / (0.3 * pair[0] + 0.7 * pair[1])
        assert belief[0] > dpviz.posterior_belief(epsilon, delta=delta, failure=failure, prior=0.3)


class TestRoc:
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

    def test_huge_epsilon_beside_a_tiny_rate(self) -> None:
        """e^800 · 1e-310 > 1; cutting the exponent at 700 claimed that no attack does better than 1e-6."""
        assert float(dpviz.roc_bound(1e-310, epsilon=800.0)) == 1.0
        assert float(dpviz.roc_bound(1e-310, epsilon=10.0)) == pytest.approx(math.exp(10) * 1e-310, rel=1e-9)
