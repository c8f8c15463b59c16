"""Answers of Bayesian DP as quick as a slider: the library's search with the moment order found by walking.

`solve_bayesian` looks at several orders wherever it looks; here it is the deciding one and its two neighbours, and the
walk goes on from where the last look ended. Every order bounds ε_μ, so whatever is found holds; that it is the best,
too, needs (T ĉ(λ) + ln(1/(δ_μ − γ)))/λ to have one valley, as it has in practice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian import ORDERS, bayesian_bound, bayesian_cost
from dpviz.accounting.bayesian_solve import solve_bayesian
from dpviz.accounting.boundary import boundary, bracket
from dpviz.accounting.solve import LARGEST_STEPS, size_of_gap

Array = npt.NDArray[np.float64]
Orders = Sequence[int] | npt.NDArray[np.int64]

FIRST, LAST = ORDERS[0], ORDERS[-1]
_SPREAD = (1, 2, 4, 8, 16, 32)
_FAR = 1.35  # ε_μ ÷ target from which on a guess is far off
_MOST_LOG = {"noise_std": 100.0, "sample_rate": 100.0, "steps": math.log(LARGEST_STEPS)}


def near_answer(
    missing: str,
    distances: Array,
    *,
    target_epsilon: float,
    estimator_failure: float,
    tolerance: float,
    start: float,
    largest_distance: float | None = None,
    **known: float,
) -> float | None:
    """The missing one of (noise_std, steps, sample_rate, delta_mu) with ε_μ ≤ target; None where it is not ordinary.

    Then `solve_bayesian`, which takes the same arguments, has the answer or the reason why there is none.
    `start` is where to look first (not for delta_mu).
    """
    if (largest_distance is None and not distances.any()) or known.get("sample_rate") == 0.0:
        return None
    fixed: dict[str, Any] = {"estimator_failure": estimator_failure, "largest_distance": largest_distance}
    walk = _Walk(missing, distances, target_epsilon, fixed, known)
    if missing == "delta_mu":
        near: dict[str, Any] = {"orders": _around(walk.cheapest()), **fixed, **known}
        return solve_bayesian(missing, distances, target_epsilon=target_epsilon, **near)
    if not estimator_failure < known["delta_mu"] < 1.0:
        return None
    if target_epsilon <= -math.log(known["delta_mu"] - estimator_failure) / LAST * (1.0 + 1e-12):
        return None  # below what the largest order charges for doing nothing
    towards = 1.0 if missing == "noise_std" else -1.0

    def value(x: float) -> float:
        return max(float(math.floor(math.exp(x))), 1.0) if missing == "steps" else math.exp(x)

    def gap(x: float) -> float:
        return math.inf if missing == "sample_rate" and x >= 0.0 else walk.gap(value(x))

    first = min(max(start, 1.0), LARGEST_STEPS / 4.0) if missing == "steps" else start
    found = bracket(gap, math.log(min(first, 0.5) if missing == "sample_rate" else first), towards, _MOST_LOG[missing])
    # A rate of 1 may be allowed as well, and beyond the limit all may: not for here.
    if found is None or not math.isfinite(found[1]) or (missing == "sample_rate" and found[1] >= 0.0):
        return None
    # Of steps all digits are shown: until the two ends are less than one step apart.
    width = 0.4 * math.exp(-max(found[:2])) if missing == "steps" else tolerance
    return value(boundary(gap, *found, width))


def _around(order: int) -> range:
    return range(max(order - 1, FIRST), min(order + 1, LAST) + 1)


class _Walk:
    """ε_μ at the deciding order, looked for downhill from the order that decided last."""

    def __init__(
        self, missing: str, distances: Array, target: float, fixed: dict[str, Any], known: dict[str, float]
    ) -> None:
        self.missing, self.distances, self.target, self.fixed = missing, distances, target, fixed
        self.known: dict[str, Any] = dict(known)
        self._order = 0  # none decided yet

    def gap(self, value: float) -> float:
        """ln(ε_μ/target) at `value` of what is missing; exact where it is small and positive, else roughly."""
        centre = self._order
        epsilon, self._order = self._look(_around(centre) if centre else _SPREAD, value)
        if self._order != centre and epsilon > _FAR * self.target and centre:
            epsilon, self._order = self._look(_SPREAD, value)
        # An order that meets the target proves it. Far off, the sizes of some orders are enough for the next guess.
        while self.target < epsilon <= _FAR * self.target and self._order != centre:
            side = self._order + (1 if self._order > centre else -1) * np.array([0, 1, 3, 7])
            self._order = self._look(np.unique(np.clip(side, FIRST, LAST)), value)[1]
            centre = self._order
            epsilon, self._order = self._look(_around(centre), value)
        return size_of_gap(epsilon, self.target)

    def _look(self, orders: Orders, value: float) -> tuple[float, int]:
        """The least ε_μ that these orders prove, and the order that does."""
        at = {**self.known, self.missing: value}
        bound = bayesian_bound(self.distances, orders=orders, **self.fixed, **at)
        return float(bound.epsilon), int(bound.order) - 1

    def cheapest(self) -> int:
        """The order at which T ĉ(λ, T) − λ·target, which decides δ_μ, is least."""
        order = self._least(_SPREAD)
        while (found := self._least(_around(order))) != order:
            order = found
        return order

    def _least(self, orders: Orders) -> int:
        at = {name: self.known[name] for name in ("noise_std", "sample_rate")}
        steps, whole = self.known["steps"], np.asarray(orders)
        cost = bayesian_cost(self.distances, total_steps=steps, orders=whole, **self.fixed, **at)
        return int(whole[(cost * steps - whole * self.target).argmin()])
