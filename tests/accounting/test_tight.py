"""The tight accountant against other libraries, closed forms, brute-force quadrature and its own symmetries."""

from __future__ import annotations

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
import dpviz.accounting.pld.grid as tight
from dpviz.accounting.pld.bounds import TightResult, tight_delta, tight_epsilon, tight_epsilon_of_events, tight_profile
from dpviz.accounting.pld.composed_loss import ComposedLoss, epsilon_above, epsilon_below
from dpviz.mechanisms import SampledGaussian


def step(sigma: float, rate: float = 1.0) -> SampledGaussian:
    return SampledGaussian(noise_multiplier=sigma, sample_rate=rate)


def overlap(found: TightResult, low: float, high: float) -> None:
    """Both intervals can hold one number."""
    assert found.lower[0] <= high
    assert low <= found.upper[0]


def two_steps_by_quadrature(sigma: float, q: float, epsilon: float) -> float:
    """δ(ε) of removal after two steps: ∫ p(z₁) [P(z₂ > z*) − e^{ε − ℓ(z₁)} Q(z₂ > z*)] dz₁, 20 digits."""
    with mpmath.workdps(20):
        s, rate, eps = mpmath.mpf(sigma), mpmath.mpf(q), mpmath.mpf(epsilon)

        def inner(z: mpmath.mpf) -> mpmath.mpf:
            ratio = 1 - rate + rate * mpmath.exp((2 * z - 1) / (2 * s**2))
            density = ratio * mpmath.npdf(z, 0, s)
            needed = mpmath.exp(eps) / ratio  # the second likelihood ratio must exceed this
            if needed <= 1 - rate:
                return density * (1 - needed)
            cut = s**2 * mpmath.log((needed - 1 + rate) / rate) + mpmath.mpf(1) / 2
            tail0, tail1 = mpmath.ncdf(-cut / s), mpmath.ncdf((1 - cut) / s)
            return density * ((1 - rate) * tail0 + rate * tail1 - needed * tail0)

        return float(mpmath.quad(inner, mpmath.linspace(-10 * s, 1 + 10 * s, 41)))


@pytest.mark.parametrize(
    ("sigma", "q", "epsilon"), [(0.7, 0.1, 1.0), (2.0, 0.01, 0.05), (1.0, 0.5, 4.0), (0.5, 1e-3, 3.0), (4.0, 0.3, 0.0)]
)
def test_two_steps_bracket_brute_force_quadrature(sigma: float, q: float, epsilon: float) -> None:
    truth = two_steps_by_quadrature(sigma, q, epsilon)
    found = tight_delta(step(sigma, q), [2], epsilon)
    assert found.lower[0] <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= found.upper[0]
    assert found.upper[0] <= found.lower[0] * 1.02
    if truth < 1:
        interval = tight_epsilon(step(sigma, q), [2], truth)
        assert interval.lower[0] <= epsilon * (1 + 1e-9) + 1e-12
        assert epsilon <= interval.upper[0] * (1 + 1e-9)


@pytest.mark.parametrize("sigma", [0.6, 3.0, 40.0])
@pytest.mark.parametrize("steps", [2, 300])
def test_grid_brackets_the_gaussian_closed_form(monkeypatch: pytest.MonkeyPatch, sigma: float, steps: int) -> None:
    exact = tight_epsilon(step(sigma), [steps], 1e-6)
    assert exact.upper[0] - exact.lower[0] <= 1e-8 * exact.upper[0]
    monkeypatch.setattr(tight, "epsilon_without_grid", lambda *_: None)
    found = tight_epsilon(step(sigma), [steps], 1e-6)
    assert found.lower[0] > 0
    overlap(found, exact.lower[0], exact.upper[0])
    assert found.upper[0] - found.lower[0] <= 0.01 * found.lower[0]


def test_a_grid_brackets_the_closed_form_of_one_step(monkeypatch: pytest.MonkeyPatch) -> None:
    settings_ = [(1.0, 0.2, 1e-5), (0.5, 1e-3, 1e-9), (20.0, 0.01, 1e-6)]
    exact = [tight_epsilon(step(s, q), [1], d) for s, q, d in settings_]
    monkeypatch.setattr(tight, "epsilon_without_grid", lambda *_: None)
    for (sigma, q, delta), truth in zip(settings_, exact, strict=True):
        found = tight_epsilon(step(sigma, q), [1], delta)
        overlap(found, truth.lower[0], truth.upper[0])
        assert found.upper[0] - found.lower[0] <= max(0.01 * found.lower[0], 1e-4)


COMMON = [(4.0, 0.01, 10_000, 1e-5), (1.0, 0.01, 1_000, 1e-6), (0.6, 0.002, 500, 1e-5)]
LIBRARY_SETTINGS = [  # (σ, q, T, δ), and the multiples that losses are rounded to there
    *((*setting, 1e-3) for setting in (*COMMON, (2.0, 0.3, 40, 1e-8))),
    (0.7, 1e-3, 3000, 1e-7, 1e-4),
    (1.0, 2e-4, 20_000, 1e-6, 2e-5),
]


@pytest.mark.parametrize(("sigma", "q", "steps", "delta", "interval"), LIBRARY_SETTINGS)
def test_agrees_with_dp_accounting_and_is_not_wider(
    sigma: float, q: float, steps: int, delta: float, interval: float
) -> None:
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    low, high = (
        pld.from_gaussian_mechanism(
            sigma, sampling_prob=q, value_discretization_interval=interval, pessimistic_estimate=pessimistic,
            use_connect_dots=pessimistic,
        ).self_compose(steps).get_epsilon_for_delta(delta)
        for pessimistic in (False, True)
    )  # fmt: skip
    found = tight_epsilon(step(sigma, q), [steps], delta)
    overlap(found, low, high)
    width = found.upper[0] - found.lower[0]
    assert width <= 0.01 * found.lower[0] + 0.001
    assert width <= high - low + 0.002 * found.upper[0] or interval < 1e-3


@pytest.mark.parametrize(("sigma", "q", "steps", "delta"), COMMON)
@pytest.mark.filterwarnings("ignore")
def test_agrees_with_prv_accountant_and_is_not_wider(sigma: float, q: float, steps: int, delta: float) -> None:
    prv = pytest.importorskip("prv_accountant")
    one = prv.PoissonSubsampledGaussianMechanism(noise_multiplier=sigma, sampling_probability=q)
    accountant = prv.PRVAccountant(prvs=[one], max_self_compositions=[steps], eps_error=0.02, delta_error=delta / 1000)
    low, _, high = accountant.compute_epsilon(delta, [steps])
    found = tight_epsilon(step(sigma, q), [steps], delta)
    overlap(found, low, high)
    assert found.upper[0] - found.lower[0] <= high - low


def test_nearly_equal_mechanisms_compose_like_equal_ones() -> None:
    same = tight_epsilon(step(1.5, 0.02), [700], 1e-6)
    near = tight_epsilon_of_events([(step(1.5, 0.02), 350), (step(1.5 * (1 + 1e-9), 0.02), 350)], 1e-6)
    assert float(near.lower) == pytest.approx(same.lower[0], rel=4e-3)
    assert float(near.upper) == pytest.approx(same.upper[0], rel=4e-3)


def test_no_wider_where_fixed_grids_read_3_to_10_times_too_high() -> None:
    """Just above the truth, below the Rényi optimum 0.0309."""
    found = tight_epsilon(step(10.0, 1e-4), [1_000_000], 1e-5)
    assert 0.0270 < found.lower[0] <= found.upper[0] < 0.0275


mechanisms = st.builds(
    step,
    st.floats(math.log(0.5), math.log(100)).map(math.exp),
    st.floats(math.log(1e-5), math.log(0.5)).map(math.exp),
)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(mechanisms, st.floats(0, 5.5), st.floats(-12, -2))
def test_bounds_are_ordered_and_monotone(mechanism: SampledGaussian, log_steps: float, log_delta: float) -> None:
    steps, delta = round(10**log_steps), 10**log_delta
    found = tight_epsilon(mechanism, [steps, 2 * steps], delta)
    assert (found.lower <= found.upper).all()
    assert found.lower[0] <= found.upper[1]  # more steps, never less loss
    noisier = step(mechanism.noise_multiplier * 1.1, mechanism.sample_rate)
    assert tight_epsilon(noisier, [steps], delta).lower[0] <= found.upper[0]
    rarer = step(mechanism.noise_multiplier, mechanism.sample_rate * 0.9)
    assert tight_epsilon(rarer, [steps], delta).lower[0] <= found.upper[0]
    assert tight_epsilon(mechanism, [steps], min(2 * delta, 0.5)).lower[0] <= found.upper[0]
    if found.upper[0] <= 50:
        assert found.upper[0] - found.lower[0] <= max(0.01 * found.lower[0], 0.005), mechanism


INVERSE_SETTINGS = [  # (σ, q, T, δ): tails cut for δ = 1e-12 gave δ(ε(δ)) = 1e7 to 1e19 times δ here
    (21.4, 0.026, 19_000, 3.8e-30),
    (3.23, 0.023, 130, 6.8e-29),
    (13.1, 0.048, 2_500, 3.0e-20),
    (23.5, 1.1e-6, 2_600, 5.2e-38),
    (29.2, 7.4e-6, 5_500, 1.3e-60),
    (0.399, 3.7e-5, 40, 4.7e-39),
    (2.25, 0.006, 100_000, 6.6e-6),
]


@pytest.mark.parametrize(("sigma", "q", "steps", "delta"), INVERSE_SETTINGS)
def test_delta_of_epsilon_comes_back(sigma: float, q: float, steps: int, delta: float) -> None:
    mechanism = step(sigma, q)
    found = tight_epsilon(mechanism, [steps], delta)
    low, high = float(found.lower[0]), float(found.upper[0])
    above, below = tight_delta(mechanism, [steps], high), tight_delta(mechanism, [steps], low)
    assert above.upper[0] == pytest.approx(delta, rel=5e-3)
    assert below.lower[0] == pytest.approx(delta, rel=5e-3)
    assert above.lower[0] <= delta <= below.upper[0]
    assert tight_epsilon(mechanism, [steps], float(above.upper[0])).upper[0] <= high
    assert tight_epsilon(mechanism, [steps], float(below.lower[0])).lower[0] >= low


@pytest.mark.parametrize(
    ("sigma", "q", "steps"), [(3.0, 0.02, 300), (1.0, 1e-3, 1), (20.0, 1e-4, 10**7), (2.0, 1.0, 9)]
)
def test_both_directions_fall_down_to_the_least_delta(sigma: float, q: float, steps: int) -> None:
    mechanism = step(sigma, q)
    deltas = 10.0 ** -np.array([3.0, 12.0, 13.0, 20.0, 60.0, 61.0, 150.0])
    found = [tight_epsilon(mechanism, [steps], float(delta)) for delta in deltas]
    for side in ("lower", "upper"):
        assert (np.diff([float(getattr(one, side)[0]) for one in found]) > 0).all()
    assert all(one.lower[0] <= one.upper[0] for one in found)
    epsilons = np.linspace(float(found[1].upper[0]), float(found[4].upper[0]), 5)
    curve = [tight_delta(mechanism, [steps], float(epsilon)) for epsilon in epsilons]
    for side in ("lower", "upper"):
        assert (np.diff([float(getattr(one, side)[0]) for one in curve]) < 0).all()


@pytest.mark.parametrize("delta", [1e-5, 1e-20, 1e-60])
@pytest.mark.parametrize(("mu", "steps"), [(0.3, 40), (2.0, 40), (1.0, 10**6), (0.2, 10**8)])
def test_a_grid_holds_the_exact_gaussian_at_every_delta(mu: float, steps: int, delta: float) -> None:
    """q = 1: T steps are one Gaussian with σ/√T, whose ε solves Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) = δ, to 50 digits."""
    with mpmath.workdps(50):
        m = mpmath.mpf(mu)
        # erfc keeps its digits in tails where 1 − ncdf has none
        ncdf = lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2  # noqa: E731
        miss = lambda e: mpmath.log(ncdf(m / 2 - e / m) - mpmath.exp(e) * ncdf(-m / 2 - e / m)) - mpmath.log(delta)  # noqa: E731
        start = m * mpmath.sqrt(2 * mpmath.log(1 / mpmath.mpf(delta)))
        truth = float(mpmath.findroot(miss, (start * 0.5, start * 1.2 + m * m), solver="anderson", tol=1e-20))
    ((lower, upper),) = tight._epsilon_of_group([step(math.sqrt(steps) / mu)], np.array([[float(steps)]]), delta)
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper
    assert upper - lower <= max(0.01 * lower, 0.005)


def test_one_step_is_exact_at_tiny_delta() -> None:
    """Removal and addition of one sampled step by 60-digit arithmetic, where differences of doubles hold nothing."""
    for sigma, q, epsilon in [(1.0, 1e-3, 8.0), (0.7, 0.2, 30.0), (5.0, 0.3, 0.2), (50.0, 1e-6, 1e-7), (1.0, 0.9, 1.5)]:
        with mpmath.workdps(60):
            s, rate, e = mpmath.mpf(sigma), mpmath.mpf(q), mpmath.mpf(epsilon)
            tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
            z = s**2 * mpmath.log((mpmath.exp(e) - 1 + rate) / rate) + mpmath.mpf(1) / 2
            remove = (1 - rate) * tail(z / s) + rate * tail((z - 1) / s) - mpmath.exp(e) * tail(z / s)
            add = mpmath.mpf(0)
            if mpmath.exp(-e) > 1 - rate:
                z = s**2 * mpmath.log((mpmath.exp(-e) - 1 + rate) / rate) + mpmath.mpf(1) / 2
                low0, low1 = tail(-z / s), tail((1 - z) / s)
                add = low0 - mpmath.exp(e) * ((1 - rate) * low0 + rate * low1)
            truth = float(max(remove, add))
        found = tight_delta(step(sigma, q), [1], epsilon)
        assert found.lower[0] <= truth <= found.upper[0]
        assert found.upper[0] <= truth * (1 + 1e-8)
        interval = tight_epsilon(step(sigma, q), [1], truth)
        assert interval.lower[0] <= epsilon * (1 + 1e-12)
        assert epsilon <= interval.upper[0] * (1 + 1e-12)


def test_counts_asked_for_together_agree_with_each_alone() -> None:
    for mechanism, delta in [(step(4.0, 0.01), 1e-5), (step(30.0, 0.2), 1e-12)]:
        steps = np.unique(np.geomspace(2, 1e6, 24).round())
        together = tight_epsilon(mechanism, steps, delta)
        assert (np.diff(together.upper) >= 0).all()
        assert (np.diff(together.lower) >= 0).all()
        shown = together.upper <= 50
        assert ((together.upper - together.lower)[shown] <= np.maximum(0.01 * together.lower, 0.005)[shown]).all()
        for j in (0, 5, 11, 17, 23):
            alone = tight_epsilon(mechanism, steps[j], delta)
            assert together.lower[j] <= alone.upper
            assert alone.lower <= together.upper[j]


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"),
    [(3.0, 0.01, 10**5, 1e-5), (2.0, 1e-4, 10**6, 1e-9), (1.5, 0.05, 3 * 10**4, 1e-15)],
)
def test_few_modes_agree_with_a_whole_transform(
    monkeypatch: pytest.MonkeyPatch, sigma: float, q: float, steps: int, delta: float
) -> None:
    few = tight_epsilon(step(sigma, q), [steps], delta)
    monkeypatch.setattr("dpviz.accounting.pld.loss_transform.loud_modes", lambda *_: None)
    monkeypatch.setattr("dpviz.accounting.pld.plan.LEAST_NOISE_FOR_FEW", math.inf)
    monkeypatch.setattr("dpviz.accounting.pld.composed_loss.LEAST_DECAY", math.inf)
    whole = tight_epsilon(step(sigma, q), [steps], delta)
    overlap(few, whole.lower[0], whole.upper[0])
    assert few.upper[0] == pytest.approx(whole.upper[0], rel=5e-3)
    assert few.lower[0] == pytest.approx(whole.lower[0], rel=5e-3)


def test_never_above_the_renyi_accountant() -> None:
    for sigma, q, steps, delta in [(5.7, 6.6e-6, 12_000_000, 2.4e-38), (0.05, 0.5, 1000, 1e-5), (40.0, 1e-5, 10, 1e-9)]:
        renyi = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=q, steps=steps, delta=delta)
        assert tight_epsilon(step(sigma, q), [steps], delta).upper[0] <= renyi * (1 + 1e-8)


def test_profile_falls_from_total_variation_and_agrees_with_delta() -> None:
    mechanism = step(2.0, 0.1)
    profile = tight_profile(mechanism, 200, points=40)
    assert (profile.lower <= profile.upper).all()
    assert (profile.upper <= profile.lower * 1.05 + 1e-11).all()
    assert (np.diff(profile.upper) <= 1e-12).all()
    for j in (0, 10, 30):
        other = tight_delta(mechanism, [200], float(profile.epsilon[j]))
        assert other.lower[0] <= profile.upper[j]
        assert profile.lower[j] <= other.upper[0]


WIDTHS = [  # (σ, q, δ)
    (0.648262, 1.09268e-06, 1.22532e-12),  # one grid was up to 100 times as wide as promised in these six
    (0.65, 1e-6, 1e-12),
    (0.790233, 1.0401e-05, 8.83101e-11),
    (0.812875, 0.000116703, 2.38839e-12),
    (0.647578, 1.85192e-05, 7.2432e-07),
    (0.554233, 0.000285011, 0.000512936),
    (0.5, 1e-4, 1e-12),
    (0.5, 0.5, 1e-12),
    (100.0, 0.5, 1e-12),
    (10.0, 1e-4, 1e-5),
    (1.0, 0.01, 1e-5),
]


@pytest.mark.parametrize(("sigma", "q", "delta"), WIDTHS)
def test_the_promised_width(sigma: float, q: float, delta: float) -> None:
    found = tight_epsilon(step(sigma, q), np.unique(np.geomspace(1, 1e6, 16).round()), delta)
    promised = found.upper <= 50
    assert promised.all() or (q > 1e-3 and promised.any())
    assert found.reason == "" or not promised.all()
    assert (found.lower <= found.upper).all()
    assert (found.upper - found.lower <= np.maximum(0.01 * found.lower, 0.005))[promised].all()
    assert (found.lower[:-1] <= found.upper[1:]).all()


def test_two_grids_agree_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(11)
    settings_ = []
    for _ in range(12):
        sigma, q, delta = np.exp(generator.uniform(np.log([0.5, 1e-5, 1e-9]), np.log([1.1, 1e-3, 1e-3]))).tolist()
        settings_.append((step(sigma, q), float(round(10 ** generator.uniform(0.5, 4.0))), delta))
    assert all(tight.two_scales.worth_it(mechanism, steps) for mechanism, steps, _ in settings_)
    two = [tight._on_two_scales(mechanism, steps, delta) for mechanism, steps, delta in settings_]
    monkeypatch.setattr(tight.two_scales, "worth_it", lambda *_: False)
    for (mechanism, steps, delta), (lower, upper) in zip(settings_, two, strict=True):
        one = tight_epsilon(mechanism, [steps], delta)
        assert lower <= one.upper[0], (mechanism, steps, delta)
        assert one.lower[0] <= upper, (mechanism, steps, delta)


@pytest.mark.parametrize(
    ("sigma", "q", "steps", "delta"),
    [
        (0.113, 1.6e-4, [10, 100, 1000], 1e-5),  # so little noise that no output is small and likely
        (0.46, 2.2e-11, [1, 1477, 362_010_117], 7.4e-15),  # the losses of a step differ by a factor of 10^10
        (0.378, 2e-10, [5, 1_816_399], 0.054),
        (0.0263, 0.0338, [928, 1_585_154], 1e-6),
    ],
)
def test_extreme_settings_have_ordered_bounds(sigma: float, q: float, steps: list[int], delta: float) -> None:
    mechanism = SampledGaussian(sigma, q)
    found = tight_epsilon(mechanism, steps, delta)
    assert np.all(found.lower <= found.upper)
    renyi = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=q, steps=steps, delta=delta)
    assert np.all(found.lower <= renyi)
    profile = tight_profile(mechanism, steps[0], 20)
    assert np.all(profile.lower <= profile.upper)


def test_a_profile_beyond_every_grid_says_nothing_rather_than_fail() -> None:
    profile = tight_profile(SampledGaussian(1.7, 0.01), 26_579_132, 20)
    assert np.all(profile.lower <= profile.upper)


@pytest.mark.parametrize("part", ["error", "infinite", "slack"])
def test_every_numerical_error_moves_both_bounds_apart(part: str) -> None:
    exact = ComposedLoss(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.1, 0.01, 0.001]), np.zeros(4), 0.0)
    rough = replace(exact, **{part: np.full(4, 0.004) if part == "error" else 0.004})
    assert epsilon_below(rough, 0.05) <= epsilon_below(exact, 0.05) == pytest.approx(epsilon_above(exact, 0.05))
    assert epsilon_above(rough, 0.05) > epsilon_above(exact, 0.05) + 0.003
    assert (epsilon_below(rough, 0.05) < epsilon_below(exact, 0.05) - 0.003) == (part != "infinite")
    assert math.isinf(epsilon_above(rough, 0.004)) == (part != "slack")
