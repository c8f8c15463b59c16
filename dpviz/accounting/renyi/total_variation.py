"""Upper bounds on the total variation distance between neighbours: δ(0), and so a bound on every δ(ε).

(ε, δ)-DP with ε = 0 says that no event's probability changes by more than δ, i.e. that the total variation distance of
the outputs with and without one example is at most δ. Three bounds on it, all valid for any steps:

- One step: TV(N(0, σ²), (1−q)N(0, σ²) + qN(1, σ²)) = q(2Φ(1/(2σ)) − 1), which is at most q: an example that is not
  drawn leaves no trace. Couple the steps one after the other, each equal with probability 1 − TV_i given an equal past:
  all are equal with probability Π(1 − TV_i), so together TV ≤ 1 − Π(1 − TV_i) ≤ 1 − (1 − q)^T, however little noise.
- Pinsker: TV ≤ √(KL/2).
- Bretagnolle & Huber 1979: TV ≤ √(1 − e^−KL).

KL is at most R(α) for every α > 1, and adds up over steps as R does. TV is the same in both directions (add, remove).
"""

import math

import numpy as np
from scipy.special import erf

from dpviz._arrays import Array

_ROUNDING = 1e-9  # relative; far above what the closed forms and R(α) lose


def one_step_variation(sigma: Array, rate: Array) -> Array:
    """Total variation distance of one sampled Gaussian step; σ > 0 and q in [0, 1] broadcast."""
    return np.asarray(rate * erf(1.0 / (2.0 * math.sqrt(2.0) * np.maximum(sigma, 1e-290))))


def total_variation(one: Array, count: Array, divergence: Array) -> Array:
    """An upper bound on δ(0) of `count` steps of each of several mechanisms together.

    Args:
        one, count: TV_i of one step, at most, and T of each, shape (…, mechanisms); they broadcast.
        divergence: R(α) of all steps together at some order α > 1, the smallest at hand; shape (…).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = -np.expm1(np.where(count > 0.0, count * np.log1p(-one), 0.0).sum(axis=-1))
    some = np.maximum(divergence, np.finfo(np.float64).tiny)  # what underflows to 0 is not nothing
    pinsker, huber = np.sqrt(0.5 * some), np.sqrt(-np.expm1(-some))
    return np.asarray(np.minimum(np.minimum(apart, np.minimum(pinsker, huber)) * (1.0 + _ROUNDING), 1.0))
