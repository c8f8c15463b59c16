"""ROC curves of mechanisms: the Gaussian's exact one, those of whole privacy curves, and claims of a sure attacker."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.pld.bounds import tight_profile
from dpviz.accounting.pld.without_grid import gaussian_log_delta
from dpviz.mechanisms import SampledGaussian


def _phi(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


class TestGaussian:
    @pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
    @pytest.mark.parametrize("threshold", [-2.0, 0.0, 1.5, 5.0])
    def test_likelihood_ratio_test(self, sigma: float, threshold: float) -> None:
        """ "In" above a threshold: FPR and TPR of that rule, in 30 digits, lie on the curve."""
        with mpmath.workdps(30):
            fpr, tpr = _phi(-mpmath.mpf(threshold) / sigma), _phi((1 - mpmath.mpf(threshold)) / sigma)
            found = dpviz.gaussian_roc(float(fpr), noise_multiplier=sigma)
        assert float(found) == pytest.approx(float(tpr), rel=1e-9)

    def test_steps_add_like_less_noise(self) -> None:
        rates = np.linspace(0, 1, 11)
        many = dpviz.gaussian_roc(rates, noise_multiplier=6.0, steps=9)
        np.testing.assert_allclose(many, dpviz.gaussian_roc(rates, noise_multiplier=2.0), rtol=1e-13)
        np.testing.assert_allclose(dpviz.gaussian_roc(rates, noise_multiplier=6.0, steps=0), rates, atol=1e-15)
        assert dpviz.gaussian_roc([0.0, 1.0], noise_multiplier=1.0).tolist() == [0.0, 1.0]

    def test_lies_in_the_region_of_each_of_its_own_pairs(self) -> None:
        rates = np.geomspace(1e-9, 1, 200)
        curve = dpviz.gaussian_roc(rates, noise_multiplier=1.3)
        for epsilon in (0.0, 0.3, 1.0, 3.0):
            delta = math.exp(float(gaussian_log_delta(1.3, epsilon)))
            region = dpviz.roc_bound(rates, epsilon=epsilon, delta=delta)
            assert (curve <= region * (1 + 1e-9)).all()
            assert (region - curve).min() < 1e-4  # and touches it


class TestProfile:
    def test_intersection_of_all_pairs_is_the_gaussians_own_curve(self) -> None:
        epsilon = np.linspace(0, 12, 3000)
        delta = np.exp(gaussian_log_delta(1.0, epsilon))
        rates = np.linspace(1e-4, 1, 500)
        found = dpviz.profile_roc(rates, epsilon=epsilon, delta=delta)
        exact = dpviz.gaussian_roc(rates, noise_multiplier=1.0)
        assert (found >= exact - 1e-12).all()
        assert (found - exact).max() < 1e-5

    def test_tight_profile_bounds_the_sampled_gaussian_from_above(self) -> None:
        """One sampled step, the rule "in above a threshold" for adding and removing, against the profile."""
        q, sigma = 0.2, 0.8
        profile = tight_profile(SampledGaussian(sigma, q), 1)
        gaps = []
        for threshold in np.linspace(-2, 4, 13):
            without = float(_phi(-mpmath.mpf(threshold) / sigma))
            with_it = (1 - q) * without + q * float(_phi((1 - mpmath.mpf(threshold)) / sigma))
            for fpr, tpr in ((without, with_it), (1 - with_it, 1 - without)):
                top = float(dpviz.profile_roc(fpr, epsilon=profile.epsilon, delta=profile.upper))
                assert tpr <= top + 1e-12
                gaps.append(top - tpr)
        assert min(gaps) < 1e-3  # the region holds both directions; the better one reaches its border

    def test_never_above_any_pair(self) -> None:
        profile = tight_profile(SampledGaussian(2.0, 0.05), 200)
        rates = np.linspace(0, 1, 101)
        whole = dpviz.profile_roc(rates, epsilon=profile.epsilon, delta=profile.upper)
        for e, d in zip(profile.epsilon[::20], profile.upper[::20], strict=True):
            assert (whole <= dpviz.roc_bound(rates, epsilon=e, delta=d) + 1e-15).all()
        assert whole.shape == rates.shape
        accuracy = 0.5 * (whole + 1 - rates).max()
        best = dpviz.profile_success(epsilon=profile.epsilon, delta=profile.upper)
        assert best == pytest.approx((1 + profile.upper[0]) / 2, rel=1e-12)
        assert accuracy == pytest.approx(best, abs=2e-3)
        assert accuracy <= best + 1e-12


class TestSure:
    @given(st.floats(0.0, 300.0), st.floats(1e-9, 1.0))
    def test_pure_dp_gives_equation_1_at_any_rate(self, epsilon: float, rate: float) -> None:
        assert dpviz.sure_success(epsilon, hit_rate=rate) == pytest.approx(dpviz.attack_success(epsilon), rel=1e-14)

    @given(st.floats(0.0, 30.0), st.floats(1e-6, 1.0), st.floats(0.0, 1.0))
    def test_follows_from_the_region(self, epsilon: float, rate: float, delta: float) -> None:
        """TPR/(TPR + FPR) at the smallest FPR whose region reaches the TPR on its rising side."""
        fpr = max(rate - delta, 0.0) * math.exp(-epsilon)
        assert dpviz.sure_success(epsilon, hit_rate=rate, delta=delta) == pytest.approx(rate / (rate + fpr), rel=1e-12)

    def test_ends(self) -> None:
        assert dpviz.sure_success(1.0, hit_rate=1e-9, delta=1e-5) == 1.0
        assert dpviz.sure_success(1.0, hit_rate=0.0) == pytest.approx(dpviz.attack_success(1.0))
        assert dpviz.sure_success(math.inf, hit_rate=0.5) == 1.0
        assert np.shape(dpviz.sure_success([1.0, 2.0], hit_rate=0.5)) == (2,)
