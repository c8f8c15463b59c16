"""Give any all-but-one of (ε, δ, σ, q, T) and a method, get the missing one, never on the unsafe side.

    >>> training = dict(sample_rate=0.01, steps=10_000, delta=1e-5)
    >>> round(solve("noise_multiplier", target_epsilon=1.0, method="renyi", **training), 4)
    4.1253
    >>> solve("steps", target_epsilon=1.0, method="renyi", noise_multiplier=4.0, sample_rate=0.01, delta=1e-5)
    9378.0

In place of ε a target may be a risk, read off the whole privacy curve (`accounting.attack.trade_off`):

    >>> round(solve("noise_multiplier", target_advantage=0.1, method="tight", sample_rate=0.01, steps=10_000), 3)
    4.039

ε itself is `dpviz.epsilon`. What is returned was put back into the accountant: epsilon(method, answer) ≤ target_epsilon
holds for the very float.

The point where a monotone requirement starts to hold, approached from the side where it does.

The requirement is a function `gap` that is ≤ 0 where it holds; inf and −inf are allowed where it has no size. The
answer is always a point at which gap ≤ 0 was *seen*: rounding can make it a little too careful, never too bold.

Where a guarantee needs no noise: the event that an example is ever drawn fits into δ.

Of T Poisson samples with rate q an example is in none with probability (1 − q)^T; then it leaves no trace, whatever is
released. So any mechanism is (0, δ)-DP for δ ≥ 1 − (1 − q)^T, and those that are drawn may be published as they are:
formally a guarantee, and none that anyone should want.
"""

import math
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.accounting.attack.trade_off import RISKS, Risk
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.accounting.methods import Accountant, AdditiveAccountant, Options, Renyi, Tight, accountant, one_mechanism
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.search import OrderSearch
from dpviz.accounting.tuning import Search, tuned_epsilon
from dpviz.mechanisms import Mechanism, SampledGaussian

TARGETS = ("target_epsilon", *(risk.target for risk in RISKS))
UNKNOWNS = ("noise_multiplier", "steps", "sample_rate", "delta")
TOLERANCE = 2e-7  # of ln σ and ln q: a fifth of what is promised
LARGEST_STEPS = 2.0**53
_HARDLY_ANY_NOISE = 0.01  # σ that hides nothing: a method must agree there that no noise is needed


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


TightName = Literal["tight"]


@overload
def solve(for_: str, *, target_epsilon: float, method: str, **known: Unpack[EpsilonSolved]) -> float: ...
@overload
def solve(
    for_: str, *, target_epsilon: float, method: TightName, runs: float, law: str = ..., shape: float = ...,
    **known: Unpack[EpsilonSolved],
) -> float: ...  # fmt: skip
@overload
def solve(for_: str, *, target_advantage: float, method: TightName, **known: Unpack[OneStepSolved]) -> float: ...
@overload
def solve(for_: str, *, target_tpr: float, fpr: float, method: TightName, **known: Unpack[OneStepSolved]) -> float: ...
@overload
def solve(
    for_: str, *, target_reconstruction: float, prior: float, method: TightName, **known: Unpack[OneStepSolved]
) -> float: ...
@overload
def solve(
    for_: str, *, target_posterior: float, prior: float, delta: float, method: TightName,
    **known: Unpack[OneStepSolved],
) -> float: ...  # fmt: skip
@overload
def solve(for_: str, *, target_mu: float, delta: float, method: TightName, **known: Unpack[OneStepSolved]) -> float: ...
def solve(
    for_: str,
    *,
    method: str,
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
        method: one of METHODS, with options that make it an upper bound: nothing else may be relied on. For a risk,
            "tight".
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
    targets = {name: options.pop(name) for name in TARGETS if options.get(name) is not None}
    if len(targets) != 1:
        names = ", ".join(targets) or "none"
        raise ValueError(f"Expected one target, found {names}. Give one of {', '.join(TARGETS)}.")
    ((wanted, value),) = targets.items()
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
        own = {name: float(getattr(mechanism, name)) for name in mechanism.parameters() if name != for_}
        here = tuple(name for name in (mechanism.noise, "sample_rate") if name in mechanism.parameters())
        _validate.choice("for_", for_, (*here, "steps", "delta"))
        known = own | _validate.all_but_one(for_, {for_: None, **given})
    target = risk.check(value) if risk else _validate.number(target_epsilon=value)
    width = _validate.number(tolerance=tolerance)
    chosen = accountant(method, **options)
    if chosen.kind is not Kind.UPPER:
        chosen_options = f" with {', '.join(f'{key}={value!r}' for key, value in options.items())}" if options else ""
        kind = "a lower bound" if chosen.kind is Kind.LOWER else "an approximation"
        of = {"unknown": for_, "method": method, "options": chosen_options, "kind": kind, "reason": chosen.kind_reason}
        raise no_answer("no_upper_bound", **of)
    chosen.check(mechanism)
    if risk:
        return _RiskProblem(target, known, width, chosen, mechanism, wanted, risk=risk).solved(for_)
    if search:
        return _TunedProblem(target, known, width, chosen, mechanism, search=search).solved(for_)
    return _Problem(target, known, width, chosen, mechanism).solved(for_)


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


class NoAnswer(ValueError):
    """No value of the unknown will do; `why` says it in few words, for a page."""

    def __init__(self, message: str, why: str = "") -> None:
        super().__init__(message)
        self.why = why


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


def no_answer(key: str, **values: Any) -> NoAnswer:
    """The error of this key of solve.toml, with its values."""
    return NoAnswer(*(_TEXTS[key].get(part, "").format(**values) for part in ("message", "why")))


@dataclass
class _Problem:
    """One accountant, one target, and all numbers but one: `known` are the mechanism's parameters, T and δ."""

    target: float
    known: dict[str, float]
    tolerance: float
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

    def unreachable(self, words: str, name: str, value: float) -> NoAnswer:
        reason = self.bound(name, value).reason
        given = ", ".join(f"{key}={number:.12g}" for key, number in self.known.items())
        of = {"wanted": self.wanted, "target": self.target, "method": self.method.name, "unknown": words}
        return no_answer("unreachable", given=given, reason=reason, way_out=reason or f"Raise {self.wanted}.", **of)

    def start(self, name: str) -> float | None:
        """For an accountant that takes its time (tight), the Rényi accountant's answer."""
        if not isinstance(self.method, Tight) or Renyi().supports(self.mechanism):
            return None
        try:
            value = replace(self, method=Renyi(), tolerance=1e-3, _seen={}).solved(name)
        except ValueError:  # below the floor of its orders
            return None
        return value if 0.0 < value < math.inf else None

    def _noise(self) -> float:
        """The least noise."""
        name, steps = self.mechanism.noise, self.known["steps"]
        bare, *_ = self.at(name, _HARDLY_ANY_NOISE)
        if steps == 0.0 or not bare.releases:
            return 0.0
        drawn = bare.total_variation * (1.0 if isinstance(bare, SampledGaussian) else 1.0 + 1e-9)
        if self.needs_no_noise(chance_of_being_drawn(min(drawn, 1.0), steps)):
            return 0.0
        return self._searched(smallest, name, 1.0, 1e6)

    def needs_no_noise(self, drawn: float) -> bool:
        """Whether the target is kept where each example is ever drawn with the probability `drawn`."""
        # The tight accountant stands for the mechanism itself, of which this is true; its grids end at so little noise.
        if self.known["delta"] < drawn:
            return False
        return isinstance(self.method, Tight) or self.fits(self.mechanism.noise, _HARDLY_ANY_NOISE)

    def _searched(self, search: Callable[..., float | None], name: str, start: float, beyond: float) -> float:
        """The answer of `smallest` or `largest_share`."""
        self.check_floor()
        gap, fits = partial(self.gap, name), partial(self.fits, name)
        answer = search(gap, fits, self.start(name) or start, self.tolerance)
        if answer is None:
            raise self.unreachable(name, name, beyond)
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
            raise self.unreachable("steps", "steps", 1.0)
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
            raise self.unreachable("delta below 1", "delta", 0.5)
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

    def start(self, name: str) -> float | None:
        return None

    def needs_no_noise(self, drawn: float) -> bool:
        return bool(self.risk.each(np.zeros(1), np.array([drawn])).min() <= self.target)


@dataclass
class _TunedProblem(_Problem):
    """The same for the ε of the best of several runs."""

    search: Search = field(kw_only=True)

    def bound_of(self, mechanism: Mechanism, steps: float, delta: float) -> Bound:
        each = tuned_epsilon(mechanism=mechanism, steps=int(steps), delta=delta, **self.search)
        return bound_without_orders(np.asarray(each))

    def start(self, name: str) -> float | None:
        return _Problem(self.target, self.known, self.tolerance, self.method, self.mechanism).start(name)

    def needs_no_noise(self, drawn: float) -> bool:
        return super().needs_no_noise(min(1.0, drawn * self.search["runs"]))  # in any of the runs


# The point where a monotone requirement starts to hold --------------------------------------------------------------


Gap = Callable[[float], float]
Fits = Callable[[float], bool]

MOST_LOG = 230.0  # |ln x| that is tried; R(α) ~ q² of smaller q would underflow to 0 and seem free
_MOST_STEPS = 400


def size_of_gap(epsilon: float, target: float) -> float:
    """ln(ε/target), ≤ 0 exactly where ε ≤ target; ±inf where there is no such number."""
    if epsilon <= target:
        return math.log(epsilon / target) if epsilon > 0.0 else -math.inf
    if target == 0.0 or not math.isfinite(epsilon):  # NaN too: no bound is no proof
        return math.inf
    return max(math.log(epsilon / target), 5e-324)


def smallest(gap: Gap, fits: Fits, start: float, tolerance: float) -> float | None:
    """The smallest x > 0 with gap ≤ 0, which larger ones help: to a relative `tolerance`, rounded up until `fits`.

    None where no x will do; the least one that is tried where all do.
    """

    def at(log: float) -> float:
        return gap(math.exp(log))

    ends = bracket(at, math.log(start), towards=1.0, limit=MOST_LOG)
    if ends is None or math.isinf(ends[1]):
        return None if ends is None else math.exp(ends[0])
    return nudged(math.exp(boundary(at, *ends, tolerance)), 1.0, fits)


def largest_share(gap: Gap, fits: Fits, start: float, tolerance: float) -> float | None:
    """The largest x in (0, 1] with gap ≤ 0, which smaller ones help: rounded down until `fits`; None where none is."""
    at_one = gap(1.0)
    if at_one <= 0.0 and fits(1.0):
        return 1.0

    def at(log: float) -> float:
        return gap(math.exp(log)) if log < 0.0 else max(at_one, 5e-324) + log

    ends = bracket(at, math.log(start), towards=-1.0, limit=MOST_LOG)
    return None if ends is None else nudged(math.exp(boundary(at, *ends, tolerance)), -1.0, fits)


def nudged(value: float, direction: float, fits: Fits) -> float:
    """`value`, moved to the safe side by a few units in the last place where rounding put it on the other one."""
    for k in range(16):
        if fits(value):
            return value
        value *= 1.0 + direction * 2.0**-52 * 8.0**k
    raise ArithmeticError(f"no safe answer near {value!r}: please report this")  # ε jumps there: not a known accountant


def bracket(gap: Gap, start: float, towards: float, limit: float) -> tuple[float, float, float, float] | None:
    """Points on both sides of the boundary, found by growing steps from `start`.

    Args:
        gap: the requirement, holding further in the direction `towards`.
        start: where to look first.
        towards: +1 where larger x help, −1 where smaller ones do.
        limit: how far |x| may grow.

    Returns:
        (good, bad, gap(good), gap(bad)); bad is −towards·inf where even the limit is good, None where none is good.
    """
    x, value = start, gap(start)
    direction = towards if value > 0 else -towards
    # It crosses where gap falls by about 1 for each 1 of x, as ln ε against ln σ or ln q does at least.
    step = min(max(1.05 * abs(value), 0.02), 3.0) if math.isfinite(value) else 1.0
    while True:
        further = min(max(x + direction * step, -limit), limit)
        if further == x:
            return None if direction == towards else (x, -towards * math.inf, value, math.inf)
        beyond = gap(further)
        if (beyond > 0) != (value > 0):
            return (further, x, beyond, value) if direction == towards else (x, further, value, beyond)
        x, value, step = further, beyond, 2.0 * step


def boundary(gap: Gap, good: float, bad: float, at_good: float, at_bad: float, tolerance: float) -> float:
    """The good end of a bracket narrowed down to `tolerance`: secants (Illinois), halving where those stall."""
    held = 0  # how often in a row the same end has stayed
    weight_good, weight_bad = at_good, at_bad
    width = abs(good - bad)
    for step in range(1, _MOST_STEPS):
        if abs(good - bad) <= tolerance:
            break
        x = 0.5 * (good + bad)
        stalled = step % 4 == 0 and abs(good - bad) > 0.25 * width
        if step % 4 == 0:
            width = abs(good - bad)
        if math.isfinite(weight_good) and math.isfinite(weight_bad) and weight_bad > weight_good and not stalled:
            x = good + (bad - good) * (-weight_good / (weight_bad - weight_good))
            least = 0.5 * tolerance / abs(bad - good)  # no nearer to either end than that: each look must cut
            x = good + (bad - good) * min(max((x - good) / (bad - good), least), 1.0 - least)
        if x in (good, bad):  # no number lies between them
            break
        value = gap(x)
        if value <= 0:
            good, weight_good = x, value
            held = max(held, 0) + 1
            weight_bad = 0.5 * weight_bad if held > 1 else weight_bad
        else:
            bad, weight_bad = x, value
            held = min(held, 0) - 1
            weight_good = 0.5 * weight_good if held < -1 else weight_good
    return good


def last_whole(gap: Gap, start: float, largest: float, tolerance: float = 0.0) -> float:
    """The largest whole x in [0, largest] with gap ≤ 0, gap(0) ≤ 0 taken for granted; secants in ln x.

    With a `tolerance` > 0 a smaller x will do, by as large a part of itself.
    """
    good, at_good = 0.0, -math.inf
    x = float(min(max(math.floor(start), 1), largest))
    value = gap(x)
    factor = 2.0
    while value <= 0:  # upwards until it fails
        if x == largest:
            return largest
        good, at_good = x, value
        x = float(min(max(math.floor(x * factor), x + 1.0), largest))
        value, factor = gap(x), factor**2
    bad, at_bad = x, value
    held, tries = 0, 0
    while bad - good > max(1.0, tolerance * good):
        x = _between(good, bad, at_good, at_bad, halve=tries % 3 == 2)
        least = math.floor(0.5 * tolerance * good)  # no nearer to either end than that: each look must cut
        x = min(max(x, good + least), bad - least) if least else x
        tries += 1
        value = gap(x)
        if value <= 0:
            good, at_good, held = x, value, max(held, 0) + 1
            at_bad = 0.5 * at_bad if held > 1 else at_bad
        else:
            bad, at_bad, held = x, value, min(held, 0) - 1
            at_good = 0.5 * at_good if held < -1 else at_good
    return good


def _between(good: float, bad: float, at_good: float, at_bad: float, *, halve: bool) -> float:
    """A whole number strictly between two whole numbers: where the secant in ln x crosses 0, or half way."""
    if good == 0.0:
        x = math.sqrt(bad) if bad < 1e6 or halve else bad / 16.0
    elif halve or not (math.isfinite(at_good) and math.isfinite(at_bad) and at_bad > at_good):
        x = math.sqrt(good * bad)
    else:
        x = math.exp(math.log(good) + math.log(bad / good) * (-at_good / (at_bad - at_good)))
    return float(min(max(math.floor(x), good + 1.0), bad - 1.0))


# Where a guarantee needs no noise ------------------------------------------------------------------------------------


def chance_of_being_drawn(sample_rate: float, steps: float) -> float:
    """1 − (1 − q)^T, rounded up; q in [0, 1], T ≥ 0."""
    if sample_rate == 1.0:
        return float(steps > 0.0)
    return min(-math.expm1(steps * math.log1p(-sample_rate)) * (1.0 + 1e-12), 1.0)


def no_noise_needed(delta: float, sample_rate: float, steps: float) -> str:
    """What to tell someone who asks for a private run where `solve` answers that no noise is needed."""
    drawn = chance_of_being_drawn(sample_rate, steps)
    return str(no_answer("no_noise_needed", delta=delta, drawn=drawn, steps=steps, rate=sample_rate))
