"""Several at once under Bayesian DP: k mechanisms, a group of k (Triastcyn & Faltings 2020, Propositions 3 and 4)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Column, Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.papers.bayesian_fields import EACH, MANY
from dpviz.questions.question import Question
from dpviz.questions.shared import FAILURE_MU, IMAGE


@dataclass(frozen=True)
class TogetherFacts:
    """For k: (ε, δ) of k mechanisms and of a group of k; the largest group about which δ < 1 says anything."""

    basic: tuple[float, float]
    group: tuple[float, float]
    largest: int


def together(*, epsilon_mu: float, delta_mu: float, count: int) -> Answer[TogetherFacts]:
    """δ of k mechanisms and of groups of k against k; ε is kε_μ for both."""
    known = {"epsilon_mu": epsilon_mu, "delta_mu": delta_mu}
    x = np.arange(1.0, max(20, min(2 * count, 400)) + 1.0)
    if count > x[-1]:
        x = np.unique(np.round(np.r_[np.geomspace(1.0, 2.0 * count, 400), count]))
    basic = [dpviz.bayesian_basic(**known, count=each) for each in x]
    group = [dpviz.bayesian_group(**known, size=each) for each in x]
    hover = (Column("ε", np.array([epsilon for epsilon, _ in basic]), key="epsilon"),)
    plot = LinePlot(
        Axis("k", hover="k = %{x:,d}", write=numbers.steps),
        Axis("δ", log=True, kind="delta", shown=(delta_mu / 2.0, 2.0), write=numbers.delta),
        (
            Line("basic", "k mechanisms", x, np.array([delta for _, delta in basic]), "moments", hover=hover),
            Line("group", "group of k", x, np.array([delta for _, delta in group]), "moments", color=look.ORANGE),
        ),
        guides=(Guide("x", count, f"k = {numbers.short_steps(count)}", told=False),),
        end_values=False,
    )
    facts = TogetherFacts(
        dpviz.bayesian_basic(**known, count=count),
        dpviz.bayesian_group(**known, size=count),
        largest_group(epsilon_mu, delta_mu),
    )
    return Answer(plot, facts)


def largest_group(epsilon_mu: float, delta_mu: float) -> int:
    """The largest k whose δ is below 1; 0 where there is none. It is below 1/δ_μ."""
    low, high = 0, math.ceil(1.0 / delta_mu)
    while high - low > 1:
        middle = (low + high) // 2
        said = dpviz.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=min(middle, 2**53))[1] < 1.0
        low, high = (middle, high) if said else (low, middle)
    return low


def headline(a: Answer[TogetherFacts]) -> str:
    f, g = a.facts, a.given
    k = numbers.steps(g["count"])
    epsilon, delta = promise(f.basic)
    group = f"<b>δ ≤ {promise(f.group)[1]}</b>" if f.group[1] < 1.0 else "<b>no δ below 1</b>"
    return (
        f"{k} such mechanisms are (<b>{epsilon}</b>, <b>{delta}</b>)-Bayesian DP together; a group of {k} has the same "
        f"ε with {group}."
    )


def promise(pair: tuple[float, float]) -> tuple[str, str]:
    """ε and δ, rounded up."""
    return numbers.epsilon(pair[0] * (1.0 - 1e-12), up=True), numbers.delta(numbers.up(pair[1] * (1.0 - 1e-12)))


def metrics(a: Answer[TogetherFacts]) -> list[Metric]:
    f, k = a.facts, numbers.steps(a.given["count"])
    basic, group = promise(f.basic), promise(f.group)
    return [
        Metric("ε of both", basic[0], "k ε_μ"),
        Metric(f"δ of {k} mechanisms", basic[1], "k δ_μ, Proposition 3"),
        Metric(f"δ of a group of {k}", group[1], "k e^(kε_μ) δ_μ, Proposition 4"),
        Metric("Largest group", numbers.steps(f.largest), "about which δ below 1 is said"),
    ]


def notes(a: Answer[TogetherFacts]) -> list[Note]:
    built = [
        Note(
            "Many steps of one training are not added up like this: the Bayesian accountant composes them far better "
            "(Theorem 1, on the Compose page). Proposition 3 is for mechanisms of which only (ε_μ, δ_μ) is known."
        ),
        Note(
            "A group's examples are drawn from the distribution like any other example. Members of one family are "
            "rarely independent of each other, and outliers together stay outliers: Bayesian DP does not speak of them."
        ),
    ]
    return built


def formulas(a: Answer[TogetherFacts]) -> list[tuple[str, str]]:
    return [
        ("Proposition 3, basic composition", r"(k\varepsilon_\mu,\ k\delta_\mu)"),
        ("Proposition 4, groups", r"(k\varepsilon_\mu,\ k\,e^{k\varepsilon_\mu}\delta_\mu)"),
    ]


def layout(get: Reader) -> Groups:
    return {"Promise": (EACH, FAILURE_MU, MANY), "Show": experts(IMAGE)}


TOGETHER: Question[TogetherFacts] = Question(
    key="together",
    title="Bayesian DP, Propositions 3 and 4: several at once",
    settings={"epsilon_mu": EACH, "delta_mu": FAILURE_MU, "count": MANY},
    answer=together,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **Bayesian DP** (Triastcyn & Faltings 2020, Definition 2): for an example drawn from the data's distribution, over
  noise and data.
- **The mechanisms** run on the same data; each may use what those before it released.
- **Post-processing** (Proposition 2) changes neither ε_μ nor δ_μ: whatever is made of a release without the data keeps
  its promise. That is so for Definition 2. The strong form (Definition 1) bounds the probability of a large loss, which
  a later step that merges outcomes may raise; it implies Definition 2 (Proposition 1), and is what is accounted.
""",
    layout=layout,
)
