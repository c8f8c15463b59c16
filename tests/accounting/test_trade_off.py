"""Risks read off the whole privacy curve: against a transform of one's own, closed forms, and each other."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import logit, ndtr, ndtri
from scipy.stats import norm

import dpviz
from dpviz._arrays import Array
from dpviz.accounting.attack.trade_off import RISKS, GaussianDP, upper_deltas
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.mechanisms import FixedSize, Laplace, Mechanism, PersonRows, RandomAllocation, SampledGaussian
from dpviz.mechanisms.pair import gaussian_log_delta

REFERENCE = [(4.0, 0.01, 10_000), (1.1, 256 / 60_000, 14_000), (1.0, 0.02, 60)]
RATES = (0.001, 0.01, 0.1)


def errors(sigma: float, rate: float, steps: int) -> tuple[Array, Array]:
    """(FPR, TPR) of likelihood ratio tests, by a plain transform of rounded losses: right to about 3e-4."""
    h, n = 1e-4, 2**18
    x = np.linspace(-12 * sigma, 1 + 12 * sigma, 1_000_001)
    middle, without = (x[1:] + x[:-1]) / 2, np.diff(norm.cdf(x / sigma))
    member = (1 - rate) * without + rate * np.diff(norm.cdf((x - 1) / sigma))
    at = np.log1p(rate * np.expm1((2 * middle - 1) / (2 * sigma**2))) / h
    cell = np.floor(at).astype(int)

    def beyond(mass: Array) -> Array:
        law = np.bincount(cell % n, mass * (1 - at + cell), n) + np.bincount((cell + 1) % n, mass * (at - cell), n)
        composed = np.fft.irfft(np.fft.rfft(law) ** steps, n)
        return np.asarray(np.cumsum(np.clip(np.fft.fftshift(composed), 0.0, None)[::-1]))

    return beyond(without), beyond(member)


@pytest.mark.parametrize("setting", REFERENCE)
def test_the_true_positive_rate_is_the_mechanisms_own(setting: tuple[float, float, int]) -> None:
    sigma, rate, steps = setting
    false, true = errors(*setting)
    for fpr in RATES:
        own = float(np.interp(fpr, false, true))
        found = dpviz.best_tpr(noise_multiplier=sigma, sample_rate=rate, steps=steps, fpr=fpr)
        assert own * (1 - 5e-4) <= found <= own * (1 + 1e-3)


@pytest.mark.parametrize(
    ("setting", "advantage", "mu", "regret"),
    [
        (REFERENCE[0], 0.1009934, 0.25507, 2.4e-4),
        (REFERENCE[1], 0.2239795, 0.58494, 3.04e-3),
        (REFERENCE[2], 0.0769925, 0.31859, 2.48e-2),
    ],
)
def test_reference_numbers(setting: tuple[float, float, int], advantage: float, mu: float, regret: float) -> None:
    step, steps = SampledGaussian(*setting[:2]), setting[2]
    assert advantage <= dpviz.best_advantage(mechanism=step, steps=steps) <= advantage * (1 + 1e-4)
    found = dpviz.gaussian_mu(mechanism=step, steps=steps)
    assert found.mu == pytest.approx(mu, rel=1e-4)
    assert found.regret == pytest.approx(regret, rel=0.01)
    assert found == dpviz.gaussian_mu(noise_multiplier=setting[0], sample_rate=setting[1], steps=steps)


@pytest.mark.parametrize("setting", REFERENCE)
def test_mu_covers_every_pair_and_hardly_more(setting: tuple[float, float, int]) -> None:
    step, steps = SampledGaussian(*setting[:2]), setting[2]
    mu, regret = dpviz.gaussian_mu(mechanism=step, steps=steps)
    last = dpviz.epsilon("tight", mechanism=step, steps=steps, delta=1e-5)
    shown = [tight_delta(step, steps, e) for e in np.linspace(0.0, last, 9)]
    for e, delta in zip(np.linspace(0.0, last, 9), shown, strict=True):
        covered = math.exp(float(gaussian_log_delta(1 / mu, e)))
        assert float(delta.lower) <= covered
        assert covered <= float(delta.upper) + (1 + math.exp(e)) * regret * 1.001
    less = [math.exp(float(gaussian_log_delta(1 / (0.99 * mu), e))) for e in np.linspace(0.0, last, 9)]
    assert any(float(delta.lower) > below for delta, below in zip(shown, less, strict=True))
    false, true = errors(*setting)
    assert (true <= ndtr(ndtri(np.clip(false, 0.0, 1.0)) + mu) + 1e-5 + 1e-9).all()


def test_a_gaussian_mechanism_is_its_own_curve() -> None:
    step = SampledGaussian(2.0)
    assert dpviz.gaussian_mu(mechanism=step, steps=9) == pytest.approx((1.5, 0.0))
    for fpr in RATES:
        exact = float(dpviz.gaussian_roc(fpr, noise_multiplier=2.0, steps=9))
        assert exact <= dpviz.best_tpr(mechanism=step, steps=9, fpr=fpr) <= exact * (1 + 1e-4)
    epsilon = np.linspace(0.0, 8.0, 513)
    delta = np.exp(gaussian_log_delta(1 / 1.5, epsilon))
    assert 1.5 <= GaussianDP(1e-5).each(epsilon, delta) <= 1.5 * (1 + 1e-4)


@pytest.mark.parametrize(
    ("mechanism", "steps"),
    [
        (RandomAllocation(1.1, 234), 15),
        (PersonRows(1.1, 256 / 60_000, 3), 1000),
        (Laplace(20.0, 0.1), 100),
        (SampledGaussian(1.0, 0.1), 1),
        (SampledGaussian(0.02, 0.001), 3),
    ],
)
@pytest.mark.one_of(2)
def test_every_mechanism_with_a_curve(mechanism: Mechanism, steps: int) -> None:
    """More steps show more, and no attack that is seen beats its bounds."""
    mu = [dpviz.gaussian_mu(mechanism=mechanism, steps=t, delta=1e-2).mu for t in (steps, 2 * steps)]
    rates = [dpviz.best_tpr(mechanism=mechanism, steps=t, fpr=0.01) for t in (steps, 2 * steps)]
    assert 0.0 < mu[0] <= mu[1]
    assert 0.01 < rates[0] <= rates[1] <= 1.0
    accuracy = dpviz.best_accuracy(mechanism=mechanism, steps=steps)
    assert dpviz.best_advantage(mechanism=mechanism, steps=steps) >= 2 * accuracy.lower - 1
    last = 3.0
    for e, upper in list(zip(np.linspace(0.0, last, 513), upper_deltas(mechanism, steps, 1.0, 0.0, last), strict=True))[
        ::128
    ]:
        assert upper >= float(tight_delta(mechanism.least, steps, e).lower)


def test_nothing_released_is_no_risk() -> None:
    nothing = {"noise_multiplier": 1.0, "sample_rate": 0.0, "steps": 100}
    assert dpviz.gaussian_mu(**nothing) == (0.0, 0.0)
    assert dpviz.best_advantage(**nothing) == 0.0
    assert dpviz.best_tpr(**nothing, fpr=0.03) == pytest.approx(0.03)


PLAN: dict[str, Any] = {"method": "tight", "sample_rate": 0.01, "steps": 10_000}
TARGETS: dict[str, dict[str, float]] = {
    "target_advantage": {"target_advantage": 0.1},
    "target_tpr": {"target_tpr": 0.02, "fpr": 0.01},
    "target_reconstruction": {"target_reconstruction": 0.02, "prior": 0.01},
    "target_posterior": {"target_posterior": 0.8, "prior": 0.5, "delta": 1e-5},
    "target_mu": {"target_mu": 0.25, "delta": 1e-5},
}


def risk_at(sigma: float, target: dict[str, float]) -> float:
    name, *given = target
    kind = next(each for each in RISKS if each.target == name)
    return float(kind(*(target[key] for key in given)).of(SampledGaussian(sigma, 0.01), 10_000))


@pytest.mark.parametrize("name", TARGETS)
def test_the_least_noise_keeps_the_target(name: str) -> None:
    target = TARGETS[name]
    sigma = dpviz.solve("noise_multiplier", **PLAN, **target)  # type: ignore[call-overload]
    assert risk_at(sigma, target) <= target[name] < risk_at(0.999 * sigma, target)


@pytest.mark.parametrize(("sigma", "prior", "failure"), [(1.0, 0.5, 1e-5), (3.0, 0.1, 1e-3), (0.7, 0.9, 1e-8)])
def test_a_belief_is_the_least_that_the_curve_allows(sigma: float, prior: float, failure: float) -> None:
    """A Gaussian mechanism's, whose curve is known, and above the quantile of its own losses."""
    epsilon = np.linspace(0.0, 0.5 / sigma**2 + 12.0 / sigma, 20_001)
    delta = np.exp(gaussian_log_delta(sigma, epsilon))
    some = delta < failure
    allowed = float((epsilon[some] - np.log1p(-delta[some] / failure)).min())
    belief = next(each for each in RISKS if each.target == "target_posterior")(prior, failure)
    log_odds = math.log(prior / (1 - prior))
    odds = float(logit(belief.of(SampledGaussian(sigma, 1.0), 1))) - log_odds
    assert allowed * (1 - 1e-6) <= odds <= allowed * 1.001
    assert odds >= 0.5 / sigma**2 - float(ndtri(failure)) / sigma


def test_noise_for_an_advantage() -> None:
    sigma = dpviz.solve("noise_multiplier", target_advantage=0.1, method="tight", sample_rate=0.01, steps=10_000)
    assert sigma == pytest.approx(4.0396, rel=3e-4)
    least = dpviz.best_accuracy(noise_multiplier=sigma * (1 - 1e-4), sample_rate=0.01, steps=10_000).lower
    assert 2 * least - 1 > 0.1  # so much less noise would certainly break it
    steps = dpviz.solve("steps", target_advantage=0.1, method="tight", noise_multiplier=sigma, sample_rate=0.01)
    assert steps == pytest.approx(10_000, rel=1e-4)
    assert dpviz.solve("noise_multiplier", target_advantage=0.1, method="tight", sample_rate=1e-6, steps=10) == 0.0
    exact = dpviz.solve("noise_multiplier", target_mu=0.5, delta=1e-5, method="tight", sample_rate=1.0, steps=9)
    assert exact == pytest.approx(6.0)


@pytest.mark.sweep
def test_random_allocation_never_needs_no_noise() -> None:
    """σ = 0.01 once read as perfectly private: its ratios overflow."""
    step = RandomAllocation(1.0, 100)
    assert RandomAllocation(0.01, 100).total_variation == 1.0
    assert dpviz.solve("noise_multiplier", target_advantage=0.2, method="tight", mechanism=step, steps=10) > 0.5
    given = {"mechanism": step, "steps": 10, "delta": 1e-5}
    assert dpviz.solve("noise_multiplier", target_epsilon=1.0, method="tight", **given) > 1.0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "Expected one target, found none"),
        ({"target_advantage": 0.1, "target_mu": 0.2}, "found target_advantage, target_mu"),
        ({"target_tpr": 0.1}, "Expected fpr with target_tpr"),
        ({"target_tpr": 0.1, "fpr": 0.2}, "> fpr=0.2"),
        ({"target_reconstruction": 0.1, "prior": 0.2}, "> prior=0.2"),
        ({"target_posterior": 0.1, "prior": 0.2, "delta": 1e-5}, "> prior=0.2"),
        ({"target_posterior": 0.1, "prior": 0.2}, "Expected delta with target_posterior"),
        ({"target_advantage": 0.1, "delta": 1e-5}, "Leave it out"),
        ({"target_epsilon": 1.0, "delta": 1e-5, "fpr": 0.1}, "Leave it out"),
        ({"target_advantage": 1.5}, r"in \(0, 1\)"),
        ({"target_advantage": 0.1, "method": "renyi"}, "whole privacy curve"),
        ({"target_advantage": 0.1, "bound": "lower"}, "lower bound"),
        ({"target_advantage": 0.1, "taget": 1.0}, "Expected options"),
    ],
)
def test_bad_targets_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        dpviz.solve("noise_multiplier", **{**PLAN, **change})
    with pytest.raises(ValueError, match="target_epsilon alone"):
        dpviz.solve("delta", target_advantage=0.1, method="tight", noise_multiplier=1.0, sample_rate=0.1, steps=10)


@pytest.mark.parametrize("sigma", [2.0, 5.0])
def test_risks_of_batches_of_a_fixed_size_reach_down_the_curve(sigma: float) -> None:
    """Both ways together cost about √2 of μ at most; a curve that ended at ε = 0 would say TPR = FPR + δ(0)."""
    step = FixedSize(sigma, 60_000, 256)
    shown = dpviz.best_tpr(noise_multiplier=sigma / 2, sample_rate=256 / 60_000, steps=3510, fpr=0.01)
    assert shown * (1 - 1e-3) <= dpviz.best_tpr(mechanism=step, steps=3510, fpr=0.01) <= 1.5 * shown
