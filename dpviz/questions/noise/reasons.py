"""Reasons why a method has no answer for a target ε, or a limited one."""

import math

from dpviz.accounting.methods import BAYESIAN, Moments
from dpviz.fields import numbers
from dpviz.questions.methods import method
from dpviz.questions.needed import Need
from dpviz.questions.noise.curves import Curve, name_of
from dpviz.questions.noise.needs import Needs, joined


def reasons(f: Needs) -> list[str]:
    """A sentence each, after the names of the methods that have this reason: "basic: a single step …"."""
    by_reason: dict[str, list[str]] = {}
    for key, need in f.needs.items():
        if not need.waits and (why := reason(f, key, need)):
            by_reason.setdefault(why, []).append(name_of(key))
    return [f"{joined(names)}: {why}" for why, names in by_reason.items()]


def reason(f: Needs, key: str, need: Need) -> str:
    """Of one method; empty where nothing limits it."""
    curve = f.curves.get(key)
    if not f.bounds(key) and (excluded := method(key, f.ask.amplification).kind_reason):
        return excluded
    if curve is not None and curve.reason:
        return curve.reason
    if need.value is None:
        return impossible(f, need) if curve is None else too_high(f, key, curve)
    if f.unknown == "delta" and key.startswith(BAYESIAN) and 0 < need.value < 1.01 * f.ask.failure:
        return "δ_μ cannot be less than γ, the failure probability of the estimator: lower γ or raise δ_μ, under Show."
    if f.unknown == "noise_multiplier" and need.value == 0:
        return (
            "no noise is needed: nothing is released, or δ is at least 1 − (1 − q)ᵀ. That is the probability that an "
            "example is ever drawn. Such a δ guarantees nothing for the examples that are drawn: choose a smaller one."
        )
    if f.unknown == "steps" and need.value == 0:
        return "a single step already costs more than the target."
    return ""


def impossible(f: Needs, need: Need) -> str:
    """Why no number is small or large enough."""
    why = f": {need.why.rstrip('.')}" if need.why else " here"
    return f"no {f.symbol} gives ε ≤ {numbers.at_most(f.target)}{why}."


def too_high(f: Needs, key: str, curve: Curve) -> str:
    """Why a curve does not reach the target where it is drawn."""
    above, last = "above the target on the whole σ axis.", float(curve.epsilon[-1])
    if not math.isfinite(last):
        return f"{above} At its end there is no finite ε: add noise."
    if (lowest := floor(f, key, curve)) >= f.target:
        return f"{above} Its orders end at λ = 32, so no noise gives less than ε = {numbers.down(lowest)}."
    return f"{above} At its end ε is {numbers.up(last)}: extend the σ axis (“to”, an expert setting of Show)."


def floor(f: Needs, key: str, curve: Curve) -> float:
    """What the largest order charges for doing nothing; 0 where that is not what keeps a curve up."""
    if key == Moments.name:
        return math.log(1 / f.ask.delta) / 32
    return 0.0 if curve.bayesian is None else float(curve.bayesian.floor[-1])
