"""The question and its controls."""

import math
from collections.abc import Hashable
from dataclasses import replace
from typing import Any

from dpviz import library as dpviz
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.fields import numbers
from dpviz.gradients.law_bound import threshold_over_median
from dpviz.mechanisms import Event
from dpviz.questions import SIGMA, SIZE, Answer, cards, given, gradient_fields, kinds, make_question, slow_facts, units
from dpviz.questions.compose import bayesian, curves
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.gradient_fields import SOURCE
from dpviz.questions.gradients import Law
from dpviz.questions.layout import Groups, Item, Noted, Offered, Reader, experts
from dpviz.questions.methods import AMPLIFIED, RARE, WITH_ORDERS, offered
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, LOG_X, LOG_Y, TRIED
from dpviz.questions.tight_band import tight_part
from dpviz.questions.use import Plan, card_from, checked, gaussian, use_it


def layout(get: Reader) -> Groups:
    """What moves the curves that are drawn comes first; Gradients only where Bayesian DP is drawn."""
    shown = curves.drawn(get)
    *first, delta = kinds.controls(get)
    first += [curves.ORDER] if WITH_ORDERS & set(shown) else []
    if BAYESIAN in shown:
        first.append(Noted(curves.QUANTILE, "", noise_of(get)))
        linked = "Bayesian DP uses the same value: δ_μ = δ." if get(DELTA_MU) == DELTA_MU.default else ""
        delta = replace(units.suggested(SIZE, get), why=linked)
    groups: dict[str, tuple[Item, ...]] = {"Mechanism": (*first, delta, *experts(TRIED, *[LAW] * (get(TRIED) > 1)))}
    if BAYESIAN in shown:
        own: tuple[Item, ...] = experts(CLIP, FAILURE, curves.PSI)
        if get(SOURCE) == "law":
            own = (
                curves.SAMPLES,
                *(() if math.isinf(get(curves.SAMPLES)) else (FAILURE,)),
                *experts(curves.DEFINITION),
            )
        groups["Gradients"] = (*gradient_fields.controls(get, laws=True), *own, *experts(DELTA_MU, curves.READING))
    amplified = experts(AMPLIFICATION) if AMPLIFIED & set(shown) else ()
    return groups | {
        "Show": (Offered(curves.CURVES, offered(curves.CURVES, kinds.read(get)), RARE), LOG_X, LOG_Y, *amplified)
    }


def noise_of(get: Reader) -> str:
    """What the quantile costs, beside its slider."""
    known, quantile = curves.GRADIENTS.read(get), get(curves.QUANTILE)
    if not isinstance(known, Law) or not 0.0 < quantile < 1.0:
        return ""
    times = get(SIGMA) * threshold_over_median(known.family, known.shape, quantile)
    return f"Noise σC: {numbers.plain(times, digits=2)} × the median norm."


def plan_of(answer: Answer[ComposeFacts]) -> Plan:
    """The present setting, by the tightest valid bound that is drawn.

    Raises:
        ValueError: there is none to train with; says why.
    """
    given, key = answer.given, answer.facts.tightest()
    mechanism = gaussian(given["mechanism"])
    if key is None:
        raise ValueError("None of the selected accountants bounds ε here: select another one under Show, or add noise.")
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    return checked(
        Plan(sigma, rate, given["steps"], given["delta"], key, given["amplification"], moment=given["order"] or 0)
    )


def steps_of(answer: Answer[ComposeFacts]) -> list[Event]:
    """What is done; nothing for a mechanism whose privacy loss is not known."""
    return [] if Tight.name in answer.facts.left else [(answer.given["mechanism"], answer.given["steps"])]


def tuned_key(answer: Answer[ComposeFacts]) -> Hashable | None:
    """What decides the cost of tuning; None for one run."""
    return given("mechanism", "steps", "delta", "tried", "law")(answer) if answer.given["tried"] > 1 else None


def tuned_part(answer: Answer[ComposeFacts]) -> dict[str, Any]:
    """ε of the best of several runs; some 0.1 s."""
    asked = {name: answer.given[name] for name in ("mechanism", "steps", "delta", "law")}
    try:
        return {"tuned": dpviz.tuned_epsilon(**asked, runs=answer.given["tried"])}
    except ValueError as problem:
        return {"tuned": math.inf, "untuned": str(problem)}


GROWTH = make_question(
    "compose/compose",
    curves.growth,
    layout,
    presets=("abadi2", "bdpfig1", "bdpmnist", "bdpcifar", "lecuyer"),
    slow=(
        tight_part(steps_of, wanted=lambda answer: Tight.name in answer.given["curves"], log="log_steps", attack=True),
        slow_facts(bayesian.rank_key, bayesian.rank_part, drawn=bayesian.rank_drawn),
        slow_facts(bayesian.sampled_key, bayesian.sampled_part, bayesian.sampled_part, bayesian.sampled_drawn),
        slow_facts(bayesian.beside_key, bayesian.beside_part, drawn=bayesian.beside_drawn),
        slow_facts(tuned_key, tuned_part),
    ),
    more={
        "Distances": bayesian.distances,
        "Use it": lambda answer: use_it(lambda: plan_of(answer), card_from(answer)),
        "Accountants": lambda answer: cards(answer.given["curves"], answer.given["amplification"]),
    },
    below=bayesian.warned,
)
