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
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
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
from dpviz.accounting.methods import accountant, one_mechanism
from dpviz.accounting.no_noise import chance_of_being_drawn
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.search import OrderSearch
from dpviz.mechanisms import Mechanism, SampledGaussian

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
    mechanism: Mechanism | None = None,
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
        mechanism: PersonRows(…), Laplace(…), …, in place of σ and q, which it has itself; what its own number is of
            those that is solved for does not matter. Its noise is "noise_multiplier", or what it calls it.
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
    given = {"steps": steps, "delta": delta}
    if mechanism is None:
        _validate.choice("for_", for_, UNKNOWNS)
        known = _validate.all_but_one(for_, {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, **given})
        mechanism = SampledGaussian(known.get("noise_multiplier", 1.0), known.get("sample_rate", 1.0))
    else:
        one_mechanism(noise_multiplier, sample_rate, mechanism)
        for_ = mechanism.noise if for_ == "noise_multiplier" else for_
        own = {name: float(getattr(mechanism, name)) for name in mechanism.parameters() if name != for_}
        _validate.choice("for_", for_, tuple({mechanism.noise, "sample_rate"} & {*own, for_}) + ("steps", "delta"))
        known = own | _validate.all_but_one(for_, {for_: None, **given})
    target, width = _validate.numbers(target_epsilon=target_epsilon, tolerance=tolerance)
    chosen = accountant(method, **options)
    if chosen.kind is not Kind.UPPER:
        chosen_options = f" with {', '.join(f'{key}={value!r}' for key, value in options.items())}" if options else ""
        raise NoAnswer(
            f"Expected an upper bound to solve for {for_} with: method {method!r}{chosen_options} is "
            f"{'a lower bound' if chosen.kind is Kind.LOWER else 'an approximation'}. {chosen.kind_reason}",
            chosen.kind_reason,
        )
    chosen.check(mechanism)
    return _Problem(chosen, target, mechanism, known, width).solved(for_)


class NoAnswer(ValueError):
    """No value of the unknown will do; `why` says it in few words, for a page."""

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


@dataclass
class _Problem:
    """One accountant, one target, and all numbers but one: `known` are the mechanism's parameters, T and δ."""

    method: Accountant
    target: float
    mechanism: Mechanism
    known: dict[str, float]
    tolerance: float
    _near: float | None = None  # the order that decided last
    _seen: dict[tuple[str, float], Bound] = field(default_factory=dict)

    def solved(self, for_: str) -> float:
        solvers = {"sample_rate": self._sample_rate, "steps": self._steps, "delta": self._delta}
        return solvers.get(for_, self._noise)()

    def at(self, name: str, value: float) -> tuple[Mechanism, float, float]:
        """Mechanism, T and δ with the missing number."""
        numbers = {**self.known, name: value}
        mechanism = self.mechanism
        if name in mechanism.parameters():
            mechanism = replace(mechanism, **{name: value})  # type: ignore[type-var]
        return mechanism, numbers["steps"], numbers["delta"]

    def bound(self, name: str, value: float) -> Bound:
        """The accountant's bound there; asked once for each number, as the answer is looked at again in the end."""
        if (name, value) not in self._seen:
            mechanism, steps, delta = self.at(name, value)
            self._seen[name, value] = self.method.epsilon_of(mechanism, steps=steps, delta=delta)
        return self._seen[name, value]

    def fits(self, name: str, value: float) -> bool:
        """Whether the accountant itself proves the target there: the last word on every answer."""
        return bool(self.bound(name, value).epsilon <= self.target)

    def gap(self, name: str, value: float) -> float:
        """`size_of_gap` there, for Rényi orders found by walking from where the last ones were."""
        mechanism, steps, delta = self.at(name, value)
        method = self.method
        if not (
            isinstance(method, Renyi) and len(method.order_values) >= 64 and isinstance(mechanism, SampledGaussian)
        ):
            return size_of_gap(float(self.bound(name, value).epsilon), self.target)
        orders = None if method.default_orders else method.orders
        search = OrderSearch(mechanism.noise_multiplier, mechanism.sample_rate, orders)
        epsilon, order = search.epsilon(steps, delta, method.conversion, self._near)
        self._near = None if math.isnan(order[0]) else float(order[0])
        return size_of_gap(float(epsilon[0]), self.target)

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

    def no_answer(self, words: str, name: str, value: float) -> NoAnswer:
        """No value in `words` will do; the accountant's reason is that at one of them."""
        reason = self.bound(name, value).reason
        given = ", ".join(f"{key}={number:.12g}" for key, number in self.known.items())
        return NoAnswer(
            f"Expected target_epsilon={self.target:.12g} to be within reach of method {self.method.name!r}: "
            f"no {words} will do at {given}. {reason or 'Raise target_epsilon.'}",
            reason,
        )

    def start(self, for_: str) -> float | None:
        """Where to look first: for an accountant that takes its time (tight), the Rényi accountant's answer."""
        if not isinstance(self.method, Tight) or Renyi().supports(self.mechanism):
            return None
        try:
            value = replace(self, method=Renyi(), tolerance=1e-3, _seen={}).solved(for_)
        except ValueError:  # below the floor of its orders
            return None
        return value if 0.0 < value < math.inf else None

    def _noise(self) -> float:
        """The least noise."""
        name, steps = self.mechanism.noise, self.known["steps"]
        bare, _, delta = self.at(name, _HARDLY_ANY_NOISE)
        if steps == 0.0 or not bare.releases:
            return 0.0
        drawn = bare.total_variation * (1.0 if isinstance(bare, SampledGaussian) else 1.0 + 1e-9)
        hardly_ever_drawn = delta >= chance_of_being_drawn(min(drawn, 1.0), steps)
        # The tight accountant stands for the mechanism itself, of which this is true; its grids end at so little noise.
        if hardly_ever_drawn and (isinstance(self.method, Tight) or self.fits(name, _HARDLY_ANY_NOISE)):
            return 0.0
        return self._searched(smallest, name, 1.0, 1e6)

    def _searched(self, search: Callable[..., float | None], name: str, start: float, beyond: float) -> float:
        self.check_floor()
        gap, fits = partial(self.gap, name), partial(self.fits, name)
        answer = search(gap, fits, self.start(name) or start, self.tolerance)
        if answer is None:
            raise self.no_answer(name, name, beyond)
        return answer

    def _sample_rate(self) -> float:
        """The largest q."""
        if self.known["steps"] == 0.0:
            return 1.0
        return self._searched(largest_share, "sample_rate", 0.01, 0.01)

    def _steps(self) -> float:
        """The largest whole T."""
        if not self.mechanism.releases:
            return math.inf
        self.check_floor()
        start = 1000.0
        if isinstance(self.method, AdditiveAccountant):
            start = self._additive_steps(self.method)
            near: Array = np.unique(np.clip(start + np.arange(-2.0, 3.0), 0.0, LARGEST_STEPS))
            bounds = self.method.epsilon_of(self.mechanism, steps=near, delta=self.known["delta"])
            fits = bounds.epsilon <= self.target
            if fits[0] and not fits.all():
                return float(near[int(fits.argmin()) - 1])
        elif warm := self.start("steps"):
            start = warm
        tolerance = self.tolerance if isinstance(self.method, Tight) else 0.0
        return last_whole(
            lambda t: size_of_gap(float(self.bound("steps", t).epsilon), self.target), start, LARGEST_STEPS, tolerance
        )

    def _additive_steps(self, method: AdditiveAccountant) -> float:
        """max over α of (ε − tail(α))/R(α): the answer, but for rounding."""
        per_step = method.divergence(self.mechanism)
        if np.isnan(per_step).all():
            raise self.no_answer("steps", "steps", 1.0)
        delta = np.asarray(self.known["delta"])
        tail = epsilon_per_order(np.zeros(method.orders.size), method.orders, delta, method.conversion)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = float(np.nanmax((self.target - tail) / per_step))
        return float(min(max(math.floor(min(most, LARGEST_STEPS)), 0.0), LARGEST_STEPS))

    def _delta(self) -> float:
        """The smallest δ."""
        steps = self.known["steps"]
        if steps == 0.0 or not self.mechanism.releases:
            return 0.0
        delta = float(self.method.delta_of(self.mechanism, steps=steps, epsilon=self.target))
        if not delta < 1.0 and self.fits("delta", 0.5):  # an accountant whose δ(ε) shows less than its ε(δ)
            ends = bracket(lambda x: self.gap("delta", math.exp(x)), -1.0, towards=1.0, limit=MOST_LOG)
            if ends is not None:
                delta = math.exp(boundary(lambda x: self.gap("delta", math.exp(x)), *ends, self.tolerance))
        if not delta < 1.0:  # NaN too
            raise self.no_answer("delta below 1", "delta", 0.5)
        for k in range(24):  # bounds that jitter may show a little less as δ(ε) than as ε(δ)
            larger = delta * (1.0 + 1e-4 * 2.0**k)
            if larger >= 1.0 or not isinstance(self.method, Tight) or self.fits("delta", delta):
                break
            delta = larger
        return nudged(delta, 1.0, lambda value: value >= 1.0 or self.fits("delta", value))
