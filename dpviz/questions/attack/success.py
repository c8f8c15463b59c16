"""What does ε mean? Right guesses and belief that (ε, δ) alone allows: two quantities unless all odds are even."""

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import Ring, look
from dpviz.fields import number, numbers
from dpviz.questions import DELTA, Answer, chart, experts, make_question
from dpviz.questions.presets import POINTS

EPSILON, PRIOR, LARGEST = number("aeps"), number("aprior"), number("amax")


@dataclass(frozen=True)
class SuccessFacts:
    """What (ε, δ) alone allows.

    Attributes:
        prior: how likely the attacker thought membership.
        right: share of right guesses, at most.
        belief, odds: in membership, and how much its odds may grow, at most, except with probability `failure`.
    """

    prior: float
    right: float
    belief: float
    odds: float
    failure: float

    @property
    def unseen(self) -> float:
        """Share of right guesses without seeing anything: of the likelier answer to everybody."""
        return max(self.prior, 1.0 - self.prior)

    @property
    def right_text(self) -> str:
        """The bound on right guesses, rounded up; a digit more than guessing unseen needs tells it from that."""
        gain = self.right - self.unseen
        if gain < 1e-12:
            whole = f"{numbers.plain(100 * self.unseen, digits=6)} %"
            return numbers.probability(self.right, up=True) if self.unseen > 0.9999 else whole
        places = min(_places(gain), _places(1.0 - self.unseen) + 1)
        shown = (100 * Decimal(self.right)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
        if shown >= 100:
            return numbers.probability(self.right, up=True)
        whole, _, digits = f"{shown:f}".partition(".")
        return f"{whole}.{digits.rstrip('0') or '0'} %"


def _places(gap: float) -> int:
    """Decimals of a percentage that show two digits of `gap`, at least one."""
    return max(1, -math.floor(math.log10(gap)) - 2)


def success(*, epsilon: float, delta: float, prior: float, largest: float) -> Answer[SuccessFacts]:
    """Bounds on right guesses and on belief against ε; at even odds they are one curve."""
    x = np.linspace(0.0, largest, 241)
    failure = exception(delta)
    right = np.asarray(dpviz.attack_success(x, delta=delta, prior=prior))
    facts = SuccessFacts(
        prior=prior,
        right=float(dpviz.attack_success(epsilon, delta=delta, prior=prior)),
        belief=float(dpviz.posterior_belief(epsilon, prior=prior, delta=delta, failure=failure)),
        odds=math.exp(min(epsilon - math.log1p(-delta / failure), 700.0)),
        failure=failure,
    )
    rings = [ring("right", epsilon, facts.right, look.GREEN)]
    title = "right guesses, at most"
    if prior == 0.5:
        curves = {"bound": right}
        pure = np.asarray(dpviz.attack_success(x))
        if float((right - pure).max()) > 1e-3:  # where δ shows, what it adds
            curves["pure"] = pure
    else:
        belief = np.asarray(dpviz.posterior_belief(x, prior=prior, delta=delta, failure=failure))
        curves = {"accuracy": right, "belief": belief}
        title = "right guesses, and belief that you are in, at most"
        rings.append(ring("belief", epsilon, facts.belief, look.ORANGE))
    plot = chart(
        "attack",
        "success",
        x,
        curves,
        x_axis={"shown": (0.0, largest)},
        y_axis={"title": title, "shown": (min(0.48, 0.9 * prior), 1.02)},
        points=tuple(point for point in POINTS["attack"] if point.x <= largest) if prior == 0.5 else (),
        rings=tuple(rings),
        summary=f"At ε = {numbers.plain(epsilon)} at most: {'; '.join(r.text for r in rings)}.",
    )
    return Answer(plot, facts)


def ring(what: str, epsilon: float, value: float, color: str) -> Ring:
    """The chosen ε on its curve."""
    text = f"{what} at ε = {numbers.plain(epsilon)}: {numbers.probability(value, up=True)} at most"
    return Ring(epsilon, value, text, color)


def exception(delta: float) -> float:
    """The probability of outputs that are left out of what is said about beliefs: some must be, as δ > 0.

    At 100 δ they cost a belief next to nothing (ε grows by 0.01); the root keeps it below 1 where δ is large. Three
    digits, so that it can be written as it is.
    """
    rounded = float(f"{min(100.0 * delta, math.sqrt(delta)):.3g}")
    return rounded if rounded > delta else 1.0


SUCCESS = make_question(
    "attack/success",
    success,
    {"Question": (EPSILON, DELTA, PRIOR), "Show": experts(LARGEST)},
    {"epsilon": EPSILON, "delta": DELTA, "prior": PRIOR, "largest": LARGEST},
    presets=("bdptable1",),
)
