"""Which noise keeps the target ε, along its axis; and the missing one of noise, T, q, δ, by every method."""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._remember import remembered
from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.accounting.solve import NoAnswer
from dpviz.charts import Axis, Column, Guide, Line, LinePlot, Ring
from dpviz.fields import choice, flag, number, numbers
from dpviz.gradients.law_solve import solve_law
from dpviz.mechanisms.mixture_pair import MixturePair
from dpviz.questions import DELTA, Question, annotated, gradient_fields, guessing, kinds, make_question, tight_band
from dpviz.questions.accountant_cards import cards
from dpviz.questions.answer import Answer, Slow, slow_facts
from dpviz.questions.gradients import Gradients, Law, clipped, tail
from dpviz.questions.layout import Expert, Groups, Item, Layout, Offered, Reader, Row, experts, fields_of
from dpviz.questions.methods import AMPLIFIED, RARE, coarse, epsilon_axis, offered
from dpviz.questions.needed import TOLERANCE, Known, Need, dp_need
from dpviz.questions.noise.curves import QUANTILES, BayesianAsk, Curve, NoiseAxis, bayesian_curves, dp_curve
from dpviz.questions.noise.needs import METHODS, TARGET, Needs, NoiseAsked, answers, asks, hue, weak
from dpviz.questions.shared import AMPLIFICATION, CLIP, DELTA_MU, FAILURE, LAW, TRIED
from dpviz.questions.tight_band import TightBand
from dpviz.questions.use import Plan, solved, use_it

UNKNOWN, TIGHT = choice("solvefor"), flag("noisetight")
LOW, HIGH, LOG_Y = number("noisefrom"), number("noiseto"), flag("noiselogy")

# Along the noise ----------------------------------------------------------------------------------------------------


def along_noise(
    *,
    lowest_noise: Annotated[float, LOW],
    largest_noise: Annotated[float, HIGH],
    log_epsilon: Annotated[bool, LOG_Y],
    **setting: Any,
) -> Answer[Needs]:
    """One curve a method; other keywords as in `NoiseAsked`."""
    ask = NoiseAsked(**setting)
    target, mechanism = ask.target_epsilon, ask.mechanism
    # While it moves half the points will do, but words about a sample's tail look at each; of mixtures, always.
    few = coarse() and (ask.gradients is None or isinstance(ask.gradients, Law))
    stride = 2 if few or isinstance(mechanism.pair(), MixturePair) else 1
    plan = NoiseAxis(lowest_noise, largest_noise, kinds.with_noise(mechanism, 1.0), ask.steps, stride)
    curves = [dp_curve(key, ask.amplification, plan, ask.delta, target) for key in ask.dp]

    def add(gradients: Gradients, weak: BayesianAsk) -> None:
        curves.extend(bayesian_curves(gradients, weak, plan, target))

    facts = ask.facts("noise_multiplier", add)
    needs = {  # the noise where the curve crosses the target, if it bounds anything
        curve.key: Need(curve.needs if curve.key in facts.valid and math.isfinite(curve.needs) else None)
        for curve in curves
        if not curve.key.startswith("printed.")
    }
    if Tight.name in facts.valid:
        needs[Tight.name] = Need(None, waits=True)
    facts = replace(facts, curves={curve.key: curve for curve in curves}, needs=needs, axis=plan)
    weak_too = BAYESIAN in ask.methods and ask.quantiles and BAYESIAN not in ask.left
    plot = LinePlot(
        x=Axis(**kinds.noise_axis(mechanism, lowest_noise, largest_noise)),
        y=epsilon_axis(
            log=log_epsilon,
            shown=partial(around, target=target, log=log_epsilon),
            title="ε (Bayesian DP: ε<sub>μ</sub>)" if weak_too else "ε",
            digits=3,
        ),
        lines=tuple(line(curve, facts, plan, ask.delta if curve.key in ask.dp else ask.weak_delta) for curve in curves),
        rings=crossings(facts, lowest_noise, largest_noise),
        guides=(
            Guide("y", target, f"target ε = {numbers.plain(target)}"),
            kinds.noise_guide(mechanism, facts.noise),
        ),
        more=tuple(fact for curve in curves if curve.bayesian for fact in tail(curve.key, curve.bayesian)),
        summary=answers(facts).alt,
    )
    return Answer(plot, facts)


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
    printed, symbol = curve.key.startswith("printed."), "ε_μ" if "." in curve.key else "ε"
    approximate = curve.estimate or curve.key not in facts.valid
    orders = () if np.isnan(curve.order).all() else (Column("α", curve.order, key="order"),)
    return Line(
        curve.key,
        curve.name,
        plan.sigma,
        curve.epsilon,
        BAYESIAN if printed else curve.key.partition(".")[0],
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


# Solved -------------------------------------------------------------------------------------------------------------


def missing(*, unknown: Annotated[str, UNKNOWN], tight: Annotated[bool, TIGHT], **setting: Any) -> Answer[Needs]:
    """One answer a method; other keywords as in `NoiseAsked`."""
    ask = NoiseAsked(**setting)
    target, plan = ask.target_epsilon, ask.composed
    needs = {key: dp_need(key, ask.amplification, unknown, target, plan.without(unknown)) for key in ask.dp}
    if tight and Tight.name not in ask.left:
        needs[Tight.name] = Need(None, waits=True)
    known = replace(plan, delta=ask.weak_delta).known(unknown)

    def add(gradients: Gradients, weak: BayesianAsk) -> None:
        asked = replace(weak, delta_mu=0.5)  # it stands in `known`
        needs[f"bayesian.{weak.quantile}"] = bayesian_need(gradients, asked, unknown, target, known)

    facts = replace(ask.facts(unknown, add), needs=needs)
    return Answer(answers(facts), facts)


@remembered
def bayesian_need(gradients: Gradients, weak: BayesianAsk, unknown: str, target: float, known: Known) -> Need:
    """The answer of Bayesian DP, certified where it can be; noise is a multiple of the sensitivity, as DP's σ is."""
    names, unit = {"delta": "delta_mu"}, 1.0
    solve: Callable[..., float]
    if isinstance(gradients, Law):
        solve = partial(solve_law, **gradients.clip(weak.share))
    else:
        seen = clipped(gradients, weak.share, weak.clip)
        options = {"estimator_failure": weak.failure, "tolerance": TOLERANCE, "largest_distance": seen.largest}
        solve = partial(dpviz.solve_bayesian, distances=seen.distances, **options)  # type: ignore[arg-type]
        names, unit = names | {"noise_multiplier": "noise_std"}, seen.sensitivity
    given: dict[str, Any] = {
        names.get(name, name): value * unit if name == "noise_multiplier" else value for name, value in known
    }
    try:
        value = solve(names.get(unknown, unknown), target_epsilon=target, **given)
    except NoAnswer as none:
        return Need(None, none.why)
    in_units = unknown == "noise_multiplier" and not isinstance(gradients, Law)
    return Need(value / unit * (1.0 + 2.0**-50) if in_units else value)


# Both ---------------------------------------------------------------------------------------------------------------


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
    plot = answers(facts) if band is None else tight_band.with_bands(answer, tight_band.band(band))
    return replace(answer, plot=plot, facts=facts)


def tuned_key(answer: Answer[Needs]) -> Hashable | None:
    """What decides the answer for the best of several runs; None for one run, and where δ is missing."""
    facts, tried = answer.facts, answer.given["tried"]
    if tried == 1 or facts.unknown == "delta" or Tight.name in facts.ask.left:
        return None
    search = (("runs", float(tried)), ("law", answer.given["law"]))
    return Tight.name, "", facts.unknown, facts.target, facts.ask.composed.without(facts.unknown), search


def layout(
    get: Reader,
    ask: tuple[Item, ...],
    mechanism: tuple[Item, ...],
    show: tuple[Item, ...],
    tight: tuple[Item, ...] = (),
) -> Groups:
    """The controls of either question, with what the methods that are asked need beside its own."""
    asked = Offered(METHODS, offered(METHODS, kinds.read(get)), RARE)
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


TUNED: Slow[Needs] = slow_facts(tuned_key, lambda answer: {"tuned": dp_need(*tuned_key(answer))})  # type: ignore[misc]


def plan_of(answer: Answer[Needs]) -> Plan:
    """The plan with the best DP method's answer in it.

    Raises:
        ValueError: there is none; says why.
    """
    key = answer.facts.dp
    value = answer.facts.needs[key].value if key else None
    if key is None or value is None:
        raise ValueError("None of the selected DP methods has an answer here: the notes give the reasons.")
    return solved(
        answer.facts.ask.composed, key, answer.given["amplification"], answer.facts.unknown, value, answer.facts.target
    )


def about(key: str, answer: Callable[..., Answer[Needs]], layout: Layout, **more: Any) -> Question[Needs]:
    """A question about noise: its own settings follow those that both have."""
    details = {
        "Use it": lambda answer: use_it(lambda: plan_of(answer)),
        "Accountants": lambda answer: cards((*answer.given["methods"], Tight.name), answer.given["amplification"]),
    }
    return make_question(
        f"noise/{key}",
        answer,
        layout,
        annotated(NoiseAsked),
        slow=(ACCURACY, Slow(tight_key, lambda answer: tight_part(answer), with_tight), TUNED),
        more=more.pop("more", {}) | details,
        **more,
    )


ALONG_NOISE = about(
    "noise",
    along_noise,
    lambda get: layout(get, (TARGET,), kinds.controls(get), (LOG_Y, Expert(Row((LOW, HIGH))))),
    presets=("bdpfig3", "bdpfig4"),
    option="curves",
    more={"Needed": lambda answer: [answers(answer.facts).table()]},
)
SOLVE = about(
    "solve",
    missing,
    lambda get: layout(get, (UNKNOWN, TARGET), kinds.controls(get, get(UNKNOWN)), (), (TIGHT,)),
    presets=("noisesgd",),
)
