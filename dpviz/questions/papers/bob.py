"""A lecture's toy example: what do two answers of a model say about Bob's record, and what does ε allow?"""

from __future__ import annotations

import math

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Guide, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer
from dpviz.questions.mechanism import DELTA
from dpviz.questions.papers.fields import WITH, WITHOUT
from dpviz.questions.papers.reproduction import Facts, reproduction


def bob(*, inside: float, outside: float, delta: float) -> Answer[Facts]:
    """How often the answer may come with Bob in, against ε, when it comes with probability `outside` without him."""
    least = least_epsilon(inside, outside, delta)
    proven = math.isinf(least)
    reach = 20.0 if proven else max(4.0, 1.5 * least)
    x = np.linspace(0.0, reach, 241)
    high = np.array([float(dpviz.roc_bound(outside, epsilon=float(e), delta=delta)) for e in x])
    low = np.array([1.0 - float(dpviz.roc_bound(1.0 - outside, epsilon=float(e), delta=delta)) for e in x])
    plot = LinePlot(
        Axis("ε", shown=(0.0, reach), hover="ε = %{x:,.3~r}"),
        Axis("how often “cancer” with Bob in", name="share of answers", column="share", shown=(-0.02, 1.02)),
        (
            Line("high", "at most", x, high, look.SOLID),
            Line("low", "at least", x, low, look.SOLID, color=look.ORANGE),
        ),
        guides=(
            Guide("y", inside, f"with Bob {numbers.plain(inside)}"),
            *(() if proven else (Guide("x", least, "least ε", noted=False),)),
        ),
        end_values=False,
    )
    both = inside + outside
    belief = inside / both if both > 0.0 else 0.5  # that he is in, after “cancer”, at even odds
    return Answer(plot, Facts(least=least, proven=proven, belief=belief, right=0.5 + 0.5 * abs(inside - outside)))


def least_epsilon(inside: float, outside: float, delta: float) -> float:
    """The least ε at which both answers are allowed, ∞ where none does: “cancer” or not, in either direction."""
    no, without = 1.0 - inside, 1.0 - outside
    pairs = (inside, outside), (outside, inside), (no, without), (without, no)
    return max(0.0, *(one_side(p, other, delta) for p, other in pairs))


def one_side(p: float, other: float, delta: float) -> float:
    """The least ε with p ≤ e^ε p′ + δ."""
    if p <= delta:
        return 0.0
    return math.inf if other == 0.0 else math.log((p - delta) / other)


BOB = reproduction(
    "abadi", "bob", bob, {"inside": WITH, "outside": WITHOUT, "delta": DELTA}, {"Question": (WITH, WITHOUT, DELTA)}
)
