"""What several tests compare with: the Gaussian's exact profile and Bayesian costs, written down term by term."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
from dp_accounting.pld import privacy_loss_distribution
from hypothesis import strategies as st
from scipy.stats import t as student

from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.pld.privacy_loss import LossDistribution
from dpviz.mechanisms import Event, SampledGaussian

Array = npt.NDArray[np.float64]


def geometric(low: float, high: float) -> st.SearchStrategy[float]:
    """Numbers whose logarithms are uniform."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def gaussian_delta(mu: Any, epsilon: Any) -> mpmath.mpf:
    """δ(ε) of N(0, 1) against N(μ, 1) (Balle & Wang 2018, Theorem 8), in 60 digits."""
    with mpmath.workdps(60):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m)


def hockey_stick(pld: LossDistribution, epsilon: npt.ArrayLike) -> Array:
    """E[(1 − e^{ε − loss})₊] of a grid, at every ε."""
    loss, every = pld.loss(), np.asarray(epsilon)
    found = [pld.mass @ -np.expm1(np.minimum(each - loss, 0.0)) for each in every.ravel()]
    return np.reshape(found, every.shape) + pld.infinite


def library_epsilon(
    setting: tuple[float, float, float, float], interval: float, *, above: bool, dots: bool = False
) -> float:
    """ε of (σ, q, T, δ) by the library dp-accounting, its losses rounded up or down to multiples of `interval`."""
    sigma, rate, steps, delta = setting
    rounding = {"pessimistic_estimate": above, "use_connect_dots": dots, "value_discretization_interval": interval}
    one = privacy_loss_distribution.from_gaussian_mechanism(sigma, sampling_prob=rate, **rounding)
    return float(one.self_compose(steps).get_epsilon_for_delta(delta))


def library_epsilon_of_events(events: Sequence[Event], delta: float, interval: float, *, above: bool) -> float:
    """The same of unlike sampled Gaussian steps [(mechanism, count), …] together."""
    rounding = {"pessimistic_estimate": above, "use_connect_dots": above, "value_discretization_interval": interval}
    parts = [
        privacy_loss_distribution.from_gaussian_mechanism(
            mechanism.noise_multiplier, sampling_prob=mechanism.sample_rate, **rounding
        ).self_compose(count)
        for mechanism, count in events
        if isinstance(mechanism, SampledGaussian)
    ]
    return float(reduce(lambda one, other: one.compose(other), parts).get_epsilon_for_delta(delta))


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
