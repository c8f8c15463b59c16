"""Leave out one of σ, T, q, δ: what does each method need, or allow, for the target ε?"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import dpviz
from dpviz._remember import remembered
from dpviz.accounting.boundary import boundary, bracket, last_whole
from dpviz.accounting.solve import LARGEST_STEPS, NoAnswer, size_of_gap
from dpviz.questions import units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.layout import Groups, Reader
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need, left
from dpviz.questions.noise.curves import BayesianAsk, SigmaAxis, law_at
from dpviz.questions.noise.details import accountants, use
from dpviz.questions.noise.fields import ASKED, SHARED, TARGET, TIGHT, UNKNOWN, grouped
from dpviz.questions.noise.needs import (
    Needs,
    accuracy_key,
    accuracy_part,
    accuracy_soon,
    answers,
    asked_of,
    refused,
    with_accuracy,
    with_sample,
)
from dpviz.questions.noise.presets import SGD
from dpviz.questions.noise.words import ASSUMPTIONS, formulas, headline, metrics, notes
from dpviz.questions.question import Question

_MOST_LOG = {"noise_multiplier": 40.0, "sample_rate": 40.0, "delta": 690.0}  # looked at, away from 1


def solved(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    target_epsilon: float,
    methods: tuple[str, ...],
    amplification: str,
    quantiles: tuple[str, ...],
    clip: str,
    delta_mu: float | None,
    failure: float,
    gradients: Gradients | None,
    unknown: str,
    tight: bool,
) -> Answer[Needs]:
    """One answer a method. A sample that cannot be had is told, not raised: the other answers stand."""
    known = {"noise_multiplier": noise_multiplier, "steps": steps, "sample_rate": sample_rate, "delta": delta}
    facts = asked_of(unknown, target_epsilon, methods, amplification, quantiles)
    found = {
        key: dp_need(key, amplification, unknown, target_epsilon, left(known, unknown))
        for key in methods
        if key != "bayesian"
    }
    if tight:
        found["tight"] = Need(None, waits=True)
    if "bayesian" in methods and gradients is not None:
        try:
            facts = with_sample(facts, gradients, clip)
            for quantile in quantiles:
                weak = BayesianAsk(quantile, clip, failure, 0.5)
                given = left(known | {"delta": delta_mu or delta}, unknown)
                found[f"bayesian.{quantile}"] = (
                    law_need(gradients, quantile, unknown, target_epsilon, given)
                    if isinstance(gradients, Law)
                    else bayesian_need(gradients, weak, unknown, target_epsilon, given)
                )
        except ValueError as problem:
            facts = refused(facts, problem)
    facts = replace(facts, needs=found)
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
    """The answer of Bayesian DP of a known distribution; it costs no more than Rényi's, where the search starts."""
    dp = dp_need("renyi_improved", "", unknown, target, known)
    if dp.value in (0.0, math.inf) and unknown != "steps":
        return dp

    def gap(value: float) -> float:
        given = dict(known) | {unknown: value}
        plan = SigmaAxis(1.0, 2.0, given["sample_rate"], int(given["steps"]))
        [epsilon], _ = law_at(gradients, quantile, plan, given["delta"], (given["noise_multiplier"],))
        return size_of_gap(float(epsilon), target)

    if unknown == "steps":
        return dp if dp.value == math.inf else Need(last_whole(gap, dp.value or 1.0, LARGEST_STEPS))
    top = {"sample_rate": 1.0, "delta": 1.0 - 2.0**-53}.get(unknown, math.inf)
    if unknown == "sample_rate" and gap(top) <= 0.0:
        return Need(top)
    start, towards = math.log(dp.value or 0.01), -1.0 if unknown == "sample_rate" else 1.0
    found = bracket(lambda x: gap(min(math.exp(x), top)), start, towards, limit=_MOST_LOG[unknown])
    if found is None:
        return Need(None)
    good = found[0] if math.isinf(found[1]) else boundary(lambda x: gap(min(math.exp(x), top)), *found, TOLERANCE)
    return Need(min(math.exp(good), top))


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


SOLVE: Question[Needs] = Question(
    key="solve",
    title="Solve for σ, T, q or δ",
    settings={**SHARED, "unknown": UNKNOWN, "tight": TIGHT},
    answer=solved,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=(SGD,),
    slow=(Slow(accuracy_key, accuracy_part, with_accuracy, accuracy_soon), Slow(tight_key, tight_part, with_tight)),
    layout=layout,
    more={"Use it": use, "Accountants": accountants},
)
