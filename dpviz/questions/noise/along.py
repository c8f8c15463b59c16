"""Which noise keeps the target ε? Every method's ε along σ, and where it crosses the target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from dpviz.charts.marks import Column, Guide, Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions import guessing, tight_band, units
from dpviz.questions.answer import Answer, Slow
from dpviz.questions.gradients import Gradients, Law
from dpviz.questions.layout import Expert, Groups, Reader, Row
from dpviz.questions.needed import Need
from dpviz.questions.noise.curves import Array, BayesianAsk, Curve, SigmaAxis, bayesian_curves, dp_curve, law_curve
from dpviz.questions.noise.details import about
from dpviz.questions.noise.fields import ASKED, HIGH, LOG_Y, LOW, TARGET, grouped
from dpviz.questions.noise.needs import Needs, NoiseAsked, answers, hue
from dpviz.questions.presets import presets
from dpviz.questions.question import Block


def along_noise(*, lowest_noise: float, largest_noise: float, log_epsilon: bool, **setting: Any) -> Answer[Needs]:
    """One curve a method; other keywords as in `NoiseAsked`."""
    if largest_noise < 1.2 * lowest_noise:
        raise ValueError(
            f"The σ axis goes from {lowest_noise:.6g} to {largest_noise:.6g}: under Show, let it end at "
            f"{1.2 * lowest_noise:.3g} or more."
        )
    ask = NoiseAsked(**setting)
    target, plan = ask.target_epsilon, SigmaAxis(lowest_noise, largest_noise, ask.sample_rate, ask.steps)
    curves = [dp_curve(key, ask.amplification, plan, ask.delta, target) for key in ask.dp]

    def add(gradients: Gradients, quantile: str) -> None:
        if isinstance(gradients, Law):
            curves.append(law_curve(gradients, quantile, plan, ask.weak_delta, target))
        else:
            weak = BayesianAsk(quantile, ask.clip, ask.failure, ask.weak_delta)
            curves.extend(bayesian_curves(gradients, weak, plan, target))

    facts = ask.facts("noise_multiplier", add)
    found = {curve.key: reached(curve, facts) for curve in curves if not curve.key.startswith("printed.")}
    facts = replace(facts, curves={curve.key: curve for curve in curves}, needs=found)
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
            "ε (Bayesian DP: ε<sub>μ</sub>)" if "bayesian" in ask.methods and ask.quantiles else "ε",
            name="ε",
            column="epsilon",
            log=log_epsilon,
            shown=partial(around, target=target, log=log_epsilon),
            write=epsilon_up,
            lowest="best",
            reading="attack",
        ),
        lines=tuple(line(curve, facts, plan, ask.delta if curve.key in ask.dp else ask.weak_delta) for curve in curves),
        rings=crossings(facts, lowest_noise, largest_noise),
        guides=(
            Guide("y", target, f"target ε = {numbers.plain(target)}"),
            Guide("x", ask.noise_multiplier, f"my σ = {numbers.plain(ask.noise_multiplier)}"),
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


def band_key(a: Answer[Needs]) -> tuple[Any, ...]:
    """What decides the tight interval along σ."""
    return tuple(a.given[name] for name in ("lowest_noise", "largest_noise", "sample_rate", "steps", "delta"))


def band_part(a: Answer[Needs]) -> tight_band.TightBand:
    return tight_band.along_noise(*band_key(a))


def with_band(a: Answer[Needs], found: tight_band.TightBand) -> Answer[Needs]:
    assert isinstance(a.plot, LinePlot)
    plot = replace(a.plot, bands=(tight_band.band(found),))
    return replace(a, plot=plot, facts=replace(a.facts, tight=found))


def needed(a: Answer[Needs]) -> list[Block]:
    """Where each curve crosses, and what one saves against another."""
    return [answers(a.facts).table()]


def layout(get: Reader) -> Groups:
    return grouped(get, ask=(TARGET, ASKED), mechanism=units.controls(get), show=(LOG_Y, Expert(Row((LOW, HIGH)))))


ALONG_NOISE = about(
    "noise",
    "Which noise keeps the target ε?",
    along_noise,
    {"lowest_noise": LOW, "largest_noise": HIGH, "log_epsilon": LOG_Y},
    presets("bdpfig3", "bdpfig4"),
    Slow(band_key, band_part, with_band),
    layout,
    option="curves",
    more={"Needed": needed},
)
