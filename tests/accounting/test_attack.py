"""What an attacker gains: the papers' numbers, exact ones by integration, ROC curves, attacks played, the town."""

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, laplace, norm

import dpviz
from dpviz.accounting.attack.income_example import (
    MECHANISMS,
    Played,
    Town,
    draw_town,
    guess_success,
    noise_scale,
    own_epsilon,
    play,
)
from dpviz.accounting.attack.membership import attack_success, sure_success
from dpviz.accounting.pld import grid
from dpviz.accounting.pld.bounds import tight_epsilon, tight_profile
from dpviz.accounting.pld.grid import gaussian_log_delta
from dpviz.accounting.pld.privacy_loss import Brackets
from dpviz.accounting.pld.single_step import gaussian_epsilon, gaussian_epsilons
from dpviz.mechanisms import SampledGaussian, WithReplacement
from tests.accounting.references import gaussian_delta, geometric

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


class TestRoc:
    @given(st.floats(0, 1), epsilons, st.floats(0, 1))
    def test_formula_and_symmetry(self, rate: float, epsilon: float, delta: float) -> None:
        top = float(dpviz.roc_bound(rate, epsilon=epsilon, delta=delta))
        lines = (math.exp(epsilon) * rate + delta, 1 - math.exp(-epsilon) * (1 - delta - rate))
        assert top == pytest.approx(min(1.0, *lines), abs=1e-13)
        slack = 1e-12 + 1e-15 * math.exp(epsilon)  # 1 − TPR has lost digits, and e^ε magnifies that
        # Swapping the two hypotheses mirrors the region: (FPR, TPR) ↔ (1 − TPR, 1 − FPR).
        assert float(dpviz.roc_bound(1 - top, epsilon=epsilon, delta=delta)) >= 1 - rate - slack


PRIORS = (0.01, 0.3, 0.5, 0.7, 0.9)
PLAYS = 40_000
USUAL = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000}


def test_known_numbers() -> None:
    """σ = 4, q = 0.01, T = 10 000: 55.05 %, where the moments pair says 77.88 % and the tight one 72.07 %."""
    found = dpviz.best_accuracy(**USUAL)
    assert round(found.lower, 4) == round(found.upper, 4) == 0.5505
    assert round(dpviz.attack_success(dpviz.epsilon("moments", delta=1e-5, **USUAL), delta=1e-5), 4) == 0.7788
    tight = tight_epsilon(SampledGaussian(4.0, 0.01), [10_000], 1e-5).upper[0]
    assert round(dpviz.attack_success(tight, delta=1e-5), 4) == 0.7207


def exact_gaussian(shift: float, prior: float) -> float:
    """N(shift, 1) or N(0, 1): "in" beyond the output where both weigh the same."""
    threshold = shift / 2 + math.log((1 - prior) / prior) / shift
    return float(prior * norm.sf(threshold - shift) + (1 - prior) * norm.cdf(threshold))


@given(st.floats(0.05, 100.0), st.integers(1, 1000), st.floats(1e-6, 1 - 1e-6))
def test_unsampled_steps_are_one_gaussian(sigma: float, steps: int, prior: float) -> None:
    exact = exact_gaussian(math.sqrt(steps) / sigma, prior)
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=1.0, steps=steps, prior=prior)
    assert found.lower - 1e-13 <= exact <= found.upper + 1e-13
    assert found.upper - found.lower < 1e-8


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("sigma", "rate"), [(1.0, 0.3), (0.4, 0.05), (3.0, 0.6)])
@pytest.mark.one_of(3)
def test_one_sampled_step_by_integration(sigma: float, rate: float, prior: float) -> None:
    def better(z: float) -> float:
        without = norm.pdf(z / sigma) / sigma
        with_it = (1 - rate) * without + rate * norm.pdf((z - 1) / sigma) / sigma
        return float(max(prior * with_it, (1 - prior) * without))

    cuts = np.linspace(-12 * sigma, 1 + 12 * sigma, 60)
    exact = sum(quad(better, a, b, epsabs=1e-13)[0] for a, b in zip(cuts[:-1], cuts[1:], strict=True))
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=1, prior=prior)
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
    assert found.upper - found.lower < 1e-3


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize(("sigma", "rate", "steps"), [(1.0, 0.2, 50), (0.5, 0.05, 20), (3.0, 1.0, 8), (2.0, 0.5, 30)])
@pytest.mark.one_of(3)
def test_the_best_attack_played(sigma: float, rate: float, steps: int, prior: float) -> None:
    """Members drawn by the prior, real outputs, the likelihood ratio test: right as often as said, within (ε, δ)."""
    rng = np.random.default_rng(7)
    member = rng.random(PLAYS) < prior
    joins = member[:, None] & (rng.random((PLAYS, steps)) < rate)
    outputs = joins + sigma * rng.standard_normal((PLAYS, steps))
    loss = SampledGaussian(sigma, rate).pair().loss(outputs).sum(axis=1)
    right = float(np.mean((loss > math.log((1 - prior) / prior)) == member))
    doubt = 4.0 * math.sqrt(0.25 / PLAYS) * 2.0 * math.sqrt(max(right * (1 - right), 1e-4))
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
    found = dpviz.best_accuracy(prior=prior, **mechanism)
    assert found.lower - doubt <= right <= found.upper + doubt
    assert found.upper - found.lower < 1e-3
    for delta in (1e-6, 1e-2, 0.3):
        pair = dpviz.attack_success(dpviz.epsilon("tight", delta=delta, **mechanism), delta=delta, prior=prior)
        assert found.upper <= pair + 1e-3
        assert right <= pair + doubt


@pytest.mark.parametrize(("sigma", "rate"), [(4.0, 0.01), (2.0, 1e-3), (1.0, 1e-4), (1.0, 1e-3)])
def test_ten_million_steps_are_resolved_without_the_inverse_of_epsilon(
    sigma: float, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which looks up to forty times, each on grids of its own."""
    monkeypatch.setattr("dpviz.accounting.attack.best_accuracy.tight_delta", None)
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=10**7)
    assert 0.0 <= found.upper - found.lower < 1e-4


@pytest.mark.parametrize(("batch", "steps"), [(1, 10**12), (4, 10**11)])
def test_a_composed_loss_beyond_transforms_asks_for_no_fine_grid(
    batch: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A million points of a step took seconds, each way, and no transform held what they compose to."""
    points, known = [], grid.discretise

    def counted(*step: Any) -> Brackets:
        brackets = known(*step)
        points.append(brackets.remove_above.mass.size)
        return brackets

    monkeypatch.setattr(grid, "discretise", counted)
    mechanism = WithReplacement(0.2, 10**6, batch)
    found = dpviz.best_accuracy(mechanism=mechanism, steps=steps)
    assert max(points) < 2**13
    # Total variation is at least 1 − E_Q[√(P/Q)]^T, and that is all but 1.
    pair = mechanism.pair()
    alike = quad(lambda z: math.expm1(0.5 * float(pair.loss(z))) * norm.pdf(z, scale=0.1), -1.5, 3.0, points=[0.0, 1.0])
    assert -steps * alike[0] > 50.0
    assert 0.9 < found.lower <= found.upper == 1.0


@settings(max_examples=25)
@given(geometric(0.3, 30.0), geometric(1e-4, 1.0), geometric(1.0, 1e5).map(round), st.floats(1e-3, 1 - 1e-3))
def test_never_beyond_a_pair_nor_the_whole_curve(sigma: float, rate: float, steps: int, prior: float) -> None:
    """Every (ε, δ) of the mechanism, Rényi's too, allows at least the lower end; more steps never make it smaller."""
    mechanism = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
    found = dpviz.best_accuracy(prior=prior, **mechanism)
    assert max(prior, 1 - prior) * (1 - 1e-13) <= found.lower <= found.upper <= 1.0
    for delta in (1e-5, 0.1):
        pair = dpviz.attack_success(dpviz.epsilon("renyi", delta=delta, **mechanism), delta=delta, prior=prior)
        assert found.lower <= pair + 1e-12
    more = dpviz.best_accuracy(prior=prior, **(mechanism | {"steps": 2 * mechanism["steps"]}))
    assert more.upper >= found.lower - 1e-12


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("nothing", [{"sample_rate": 0.0}, {"steps": 0}])
def test_where_nothing_is_released_nothing_is_gained(nothing: dict[str, float], prior: float) -> None:
    assert dpviz.best_accuracy(prior=prior, **(USUAL | nothing)) == (max(prior, 1 - prior),) * 2


@pytest.mark.parametrize("prior", [1e-300, 1e-9, 0.5, 0.9, 1 - 2**-53])
@pytest.mark.parametrize(
    ("sigma", "rate", "steps"),
    [(1e-6, 0.5, 10), (0.01, 0.01, 1000), (4.0, 0.01, 10**9), (1000.0, 1e-9, 10**9), (1e6, 1.0, 2**53), (5e-4, 0.1, 1)],
)
@pytest.mark.one_of(4)
def test_where_grids_end_it_is_wide_and_holds(sigma: float, rate: float, steps: int, prior: float) -> None:
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=steps, prior=prior)
    assert max(prior, 1 - prior) <= found.lower <= found.upper <= 1.0
    if sigma < 0.1 and prior == 0.5:  # the example is seen as soon as it joins once
        assert found.upper >= (seen := 1 - 0.5 * (1 - rate) ** steps) - 1e-12
        assert seen <= found.upper <= seen * (1 + 1e-8) or sigma < 0.01


@pytest.mark.parametrize("sigma", [1e-300, 1e-200, 1e-150, 1e-4, 1e12, 1e150, 1e300])
@pytest.mark.parametrize("rate", [1e-300, 1e-12, 0.5, 1 - 2**-53, 1.0])
@pytest.mark.parametrize("steps", [1, 1000, 2**53])
@pytest.mark.one_of(4)
def test_any_noise_has_an_answer(sigma: float, rate: float, steps: int) -> None:
    """σ = 1e-200 unsampled divided by 0, 1e300 overflowed: both can be typed into a page."""
    found = dpviz.best_accuracy(noise_multiplier=sigma, sample_rate=rate, steps=steps)
    assert 0.5 <= found.lower <= found.upper <= 1.0
    if sigma <= 1e-4 and steps == 1:  # whoever joins is seen
        assert found == pytest.approx((0.5 + 0.5 * rate, 0.5 + 0.5 * rate), abs=1e-9)
    if sigma >= 1e150:
        assert found.lower == 0.5


class TestGaussian:
    @pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
    @pytest.mark.parametrize("threshold", [-2.0, 0.0, 1.5, 5.0])
    def test_likelihood_ratio_test(self, sigma: float, threshold: float) -> None:
        """ "In" above a threshold: FPR and TPR of that rule, in 30 digits, lie on the curve."""
        with mpmath.workdps(30):
            fpr, tpr = mpmath.ncdf(-mpmath.mpf(threshold) / sigma), mpmath.ncdf((1 - mpmath.mpf(threshold)) / sigma)
            found = dpviz.gaussian_roc(float(fpr), noise_multiplier=sigma)
        assert float(found) == pytest.approx(float(tpr), rel=1e-9)

    def test_steps_add_like_less_noise(self) -> None:
        rates = np.linspace(0, 1, 11)
        many = dpviz.gaussian_roc(rates, noise_multiplier=6.0, steps=9)
        np.testing.assert_allclose(many, dpviz.gaussian_roc(rates, noise_multiplier=2.0), rtol=1e-13)
        np.testing.assert_allclose(dpviz.gaussian_roc(rates, noise_multiplier=6.0, steps=0), rates, atol=1e-15)
        assert dpviz.gaussian_roc([0.0, 1.0], noise_multiplier=1.0).tolist() == [0.0, 1.0]


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
            without = float(mpmath.ncdf(-mpmath.mpf(threshold) / sigma))
            with_it = (1 - q) * without + q * float(mpmath.ncdf((1 - mpmath.mpf(threshold)) / sigma))
            for fpr, tpr in ((without, with_it), (1 - with_it, 1 - without)):
                top = float(dpviz.profile_roc(fpr, epsilon=profile.epsilon, delta=profile.upper))
                assert tpr <= top + 1e-12
                gaps.append(top - tpr)
        assert min(gaps) < 1e-3  # the region holds both directions; the better one reaches its border


class TestSure:
    @given(st.floats(0.0, 30.0), st.floats(1e-6, 1.0), st.floats(0.0, 1.0))
    def test_follows_from_the_region(self, epsilon: float, rate: float, delta: float) -> None:
        """TPR/(TPR + FPR) at the smallest FPR whose region reaches the TPR on its rising side."""
        fpr = max(rate - delta, 0.0) * math.exp(-epsilon)
        assert dpviz.papers.sure_success(epsilon, hit_rate=rate, delta=delta) == pytest.approx(
            rate / (rate + fpr), rel=1e-12
        )


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

    def test_nobody_counts_more_than_the_limit(self) -> None:
        modest = draw_town(residents=500, median=30.0, spread=2.0, outlier_factor=3.0, seed=0)
        assert modest.incomes.max() == modest.limit == 90.0


class TestNoise:
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
    def test_measures_what_theory_says_and_no_more_than_the_bound(self, town: Town, mechanism: str, seed: int) -> None:
        delta = DELTA if mechanism == "gaussian" else 0.0
        for income in (town.outlier, town.outlier / 10, town.resident(0.5), town.resident(0.999)):
            played = played_by(town, income, mechanism, seed)
            exact = guess_success(income / town.limit, mechanism=mechanism, epsilon=EPSILONS, delta=DELTA)
            assert (played.accuracy_low <= exact).all()
            assert (exact <= played.accuracy_high).all()
            assert (played.accuracy_low <= attack_success(EPSILONS, delta=delta)).all()
            assert (played.sure_low <= sure_success(EPSILONS, hit_rate=0.5, delta=delta)).all()


@pytest.mark.parametrize(("mechanism", "noise"), [("laplace", laplace), ("gaussian", norm)])
def test_the_sure_attacker_reaches_equation_1(town: Town, mechanism: str, noise: Any) -> None:
    """At ε = 2 (the paper: 88 %) and 5 (99.33 %) claims beyond the threshold are as often true as the bound allows."""
    played = played_by(town, town.outlier, mechanism, 4, epsilon=[2.0, 5.0], releases=400_000)
    mistaken = noise.sf(1 / noise_scale(mechanism=mechanism, epsilon=np.array([2.0, 5.0]), delta=DELTA))
    exact = 0.5 / (0.5 + mistaken)
    assert mechanism == "gaussian" or exact == pytest.approx([0.8808, 0.9933], abs=5e-5)
    assert (played.sure_low <= exact).all()
    assert (exact <= played.sure_high).all()
    assert (played.sure_high - played.sure_low < 0.012).all()


@pytest.mark.parametrize("delta", [0.3, 1e-5, 1e-12])
def test_the_epsilon_of_many_noises_is_that_of_each(delta: float) -> None:
    noise = np.append(np.geomspace(1e-3, 1e9, 25), 1e-160)
    each = np.array([gaussian_epsilon(one, delta) for one in noise.tolist()])
    np.testing.assert_allclose(np.transpose(gaussian_epsilons(noise, delta)), each, rtol=1e-12)
    assert math.isinf(each[-1, 1])
    assert (each[-2] == 0.0).all() == (delta > 1e-9), "noise of 10⁹ leaves a δ of 4e-10"


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
