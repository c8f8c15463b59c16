"""What one may stop at any time costs, beside what must be planned."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.bound import Bound
from dpviz.accounting.formula import tex
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.charts.marks import Column, Line, Region
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions import tight_band, units
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.budget.fields import CONVERSION, CURVES, TARGET, VARIANT
from dpviz.questions.budget.words import (
    ASSUMPTIONS,
    accountants,
    epsilon,
    in_table,
    odometer_formula,
    tight_figure,
    tight_notes,
)
from dpviz.questions.layout import Expert, Groups, Offered, Reader, experts
from dpviz.questions.mechanism import SETTINGS, SIGMA, SIZE, STEPS
from dpviz.questions.methods import marked_steps, step_grid
from dpviz.questions.presets import presets
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE, LOG_X, LOG_Y
from dpviz.questions.tight_band import TightBand

NAMES = {
    "odometer": "odometer",
    "other": "odometer, other sizes",
    "planned": "as if planned",
    "filter": "filter",
    "rogers": "Rogers odometer",
}
FAMILIES = {"other": "odometer_other", "planned": "renyi_classic"}
OTHER = {"paper": "authors", "authors": "paper", "powers": "paper"}


@dataclass(frozen=True, eq=False)
class StopFacts:
    """Accounts along the chart's steps, and what they say.

    Attributes:
        odometer, planned: ε at every step of the chart.
        rogers: ε by the odometer of Rogers et al. 2016 after the last step.
        allowed: steps that the filter lets pass; inf where they cost nothing.
        allowed_rogers: those that the filter of Rogers et al. lets pass.
        tight: the tight interval of planned steps, once it is there.
    """

    odometer: Bound
    planned: Bound
    rogers: float
    allowed: float
    allowed_rogers: int
    tight: TightBand | None = None


def stop(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    size: int,
    target_epsilon: float,
    variant: str,
    conversion: str,
    curves: tuple[str, ...],
    log_x: bool,
    log_y: bool,
) -> Answer[StopFacts]:
    """ε against steps by every account that is asked for."""
    x = step_grid(steps, log_x)
    step: dict[str, Any] = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "delta": delta}
    along = step | {"steps": x}
    bounds = {"odometer": OdometerAccountant(variant).evaluate(**along), "planned": Renyi(conversion).evaluate(**along)}
    if "other" in curves:
        bounds["other"] = OdometerAccountant(OTHER[variant]).evaluate(**along)
    rogers = np.asarray(dpviz.rogers_odometer_epsilon(**along, size=max(size, 2), horizon=steps))
    budget = dpviz.Filter(target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    allowed = budget.remaining_steps(dpviz.SampledGaussian(noise_multiplier, sample_rate))
    values = {key: bound.epsilon for key, bound in bounds.items()}
    values |= {"filter": np.where(x <= allowed, target_epsilon, np.nan), "rogers": rogers}
    lines = tuple(
        Line(
            key,
            name,
            x,
            values[key],
            FAMILIES.get(key, key),
            approximate=key == "planned",
            hover=(Column("α", bounds[key].order, key="order"),) if key in bounds else (),
            kept=key in ("odometer", "planned"),
        )
        for key, name in NAMES.items()
        if key in curves and not (key == "filter" and allowed == 0)
    )
    refused = allowed < steps and "filter" in curves
    plot = LinePlot(
        x=Axis(
            "steps",
            log=log_x,
            kind="steps",
            hover="%{x:,d} steps",
            write=numbers.steps,
            marks=tuple(map(float, marked_steps(steps))),
        ),
        y=Axis(
            "ε",
            column="epsilon",
            log=log_y,
            shown=None if log_y else without_rogers,
            write=in_table,
            lowest="best",
            reading="attack",
        ),
        lines=lines,
        regions=(Region(max(allowed, 1.0), math.inf, "beyond the filter's budget"),) if refused else (),
    )
    allowed_rogers = dpviz.rogers_filter_steps(target_epsilon=target_epsilon, **step)
    facts = StopFacts(bounds["odometer"], bounds["planned"], float(rogers[-1]), allowed, allowed_rogers)
    return Answer(plot, facts)


def without_rogers(lines: Sequence[Line]) -> tuple[float, float] | None:
    """None, unless Rogers' curve would press all others flat: then it leaves through the top."""
    tops = {line.key: float(y.max()) for line in lines if (y := np.asarray(line.y)[np.isfinite(line.y)]).size}
    others = max((top for key, top in tops.items() if key != "rogers"), default=0.0)
    return (0.0, 1.25 * others) if others > 0 and tops.get("rogers", 0.0) > 2.0 * others else None


def band_key(a: Answer[StopFacts]) -> Hashable | None:
    """What decides the tight interval."""
    g = a.given
    decides = ("noise_multiplier", "sample_rate", "steps", "delta", "log_x")
    return tuple(g[name] for name in decides) if "tight" in g["curves"] else None


def mechanism(a: Answer[StopFacts]) -> dpviz.SampledGaussian:
    return dpviz.SampledGaussian(a.given["noise_multiplier"], a.given["sample_rate"])


def band(a: Answer[StopFacts]) -> TightBand:
    g = a.given
    return tight_band.along_steps(mechanism(a), g["steps"], g["delta"], log=g["log_x"])


def band_soon(a: Answer[StopFacts]) -> TightBand:
    return tight_band.end([(mechanism(a), a.given["steps"])], a.given["delta"])


def with_band(a: Answer[StopFacts], found: TightBand) -> Answer[StopFacts]:
    assert isinstance(a.plot, LinePlot)
    plot = a.plot if found.soon else replace(a.plot, bands=(tight_band.band(found),))
    return replace(a, plot=plot, facts=replace(a.facts, tight=found))


def headline(a: Answer[StopFacts]) -> str:
    g, f = a.given, a.facts
    said = (
        f"If you may stop whenever you like, <b>{numbers.steps(g['steps'])}</b> step{'s' if g['steps'] > 1 else ''} "
        f"cost <b>ε ≤ {epsilon(float(f.odometer.epsilon[-1]))}</b> (odometer, δ = {numbers.delta(g['delta'])}); "
        f"had you planned exactly so many, <b>{epsilon(float(f.planned.epsilon[-1]))}</b>. "
    )
    target = numbers.plain(g["target_epsilon"], digits=4)
    if f.allowed == 0:
        return said + f"A budget of <b>ε = {target}</b> allows not a single such step."
    if math.isinf(f.allowed):
        return said + f"A budget of <b>ε = {target}</b> is never used up: these steps cost nothing."
    return said + (
        f"With a budget of <b>ε = {target}</b> fixed in advance a filter lets you take up to "
        f"<b>{numbers.steps(f.allowed)}</b> steps and stop anywhere."
    )


def metrics(a: Answer[StopFacts]) -> list[Metric]:
    g, f = a.given, a.facts
    odometer, planned = float(f.odometer.epsilon[-1]), float(f.planned.epsilon[-1])
    price = odometer / max(planned, 1e-300)
    dear = f"; {price:.2f} × the plan" if math.isfinite(price) and price < 1e6 else ""
    return [
        Metric("Stop when you like", epsilon(odometer), f"odometer, {VARIANT.options[g['variant']].lower()}{dear}"),
        Metric("As if planned", epsilon(planned), f"Rényi {g['conversion']}; no early stop"),
        Metric(
            f"Steps within ε = {numbers.plain(g['target_epsilon'])}",
            numbers.steps(f.allowed),
            f"filter; Rogers et al.: {numbers.steps(f.allowed_rogers)}",
        ),
        tight_figure(f.tight, wanted="tight" in g["curves"], off="off", held="for steps planned"),
    ]


def notes(a: Answer[StopFacts]) -> list[Note]:
    g, f, built = a.given, a.facts, []
    if bool(f.odometer.at_grid_end[-1]):
        order = float(f.odometer.order[-1])
        largest = order > 20
        floor = f"; it never reads below {numbers.epsilon(float(f.odometer.floor[-1]))}" if largest else ""
        text = f"the {'largest' if largest else 'smallest'} of its orders (α = {numbers.plain(order)}) decides{floor}."
        built.append(Note(f"Odometer: {text}"))
    if "rogers" in g["curves"]:
        above = math.isfinite(f.rogers) and f.rogers > 3 * f.odometer.epsilon[-1]
        built.append(
            Note(
                f"Rogers odometer (for N = {numbers.steps(max(g['size'], 2))} examples, at most "
                f"{numbers.steps(g['steps'])} steps): ε = {epsilon(f.rogers)} at the end"
                f"{', above the chart' if above else ''}."
            )
        )
    return [*built, *tight_notes(f.tight)]


def formulas(a: Answer[StopFacts]) -> list[tuple[str, str]]:
    g, f, built = a.given, a.facts, []
    order, value = float(f.odometer.order[-1]), float(f.odometer.epsilon[-1])
    if math.isfinite(order):
        odometer = OdometerAccountant(g["variant"])
        total = g["steps"] * odometer.step_divergence(g["noise_multiplier"], g["sample_rate"])
        built.append(odometer_formula(odometer, total, delta=g["delta"], order=order, value=value))
    limit = r"\varepsilon - \frac{\ln(1/\delta)}{\alpha-1}"
    if g["conversion"] == "improved":
        limit = r"\varepsilon - \ln\frac{\alpha-1}{\alpha} + \frac{\ln\delta+\ln\alpha}{\alpha-1}"
    count = r"\infty" if math.isinf(f.allowed) else f"{f.allowed:.0f}"
    return [
        *built,
        (
            "filter: a step is refused when this holds for every order (Lécuyer 2021, Eq. 4)",
            rf"\sum_i R_i(\alpha) > {limit},\qquad "
            rf"\varepsilon = {tex(g['target_epsilon'])}:\; {count}\ \text{{steps pass}}",
        ),
        (
            "Rogers odometer (Rogers et al. 2016, Thm 6.3), S = Σε²",
            r"\begin{aligned}\varepsilon &= \sum\frac{\varepsilon_i(e^{\varepsilon_i}-1)}{2} + "
            r"\sqrt{2S(1+\ln\sqrt3)"
            r"\ln\frac{4\log_2 n}{\delta}}\ \text{ for } \tfrac1{n^2}\le S\le 1,\\ &\text{else with } "
            r"\sqrt{2(\tfrac1{n^2}+S)(1+\tfrac12\ln(1+n^2S))\ln\tfrac{4\log_2 n}{\delta}}"
            rf"\quad\text{{now }} {tex(f.rogers)}\end{{aligned}}",
        ),
    ]


def shown_cards(a: Answer[StopFacts]) -> list[Block]:
    """Of every name that may be on the chart."""
    g = a.given
    other = "odometer_authors" if g["variant"] == "paper" else "odometer"
    return accountants(g["variant"], conversion=g["conversion"], others=(other, "rogers", "tight"))


def layout(get: Reader) -> Groups:
    return {
        "Budget": (TARGET, SIGMA, STEPS, Expert(VARIANT)),
        "Mechanism": units.controls(get),
        "Show": (Offered(CURVES, (*CURVES.options,), ("other",)), LOG_X, LOG_Y, *experts(VARIANT, CONVERSION, IMAGE)),
    }


STOP: Question[StopFacts] = Question(
    key="stop",
    title="May I stop when I like?",
    settings=SETTINGS
    | {
        "size": SIZE,
        "target_epsilon": TARGET,
        "variant": VARIANT,
        "conversion": CONVERSION,
        "curves": CURVES,
        "log_x": LOG_X,
        "log_y": LOG_Y,
    },
    answer=stop,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("fo2b"),
    slow=(Slow(band_key, band, with_band, band_soon),),
    layout=layout,
    more={"Accountants": shown_cards},
)
