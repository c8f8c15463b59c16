"""ε of hyperparameter tuning: the best of K runs, each with fresh noise on the same data, K random or fixed.

    >>> from dpviz.mechanisms import SampledGaussian
    >>> step = SampledGaussian(noise_multiplier=1.1, sample_rate=256 / 60_000)
    >>> f"{tuned_epsilon(mechanism=step, steps=3510, delta=1e-5, runs=40, method='renyi'):.3f}"
    '3.131'

If K is secret and drawn in advance, only the best run is released, and the settings of each run are drawn from a law
that was fixed without the data (Papernot, Steinke 2022). If K is fixed in advance, the costs of all K runs add up: then
all of them may be released, and the best follows from them. A number that somebody decides during the search is not
covered. Every run costs the same ε, that of `mechanism` and `steps`; where settings differ, give the most expensive.

The score that picks the best is computed from what the run itself releases, or from public data. A score that reads the
private data, accuracy on a private validation set for example, is a release too: make it part of each run and count it
in `mechanism`. Uncounted it can show anything: a coin that ignores the data, scored by a private bit, shows that bit
with probability 0.976 as the best of 40 runs on average.
"""

import math
from typing import Literal, TypedDict, Unpack, overload

import numpy as np
from scipy.optimize import brentq

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._other_names import says_right_names
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.attack.trade_off import curve_at
from dpviz.accounting.methods import AnyStep, Renyi, Tight, method_name, one_mechanism
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import Mechanism

LAWS = ("geometric", "negative_binomial", "poisson", "fixed")
# The condition on the score, wherever the number is shown.
SCORE = (
    "The score that picks the best run comes from what each run releases, or from public data. A score that reads the "
    "private data, such as accuracy on a private validation set, must be counted in each run's own ε."
)
METHODS = (Tight.name, Renyi.name)
Method = Literal["tight", "renyi", "pld", "rdp"]
ALL_BOUNDS: Method = "tight"
RENYI_ALONE: Method = "renyi"


Law = Literal["geometric", "negative_binomial", "poisson", "fixed"]


class Search(TypedDict, total=False):
    """How often a run is repeated, and by which bounds: see `tuned_epsilon`."""

    runs: float
    law: Law
    shape: float
    method: Method


@overload
def tuned_epsilon(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, **search: Unpack[Search]
) -> float: ...
@overload
def tuned_epsilon(*, mechanism: Mechanism, steps: int, delta: float, **search: Unpack[Search]) -> float: ...
@says_right_names("noise_multiplier", "sample_rate", "mechanism")
def tuned_epsilon(
    *,
    steps: int,
    delta: float,
    runs: float = 40.0,
    law: str = "geometric",
    shape: float = 0.5,
    method: str = "tight",
    **step: Unpack[AnyStep],
) -> float:
    """ε at δ of the best of K runs; an upper bound, on conditions.

    K and the settings of the runs are drawn in advance, without the data, and K is kept secret, unless it is fixed. The
    score that picks the best comes from what each run releases, or from public data; a private score must be counted in
    the run's step.

    Args:
        steps: T of each run, whole, ≥ 0.
        delta: δ in (0, 1), of the whole search.
        runs: E[K] ≥ 1. At 1 nothing is tuned, unless by the Poisson law: ε is that of one run.
        law: of K, "geometric" or "negative_binomial" (1, 2, …), "poisson" (0, 1, …; without a run nothing is
            released), or "fixed": K = runs, whole; ε is that of K times as many steps.
        shape: η of the negative binomial law, −0.5 to 100; at 1 it is the geometric one. The smaller it is, the less
            a search costs, and the further K spreads.
        method: "tight", the least of all bounds, or "renyi", those of Rényi divergences alone.
        **step: noise_multiplier, σ > 0 of a step, noise standard deviation ÷ sensitivity, and sample_rate, q in [0, 1];
            or mechanism, one step, in their place.

    Raises:
        ValueError: for a bad argument, and for a mechanism without what the method needs.
    """
    mechanism = one_mechanism(**step)
    count, target = int(mechanism.counted(_validate.whole(0, steps=steps))), _validate.number(delta=delta)
    mean = _validate.number(runs=runs)
    if mean < 1.0:
        raise ValueError(f"Expected runs={mean:.12g} >= 1, the mean number of runs.")
    _validate.choice("law", law, LAWS)
    eta = 1.0 if law == "geometric" else shape
    if not -0.5 <= eta <= 100.0:
        raise ValueError(f"Expected shape={eta:.12g} in [-0.5, 100], η of the negative binomial law.")
    if law == "fixed":
        _validate.whole(1, runs=runs)
    usable = _usable(mechanism, law, method)
    if count == 0 or not mechanism.releases:
        return 0.0
    if law == "fixed" or (mean == 1.0 and law != "poisson"):
        repeated = count * int(mean) if law == "fixed" else count
        return min(float(each.epsilon_of(mechanism, steps=repeated, delta=target).epsilon) for each in usable)
    whole_curve = Tight() in usable
    odds = log_odds_of_mean(eta, mean) if law != "poisson" else math.nan
    bounds = [_of_profile(mechanism, count, target, mean, eta, odds)] if whole_curve and law != "poisson" else []
    if Renyi() in usable:
        orders, total = Renyi().orders, count * Renyi().divergence(mechanism)
        if law == "poisson":
            more = _poisson(mechanism, count, orders, mean, whole_curve)
        else:  # (1 + η)((1 − 1/λ̂) ε̂(λ̂) + ln(1/γ)/λ̂) at the best λ̂ (Papernot, Steinke 2022, Theorem 2)
            more = (1.0 + eta) * np.nanmin((1.0 - 1.0 / orders) * total + np.logaddexp(0.0, odds) / orders)
        tuned = total + more + math.log(mean) / (orders - 1.0)
        bounds.append(float(np.nanmin(epsilon_per_order(tuned, orders, np.asarray(target), "improved"))))
    return max(min(bounds), 0.0)


def _usable(mechanism: Mechanism, law: str, method: str) -> list[Accountant]:
    """The accountants that bound a search of this mechanism.

    Raises:
        ValueError: there is none, or not the one that the law needs.
    """
    provers = [Renyi(), Tight()] if method_name(method, METHODS) == Tight.name else [Renyi()]
    usable = [each for each in provers if not each.supports(mechanism)]
    if usable and law == "poisson" and usable[0] != Renyi():
        raise ValueError(
            "The Poisson law of a search needs the Rényi divergence of a step, which is not known here "
            f"({mechanism.text}). Choose another law: geometric or negative binomial."
        )
    if not usable:
        why = provers[-1].supports(mechanism)
        raise ValueError(
            f"Expected a mechanism whose tuning with law={law!r} has a bound, found {mechanism.text}: {why}"
        )
    return usable


def log_odds_of_mean(eta: float, mean: float) -> float:
    """ln((1 − γ)/γ) where K is negative binomial with E[K] = η(1 − γ)/(γ(1 − γ^η)); rounded up."""

    def excess(log: float) -> float:  # of ln E[K], at log = ln(1/γ)
        return math.log(math.expm1(log) * (eta / -math.expm1(-eta * log) if eta else 1.0 / log) / mean)

    return math.log(math.expm1(float(brentq(excess, 1e-300, 700.0, xtol=1e-13)) * (1.0 + 1e-9) + 1e-12))


def _poisson(mechanism: Mechanism, steps: int, orders: Array, mean: float, whole_curve: bool) -> Array:
    """E[K] δ̂ at each order, δ̂ = δ(ε̂) of one run at ε̂ = ln(1 + 1/(α − 1)) (the same, Theorem 6)."""
    here = np.log1p(1.0 / (orders - 1.0))
    delta = Renyi().delta_of(mechanism, steps=steps, epsilon=here)
    return np.asarray(mean * (np.minimum(delta, curve_at(mechanism, steps, here)) if whole_curve else delta))


def _of_profile(mechanism: Mechanism, steps: int, delta: float, mean: float, eta: float, odds: float) -> float:
    """ε₁ + (1 + η)ε̂ with δ(ε₁) = δ/E[K], and ε̂ where δ(ε̂) ≤ (e^ε̂ − 1) γ/(1 − γ), of the profile δ(·) of one run.

    With F the distribution function of the score of one run and f its density, ties broken at random, the best of K
    has the density f·G′(F), G′(F) = E[K] (γ/(1 − (1 − γ)F))^(1 + η). On a neighbour, 1 − F′ ≤ e^ε̂(1 − F) + δ(ε̂), so
    that γ + (1 − γ)(1 − F′) ≤ e^ε̂ (γ + (1 − γ)(1 − F)) by the condition on ε̂: G′(F) ≤ e^{(1 + η)ε̂} G′(F′). Hence on
    any set ∫ f G′(F) − e^{ε₁ + (1 + η)ε̂} ∫ f′ G′(F′) ≤ ∫ (f − e^{ε₁} f′)₊ G′(F) ≤ E[K] δ(ε₁), as G′ ≤ E[K]
    (of the form of Koskela, Redberg, Wang 2024).
    """
    first = float(tight_epsilon(mechanism, [steps], delta / mean).upper[0])
    epsilon = np.concatenate([[0.0], np.geomspace(1e-4, 20.0, 1200)])
    fits = curve_at(mechanism, steps, epsilon) * math.exp(odds) <= np.expm1(epsilon) * (1.0 - 1e-12)
    return first + (1.0 + eta) * float(epsilon[fits.argmax()]) if fits.any() else math.inf
