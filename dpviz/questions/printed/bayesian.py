"""Triastcyn & Faltings 2020: the text, Table 1 and recorded inference, Figures 1 to 5 and two formulas."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import Moments, Renyi
from dpviz.experiments.record import ExperimentRecord, Spread, recorded
from dpviz.fields import numbers
from dpviz.questions.printed import synthetic
from dpviz.questions.printed.claim import Recomputed

ACCURACY = "posterior_accuracy"
PLAIN = "none"  # the arm without privacy


@dataclass(frozen=True)
class Inferred:
    """The runs on one data set, level of noise by level, least first.

    Attributes:
        record: what was recorded.
        arms: its names of the levels.
        sigma: σ, (levels,).
        accuracy: over seeds, of predictions averaged over draws of the posterior.
        without: the same without privacy.
        moments, strict: ε by the moments accountant at δ, and at δ_μ; (levels,).
        bayesian: ε_μ, the highest of all seeds, (levels,).
        clipped: share of all gradients that were clipped, (levels,).
    """

    record: ExperimentRecord
    arms: tuple[str, ...]
    sigma: Array
    accuracy: tuple[Spread, ...]
    without: Spread
    moments: Array
    strict: Array
    bayesian: Array
    clipped: Array

    @property
    def settings(self) -> dict[str, Any]:
        """Of the private runs; their noise is that of the first level."""
        return dict(self.record.settings[self.arms[0]])

    @property
    def sample_rate(self) -> float:
        """q."""
        return float(self.settings["batch_size"] / self.record.values(self.arms[0], "examples")[0])

    def within(self, epsilon: float) -> int:
        """The level of least noise with which the moments accountant promises `epsilon`."""
        return int(np.flatnonzero(self.moments <= epsilon)[0])


def inferred(data: str) -> Inferred:
    """The runs on "abalone" or "adult": every ε but the measured ε_μ is computed from what was run."""
    record = recorded(f"inference_{data}")
    arms = tuple(arm for arm in record.settings if arm != PLAIN)
    settings, examples = record.settings[arms[0]], int(record.values(arms[0], "examples")[0])
    sigma = np.array([record.settings[arm]["noise_multiplier"] for arm in arms])
    run = {"sample_rate": settings["batch_size"] / examples, "steps": settings["steps"], "noise_multiplier": sigma}
    moments, strict = (
        np.asarray(dpviz.epsilon(Moments.name, **run, delta=settings[name])) for name in ("delta", "delta_mu")
    )
    measured = np.array([record.spread(arm, "epsilon_mu").highest for arm in arms])
    clipped = np.array([record.spread(arm, "clipped").mean for arm in arms])
    accuracy = tuple(record.spread(arm, ACCURACY) for arm in arms)
    return Inferred(
        record, arms, sigma, accuracy, record.spread(PLAIN, ACCURACY), moments, strict, measured, clipped
    )  # fmt: skip


DRAWS = 3
LAST_ORDER, STRICT = 32, 1e-10


def guess(epsilon: float) -> Recomputed:
    """The accuracy that ε allows."""
    return Recomputed(float(dpviz.attack_success(epsilon)))


def dp(sigma: float, batch: int, examples: int, steps: int) -> Recomputed:
    """DP by Rényi divergences."""
    rate = batch / examples
    epsilon = dpviz.epsilon(Renyi.name, noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=1e-5)
    return Recomputed(epsilon, note=f"at σ = {sigma:g}")


def floor(last: int = LAST_ORDER) -> Recomputed:
    """No ε_μ can be less with λ up to `last`, whatever the gradients."""
    return Recomputed(math.nan, -math.log(STRICT) / last, math.inf, "ln(1/δ_μ)/λ, for any gradients")


def mnist() -> Recomputed:
    """How far apart means of batches are, in C, of which 0.95 is made: all alike, 32 epochs, the notebook's λ."""

    def off(apart: float) -> float:
        epsilon = dpviz.bayesian_epsilon(
            [apart, apart],
            noise_std=0.1,
            sample_rate=1024 / 60_000,
            steps=1875,
            delta_mu=STRICT,
            orders=[2, 4, 8, 16, 32],
        )
        return float(epsilon) - 0.95

    apart = brentq(off, 1e-3, 1.0, xtol=1e-9)
    least = floor()
    return least._replace(note=f"{least.note}; 0.95 if all distances of means are {apart:.2g} C")


def noise(data: str, epsilon: float) -> Recomputed:
    """The least σ of the printed ε of DP, by the moments accountant with the scripts' q and T."""
    runs = inferred(data)
    sigma = dpviz.solve(
        "noise_multiplier",
        method=Moments.name,
        target_epsilon=epsilon,
        sample_rate=runs.sample_rate,
        steps=runs.settings["steps"],
        delta=1e-5,
    )
    return Recomputed(math.nan, note=f"{epsilon:g} at σ = {sigma:.4g}")


def reached(data: str, epsilon: float = math.inf) -> Recomputed:
    """Accuracy of the recorded runs without privacy, or with the least noise of the printed ε of DP."""
    runs = inferred(data)
    spread = runs.without if math.isinf(epsilon) else runs.accuracy[runs.within(epsilon)]
    ends = " to ".join(numbers.probability(end) for end in (spread.lowest, spread.highest))
    return Recomputed(spread.mean, note=f"{ends}, {len(runs.record.of(PLAIN))} seeds")


def length(epsilon: float, sigma: float, batch: int, examples: int) -> Recomputed:
    """The most steps for which the moments accountant stays within the printed ε, rounded."""
    steps = dpviz.solve(
        "steps",
        method=Moments.name,
        target_epsilon=epsilon,
        noise_multiplier=sigma,
        sample_rate=batch / examples,
        delta=1e-5,
    )
    return Recomputed(math.nan, note=f"{epsilon:.1f} after {steps:.0f} steps, {steps * batch / examples:.0f} epochs")


def figure_1(quantile: float) -> Recomputed:
    """Bayesian DP at λ = 16 after 100 steps by the authors' procedure: the middle of three draws, and their spread."""
    each = np.array([synthetic.epsilon_of_costs(synthetic.fresh_costs(quantile, seed))[-1] for seed in range(DRAWS)])
    fixed, best = np.sort(each[:, synthetic.ORDERS.index(16)]), np.sort(each.min(axis=1))
    dp_fixed = dpviz.epsilon(
        Renyi.name,
        noise_multiplier=1.0,
        sample_rate=synthetic.RATE,
        steps=100,
        delta=synthetic.DELTA,
        orders=[17.0],
        conversion="classic",
    )
    dp_best = dpviz.epsilon(
        Moments.name, noise_multiplier=1.0, sample_rate=synthetic.RATE, steps=100, delta=synthetic.DELTA
    )
    spread = f"median of {DRAWS} draws, {fixed[0]:.3g} to {fixed[-1]:.3g}; DP at λ = 16: {dp_fixed:.4g}"
    note = f"{spread}; each at its best λ: DP {dp_best:.3g}, Bayesian DP {best[0]:.3g} to {best[-1]:.3g}"
    return Recomputed(float(fixed[DRAWS // 2]), note=note)


def medians() -> Recomputed:
    """The median distance ÷ 2C at the three quantiles of Fig. 3."""
    shares = [synthetic.median_share(quantile) for quantile in (0.01, 0.5, 0.99)]
    note = "median distance ÷ 2C at quantiles .01, .50, .99: " + ", ".join(f"{share:.3f}" for share in shares)
    return Recomputed(math.nan, min(shares), max(shares), note)


def far_order() -> Recomputed:
    """The best λ at C = 0.1, σ = 1: the moments accountant at σ/C = 10, λ up to 4096."""
    orders = np.arange(1.0, 4097.0)
    divergence = np.asarray(dpviz.renyi_divergence(noise_multiplier=10.0, sample_rate=64 / 60_000, orders=orders + 1.0))
    each = 10_000 * divergence - math.log(1e-5) / orders
    return Recomputed(float(orders[each.argmin()]), note="the best λ at C = 0.1, δ = 1e-5")


def printed_psi() -> Recomputed:
    """ε with ψ_R as printed, all distances 1: DP-SGD's Fig. 2."""
    printed, left = (
        dpviz.bayesian_epsilon(
            np.ones(2), noise_std=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5, divergence=divergence
        )
        for divergence in ("printed", "left")
    )
    return Recomputed(float(printed), note=f"with ψ_L alone: {float(left):.4g}, the ε of the moments accountant")


def without_exponent() -> Recomputed:
    """T ln E e^ψ ÷ ln E e^(Tψ), d = 0 or 1 at even odds, σ = 1, q = 0.05, λ = 8, T = 100."""
    psi = float(dpviz.renyi_divergence(noise_multiplier=1.0, sample_rate=0.05, orders=9.0)) * 8.0
    right = np.logaddexp(0.0, 100.0 * psi) - math.log(2.0)
    wrong = 100.0 * (np.logaddexp(0.0, psi) - math.log(2.0))
    return Recomputed(float(wrong / right), note="cost without the exponent ÷ cost with it")


def hoelder() -> Recomputed:
    """ε_μ of the same person in every step ÷ of another person in each step."""
    same, another = (
        dpviz.bayesian_law_epsilon(
            "weibull",
            shape=0.5,
            quantile=0.95,
            noise_multiplier=4.0,
            sample_rate=0.01,
            steps=10_000,
            delta_mu=1e-5,
            reading=reading,
        )
        for reading in ("planned", "another")
    )
    return Recomputed(same / another, note=f"{numbers.up(same)} ÷ {numbers.up(another)}")


def hundred_zeros() -> Recomputed:
    """ρ̂ after 100 zeros at γ = 0.99^101."""
    return Recomputed(dpviz.bayesian.binary_estimator(zeros=100, ones=0, estimator_failure=0.99**101))


def percentile() -> Recomputed:
    """δ for 99.999 % of the data."""
    return Recomputed(dpviz.bayesian.bayesian_percentile(delta_mu=STRICT, share=0.99999))
