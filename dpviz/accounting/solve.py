"""The missing one of (ε, δ, σ, q, T), by any method and from the others, never on the unsafe side.

    >>> training = dict(sample_rate=0.01, steps=10_000, delta=1e-5)
    >>> round(solve("noise_multiplier", target_epsilon=1.0, method="renyi", **training), 4)
    4.1253
    >>> solve("steps", target_epsilon=1.0, method="renyi", noise_multiplier=4.0, sample_rate=0.01, delta=1e-5)
    9378

In place of ε a target may be a risk, read off the whole privacy curve (`accounting.attack.trade_off`):

    >>> round(solve("noise_multiplier", target_advantage=0.1, method="tight", sample_rate=0.01, steps=10_000), 3)
    4.039

ε itself is `dpviz.epsilon`. What is returned was put back into the accountant: epsilon(method, answer) ≤ target_epsilon
holds for the very float.
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._other_names import says_right_names
from dpviz.accounting.attack.trade_off import RISKS, Risk
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.accounting.boundary import last_whole, nudged, size_of_gap
from dpviz.accounting.calibration import HARDLY_ANY_NOISE, LARGEST_STEPS, TOLERANCE, Calibration
from dpviz.accounting.methods import (
    Accountant,
    AdditiveAccountant,
    Options,
    Renyi,
    Tight,
    accountant,
    check_knows,
    method_name,
    one_mechanism,
)
from dpviz.accounting.no_answer import NoAnswer, no_answer
from dpviz.accounting.no_noise import chance_of_being_drawn
from dpviz.accounting.renyi.best_epsilon import OrderSearch
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.tuning import Search, tuned_epsilon
from dpviz.mechanisms import Mechanism, SampledGaussian

TARGETS = ("target_epsilon", *(risk.target for risk in RISKS))
UNKNOWNS = ("noise_multiplier", "steps", "sample_rate", "delta")
# Where a method that finds no answer is asked why.
_ASKED_FOR_REASON, _MUCH_NOISE = {"sample_rate": 0.01, "steps": 1.0, "delta": 0.5}, 1e6


class OneStepSolved(TypedDict, total=False):
    """The numbers that are known, however the target is said: see `solve`."""

    noise_multiplier: float | None
    sample_rate: float | None
    steps: float | None
    mechanism: Mechanism | None
    tolerance: float


class EpsilonSolved(OneStepSolved, Options, total=False):
    """The same for ε."""

    delta: float | None


TightName = Literal["tight", "pld"]


@overload
def solve(for_: str, *, target_epsilon: float, method: str = ..., **known: Unpack[EpsilonSolved]) -> float: ...
@overload
def solve(
    for_: str, *, target_epsilon: float, method: TightName = ..., runs: float, law: str = ..., shape: float = ...,
    **known: Unpack[EpsilonSolved],
) -> float: ...  # fmt: skip
@overload
def solve(for_: str, *, target_advantage: float, method: TightName = ..., **known: Unpack[OneStepSolved]) -> float: ...
@overload
def solve(
    for_: str, *, target_tpr: float, fpr: float, method: TightName = ..., **known: Unpack[OneStepSolved]
) -> float: ...
@overload
def solve(
    for_: str, *, target_reconstruction: float, prior: float, method: TightName = ..., **known: Unpack[OneStepSolved]
) -> float: ...
@overload
def solve(
    for_: str, *, target_posterior: float, prior: float, delta: float, method: TightName = ...,
    **known: Unpack[OneStepSolved],
) -> float: ...  # fmt: skip
@overload
def solve(
    for_: str, *, target_mu: float, delta: float, method: TightName = ..., **known: Unpack[OneStepSolved]
) -> float: ...
@says_right_names(*TARGETS, "runs", "law", "shape")
def solve(
    for_: str,
    *,
    method: str = Tight.name,
    noise_multiplier: float | None = None,
    sample_rate: float | None = None,
    steps: float | None = None,
    delta: float | None = None,
    mechanism: Mechanism | None = None,
    tolerance: float = TOLERANCE,
    fpr: float | None = None,
    prior: float | None = None,
    **options: Any,
) -> float:
    """The missing one of (σ, q, T, δ) at which `method` proves that the target is kept: ε, or one risk.

    Args:
        for_: "noise_multiplier" (the smallest), "steps" (the most), "sample_rate" (the largest) or "delta" (the
            smallest): leave that argument out and give the three others.
        method: as in `dpviz.epsilon`, with options that make it an upper bound: nothing else may be relied on. For a
            risk, "tight".
        noise_multiplier: σ > 0, noise standard deviation ÷ sensitivity.
        sample_rate: q in [0, 1], Poisson sampling.
        steps: T, whole, ≥ 0.
        delta: δ in (0, 1).
        mechanism: PersonRows(…), Laplace(…), …, in place of σ and q, which it has itself; what its own number is of
            those that is solved for does not matter. Its noise is "noise_multiplier", or what it calls it.
        tolerance: relative, of σ and q; of T too where method is "tight", whose bounds jitter more than that.
        fpr, prior: of a risk, in (0, 1).
        runs, law, shape: where only the best of several runs is released, as in `dpviz.tuned_epsilon`: the target is
            then one of ε, the method "tight", and δ is given.
        **options: one target, and options of the method, as in `dpviz.epsilon`. Targets:
            target_epsilon: ε ≥ 0 at `delta`.
            target_advantage: TPR − FPR of the best attack on membership, in (0, 1).
            target_tpr: its TPR at the FPR `fpr`, above which it lies.
            target_reconstruction: the chance that a record is reconstructed by an attacker who guesses it unseen with
                chance `prior`.
            target_posterior: belief in membership after a belief of `prior`, but for outputs of probability `delta`.
            target_mu: μ > 0 of Gaussian differential privacy, compared down to `delta` (`dpviz.gaussian_mu`).
            A risk is solved for with σ, q or T unknown, and `delta` is given only where it is named here.

    Returns:
        σ and δ rounded up, q down, within `tolerance` (δ: 1e-9, and never below 2.2e-308); T, an int, the largest
        whole number (at most 2^53), 0 where already one step costs more. Bounds that jitter within their width
        ("tight") may hold at some points beyond the answer. Where any value will do:
            0.0 for σ: no noise is needed, because nothing is released (no steps, q = 0) or because δ is at least
            1 − (1 − q)^T, the probability that an example is ever drawn, and the method proves as much;
            inf for T and 0.0 for δ: nothing is released; 1.0 for q.

    Raises:
        ValueError: for a bad argument; for a method that is no upper bound (`Accountant.kind`); and where there is no
            answer, with the reason and the way out.
    """
    method = method_name(method)
    wanted, value = _one_target(options)
    search: Any = {name: options.pop(name) for name in ("runs", "law", "shape") if name in options}
    if search and (wanted != TARGETS[0] or method != Tight.name or for_ == "delta"):
        raise ValueError(f"Expected {TARGETS[0]}, method={Tight.name!r} and delta with {', '.join(search)}.")
    risk = _risk(wanted, method, options, {"fpr": fpr, "prior": prior, "delta": delta})
    given = {"steps": steps} if risk else {"steps": steps, "delta": delta}
    if risk and for_ == "delta":
        raise ValueError(f"Expected for_='delta' with target_epsilon alone; {wanted} is read off the whole curve.")
    if mechanism is None:
        _validate.choice("for_", for_, UNKNOWNS)
        known = _validate.all_but_one(for_, {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, **given})
        mechanism = SampledGaussian(known.get("noise_multiplier", 1.0), known.get("sample_rate", 1.0))
    else:
        one_mechanism(noise_multiplier, sample_rate, mechanism)
        for_ = mechanism.noise if for_ == "noise_multiplier" else for_
        known = _known_of(mechanism, for_, given)
    target = risk.check(value) if risk else _validate.number(target_epsilon=value)
    width = _validate.number(tolerance=tolerance)
    chosen = _upper_bound(for_, method, options)
    check_knows(chosen, mechanism)
    if for_ != "steps":
        mechanism.counted(known["steps"])
    if risk:
        problem: _Problem = _RiskProblem(target, known, width, chosen, mechanism, wanted, risk=risk)
    elif search:
        problem = _TunedProblem(target, known, width, chosen, mechanism, search=search)
    else:
        problem = _Problem(target, known, width, chosen, mechanism)
    answer = problem.solved(for_)
    return math.floor(answer) if for_ == "steps" and answer < math.inf else answer


def _one_target(options: dict[str, Any]) -> tuple[str, Any]:
    """The name and value of the one target among the options, which loses it."""
    targets = {name: options.pop(name) for name in TARGETS if options.get(name) is not None}
    if len(targets) != 1:
        names = ", ".join(targets) or "none"
        raise ValueError(f"Expected one target, found {names}. Give one of {', '.join(TARGETS)}.")
    ((wanted, value),) = targets.items()
    return wanted, value


def _known_of(mechanism: Mechanism, for_: str, given: dict[str, float | None]) -> dict[str, float]:
    """The mechanism's own numbers but the one that is solved for, with T and δ where they are given."""
    own = {name: float(getattr(mechanism, name)) for name in mechanism.parameters() if name != for_}
    solvable = tuple(name for name in (mechanism.noise, "sample_rate") if name in mechanism.parameters())
    _validate.choice("for_", for_, (*solvable, "steps", "delta"))
    return own | _validate.all_but_one(for_, {for_: None, **given})


def _upper_bound(for_: str, method: str, options: dict[str, Any]) -> Accountant:
    """The accountant; ValueError for one whose number nobody may rely on."""
    chosen = accountant(method, **options)
    if chosen.kind is not Kind.UPPER:
        chosen_options = f" with {', '.join(f'{key}={value!r}' for key, value in options.items())}" if options else ""
        kind = "a lower bound" if chosen.kind is Kind.LOWER else "an approximation"
        of = {"unknown": for_, "method": method, "options": chosen_options, "kind": kind, "reason": chosen.kind_reason}
        raise no_answer("no_upper_bound", **of)
    return chosen


def _risk(wanted: str, method: str, options: dict[str, Any], given: dict[str, Any]) -> Risk | None:
    """What is read off the curve, with the arguments that it needs and no others; None for ε."""
    kind = next((each for each in RISKS if each.target == wanted), None)
    needs = ("delta",) if kind is None else kind.given
    for name, value in given.items():
        if value is not None and name not in needs:
            raise ValueError(f"Expected no {name}={value!r} with {wanted}, which does not depend on it. Leave it out.")
        if value is None and name in needs and kind is not None:
            raise ValueError(f"Expected {name} with {wanted}. Give {' and '.join(needs)}.")
    if kind is None:
        return None
    if method != Tight.name:
        raise ValueError(f"Expected method={method!r} to be {Tight.name!r}: {wanted} needs the whole privacy curve.")
    risk: Risk = kind(*(_validate.number(**{name: given[name]}) for name in needs))
    return risk


@dataclass
class _Problem(Calibration):
    """One accountant, one target, and all numbers but one: `known` are the mechanism's parameters, T and δ."""

    method: Accountant
    mechanism: Mechanism
    wanted: str = TARGETS[0]
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
            mechanism = mechanism.changed(**{name: value})
        return mechanism, numbers["steps"], numbers.get("delta", math.nan)

    def bound(self, name: str, value: float) -> Bound:
        """The accountant's bound there; asked once for each number, as the answer is looked at again in the end."""
        if (name, value) not in self._seen:
            self._seen[name, value] = self.bound_of(*self.at(name, value))
        return self._seen[name, value]

    def bound_of(self, mechanism: Mechanism, steps: float, delta: float) -> Bound:
        """What is to stay below the target."""
        return self.method.epsilon_of(mechanism, steps=steps, delta=delta)

    def fits(self, name: str, value: float) -> bool:
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
        if not isinstance(self.method, AdditiveAccountant) or self.method.searches(1):
            return  # what is searched says 0 where next to nothing is released
        orders, delta = self.method.orders, self.known["delta"]
        none = np.zeros(orders.size)
        floor = max(float(epsilon_per_order(none, orders, np.asarray(delta), self.method.conversion).min()), 0.0)
        if floor > 0.0 and self.target <= floor:
            of = {"target": self.target, "method": self.method.name, "order": orders[-1], "delta": delta}
            raise no_answer("floor", floor=floor, **of)

    def unreachable(self, name: str) -> NoAnswer:
        reason = self.bound(name, _ASKED_FOR_REASON.get(name, _MUCH_NOISE)).reason
        given = ", ".join(f"{key}={number:.12g}" for key, number in self.known.items())
        words = "delta below 1" if name == "delta" else name
        of = {"wanted": self.wanted, "target": self.target, "method": self.method.name, "unknown": words}
        return no_answer("unreachable", given=given, reason=reason, way_out=reason or f"Raise {self.wanted}.", **of)

    def start(self, name: str) -> float:
        """For an accountant that takes its time (tight), the Rényi accountant's answer."""
        if not isinstance(self.method, Tight) or Renyi().supports(self.mechanism):
            return super().start(name)
        try:
            value = replace(self, method=Renyi(), tolerance=1e-3, _seen={}).solved(name)
        except ValueError:  # below the floor of its orders
            return super().start(name)
        return value if 0.0 < value < math.inf else super().start(name)

    def _noise(self) -> float:
        """The least noise."""
        name, steps = self.mechanism.noise, self.known["steps"]
        bare, *_ = self.at(name, HARDLY_ANY_NOISE)
        if steps == 0.0 or not bare.releases:
            return 0.0
        drawn = bare.total_variation * (1.0 if isinstance(bare, SampledGaussian) else 1.0 + 1e-9)
        if self.needs_no_noise(chance_of_being_drawn(min(drawn, 1.0), steps)):
            return 0.0
        return self.least(name)

    def needs_no_noise(self, drawn: float) -> bool:
        """Whether the target is kept where each example is ever drawn with the probability `drawn`."""
        # The tight accountant stands for the mechanism itself, of which this is true; its grids end at so little noise.
        if self.known["delta"] < drawn:
            return False
        return isinstance(self.method, Tight) or self.fits(self.mechanism.noise, HARDLY_ANY_NOISE)

    def _sample_rate(self) -> float:
        """The largest q."""
        if self.known["steps"] == 0.0:
            return 1.0
        return self.largest("sample_rate")

    def _steps(self) -> float:
        """The largest whole T."""
        if not self.mechanism.releases:
            return math.inf
        self.check_floor()
        start = self.start("steps")
        if isinstance(self.method, AdditiveAccountant):
            start = self._additive_steps(self.method)
            near: Array = np.unique(np.clip(start + np.arange(-2.0, 3.0), 0.0, LARGEST_STEPS))
            bounds = self.method.epsilon_of(self.mechanism, steps=near, delta=self.known["delta"])
            fits = bounds.epsilon <= self.target
            if fits[0] and not fits.all():
                return float(near[int(fits.argmin()) - 1])
        tolerance = self.tolerance if isinstance(self.method, Tight) else 0.0
        return last_whole(
            lambda t: size_of_gap(float(self.bound("steps", t).epsilon), self.target), start, LARGEST_STEPS, tolerance
        )

    def _additive_steps(self, method: AdditiveAccountant) -> float:
        """max over α of (ε − tail(α))/R(α): the answer, but for rounding."""
        per_step = method.divergence(self.mechanism)
        if np.isnan(per_step).all():
            raise self.unreachable("steps")
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
            delta = self.least_delta("delta")
        if not delta < 1.0:  # NaN too
            raise self.unreachable("delta")
        for k in range(24):  # bounds that jitter may show a little less as δ(ε) than as ε(δ)
            larger = delta * (1.0 + 1e-4 * 2.0**k)
            if larger >= 1.0 or not isinstance(self.method, Tight) or self.fits("delta", delta):
                break
            delta = larger
        return nudged(delta, 1.0, lambda value: value >= 1.0 or self.fits("delta", value))


@dataclass
class _RiskProblem(_Problem):
    """The same for a risk in the place of ε."""

    risk: Risk = field(kw_only=True)

    def bound_of(self, mechanism: Mechanism, steps: float, delta: float) -> Bound:
        return bound_without_orders(np.asarray(self.risk.of(mechanism, int(steps))))

    def gap(self, name: str, value: float) -> float:
        return size_of_gap(*(self.risk.excess(each) for each in (float(self.bound(name, value).epsilon), self.target)))

    def start(self, name: str) -> float:
        return self.starts.get(name, 1.0)

    def needs_no_noise(self, drawn: float) -> bool:
        return bool(self.risk.each(np.zeros(1), np.array([drawn])).min() <= self.target)


@dataclass
class _TunedProblem(_Problem):
    """The same for the ε of the best of several runs."""

    search: Search = field(kw_only=True)

    def bound_of(self, mechanism: Mechanism, steps: float, delta: float) -> Bound:
        each = tuned_epsilon(mechanism=mechanism, steps=int(steps), delta=delta, **self.search)
        return bound_without_orders(np.asarray(each))

    def start(self, name: str) -> float:
        return _Problem(self.target, self.known, self.tolerance, self.method, self.mechanism).start(name)

    def needs_no_noise(self, drawn: float) -> bool:
        return super().needs_no_noise(min(1.0, drawn * self.search["runs"]))  # in any of the runs
