"""Bayesian DP, Propositions 3 and 4: k mechanisms on the same data, a group of k (Triastcyn & Faltings 2020)."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.methods import Basic
from dpviz.charts import Axis, Column, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Question, Words, setting

COUNT = number("gk")


@dataclass(frozen=True)
class TogetherFacts:
    """What several promise.

    Attributes:
        count: k.
        epsilon: kε_μ, of k mechanisms and of a group of k.
        delta: of k mechanisms.
        group_delta: of a group of k.
        largest: the largest group whose δ is below 1; 0 for none.
    """

    count: int
    epsilon: float
    delta: float
    group_delta: float
    largest: int

    @property
    def bound(self) -> str:
        """ε as an upper bound, rounded up but for what floating point adds."""
        return numbers.up(self.epsilon * (1.0 - numbers.FLOATING))


def together(
    *,
    epsilon_mu: Annotated[float, number("geps")],
    delta_mu: Annotated[float, number("gdmu")],
    count: Annotated[int, COUNT],
) -> Answer[TogetherFacts]:
    """δ of k mechanisms and of groups of k against k; ε is kε_μ for both."""
    x = np.arange(1.0, max(20, min(2 * count, 400)) + 1.0)
    if count > x[-1]:
        x = np.unique(np.round(np.r_[np.geomspace(1.0, 2.0 * count, 400), count]))
    epsilons, basic = np.transpose(
        [dpviz.bayesian.bayesian_basic(epsilon_mu=epsilon_mu, delta_mu=delta_mu, count=k) for k in x]
    )
    group = np.array([dpviz.bayesian.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=k)[1] for k in x])
    hover = (Column("ε", epsilons, key="epsilon"),)
    plot = LinePlot(
        x=Axis("k", hover="k = %{x:,d}", write=numbers.steps),
        y=Axis("δ", log=True, kind="delta", shown=(delta_mu / 2.0, 2.0), write=numbers.delta),
        lines=(
            Line(Basic.name, "k mechanisms", x, basic, Basic.name, hover=hover),
            Line("group", "group of k", x, group, look.SOLID, color=look.ORANGE),
        ),
        guides=(Guide("x", count, f"k = {numbers.short_steps(count)}", noted=False, sets=COUNT),),
        end_values=False,
    )
    epsilon, delta = dpviz.bayesian.bayesian_basic(epsilon_mu=epsilon_mu, delta_mu=delta_mu, count=count)
    facts = TogetherFacts(
        count=count,
        epsilon=epsilon,
        delta=delta,
        group_delta=dpviz.bayesian.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=count)[1],
        largest=largest_group(epsilon_mu, delta_mu),
    )
    return Answer(plot, facts)


def largest_group(epsilon_mu: float, delta_mu: float) -> int:
    """The largest k whose δ is below 1; 0 where there is none. It is below 1/δ_μ."""
    low, high = 0, math.ceil(1.0 / delta_mu)
    while high - low > 1:
        middle = (low + high) // 2
        delta = dpviz.bayesian.bayesian_group(epsilon_mu=epsilon_mu, delta_mu=delta_mu, size=min(middle, 2**53))[1]
        low, high = (middle, high) if delta < 1.0 else (low, middle)
    return low


def headline(f: TogetherFacts) -> str:
    count = numbers.steps(f.count)
    group = f"δ ≤ {numbers.delta(f.group_delta)}" if f.group_delta < 1 else "no δ below 1"
    return (
        f"{setting(COUNT, count)} such mechanisms together satisfy (<b>{f.bound}</b>, "
        f"<b>{numbers.delta(f.delta)}</b>)-Bayesian DP; a group of {count} has the same ε with <b>{group}</b>."
    )


def metrics(f: TogetherFacts) -> Iterator[Metric]:
    count = numbers.steps(f.count)
    yield Metric("ε of both", f.bound, "k ε_μ")
    yield Metric(f"δ of {count} mechanisms", numbers.delta(f.delta), "k δ_μ, Proposition 3")
    yield Metric(f"δ of a group of {count}", numbers.delta(f.group_delta), "k exp(kε_μ) δ_μ, Proposition 4")
    yield Metric("Largest group", numbers.steps(f.largest), "with δ below 1")


NOTES = (
    Note(
        "The steps of one training are not added up like this: the Bayesian accountant composes them far better "
        "(Theorem 1, on the Compose page). Proposition 3 is for mechanisms of which only (ε_μ, δ_μ) is known."
    ),
    Note(
        "The examples of a group are drawn from the distribution like any other example. Members of one family are "
        "rarely independent, and a group of outliers remains outliers: Bayesian DP does not cover them."
    ),
)
FORMULAS = (
    Formula("Proposition 3, basic composition", r"(k\varepsilon_\mu,\ k\delta_\mu)"),
    Formula("Proposition 4, groups", r"(k\varepsilon_\mu,\ k\,e^{k\varepsilon_\mu}\delta_\mu)"),
)
ASSUMPTIONS = """
- **Bayesian DP** (Triastcyn & Faltings 2020, Definition 2): for an example drawn from the data's distribution, over
  noise and data.
- **The mechanisms** run on the same data; each may use what those before it released.
- **Post-processing** (Proposition 2) changes neither ε_μ nor δ_μ: every result computed from a release without the data
  has the same guarantee. This holds for Definition 2. The strong form (Definition 1) bounds the probability of a large
  loss. A later step that merges outcomes can raise this probability. The accounting uses the strong form, which implies
  Definition 2 (Proposition 1).
"""

TOGETHER = Question(
    "together",
    "Bayesian DP, Propositions 3 and 4: several at once",
    together,
    Words(headline, metrics, lambda _: NOTES, lambda _: FORMULAS, ASSUMPTIONS),
    asks="epsilon",
    layout={"Promise": ("epsilon_mu", "delta_mu", "count")},
)
