"""Bayesian DP solved for the missing number, and swept along noise levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz.accounting.bayesian.accountant import BayesianSweep
from tests.accounting.references import sample_moments

DISTANCES = np.minimum(np.random.default_rng(3).weibull(0.5, 500), 1.0)
PLAN: dict[str, Any] = {"noise_std": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta_mu": 1e-5}


def known(unknown: str, **changes: float) -> dict[str, Any]:
    return {name: value for name, value in (PLAN | changes).items() if name != unknown}


@pytest.mark.parametrize("largest", [None, 1.0])
@pytest.mark.parametrize("target", [0.6, 3.0])
@pytest.mark.parametrize("unknown", ["noise_std", "steps", "sample_rate", "delta_mu"])
def test_the_answer_holds_and_nothing_better_does(unknown: str, target: float, largest: float | None) -> None:
    """By all orders, of which the search looks at few."""
    given = known(unknown, steps=1000)
    given.pop(unknown, None)
    bound: dict[str, Any] = {"largest_distance": largest}
    answer = dpviz.solve_bayesian(unknown, DISTANCES, target_epsilon=target, **given, **bound)
    assert type(answer) is float
    assert dpviz.bayesian_epsilon(DISTANCES, **given, **bound, **{unknown: answer}) <= target
    beyond = {
        "noise_std": answer * (1 - 1e-6),
        "steps": answer + 1,
        "sample_rate": answer * (1 + 1e-6),
        "delta_mu": 1e-15 + (answer - 1e-15) * (1 - 1e-3),
    }[unknown]
    if unknown != "delta_mu" or answer > 1.001e-15:
        assert dpviz.bayesian_epsilon(DISTANCES, **given, **bound, **{unknown: beyond}) > target


def test_distances_at_the_threshold_are_the_moments_accountant() -> None:
    """With d ≡ C Bayesian DP is the moments accountant: the same noise for the same ε (γ = ½, δ alike)."""
    distances = np.full(50, 2.0)
    given = {"sample_rate": 0.01, "steps": 10_000}
    ours = dpviz.solve_bayesian("noise_std", distances, target_epsilon=1.5, delta_mu=1e-5, **given)
    theirs = dpviz.solve("noise_multiplier", target_epsilon=1.5, method="moments", delta=1e-5, **given)
    assert ours == pytest.approx(2.0 * theirs, rel=1e-6)


class TestSweep:
    NOISE = np.geomspace(0.3, 40.0, 23)

    @pytest.mark.parametrize("steps", [1, 100, 10_000])
    def test_few_distances_equal_the_direct_evaluation(self, steps: int) -> None:
        found = BayesianSweep(DISTANCES[:150], noise_std=self.NOISE, sample_rate=0.01).bound(steps=steps, delta_mu=1e-5)
        direct = [
            dpviz.bayesian_epsilon(DISTANCES[:150], noise_std=s, sample_rate=0.01, steps=steps, delta_mu=1e-5)
            for s in self.NOISE
        ]
        np.testing.assert_allclose(found.epsilon, direct, rtol=1e-12)

    @pytest.mark.parametrize("draw", ["heavy", "clipped", "light"])
    def test_many_distances_are_bounded_from_above(self, draw: str) -> None:
        """Grouped distances never read below Eq. 14 evaluated sample by sample, and little above."""
        rng = np.random.default_rng(7)
        distances = {
            "heavy": rng.weibull(0.5, 3000),
            "clipped": np.minimum(rng.weibull(0.5, 3000), 1.0),
            "light": rng.weibull(3.0, 3000),
        }[draw]
        noise = self.NOISE[6::4]
        orders = np.array([2, 8, 32])
        sweep = BayesianSweep(distances, noise_std=noise, sample_rate=0.02, orders=orders)
        found = sweep.bound(steps=300, delta_mu=1e-5)
        for sigma, epsilon in zip(noise.tolist(), found.epsilon.tolist(), strict=True):
            moments = sample_moments(distances, sigma, 0.02, 300, orders, 1e-15)
            direct = ((moments - math.log(1e-5 - 1e-15)) / orders).min()
            assert direct * (1 - 1e-12) <= epsilon <= direct * 1.002

    def test_again_with_other_steps(self) -> None:
        sweep = BayesianSweep(DISTANCES, noise_std=self.NOISE, sample_rate=0.01)
        first = sweep.bound(steps=100, delta_mu=1e-5).epsilon
        more = sweep.bound(steps=1000, delta_mu=1e-5).epsilon
        assert (more >= first).all()
        assert sweep.bound(steps=100, delta_mu=1e-5).epsilon.tolist() == first.tolist()

    def test_too_little_noise_for_numbers(self) -> None:
        found = BayesianSweep([1.0, 2.0], noise_std=[1e-140, 1.0], sample_rate=0.5).bound(steps=10, delta_mu=1e-5)
        assert found.epsilon[0] == math.inf
        assert math.isnan(found.largest_share[0])
        assert math.isfinite(found.epsilon[1])
