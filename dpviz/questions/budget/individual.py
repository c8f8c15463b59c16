"""A privacy budget for each person: short gradients cost less and let them take part longer (Feldman & Zrnic 2021)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.individual import IndividualFilter, individual_steps
from dpviz.accounting.methods import Renyi
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions import (
    DELTA,
    RATE,
    SIGMA,
    STEPS,
    Answer,
    Formula,
    Metric,
    Note,
    Question,
    Words,
    cards,
    setting,
    units,
)
from dpviz.questions.budget.shared import TARGET
from dpviz.questions.mechanism import PUBLIC_SIZE, shown_delta
from dpviz.questions.methods import steps_axis
from dpviz.questions.norm_fields import FAMILY, THRESHOLD

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
    sample_rate: float
    steps: int
    delta: float
    target_epsilon: float


def individual(
    *,
    noise_multiplier: Annotated[float, SIGMA],
    sample_rate: Annotated[float, RATE],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    target_epsilon: Annotated[float, TARGET],
    family: Annotated[str, FAMILY],
    threshold: Annotated[float, THRESHOLD],
) -> Answer[IndividualFacts]:
    """Share of the people who may still take part against steps, by a filter each and by one for all."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, nobody takes part and no budget is used: choose a sampling rate above 0.")
    norms = FAMILIES[family]
    setting = {
        "noise_std": noise_multiplier * threshold,
        "largest_norm": threshold,
        "target_epsilon": target_epsilon,
        "delta": delta,
        "sample_rate": sample_rate,
    }
    budget = IndividualFilter(people=1, **setting)
    median = min(float(norms.largest(1.0)), threshold)
    ordinary, typical = individual_steps([threshold, median], **setting).tolist()
    if ordinary < 1.0:
        raise ValueError(
            f"Not a single step fits the budget: ε = {target_epsilon:g} at δ = {delta:g} requires more noise, a lower "
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
    all_alike = np.where(x <= ordinary, 1.0, 0.0)
    plot = LinePlot(
        x=steps_axis(),
        y=Axis("share that may still take part", name="share", shown=(-0.02, 1.05)),
        lines=(
            Line("people", "people", x, people, FILTER),
            Line("weight", "their gradients", x, weight, look.SOLID, color=look.BROWN),
            Line("ordinary", "one filter for all", x, all_alike, "budget", kept=False),
        ),
        guides=(Guide("x", steps, f"T = {numbers.short_steps(steps)}", noted=False, sets=STEPS),),
        end_values=False,
    )
    (staying,), (kept,) = (part.tolist() for part in left(np.array([float(steps)])))
    facts = IndividualFacts(
        order=budget.order,
        budget=budget.budget,
        ordinary=ordinary,
        median=typical,
        staying=staying,
        weight=kept,
        sample_rate=sample_rate,
        steps=steps,
        delta=delta,
        target_epsilon=target_epsilon,
    )
    return Answer(plot, facts)


def headline(f: IndividualFacts) -> str:
    target = setting(TARGET, "ε =", numbers.at_most(f.target_epsilon, 4))
    budget = f"{target}, {shown_delta(f.delta)}"
    return (
        f"With one budget for all ({budget}), training ends after <b>{numbers.steps(f.ordinary)}</b> steps; with one "
        f"budget per person, <b>{numbers.percent(f.staying)}</b> of the people can still take part after "
        f"{setting(STEPS, numbers.steps(f.steps))}."
    )


def metrics(f: IndividualFacts) -> Iterator[Metric]:
    yield Metric("Steps at norm C", numbers.steps(f.ordinary), "for all, by one filter for all")
    yield Metric("Steps at the median norm", numbers.steps(f.median), "if the norm stays the same")
    yield Metric("Still taking part after T", numbers.percent(f.staying), "of the people")
    yield Metric("Gradients still in", numbers.percent(f.weight), "of the sum of clipped norms")


NOTES = (
    Note(
        "Not for publication: who has left, when, how many remain and what anyone has spent depend on people's own "
        "gradients. Only the noisy sums, and what is computed from them, may be shown; the noise must not depend on "
        "the number of those who remain.",
        "caution",
    ),
    Note(
        "Everyone has the same guarantee, whether they took part in few steps or in many. People with large gradients "
        "leave first, so late steps learn from the others."
    ),
)


def formulas(f: IndividualFacts) -> Iterator[Formula]:
    divergence = r"\frac{\alpha\,\lVert\bar g_{i,s}\rVert^2}{2\sigma^2C^2}"
    if f.sample_rate < 1:
        divergence = r"R_\alpha\Big(\frac{\sigma C}{\lVert\bar g_{i,s}\rVert}, q\Big)"
    yield Formula(
        "Person i takes part in step t while (Feldman & Zrnic 2021)",
        rf"\sum_{{s \le t}} {divergence} \le \rho = {numbers.tex(f.budget)},\quad \alpha = {numbers.tex(f.order)}",
    )


ASSUMPTIONS = f"""
- **Each person's gradient** is clipped to C at every step. The trainer knows its norm at every step, also if the person
  is not in the batch; the norm decides whether the person may take part.
- **The guarantee** is (ε, δ) for each person, at one Rényi order that is fixed in advance: the one at which a person
  with gradients of norm C may take part longest, with the improved conversion (Canonne, Kamath, Steinke 2020).
- **The family** describes norms that do not change. In training they change, and the filter adds up what each step
  really costs. “One filter for all” charges everyone as if at C.
- Adding or removing one person, who has one example; Poisson sampling; Gaussian noise of standard deviation σC on the
  sum.
{PUBLIC_SIZE}"""

INDIVIDUAL = Question(
    "individual",
    "A budget for each person",
    individual,
    Words(headline, metrics, lambda _: NOTES, formulas, ASSUMPTIONS),
    asks="staying",
    layout=lambda get: {
        "Budget": ("target_epsilon", "family", "threshold"),
        "Mechanism": units.controls(get),
    },
    more={"Accountants": lambda _: cards((FILTER, Renyi().family))},
)
