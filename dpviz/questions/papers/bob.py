"""A lecture's toy example: what do two answers of a model say about Bob's record, and what does ε allow?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import Axis, Guide, Line, LinePlot, look
from dpviz.fields import number, numbers
from dpviz.questions import DELTA, Answer, Formula, Metric, Note, Question, Words, setting

INSIDE = number("pwith")


@dataclass(frozen=True)
class BobFacts:
    """What one question says of ε.

    Attributes:
        epsilon: the least that both answers allow; ∞ where there is none.
        inside, outside: how often the model says “cancer”, with and without Bob's record.
    """

    epsilon: float
    inside: float
    outside: float
    delta: float

    @property
    def belief(self) -> float:
        """The chance that he is in, after “cancer”, at even odds before."""
        both = self.inside + self.outside
        return self.inside / both if both > 0.0 else 0.5

    @property
    def right(self) -> float:
        """How often the best guess from this one answer is right."""
        return 0.5 + 0.5 * abs(self.inside - self.outside)


def bob(
    *,
    inside: Annotated[float, INSIDE],
    outside: Annotated[float, number("pwithout")],
    delta: Annotated[float, DELTA],
) -> Answer[BobFacts]:
    """How often the answer may come with Bob in, against ε, when it comes with probability `outside` without him."""
    least = least_epsilon(inside, outside, delta)
    proven = math.isinf(least)
    reach = 20.0 if proven else max(4.0, 1.5 * least)
    x = np.linspace(0.0, reach, 241)
    high = np.array([float(dpviz.roc_bound(outside, epsilon=float(e), delta=delta)) for e in x])
    low = np.array([1.0 - float(dpviz.roc_bound(1.0 - outside, epsilon=float(e), delta=delta)) for e in x])
    with_bob = Guide("y", inside, f"with Bob {numbers.plain(inside)}", sets=INSIDE)
    plot = LinePlot(
        Axis("ε", hover="ε = %{x:,.3~r}", shown=(0.0, reach)),
        Axis("how often “cancer” with Bob in", name="share of answers", column="share", shown=(-0.02, 1.02)),
        (
            Line("high", "at most", x, high, look.SOLID),
            Line("low", "at least", x, low, look.SOLID, color=look.ORANGE),
        ),
        guides=(with_bob,) if proven else (with_bob, Guide("x", least, "least ε", noted=False)),
        end_values=False,
    )
    return Answer(plot, BobFacts(least, inside, outside, delta))


def least_epsilon(inside: float, outside: float, delta: float) -> float:
    """The least ε with p ≤ e^ε p′ + δ for both answers, “cancer” or not, in either direction; ∞ where there is none."""
    no, without = 1.0 - inside, 1.0 - outside
    pairs = [(inside, outside), (outside, inside), (no, without), (without, no)]
    needed = [math.log((p - delta) / other) if other else math.inf for p, other in pairs if p > delta]
    return max(0.0, *needed)


def headline(f: BobFacts) -> str:
    answers = (
        f"A model that says “cancer” {setting(INSIDE, numbers.percent(f.inside, 4))} of the time with Bob's record and "
        f"{numbers.percent(f.outside, 4)} without it"
    )
    if math.isinf(f.epsilon):
        return f"{answers} satisfies <b>no ε</b> at δ = {numbers.delta(f.delta)}: one answer proves it."
    return (
        f"{answers} cannot satisfy any ε below <b>{numbers.down(f.epsilon)}</b> at δ = {numbers.delta(f.delta)}: this "
        "one question proves it."
    )


def metrics(f: BobFacts) -> Iterator[Metric]:
    yield Metric("Smallest ε", f"≥ {numbers.down(f.epsilon)}", "that both answers allow")
    yield Metric("Belief that Bob is in", numbers.percent(f.belief, 4), "after “cancer”, even odds before")
    yield Metric("Right guesses", numbers.percent(f.right, 4), "from this one answer")


NOTE = Note(
    "Without Bob, the answer is as frequent as set beside the chart. With Bob, ε allows the values between the two "
    "curves. Other people's records may already show that he probably has cancer. DP hides whether his record was "
    "used, not what is true of people like him."
)
FORMULA = Formula(
    "(ε, δ)-DP of the answer", r"p \le e^{\varepsilon} p' + \delta,\quad 1-p \le e^{\varepsilon}(1-p')+\delta"
)
ASSUMPTIONS = """
- **The mechanism** is training and answering together; the two probabilities are over both.
- **The two data sets** differ only in Bob's record. The probabilities of a real model are not known; here they are
  chosen.
- One question with two answers gives a lower bound on ε; the whole model may reveal more.
"""

BOB = Question(
    "bob",
    "DP-SGD, a toy example: was Bob in the data?",
    bob,
    Words(headline, metrics, lambda _: (NOTE,), lambda _: (FORMULA,), ASSUMPTIONS),
    asks="epsilon",
)
