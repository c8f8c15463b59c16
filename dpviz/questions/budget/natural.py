"""The true δ of a filter on composed privacy curves, where results choose the next mechanism: why is it wrong?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.accounting.adaptive.natural_filter import adaptive_choice
from dpviz.accounting.methods import Tight
from dpviz.charts import Axis, Floor, Guide, Line, LinePlot
from dpviz.fields import number, numbers
from dpviz.questions import DELTA, Answer, Formula, Metric, Note, Question, Words, cards, setting
from dpviz.questions.budget.shared import TARGET

FIRST, ROUNDS = number("bfirst"), number("brounds")
LEAST_SHOWN = 20  # rounds


@dataclass(frozen=True)
class NaturalFacts:
    """A claim that a filter on curves lets stand, and what a rule makes of it.

    Attributes:
        true_delta: of the rule at `epsilon`, exact; NaN where the first rounds alone break the claim.
        passing: how many mechanisms pass for the last round.
        most: the largest multiple of δ on the chart; NaN where there is none.
    """

    true_delta: float
    passing: int
    most: float
    first: float
    rounds: int
    epsilon: float
    delta: float

    @property
    def times(self) -> float:
        """The true δ ÷ the claimed one."""
        return self.true_delta / self.delta

    @property
    def spent(self) -> bool:
        """Whether the first rounds alone break the claim."""
        return math.isnan(self.true_delta)


def natural(
    *,
    first: Annotated[float, FIRST],
    rounds: Annotated[int, ROUNDS],
    target_epsilon: Annotated[float, TARGET],
    delta: Annotated[float, DELTA],
) -> Answer[NaturalFacts]:
    """The true δ at ε against the number of first rounds."""
    x = np.arange(1.0, max(LEAST_SHOWN, 2 * rounds) + 1.0)
    plan = {"first": first, "epsilon": target_epsilon, "delta": delta}
    each = [adaptive_choice(rounds=int(k), **plan) for k in x]
    true = np.array([math.nan if one is None else one.delta for one in each])
    here = each[rounds - 1]
    highest = float(np.nanmax(true, initial=delta))
    facts = NaturalFacts(
        true_delta=float(true[rounds - 1]),
        passing=0 if here is None else len(here.mechanisms),
        most=float("nan") if np.isnan(true).all() else highest / delta,
        first=first,
        rounds=rounds,
        epsilon=target_epsilon,
        delta=delta,
    )
    plot = LinePlot(
        x=Axis("first rounds", column="rounds", kind="steps", shown=(0.0, float(x[-1])), write=numbers.steps),
        y=Axis("true δ at ε", name="true δ", log=True, kind="delta", shown=(0.7 * delta, 1.4 * highest)),
        lines=(Line("true", "results choose the last round", x, true, Tight.name, end=""),),
        floors=(Floor(delta, "claimed δ", "budget"),),
        guides=(Guide("x", rounds, f"after {rounds}", sets=ROUNDS),),
    )
    return Answer(plot, facts)


def headline(f: NaturalFacts) -> str:
    rounds = setting(ROUNDS, str(f.rounds), "first rounds")
    if f.spent:
        return f"After {rounds} nothing is left of ε = {numbers.entered(f.epsilon)} at δ = {numbers.delta(f.delta)}."
    return (
        f"After {rounds}, results can raise δ at ε = {numbers.entered(f.epsilon)} from the {numbers.delta(f.delta)} "
        f"that a filter on curves claims to <b>{numbers.delta(f.true_delta)}</b>, <b>{numbers.up(f.times)} times</b> "
        "as much."
    )


def metrics(f: NaturalFacts) -> Iterator[Metric]:
    if f.spent:
        return
    yield Metric("True δ", numbers.delta(f.true_delta), f"{numbers.up(f.times)} times the claimed one")
    yield Metric("Mechanisms that pass", f"{f.passing}", "each alone keeps the claim")
    yield Metric("Most on the chart", f"{numbers.up(f.most)} ×", "the claimed δ")


def notes(f: NaturalFacts) -> Iterator[Note]:
    if f.spent:
        yield Note(
            "The first rounds alone break the claim: no filter lets them pass. Lower their ε or number.", "caution"
        )
    else:
        yield Note(
            "This is what one rule reaches, computed exactly; other rules may reach more. The filters of the other "
            "questions add up one number per mechanism, and hold for every rule."
        )


def formulas(f: NaturalFacts) -> Iterator[Formula]:
    yield Formula(
        "the claim, and the rule's true δ",
        r"\text{each } M_i:\ \mathbb E\,\delta_{M_i}(\varepsilon - L) \le \delta,\qquad "
        r"\delta^* = \mathbb E \max_i \delta_{M_i}(\varepsilon - L)",
    )


ASSUMPTIONS = """
- **First rounds:** randomised response with the same ε each; L is their privacy loss, which everybody can compute.
- **Last round:** one of several mechanisms. Nearly always each does nothing. Rarely it is randomised
  response with a larger ε, or tells the bit. Its chance of acting is the largest that the filter lets pass.
- **The filter:** it composes the privacy curves of what was run with that of the next mechanism, and lets it pass if
  δ at ε is at most the claimed one. It looks at no result.
- **The rule:** of those that pass, the one that costs most at the loss so far. The δ is exact for it.
- **What holds:** filters on one number per mechanism, such as a Rényi divergence at an order that is fixed in advance
  (Lécuyer 2021; Feldman & Zrnic 2021). Results of 2026 show that filters on whole curves, called natural, are
  not free in general; the example here is computed, and rests on none of them.
"""

NATURAL = Question(
    "natural",
    "Why is a filter on curves wrong?",
    natural,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="true_delta",
    layout=lambda get: {"Budget": (ROUNDS, FIRST, TARGET, DELTA)},
    more={"Accountants": lambda _: cards((Tight.name,))},
)
