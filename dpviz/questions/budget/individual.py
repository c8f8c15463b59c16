"""A budget for each person: who may take part how long, when short gradients cost less (Feldman & Zrnic 2021)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting.adaptive.individual import IndividualFilter, individual_steps
from dpviz.accounting.formula import tex
from dpviz.charts import look
from dpviz.charts.marks import Array, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.budget.fields import TARGET
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import PUBLIC_SIZE, SETTINGS
from dpviz.questions.norm_fields import FAMILY, THRESHOLD
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

NORMS = np.geomspace(1e-4, 1.0, 241)  # ÷ C
BEYOND = 100.0  # times the ordinary filter's steps that the chart shows


@dataclass(frozen=True)
class IndividualFacts:
    """One budget for each person.

    Attributes:
        order: α, fixed ahead.
        budget: ρ at it.
        ordinary: steps of the ordinary filter, which ends for all when someone at C has nothing left.
        median: steps of the person with the median norm.
        staying: share of the people who may still take part after T steps.
        weight: the same of the clipped norms: how much of the gradients is left in the sum.
    """

    order: float
    budget: float
    ordinary: float
    median: float
    staying: float
    weight: float


def individual(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    target_epsilon: float,
    family: str,
    threshold: float,
) -> Answer[IndividualFacts]:
    """Share of the people who may still take part against steps, by a filter each and by one for all."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0 nobody ever takes part and no budget is used: choose a sampling rate above 0.")
    norms = FAMILIES[family]
    known = {"noise_std": noise_multiplier * threshold, "largest_norm": threshold, "sample_rate": sample_rate}
    promise = {"target_epsilon": target_epsilon, "delta": delta}
    budget = IndividualFilter(people=1, **known, **promise)
    median = min(float(norms.largest(1.0)), threshold)
    ordinary, typical = individual_steps([threshold, median], **known, **promise).tolist()
    if ordinary < 1.0:
        raise ValueError(
            f"Not one step fits the budget: ε = {target_epsilon:g} at δ = {delta:g} asks for more noise, a lower "
            "sampling rate or a larger budget."
        )
    costs = np.log(budget.divergence(NORMS * threshold))
    even = np.round(np.geomspace(1.0, max(BEYOND * ordinary, 1.2 * steps), 241))
    x: Array = np.unique([*even.tolist(), ordinary, ordinary + 1.0, float(steps)])

    def left(t: Array) -> tuple[Array, Array]:
        """Shares of people, and of the sum of norms, after so many steps (n,)."""
        longest = threshold * np.exp(np.interp(np.log(budget.budget / t), costs, np.log(NORMS)))
        out = np.where(t <= ordinary, 0.0, norms.beyond(longest))
        held = norms.clipped_norm(longest) - longest * norms.beyond(longest)
        return 1.0 - out, np.where(t <= ordinary, 1.0, held / norms.clipped_norm(threshold))

    people, weight = left(x)
    (staying,), (kept,) = (part.tolist() for part in left(np.array([float(steps)])))
    plot = LinePlot(
        Axis("steps", log=True, kind="steps", hover="%{x:,d} steps", write=numbers.steps),
        Axis("share that may still take part", name="share", shown=(-0.02, 1.05)),
        (
            Line("people", "people", x, people, "filter"),
            Line("weight", "their gradients", x, weight, "filter", color=look.BROWN),
            Line("ordinary", "one filter for all", x, np.where(x <= ordinary, 1.0, 0.0), "budget", kept=False),
        ),
        guides=(Guide("x", steps, f"T = {numbers.short_steps(steps)}", told=False),),
        end_values=False,
    )
    return Answer(plot, IndividualFacts(budget.order, budget.budget, ordinary, typical, staying, kept))


def percent(share: float) -> str:
    return f"{numbers.plain(100.0 * share)} %"


def headline(a: Answer[IndividualFacts]) -> str:
    f, g = a.facts, a.given
    promise = f"ε = {numbers.plain(g['target_epsilon'], digits=4)} at δ = {numbers.delta(g['delta'])}"
    return (
        f"One budget for all of {promise} ends after <b>{numbers.steps(f.ordinary)}</b> steps; with a budget each, "
        f"<b>{percent(f.staying)}</b> of the people may still take part after {numbers.steps(g['steps'])}, and the one "
        f"with the median norm for <b>{numbers.steps(f.median)}</b>."
    )


def metrics(a: Answer[IndividualFacts]) -> list[Metric]:
    f = a.facts
    return [
        Metric("Steps of someone at C", numbers.steps(f.ordinary), "and of everybody, with one filter"),
        Metric("Steps at the median norm", numbers.steps(f.median), "while its gradients stay that long"),
        Metric("Still in after T", percent(f.staying), "of the people"),
        Metric("Gradients still in", percent(f.weight), "of the sum of clipped norms"),
    ]


def notes(a: Answer[IndividualFacts]) -> list[Note]:
    return [
        Note(
            "Not for publication: who has left, when, how many are left, and what anyone has spent follow from "
            "people's own gradients. Only the noisy sums may be shown, and what is made of them; the noise must not "
            "follow the number of those left either.",
            "caution",
        ),
        Note(
            "Everybody has the same promise, whether they took part in few steps or in many. Long gradients leave "
            "first, so what is learnt late is learnt from the others."
        ),
    ]


def formulas(a: Answer[IndividualFacts]) -> list[tuple[str, str]]:
    f = a.facts
    step = r"\frac{\alpha\,\lVert\bar g_{i,s}\rVert^2}{2\sigma^2C^2}"
    if a.given["sample_rate"] < 1.0:
        step = r"R_\alpha\Big(\frac{\sigma C}{\lVert\bar g_{i,s}\rVert}, q\Big)"
    return [
        (
            "Person i takes part in step t while (Feldman & Zrnic 2021)",
            rf"\sum_{{s \le t}} {step} \le \rho = {tex(f.budget)},\quad \alpha = {tex(f.order)}",
        )
    ]


def layout(get: Reader) -> Groups:
    return {"Budget": (TARGET, FAMILY, THRESHOLD), "Mechanism": units.controls(get), "Show": experts(IMAGE)}


INDIVIDUAL: Question[IndividualFacts] = Question(
    key="individual",
    title="A budget for each person",
    settings=SETTINGS | {"target_epsilon": TARGET, "family": FAMILY, "threshold": THRESHOLD},
    answer=individual,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Each person's gradient** is clipped to C at every step, and its norm is known to the trainer at every step, also
  where the person is not in the batch: that decides whether the person may take part.
- **The promise** is (ε, δ) for each person, at one Rényi order that is fixed ahead: the one at which someone at C may
  take part longest; improved conversion (Canonne, Kamath, Steinke 2020).
- **The family** stands for norms that stay as they are; in training they change, and the filter adds up what each step
  really costs. “One filter for all” charges everybody as if at C.
- Adding or removing one person, who has one example; Poisson sampling; Gaussian noise of std σC on the sum.
"""
    + PUBLIC_SIZE,
    layout=layout,
    more={"Accountants": lambda _: cards(("filter", "renyi_improved"))},
)
