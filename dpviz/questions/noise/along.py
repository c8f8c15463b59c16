"""Which noise keeps the target ε? Every method's ε along σ, and where it crosses the target."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpviz.charts import numbers
from dpviz.charts.guides import Guide
from dpviz.charts.marks import Column, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.charts.rings import Ring
from dpviz.questions import guessing, tight_band, units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.gradients import Gradients, Law
from dpviz.questions.layout import Expert, Groups, Reader, Row
from dpviz.questions.needed import Need
from dpviz.questions.noise.curves import Array, BayesianAsk, Curve, SigmaAxis, bayesian_curves, dp_curve, law_curve
from dpviz.questions.noise.details import accountants, use
from dpviz.questions.noise.fields import ASKED, HIGH, LOG_Y, LOW, SHARED, TARGET, grouped
from dpviz.questions.noise.needs import (
    Needs,
    accuracy_key,
    accuracy_part,
    accuracy_soon,
    answers,
    asked_of,
    hue,
    refused,
    with_accuracy,
    with_sample,
)
from dpviz.questions.noise.presets import FIGURES
from dpviz.questions.noise.words import ASSUMPTIONS, formulas, headline, metrics, notes
from dpviz.questions.question import Block, Question


def along_noise(
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
    lowest_noise: float,
    largest_noise: float,
    log_epsilon: bool,
) -> Answer[Needs]:
    """One curve a method. A sample that cannot be had is told, not raised: the other curves stand."""
    if largest_noise < 1.2 * lowest_noise:
        raise ValueError(
            f"The σ axis goes from {lowest_noise:.6g} to {largest_noise:.6g}: under Show, let it end at "
            f"{1.2 * lowest_noise:.3g} or more."
        )
    plan = SigmaAxis(lowest_noise, largest_noise, sample_rate, steps)
    facts = asked_of("noise_multiplier", target_epsilon, methods, amplification, quantiles)
    dp = [key for key in methods if key != "bayesian"]
    curves = [dp_curve(key, amplification, plan, delta, target_epsilon) for key in dp]
    if "bayesian" in methods and gradients is not None:
        try:
            facts = with_sample(facts, gradients, clip)
            for quantile in quantiles:
                curves += (
                    [law_curve(gradients, quantile, plan, delta_mu or delta, target_epsilon)]
                    if isinstance(gradients, Law)
                    else bayesian_curves(
                        gradients, BayesianAsk(quantile, clip, failure, delta_mu or delta), plan, target_epsilon
                    )
                )
        except ValueError as problem:
            facts = refused(facts, problem)
    found = {curve.key: reached(curve, facts) for curve in curves if not curve.key.startswith("printed.")}
    facts = replace(facts, curves={curve.key: curve for curve in curves}, needs=found)
    rings = crossings(facts, lowest_noise, largest_noise)
    plot = LinePlot(
        x=Axis(
            "noise multiplier σ (noise ÷ sensitivity)",
            name="noise multiplier σ",
            column="noise_multiplier",
            log=True,
            shown=(lowest_noise, largest_noise),
            hover="σ = %{x:.3~g}",
        ),
        y=Axis(
            "ε (Bayesian DP: ε<sub>μ</sub>)" if "bayesian" in methods and quantiles else "ε",
            name="ε",
            column="epsilon",
            log=log_epsilon,
            shown=partial(around, target=target_epsilon, log=log_epsilon),
            write=epsilon_up,
            lowest="best",
            reading="attack",
        ),
        lines=tuple(line(curve, facts, plan, delta if curve.key in dp else delta_mu or delta) for curve in curves),
        rings=rings,
        guides=(
            Guide("y", target_epsilon, f"target ε = {numbers.plain(target_epsilon)}"),
            Guide("x", noise_multiplier, f"my σ = {numbers.plain(noise_multiplier)}"),
        ),
        more=tuple(fact for curve in curves for fact in tail(curve)),
        said=answers(facts).alt,
    )
    return Answer(plot, facts)


def reached(curve: Curve, facts: Needs) -> Need:
    """σ where the curve crosses the target, if it bounds anything."""
    return Need(curve.needs if curve.key in facts.valid and math.isfinite(curve.needs) else None)


def crossings(facts: Needs, low: float, high: float) -> tuple[Ring, ...]:
    return tuple(
        Ring(
            need.value,
            facts.target,
            f"{facts.curves[key].name} reaches the target at <b>σ = {facts.text(key)}</b>",
            hue(key),
        )
        for key, need in facts.needs.items()
        if need.value is not None and low < need.value < high
    )


def line(curve: Curve, facts: Needs, plan: SigmaAxis, delta: float) -> Line:
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


def epsilon_up(value: float) -> str:
    return numbers.epsilon(value, up=True)


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
    found = curve.bayesian
    if found is None:
        return []
    return [(f"largest_share_{curve.key}", found.largest_share), (f"effective_size_{curve.key}", found.effective_size)]


def band_key(a: Answer[Needs]) -> Hashable:
    """What decides the tight interval along σ."""
    g = a.given
    return g["lowest_noise"], g["largest_noise"], g["sample_rate"], g["steps"], g["delta"]


def band_part(a: Answer[Needs]) -> tight_band.TightBand:
    g = a.given
    return tight_band.along_noise(g["lowest_noise"], g["largest_noise"], g["sample_rate"], g["steps"], g["delta"])


def with_band(a: Answer[Needs], found: tight_band.TightBand) -> Answer[Needs]:
    assert isinstance(a.plot, LinePlot)
    plot = replace(a.plot, bands=(tight_band.band(found),))
    return replace(a, plot=plot, facts=replace(a.facts, tight=found))


def needed(a: Answer[Needs]) -> list[Block]:
    """Where each curve crosses, and what one saves against another."""
    return [answers(a.facts).table()]


def layout(get: Reader) -> Groups:
    return grouped(get, ask=(TARGET, ASKED), mechanism=units.controls(get), show=(LOG_Y, Expert(Row((LOW, HIGH)))))


ALONG_NOISE: Question[Needs] = Question(
    key="noise",
    option="curves",
    title="Which noise keeps the target ε?",
    settings={**SHARED, "lowest_noise": LOW, "largest_noise": HIGH, "log_epsilon": LOG_Y},
    answer=along_noise,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=FIGURES,
    slow=(Slow(accuracy_key, accuracy_part, with_accuracy, accuracy_soon), Slow(band_key, band_part, with_band)),
    layout=layout,
    more={"Needed": needed, "Use it": use, "Accountants": accountants},
)
