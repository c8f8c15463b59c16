"""The noise for a target risk (advantage, detection, belief, reconstruction, μ) instead of ε: how much is needed?"""

import math
from collections.abc import Hashable, Iterator
from dataclasses import astuple, dataclass, replace
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.attack.trade_off import RISKS, Risk
from dpviz.accounting.methods import Tight
from dpviz.accounting.no_answer import NoAnswer
from dpviz.charts import Axis, Guide, Line, LinePlot, Ring, look
from dpviz.fields import choice, number, numbers
from dpviz.mechanisms import Mechanism
from dpviz.questions import (
    DELTA,
    STEPS,
    Answer,
    FieldControl,
    Formula,
    Item,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Words,
    cards,
    experts,
    kinds,
    slow_facts,
)
from dpviz.questions.needed import TOLERANCE, Need, too_slow
from dpviz.questions.noise.along_noise import HIGH, LOW
from dpviz.questions.tight_band import noise_grid

BY_NAME: dict[str, type[Any]] = {kind.target.removeprefix("target_"): kind for kind in RISKS}
RISK, AFTER, BEFORE, MU = choice("risk"), number("riskafter"), number("riskbefore"), number("riskmu")

# Risk → what is asked for with the release, and what the attacker has without it.
LABELS = {
    "advantage": ("Target: attack advantage", ""),
    "tpr": ("Target: members found (TPR)", "Non-members accused (FPR)"),
    "posterior": ("Target: belief after the release", "Belief before the release"),
    "reconstruction": ("Target: records reconstructed", "Records guessed without the release"),
}
OF_RISK = {
    "advantage": "Advantage",
    "tpr": "Members found",
    "posterior": "Belief",
    "reconstruction": "Reconstruction",
    "mu": "μ of Gaussian DP",
}
SHOWN = 1e-9  # of a risk; nobody sees less of it

LATER = Need(None, waits=True)


@dataclass(frozen=True, eq=False)
class RiskFacts:
    """The noise that keeps the target.

    Attributes:
        risk, name: which one, and its key.
        target: the largest that may be.
        mechanism, steps: what is done, at the noise that was chosen.
        why: why there is no answer; empty where there is one.
        after, before, mu: what was asked for; of `after` and `mu`, one is the target.
        x: the noise along its axis, (n,).
        y: the risk from there to the next noise, at most, (n,); None while it is not there.
        here: the risk at the chosen noise; None while it is not there.
        need: the least noise.
        epsilon: ε at δ with that noise; None where there is none.
    """

    risk: Risk
    name: str
    target: float
    mechanism: Mechanism
    steps: int
    delta: float
    after: float
    before: float
    mu: float
    why: str
    x: Array
    y: Array | None = None
    here: float | None = None
    need: Need = LATER
    epsilon: float | None = None

    @property
    def noise(self) -> float:
        """That was chosen."""
        return float(getattr(self.mechanism, self.mechanism.noise))

    @property
    def bare(self) -> Mechanism:
        """The mechanism without its noise: at 1."""
        return kinds.with_noise(self.mechanism, 1.0)

    @property
    def impossible(self) -> bool:
        """Whether no noise keeps the target."""
        return not self.need.waits and self.need.value is None

    @property
    def text(self) -> str:
        """The noise needed, rounded up."""
        if self.need.waits:
            return "…"
        return "–" if self.need.value is None else numbers.epsilon(self.need.value, up=True)

    @property
    def target_text(self) -> str:
        """The target as it was entered."""
        return numbers.entered(self.target) if self.name == "mu" else f"{numbers.entered(100 * self.target)} %"

    def written(self, value: float) -> str:
        """A value of the risk, rounded up."""
        return numbers.epsilon(value, up=True) if self.name == "mu" else numbers.probability(value, up=True)


def odds(share: float, beside: float = 1.0) -> str:
    """A probability as people count: "5 of 100"; of as many as make the one `beside` it at least 1."""
    least = min(share, beside)
    whole = 100 if least >= 0.01 else 10 ** math.ceil(-math.log10(least) - 1e-9)
    return f"{numbers.entered(share * whole)} of {numbers.steps(whole)}"


def along_noise(
    *,
    mechanism: Annotated[Mechanism, kinds.MECHANISM],
    steps: Annotated[int, STEPS],
    delta: Annotated[float, DELTA],
    risk: Annotated[str, RISK],
    after: Annotated[float, AFTER],
    before: Annotated[float, BEFORE],
    mu: Annotated[float, MU],
    lowest_noise: Annotated[float, LOW],
    largest_noise: Annotated[float, HIGH],
) -> Answer[RiskFacts]:
    """One risk along the noise, and where it meets the target."""
    kind = BY_NAME[risk]
    given = {"fpr": before, "prior": before, "delta": delta}
    one, target = kind(*(given[name] for name in kind.given)), mu if risk == "mu" else after
    if risk not in ("mu", "advantage") and target <= before:
        raise ValueError(
            f"The target {numbers.entered(100 * target)} % must lie above {numbers.entered(100 * before)} %, which the "
            "attacker has without the data."
        )
    slow = too_slow(steps)
    why = f"{slow}." if slow else Tight().supports(mechanism)
    facts = RiskFacts(
        risk=one,
        name=risk,
        target=target,
        mechanism=mechanism,
        steps=steps,
        delta=delta,
        after=after,
        before=before,
        mu=mu,
        why=why,
        x=noise_grid(lowest_noise, largest_noise),
    )
    plot = LinePlot(
        kinds.noise_axis(mechanism, lowest_noise, largest_noise),
        Axis(
            RISK.options[risk],
            name=risk,
            column=risk,
            write=facts.written,
            shown=(0.0, 4.0 * target if risk == "mu" else min(4.0 * target, 1.02)),
        ),
        (),
        guides=(
            Guide("y", target, f"target: {facts.target_text}", sets=MU if risk == "mu" else AFTER),
            kinds.noise_guide(mechanism, facts.noise),
        ),
        end_values=False,
        summary=f"{RISK.options[risk]} against the {kinds.noise_label(mechanism)}; target {facts.target_text}.",
    )
    return Answer(plot, facts)


# The curve, which holds for every target and every chosen noise; then what these decide.


def curve_key(answer: Answer[RiskFacts]) -> Hashable | None:
    facts = answer.facts
    if facts.why:
        return None
    return facts.risk, facts.bare, facts.steps, facts.x[0], facts.x[-1]


def curve(answer: Answer[RiskFacts]) -> dict[str, Any]:
    """The risk at each noise of the axis, which bounds it up to the next one: more noise is never more risk.

    From the most noise on: where nothing is left to lose, with less noise nothing is, and that takes longest to see.
    """
    facts = answer.facts
    y = np.full(facts.x.size, facts.risk.most)
    for i in reversed(range(y.size)):
        y[i] = risk_at(facts.risk, facts.bare, facts.steps, float(facts.x[i]))
        if y[i] >= facts.risk.most * (1.0 - SHOWN):
            break
    return {"y": np.minimum.accumulate(y)}


@remembered
def risk_at(risk: Risk, mechanism: Mechanism, steps: int, noise: float) -> float:
    """The risk with so much noise, from above; some 30 ms. `mechanism` is without it."""
    return risk.of(kinds.with_noise(mechanism, noise), steps)


def need_key(answer: Answer[RiskFacts]) -> Hashable | None:
    facts = answer.facts
    return None if facts.why else (facts.risk, facts.target, facts.mechanism, facts.steps, facts.delta)


def need(answer: Answer[RiskFacts]) -> dict[str, Any]:
    facts = answer.facts
    needed = solved(facts.risk, facts.target, facts.bare, facts.steps)
    here = risk_at(facts.risk, facts.bare, facts.steps, facts.noise)
    epsilon = None
    if needed.value:
        at = kinds.with_noise(facts.mechanism, needed.value)
        epsilon = dpviz.epsilon(Tight.name, mechanism=at, steps=facts.steps, delta=facts.delta)
    return {"need": needed, "here": here, "epsilon": epsilon}


@remembered
def solved(risk: Risk, target: float, mechanism: Mechanism, steps: int) -> Need:
    """The least noise by `dpviz.solve`; `mechanism` is without it."""
    asked: dict[str, Any] = dict(zip(risk.given, astuple(risk), strict=True)) | {risk.target: target}
    asked |= {"mechanism": mechanism, "steps": steps, "tolerance": TOLERANCE}
    try:
        return Need(dpviz.solve("noise_multiplier", method=Tight.name, **asked))
    except NoAnswer as none:
        return Need(None, none.why)


def with_answer(answer: Answer[RiskFacts]) -> LinePlot:
    """The plot with the curve and the answer, as far as they are there."""
    assert isinstance(answer.plot, LinePlot)
    facts, plot = answer.facts, answer.plot
    if facts.y is not None:
        line = Line(Tight.name, "at most", facts.x, facts.y, Tight.name, stairs="falling")
        plot = replace(plot, lines=(line,))
    value = facts.need.value
    if value is not None and facts.x[0] < value < facts.x[-1]:
        name = f"{facts.mechanism.symbol} {facts.text}"
        plot = replace(plot, rings=(Ring(value, facts.target, "keeps the target", look.GREY, name=name),))
    return plot


def layout(get: Reader) -> Layout:
    """The controls: the risk with what it needs, the mechanism, and the axis for experts."""
    after, before = LABELS.get(get(RISK), ("", ""))
    asked: tuple[Item, ...] = (replace(AFTER, label=after) if after else MU,)
    if before:  # the sliders stop where the target lies above
        least = min((tick for tick in AFTER.ticks if tick > get(BEFORE)), default=AFTER.ticks[-1])
        most = max((tick for tick in BEFORE.ticks if tick < get(AFTER)), default=BEFORE.ticks[0])
        asked = (
            FieldControl((replace(AFTER, label=after),), within=(least, 1.0)),
            FieldControl((replace(BEFORE, label=before),), within=(0.0, most)),
        )
    return {
        "Ask": (RISK, *asked),
        "Mechanism": kinds.controls(get),
        "Show": experts(FieldControl((LOW, HIGH))),
    }


def promise(f: RiskFacts) -> str:
    """What the target means, counted in people."""
    if f.name == "advantage":
        right = odds((1 + f.after) / 2)
        return f"the best attack on membership is right at most <b>{right}</b> times (guessing: 50 of 100)"
    if f.name == "mu":
        return f"the release hides as much as one Gaussian release with <b>μ = {numbers.at_most(f.mu)}</b>"
    before, after = odds(f.before), odds(f.after, f.before)
    if f.name == "tpr":
        return f"an attack that accuses {before} non-members finds at most <b>{after}</b> members"
    if f.name == "posterior":
        except_for = f"except with probability {numbers.delta(f.delta)}"
        return f"a belief in membership of {before} grows to at most <b>{after}</b>, {except_for}"
    return f"an attacker who guesses {before} records reconstructs at most <b>{after}</b>"


def headline(f: RiskFacts) -> str:
    symbol = f.mechanism.symbol
    if f.why:
        return "No risk can be computed here: the notes say why."
    if f.impossible:
        return f"<b>No {symbol}</b> here ensures this: {promise(f)}."
    if f.need.value == 0:
        return f"Without any noise, {promise(f)}."
    return f"With <b>{symbol} = {f.text}</b>, {promise(f)}."


def metrics(f: RiskFacts) -> Iterator[Metric]:
    symbol, waits = f.mechanism.symbol, not f.why and f.need.waits
    if waits or f.need.value is not None:
        yield Metric(f"Noise needed: {symbol}", f.text, "rounded up; PLD")
    if waits or f.here is not None:
        here = "…" if f.here is None else f"≤ {f.written(f.here)}"
        yield Metric(f"{OF_RISK[f.name]} at my {symbol} = {numbers.entered(f.noise)}", here, f"target: {f.target_text}")
    if waits or f.epsilon is not None:
        epsilon = "…" if f.epsilon is None else f"≤ {numbers.up(f.epsilon)}"
        yield Metric("ε with the noise needed", epsilon, f"at δ = {numbers.delta(f.delta)}")


def notes(f: RiskFacts) -> Iterator[Note]:
    if f.why:
        yield Note(f"No risk can be computed here: {f.why}", "caution")
    if f.impossible:
        why = f": {f.need.why}" if f.need.why else " here."
        yield Note(f"No noise reaches this target{why}", "caution")
    if f.need.value == 0:
        yield Note(
            "The chance that an example is ever drawn is so small that no noise is needed. "
            "Examples that are drawn have no guarantee.",
            "caution",
        )


def formulas(f: RiskFacts) -> Iterator[Formula]:
    match f.name:
        case "advantage":
            yield Formula("Advantage", rf"\max\,(\mathrm{{TPR}} - \mathrm{{FPR}}) = \delta(0) \le {f.after:g}")
        case "posterior":
            yield Formula(
                "Belief, except with probability δ",
                r"\ln\frac{p}{1-p} \le \ln\frac{\pi}{1-\pi} + "
                r"\min_\varepsilon\left(\varepsilon - \ln\left(1 - \frac{\delta(\varepsilon)}{\delta}\right)\right),"
                rf" \quad \pi = {f.before:g},\ p \le {f.after:g}",
            )
        case "mu":
            yield Formula(
                "Gaussian differential privacy (Dong, Roth, Su 2022)",
                r"\delta(\varepsilon) \le \Phi\left(\tfrac\mu2 - \tfrac\varepsilon\mu\right) - "
                r"e^\varepsilon \Phi\left(-\tfrac\mu2 - \tfrac\varepsilon\mu\right)"
                rf" \ \text{{ wherever }} \delta(\varepsilon) > \delta,\quad \mu = {f.mu:g}",
            )
        case _:
            yield Formula(
                "Whole privacy curve (Dong, Roth, Su 2022)",
                r"\min_\varepsilon\ \min\left(e^\varepsilon \kappa + \delta(\varepsilon),\ "
                r"1 - e^{-\varepsilon}(1 - \delta(\varepsilon) - \kappa)\right)"
                rf" \le {f.after:g},\quad \kappa = {f.before:g}",
            )


def assumptions(f: RiskFacts) -> str:
    return f"""
{kinds.assumed(f.mechanism).strip()}
- **Answers are rounded up.** Each risk is an upper bound on every attack, from the whole privacy curve δ(ε) by the
  PLD accountant. The curve is drawn as stairs: more noise is never more risk, so the risk at one noise
  bounds it up to the next.
  No δ has to be chosen for the advantage, for members found, and for reconstruction.
- **Advantage** is true positive rate minus false positive rate of the best attack: δ at ε = 0.
- **Members found** is the true positive rate at the false positive rate *before* (Dong, Roth, Su 2022).
- **Belief** is what an attacker may come to believe, except for outputs with total probability δ.
- **Reconstruction** is the chance that a record is reconstructed by an attacker who would guess it with the chance
  *before* without the release (ReRo: Balle, Cherubini, Hayes 2022; Hayes, Mahloujifar, Balle 2023).
- **μ** of Gaussian differential privacy is compared with the mechanism at every δ down to this one; below
  it, the comparison does not hold.
- **The attacker** knows everything else: all other records, the mechanism and its noise distribution.
"""


RISK_FIRST = Question(
    "risk",
    "How much noise does a target risk need?",
    along_noise,
    Words(headline, metrics, notes, formulas, assumptions),
    asks="need",
    layout=layout,
    slow=(slow_facts(need_key, need, None, with_answer), slow_facts(curve_key, curve, None, with_answer)),
    more={"Accountants": lambda _: cards((Tight.name,))},
)
