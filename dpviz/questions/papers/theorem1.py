"""The main theorem of DP-SGD: how much noise, and which logarithm it saves (Abadi et al. 2016, Theorem 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.solve import NoAnswer
from dpviz.charts import look
from dpviz.charts.marks import Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import DELTA, PUBLIC_SIZE, RATE, SIZE, STEPS
from dpviz.questions.papers.fields import CLAIMED
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

MOST_STEPS = 1e7
POINTS = 25


@dataclass(frozen=True)
class TheoremFacts:
    """At T steps.

    Attributes:
        steps: T, at most MOST_STEPS.
        sigma: the least noise that the moments accountant accepts; NaN where none will do.
        strong: the least that strong composition accepts.
        c1: ε/(q²T): the theorem's c₁ must exceed it.
        c2: σε/(q√(T ln(1/δ))).
        extra: √ln(T/δ), the factor that standard composition adds.
    """

    steps: float
    sigma: float
    strong: float
    c1: float
    c2: float
    extra: float


def main_theorem(*, sample_rate: float, steps: int, delta: float, epsilon: float) -> Answer[TheoremFacts]:
    """Least σ against T by the moments accountant and by strong composition, beside the theorem's two forms."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 no example is ever used and no noise is needed: choose a sampling rate above 0.")
    here = min(float(steps), MOST_STEPS)
    x = np.unique(np.round([*np.geomspace(max(here / 1e3, 1.0), min(here * 1e2, MOST_STEPS), POINTS), here]))
    known = {"target_epsilon": epsilon, "sample_rate": sample_rate, "delta": delta}
    moments = np.array([least_noise("moments", steps=each, **known) for each in x])
    strong = np.array([least_noise("strong", steps=each, **known) for each in x])
    form = sample_rate * np.sqrt(x * -math.log(delta)) / epsilon
    constants = moments / form
    at = int(np.flatnonzero(x == here)[0])
    c2 = float(constants[at])
    extra = np.sqrt(np.log(x / delta))
    column = (Column("c₂ here", constants, key="c2"),)
    lines = (
        Line("moments", "moments accountant", x, moments, "moments", hover=column),
        Line("theorem1", "c₂ q√(T ln(1/δ))/ε", x, c2 * form, "closed_form", approximate=True, kept=False),
        Line("standard", "× √ln(T/δ)", x, c2 * form * extra, "basic", approximate=True, kept=False),
        Line("strong", "strong composition", x, strong, "strong", color=look.MAUVE),
    )
    plot = LinePlot(
        Axis("steps T", name="steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        Axis("least noise σ", column="noise_multiplier", log=True, write=noise_up),
        lines,
        guides=(Guide("x", here, f"T = {numbers.short_steps(here)}", told=False),),
        end_values=False,
    )
    facts = TheoremFacts(
        here, float(moments[at]), float(strong[at]), epsilon / (sample_rate**2 * here), c2, float(extra[at])
    )
    return Answer(plot, facts)


def least_noise(method: str, *, target_epsilon: float, sample_rate: float, steps: float, delta: float) -> float:
    """The least σ that the method accepts; NaN where there is none."""
    try:
        return float(
            dpviz.solve(
                "noise_multiplier",
                method=method,
                target_epsilon=target_epsilon,
                sample_rate=sample_rate,
                steps=steps,
                delta=delta,
            )
        )
    except NoAnswer:
        return math.nan


def noise_up(value: float) -> str:
    return numbers.epsilon(value, up=True)


def headline(a: Answer[TheoremFacts]) -> str:
    f = a.facts
    if math.isnan(f.sigma):
        return "No noise lets the moments accountant prove this ε, for its orders end at λ = 32: <b>raise ε or δ</b>."
    return (
        f"For ε = {numbers.plain(a.given['epsilon'])} after {numbers.steps(f.steps)} steps the moments accountant asks "
        f"for <b>σ ≥ {noise_up(f.sigma)}</b>, so <b>c₂ = {numbers.plain(f.c2)}</b> here; strong composition needs "
        f"<b>{noise_up(f.strong)}</b>."
    )


def metrics(a: Answer[TheoremFacts]) -> list[Metric]:
    f = a.facts
    return [
        Metric("c₂", numbers.plain(f.c2), "σ ε/(q√(T ln(1/δ)))"),
        Metric("c₁ must exceed", numbers.plain(f.c1), "ε/(q²T)"),
        Metric("The logarithm saved", f"× {numbers.plain(f.extra)}", "√ln(T/δ) of standard composition"),
        Metric("Strong ÷ moments", f"× {numbers.plain(f.strong / f.sigma)}", "noise that is really needed"),
    ]


def notes(a: Answer[TheoremFacts]) -> list[Note]:
    built = [
        Note(
            "Dashed: the theorem's form with c₂ as it comes out at this T, and the same times √ln(T/δ). The theorem "
            "says that such constants exist, not which; where the blue curve leaves the form, another c₂ is needed."
        )
    ]
    if a.given["steps"] > MOST_STEPS:
        built.append(Note("The chart ends at 10 million steps: T is taken as that.", "caution"))
    return built


def formulas(a: Answer[TheoremFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Abadi et al. 2016, Theorem 1",
            r"\varepsilon < c_1 q^2 T:\quad \sigma \ge c_2\,\frac{q\sqrt{T\ln(1/\delta)}}{\varepsilon}",
        ),
        (
            "Standard composition",
            r"\sigma = \Omega\!\left(\frac{q\sqrt{T\ln(1/\delta)\,\ln(T/\delta)}}{\varepsilon}\right)",
        ),
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (CLAIMED,), "Mechanism": (units.ALL, units.suggested(SIZE, get)), "Show": experts(IMAGE)}


MAIN_THEOREM: Question[TheoremFacts] = Question(
    key="theorem1",
    title="DP-SGD, Theorem 1: how much noise?",
    settings={"sample_rate": RATE, "steps": STEPS, "delta": DELTA, "epsilon": CLAIMED},
    answer=main_theorem,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Poisson sampling**, add or remove one example, Gaussian noise on the sum of clipped gradients.
- **Moments accountant:** λ ≤ 32, as the paper computes it. **Strong composition:** the exact rule for sampling.
- The condition c₁ is on ε: the form is right where many steps cost little each. The chart shows where it bends.
"""
    + PUBLIC_SIZE,
    layout=layout,
)
