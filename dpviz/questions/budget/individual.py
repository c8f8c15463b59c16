"""A budget for each person: who may take part how long, when short gradients cost less (Feldman & Zrnic 2021)."""

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.filter import IndividualFilter, individual_steps
from dpviz.accounting.methods import Renyi
from dpviz.charts import Guide
from dpviz.fields import numbers
from dpviz.gradients.norm_families import FAMILIES
from dpviz.questions import SETTINGS, Answer, cards, chart, make_question, units
from dpviz.questions.budget.shared import TARGET
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


def individual(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    target_epsilon: Annotated[float, TARGET],
    family: Annotated[str, FAMILY],
    threshold: Annotated[float, THRESHOLD],
) -> Answer[IndividualFacts]:
    """Share of the people who may still take part against steps, by a filter each and by one for all."""
    if sample_rate == 0.0:
        raise ValueError("With q = 0, nobody takes part and no budget is used: choose a sampling rate above 0.")
    norms = FAMILIES[family]
    setting = {"noise_std": noise_multiplier * threshold, "largest_norm": threshold, "sample_rate": sample_rate}
    promise = {"target_epsilon": target_epsilon, "delta": delta}
    budget = IndividualFilter(people=1, **setting, **promise)
    median = min(float(norms.largest(1.0)), threshold)
    ordinary, typical = individual_steps([threshold, median], **setting, **promise).tolist()
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
    (staying,), (kept,) = (part.tolist() for part in left(np.array([float(steps)])))
    each = {name: {"y": share, "family": FILTER} for name, share in (("people", people), ("weight", weight))}
    curves = {**each, "ordinary": np.where(x <= ordinary, 1.0, 0.0)}
    guides = (Guide("x", steps, f"T = {numbers.short_steps(steps)}", noted=False),)
    plot = chart("budget", "individual", x, curves, guides=guides)
    return Answer(plot, IndividualFacts(budget.order, budget.budget, ordinary, typical, staying, kept))


INDIVIDUAL = make_question(
    "budget/individual",
    individual,
    lambda get: {"Budget": (TARGET, FAMILY, THRESHOLD), "Mechanism": units.controls(get)},
    SETTINGS,
    more={"Accountants": lambda _: cards((FILTER, Renyi().family))},
)
