"""Leave out one of σ, T, q, δ: what does each method need, or allow, for the target ε?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import dpviz
from dpviz._remember import remembered
from dpviz.accounting.solve import NoAnswer
from dpviz.gradients.law_solve import solve_law
from dpviz.questions import units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.layout import Groups, Reader
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need, left
from dpviz.questions.noise.curves import BayesianAsk, share_of
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
    """The answer of Bayesian DP of a known distribution."""
    names = {"delta": "delta_mu"}
    asked: dict[str, Any] = {names.get(name, name): value for name, value in known}
    asked |= {"family": gradients.family, "shape": gradients.shape, "quantile": share_of(quantile)}
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
