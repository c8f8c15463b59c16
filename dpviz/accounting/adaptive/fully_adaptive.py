"""Fully adaptive composition: a filter at no price, an odometer at little (Whitehouse, Ramdas, Rogers, Wu 2023).

Mechanisms, their parameters and the end may all depend on what was released. Let L_n be the privacy loss of the first n
steps and R_i(α) the Rényi divergence of step i after the same past. For every λ > 0,

    M_n(λ) = exp(λ L_n − λ Σ_{i≤n} R_i(1 + λ))

is a supermartingale that starts at 1, and so is a mixture Σ_j w_j M_n(λ_j) with Σ w_j = 1. It ever reaches 1/δ with
probability at most δ (Ville 1939). So with probability 1 − δ, at all n at once, L_n is at most the ε_n that solves

    Σ_j w_j exp(λ_j (ε_n − Σ_{i≤n} R_i(1 + λ_j))) = 1/δ.

Whitehouse, Ramdas, Rogers, Wu 2023 mix over a normal λ, for steps of which only ε_i is used: R(1 + λ) ≤ (1 + λ)ε_i²/2.
Here λ lies on a geometric grid, and the divergences are those of the steps, sampling included. No doubling
filters are needed, hence no stairs. The weights are fixed before the first step.

Their filter composes (ε_i, δ_i)-DP steps, V = Σε_i²: it lets steps pass while √(2 ln(1/δ′) V) + V/2 ≤ ε and
Σδ_i ≤ δ″, and promises (ε, δ′ + δ″). A step of ρ_i-zCDP counts as ε_i² = 2ρ_i, δ_i = 0.
A step is ε_i-DP but for an event of probability δ_i (Kairouz, Oh, Viswanath 2015), and R(1 + λ) ≤ (1 + λ)ε_i²/2 without
it (Bun & Steinke 2016). By the supermartingale the whole run has R(1 + λ) ≤ (1 + λ)V/2 for the largest V that may pass;
the classic conversion at its best λ is the formula.

>>> from dpviz.mechanisms import SampledGaussian
>>> round(float(MixtureOdometer().epsilon_of(SampledGaussian(1.0, 0.01024), steps=980, delta=1e-6).epsilon), 3)
3.395
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.adaptive.filter import BudgetExceeded
from dpviz.accounting.adaptive.rogers import most_steps, step_epsilon
from dpviz.accounting.bound import Bound
from dpviz.accounting.renyi.additive import AdditiveAccountant

MIXTURE_ORDERS: tuple[float, ...] = tuple((1.0 + 2.0 ** (np.arange(-12.0, 37.0) / 3.0)).tolist())
_NEWTON_STEPS = 40


@dataclass(frozen=True)
class MixtureOdometer(AdditiveAccountant):
    """Exact Rényi divergences read through a mixture of supermartingales.

    Live: `Ledger(MixtureOdometer())`, read at one δ that was fixed before the first step.

    Attributes:
        order_values: 1 + λ_j, increasing; empty takes MIXTURE_ORDERS.
    """

    name: ClassVar[str] = "mixture"
    live: ClassVar[bool] = True
    options: ClassVar[Mapping[str, str]] = {"orders": "order_values"}
    order_values: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        orders = tuple(np.unique(_validate.orders(self.order_values)).tolist()) if self.order_values else MIXTURE_ORDERS
        object.__setattr__(self, "order_values", orders)

    latex = Accountant.latex

    @property
    def orders(self) -> Array:
        return np.array(self.order_values)

    def _terms(self, total: Array, epsilon: Array) -> Array:
        """ln of w_j M(λ_j) at losses `epsilon` (…), (…, orders)."""
        return np.asarray((self.orders - 1.0) * (epsilon[..., None] - total) + self._log_weights)

    @property
    def _log_weights(self) -> Array:
        """ln w_j, (orders,): a wide hump on a log axis around λ = 8, where usual steps have their best order."""
        weights = 1.0 / (4.0 + np.log2((self.orders - 1.0) / 8.0) ** 2)
        return np.asarray(np.log(weights / weights.sum()))

    def _crossing(self, total: Array, log_odds: Array) -> Array:
        """ε at which the mixture reaches e^log_odds, by Newton from above: the mixture's ln is convex and rises."""
        s = self.orders - 1.0
        epsilon = (total + (log_odds[..., None] - self._log_weights) / s).min(axis=-1)
        finite = np.isfinite(epsilon)
        at = np.where(finite, epsilon, 0.0)
        for _ in range(_NEWTON_STEPS):
            terms = self._terms(np.where(finite[..., None], total, 0.0), at)
            height = logsumexp(terms, axis=-1)
            slope = (np.exp(terms - height[..., None]) * s).sum(axis=-1)
            step = np.maximum(height - log_odds, 0.0) / slope
            at = at - step
            if (step <= 1e-13 * at).all():
                break
        return np.where(finite, at * (1.0 + 1e-12), np.inf)

    def bound(self, total: Array, delta: ArrayLike, reason: str = "") -> Bound:
        """ε by the odometer for divergences (…, orders) spent so far."""
        given = np.asarray(delta, dtype=np.float64)
        shape = np.broadcast_shapes(total.shape[:-1], given.shape)
        log_odds, total = -np.log(np.broadcast_to(given, shape)), np.broadcast_to(total, (*shape, self.orders.size))
        spent = total.max(axis=-1) > 0.0
        epsilon = np.where(spent, self._crossing(total, log_odds), 0.0)
        decided = spent & np.isfinite(epsilon)
        best = self._terms(np.where(decided[..., None], total, 0.0), np.where(decided, epsilon, 0.0)).argmax(axis=-1)
        return Bound(
            epsilon=epsilon,
            order=np.where(decided, self.orders[best], np.nan),
            at_grid_end=decided & ((best == 0) | (best == self.orders.size - 1)),
            floor=self._crossing(np.zeros_like(total), log_odds),
            reason=reason,
        )

    def _least_delta(self, total: Array, epsilon: Array) -> Array:
        """The δ at which the odometer reads `epsilon`: 1 ÷ the mixture there."""
        shape = np.broadcast_shapes(total.shape[:-1], epsilon.shape)
        total = np.broadcast_to(total, (*shape, self.orders.size))
        height = logsumexp(self._terms(total, np.broadcast_to(epsilon, shape) * (1.0 - 1e-12)), axis=-1)
        delta = np.maximum(np.exp(np.minimum(-height, 0.0)), np.finfo(np.float64).tiny)
        return np.where(total.max(axis=-1) > 0.0, delta, 0.0)


class FullyAdaptiveFilter:
    """A budget for steps of which only (ε_i, δ_i) is known, each chosen after all that was released before.

    Attributes:
        target_epsilon, delta: the promise, which holds for whatever the filter let pass.
        squares, deltas: Σε_i² and Σδ_i of the steps that passed.
    """

    def __init__(self, *, target_epsilon: float, delta: float, share: float = 0.5) -> None:
        """ε ≥ 0, δ in (0, 1), and the `share` of δ in (0, 1) that is δ″, for the steps' own δ_i."""
        self.target_epsilon, self.delta = _validate.numbers(target_epsilon=target_epsilon, delta=delta)
        self._steps_delta = self.delta * _validate.scalar("share", _validate.open_probability("share", share))
        self.squares = self.deltas = 0.0

    def allows(self, *, epsilon: float, delta: float = 0.0) -> bool:
        """Whether a step that is (ε, δ)-DP fits; one of ρ-zCDP has ε = √(2ρ)."""
        one = _validate.scalar("epsilon", _validate.epsilon(epsilon))
        deltas = self.deltas + _validate.scalar("delta", _validate.probability("delta", delta))
        spent = fully_adaptive_spent(squares=self.squares + one * one, delta=self.delta - self._steps_delta)
        return bool(spent <= self.target_epsilon) and deltas <= self._steps_delta

    def spend(self, *, epsilon: float, delta: float = 0.0) -> None:
        """Record one more step.

        Raises:
            BudgetExceeded: it does not fit; nothing was recorded.
        """
        if not self.allows(epsilon=epsilon, delta=delta):
            raise BudgetExceeded(f"(ε = {epsilon:g}, δ = {delta:g})", 1, 0, self.target_epsilon)
        self.squares, self.deltas = self.squares + epsilon * epsilon, self.deltas + delta


def fully_adaptive_spent(*, squares: ArrayLike, delta: ArrayLike) -> Array:
    """√(2 ln(1/δ′) V) + V/2 of the filter, which passes while this is at most its ε.

    Args:
        squares: V = Σε_i² ≥ 0, with 2ρ_i for a step of ρ_i-zCDP.
        delta: δ′ in (0, 1), what is left of δ beside Σδ_i; both broadcast.
    """
    v, slack = _validate.non_negative("squares", squares), _validate.delta(delta)
    return np.asarray(np.sqrt(-2.0 * np.log(slack) * v) + 0.5 * v)


def fully_adaptive_steps(*, noise_multiplier: float, sample_rate: float, target_epsilon: float, delta: float) -> int:
    """The most equal sampled Gaussian steps that the filter lets pass, read in the better of two ways fixed in advance.

    Either each step is 1/(2σ²)-zCDP, which ignores that it samples, or it is (ε_i, δ_i)-DP with δ_i = δ/(2T), T itself
    being the best horizon. Both charge more than a step costs.
    """
    sigma, rate = _validate.noise_multiplier(noise_multiplier), _validate.sample_rate(sample_rate)
    target, failure = _validate.number(target_epsilon=target_epsilon), _validate.number(delta=delta)

    def passes(counts: Array) -> Bools:
        with np.errstate(over="ignore", invalid="ignore"):
            step = step_epsilon(sigma, rate, np.asarray(failure), counts)
            sampled, ignored = counts * step**2, np.where(rate > 0.0, counts / sigma / sigma, 0.0)
        passed = np.zeros(counts.size, dtype=np.bool_)
        for squares, slack in ((sampled, 0.5 * failure), (ignored, failure)):
            finite = np.isfinite(squares)
            spent = fully_adaptive_spent(squares=np.where(finite, squares, 0.0), delta=slack)
            passed |= finite & (spent <= target)
        return passed

    return most_steps(passes)
