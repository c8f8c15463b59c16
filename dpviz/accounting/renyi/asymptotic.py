"""The asymptotic bound on the log moment of one sampled Gaussian step, and where it may be used.

Abadi et al. 2016, Lemma 3 (Lemma 2 of Li, Chen, Liu, Carin 2019):

    α_M(λ) ≤ q²λ(λ + 1)/((1 − q)σ²) + O(q³λ³/σ³)   for σ ≥ 1, q < 1/(16σ), whole λ ≤ σ² ln(1/(qσ)).

The second term has no constant that anyone computed, so what is left without it is an approximation, not a bound. (For
large σ it is twice the exact moment, because e^{1/σ²} − 1 ≈ 1/σ² enters it with a factor of 2.)
"""

import math
from typing import Any, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike

LEAST_ASYMPTOTIC_NOISE = 1.0


@overload
def asymptotic_moment(*, noise_multiplier: float, sample_rate: float, orders: float) -> float: ...
@overload
def asymptotic_moment(*, noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> float | Array: ...
def asymptotic_moment(*, noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> float | Array:
    """q²λ(λ + 1)/((1 − q)σ²), the leading term of the log moment of one step; NaN where a condition of the lemma fails.

    Divide by λ for the Rényi divergence at α = λ + 1. An approximation: the lemma adds O(q³λ³/σ³).

    Args:
        noise_multiplier: σ > 0.
        sample_rate: q in [0, 1].
        orders: moment orders λ = α − 1, whole, ≥ 1, any shape.

    Returns:
        A float for numbers, an array for arrays (all three broadcast).
    """
    sigma, rate = _validate.noise_multiplier(noise_multiplier), _validate.sample_rate(sample_rate)
    order = _validate.whole_orders_of_any_shape(orders)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = rate**2 * order * (order + 1.0) / ((1.0 - rate) * sigma**2)
        last = np.where(rate > 0.0, -(sigma**2) * np.log(rate * sigma), np.inf)
    holds = (sigma >= LEAST_ASYMPTOTIC_NOISE) & (16.0 * rate * sigma < 1.0) & (order <= last)
    moment = np.where(rate == 0.0, 0.0, np.where(holds, value, np.nan))  # without sampling nothing is released
    return float(moment) if moment.ndim == 0 else moment


def asymptotic_last_order(*, noise_multiplier: Any, sample_rate: Any) -> float:
    """The largest whole λ that the lemma covers, inf at q = 0; NaN where it covers none."""
    sigma, rate = _validate.numbers(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    if rate == 0.0:
        return math.inf
    if sigma < LEAST_ASYMPTOTIC_NOISE or 16.0 * rate * sigma >= 1.0:
        return math.nan
    last = math.floor(-(sigma**2) * math.log(rate * sigma))
    return float(last) if last >= 1 else math.nan


def asymptotic_reason(*, noise_multiplier: Any, sample_rate: Any) -> str:
    """Which conditions of the lemma fail at every order, in words; empty where some order is covered."""
    sigma, rate = _validate.numbers(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    if rate == 0.0:
        return ""
    failed = []
    if sigma < LEAST_ASYMPTOTIC_NOISE:
        failed.append(f"it needs σ >= 1 (σ is {sigma:.3g})")
    if 16.0 * rate * sigma >= 1.0:
        failed.append(f"it needs q < 1/(16σ) = {1.0 / (16.0 * sigma):.3g} (q is {rate:.3g})")
    if not failed and math.isnan(asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)):
        failed.append("no λ >= 1 is at most σ² ln(1/(qσ))")
    return "The asymptotic bound does not hold here: " + " and ".join(failed) + "." if failed else ""
