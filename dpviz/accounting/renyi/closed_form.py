"""The closed-form bound 2q²α/σ² and the conditions under which it holds (Mironov, Talwar, Zhang 2019, Theorem 11)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.accountant import needs_sampled_gaussian
from dpviz.accounting.renyi.accountant import Converted
from dpviz.mechanisms import Mechanism

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
