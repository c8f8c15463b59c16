"""Bayesian differential privacy of a live run: one estimate a step, from pair distances of that step's batch.

T, the number of steps, is fixed ahead: each step's cost is ĉ(λ, T) of its own distances (Triastcyn & Faltings 2020,
Eq. 14), and ε_μ = min over λ of (Σ ĉ_t(λ, T) − ln(δ_μ − γT))/λ: every planned step's estimate may fail with
probability γ, and all are paid for from the start.

The estimates speak of the distribution of the training examples as they were drawn; ε_μ protects the next example of
that distribution, not any example whatever. The distances themselves are not private.
"""

from __future__ import annotations

import functools
import math

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from dpviz import _validate
from dpviz.accounting.bayesian_psi import step_costs
from dpviz.accounting.mechanism import SampledGaussian

Array = npt.NDArray[np.float64]

ORDERS = np.arange(1, 33)
_SLOPES = np.arange(2, 34) * np.arange(1, 33) / 2.0
_LARGEST_EXPONENT = 600.0


@functools.lru_cache(maxsize=16)
def _probabilities(rate: float) -> Array | None:
    """P(k) of Bin(λ + 1, q) for k = 2 … 33 (rows λ); None where one is too small for a float to keep."""
    if not 0.0 < rate < 1.0:
        return None
    table = np.zeros((ORDERS.size, _SLOPES.size))
    for row, order in enumerate(ORDERS.tolist()):
        trials = order + 1
        logs = [
            math.log(math.comb(trials, k)) + k * math.log(rate) + (trials - k) * math.log1p(-rate)
            for k in range(2, trials + 1)
        ]
        if min(logs) < -_LARGEST_EXPONENT:
            return None
        table[row, : len(logs)] = np.exp(logs)
    return table


def psi(scaled: Array, rate: float) -> Array:
    """ψ_L at u = (d/σ)², shape (n,), and λ = 1 … 32: (n, 32). As `step_costs`, one product instead of 32 sums."""
    probabilities = _probabilities(rate)
    if probabilities is None or scaled.size == 0 or float(scaled.max()) * _SLOPES[-1] > _LARGEST_EXPONENT:
        return step_costs(scaled, ORDERS, rate)
    found: Array = np.log1p(np.expm1(scaled[:, None] * _SLOPES) @ probabilities.T)
    return found


def estimated_cost(distances: Array, *, noise_std: float, rate: float, total_steps: int, failure: float) -> Array:
    """ĉ(λ, T) of m ≥ 2 distances for λ = 1 … 32, as `dpviz.bayesian_cost`, in a fraction of a millisecond."""
    m = distances.size
    costs = total_steps * psi((distances / noise_std) ** 2, rate)
    tau = max(-float(stdtrit(m - 1, failure)), 0.0) / math.sqrt(m - 1)
    top = costs.max(axis=0)
    # x near 1 loses its digits in exp, large x overflows there: as x − 1, and as x/x_max.
    small = top <= 1.0
    x = np.where(small, np.expm1(np.minimum(costs, 1.0)), np.exp(costs - top))
    mean = x.mean(axis=0)
    upper = mean + tau * np.sqrt(((x - mean) ** 2).mean(axis=0))
    return np.asarray(np.where(small, np.log1p(upper), top + np.log(np.maximum(upper, 1e-300))) / total_steps)


def certain_cost(mechanism: SampledGaussian, ratio: float) -> Array:
    """ψ(λ, d) where no distance exceeds `ratio` sensitivities: a cost that holds without any estimate."""
    scaled = np.array([(ratio / mechanism.noise_multiplier) ** 2])
    return np.asarray(psi(scaled, mechanism.sample_rate)[0])


class BayesianAccount:
    """ε_μ as a run goes on.

    Attributes:
        total_steps: T, which the costs were computed for.
        delta_mu, failure: δ_μ and γ.
        taken: steps charged so far.
    """

    def __init__(self, *, total_steps: int, delta_mu: float, failure: float, max_grad_norm: float) -> None:
        self.total_steps = total_steps
        self.delta_mu, self.failure, self.max_grad_norm = delta_mu, failure, max_grad_norm
        _validate.delta_beyond_failure(delta_mu, failure, total_steps)
        self.taken = 0
        self._costs = np.zeros(ORDERS.size)
        self._certain: list[SampledGaussian] = []
        self._steps: list[tuple[SampledGaussian, Array]] = []

    def charge(self, mechanism: SampledGaussian, distances: npt.ArrayLike) -> None:
        """One step, with the distances of pairs of its clipped gradients; fewer than 2 charge the worst case, 2C.

        Raises:
            ValueError: past the plan: the costs so far hold for T steps only. Call `replan` first.
        """
        if self.taken >= self.total_steps:
            raise ValueError(
                f"Expected at most {self.total_steps} steps, the plan that the Bayesian costs were computed for. "
                "Stop, or re-plan."
            )
        found = np.asarray(distances, dtype=np.float64)
        self._steps.append((mechanism, found))
        self.taken += 1
        self._costs = self._costs + self._cost(mechanism, found)

    def charge_certain(self, mechanism: SampledGaussian) -> None:
        """A release beside the steps, one example changing it by at most its sensitivity (a private count)."""
        self._certain.append(mechanism)
        self._costs = self._costs + certain_cost(mechanism, 1.0)

    def replan(self, total_steps: int) -> None:
        """All costs anew for another T, not less than the steps taken."""
        if total_steps < self.taken:
            raise ValueError(f"Expected total_steps={total_steps} >= {self.taken}, the steps already taken.")
        _validate.delta_beyond_failure(self.delta_mu, self.failure, total_steps)
        self.total_steps = total_steps
        costs = [self._cost(*step) for step in self._steps] + [certain_cost(one, 1.0) for one in self._certain]
        self._costs = np.sum(costs, axis=0) if costs else np.zeros(ORDERS.size)

    def epsilon(self) -> float:
        """ε_μ of everything charged so far at δ_μ; 0 before anything was."""
        if not self.taken and not self._certain:
            return 0.0
        slack = -math.log(self.delta_mu - self.failure * self.total_steps)
        return max(0.0, float(((self._costs + slack) / ORDERS).min()))

    def _cost(self, mechanism: SampledGaussian, distances: Array) -> Array:
        # Two clipped gradients are at most 2C apart: no estimate, whose margin may be wide, needs to exceed that.
        worst = certain_cost(mechanism, 2.0)
        if distances.size < 2 or not np.isfinite(distances).all():
            return worst
        estimate = estimated_cost(
            distances,
            noise_std=mechanism.noise_multiplier * self.max_grad_norm,
            rate=mechanism.sample_rate,
            total_steps=self.total_steps,
            failure=self.failure,
        )
        return np.asarray(np.minimum(estimate, worst))
