"""Bayesian differential privacy of a live run: one estimate a step, from gradient distances of that step's batch.

T, the number of steps, is fixed ahead: each step's cost is ĉ(λ, T) of its own distances (Triastcyn & Faltings 2020,
Eq. 14), and ε_μ = min over λ of (Σ ĉ_t(λ, T) − ln(δ_μ − γT))/λ: every planned step's estimate may fail with
probability γ, and all are paid for from the start.

Which distances: one example more or less changes the sum of clipped gradients by its own clipped gradient, so d is the
norm; Theorem 3's (1 − q) N(0, σ²) + q N(d, σ²) against N(0, σ²) is exactly that. The authors take distances between two
examples' gradients instead. That is usually more, √2 times for gradients at right angles, but it bounds neither
adjacency: equal gradients have distance 0 whatever one of them adds, and to replace g by g′ can cost more than
ψ(‖g − g′‖) where batches are sampled (σ = 2, q = 0.1, λ = 4: by 18 % for g′ = 0.3 g).

The estimates speak of the distribution of the training examples as they were drawn; ε_μ protects the next example of
that distribution, not any example whatever. The distances themselves are not private.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

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

# A release, with the distances of pairs of a step; None where its sensitivity is known for certain.
Charge = tuple[SampledGaussian, Array | None]
_TOGETHER = 64


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


class Estimate(NamedTuple):
    """Costs for λ = 1 … 32 from m distances a step.

    Attributes:
        cost: ĉ(λ, T), (…, 32).
        share: Of the mean that the largest distance carries, in [1/m, 1], (…, 32): above a half the estimate rests on
            one pair, and no margin that follows from m such samples can be trusted to reach γ.
    """

    cost: Array
    share: Array


def estimated(distances: Array, *, noise_std: float, rate: float, total_steps: int, failure: float) -> Estimate:
    """From m ≥ 2 distances for each of … steps, (…, m); the cost is that of `dpviz.bayesian_cost`."""
    m = distances.shape[-1]
    costs = total_steps * psi((distances.ravel() / noise_std) ** 2, rate).reshape(*distances.shape, ORDERS.size)
    tau = max(-float(stdtrit(m - 1, failure)), 0.0) / math.sqrt(m - 1)
    top = costs.max(axis=-2, keepdims=True)
    # x near 1 loses its digits in exp, large x overflows there: as x − 1, and as x/x_max.
    small, scaled = top <= 1.0, np.exp(costs - top)
    x = np.where(small, np.expm1(np.minimum(costs, 1.0)), scaled)
    mean = x.mean(axis=-2, keepdims=True)
    upper = mean + tau * np.sqrt(((x - mean) ** 2).mean(axis=-2, keepdims=True))
    found = np.where(small, np.log1p(upper), top + np.log(np.maximum(upper, 1e-300))) / total_steps
    return Estimate(np.asarray(found[..., 0, :]), np.asarray(1.0 / scaled.sum(axis=-2)))


def certain_cost(mechanism: SampledGaussian, ratio: float) -> Array:
    """ψ(λ, d) where no distance exceeds `ratio` sensitivities: a cost that holds without any estimate."""
    scaled = np.array([(ratio / mechanism.noise_multiplier) ** 2])
    return np.asarray(psi(scaled, mechanism.sample_rate)[0])


class BayesianAccount:
    """ε_μ as a run goes on.

    Attributes:
        total_steps: T, which the costs were computed for.
        delta_mu, failure: δ_μ and γ.
        farthest: No distance exceeds so many C: 2 between two clipped gradients, 1 for their norms.
        taken: steps charged so far.
    """

    def __init__(
        self, *, total_steps: int, delta_mu: float, failure: float, max_grad_norm: float, farthest: float = 2.0
    ) -> None:
        self.total_steps, self.farthest = total_steps, farthest
        self.delta_mu, self.failure, self.max_grad_norm = delta_mu, failure, max_grad_norm
        _validate.delta_beyond_failure(delta_mu, failure, total_steps)
        self.taken = 0
        self._charges: list[Charge] = []
        self._known = 0  # so many charges are in the costs
        self._costs = np.zeros(ORDERS.size)
        self._shares = np.zeros(ORDERS.size)
        self._unread: list[float] = []

    def charge(self, mechanism: SampledGaussian, distances: npt.ArrayLike) -> None:
        """One step, with the distances its clipped gradients made; fewer than 2 charge the worst case.

        Raises:
            ValueError: past the plan: the costs so far hold for T steps only. Call `replan` first.
        """
        if self.taken >= self.total_steps:
            raise ValueError(
                f"Expected at most {self.total_steps} steps, the plan that the Bayesian costs were computed for. "
                "Stop, or re-plan."
            )
        self._charges.append((mechanism, np.asarray(distances, dtype=np.float64)))
        self.taken += 1

    def charge_certain(self, mechanism: SampledGaussian) -> None:
        """A release beside the steps, one example changing it by at most its sensitivity (a private count)."""
        self._charges.append((mechanism, None))

    def replan(self, total_steps: int) -> None:
        """All costs anew for another T, not less than the steps taken."""
        if total_steps < self.taken:
            raise ValueError(f"Expected total_steps={total_steps} >= {self.taken}, the steps already taken.")
        _validate.delta_beyond_failure(self.delta_mu, self.failure, total_steps)
        self._add_up()
        self.total_steps = total_steps
        self._shares = np.zeros(ORDERS.size)
        self._costs = self._costs_of(self._charges).sum(axis=0)

    def epsilon(self) -> float:
        """ε_μ of everything charged so far at δ_μ; 0 before anything was."""
        self._add_up()
        return float(self._epsilons(self._costs)) if self._charges else 0.0

    def tail_share(self) -> float:
        """How much of a step's estimate its largest distance carries, at the order that decides, averaged over steps.

        Steps that were charged the worst case, which needs no estimate, count as 0.
        """
        self._add_up()
        return float(self._shares[self._per_order(self._costs).argmin()]) / max(self.taken, 1)

    def readings(self) -> list[float]:
        """ε_μ after each step since the last time this was asked, with the plan of then."""
        self._add_up()
        found, self._unread = self._unread, []
        return found

    def _add_up(self) -> None:
        """Costs are worked out for many steps together, when somebody looks."""
        new = self._charges[self._known :]
        if not new:
            return
        course = np.cumsum(np.concatenate((self._costs[None], self._costs_of(new))), axis=0)[1:]
        epsilons = self._epsilons(course).tolist()
        self._unread.extend(value for value, (_, distances) in zip(epsilons, new, strict=True) if distances is not None)
        self._costs, self._known = course[-1], len(self._charges)

    def _epsilons(self, costs: Array) -> Array:
        """(…, 32) gives (…)."""
        return np.asarray(np.maximum(self._per_order(costs).min(axis=-1), 0.0))

    def _per_order(self, costs: Array) -> Array:
        slack = -math.log(self.delta_mu - self.failure * self.total_steps)
        return np.asarray((costs + slack) / ORDERS)

    def _costs_of(self, charges: list[Charge]) -> Array:
        """Costs of charges one by one, (n, 32); equal mechanisms with as many distances go together."""
        found = [np.zeros((0, ORDERS.size))]
        for (mechanism, _), same in itertools.groupby(charges, _alike):
            distances = [given for _, given in same]
            known = [given for given in distances if given is not None]
            if not known:
                found.append(np.tile(certain_cost(mechanism, 1.0), (len(distances), 1)))
            parts = (known[start : start + _TOGETHER] for start in range(0, len(known), _TOGETHER))
            found.extend(self._estimated(mechanism, np.stack(part)) for part in parts)
        return np.concatenate(found)

    def _estimated(self, mechanism: SampledGaussian, distances: Array) -> Array:
        """Costs of steps of one mechanism with distances (n, m): (n, 32)."""
        # No estimate, whose margin may be wide, needs to exceed the cost of the largest distance there can be.
        worst = np.tile(certain_cost(mechanism, self.farthest), (len(distances), 1))
        usable = np.isfinite(distances).all(axis=1)
        if distances.shape[1] < 2 or not usable.any():
            return worst
        estimate = estimated(
            distances[usable],
            noise_std=mechanism.noise_multiplier * self.max_grad_norm,
            rate=mechanism.sample_rate,
            total_steps=self.total_steps,
            failure=self.failure,
        )
        self._shares = self._shares + np.where(estimate.cost < worst[usable], estimate.share, 0.0).sum(axis=0)
        worst[usable] = np.minimum(estimate.cost, worst[usable])
        return worst


def _alike(charge: Charge) -> tuple[SampledGaussian, int | None]:
    mechanism, distances = charge
    return mechanism, None if distances is None else distances.size
