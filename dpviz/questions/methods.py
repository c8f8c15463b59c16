"""Accountants under the names by which questions call them, and the steps and axes of their curves."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.accountant import Accountant, needs_sampled_gaussian
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.accounting.methods import (
    METHODS,
    Basic,
    MixtureOdometer,
    OdometerAccountant,
    Renyi,
    Tight,
    accountant,
    every_choice,
)
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.charts import Axis, Span
from dpviz.fields import numbers
from dpviz.mechanisms import Mechanism

POINTS, COARSE = 200, 32
_points: ContextVar[int] = ContextVar("points", default=POINTS)

_EVERY = sorted(
    (accountant(name, **options) for name, options in every_choice()),
    key=lambda each: (METHODS.index(each.name), each.family),
)
_BY_KEY = {each.family: each for each in reversed(_EVERY)}
# What a curve's family is called: the first accountant of each, which has its default options.
NAMES = {each.family: each.label for each in reversed(_EVERY)} | {
    bayesian.NAME: bayesian.CARD.name,
    "bayesian_printed": "asymptotic, as printed",
}
_PLANNED = [e.family for e in _EVERY if not isinstance(e, Tight | OdometerAccountant | MixtureOdometer)]
# Whose curves pages offer: all that bound a plan by a formula, and Bayesian DP.
OFFERED = {key: NAMES[key] for key in (*_PLANNED, bayesian.NAME)}

# Those that know two rules of amplification, those that have an order λ, and those that only experts look for.
AMPLIFIED = {each.family for each in _EVERY if "amplification" in each.choices}
WITH_ORDERS = {each.family for each in _EVERY if isinstance(each, AdditiveAccountant)} | {bayesian.NAME}
RARE = (Basic.name, Renyi("classic").family)


def called(key: str, amplification: str, moment: int = 0) -> tuple[str, dict[str, Any]]:
    """What the library calls the accountant behind a curve's key, and its options; at one λ alone if not 0."""
    chosen = _BY_KEY[key]
    options: dict[str, Any] = {name: getattr(chosen, name) for name in chosen.choices}
    if "amplification" in options:
        options["amplification"] = amplification
    elif moment and "max_order" in chosen.options:
        options |= {"min_order": moment, "max_order": moment}
    elif moment:
        options["orders"] = (moment + 1.0,)
    return chosen.name, options


def method(key: str, amplification: str, moment: int = 0) -> Accountant:
    """The accountant behind a curve's key; at one λ = α − 1 alone if `moment` is not 0, where it has orders."""
    name, options = called(key, amplification, moment)
    return accountant(name, **options)


def left_out(curves: Iterable[str], mechanism: Mechanism) -> dict[str, str]:
    """The curves that there are none of under this mechanism, and why."""
    reasons = {
        key: needs_sampled_gaussian(mechanism) if key == bayesian.NAME else method(key, "exact").supports(mechanism)
        for key in curves
    }
    return {key: reason for key, reason in reasons.items() if reason}


def without(reasons: Mapping[str, str]) -> list[str]:
    """What must be said of curves that are left out; those with one reason together."""
    by_reason: dict[str, list[str]] = {}
    for key, reason in reasons.items():
        by_reason.setdefault(reason, []).append(NAMES[key])
    return [
        f"Not offered for this mechanism: {', '.join(names)}. {why[0].upper()}{why[1:].rstrip('.')}."
        for why, names in by_reason.items()
    ]


def step_grid(steps: int, log: bool, points: int | None = None) -> Array:
    """At most so many whole numbers from 1 to `steps`, both included, even on the axis they are drawn on; where no
    number is given, POINTS and those of the table.

    Few are denser early on an even axis, where curves bend.
    """
    most = points or _points.get()
    if steps <= most:
        return np.arange(1.0, steps + 1.0)
    share = np.linspace(0.0, 1.0, most) ** (1.5 if coarse() else 1.0)
    even = np.round(np.geomspace(1.0, steps, most) if log else 1.0 + (steps - 1.0) * share)
    listed = [] if points or coarse() else marked_steps(steps)
    return np.unique(np.append(even, listed))


def coarse() -> bool:
    """Whether few points will do (`coarsely`)."""
    return _points.get() == COARSE


@contextmanager
def coarsely() -> Iterator[None]:
    """Within, curves along steps have fewer points: enough for the eye while they move, with the same ends."""
    before = _points.set(COARSE)
    try:
        yield
    finally:
        _points.reset(before)


def marked_steps(steps: int) -> list[int]:
    """1, 2, 5, 10, … below `steps`, the last dozen of them, and `steps`."""
    marks = [m * 10**e for e in range(13) for m in (1, 2, 5) if m * 10**e < steps]
    return [*marks[-12:], steps]


def steps_axis(name: str = "steps", *, log: bool = True, marked: int = 0, shown: Span | None = None) -> Axis:
    """An axis of steps; the table has rows at the marked ones up to `marked`, where that is given."""
    return Axis(
        name,
        column="steps",
        log=log,
        kind="steps",
        shown=shown,
        hover=f"%{{x:,d}} {name}",
        write=numbers.steps,
        marks=tuple(map(float, marked_steps(marked))) if marked else None,
    )


def epsilon_axis(*, log: bool = False, shown: Any = None, title: str = "ε", digits: int = 4) -> Axis:
    """The axis of ε: rounded up in the table, with what it alone allows attackers at the lines' ends."""
    return Axis(
        title,
        name="ε",
        column="epsilon",
        log=log,
        shown=shown,
        write=partial(numbers.epsilon, digits=digits, up=True),
        lowest="best",
        reading="attack",
    )
