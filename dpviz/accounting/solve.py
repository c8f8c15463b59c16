"""Give any all-but-one of (ε, δ, σ, q, T) and a method, get the missing one, never on the unsafe side.

    >>> training = dict(sample_rate=0.01, steps=10_000, delta=1e-5)
    >>> round(solve("noise_multiplier", target_epsilon=1.0, method="renyi", **training), 4)
    4.1253
    >>> solve("steps", target_epsilon=1.0, method="renyi", noise_multiplier=4.0, sample_rate=0.01, delta=1e-5)
    9378.0

ε itself is `dpviz.epsilon`. What is returned was put back into the accountant: epsilon(method, answer) ≤ target_epsilon
holds for the very float.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.boundary import (
    MOST_LOG,
    boundary,
    bracket,
    largest_share,
    last_whole,
    nudged,
    size_of_gap,
    smallest,
)
from dpviz.accounting.methods import accountant
from dpviz.accounting.no_noise import chance_of_being_drawn
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.search import OrderSearch

Array = npt.NDArray[np.float64]

UNKNOWNS = ("noise_multiplier", "steps", "sample_rate", "delta")
TOLERANCE = 2e-7  # of ln σ and ln q: a fifth of what is promised
LARGEST_STEPS = 2.0**53
_HARDLY_ANY_NOISE = 0.01  # σ that hides nothing: a method must agree there that no noise is needed


def solve(
    for_: str,
    *,
    target_epsilon: float,
    method: str,
    noise_multiplier: float | None = None,
    sample_rate: float | None = None,
    steps: float | None = None,
    delta: float | None = None,
    tolerance: float = TOLERANCE,
    **options: Any,
) -> float:
    """The missing one of (σ, q, T, δ) at which `method` proves ε ≤ target_epsilon.

    Args:
        for_: "noise_multiplier" (the smallest), "steps" (the most), "sample_rate" (the largest) or "delta" (the
            smallest): leave that argument out and give the three others.
        target_epsilon: ε ≥ 0.
        method: one of METHODS, with options that make it an upper bound: nothing else may be relied on.
        noise_multiplier: σ > 0, noise standard deviation ÷ sensitivity.
        sample_rate: q in [0, 1], Poisson sampling.
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        tolerance: relative, of σ and q; of T too where method is "tight", whose bounds jitter more than that.
        **options: of the method, as in `dpviz.epsilon`.

    Returns:
        σ and δ rounded up, q down, within `tolerance` (δ: 1e-9, and never below 2.2e-308); T the largest whole number
        (at most 2^53). 0.0 for T where already one step costs more. Bounds that jitter within their width ("tight")
        may hold at some points beyond the answer. Where any value will do:
            0.0 for σ: no noise is needed, because nothing is released (no steps, q = 0) or because δ is at least
            1 − (1 − q)^T, the probability that an example is ever drawn, and the method proves as much;
            inf for T and 0.0 for δ: nothing is released; 1.0 for q.

    Raises:
        ValueError: for a bad argument; for a method that is no upper bound (`Accountant.kind`); and where there is no
            answer, with the reason and the way out.
    """
    _validate.choice("for_", for_, UNKNOWNS)
    given = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps, "delta": delta}
    known = _validate.all_but_one(for_, given)
    target, width = _validate.numbers(target_epsilon=target_epsilon, tolerance=tolerance)
    chosen = accountant(method, **options)
    if chosen.kind is not Kind.UPPER:
        chosen_options = f" with {', '.join(f'{key}={value!r}' for key, value in options.items())}" if options else ""
        raise NoAnswer(
            f"Expected an upper bound to solve for {for_} with: method {method!r}{chosen_options} is "
            f"{'a lower bound' if chosen.kind is Kind.LOWER else 'an approximation'}. {chosen.kind_reason}",
            chosen.kind_reason,
        )
    return _SOLVERS[for_](_Problem(chosen, target, known, width))


class NoAnswer(ValueError):
    """No value of the unknown will do; `why` says it in few words, for a page."""

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


class _Problem:
    """One accountant, one target, three of the four numbers."""

    def __init__(self, method: Accountant, target: float, known: dict[str, float], tolerance: float) -> None:
        self.method, self.target, self.known, self.tolerance = method, target, known, tolerance
        self._near: float | None = None  # the order that decided last
        self._seen: dict[tuple[tuple[str, float], ...], Bound] = {}

    def bound(self, **unknown: float) -> Bound:
        """The accountant's bound there; asked once for each number, as the answer is looked at again in the end."""
        key = tuple(unknown.items())
        if key not in self._seen:
            self._seen[key] = self.method.evaluate(**{**self.known, **unknown})
        return self._seen[key]

    def fits(self, **unknown: float) -> bool:
        """Whether the accountant itself proves the target there: the last word on every answer."""
        return bool(self.bound(**unknown).epsilon <= self.target)

    def gap(self, **unknown: float) -> float:
        """`size_of_gap` there, for Rényi orders found by walking from where the last ones were."""
        if not isinstance(self.method, Renyi) or len(self.method.order_values) < 64:
            return size_of_gap(float(self.bound(**unknown).epsilon), self.target)
        at = {**self.known, **unknown}
        orders = None if self.method.default_orders else self.method.orders
        search = OrderSearch(at["noise_multiplier"], at["sample_rate"], orders)
        found, order = search.epsilon(at["steps"], at["delta"], self.method.conversion, self._near)
        self._near = None if math.isnan(order[0]) else float(order[0])
        return size_of_gap(float(found[0]), self.target)

    def check_floor(self) -> None:
        """Refuse a target that no noise at all can reach, because the largest order charges more for nothing."""
        if not isinstance(self.method, AdditiveAccountant) or self.method.searches(1):
            return  # what is searched says 0 where next to nothing is released
        orders, delta = self.method.orders, self.known["delta"]
        none = np.zeros(orders.size)
        floor = max(float(epsilon_per_order(none, orders, np.asarray(delta), self.method.conversion).min()), 0.0)
        if floor > 0.0 and self.target <= floor:
            raise NoAnswer(
                f"Expected target_epsilon={self.target:.12g} > {floor:.6g}, what method {self.method.name!r} with "
                f"orders up to {orders[-1]:.6g} charges at delta={delta:.12g} for doing nothing, about "
                "ln(1/δ)/(α_max − 1): "
                "raise target_epsilon or delta, or try larger orders.",
                f"orders up to α = {orders[-1]:.4g} charge {floor:.3g} at this δ for doing nothing",
            )

    def no_answer(self, name: str, **at: float) -> ValueError:
        reason = self.bound(**at).reason
        given = ", ".join(f"{key}={value:.12g}" for key, value in self.known.items())
        return NoAnswer(
            f"Expected target_epsilon={self.target:.12g} to be within reach of method {self.method.name!r}: "
            f"no {name} will do at {given}. {reason or 'Raise target_epsilon.'}",
            reason,
        )


def _noise_multiplier(problem: _Problem) -> float:
    """The smallest σ, searched in ln σ."""
    steps = problem.known["steps"]
    if steps == 0.0 or problem.known["sample_rate"] == 0.0:
        return 0.0
    hardly_ever_drawn = problem.known["delta"] >= chance_of_being_drawn(problem.known["sample_rate"], steps)
    # The tight accountant stands for the mechanism itself, of which this is true; its grids end at so little noise.
    if hardly_ever_drawn and (isinstance(problem.method, Tight) or problem.fits(noise_multiplier=_HARDLY_ANY_NOISE)):
        return 0.0
    problem.check_floor()

    sigma = smallest(
        lambda x: problem.gap(noise_multiplier=x),
        lambda x: problem.fits(noise_multiplier=x),
        _start(problem, "noise_multiplier") or 1.0,
        problem.tolerance,
    )
    if sigma is None:
        raise problem.no_answer("noise_multiplier", noise_multiplier=1e6)
    return sigma


def _sample_rate(problem: _Problem) -> float:
    """The largest q, searched in ln q."""
    if problem.known["steps"] == 0.0:
        return 1.0
    problem.check_floor()
    rate = largest_share(
        lambda x: problem.gap(sample_rate=x),
        lambda x: problem.fits(sample_rate=x),
        _start(problem, "sample_rate") or 0.01,
        problem.tolerance,
    )
    if rate is None:
        raise problem.no_answer("sample_rate", sample_rate=0.01)
    return rate


def _steps(problem: _Problem) -> float:
    """The largest whole T."""
    if problem.known["sample_rate"] == 0.0:
        return math.inf
    problem.check_floor()
    start = 1000.0
    if isinstance(problem.method, AdditiveAccountant):
        start = _additive_steps(problem, problem.method)
        near: Array = np.unique(np.clip(start + np.arange(-2.0, 3.0), 0.0, LARGEST_STEPS))
        fits = problem.method.evaluate(**(problem.known | {"steps": near})).epsilon <= problem.target
        if fits[0] and not fits.all():
            return float(near[int(fits.argmin()) - 1])
    elif warm := _start(problem, "steps"):
        start = warm
    tolerance = problem.tolerance if isinstance(problem.method, Tight) else 0.0
    return last_whole(
        lambda t: size_of_gap(float(problem.bound(steps=t).epsilon), problem.target), start, LARGEST_STEPS, tolerance
    )


def _additive_steps(problem: _Problem, method: AdditiveAccountant) -> float:
    """max over α of (ε − tail(α))/R(α): the answer, but for rounding."""
    sigma, rate = problem.known["noise_multiplier"], problem.known["sample_rate"]
    per_step = method.step_divergence(sigma, rate)
    if np.isnan(per_step).all():
        raise problem.no_answer("steps", steps=1.0)
    delta = np.asarray(problem.known["delta"])
    tail = epsilon_per_order(np.zeros(method.orders.size), method.orders, delta, method.conversion)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = float(np.nanmax((problem.target - tail) / per_step))
    return float(min(max(math.floor(min(most, LARGEST_STEPS)), 0.0), LARGEST_STEPS))


def _delta(problem: _Problem) -> float:
    """The smallest δ."""
    if problem.known["steps"] == 0.0 or problem.known["sample_rate"] == 0.0:
        return 0.0
    found = float(problem.method.delta(**problem.known, epsilon=problem.target))
    if not found < 1.0 and problem.fits(delta=0.5):  # an accountant whose δ(ε) shows less than its ε(δ)
        start = bracket(lambda x: problem.gap(delta=math.exp(x)), -1.0, towards=1.0, limit=MOST_LOG)
        if start is not None:
            found = math.exp(boundary(lambda x: problem.gap(delta=math.exp(x)), *start, problem.tolerance))
    if not found < 1.0:  # NaN too
        raise problem.no_answer("delta below 1", delta=0.5)
    for k in range(24):  # bounds that jitter may show a little less as δ(ε) than as ε(δ)
        if found * (1.0 + 1e-4 * 2.0**k) >= 1.0 or not isinstance(problem.method, Tight) or problem.fits(delta=found):
            break
        found *= 1.0 + 1e-4 * 2.0**k
    return nudged(found, 1.0, lambda value: value >= 1.0 or problem.fits(delta=value))


_SOLVERS: dict[str, Callable[[_Problem], float]] = {
    "noise_multiplier": _noise_multiplier,
    "sample_rate": _sample_rate,
    "steps": _steps,
    "delta": _delta,
}


def _start(problem: _Problem, for_: str) -> float | None:
    """Where to look first: for an accountant that takes its time (tight), the Rényi accountant's answer."""
    if not isinstance(problem.method, Tight):
        return None
    try:
        found = _SOLVERS[for_](_Problem(Renyi(), problem.target, problem.known, 1e-3))
    except ValueError:  # below the floor of its orders
        return None
    return found if 0.0 < found < math.inf else None
