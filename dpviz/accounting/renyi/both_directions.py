"""Rényi divergences of a sampled step in both directions: A_α of a removed example, B_α of an added one.

With P = (1 − q) n(z) + q n(z − 1) and Q = n(z), A_α = E_Q[(P/Q)^α] and B_α = E_P[(Q/P)^α]. For noise that is symmetric
about a centre A_α ≥ B_α (Mironov, Talwar, Zhang 2019, Theorem 5), so that accountants need A_α alone; here both are
integrated, to be looked at.
"""

import math

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.mechanisms import Laplace, SampledGaussian
from dpviz.mechanisms.divergences import laplace_directions
from dpviz.mechanisms.log_excess import log_excess, log_sums
from dpviz.mechanisms.log_moments import renyi_divergence

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
