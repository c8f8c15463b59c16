"""The tight accountant against other libraries, closed forms and quadrature; its parts and its shortcuts."""

import math
from dataclasses import replace
from functools import reduce

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad, trapezoid
from scipy.stats import binom, norm

import dpviz
import dpviz.accounting.pld.grid as tight
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.membership import profile_roc
from dpviz.accounting.pld import loss_transform
from dpviz.accounting.pld import two_grids as two_scales
from dpviz.accounting.pld.bounds import TightResult, tight_delta, tight_epsilon, tight_epsilon_of_events, tight_profile
from dpviz.accounting.pld.composed_loss import LOG_SILENT, NOTHING, ComposedLoss
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.accounting.pld.loss_transform import compose, masses_of
from dpviz.accounting.pld.loud_modes import loud_modes, transform_at
from dpviz.accounting.pld.privacy_loss import LossDistribution, discretise
from dpviz.accounting.pld.quick import quick_accuracy, quick_delta, quick_epsilon, quick_profile
from dpviz.accounting.pld.read_off import DeltaCurves, delta_at, epsilon_above, epsilon_below
from dpviz.fields import number
from dpviz.fields.parameters import PARAMETERS
from dpviz.mechanisms import Laplace, Mechanism, ReplaceOneGaussian, SampledGaussian
from tests.accounting.references import gaussian_delta, geometric, hockey_stick, library_epsilon

Array = npt.NDArray[np.float64]
SIGMA, RATE, STEPS = map(number, ("sigma", "q", "steps"))


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
@pytest.mark.one_of(2)
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
    *((setting, 1e-3) for setting in (*COMMON, (2.0, 0.3, 40, 1e-8))),
    ((0.7, 1e-3, 3000, 1e-7), 1e-4),
    ((1.0, 2e-4, 20_000, 1e-6), 2e-5),
]


@pytest.mark.parametrize(("setting", "interval"), LIBRARY_SETTINGS)
@pytest.mark.one_of(2)
def test_agrees_with_dp_accounting_and_is_not_wider(setting: tuple[float, float, int, float], interval: float) -> None:
    low, high = (library_epsilon(setting, interval, above=above, dots=above) for above in (False, True))
    sigma, q, steps, delta = setting
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


def test_no_wider_where_fixed_grids_read_3_to_10_times_too_high() -> None:
    """Just above the truth, below the Rényi optimum 0.0309."""
    found = tight_epsilon(step(10.0, 1e-4), [1_000_000], 1e-5)
    assert 0.0270 < found.lower[0] <= found.upper[0] < 0.0275


mechanisms = st.builds(step, geometric(0.5, 100), geometric(1e-5, 0.5))


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


@pytest.mark.parametrize("delta", [1e-5, 1e-20, 1e-60])
@pytest.mark.parametrize(("mu", "steps"), [(0.3, 40), (2.0, 40), (1.0, 10**6), (0.2, 10**8)])
def test_a_grid_holds_the_exact_gaussian_at_every_delta(mu: float, steps: int, delta: float) -> None:
    """q = 1: T steps are one Gaussian with σ/√T, whose ε solves Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) = δ, to 50 digits."""
    with mpmath.workdps(50):
        start = mu * mpmath.sqrt(2 * mpmath.log(1 / mpmath.mpf(delta)))
        miss = lambda e: mpmath.log(gaussian_delta(mu, e)) - mpmath.log(delta)  # noqa: E731
        truth = float(mpmath.findroot(miss, (start * 0.5, start * 1.2 + mu * mu), solver="anderson", tol=1e-20))
    ((lower, upper),) = tight.epsilon_of_group([step(math.sqrt(steps) / mu)], np.array([[float(steps)]]), delta)
    assert lower <= truth * (1 + 1e-12)
    assert truth * (1 - 1e-12) <= upper
    assert upper - lower <= max(0.01 * lower, 0.005)


def test_one_step_is_exact_at_tiny_delta() -> None:
    """Removal and addition of one sampled step by 60-digit arithmetic, where differences of doubles hold nothing."""
    for sigma, q, epsilon in [(1.0, 1e-3, 8.0), (0.7, 0.2, 30.0), (5.0, 0.3, 0.2), (50.0, 1e-6, 1e-7), (1.0, 0.9, 1.5)]:
        with mpmath.workdps(60):
            odds = mpmath.exp(mpmath.mpf(epsilon))
            # E_P[(Q/P − e^ε)₊] = e^ε E_Q[(e^−ε − P/Q)₊]
            added = 1 - odds + odds * privacy_curve(sigma, q, -epsilon)
            truth = float(max(privacy_curve(sigma, q, epsilon), added))
        found = tight_delta(step(sigma, q), [1], epsilon)
        assert found.lower[0] <= truth <= found.upper[0]
        assert found.upper[0] <= truth * (1 + 1e-8)
        interval = tight_epsilon(step(sigma, q), [1], truth)
        assert interval.lower[0] <= epsilon * (1 + 1e-12)
        assert epsilon <= interval.upper[0] * (1 + 1e-12)


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
@pytest.mark.one_of(3)
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
    two = [tight.epsilon_on_two_scales(mechanism, steps, delta) for mechanism, steps, delta in settings_]
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
        (1.7, 0.01, [26_579_132], 1e-5),  # a profile beyond every grid: nothing is said rather than that it fails
    ],
)
@pytest.mark.one_of(2)
def test_extreme_settings_have_ordered_bounds(sigma: float, q: float, steps: list[int], delta: float) -> None:
    mechanism = SampledGaussian(sigma, q)
    found = tight_epsilon(mechanism, steps, delta)
    assert np.all(found.lower <= found.upper)
    renyi = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=q, steps=steps, delta=delta)
    assert np.all(found.lower <= renyi)
    profile = tight_profile(mechanism, steps[0], 20)
    assert np.all(profile.lower <= profile.upper)


@pytest.mark.parametrize("part", ["error", "infinite", "slack"])
def test_every_numerical_error_moves_both_bounds_apart(part: str) -> None:
    exact = ComposedLoss(np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.5, 0.1, 0.01, 0.001]), np.zeros(4), 0.0)
    rough = replace(exact, **{part: np.full(4, 0.004) if part == "error" else 0.004})
    assert epsilon_below(rough, 0.05) <= epsilon_below(exact, 0.05) == pytest.approx(epsilon_above(exact, 0.05))
    assert epsilon_above(rough, 0.05) > epsilon_above(exact, 0.05) + 0.003
    assert (epsilon_below(rough, 0.05) < epsilon_below(exact, 0.05) - 0.003) == (part != "infinite")
    assert math.isinf(epsilon_above(rough, 0.004)) == (part != "slack")


KINDS = (SampledGaussian, ReplaceOneGaussian, Laplace)


def near(mechanism: Mechanism, steps: int, delta: float) -> None:
    epsilon, slow = quick_epsilon([(mechanism, steps)], delta), tight_epsilon(mechanism, steps, delta)
    accuracy, exact = quick_accuracy(mechanism, steps, delta), best_accuracy(mechanism=mechanism, steps=steps)
    assert slow.lower <= epsilon
    assert exact.lower <= accuracy <= 1.0
    assert accuracy <= 1.01 * exact.upper
    if slow.upper <= 50.0:
        assert epsilon <= 1.01 * float(slow.upper)


@pytest.mark.parametrize("kind", KINDS)
def test_random_settings(kind: type[Mechanism]) -> None:
    draw = np.random.default_rng(21)
    for _ in range(6):
        scale, rate = np.exp(draw.uniform(np.log([0.4, 1e-4]), np.log([30.0, 1.0])))
        steps, delta = int(np.exp(draw.uniform(0.0, np.log(1e5)))), float(np.exp(draw.uniform(-25.0, -5.0)))
        near(kind(float(scale), float(rate)), steps, delta)  # type: ignore[call-arg]


# Losses of −40 and less are one number as exp(loss) − 1: where there are such, no grid is found, and Rényi's bound is.
@pytest.mark.filterwarnings("ignore:(divide by zero|invalid value) encountered:RuntimeWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "every", [pytest.param(1, marks=(pytest.mark.long, pytest.mark.timeout(3600))), 80], ids=["all stops", "some"]
)
@pytest.mark.one_of(3)
def test_along_every_slider_around_the_defaults(kind: type[Mechanism], every: int) -> None:
    scales = PARAMETERS["scale"] if kind is Laplace else SIGMA
    for scale in scales.ticks[::every]:
        near(kind(scale, RATE.default), int(STEPS.default), 1e-5)  # type: ignore[call-arg]
    for rate in RATE.ticks[::every]:
        near(kind(scales.default, rate), int(STEPS.default), 1e-5)  # type: ignore[call-arg]
    for steps in STEPS.ticks[::every]:
        near(kind(scales.default, RATE.default), int(steps), 1e-5)  # type: ignore[call-arg]
    for log_delta in np.linspace(-12.0, -1.0, 45)[::every]:
        near(kind(scales.default, RATE.default), int(STEPS.default), 10.0**log_delta)  # type: ignore[call-arg]


def test_unlike_steps_together() -> None:
    events = [(SampledGaussian(4.0, 0.01), 3000), (SampledGaussian(1.0, 0.002), 200)]
    slow = tight_epsilon_of_events(events, 1e-6)
    assert slow.lower <= quick_epsilon(events, 1e-6) <= 1.01 * slow.upper


def test_nothing_released() -> None:
    for mechanism, steps in ((SampledGaussian(1.0, 0.0), 10), (SampledGaussian(1.0, 0.5), 0)):
        assert quick_epsilon([(mechanism, steps)], 1e-5) == 0.0
        assert quick_accuracy(mechanism, steps, 1e-5) == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(("sigma", "rate", "steps"), [(0.549, 1 / 60000, 6_000_000), (0.653, 8 / 60000, 750_000)])
def test_rare_large_losses_need_one_finer_grid_alone(
    sigma: float, rate: float, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise at batches below 10: the slow accuracy took .1 to 1.6 s a frame."""
    mechanism = SampledGaussian(sigma, rate)
    exact = best_accuracy(mechanism=mechanism, steps=steps)
    monkeypatch.setattr("dpviz.accounting.pld.quick.best_accuracy", None)
    assert exact.lower <= quick_accuracy(mechanism, steps, 1e-5) <= 1.01 * exact.upper


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "epsilon"),
    [
        (4.0, 0.01, 10_000, 1.26),
        (170.0, 0.26, 3_700_000, 0.418),  # δ near 1: a coarse grid
        (4.0, 0.01, 4_900_000, 2.0),  # δ nearer to 1: a very fine one, which is short
        (0.43, 1e-6, 150, 0.383),  # a finer one
        (0.7, 8e-5, 240_000, 0.089),  # two
        (2.2, 4.6e-6, 320_000, 0.1),  # what is added takes a grid of its own
        (11.0, 4e-6, 3_700, 0.0784),  # none: the divergences are enough
    ],
)
@pytest.mark.one_of(2)
def test_delta_in_milliseconds_is_never_below_the_truth(
    sigma: float, rate: float, steps: int, epsilon: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    mechanism = SampledGaussian(noise_multiplier=sigma, sample_rate=rate)
    lower = float(tight_delta(mechanism, steps, epsilon).lower)
    monkeypatch.setattr("dpviz.accounting.pld.quick.tight_delta", None)
    assert lower <= quick_delta.__wrapped__(mechanism, steps, epsilon, 1e-13) <= 1.1 * max(lower, 1e-13)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(4, 0.01, 10**4), (0.52, 0.01, 10**4), (0.5, 1e-3, 10**4), (1, 1e-4, 10**4), (0.4, 1e-4, 10**6), (1, 0.1, 1000)],
)
def test_the_whole_curve_allows_attacks_no_more(sigma: float, rate: float, steps: int) -> None:
    """Also where ε is large, and the curve near 1 for most of its length."""
    mechanism, fpr = SampledGaussian(sigma, rate), np.array([1e-5, 1e-3, 0.01, 0.1])
    quick, exact = (
        profile_roc(fpr, epsilon=found.epsilon, delta=np.clip(found.upper, 0.0, 1.0))
        for found in (quick_profile(mechanism, steps, 120), tight_profile(mechanism, steps, 120))
    )
    assert np.all(quick <= 1.01 * exact)
    assert np.all(quick >= fpr)


TAIL = 9.0


def privacy_curve(sigma: float, q: float, epsilon: float) -> mpmath.mpf:
    """E_Q[(P/Q − e^ε)₊], 60 digits."""
    with mpmath.workdps(60):
        s, rate, k = mpmath.mpf(sigma), mpmath.mpf(q), mpmath.exp(mpmath.mpf(epsilon))
        if k <= 1 - rate:
            return 1 - k
        z = s**2 * mpmath.log((k - 1 + rate) / rate) + mpmath.mpf(1) / 2
        return (1 - rate - k) * mpmath.ncdf(-z / s) + rate * mpmath.ncdf((1 - z) / s)


def places(pld: LossDistribution) -> Array:
    """Around and inside the first cells, and in all of the grid."""
    first, last = pld.loss()[[0, -1]]
    near = first + pld.interval * np.linspace(-1.0, 4.0, 24)
    return np.concatenate([near, first + np.geomspace(1e-6, 1.0, 16) * (last - first)])


def assert_brackets(sigma: float, q: float, interval: float) -> None:
    plds = discretise(SampledGaussian(sigma, q), interval, TAIL)
    epsilon = places(plds.remove_below)
    truth = np.array([float(privacy_curve(sigma, q, each)) for each in epsilon.tolist()])
    assert (hockey_stick(plds.remove_below, epsilon) <= truth * (1 + 1e-9) + 1e-15).all(), (sigma, q, interval)
    assert (truth * (1 - 1e-9) - 1e-15 <= hockey_stick(plds.remove_above, epsilon)).all(), (sigma, q, interval)


BULK = [  # (σ, q, interval)
    (0.6266, 4.12e-6, 5.5e-3),  # far wider than the bulk of the loss: the first tangent would meet 0 before a corner
    (16.7, 4.8e-4, 1.6e-4),  # about as wide: the first corner is not on the hull
    (12.2, 1.0, 0.16),
    (22.29, 1.31e-3, 1.453e-4),
]


def test_grids_bracket_the_privacy_curve() -> None:
    generator, random = np.random.default_rng(5), []
    for _ in range(60):
        sigma, q = np.exp(generator.uniform(np.log([0.4, 1e-6]), np.log([30.0, 1.0]))).tolist()
        random.append((sigma, q if generator.random() < 0.9 else 1.0, 10 ** generator.uniform(-4.0, -0.5)))
    for sigma, q, interval in (*BULK, *random):
        assert_brackets(sigma, q, interval)


STEP = SampledGaussian(noise_multiplier=0.7, sample_rate=1e-4)


def test_split_agrees_with_high_precision() -> None:
    split = two_scales.split_of(STEP, 10_000.0)
    with mpmath.workdps(40):
        sigma, q, z = (mpmath.mpf(x) for x in (STEP.noise_multiplier, STEP.sample_rate, split.threshold))
        large_q = mpmath.ncdf(-z / sigma)
        large = (1 - q) * large_q + q * mpmath.ncdf((1 - z) / sigma)
        assert split.large == pytest.approx(float(large), rel=1e-12)
        assert split.quiet == pytest.approx(float(mpmath.log((1 - large) / (1 - large_q))), rel=1e-12)


@pytest.mark.parametrize("steps", [3.0, 1000.0, 1e6])
def test_few_enough_are_left_out(steps: float) -> None:
    split = two_scales.split_of(STEP, steps)
    most, missed = two_scales.most_large(split, steps, 1e-16)
    assert missed <= 1e-16
    assert most == steps or binom.sf(most, steps, split.large) <= missed


@pytest.mark.parametrize("ratio", [2, 10, 64])
@pytest.mark.parametrize("scale", [1e-3, 0.1])
def test_coarse_distributions_lie_above_and_below_the_fine_one(ratio: int, scale: float) -> None:
    interval = scale / 40.0
    x = np.arange(-200.0, 240.0) * interval
    mass = np.exp(-0.5 * ((x - 0.5 * scale**2) / scale) ** 2)
    fine = LossDistribution(x[0], interval, 0, mass / mass.sum(), np.zeros(x.size), np.zeros(x.size), 0.0)
    above = two_scales.coarsened_above(float(x[0]), interval, fine.mass, 0.0, ratio)
    below = two_scales.coarsened_below(float(x[0]), interval, fine.mass, ratio)
    epsilon = np.linspace(x[0] - 2 * ratio * interval, x[-1] + ratio * interval, 997)
    truth = hockey_stick(fine, epsilon)
    assert (hockey_stick(above, epsilon) >= truth * (1 - 1e-12) - 1e-16).all()
    assert (hockey_stick(below, epsilon) <= truth * (1 + 1e-12) + 1e-16).all()
    assert hockey_stick(below, np.zeros(1))[0] > 0.5 * truth[np.abs(epsilon).argmin()] or ratio == 64


def test_mass_in_doubt_goes_to_the_side_that_stays_a_bound() -> None:
    doubt = np.full(3, 0.01) * -np.expm1(-0.1)
    pld = LossDistribution(0.0, 0.1, -1, np.array([0.2, 0.5, 0.3]), np.zeros(3), doubt, 0.0)
    epsilon = np.linspace(-0.3, 0.25, 56)
    above, below = (
        hockey_stick(two_scales.rounded_outwards(pld, f"remove_{side}"), epsilon) for side in ("above", "below")
    )
    assert (above > hockey_stick(pld, epsilon)).any()
    assert (above >= hockey_stick(pld, epsilon)).all()
    assert (below < hockey_stick(pld, epsilon)).any()
    assert (below <= hockey_stick(pld, epsilon)).all()


def test_masses_of_powers_bracket_direct_convolution() -> None:
    pld = two_scales.small_part(STEP, two_scales.split_of(STEP, 8.0), 1e-3, 8.0, "remove_above")
    direct = np.ones(1)
    for _ in range(8):
        direct = np.convolve(direct, pld.mass)
    start, upper, lower, beyond = masses_of(pld, 8.0, (0.0, 200.0, 500.0))
    first = round((start - 8.0 * (pld.anchor + pld.start * pld.interval)) / pld.interval)
    assert start == pytest.approx(8.0 * (pld.anchor + pld.start * pld.interval) + first * pld.interval, abs=1e-12)
    inside = np.arange(max(first, 0), min(direct.size, first + upper.size))
    truth, low, high = direct[inside], lower[inside - first], upper[inside - first]
    assert (low <= truth * (1 + 1e-12)).all()
    assert (truth * (1 - 1e-12) <= high).all()
    assert high.sum() - low.sum() < 1e-9
    assert direct[max(first + upper.size, 0) :].sum() <= beyond
    assert math.fsum(direct) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("part", [two_scales.small_part, two_scales.large_part])
def test_parts_add_up_to_one_and_keep_their_order(part: object, side: str) -> None:
    split = two_scales.split_of(STEP, 1000.0)
    above, below = (part(STEP, split, 1e-3, 9.0, f"{side}_{end}") for end in ("above", "below"))  # type: ignore[operator]
    assert above.mass.sum() + above.infinite == pytest.approx(1.0, rel=1e-9)
    epsilon = np.linspace(-0.05, 0.3, 501)
    assert (hockey_stick(below, epsilon) <= hockey_stick(above, epsilon) * (1 + 1e-9) + 1e-13).all()


def tilted(sigma: float, q: float, interval: float, tilt: float):  # type: ignore[no-untyped-def]
    return loss_transform.tilt_loss(discretise(SampledGaussian(sigma, q), interval, 9.0).remove_above, tilt)


masses = st.builds(lambda seed, n: np.random.default_rng(seed).random(n), st.integers(0, 2**31), st.integers(1, 300))


@settings(max_examples=25, deadline=None)
@given(masses, st.integers(-5000, 5000), st.integers(1, 40), st.integers(600, 10**12))
def test_a_transform_at_few_modes_is_the_sum_it_stands_for(mass: Array, start: int, count: int, size: int) -> None:
    found, unit = transform_at(mass, start, count, size)
    index = np.arange(start, start + mass.size)
    angle = 2 * math.pi * ((np.arange(count)[:, None] * (index % size)) % size) / size
    exact = [complex(math.fsum(mass * np.cos(each)), -math.fsum(mass * np.sin(each))) for each in angle]
    assert np.abs(found - np.array(exact)).max() <= unit * mass.sum()


@pytest.mark.parametrize(
    ("sigma", "q", "interval", "tilt"), [(4.0, 0.01, 2e-3, 5.0), (2.0, 0.1, 0.01, 1.0), (30.0, 0.3, 1e-3, 40.0)]
)
@pytest.mark.parametrize("steps", [2000.0, 100_000.0])
def test_all_modes_that_are_left_out_are_silent(
    sigma: float, q: float, interval: float, tilt: float, steps: float
) -> None:
    pld = tilted(sigma, q, interval, tilt)
    size = 2 ** math.ceil(math.log2(20.0 * pld.spread * math.sqrt(steps)))
    loud = loud_modes(pld, steps, size)
    assert loud is not None
    modulus = np.abs(np.fft.rfft(pld.mass, size))
    assert (steps * np.log(modulus[loud:]) <= LOG_SILENT + 1e-6).all()
    assert steps * math.log(modulus[loud // 3]) > LOG_SILENT  # and not many too many


def test_what_is_loud_at_nearly_all_frequencies_is_refused() -> None:
    """A loss on every other point, and after few steps one that shows something once in a million."""
    pld = LossDistribution(0.0, 1e-3, -10, np.array([0.25, 0.0, 0.5, 0.0, 0.25]), np.zeros(5), np.zeros(5), 0.0)
    assert loud_modes(loss_transform.tilt_loss(pld, 0.0), 1e6, 2**20) is None
    assert loud_modes(tilted(1.5, 1e-4, 1e-6, 1.0), 10.0, 2**20) is None


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-0.3, 1.3), st.floats(-3.5, 0.0), st.integers(2, 20_000), st.sampled_from([0.0, 0.1, 1.0]),
    st.sampled_from([0.0, 1.0, 9.0]), st.sampled_from(["remove", "add"]),
)  # fmt: skip
def test_beside_one_epsilon_the_modes_say_what_the_whole_grid_says(
    log_sigma: float, log_q: float, steps: int, epsilon: float, tilt: float, way: str
) -> None:
    plds = discretise(SampledGaussian(10**log_sigma, 10**log_q), 0.02 / math.sqrt(steps), 12.0)
    counts, here = np.array([[float(steps)]]), np.array([epsilon])
    for pld in (getattr(plds, f"{way}_above"), getattr(plds, f"{way}_below")):
        (whole,), (near,) = (compose([pld], counts, tilt, near=only) for only in (None, epsilon))
        if whole.epsilon.size == 1:  # the window was too large
            continue
        for at in [near.epsilon[:1], near.epsilon[1:], here]:
            low, high = (np.array([delta_at(curve, at, sign)[0] for curve in (whole, near)]) for sign in (-1.0, 1.0))
            assert low.max() <= high.min() * (1.0 + 1e-12)
            assert high[1] - low[1] <= 1.01 * (high[0] - low[0]) + 1e-9


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(4.0, 0.01, 0.002), (0.7, 0.2, 1.0), (1.0, 1.0, 0.5)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_one_step_is_what_quadrature_over_outputs_gives(
    sigma: float, rate: float, epsilon: float, direction: str
) -> None:
    def p(z: float) -> float:
        return float((1 - rate) * norm.pdf(z, 0, sigma) + rate * norm.pdf(z, 1, sigma))

    def q(z: float) -> float:
        return float(norm.pdf(z, 0, sigma))

    top, bottom = (p, q) if direction == "remove" else (q, p)
    # ln(P/Q) = ε at one output, the loss exceeds ε on one side of it
    edge = math.exp(epsilon if direction == "remove" else -epsilon)
    inside = (edge - 1 + rate) / rate
    cut = 0.5 + sigma**2 * math.log(inside) if inside > 0 else -20 * sigma
    ends = (cut, 1 + 20 * sigma) if direction == "remove" else (-20 * sigma, cut)
    beyond = quad(top, *ends, epsabs=0, limit=200)[0]
    delta = quad(lambda z: top(z) - math.exp(epsilon) * bottom(z), *ends, epsabs=0, limit=200)[0]
    mean = quad(lambda z: top(z) * math.log(top(z) / bottom(z)), -9 * sigma, 1 + 9 * sigma, limit=200)[0]
    found = loss_density(SampledGaussian(sigma, rate), steps=1, epsilon=epsilon, direction=direction)
    assert found.exact
    assert found.beyond == pytest.approx(beyond, rel=1e-8)
    assert found.delta == pytest.approx(delta, rel=1e-7)
    assert found.mean == pytest.approx(mean, rel=1e-6)
    assert trapezoid(found.density, found.loss) == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "epsilon"),
    [(4.0, 0.01, 10_000, 0.5), (1.0, 0.01, 1000, 2.0), (0.8, 0.3, 3, 2.0), (200.0, 0.01, 10_000, 0.01)],
)
def test_the_worse_direction_is_the_tight_delta(sigma: float, rate: float, steps: int, epsilon: float) -> None:
    step = SampledGaussian(sigma, rate)
    both = [loss_density(step, steps=steps, epsilon=epsilon, direction=way) for way in ("remove", "add")]
    tight = tight_delta(step, steps, epsilon)
    worst = max(each.delta for each in both)
    assert float(tight.lower) <= worst <= float(tight.upper) * 1.002
    for each in both:
        assert each.delta <= each.beyond
        assert trapezoid(each.density, each.loss) == pytest.approx(1.0, abs=2e-3)
        assert each.mean == pytest.approx(steps * loss_density(step, steps=1, epsilon=0.0).mean, rel=0.5)


def test_hardly_any_noise_has_two_kinds_of_output() -> None:
    """Used, with probability q, or not: the mean loss is q times the Gaussian's and what ln q takes off."""
    found = loss_density(SampledGaussian(0.02, 0.25), steps=1, epsilon=1.0)
    used, unused = 1 / (2 * 0.02**2) + math.log(0.25), math.log(0.75)
    assert found.mean == pytest.approx(0.25 * used + 0.75 * unused, rel=1e-6)
    assert found.beyond == pytest.approx(0.25, rel=1e-9)
    assert found.delta == pytest.approx(0.25, rel=1e-6)
    unsampled = loss_density(SampledGaussian(1e-6), steps=1, epsilon=1.0)
    assert trapezoid(unsampled.density, unsampled.loss) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("tilt", [0.0, 2.0])
def test_a_whole_window_is_read_from_zero_on(tilt: float) -> None:
    """What lies below ε = 0 nobody asks for, and it is about half of a window."""
    one, steps = discretise(step(1.0, 0.2), 0.004, 8.0).remove_above, 9
    (found,) = compose([one], np.array([[float(steps)]]), tilt)
    assert found.dense
    assert found.epsilon[0] < 0.0 < found.epsilon[-1]
    assert (found.epsilon < 0.0).mean() < 0.01
    mass = reduce(np.convolve, [one.mass] * steps)
    sum_ = replace(one, anchor=steps * one.anchor, start=steps * one.start, mass=mass)
    at = np.array([0.0, 0.3, 2.0])
    exact = hockey_stick(replace(sum_, infinite=0.0), at) + found.infinite
    lower, upper = (delta_at(found, at, sign) for sign in (-1.0, 1.0))
    assert (lower <= exact).all()
    assert (exact <= upper).all()
    assert (upper - lower <= 1e-4 * exact).all()


def test_curves_of_several_are_those_of_each() -> None:
    mechanism = SampledGaussian(2.0, 0.01)
    grids = [discretise(mechanism, 1e-3 * width, 9.0).remove_above for width in (1.0, 3.0)]
    counts = np.array([[100.0], [3000.0]])
    plds = [pld for grid in grids for thin in (True, False) for pld in compose([grid], counts, 5.0, thin=thin)]
    plds.insert(2, NOTHING)
    assert len({pld.dense for pld in plds}) == 2
    epsilon = np.sort(np.random.default_rng(0).uniform(-0.5, 3.0, (len(plds), 200)))
    for sign in (1.0, -1.0):
        together = DeltaCurves(plds, sign)(epsilon)
        for pld, at, delta in zip(plds, epsilon, together, strict=True):
            np.testing.assert_array_equal(delta, delta_at(pld, at, sign))
            assert (np.diff(delta) <= 1e-15).all()
        assert (together[2] == (1.0 if sign > 0 else 0.0)).all()
    above, below = (DeltaCurves(plds[3:5], sign)(epsilon[3:5]) for sign in (1.0, -1.0))
    assert (below <= above).all()


def test_a_coefficient_of_zero_leaves_rows_without_its_steps_alone() -> None:
    """A row that takes none of these steps is as if they were not there, and one that takes some has nothing there."""
    transform = np.array([0.0 + 0.0j, 0.5 + 0.0j])
    modulus = np.maximum(np.abs(transform), loss_transform.SMALLEST)
    power, error = loss_transform._power(transform, modulus, 1.0, np.array([0.0, 3.0]), 1e-16)
    np.testing.assert_allclose(np.exp(power), [[1.0, 1.0], [0.0, 0.125]], atol=1e-12)
    assert not np.isnan(error).any()
