"""The missing one of (σ, q, T, δ_μ) for a target ε_μ of Bayesian DP, never on the unsafe side.

>>> distances = np.random.default_rng(0).weibull(2.0, 1000)
>>> known = dict(sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> round(solve_bayesian("noise_std", distances, target_epsilon=1.0, **known), 3)
11.524
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Index
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import ORDERS, BayesianBound, bayesian_bound, bayesian_cost
from dpviz.accounting.boundary import nudged, size_of_gap
from dpviz.accounting.calibration import TOLERANCE, Calibration
from dpviz.accounting.no_answer import NoAnswer, no_answer
from dpviz.accounting.renyi.accountant import Moments
from dpviz.accounting.solve import solve

UNKNOWNS = ("noise_std", "steps", "sample_rate", "delta_mu")
_OF_DP = {"noise_std": "noise_multiplier", "delta_mu": "delta"}
_FAR = 1.35  # ε_μ ÷ target from which on a guess is far off
_NEAR: Index = np.array([-1, 0, 1])  # places in the list of orders
_AHEAD: Index = np.array([0, 1, 3, 7])


def solve_bayesian(
    for_: str,
    distances: ArrayLike,
    *,
    target_epsilon: float,
    noise_std: float | None = None,
    sample_rate: float | None = None,
    steps: float | None = None,
    delta_mu: float | None = None,
    estimator_failure: float = 1e-15,
    orders: ArrayLike = ORDERS,
    divergence: str = "left",
    estimates: int = 1,
    tolerance: float = TOLERANCE,
    largest_distance: float | None = None,
) -> float:
    """The missing one of (noise_std, sample_rate, steps, delta_mu) at which ε_μ ≤ target_epsilon.

    Args:
        for_: "noise_std" (the smallest), "steps" (the longest plan), "sample_rate" (the largest), "delta_mu" (the
            smallest): leave that argument out and give the three others.
        distances: ‖g − g′‖ of m ≥ 2 independent pairs, shape (m,).
        target_epsilon: ε_μ ≥ 0.
        noise_std: absolute standard deviation of the noise, in the distances' units.
        sample_rate, steps, delta_mu, estimator_failure, orders, divergence, estimates: as in `bayesian_epsilon`, read
            as a plan.
        tolerance: relative, of noise_std and sample_rate.
        largest_distance: d_max, for the bound that holds at every m, whatever the search looked at; None for the
            asymptotic estimate.

    Returns:
        noise_std and delta_mu rounded up, sample_rate down, steps an int (at most 2^53; 0 where one step costs more).
        Where any value will do: 0.0 for noise_std, 1.0 for sample_rate, inf for steps.
        bayesian_epsilon(…, answer) ≤ target_epsilon holds for the very float.

    Raises:
        ValueError: for a bad argument, and where no value will do, with the reason and the way out.
    """
    _validate.choice("for_", for_, UNKNOWNS)
    given = {"noise_std": noise_std, "sample_rate": sample_rate, "steps": steps, "delta_mu": delta_mu}
    known = _validate.all_but_one(for_, given, fewest_steps=1)
    if "delta_mu" in known:
        _validate.delta_beyond_failure(delta_mu, _validate.estimator_failure(estimator_failure), estimates)
    target = _validate.number(target_epsilon=target_epsilon)
    sample = _validate.distances(distances)
    whole = np.unique(_validate.whole_orders(orders))
    problem = _BayesianProblem(
        target, known, tolerance, sample, estimator_failure, divergence, estimates, largest_distance, whole
    )
    answer: float = getattr(problem, for_)()
    return math.floor(answer) if for_ == "steps" and answer < math.inf else answer


@dataclass
class _BayesianProblem(Calibration):
    """One sample, one target, three of the four numbers; orders are tried near the one that decided last."""

    distances: Array
    estimator_failure: float
    divergence: str
    estimates: int
    largest_distance: float | None
    orders: Array
    best: int = -1  # its place; none has yet

    @property
    def sensitivity(self) -> float:
        """The largest distance there may be."""
        return float(self.distances.max() if self.largest_distance is None else self.largest_distance)

    def start(self, name: str) -> float:
        """The moments accountant's answer, which this one is where every distance is largest."""
        known = dict(self.known)
        if "noise_std" in known:
            known["noise_std"] /= self.sensitivity or 1.0
        answer = dp_answer(name, self.target, Moments.name, tuple(known.items()))
        unit = self.sensitivity if name == "noise_std" else 1.0
        return answer * unit if 0.0 < answer < math.inf else super().start(name) * unit

    def _bound(self, orders: Array, unknown: dict[str, float]) -> BayesianBound:
        four = self.known | unknown
        return bayesian_bound(
            self.distances,
            noise_std=four["noise_std"],
            sample_rate=four["sample_rate"],
            steps=four["steps"],
            delta_mu=four["delta_mu"],
            estimator_failure=self.estimator_failure,
            orders=orders,
            divergence=self.divergence,
            estimates=self.estimates,
            largest_distance=self.largest_distance,
        )

    def _look(self, places: Index, unknown: dict[str, float]) -> float:
        """The least ε_μ that the orders at these places prove; which of them does is kept."""
        orders = self.orders[np.unique(np.clip(places, 0, self.orders.size - 1))]
        bound = self._bound(orders, unknown)
        self.best = int(np.searchsorted(self.orders, float(bound.order) - 1.0))
        return float(bound.epsilon)

    def fits(self, name: str, value: float) -> bool:
        """Every order bounds ε_μ: those near the best may prove it; where they do not, all are asked."""
        unknown = {name: value}
        if self.best >= 0 and self._look(self.best + _NEAR, unknown) <= self.target:
            return True
        return self._look(np.arange(self.orders.size), unknown) <= self.target

    def gap(self, name: str, value: float) -> float:
        """`size_of_gap` by a few orders: exact where it is small and positive, for there they are followed downhill.

        Else its size is enough for the next guess, and any order that meets the target proves it.
        """
        unknown = {name: value}
        spread = np.round(np.geomspace(1, self.orders.size, 6)).astype(np.intp) - 1
        centre = self.best
        epsilon = self._look(spread if centre < 0 else centre + _NEAR, unknown)
        if centre >= 0 and self.best != centre and epsilon > _FAR * self.target:
            epsilon = self._look(spread, unknown)
        while self.target < epsilon <= _FAR * self.target and self.best != centre:
            self._look(self.best + (1 if self.best > centre else -1) * _AHEAD, unknown)
            centre = self.best
            epsilon = self._look(centre + _NEAR, unknown)
        return size_of_gap(epsilon, self.target)

    def check_floor(self) -> None:
        floor = float(self._bound(self.orders[-1:], {"noise_std": 1.0, "sample_rate": 0.0, "steps": 1.0}).floor)
        if self.target < floor * (1 + 1e-12):
            raise no_answer("bayesian_floor", target=self.target, floor=floor, order=self.orders[-1])

    @property
    def free(self) -> bool:
        """Whether nothing is released."""
        return self.known.get("sample_rate") == 0.0 or self.sensitivity == 0.0

    def unreachable(self, name: str) -> NoAnswer:
        return no_answer("bayesian_unreachable", target=self.target, unknown=name)

    def noise_std(self) -> float:
        self.check_floor()
        return 0.0 if self.free else self.least("noise_std")

    def sample_rate(self) -> float:
        return self.largest("sample_rate")

    def steps(self) -> float:
        self.check_floor()
        return math.inf if self.free else self.longest()

    def delta_mu(self) -> float:
        """Γ + min over λ of exp(T·ĉ(λ, T) − λε): Corollary 1 solved for δ_μ."""
        steps = self.known["steps"]
        cost = bayesian_cost(
            self.distances,
            noise_std=self.known["noise_std"],
            sample_rate=self.known["sample_rate"],
            total_steps=steps,
            orders=self.orders,
            estimator_failure=self.estimator_failure,
            divergence=self.divergence,
            largest_distance=self.largest_distance,
        )
        exponents = cost * steps - self.orders * self.target
        self.best = int(exponents.argmin())
        exponent = float(exponents[self.best])
        doubt = float(self.estimator_failure) * float(self.estimates)
        least = doubt + math.exp(exponent) if exponent < 0.0 else 1.0
        least = max(least, doubt * (1.0 + 2.0**-50), math.ulp(0.0))
        if least >= 1.0:
            raise self.unreachable("delta_mu below 1")
        return nudged(least, 1.0, lambda value: value >= 1.0 or self.fits("delta_mu", value))


@remembered
def dp_answer(missing: str, target: float, method: str, known: tuple[tuple[str, float], ...]) -> float:
    """What the accountant to compare with answers to the same question, roughly; NaN where it has none."""
    given: dict[str, Any] = {_OF_DP.get(name, name): value for name, value in known}
    try:
        return solve(_OF_DP.get(missing, missing), method=method, target_epsilon=target, tolerance=1e-3, **given)
    except ValueError:  # no answer there says nothing of this one
        return math.nan
