"""Which noise keeps a risk: the advantage, detection, belief, reconstruction or μ that a person chooses, and no ε."""

import math
from collections.abc import Callable, Hashable
from dataclasses import astuple, dataclass, replace
from typing import Annotated, Any

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.attack.trade_off import RISKS, Risk
from dpviz.accounting.methods import Tight
from dpviz.accounting.solve import NoAnswer
from dpviz.charts import Guide, Line, LinePlot, Ring, look
from dpviz.fields import choice, number, numbers
from dpviz.mechanisms import Mechanism
from dpviz.questions import DELTA, STEPS, Answer, Expert, Groups, Reader, Row, cards, kinds, make_question, slow_facts
from dpviz.questions.chart_tables import chart, style
from dpviz.questions.needed import MOST_TIGHT_STEPS, TOLERANCE, Need
from dpviz.questions.noise.question import HIGH, LOW
from dpviz.questions.tight_band import noise_grid
from dpviz.questions.words import JINJA

ROOM = "noise/risk"
BY_NAME: dict[str, type[Any]] = {kind.target.removeprefix("target_"): kind for kind in RISKS}
RISK, AFTER, BEFORE, MU = choice("risk"), number("riskafter"), number("riskbefore"), number("riskmu")

LATER = Need(None, waits=True)


@dataclass(frozen=True, eq=False)
class RiskFacts:
    """The noise that keeps the target.

    Attributes:
        risk, name: which one, and its key.
        target: the largest that may be.
        mechanism, steps: what is done, at the noise that was chosen.
        why: why there is no answer; empty where there is one.
        x: the noise along its axis, (n,).
        y: the risk there, at most, (n,); None while it is not there.
        here: the risk at the chosen noise; None while it is not there.
        need: the least noise.
        epsilon: ε at δ with that noise; None where there is none.
    """

    risk: Risk
    name: str
    target: float
    mechanism: Mechanism
    steps: int
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
    def text(self) -> str:
        """The noise needed, rounded up."""
        if self.need.waits:
            return "…"
        return "–" if self.need.value is None else numbers.epsilon(self.need.value, up=True)

    @property
    def aim(self) -> str:
        """The target as it was entered."""
        return numbers.plain(self.target) if self.name == "mu" else f"{numbers.plain(100 * self.target)} %"

    def written(self, value: float) -> str:
        """A value of the risk, rounded up."""
        return numbers.epsilon(value, up=True) if self.name == "mu" else numbers.probability(value, up=True)


def odds(share: float, beside: float = 1.0) -> str:
    """A probability as people count: "5 of 100"; of as many as make the one `beside` it at least 1."""
    least = min(share, beside)
    whole = 100 if least >= 0.01 else 10 ** math.ceil(-math.log10(least) - 1e-9)
    return f"{numbers.plain(share * whole)} of {numbers.steps(whole)}"


JINJA.filters["odds"] = odds


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
            f"The target {numbers.plain(100 * target)} % must lie above {numbers.plain(100 * before)} %, which the "
            "attacker has without the data."
        )
    why = Tight().supports(mechanism)
    if steps > MOST_TIGHT_STEPS:
        why = f"the numerical (PLD) accountant is too slow beyond {numbers.steps(MOST_TIGHT_STEPS)} steps."
    x = noise_grid(lowest_noise, largest_noise)
    facts = RiskFacts(one, risk, target, mechanism, steps, why, x)
    plot = chart(
        ROOM,
        "risk",
        x,
        {},
        x_axis=kinds.noise_axis(mechanism, lowest_noise, largest_noise),
        y_axis={"title": RISK.options[risk], "name": risk, "column": risk, "write": facts.written}
        | {"shown": (0.0, 4.0 * target if risk == "mu" else min(4.0 * target, 1.02))},
        guides=(Guide("y", target, f"target: {facts.aim}"), kinds.noise_guide(mechanism, facts.noise)),
        summary=f"{RISK.options[risk]} against the {kinds.noise_label(mechanism)}; target {facts.aim}.",
    )
    return Answer(plot, facts)


# The curve, which holds for every target and every chosen noise; then what these decide.


def curve_key(answer: Answer[RiskFacts]) -> Hashable | None:
    facts = answer.facts
    plan = kinds.with_noise(facts.mechanism, 1.0)
    return None if facts.why else (facts.risk, plan, facts.steps, answer.given["lowest_noise"], facts.x[-1])


def curve(answer: Answer[RiskFacts]) -> dict[str, Any]:
    facts = answer.facts
    x, y = bent(lambda noise: risk_at(facts.risk, facts.mechanism, facts.steps, noise), facts.x)
    return {"x": x, "y": y}


def bent(value: Callable[[float], float], x: Array) -> tuple[Array, Array]:
    """`value` > 0 at half of the places x, (4n + 1,): at every fourth, then one at a time where the curve's logarithm
    bends most.

    The straight lines between them err on the high side where the curve is convex, else a little on the low side.
    """
    y = {i: value(float(x[i])) for i in range(0, x.size, 4)}
    while len(y) <= x.size // 2:
        at = np.array(sorted(y))
        wide = np.diff(at)
        slopes = np.diff(np.log([y[i] for i in at.tolist()])) / wide
        bends = np.abs(np.diff(slopes, prepend=slopes[0], append=slopes[-1]))
        gap = int(np.argmax((bends[:-1] + bends[1:]) * np.where(wide > 1, wide, 0)))
        middle = int(at[gap] + at[gap + 1]) // 2
        y[middle] = value(float(x[middle]))
    at = np.array(sorted(y))
    return x[at], np.array([y[i] for i in at.tolist()])


@remembered
def risk_at(risk: Risk, mechanism: Mechanism, steps: int, noise: float) -> float:
    """The risk with so much noise, from above; some 30 ms."""
    return risk.of(kinds.with_noise(mechanism, noise), steps)


def need_key(answer: Answer[RiskFacts]) -> Hashable | None:
    facts = answer.facts
    return None if facts.why else (facts.risk, facts.target, facts.mechanism, facts.steps, answer.given["delta"])


def need(answer: Answer[RiskFacts]) -> dict[str, Any]:
    facts = answer.facts
    needed = solved(facts.risk, facts.target, kinds.with_noise(facts.mechanism, 1.0), facts.steps)
    here = risk_at(facts.risk, facts.mechanism, facts.steps, facts.noise)
    epsilon = None
    if needed.value:
        at = kinds.with_noise(facts.mechanism, needed.value)
        epsilon = dpviz.epsilon(Tight.name, mechanism=at, steps=facts.steps, delta=answer.given["delta"])
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
        plot = replace(plot, lines=(Line(Tight.name, x=facts.x, y=facts.y, **style(ROOM, "risk", Tight.name)),))
    value = facts.need.value
    if value is not None and facts.x[0] < value < facts.x[-1]:
        text = f"keeps the target at <b>{facts.mechanism.symbol} = {facts.text}</b>"
        plot = replace(plot, rings=(Ring(value, facts.target, text, look.ORANGE),))
    return plot


def layout(get: Reader) -> Groups:
    """The controls: the risk with what it needs, the mechanism, and the axis for experts."""
    kind = BY_NAME[get(RISK)]
    before = () if get(RISK) in ("advantage", "mu") else (BEFORE,)
    target = MU if kind.target == "target_mu" else AFTER
    return {
        "Ask": (RISK, target, *before),
        "Mechanism": kinds.controls(get),
        "Show": (Expert(Row((LOW, HIGH))),),
    }


RISK_FIRST = make_question(
    f"{ROOM}/risk",
    along_noise,
    layout,
    slow=(slow_facts(need_key, need, None, with_answer), slow_facts(curve_key, curve, None, with_answer)),
    more={"Accountants": lambda _: cards((Tight.name,))},
)
