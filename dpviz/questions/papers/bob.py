"""A lecture's toy example: what do two answers of a model say about Bob's record, and what does ε allow?"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.papers.fields import WITH, WITHOUT
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE


@dataclass(frozen=True)
class BobFacts:
    """The least ε that allows both answers, ∞ where none does; belief that he is in after “cancer”, at even odds."""

    least: float
    belief: float


def bob(*, inside: float, outside: float, delta: float) -> Answer[BobFacts]:
    """How often the answer may come with Bob in, against ε, when it comes with probability `outside` without him."""
    least = least_epsilon(inside, outside, delta)
    reach = max(4.0, 1.5 * least) if math.isfinite(least) else 20.0
    x = np.linspace(0.0, reach, 241)
    high = np.array([float(dpviz.roc_bound(outside, epsilon=float(e), delta=delta)) for e in x])
    low = np.array([1.0 - float(dpviz.roc_bound(1.0 - outside, epsilon=float(e), delta=delta)) for e in x])
    plot = LinePlot(
        Axis("ε", shown=(0.0, reach), hover="ε = %{x:,.3~r}"),
        Axis("how often “cancer” with Bob in", name="share of answers", column="share", shown=(-0.02, 1.02)),
        (
            Line("high", "at most", x, high, "moments"),
            Line("low", "at least", x, low, "moments", color=look.ORANGE),
        ),
        guides=(
            Guide("y", inside, f"with Bob {numbers.plain(inside)}"),
            *((Guide("x", least, "least ε", told=False),) if math.isfinite(least) else ()),
        ),
        end_values=False,
    )
    both = inside + outside
    return Answer(plot, BobFacts(least, inside / both if both > 0.0 else 0.5))


def least_epsilon(inside: float, outside: float, delta: float) -> float:
    """The least ε at which both answers are allowed: four inequalities, “cancer” or not, in either direction."""
    return max(0.0, *(one_side(p, r, delta) for p, r in pairs(inside, outside)))


def pairs(inside: float, outside: float) -> tuple[tuple[float, float], ...]:
    """(p, p′) of both answers, in both directions."""
    no, without = 1.0 - inside, 1.0 - outside
    return (inside, outside), (outside, inside), (no, without), (without, no)


def one_side(p: float, other: float, delta: float) -> float:
    """The least ε with p ≤ e^ε p′ + δ."""
    if p <= delta:
        return 0.0
    return math.inf if other == 0.0 else math.log((p - delta) / other)


def headline(a: Answer[BobFacts]) -> str:
    f, g = a.facts, a.given
    said = f"“cancer” {percent(g['inside'])} of the time with Bob's record and {percent(g['outside'])} without"
    if math.isinf(f.least):
        return f"A model that says {said} keeps <b>no ε</b> at δ = {numbers.delta(g['delta'])}: one answer proves it."
    return (
        f"A model that says {said} is at best <b>ε = {numbers.epsilon(f.least, up=True)}</b> at "
        f"δ = {numbers.delta(g['delta'])}: this question alone shows that it keeps nothing smaller."
    )


def percent(share: float) -> str:
    return f"{numbers.plain(100.0 * share, digits=4)} %"


def metrics(a: Answer[BobFacts]) -> list[Metric]:
    f, g = a.facts, a.given
    right = 0.5 + 0.5 * abs(g["inside"] - g["outside"])
    return [
        Metric("Least ε", numbers.epsilon(f.least, up=True), "that allows both answers"),
        Metric("Belief that Bob is in", percent(f.belief), "after “cancer”, even odds before"),
        Metric("Guesses right", percent(right), "from this one answer"),
    ]


def notes(a: Answer[BobFacts]) -> list[Note]:
    return [
        Note(
            "The chart: without Bob the answer comes as often as set beside it; with Bob in, ε allows what lies "
            "between the two curves. That he likely has cancer may follow from others' records alone: DP hides whether "
            "his record was used, not what is true of people like him."
        )
    ]


def formulas(a: Answer[BobFacts]) -> list[tuple[str, str]]:
    latex = r"p \le e^{\varepsilon} p' + \delta,\quad 1-p \le e^{\varepsilon}(1-p')+\delta"
    return [("(ε, δ)-DP of the answer", latex)]


def layout(get: Reader) -> Groups:
    return {"Question": (WITH, WITHOUT, DELTA), "Show": experts(IMAGE)}


BOB: Question[BobFacts] = Question(
    key="bob",
    title="DP-SGD, a toy example: was Bob in the data?",
    settings={"inside": WITH, "outside": WITHOUT, "delta": DELTA},
    answer=bob,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions="""
- **The mechanism** is training and answering together; the two probabilities are over both.
- **Data sets** that differ in Bob's record alone. A real model's probabilities are not known: they are chosen here.
- One question with two answers gives a lower bound on ε; the whole model may give away more.
""",
    layout=layout,
)
