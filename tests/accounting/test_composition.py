"""Basic and strong composition: the published figure, the exact profile, and the search for a bound that is too low."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import dpviz
from dpviz.accounting.composition import amplify, gaussian_step_epsilon
from tests.accounting.references import gaussian_delta

ABADI = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta": 1e-5}


class TestOneStep:
    @given(st.floats(math.log(0.01), math.log(1e4)).map(math.exp), st.floats(-690.0, -1e-6).map(math.exp))
    @settings(max_examples=250, deadline=None)
    def test_the_exact_profile_confirms_it(self, sigma: float, delta: float) -> None:
        """Beyond ε₀ = 1 the textbook formula is not proved (and false: σ = 0.3, δ₀ = 0.1); what is used must hold."""
        epsilon = gaussian_step_epsilon(np.asarray(sigma), np.asarray(delta))
        with mp.workdps(60):
            assert gaussian_delta(1 / mp.mpf(sigma), float(epsilon)) <= mp.mpf(delta) * (1 + mp.mpf(10) ** -12)

    def test_the_textbook_formula_is_not_a_bound_at_small_noise(self) -> None:
        sigma, delta = 0.3, 0.1
        textbook = math.sqrt(2 * math.log(1.25 / delta)) / sigma
        assert gaussian_delta(1 / sigma, textbook) > 1.9 * delta
        assert float(gaussian_step_epsilon(np.asarray(sigma), np.asarray(delta))) > textbook

    @pytest.mark.parametrize("epsilon0", [1e-12, 0.1, 5.0, 599.0, 601.0, 5000.0])
    @pytest.mark.parametrize("rate", [1e-9, 0.01, 0.5, 1.0])
    def test_amplification_in_high_precision(self, epsilon0: float, rate: float) -> None:
        with mp.workdps(40):
            exact = mp.log1p(mp.mpf(rate) * mp.expm1(mp.mpf(epsilon0)))
            found = amplify(np.asarray(epsilon0), np.asarray(rate), "exact")
            assert abs(mp.mpf(float(found)) - exact) <= exact * mp.mpf(10) ** -14

    @given(st.floats(0, 900), st.floats(0, 1))
    def test_amplification_never_raises_epsilon_and_beats_linear_never(self, epsilon0: float, rate: float) -> None:
        exact = float(amplify(np.asarray(epsilon0), np.asarray(rate), "exact"))
        assert exact <= epsilon0 * (1 + 1e-15)
        assert exact * (1 + 1e-14) + 1e-300 >= float(amplify(np.asarray(epsilon0), np.asarray(rate), "linear"))


class TestComposition:
    @pytest.mark.parametrize("setting", [(4.0, 0.01, 10_000, 1e-5), (2.0, 1.0, 50, 1e-8), (20.0, 1e-4, 10**6, 1e-2)])
    def test_strong_splits_delta_as_well_as_a_continuous_search(self, setting: tuple[float, float, int, float]) -> None:
        sigma, rate, steps, delta = setting

        def at_split(logit: float) -> float:
            slack = delta / (1 + math.exp(-logit))
            one = math.sqrt(2 * math.log(1.25 * steps * rate / (delta - slack))) / sigma
            each = math.log1p(rate * math.expm1(one))
            return each * math.sqrt(2 * steps * math.log(1 / slack)) + steps * each * math.expm1(each)

        best = minimize_scalar(at_split, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10}).fun
        found = dpviz.epsilon("strong", noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
        assert best * (1 - 1e-12) <= found <= best * 1.0005

    @pytest.mark.parametrize("method", ["basic", "strong"])
    @pytest.mark.parametrize("sigma", [1e-200, 1e-3, 1e3, 1e200])
    @pytest.mark.parametrize("rate", [0.0, 1e-300, 1e-9, 1.0])
    def test_extremes_are_numbers_without_warnings(self, method: str, sigma: float, rate: float) -> None:
        """σ² over- and underflowed, and the slack of strong composition fell to 0, here."""
        found = dpviz.epsilon(
            method, noise_multiplier=sigma, sample_rate=rate, steps=[0, 1, 10**9], delta=[[5e-324], [1e-300], [0.5]]
        )
        assert not np.isnan(found).any()
        assert (found[:, 0] == 0.0).all()


# (σ, q, T, δ): little noise (where the textbook formula fails), large δ₀, and common settings.
HUNTED = [
    (0.2, 0.3, 1, 0.4),
    (0.3, 0.01, 1, 1e-3),
    (0.3, 0.01, 10, 0.05),
    (0.3, 0.5, 2, 0.5),
    (0.3, 1.0, 1, 0.1),
    (0.5, 0.001, 100, 1e-5),
    (0.7, 0.1, 5, 1e-2),
    (0.9, 1.0, 3, 0.3),
    (2.0, 0.05, 200, 1e-6),
    (10.0, 0.5, 50, 0.02),
    (15.0, 1e-3, 1000, 1e-5),
]


@pytest.mark.parametrize(("sigma", "rate", "steps", "delta"), HUNTED)
def test_never_below_the_optimistic_privacy_loss_distribution(
    sigma: float, rate: float, steps: int, delta: float
) -> None:
    lower = (
        privacy_loss_distribution.from_gaussian_mechanism(
            sigma,
            sampling_prob=rate,
            pessimistic_estimate=False,
            use_connect_dots=False,
            value_discretization_interval=2e-3,
        )
        .self_compose(steps)
        .get_epsilon_for_delta(delta)
    )
    for method in ("basic", "strong", "moments", "renyi"):
        found = dpviz.epsilon(method, noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
        assert found >= lower * (1 - 1e-9), method


def test_linear_amplification_does_fall_below_the_truth() -> None:
    """Why it is not the default: one step of σ = 0.5 sampled at 0.01 costs several times the linear reading."""
    setting = {"noise_multiplier": 0.5, "sample_rate": 0.01, "steps": 1, "delta": 1e-6}
    truth = privacy_loss_distribution.from_gaussian_mechanism(
        0.5, sampling_prob=0.01, pessimistic_estimate=False, use_connect_dots=False
    ).get_epsilon_for_delta(1e-6)
    assert dpviz.epsilon("basic", amplification="linear", **setting) < 0.2 * truth
    assert dpviz.epsilon("basic", **setting) > truth
