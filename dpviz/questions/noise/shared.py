"""Slow parts, controls and details of both questions about a target ε."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.charts import LinePlot, Ring
from dpviz.questions import DELTA, Answer, Block, Slow, cards, gradient_fields, guessing, kinds, slow_facts, tight_band
from dpviz.questions.layout import FieldControl, Item, Layout, Reader, experts, fields_of
from dpviz.questions.methods import AMPLIFIED, RARE
from dpviz.questions.needed import Composed, Need, Search, dp_need
from dpviz.questions.noise.answers import answers, hue
from dpviz.questions.noise.curves import QUANTILES
from dpviz.questions.noise.needs import Needs
from dpviz.questions.noise.settings import METHODS, asks, weak
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, TRIED
from dpviz.questions.tight_band import TightBand
from dpviz.questions.use import Plan, solved, use_it


def tight_key(answer: Answer[Needs]) -> Hashable | None:
    """What decides the tight interval along the noise and the tight accountant's answer, as far as they are asked."""
    facts = answer.facts
    axis = (facts.axis.low, facts.axis.high) if facts.axis else None
    target = facts.target if Tight.name in facts.needs else None
    if Tight.name in facts.ask.left or (axis is None and target is None):
        return None
    return axis, target, facts.unknown, facts.ask.composed.without(facts.unknown)


def tight_part(answer: Answer[Needs]) -> tuple[TightBand | None, Need | None]:
    facts = answer.facts
    plan = facts.ask.composed.without(facts.unknown)
    band = need = None
    if facts.axis is not None:
        band = tight_band.along_noise(facts.axis.low, facts.axis.high, plan.mechanism, int(plan.steps), plan.delta)
    if Tight.name in facts.needs:
        need = dp_need(Tight.name, "", facts.unknown, facts.target, plan)
    return band, need


def with_tight(answer: Answer[Needs], part: tuple[TightBand | None, Need | None]) -> Answer[Needs]:
    band, need = part
    facts = replace(answer.facts, tight=band, needs=answer.facts.needs | ({Tight.name: need} if need else {}))
    if band is None:
        return replace(answer, plot=answers(facts), facts=facts)
    plot = tight_band.with_bands(answer, tight_band.band(band))
    assert isinstance(plot, LinePlot)
    if need and need.value is not None and facts.axis and facts.axis.low < need.value < facts.axis.high:
        name = f"{facts.symbol} {facts.text(Tight.name)}"
        ring = Ring(need.value, facts.target, f"{Tight().label} reaches the target", hue(Tight.name), name=name)
        plot = replace(plot, rings=(*plot.rings, ring))
    return replace(answer, plot=plot, facts=facts)


def tuned_key(answer: Answer[Needs]) -> tuple[str, str, str, float, Composed, Search] | None:
    """What decides the answer for the best of several runs; None for one run, and where δ is missing."""
    facts = answer.facts
    if facts.ask.tried == 1 or not facts.tunable:
        return None
    search = (("runs", float(facts.ask.tried)), ("law", facts.ask.law))
    return Tight.name, "", facts.unknown, facts.target, facts.ask.composed.without(facts.unknown), search


def layout(
    get: Reader,
    ask: tuple[Item, ...],
    mechanism: tuple[Item, ...],
    show: tuple[Item, ...],
    tight: tuple[Item, ...] = (),
) -> Layout:
    """The controls of either question, with what the methods that are asked need beside its own."""
    asked = FieldControl((METHODS,), options=kinds.offered(METHODS, get), expert_options=RARE)
    groups: dict[str, tuple[Item, ...]] = {"Ask": (*ask, asked, *tight), "Mechanism": mechanism}
    sample = get(gradient_fields.SOURCE) != "law"
    if asks(get, BAYESIAN):
        drawn = (*gradient_fields.controls(get, laws=True), *(experts(CLIP) if sample else ()))
        groups["Data"] = (QUANTILES, *(drawn if weak(get) else ()))
    amplified = experts(AMPLIFICATION) if any(asks(get, key) for key in AMPLIFIED) else ()
    failures = (*((DELTA_MU,) if DELTA in fields_of(mechanism) else ()), *(experts(FAILURE) if sample else ()))
    search = experts(TRIED, *[LAW] * (get(TRIED) > 1))
    return groups | {"Show": (*show, *(failures if weak(get) else ()), *amplified, *search)}


# How often the best attack is right on the steps that DP's best answer makes.
ACCURACY: Slow[Needs] = slow_facts(
    lambda answer: None if Tight.name in answer.facts.ask.left else answer.facts.attacked,
    lambda answer: {"accuracy": guessing.accuracy(*(answer.facts.attacked or ()))},
    lambda answer: {"accuracy": guessing.accuracy_soon(*(answer.facts.attacked or ()))},
)


def tuned_part(answer: Answer[Needs]) -> dict[str, Need]:
    """The noise for the best of several runs."""
    asked = tuned_key(answer)
    assert asked is not None
    return {"tuned": dp_need(*asked)}


TUNED: Slow[Needs] = slow_facts(tuned_key, tuned_part)


def plan_of(answer: Answer[Needs]) -> Plan:
    """The plan with the best DP method's answer in it.

    Raises:
        ValueError: there is none; says why.
    """
    facts = answer.facts
    value = facts.needs[facts.dp].value if facts.dp else None
    if facts.dp is None or value is None:
        raise ValueError("None of the selected DP methods has an answer here: the notes give the reasons.")
    return solved(facts.ask.composed, facts.dp, facts.ask.amplification, facts.unknown, value, facts.target)


def accountants(answer: Answer[Needs]) -> list[Block]:
    ask = answer.facts.ask
    return cards((*ask.methods, Tight.name), ask.amplification)


SLOW: tuple[Slow[Needs], ...] = (
    ACCURACY,
    Slow(tight_key, tight_part, with_tight),
    TUNED,
)
DETAILS: Mapping[str, Callable[[Answer[Needs]], Sequence[Block]]] = {
    "Use it": lambda answer: use_it(lambda: plan_of(answer)),
    "Accountants": accountants,
}
