"""What does ε mean? Right guesses and belief that (ε, δ) alone allows: two quantities unless all odds are even."""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Decimal

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Line, Ring
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.attack.fields import EPSILON, LARGEST, PRIOR
from dpviz.questions.attack.words import ASSUMPTIONS, at_most
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import DELTA
from dpviz.questions.presets import POINTS, presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

Facts = dict[str, float]


def success(*, epsilon: float, delta: float, prior: float, largest: float) -> Answer[Facts]:
    """Bounds on right guesses and on belief against ε; at even odds they are one curve."""
    x = np.linspace(0.0, largest, 241)
    failure = exception(delta)
    right = np.asarray(dpviz.attack_success(x, delta=delta, prior=prior))
    facts = {
        "right": float(dpviz.attack_success(epsilon, delta=delta, prior=prior)),
        "unseen": max(prior, 1.0 - prior),
        "belief": float(dpviz.posterior_belief(epsilon, prior=prior, delta=delta, failure=failure)),
        "odds": math.exp(min(epsilon - math.log1p(-delta / failure), 700.0)),
        "failure": failure,
    }
    rings = [ring("right", epsilon, facts["right"], look.GREEN)]
    if prior == 0.5:
        lines = [Line("bound", "bound of (ε, δ)", x, right, "moments", color=look.GREEN)]
        pure = np.asarray(dpviz.attack_success(x))
        if float((right - pure).max()) > 1e-3:  # where δ shows, what it adds
            lines.append(Line("pure", "δ = 0", x, pure, "moments", color=look.MAUVE, kept=False))
    else:
        belief = np.asarray(dpviz.posterior_belief(x, prior=prior, delta=delta, failure=failure))
        lines = [
            Line("accuracy", "right guesses", x, right, "moments", color=look.GREEN),
            Line("belief", "belief", x, belief, "moments", color=look.ORANGE),
        ]
        rings.append(ring("belief", epsilon, facts["belief"], look.ORANGE))
    plot = LinePlot(
        x=Axis("ε", shown=(0.0, largest), hover="ε = %{x:,.4~r}"),
        y=Axis(
            "right guesses, at most" if prior == 0.5 else "right guesses, and belief that you are in, at most",
            name="highest probability",
            column="probability",
            shown=(min(0.48, 0.9 * prior), 1.02),
            write=at_most,
        ),
        lines=tuple(lines),
        points=tuple(point for point in POINTS["attack"] if point.x <= largest) if prior == 0.5 else (),
        rings=tuple(rings),
        end_values=False,
        said=f"At ε = {numbers.plain(epsilon)} at most: {'; '.join(r.text for r in rings)}.",
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


def headline(a: Answer[Facts]) -> str:
    g, f = a.given, a.facts
    promise = f"Under <b>ε = {numbers.plain(g['epsilon'])}</b> and δ = {numbers.delta(g['delta'])}"
    if g["prior"] == 0.5:
        return (
            f"{promise} alone, an attacker who knows everything else guesses right whether you took part at most "
            f"<b>{_right(f)}</b> of the time; without seeing anything, 50 %."
        )
    said = "in" if g["prior"] > 0.5 else "not in"
    return (
        f"{promise}, an attacker who thought you were in with {_exact(g['prior'])} can come to <b>believe</b> it with "
        f"at most <b>{at_most(f['belief'])}</b> ({_except(f)}). Right <b>guesses</b> are another matter: at most "
        f"<b>{_right(f)}</b>, where “{said}”, said unseen, is right in {_exact(f['unseen'])}."
    )


def metrics(a: Answer[Facts]) -> list[Metric]:
    f = a.facts
    return [
        Metric("Guesses right", f"≤ {_right(f)}", "what ε and δ alone allow"),
        Metric("Right unseen", _exact(f["unseen"]), "the likelier answer to everybody"),
        Metric("Belief that you are in", f"≤ {at_most(f['belief'])}", _except(f)),
        Metric("Odds grow", f"≤ × {numbers.epsilon(f['odds'], up=True)}", _except(f)),
    ]


def notes(a: Answer[Facts]) -> list[Note]:
    g, built = a.given, []
    if g["prior"] == 0.5:
        built.append(
            Note(
                "Diamonds: printed by Triastcyn and Faltings (2020): blue DP, orange Bayesian DP (Table 1), green §3. "
                "The whole privacy curve of a mechanism allows less: see “Which attacks are possible?”."
            )
        )
    if g["epsilon"] > g["largest"]:
        text = f"Your ε = {numbers.plain(g['epsilon'])} lies beyond the chart: raise “Largest ε shown”."
        built.append(Note(text, "caution"))
    return built


def formulas(a: Answer[Facts]) -> list[tuple[str, str]]:
    g, f = a.given, a.facts
    return [
        (
            "Right guesses (Kairouz, Oh, Viswanath 2015; at δ = 0, π = ½: Triastcyn & Faltings 2020, Eq. 1)",
            r"\text{accuracy} \le \delta + (1-\delta)"
            r"\max\left(\frac{e^{\varepsilon}}{1+e^{\varepsilon}},\ \pi,\ 1-\pi\right) = "
            rf"{f['right']:.8g} \quad (\pi = {g['prior']:g},\ \varepsilon = {g['epsilon']:g})",
        ),
        (
            "Belief, except with probability p (after Kasiviswanathan & Smith 2014)",
            r"\text{belief} \le \frac{\pi e^{\varepsilon'}}{1-\pi+\pi e^{\varepsilon'}} = "
            rf"{f['belief']:.6g},\quad "
            r"\varepsilon' = \varepsilon - \ln\left(1-\frac{\delta}{p}\right),\ "
            rf"p = {numbers.delta(f['failure'])}",
        ),
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (EPSILON, DELTA, PRIOR), "Show": experts(LARGEST, IMAGE)}


def _exact(p: float) -> str:
    """A prior as it was given, "1 %" or "12.5 %"; never rounded to a certainty."""
    return numbers.probability(p) if p > 0.9999 else f"{numbers.plain(100 * p, digits=6)} %"


def _except(f: Facts) -> str:
    return f"except with probability {numbers.delta(f['failure'])}"


def _places(gap: float) -> int:
    """Decimals of a percentage that show two digits of `gap`, at least one."""
    return max(1, -math.floor(math.log10(gap)) - 2)


def _right(f: Facts) -> str:
    """The bound on right guesses, rounded up; a digit more than guessing unseen needs tells it from that."""
    right, unseen = f["right"], f["unseen"]
    gain = right - unseen
    if gain < 1e-12:
        return at_most(right) if unseen > 0.9999 else _exact(unseen)
    places = min(_places(gain), _places(1.0 - unseen) + 1)
    shown = (100 * Decimal(right)).quantize(Decimal(1).scaleb(-places), rounding=ROUND_CEILING)
    if shown >= 100:
        return at_most(right)
    whole, _, digits = f"{shown:f}".partition(".")
    return f"{whole}.{digits.rstrip('0') or '0'} %"


SUCCESS: Question[Facts] = Question(
    key="success",
    title="What does ε mean?",
    settings={"epsilon": EPSILON, "delta": DELTA, "prior": PRIOR, "largest": LARGEST},
    answer=success,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("bdptable1"),
    layout=layout,
)
