"""Formulas for the divergence of one sampled step: a closed form that bounds it, and an asymptotic one that does not.

The closed-form bound 2q²α/σ² and the conditions under which it holds (Mironov, Talwar, Zhang 2019, Theorem 11).

The asymptotic bound on the log moment of one sampled Gaussian step, and where it may be used.

Abadi et al. 2016, Lemma 3 (Lemma 2 of Li, Chen, Liu, Carin 2019):

    α_M(λ) ≤ q²λ(λ + 1)/((1 − q)σ²) + O(q³λ³/σ³)   for σ ≥ 1, q < 1/(16σ), whole λ ≤ σ² ln(1/(qσ)).

The second term has no constant that anyone computed, so what is left without it is an approximation, not a bound. (For
large σ it is twice the exact moment, because e^{1/σ²} − 1 ≈ 1/σ² enters it with a factor of 2.)

Rényi divergences of a sampled step in both directions: A_α of a removed example, B_α of an added one.

With P = (1 − q) n(z) + q n(z − 1) and Q = n(z), A_α = E_Q[(P/Q)^α] and B_α = E_P[(Q/P)^α]. For noise that is symmetric
about a centre A_α ≥ B_α (Mironov, Talwar, Zhang 2019, Theorem 5), so that accountants need A_α alone; here both are
integrated, to be looked at.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.accountant import needs_sampled_gaussian
from dpviz.accounting.renyi.accountant import Converted
from dpviz.mechanisms import Laplace, Mechanism, SampledGaussian
from dpviz.mechanisms.divergences import laplace_directions
from dpviz.mechanisms.log_moments import log_excess, log_sums, renyi_divergence

LARGEST_SAMPLE_RATE = 0.2
SMALLEST_NOISE_MULTIPLIER = 4.0


def closed_form_divergence(*, noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: ArrayLike) -> Array:
    """2q²α/σ², an upper bound on R(α) of one step; NaN where a condition of the theorem fails.

    With L = ln(1 + 1/(q(α − 1))) the theorem needs q ≤ 1/5, σ ≥ 4, 1 < α ≤ ½σ²L − 2 ln σ and
    α ≤ (½σ²L² − ln 5 − 2 ln σ)/(L + ln(qα) + 1/(2σ²)). Arguments broadcast.
    """
    sigma, rate = _validate.noise_multiplier(noise_multiplier), _validate.sample_rate(sample_rate)
    alpha = _validate.orders_of_any_shape(orders)
    sigma, rate, alpha = np.broadcast_arrays(sigma, rate, alpha)
    log_sigma = np.log(sigma)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        big_l = np.log1p(1.0 / (rate * (alpha - 1.0)))
        first = alpha <= 0.5 * sigma**2 * big_l - 2.0 * log_sigma
        # The denominator is ln(α/(α−1) + qα) + 1/(2σ²) > 0, so the second condition can be multiplied out.
        denominator = np.log(alpha / (alpha - 1.0) + rate * alpha) + 0.5 / sigma**2
        second = alpha * denominator <= 0.5 * sigma**2 * big_l**2 - np.log(5.0) - 2.0 * log_sigma
        value = 2.0 * rate**2 * alpha / sigma**2
    holds = (rate <= LARGEST_SAMPLE_RATE) & (sigma >= SMALLEST_NOISE_MULTIPLIER) & first & second
    # Without sampling nothing is released: 0, whatever the conditions say of L = ∞.
    return np.where(rate == 0.0, 0.0, np.where(holds, value, np.nan))


@dataclass(frozen=True)
class ClosedForm(Converted):
    """Composition of the closed-form divergence; NaN, with the reason, where it does not hold."""

    name: ClassVar[str] = "closed_form"

    def supports(self, mechanism: Mechanism) -> str:
        return needs_sampled_gaussian(mechanism)

    def step_divergence(self, noise_multiplier: ArrayLike, sample_rate: ArrayLike) -> Array:
        sigma, rate = np.asarray(noise_multiplier), np.asarray(sample_rate)
        return closed_form_divergence(
            noise_multiplier=sigma[..., None], sample_rate=rate[..., None], orders=self.orders
        )

    def reason(self, sigma: Array, rate: Array) -> str:
        failed = []
        if (rate > LARGEST_SAMPLE_RATE).any():
            failed.append(f"it needs q <= 1/5 (q is {rate.max():.3g})")
        if ((sigma < SMALLEST_NOISE_MULTIPLIER) & (rate > 0.0)).any():
            failed.append(f"it needs σ >= 4 (σ is {sigma.min():.3g})")
        if not failed and np.isnan(self.step_divergence(sigma, rate)).all(axis=-1).any():
            failed.append("no order α meets α <= ½σ²L − 2 ln σ and its second condition")
        return "The closed form does not hold here: " + " and ".join(failed) + "." if failed else ""


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


_POINTS = 4801
_TAIL = 12.0


def both_directions(mechanism: SampledGaussian | Laplace, orders: ArrayLike) -> tuple[Array, Array]:
    """ln A_α/(α − 1) and ln B_α/(α − 1) of one step, for orders α > 1 of shape (n,)."""
    alpha = _validate.orders(orders)
    if isinstance(mechanism, Laplace):
        removed, added = laplace_directions(mechanism.scale, mechanism.sample_rate, alpha)
        return removed, added
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    removed = renyi_divergence(sigma, rate, alpha)
    if rate in (0.0, 1.0):
        return removed, removed.copy()
    return removed, np.array([_added(mechanism, each) for each in alpha.tolist()])


def _added(mechanism: SampledGaussian, alpha: float) -> float:
    """ln B_α/(α − 1) by the trapezoidal rule over x = z/σ.

    (Q/P)^α P is largest at −(α − 1)/σ, or where P turns from its shifted to its unshifted part, if that comes first.
    """
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    turn = 0.5 / sigma + sigma * (math.log1p(-rate) - math.log(rate))
    low, shifted = max(-(alpha - 1.0) / sigma, min(turn, 0.0)) - _TAIL, 1.0 / sigma
    # with little noise nothing lies between the two parts of P
    ranges = [(low, _TAIL), (shifted - _TAIL, shifted + _TAIL)] if shifted > 2.0 * _TAIL else [(low, shifted + _TAIL)]
    terms = []
    for ends in ranges:
        x = np.linspace(*ends, _POINTS)
        ratio = mechanism.pair().loss(x * sigma)
        log_mass = -0.5 * x * x + math.log((x[1] - x[0]) / math.sqrt(2.0 * math.pi)) + ratio
        terms.append(log_mass + log_excess(np.expm1(-ratio), -ratio, np.asarray(alpha)))
    return float(np.logaddexp(0.0, log_sums(np.concatenate(terms))) / (alpha - 1.0))
