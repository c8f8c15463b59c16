"""The town: calibrated noise, an attacker who keeps within the bound and reaches what theory says, honest intervals."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from dpviz.accounting.attack.income_example import (
    MECHANISMS,
    Played,
    Town,
    binomial_interval,
    draw_town,
    guess_success,
    noise_scale,
    own_epsilon,
    play,
)
from dpviz.accounting.attack.membership import attack_success, sure_success
from dpviz.accounting.pld.without_grid import gaussian_epsilon
from tests.accounting.references import gaussian_delta

EPSILONS = np.array([0.1, 0.5, 1.0, 2.0, 5.0, 10.0])
DELTA = 1e-5
CERTAIN = 1 - 1e-6  # intervals that a correct simulation leaves once in a million


@pytest.fixture(scope="module")
def town() -> Town:
    return draw_town(residents=1000, median=30.0, spread=0.6, outlier_factor=1000.0, seed=1)


class TestTown:
    def test_incomes_are_log_normal(self) -> None:
        drawn = draw_town(residents=20_000, median=30.0, spread=0.6, outlier_factor=1e6, seed=5).incomes
        assert kstest(np.log(drawn / 30.0) / 0.6, "norm").pvalue > 1e-4
        assert (np.diff(drawn) >= 0).all()

    def test_same_seed_same_town(self, town: Town) -> None:
        again = draw_town(residents=1000, median=30.0, spread=0.6, outlier_factor=1000.0, seed=1)
        np.testing.assert_array_equal(again.incomes, town.incomes)
        assert town.outlier == town.limit == 30_000.0
        assert town.resident(0.5) == pytest.approx(np.median(town.incomes))

    def test_nobody_counts_more_than_the_limit(self) -> None:
        modest = draw_town(residents=500, median=30.0, spread=2.0, outlier_factor=3.0, seed=0)
        assert modest.incomes.max() == modest.limit == 90.0


class TestNoise:
    def test_laplace(self) -> None:
        np.testing.assert_allclose(noise_scale(mechanism="laplace", epsilon=EPSILONS, delta=DELTA), 1 / EPSILONS)

    @pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.1])
    @pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0, 20.0])
    def test_gaussian_is_the_least_noise_that_is_private(self, epsilon: float, delta: float) -> None:
        """δ of the scale found: at most δ, and nearly all of it."""
        scale = float(noise_scale(mechanism="gaussian", epsilon=epsilon, delta=delta))
        with mpmath.workdps(60):
            used = gaussian_delta(1 / mpmath.mpf(scale), epsilon)
        assert 0.999 * delta < float(used) <= delta


def played_by(town: Town, income: float, mechanism: str, seed: int, **changed: Any) -> Played:
    """A hundred thousand releases at all ε, unless something is changed."""
    usual = {"epsilon": EPSILONS, "delta": DELTA, "releases": 100_000, "confidence": CERTAIN}
    return play(income, limit=town.limit, mechanism=mechanism, seed=seed, **(usual | changed))


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestPlay:
    @pytest.mark.parametrize("seed", range(5))
    def test_never_significantly_above_the_bound(self, town: Town, mechanism: str, seed: int) -> None:
        delta = DELTA if mechanism == "gaussian" else 0.0
        for income in (town.outlier, town.resident(0.5), town.resident(0.999)):
            played = played_by(town, income, mechanism, seed)
            assert (played.accuracy_low <= attack_success(EPSILONS, delta=delta)).all()
            assert (played.sure_low <= sure_success(EPSILONS, hit_rate=0.5, delta=delta)).all()

    def test_measures_what_theory_says(self, town: Town, mechanism: str) -> None:
        for income in (town.outlier, town.outlier / 10, town.resident(0.5)):
            played = played_by(town, income, mechanism, 11)
            exact = guess_success(income / town.limit, mechanism=mechanism, epsilon=EPSILONS, delta=DELTA)
            assert (played.accuracy_low <= exact).all()
            assert (exact <= played.accuracy_high).all()

    def test_same_counts_as_a_plain_simulation(self, town: Town, mechanism: str) -> None:
        """One release after the other, as the paper tells it, with densities instead of sorted draws."""
        releases, epsilon, income = 4000, 1.5, 0.6 * town.outlier
        scale = float(noise_scale(mechanism=mechanism, epsilon=epsilon, delta=DELTA)) * town.limit
        rng = np.random.default_rng([3, 1])
        present = rng.integers(0, 2, releases).astype(bool)
        noise = rng.laplace(size=releases) if mechanism == "laplace" else rng.standard_normal(releases)
        base, people = float(town.incomes.sum()), town.incomes.size
        published = (base + income * present + scale * noise) / people

        def log_density(mean: float) -> np.ndarray:
            z = np.abs(published - mean) * people / scale
            return -z if mechanism == "laplace" else -(z**2) / 2

        guesses = log_density((base + income) / people) > log_density(base / people)
        beyond = published >= (base + income) / people
        played = played_by(town, income, mechanism, 3, epsilon=epsilon, releases=releases)
        assert played.accuracy[0] == np.mean(guesses == present)
        assert abs(int(played.beyond[0]) - int(beyond.sum())) <= 1  # a release on the threshold may round away
        assert played.sure[0] == pytest.approx(np.mean(present[beyond]), abs=1e-3)

    def test_typical_resident_is_a_coin_toss(self, town: Town, mechanism: str) -> None:
        played = played_by(town, town.resident(0.5), mechanism, 0, epsilon=2.0)
        assert abs(played.accuracy[0] - 0.5) < 0.006
        assert abs(played.sure[0] - 0.5) < 0.009


def test_the_sure_attacker_reaches_equation_1(town: Town) -> None:
    """At ε = 2 (the paper: 88 %) and 5 (99.33 %) claims beyond the threshold are as often true as the bound allows."""
    played = played_by(town, town.outlier, "laplace", 4, epsilon=[2.0, 5.0], releases=400_000)
    for i, bound in enumerate((0.8808, 0.9933)):
        assert played.sure_low[i] <= bound <= played.sure_high[i]
        assert played.sure_high[i] - played.sure_low[i] < 0.012


class TestOwnEpsilon:
    @settings(max_examples=30, deadline=None)
    @given(st.floats(0.02, 15.0), st.floats(1e-10, 1e-2), st.floats(1e-6, 1.0), st.sampled_from(MECHANISMS))
    def test_between_zero_and_the_mechanisms(self, epsilon: float, delta: float, share: float, mechanism: str) -> None:
        options = {"limit": 1.0, "mechanism": mechanism, "epsilon": epsilon, "delta": delta}
        small, large = own_epsilon([share / 2, share], **options)
        assert 0 <= small <= large <= epsilon
        if mechanism == "gaussian":
            sigma = float(noise_scale(mechanism=mechanism, epsilon=epsilon, delta=delta)) / share
            low, high = gaussian_epsilon(sigma, delta)
            assert low * (1 - 1e-9) <= large <= high * (1 + 1e-3) + 1e-5
        else:
            assert share * epsilon <= large <= share * epsilon * (1 + 1e-5)

    def test_no_income_costs_nothing(self) -> None:
        for mechanism in MECHANISMS:
            assert own_epsilon([0.0], limit=5.0, mechanism=mechanism, epsilon=2.0, delta=DELTA)[0] == 0.0
            whole = own_epsilon([5.0, 9.0], limit=5.0, mechanism=mechanism, epsilon=2.0, delta=DELTA)
            np.testing.assert_allclose(whole, 2.0, rtol=1e-5)


class TestInterval:
    def test_nothing_tried_nothing_known(self) -> None:
        low, high = binomial_interval(0, 0)
        assert (float(low), float(high)) == (0.0, 1.0)
