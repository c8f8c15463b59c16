"""Rényi divergence of the sampled Gaussian when one example is replaced, rounded up.

For the pair of `replaced`, with z = σx, 1 + u = P/N(0, σ²), 1 + v = Q/N(0, σ²) and X = P/Q,

    E_Q[X^α] − 1 = ∫ N(x; 0, 1) (1 + v) [X^α − 1 − α(X − 1)] dx,

by the trapezoidal rule, halved until it stands still: for an integrand that is analytic around the real line (here in
a strip of half-width πσ) its error falls geometrically, so that the last halving is off by far less than it moved.
`ROUNDING` covers both, upwards. Two closed upper bounds take over where that would need very many points:

    R(α) ≤ 2α/σ²   (without sampling),      R(α) ≤ R⁺(α) + ln(1/(1 − q)),

R⁺ being that of adding or removing, for Q ≥ (1 − q) N(0, σ²).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.mechanisms.excess import batches, log_excess, log_sums
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.sampled import log_mixture

Array = npt.NDArray[np.float64]

ROUNDING = 1e-10  # relative, of E[X^α] − 1
_STANDS_STILL = 1e-11
_MOST_NODES = 2**15


def replaced_divergence(noise_multiplier: float, sample_rate: float, orders: npt.ArrayLike) -> Array:
    """R(α) of one step, in nats, for orders α > 1 of any shape: at most 1e-10 of it above the truth, or a closed bound.

    Args:
        noise_multiplier: σ > 0, noise standard deviation ÷ clipping norm.
        sample_rate: q in [0, 1].
        orders: α > 1.
    """
    alpha = np.asarray(orders, dtype=np.float64)
    if sample_rate == 0.0:
        return np.zeros(alpha.shape)
    with np.errstate(over="ignore"):
        unsampled = np.maximum(2.0 * alpha / noise_multiplier / noise_multiplier, _validate.LEAST)
    if sample_rate == 1.0:
        return np.asarray(unsampled)
    cap = np.minimum(unsampled, renyi_divergence(noise_multiplier, sample_rate, alpha) - math.log1p(-sample_rate))
    found = _log_moments(noise_multiplier, sample_rate, alpha.ravel()).reshape(alpha.shape)
    return np.asarray(np.minimum(cap, np.maximum(found / (alpha - 1.0), _validate.LEAST)))


def _log_moments(sigma: float, rate: float, alpha: Array) -> Array:
    """ln E_Q[X^α], (orders,); inf where that takes too many points."""
    low, high = -1.0 / sigma - 10.0, 2.0 * alpha / sigma + 10.0  # beyond, Gaussian tails of 10 deviations and more
    step = min(0.4, 0.55 * sigma)
    nodes = np.ceil((high - low) / step)
    found = np.full(alpha.shape, math.inf)
    few = np.flatnonzero(nodes <= _MOST_NODES)
    for batch in batches(nodes[few]):
        chosen = few[batch]
        found[chosen] = _integrals(low, step, int(nodes[chosen].max()), sigma, rate, alpha[chosen])
    return found


def _integrals(low: float, step: float, nodes: int, sigma: float, rate: float, alpha: Array) -> Array:
    """The same for orders (n,) on one grid, whose step is halved until all of them stand still."""
    x: Array = low + step * np.arange(nodes + 1, dtype=np.float64)
    log_sum = _log_totals(x, sigma, rate, alpha)
    while 2 * nodes <= _MOST_NODES:
        both = np.logaddexp(log_sum, _log_totals(x[:-1] + 0.5 * step, sigma, rate, alpha))
        moved = np.abs(np.expm1(both - math.log(2.0) - log_sum))
        nodes, step, log_sum = 2 * nodes, 0.5 * step, both
        if (moved <= _STANDS_STILL).all():
            break
        x = low + step * np.arange(nodes + 1, dtype=np.float64)
    else:
        return np.full(alpha.shape, math.inf)
    return np.logaddexp(0.0, log_sum + math.log(step) + math.log1p(ROUNDING))


def _log_totals(x: Array, sigma: float, rate: float, alpha: Array) -> Array:
    """ln of the integrand's sums over x, for orders (n,)."""
    up, down = (log_mixture(rate, side * x / sigma - 0.5 / sigma / sigma) for side in (1.0, -1.0))
    ratio = up - down
    excess = log_excess(np.expm1(np.minimum(ratio, 30.0)), ratio, alpha[:, None])
    return log_sums(excess + down - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi))
