"""Right guesses and belief that (ε, δ) alone allows, one curve at even odds: what does ε mean?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Annotated

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.charts import Axis, Line, LinePlot, Ring, look
from dpviz.fields import number, numbers
from dpviz.questions import DELTA, Answer, Formula, Metric, Note, Question, Words, experts, published, setting
from dpviz.questions.attack.shared import ASSUMPTIONS
from dpviz.questions.guessing import limit
from dpviz.questions.mechanism import shown_delta
from dpviz.questions.presets import POINTS

EPSILON, PRIOR, LARGEST = number("aeps"), number("aprior"), number("amax")


@dataclass(frozen=True)
class SuccessFacts:
    """What (ε, δ) alone allows.

    Attributes:
        prior: how likely the attacker thought membership.
        largest: ε at the chart's end.
        right: share of right guesses, at most.
        belief, odds: in membership, and how much its odds may grow, at most, except with probability `failure`.
    """

    epsilon: float
    delta: float
    prior: float
    largest: float
    right: float
    belief: float
    odds: float
    failure: float

    @property
    def unseen(self) -> float:
        """Share of right guesses without seeing anything: of the likelier answer to everybody."""
        return max(self.prior, 1.0 - self.prior)

    @property
    def even(self) -> bool:
        """Whether the attacker thought both answers equally likely."""
        return self.prior == 0.5

    @property
    def right_text(self) -> str:
        """The bound on right guesses, rounded up; a digit more than guessing unseen needs tells it from that."""
        gain = self.right - self.unseen
        if gain < 1e-12:
            return numbers.chance_up(self.right) if self.unseen > 0.9999 else numbers.percent(self.unseen, 6)
        places = min(_places(gain), _places(1.0 - self.unseen) + 1)
        shown = (100 * Decimal(self.right)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
        if shown >= 100:
            return numbers.chance_up(self.right)
        whole, _, digits = f"{shown:f}".partition(".")
        return f"{whole}.{digits.rstrip('0') or '0'} %"


def _places(gap: float) -> int:
    """Decimals of a percentage that show two digits of `gap`, at least one."""
    return max(1, -math.floor(math.log10(gap)) - 2)


def success(
    *,
    epsilon: Annotated[float, EPSILON],
    delta: Annotated[float, DELTA],
    prior: Annotated[float, PRIOR],
    largest: Annotated[float, LARGEST],
) -> Answer[SuccessFacts]:
    """Bounds on right guesses and on belief against ε; at even odds they are one curve."""
    failure = exception(delta)
    facts = SuccessFacts(
        epsilon=epsilon,
        delta=delta,
        prior=prior,
        largest=largest,
        right=float(dpviz.attack_success(epsilon, delta=delta, prior=prior)),
        belief=float(dpviz.posterior_belief(epsilon, prior=prior, delta=delta, failure=failure)),
        odds=math.exp(min(epsilon - math.log1p(-delta / failure), 700.0)),
        failure=failure,
    )
    x = np.linspace(0.0, largest, 241)
    rings = [ring("right", epsilon, facts.right, look.GREEN)]
    if not facts.even:
        rings.append(ring("belief", epsilon, facts.belief, look.ORANGE))
    plot = LinePlot(
        x=Axis("ε", hover="ε = %{x:,.4~r}", shown=(0.0, largest)),
        y=Axis(
            "right guesses, at most" if facts.even else "right guesses, and belief that you are in, at most",
            name="highest probability",
            column="probability",
            shown=(min(0.48, 0.9 * prior), 1.02),
            write=numbers.chance_up,
        ),
        lines=tuple(lines(facts, x)),
        points=tuple(point for point in POINTS["attack"] if point.x <= largest) if facts.even else (),
        rings=tuple(rings),
        end_values=False,
        summary=f"At most: {'; '.join(r.hover for r in rings)}.",
    )
    return Answer(plot, facts)


def lines(facts: SuccessFacts, x: Array) -> Iterator[Line]:
    """One curve at even odds, and what δ adds where that shows; else right guesses and belief."""
    prior, delta = facts.prior, facts.delta
    right = np.asarray(dpviz.attack_success(x, delta=delta, prior=prior))
    if not facts.even:
        belief = np.asarray(dpviz.posterior_belief(x, prior=prior, delta=delta, failure=facts.failure))
        yield Line("accuracy", "right guesses", x, right, look.SOLID, color=look.GREEN)
        yield Line("belief", "belief", x, belief, look.SOLID, color=look.ORANGE)
        return
    about = "No attack on what has this ε, at the chosen δ, is right more often."
    yield Line("bound", "bound of (ε, δ)", x, right, look.SOLID, color=look.GREEN, about=about)
    pure = np.asarray(dpviz.attack_success(x))
    if float((right - pure).max()) > 1e-3:
        yield Line("pure", "δ = 0", x, pure, look.SOLID, color=look.MAUVE, kept=False)


def ring(what: str, epsilon: float, value: float, color: str) -> Ring:
    """The chosen ε on its curve."""
    return Ring(
        epsilon,
        value,
        f"{what} at ε = {numbers.entered(epsilon)}",
        color,
        name=numbers.chance_up(value),
        sets=(EPSILON, None),
    )


def exception(delta: float) -> float:
    """The probability of outputs that are left out of what is said about beliefs: some must be, as δ > 0.

    At 100 δ they cost a belief next to nothing (ε grows by 0.01); the root keeps it below 1 where δ is large. Three
    digits, so that it can be written as it is.
    """
    rounded = float(f"{min(100.0 * delta, math.sqrt(delta)):.3g}")
    return rounded if rounded > delta else 1.0


def headline(f: SuccessFacts) -> str:
    epsilon = setting(EPSILON, "ε =", numbers.entered(f.epsilon))
    pair = f"With <b>{epsilon}</b> and {shown_delta(f.delta)}"
    return f"{pair}, {limit('attack on whether you took part', f.right, f.right_text, chance=share(f.unseen))}."


def share(p: float) -> str:
    """A probability in percent that never rounds to a certainty."""
    return numbers.probability(p) if p > 0.9999 else numbers.percent(p, 6)


def metrics(f: SuccessFacts) -> Iterator[Metric]:
    exceptions = f"except with probability {numbers.delta(f.failure)}"
    pure = "P(A) = 1/(1 + e^−ε), δ added" if f.even else "from ε, δ and the prior alone"
    yield Metric("Right guesses", f"≤ {f.right_text}", pure)
    yield Metric("Right without data", share(f.unseen), "always the likelier answer")
    yield Metric("Belief that you are in", f"≤ {numbers.chance_up(f.belief)}", exceptions)
    yield Metric("Odds grow", f"≤ × {numbers.up(f.odds)}", exceptions)


def notes(f: SuccessFacts) -> Iterator[Note]:
    if f.even:
        yield Note(
            "Diamonds are printed by Triastcyn and Faltings (2020): DP (blue) and Bayesian DP (orange) in Table 1, "
            "green in §3."
        )
    if f.epsilon > f.largest:
        mine = numbers.entered(f.epsilon)
        yield Note(
            f"Your ε = {mine} is not on the chart: raise “Largest ε shown”, an expert setting of Show.", "caution"
        )


def formulas(f: SuccessFacts) -> Iterator[Formula]:
    yield Formula(
        "Right guesses (Kairouz, Oh, Viswanath 2015; at δ = 0, π = ½: Triastcyn & Faltings 2020, Eq. 1)",
        r"\text{accuracy} \le \delta + (1-\delta)"
        r"\max\left(\frac{e^{\varepsilon}}{1+e^{\varepsilon}},\ \pi,\ 1-\pi\right) ="
        rf" {numbers.at_most(f.right, 8)} \quad (\pi = {f.prior:g},\ \varepsilon = {f.epsilon:g})",
    )
    yield Formula(
        "Belief, except with probability p (after Kasiviswanathan & Smith 2014)",
        r"\text{belief} \le \frac{\pi e^{\varepsilon'}}{1-\pi+\pi e^{\varepsilon'}} ="
        rf" {numbers.at_most(f.belief, 6)},\quad"
        r" \varepsilon' = \varepsilon - \ln\left(1-\frac{\delta}{p}\right),\ p ="
        rf" {numbers.delta(f.failure)}",
    )


SUCCESS = Question(
    "success",
    "What does ε mean?",
    success,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="right",
    layout={"Question": (EPSILON, DELTA, PRIOR), "Show": experts(LARGEST)},
    presets=published("bdptable1"),
)
