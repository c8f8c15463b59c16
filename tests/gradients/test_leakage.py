"""Tests of the leakage statistics against direct computation, and of what an attack may and may not reach."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpviz
from dpviz.accounting.attack.income_example import binomial_interval
from dpviz.gradients.leakage import best_threshold, compare_distances, threshold_attack


@pytest.mark.parametrize("seed", range(3))
def test_welch_and_levene_by_their_definitions(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.weibull(0.7, 40), 1.3 * rng.weibull(0.9, 55)
    found = compare_distances(a, b)
    va, vb = a.var(ddof=1) / a.size, b.var(ddof=1) / b.size
    t = (a.mean() - b.mean()) / math.sqrt(va + vb)
    df = (va + vb) ** 2 / (va**2 / (a.size - 1) + vb**2 / (b.size - 1))
    assert (found.welch_t, found.welch_df) == (pytest.approx(t, rel=1e-12), pytest.approx(df, rel=1e-12))
    assert found.welch_p == pytest.approx(2.0 * stats.t.sf(abs(t), df), rel=1e-8)
    # An interval of confidence 1 − p ends at 0, where the test rejects at p.
    ends = compare_distances(a, b, confidence=1.0 - found.welch_p)
    assert min(abs(ends.low), abs(ends.high)) == pytest.approx(0.0, abs=1e-9)
    # Levene's W is the F of the deviations from the median.
    z = [np.abs(x - np.median(x)) for x in (a, b)]
    whole, n = np.concatenate(z).mean(), a.size + b.size
    between = sum(x.size * (x.mean() - whole) ** 2 for x in z)
    within = sum(((x - x.mean()) ** 2).sum() for x in z)
    w = (n - 2) * between / within
    assert found.levene_w == pytest.approx(w, rel=1e-12)
    assert found.levene_p == pytest.approx(stats.f.sf(w, 1, n - 2), rel=1e-8)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25))
def test_best_of_all_thresholds(losses: list[tuple[int, int]]) -> None:
    members, others = np.array(losses, dtype=np.float64).T
    threshold, share = best_threshold(members, others)
    tried = [((members <= t).mean() + (others > t).mean()) / 2 for t in (-1, *np.arange(7.0))]
    assert share == pytest.approx(max(tried))
    assert ((members <= threshold).mean() + (others > threshold).mean()) / 2 == pytest.approx(share)


def test_numbers_are_those_of_the_other_half() -> None:
    rng = np.random.default_rng(3)
    members, others = rng.exponential(0.5, 101), rng.exponential(1.0, 101)
    found = threshold_attack(members, others, random=np.random.default_rng(5))
    again = np.random.default_rng(5)
    m, o = again.permutation(members)[50:], again.permutation(others)[50:]
    assert found.guesses == 102
    assert found.right == (m <= found.threshold).sum() + (o > found.threshold).sum()
    assert found.accuracy == pytest.approx((found.hit_rate + 1 - found.false_alarm_rate) / 2)
    assert (found.low, found.high) == binomial_interval(found.right, found.guesses, confidence=0.95)


def test_not_optimistic_where_there_is_nothing_to_find() -> None:
    """The choosing half flatters; the measuring half is right half of the time on average."""
    rng = np.random.default_rng(11)
    draws = ((rng.normal(size=40), rng.normal(size=40)) for _ in range(400))
    found = [threshold_attack(*both, random=np.random.default_rng(i)) for i, both in enumerate(draws)]
    accuracy = np.array([one.accuracy for one in found])
    assert abs(accuracy.mean() - 0.5) < 4 * accuracy.std() / 20
    assert np.mean([one.chosen_accuracy for one in found]) > 0.55
    covered = sum(one.low <= 0.5 <= one.high for one in found)
    assert covered >= 370  # 95 % is promised; Clopper–Pearson gives more


def test_clear_leak_is_found_and_stays_below_a_true_bound() -> None:
    """Laplace noise of scale 1/ε on a bit of sensitivity 1: the best attack reaches (1 + 1 − e^(−ε/2))/2."""
    rng, epsilon = np.random.default_rng(2), 2.0
    members = -1.0 + rng.laplace(scale=1 / epsilon, size=20_000)
    others = rng.laplace(scale=1 / epsilon, size=20_000)
    found = threshold_attack(members, others, random=np.random.default_rng(0))
    best = 1 - math.exp(-epsilon / 2) / 2
    assert found.low <= best <= found.high
    assert found.high < dpviz.attack_success(epsilon)


@pytest.mark.parametrize(("right", "guesses"), [(0, 10), (10, 10), (3, 10), (530, 1000), (1999, 2000)])
def test_ends_leave_their_tails(right: int, guesses: int) -> None:
    low, high = map(float, binomial_interval(right, guesses, confidence=0.9))

    def tail(p: float, counts: range) -> float:
        p = mpmath.mpf(p)
        return float(sum(mpmath.binomial(guesses, k) * p**k * (1 - p) ** (guesses - k) for k in counts))

    assert low == 0.0 if right == 0 else tail(low, range(right, guesses + 1)) == pytest.approx(0.05, rel=1e-8)
    assert high == 1.0 if right == guesses else tail(high, range(right + 1)) == pytest.approx(0.05, rel=1e-8)


def test_covers_unequal_trials() -> None:
    """Half of the trials succeed with 0.9, half with 0.3, as hits and quiet non-members may."""
    rng = np.random.default_rng(4)
    right = rng.binomial(50, 0.9, 2000) + rng.binomial(50, 0.3, 2000)
    low, high = binomial_interval(right, 100, confidence=0.95)
    assert np.mean((low <= 0.6) & (high >= 0.6)) >= 0.95
