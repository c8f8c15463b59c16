"""Which noise keeps the target ε, along its axis; and the missing one of noise, T, q, δ, by every method."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.accountant import Tight
from dpviz.accounting.solve import NoAnswer
from dpviz.charts.marks import Column, Guide, Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.gradients.law_solve import solve_law
from dpviz.questions import gradient_fields, guessing, kinds, tight_band
from dpviz.questions.answer import Answer, Slow, slow_facts
from dpviz.questions.cards import cards
from dpviz.questions.gradient_fields import gradients_where
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.layout import Expert, Groups, Item, Offered, Reader, Row, experts, fields_of
from dpviz.questions.mechanism import DELTA, STEPS
from dpviz.questions.methods import RARE, left_out
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need
from dpviz.questions.noise.curves import (
    BayesianAsk,
    Curve,
    NoiseAxis,
    bayesian_curves,
    dp_curve,
    law_curve,
    share_of,
)
from dpviz.questions.noise.fields import HIGH, LOG_Y, LOW, METHODS, QUANTILES, TARGET, TIGHT, UNKNOWN
from dpviz.questions.noise.needs import Needs, NoiseAsked, answers, hue, noise_label
from dpviz.questions.presets import presets
from dpviz.questions.question import Block, Question, Setting
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, IMAGE
from dpviz.questions.use.blocks import use_it
from dpviz.questions.use.plan import Plan, solved
from dpviz.questions.words import words

# Along the noise ----------------------------------------------------------------------------------------------------


def along_noise(*, lowest_noise: float, largest_noise: float, log_epsilon: bool, **setting: Any) -> Answer[Needs]:
    """One curve a method; other keywords as in `NoiseAsked`."""
    if largest_noise < 1.2 * lowest_noise:
        raise ValueError(
            f"The σ axis goes from {lowest_noise:.6g} to {largest_noise:.6g}: under Show, let it end at "
            f"{1.2 * lowest_noise:.3g} or more."
        )
    ask = NoiseAsked(**setting)
    target, mechanism = ask.target_epsilon, ask.mechanism
    plan = NoiseAxis(lowest_noise, largest_noise, kinds.with_noise(mechanism, 1.0), ask.steps)
    curves = [dp_curve(key, ask.amplification, plan, ask.delta, target) for key in ask.dp]

    def add(gradients: Gradients, quantile: str) -> None:
        if isinstance(gradients, Law):
            curves.append(law_curve(gradients, quantile, plan, ask.weak_delta, target))
        else:
            weak = BayesianAsk(quantile, ask.clip, ask.failure, ask.weak_delta)
            curves.extend(bayesian_curves(gradients, weak, plan, target))

    facts = ask.facts("noise_multiplier", add)
    needs = {curve.key: reached(curve, facts) for curve in curves if not curve.key.startswith("printed.")}
    if Tight.name in facts.valid:
        needs[Tight.name] = Need(None, waits=True)
    facts = replace(facts, curves={curve.key: curve for curve in curves}, needs=needs, axis=plan)
    name = noise_label(mechanism)
    weak_too = "bayesian" in ask.methods and ask.quantiles and "bayesian" not in ask.left
    plot = LinePlot(
        x=Axis(
            f"{name} (noise ÷ sensitivity)",
            name=name,
            column=mechanism.noise,
            log=True,
            shown=(lowest_noise, largest_noise),
            hover=f"{mechanism.symbol} = %{{x:.3~g}}",
        ),
        y=Axis(
            "ε (Bayesian DP: ε<sub>μ</sub>)" if weak_too else "ε",
            name="ε",
            column="epsilon",
            log=log_epsilon,
            shown=partial(around, target=target, log=log_epsilon),
            write=partial(numbers.epsilon, up=True),
            lowest="best",
            reading="attack",
        ),
        lines=tuple(line(curve, facts, plan, ask.delta if curve.key in ask.dp else ask.weak_delta) for curve in curves),
        rings=crossings(facts, lowest_noise, largest_noise),
        guides=(
            Guide("y", target, f"target ε = {numbers.plain(target)}"),
            Guide("x", facts.noise, f"my {mechanism.symbol} = {numbers.plain(facts.noise)}"),
        ),
        more=tuple(fact for curve in curves for fact in tail(curve)),
        summary=answers(facts).alt,
    )
    return Answer(plot, facts)


def reached(curve: Curve, facts: Needs) -> Need:
    """The noise where the curve crosses the target, if it bounds anything."""
    return Need(curve.needs if curve.key in facts.valid and math.isfinite(curve.needs) else None)


def crossings(facts: Needs, low: float, high: float) -> tuple[Ring, ...]:
    return tuple(
        Ring(
            need.value,
            facts.target,
            f"{facts.curves[key].name} reaches the target at <b>{facts.symbol} = {facts.text(key)}</b>",
            hue(key),
        )
        for key, need in facts.needs.items()
        if need.value is not None and low < need.value < high
    )


def line(curve: Curve, facts: Needs, plan: NoiseAxis, delta: float) -> Line:
    """A curve; of a pinned state the best of DP and the best of Bayesian DP stay."""
    printed, symbol = curve.key.startswith("printed."), "ε_μ" if curve.quantile else "ε"
    approximate = curve.estimate or curve.key not in facts.valid
    orders = () if np.isnan(curve.order).all() else (Column("α", curve.order, key="order"),)
    return Line(
        curve.key,
        curve.name,
        plan.sigma,
        curve.epsilon,
        "bayesian" if printed else curve.key.partition(".")[0],
        approximate=approximate,
        # One sample decides where there is little noise: all is dotted up to the last such point.
        dotted_until=float(plan.sigma[curve.dotted - 1]) if curve.dotted else None,
        hover=(guessing.allowed(f"right by {symbol} alone:", curve.epsilon, delta), *orders),
        color=hue(curve.key),
        end="" if printed else None,  # in its bound's hue, and dashed: a note says what it is
        kept=curve.key in (facts.best(bayesian=False), facts.best(bayesian=True)),
        label=f"{curve.name} (no bound)" if approximate else None,
        explained=bool(curve.reason),
    )


def around(lines: Sequence[Line], target: float, log: bool) -> tuple[float, float]:
    """Around the target, where the question is: four decades above it at most, and all that lies below."""
    values = np.concatenate([np.asarray(one.y)[one.seen(log)] for one in lines] or [np.empty(0)])
    values = values[values > 0] if values.size else np.array([target])
    low, high = min(float(values.min(initial=target)), target), max(float(values.max(initial=target)), target)
    if log:
        low, high = max(low, 1e-3 * target), min(high, 300.0 * target)
        return low / 1.3, max(high * 1.15, 10.0 * low)
    return 0.0, min(1.1 * high, 6.0 * target)


def tail(curve: Curve) -> list[tuple[str, Array]]:
    """What the file says of the sample's tail."""
    bound = curve.bayesian
    if bound is None:
        return []
    return [(f"largest_share_{curve.key}", bound.largest_share), (f"effective_size_{curve.key}", bound.effective_size)]


def band_key(answer: Answer[Needs]) -> tuple[Any, ...] | None:
    """What decides the tight interval along the noise; the target too where no formula answers for it."""
    facts = answer.facts
    if facts.axis is None or Tight.name in facts.ask.left:
        return None
    target = facts.target if Tight.name in facts.valid else None
    return facts.axis.low, facts.axis.high, facts.ask.composed.without("noise_multiplier"), target


def band_part(answer: Answer[Needs]) -> tuple[tight_band.TightBand, Need | None]:
    low, high, plan, target = band_key(answer) or ()
    band = tight_band.along_noise(low, high, plan.mechanism, plan.steps, plan.delta)
    return band, None if target is None else dp_need(Tight.name, "", "noise_multiplier", target, plan)


def with_band(answer: Answer[Needs], part: tuple[tight_band.TightBand, Need | None]) -> Answer[Needs]:
    assert isinstance(answer.plot, LinePlot)
    band, need = part
    facts = replace(answer.facts, tight=band, needs=answer.facts.needs | ({Tight.name: need} if need else {}))
    return replace(answer, plot=replace(answer.plot, bands=(tight_band.band(band),)), facts=facts)


# Solved -------------------------------------------------------------------------------------------------------------


def missing(*, unknown: str, tight: bool, **setting: Any) -> Answer[Needs]:
    """One answer a method; other keywords as in `NoiseAsked`."""
    ask = NoiseAsked(**setting)
    target, plan = ask.target_epsilon, ask.composed
    needs = {key: dp_need(key, ask.amplification, unknown, target, plan.without(unknown)) for key in ask.dp}
    if tight and Tight.name not in ask.left:
        needs[Tight.name] = Need(None, waits=True)
    known = replace(plan, delta=ask.weak_delta).known(unknown)

    def add(gradients: Gradients, quantile: str) -> None:
        weak = BayesianAsk(quantile, ask.clip, ask.failure, 0.5)
        needs[f"bayesian.{quantile}"] = (
            law_need(gradients, quantile, unknown, target, known)
            if isinstance(gradients, Law)
            else bayesian_need(gradients, weak, unknown, target, known)
        )

    facts = replace(ask.facts(unknown, add), needs=needs)
    return Answer(answers(facts), facts)


@remembered
def bayesian_need(gradients: Gradients, weak: BayesianAsk, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP, certified where it can be; noise is a multiple of the sensitivity, as DP's σ is."""
    seen = clipped(gradients, weak.share, weak.clip)
    names = {"noise_multiplier": "noise_std", "delta": "delta_mu"}
    units = {"noise_multiplier": seen.sensitivity}
    given: dict[str, Any] = {names.get(name, name): value * units.get(name, 1.0) for name, value in known}
    given |= {"target_epsilon": target, "estimator_failure": weak.failure, "tolerance": TOLERANCE}
    try:
        value = dpviz.solve_bayesian(
            names.get(unknown, unknown), seen.distances, largest_distance=seen.largest, **given
        )
    except NoAnswer as none:
        return Need(None, none.why)
    return Need(value / seen.sensitivity * (1.0 + 2.0**-50) if unknown == "noise_multiplier" else value)


@remembered
def law_need(gradients: Law, quantile: str, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP of a known distribution."""
    names = {"delta": "delta_mu"}
    given: dict[str, Any] = {names.get(name, name): value for name, value in known}
    given |= gradients.clip(share_of(quantile))
    try:
        return Need(solve_law(names.get(unknown, unknown), target_epsilon=target, **given))
    except NoAnswer as none:
        return Need(None, none.why)


def tight_key(answer: Answer[Needs]) -> Hashable | None:
    """What decides the tight accountant's answer; None where it is not asked."""
    facts = answer.facts
    if Tight.name not in facts.needs:
        return None
    return facts.unknown, facts.target, facts.ask.composed.without(facts.unknown)


def tight_part(answer: Answer[Needs]) -> Need:
    facts = answer.facts
    return dp_need(Tight.name, "", facts.unknown, facts.target, facts.ask.composed.without(facts.unknown))


def with_tight(answer: Answer[Needs], need: Need) -> Answer[Needs]:
    facts = replace(answer.facts, needs=answer.facts.needs | {Tight.name: need})
    return replace(answer, plot=answers(facts), facts=facts)


# Both ---------------------------------------------------------------------------------------------------------------


def offered(get: Reader) -> tuple[str, ...]:
    """The methods that there are under the chosen mechanism."""
    return tuple(key for key in METHODS.options if key not in left_out(METHODS.options, kinds.read(get)))


def asks(get: Reader, key: str) -> bool:
    """Whether a method is switched on, and offered."""
    return key in get(METHODS) and key in offered(get)


def weak(get: Reader) -> bool:
    """Whether Bayesian DP is asked at all."""
    return asks(get, "bayesian") and bool(get(QUANTILES))


def layout(
    get: Reader,
    ask: tuple[Item, ...],
    mechanism: tuple[Item, ...],
    show: tuple[Item, ...],
    tight: tuple[Item, ...] = (),
) -> Groups:
    """The controls of either question, with what the methods that are asked need beside its own."""
    asked = Offered(METHODS, offered(get), RARE)
    groups: dict[str, tuple[Item, ...]] = {"Ask": (*ask, asked, *tight), "Mechanism": mechanism}
    sample = get(gradient_fields.SOURCE) != "law"
    if asks(get, "bayesian"):
        drawn = (*gradient_fields.controls(get, laws=True), *(experts(CLIP) if sample else ()))
        groups["Data"] = (QUANTILES, *(drawn if weak(get) else ()))
    amplified = experts(AMPLIFICATION) if asks(get, "basic") or asks(get, "strong") else ()
    failures = (*((DELTA_MU,) if DELTA in fields_of(mechanism) else ()), *(experts(FAILURE) if sample else ()))
    return groups | {"Show": (*show, *(failures if weak(get) else ()), *amplified, Expert(IMAGE))}


# How often the best attack is right on the steps that DP's best answer makes.
ACCURACY: Slow[Needs] = slow_facts(
    lambda answer: None if Tight.name in answer.facts.ask.left else answer.facts.attacked,
    lambda answer: {"accuracy": guessing.accuracy(*(answer.facts.attacked or ()))},
    lambda answer: {"accuracy": guessing.accuracy_soon(*(answer.facts.attacked or ()))},
)


def plan_of(answer: Answer[Needs]) -> Plan:
    """The plan with the best DP method's answer in it.

    Raises:
        ValueError: there is none; says why.
    """
    key = answer.facts.dp
    value = answer.facts.needs[key].value if key else None
    if key is None or value is None:
        raise ValueError("No DP method that is switched on has an answer here: the notes say why.")
    return solved(
        answer.facts.ask.composed, key, answer.given["amplification"], answer.facts.unknown, value, answer.facts.target
    )


def question(key: str, own: Mapping[str, Setting], **more: Any) -> Question[Needs]:
    """A question about noise: its `own` settings follow those that both have."""
    details = {
        "Use it": lambda answer: use_it(lambda: plan_of(answer)),
        "Accountants": lambda answer: cards((*answer.given["methods"], Tight.name), answer.given["amplification"]),
    }
    return Question(
        key=key,
        settings={
            "mechanism": kinds.MECHANISM,
            "steps": STEPS,
            "delta": DELTA,
            "target_epsilon": TARGET,
            "methods": METHODS,
            "amplification": AMPLIFICATION,
            "quantiles": QUANTILES,
            "clip": CLIP,
            "delta_mu": DELTA_MU,
            "failure": FAILURE,
            "gradients": gradients_where(weak, laws=True),
            **own,
        },
        **words("noise", key),
        slow=(ACCURACY, more.pop("slow")),
        more=more.pop("more", {}) | details,
        **more,
    )


def needed(answer: Answer[Needs]) -> list[Block]:
    """Where each curve crosses, and what one saves against another."""
    return [answers(answer.facts).table()]


ALONG_NOISE = question(
    "noise",
    {"lowest_noise": LOW, "largest_noise": HIGH, "log_epsilon": LOG_Y},
    answer=along_noise,
    presets=presets("bdpfig3", "bdpfig4"),
    slow=Slow(band_key, band_part, with_band),
    layout=lambda get: layout(get, (TARGET,), kinds.controls(get), (LOG_Y, Expert(Row((LOW, HIGH))))),
    option="curves",
    more={"Needed": needed},
)
SOLVE = question(
    "solve",
    {"unknown": UNKNOWN, "tight": TIGHT},
    answer=missing,
    presets=presets("noisesgd"),
    slow=Slow(tight_key, tight_part, with_tight),
    layout=lambda get: layout(get, (UNKNOWN, TARGET), kinds.controls(get, get(UNKNOWN)), (), (TIGHT,)),
)
