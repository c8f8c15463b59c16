"""Leave out one of σ, T, q, δ: what does each method need, or allow, for the target ε?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.solve import NoAnswer
from dpviz.gradients.law_solve import solve_law
from dpviz.questions import units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.layout import Groups, Reader
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need, left
from dpviz.questions.noise.curves import BayesianAsk, share_of
from dpviz.questions.noise.details import about
from dpviz.questions.noise.fields import ASKED, SHARED, TARGET, TIGHT, UNKNOWN, grouped
from dpviz.questions.noise.needs import Needs, NoiseAsked, answers
from dpviz.questions.presets import presets


def solved(*, unknown: str, tight: bool, **setting: Any) -> Answer[Needs]:
    """One answer a method; other keywords as in `NoiseAsked`."""
    ask = NoiseAsked(**setting)
    target, known = ask.target_epsilon, left(setting, unknown)
    found = {key: dp_need(key, ask.amplification, unknown, target, known) for key in ask.dp}
    if tight:
        found["tight"] = Need(None, waits=True)
    given = left(setting | {"delta": ask.weak_delta}, unknown)

    def add(gradients: Gradients, quantile: str) -> None:
        weak = BayesianAsk(quantile, ask.clip, ask.failure, 0.5)
        found[f"bayesian.{quantile}"] = (
            law_need(gradients, quantile, unknown, target, given)
            if isinstance(gradients, Law)
            else bayesian_need(gradients, weak, unknown, target, given)
        )

    facts = replace(ask.facts(unknown, add), needs=found)
    return Answer(answers(facts), facts)


@remembered
def bayesian_need(gradients: Gradients, weak: BayesianAsk, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP, certified where it can be; noise is a multiple of the sensitivity, as DP's σ is."""
    seen = clipped(gradients, weak.share, weak.clip)
    names = {"noise_multiplier": "noise_std", "delta": "delta_mu"}
    units = {"noise_multiplier": seen.sensitivity}
    asked: dict[str, Any] = {names.get(name, name): value * units.get(name, 1.0) for name, value in known}
    asked |= {"target_epsilon": target, "estimator_failure": weak.failure, "tolerance": TOLERANCE}
    try:
        found = dpviz.solve_bayesian(
            names.get(unknown, unknown), seen.distances, largest_distance=seen.largest, **asked
        )
    except NoAnswer as none:
        return Need(None, none.why)
    return Need(found / seen.sensitivity * (1.0 + 2.0**-50) if unknown == "noise_multiplier" else found)


@remembered
def law_need(gradients: Law, quantile: str, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP of a known distribution."""
    names = {"delta": "delta_mu"}
    asked: dict[str, Any] = {names.get(name, name): value for name, value in known}
    asked |= gradients.clip(share_of(quantile))
    try:
        return Need(solve_law(names.get(unknown, unknown), target_epsilon=target, **asked))
    except NoAnswer as none:
        return Need(None, none.why)


def tight_key(a: Answer[Needs]) -> Hashable | None:
    """What decides the tight accountant's answer; None where it is not asked."""
    g = a.given
    return (g["unknown"], g["target_epsilon"], left(g, g["unknown"])) if g["tight"] else None


def tight_part(a: Answer[Needs]) -> Need:
    g = a.given
    return dp_need("tight", "", g["unknown"], g["target_epsilon"], left(g, g["unknown"]))


def with_tight(a: Answer[Needs], found: Need) -> Answer[Needs]:
    facts = replace(a.facts, needs=a.facts.needs | {"tight": found})
    return replace(a, plot=answers(facts), facts=facts)


def layout(get: Reader) -> Groups:
    """What is solved for is not asked."""
    known = units.controls(get, without=SHARED[get(UNKNOWN)])
    return grouped(get, ask=(UNKNOWN, TARGET, ASKED, TIGHT), mechanism=known, show=())


SOLVE = about(
    "solve",
    "Solve for σ, T, q or δ",
    solved,
    {"unknown": UNKNOWN, "tight": TIGHT},
    presets("noisesgd"),
    Slow(tight_key, tight_part, with_tight),
    layout,
)
