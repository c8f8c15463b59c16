"""Closed forms: the privacy curve of one sampled Gaussian step, and of the Gaussian mechanism without sampling.

>>> round(single_step_epsilon(SampledGaussian(noise_multiplier=1.0, sample_rate=1.0), 1e-5)[1], 4)
4.3772
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, ndtr

from dpviz.accounting.mechanism import SampledGaussian
from dpviz.accounting.privacy_loss import output_of_loss

Array = npt.NDArray[np.float64]

SLACK = 1e-9  # relative; covers rounding of the closed forms many times over


def gaussian_log_delta(noise_multiplier: float, epsilon: Array | float) -> Array:
    """ln δ(ε) of the Gaussian mechanism (Balle, Wang 2018, Theorem 8), in logs so that tiny δ keep their digits."""
    epsilon = np.asarray(epsilon, dtype=np.float64)
    mean = 1.0 / noise_multiplier
    first = log_ndtr(mean / 2 - epsilon / mean)
    second = epsilon + log_ndtr(-mean / 2 - epsilon / mean)
    return first + np.log(-np.expm1(np.minimum(second - first, -1e-300)))


def single_step_delta(mechanism: SampledGaussian, epsilon: Array | float) -> Array:
    """δ(ε) of one step, the worse of adding and removing one example; absolute error a few 1e-16."""
    sigma, q = mechanism.noise_multiplier, mechanism.sample_rate
    epsilon = np.asarray(epsilon, dtype=np.float64)
    if q == 1.0:
        return np.exp(gaussian_log_delta(sigma, epsilon))
    z = output_of_loss(mechanism, epsilon)
    tail0, tail1 = ndtr(-z / sigma), ndtr((1.0 - z) / sigma)
    paid = np.where(
        epsilon < 1.0, np.expm1(np.minimum(epsilon, 1.0)) * tail0, np.exp(epsilon + log_ndtr(-z / sigma)) - tail0
    )
    remove = q * (tail1 - tail0) - paid
    z = output_of_loss(mechanism, -epsilon)
    tail0, tail1 = ndtr(z / sigma), ndtr((z - 1.0) / sigma)  # both 0 where ε exceeds the largest loss −ln(1 − q)
    grown = np.exp(np.minimum(epsilon, 700.0))
    add = np.where(tail0 > 0, q * grown * (tail0 - tail1) - (grown - 1.0) * tail0, 0.0)
    return np.maximum(np.maximum(remove, add), 0.0)


def _bisect(delta_of: Callable[[float], float], delta: float) -> tuple[float, float]:
    """Neighbouring ε with δ(upper) ≤ delta < δ(lower), for decreasing δ(ε)."""
    if delta_of(0.0) <= delta:
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
        if not math.isfinite(high):
            return low, math.inf
    for _ in range(200):
        middle = 0.5 * (low + high)
        if middle in (low, high):
            break
        if delta_of(middle) > delta:
            low = middle
        else:
            high = middle
    return low, high


def gaussian_epsilon(noise_multiplier: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε of the Gaussian mechanism; they differ by rounding only."""
    low, high = _bisect(lambda e: float(gaussian_log_delta(noise_multiplier, e)), math.log(delta))
    return low * (1 - SLACK), high * (1 + SLACK)


def single_step_epsilon(mechanism: SampledGaussian, delta: float) -> tuple[float, float]:
    """Lower and upper ε of one step; they differ by rounding only."""
    if mechanism.sample_rate == 1.0:
        return gaussian_epsilon(mechanism.noise_multiplier, delta)
    slack = rounding_of_delta(mechanism, delta)
    low = _bisect(lambda e: float(single_step_delta(mechanism, e)), delta + slack)[0]
    high = _bisect(lambda e: float(single_step_delta(mechanism, e)), max(delta - slack, 0.5 * delta))[1]
    return low * (1 - SLACK), high * (1 + SLACK)


def rounding_of_delta(mechanism: SampledGaussian, delta: float) -> float:
    """Bound on the rounding error of `single_step_delta` near δ: its terms are at most q, and cancel."""
    return SLACK * delta + 1e-15 * mechanism.sample_rate
