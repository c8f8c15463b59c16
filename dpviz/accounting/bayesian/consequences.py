"""Consequences of an (ε_μ, δ_μ) Bayesian guarantee: shares of the data, composition, groups, and rare events.

Triastcyn & Faltings 2020: §4.4.1 (percentiles), Propositions on basic composition and group privacy, §4.3.1 (the
estimator for distances that are either 0 or C).
"""

import math

import numpy as np
from scipy.special import betainccinv

from dpviz import _validate


def bayesian_percentile(*, delta_mu: float, share: float) -> float:
    """The δ with which a share of the data has ordinary (ε_μ, δ)-DP: δ_μ/(1 − share), by Markov's inequality.

    Args:
        delta_mu: δ_μ in (0, 1).
        share: part of the data (a draw of the distribution) that the statement covers, in [0, 1).

    Returns:
        δ, capped at 1, where it says nothing.
    """
    delta, covered = _validate.numbers(delta_mu=delta_mu, share=share)
    if covered == 1.0:
        raise ValueError("Expected share=1 in [0, 1): a Bayesian guarantee covers all of the data only with δ = 1.")
    # 1 − share is exact for share ≥ ½; the division errs by one unit in the last place: round up
    return min(1.0, math.nextafter(delta / (1.0 - covered), math.inf))


def bayesian_basic(*, epsilon_mu: float, delta_mu: float, count: float) -> tuple[float, float]:
    """Basic composition of `count` mechanisms, each (ε_μ, δ_μ): (count·ε_μ, count·δ_μ), the latter capped at 1."""
    epsilon, delta = _validate.numbers(epsilon_mu=epsilon_mu, delta_mu=delta_mu)
    number = float(_validate.whole(1, count=count))
    return number * epsilon, min(1.0, number * delta)


def bayesian_group(*, epsilon_mu: float, delta_mu: float, size: float) -> tuple[float, float]:
    """Privacy of a group of `size` = k examples: (k ε_μ, k e^{k ε_μ} δ_μ), the latter capped at 1."""
    epsilon, delta = _validate.numbers(epsilon_mu=epsilon_mu, delta_mu=delta_mu)
    number = float(_validate.whole(1, size=size))
    log_delta = math.log(number) + number * epsilon + math.log(delta)
    return number * epsilon, math.exp(log_delta) if log_delta < 0.0 else 1.0


def binary_estimator(*, zeros: float, ones: float, estimator_failure: float = 1e-15) -> float:
    """ρ̂, the probability that an example's distance is C and not 0, too low with probability at most γ.

    With a flat prior the posterior after N₀ zeros and N₁ ones is Beta(N₁ + 1, N₀ + 1); ρ̂ is its (1 − γ)-quantile.
    After zeros alone, ρ̂ = 1 − γ^{1/(N₀ + 1)}.
    """
    none = float(_validate.whole(0, zeros=zeros))
    some = float(_validate.whole(0, ones=ones))
    failure = _validate.estimator_failure(estimator_failure)
    return float(np.asarray(betainccinv(some + 1.0, none + 1.0, failure)))
