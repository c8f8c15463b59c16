"""ε along the noise by every method, and where it crosses the target: how much noise does the target ε need?"""

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

import numpy as np

from dpviz.accounting.methods import BAYESIAN, Tight
from dpviz.charts import Column, Guide, Line, LinePlot, Ring
from dpviz.fields import flag, number, numbers
from dpviz.mechanisms.mixture_pair import MixturePair
from dpviz.questions import Answer, FieldControl, Question, annotated, experts, guessing, kinds, published
from dpviz.questions.gradients import Gradients, Law, tail
from dpviz.questions.methods import coarse, epsilon_axis
from dpviz.questions.needed import Need
from dpviz.questions.noise.answers import answers, hue
from dpviz.questions.noise.curves import BayesianAsk, Curve, NoiseAxis, bayesian_curves, dp_curve
from dpviz.questions.noise.needs import Needs, facts_without_dp
from dpviz.questions.noise.needs_words import WORDS
from dpviz.questions.noise.settings import TARGET, NoiseAsked
from dpviz.questions.noise.shared import DETAILS, SLOW, layout

LOW, HIGH, LOG_Y = number("noisefrom"), number("noiseto"), flag("noiselogy")


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
    plan = NoiseAxis(lowest_noise, largest_noise, kinds.with_noise(mechanism, 1.0), ask.steps, stride(ask))
    curves = [dp_curve(key, ask.amplification, plan, ask.delta, target) for key in ask.dp]

    def add(gradients: Gradients, weak: BayesianAsk) -> None:
        curves.extend(bayesian_curves(gradients, weak, plan, target))

    facts = facts_without_dp(ask, "noise_multiplier", add)
    needs = crossed(curves, facts.valid)
    if Tight.name not in ask.left:
        needs[Tight.name] = Need(None, waits=True)
    facts = replace(facts, curves={curve.key: curve for curve in curves}, needs=needs, axis=plan)
    plot = LinePlot(
        x=kinds.noise_axis(mechanism, lowest_noise, largest_noise, facts.unit),
        y=epsilon_axis(
            log=log_epsilon,
            shown=partial(around, target=target, log=log_epsilon),
            title="ε (Bayesian DP: ε<sub>μ</sub>)" if ask.bayesian else "ε",
            digits=3,
        ),
        lines=tuple(line(curve, facts, plan, ask.delta if curve.key in ask.dp else ask.weak_delta) for curve in curves),
        rings=crossings(facts, lowest_noise, largest_noise),
        end_values=False,
        guides=(
            Guide("y", target, f"target ε = {numbers.entered(target)}", sets=TARGET),
            kinds.noise_guide(mechanism, facts.noise),
        ),
        more=tuple(fact for curve in curves if curve.bayesian for fact in tail(curve.key, curve.bayesian)),
        summary=answers(facts).alt,
    )
    return Answer(plot, facts)


def stride(ask: NoiseAsked) -> int:
    """Which points of the axis curves have: every one, or every other.

    While it moves half the points will do, but words about a sample's tail look at each; of mixtures, always.
    """
    few = coarse() and (ask.gradients is None or isinstance(ask.gradients, Law))
    return 2 if few or isinstance(ask.mechanism.pair(), MixturePair) else 1


def crossed(curves: Sequence[Curve], valid: Collection[str]) -> dict[str, Need]:
    """The noise where each curve crosses the target, if it bounds anything."""
    needs = {
        curve.key: Need(curve.needs if curve.key in valid and math.isfinite(curve.needs) else None)
        for curve in curves
        if not curve.key.startswith("printed.")
    }
    return needs


def crossings(facts: Needs, low: float, high: float) -> tuple[Ring, ...]:
    return tuple(
        Ring(
            need.value,
            facts.target,
            f"{facts.curves[key].name} reaches the target",
            hue(key),
            name=f"{facts.symbol} {facts.text(key)}",
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


ALONG_NOISE = Question(
    "noise",
    "How much noise does the target ε need?",
    along_noise,
    WORDS,
    asks="needs",
    settings=annotated(NoiseAsked),
    presets=published("bdpfig3", "bdpfig4"),
    layout=lambda get: layout(get, (TARGET,), kinds.controls(get), (LOG_Y, *experts(FieldControl((LOW, HIGH))))),
    slow=SLOW,
    more={"Needed": lambda answer: [answers(answer.facts).table()], **DETAILS},
    option="curves",
)
