"""What several tests compare with: the Gaussian's exact profile and Bayesian costs, written down term by term."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from scipy.stats import t as student

from dpviz.accounting.bayesian.costs import step_costs

Array = npt.NDArray[np.float64]


def gaussian_delta(mu: Any, epsilon: Any) -> mpmath.mpf:
    """δ(ε) of N(0, 1) against N(μ, 1) (Balle & Wang 2018, Theorem 8), in 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def step_moment(u: Any, order: int, rate: float, side: str = "left") -> mpmath.mpf:
    """exp ψ(λ, u) of one step, u = (d/σ)² (Triastcyn & Faltings 2020, Theorem 3), in the digits that are set."""
    trials, sign = (order + 1, -1) if side == "left" else (order, 1)
    q, u = mpmath.mpf(rate), mpmath.mpf(u)
    return mpmath.fsum(
        mpmath.binomial(trials, k) * q**k * (1 - q) ** (trials - k) * mpmath.exp((k * k + sign * k) * u / 2)
        for k in range(trials + 1)
    )


def sample_moments(distances: Array, std: float, rate: float, steps: float, orders: Array, failure: float) -> Array:
    """Eq. 14 of Triastcyn & Faltings 2020 on every sample: ln[mean + t·std/√(m−1)] for every order."""
    psi = step_costs((distances / std) ** 2, orders.astype(np.int64), rate)
    top = psi.max(axis=0)
    tau = student.isf(failure, distances.size - 1) / math.sqrt(distances.size - 1)
    excess = np.exp(steps * (psi - top)).mean(axis=0) + tau * np.expm1(steps * (psi - top)).std(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        # where x is near 1, the logarithm of x − 1 and not of x keeps the digits
        near = np.log1p(np.expm1(steps * psi).mean(axis=0) + tau * np.expm1(steps * psi).std(axis=0))
    return np.where(steps * top <= 1.0, near, steps * top + np.log(excess))
