"""ε(α) by both conversions, the closed form and the asymptotic moment: which order gives the smallest ε?"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.methods import ClosedForm, Moments, Renyi, Tight
from dpviz.charts import Band, Line, LinePlot, Plot, Ring, Span, look
from dpviz.fields import numbers
from dpviz.mechanisms import Event, SampledGaussian
from dpviz.questions import Answer, Formula, Metric, Note, Words, guessing
from dpviz.questions.mechanism import SETTINGS, shown_delta, shown_steps
from dpviz.questions.orders import curves
from dpviz.questions.orders.curves import Least, least
from dpviz.questions.orders.shared import ASSUMPTIONS, DIVERGENCE, UNUSED, orders_question, theorems
from dpviz.questions.question import Block
from dpviz.questions.tight_band import TightBand, tight_figures, tight_part, with_bands
from dpviz.questions.use import Plan, checked, use_it

NO_PROMISE = 1e5  # an ε beyond this needs no second opinion
ALL_ORDERS = 1e6  # no larger one can be shown


@dataclass(frozen=True)
class DecidingFacts:
    """What decides.

    Attributes:
        epsilon, order: the smallest ε by the improved conversion, and its α; NaNs where no order gives a finite ε.
        moments: α and ε of the moments accountant; NaNs at q = 0.
        at_end: whether the largest order shown decides.
        theorems: which hold at no order, in sentences.
        tight: the tight accountant's interval, once it is there.
        accuracy: of the best attack at T, with it.
    """

    epsilon: float
    order: float
    moments: Least
    at_end: bool
    theorems: list[str]
    noise_multiplier: float
    sample_rate: float
    steps: int
    delta: float
    largest: float
    tight: TightBand | None = None
    accuracy: dpviz.Accuracy | None = None

    @property
    def decided(self) -> bool:
        """Whether an order gives a finite ε."""
        return not math.isnan(self.order)

    @property
    def useful(self) -> bool:
        """Whether a second opinion on ε is of any use."""
        return self.epsilon < NO_PROMISE

    @property
    def guess(self) -> guessing.Guess:
        return guessing.guess(self.epsilon if self.decided else math.inf, self.delta, self.accuracy)

    @property
    def tail(self) -> float:
        """What the improved conversion adds at the order that decides."""
        alpha = self.order
        return math.log1p(-1 / alpha) - (math.log(self.delta) + math.log(alpha)) / (alpha - 1)

    @property
    def moments_tail(self) -> float:
        """What the moments accountant's tail bound adds."""
        return math.log(1 / self.delta) / (self.moments.order - 1.0)


def deciding(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    largest: float,
    log_x: bool,
    log_y: bool,
) -> Answer[DecidingFacts]:
    """ε(α) by both conversions of exact divergences, by the closed form and by the asymptotic moment."""
    lines = curves.epsilon_lines(noise_multiplier, sample_rate, steps, delta, largest)
    improved, best, old = lines[0], least(lines[0]), curves.moments(noise_multiplier, sample_rate, steps, delta)
    x = np.asarray(improved.x)
    rung = [] if sample_rate == 0.0 else curves.rings(lines)
    if not math.isnan(old.order):
        hover = f"moments accountant (whole α ≤ {curves.MOST_MOMENTS}), at α = {old.order:.0f}"
        name = numbers.up(old.value)
        name = "" if any(ring.name == name for ring in rung) else name  # as of the classic conversion beside it
        rung.append(Ring(old.order, old.value, hover, look.style(Moments.name).color, name=name))
    plot = LinePlot(
        x=curves.order_axis(x, largest, log=log_x, shown=nearby(improved, largest, log_x)),
        y=curves.value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=curves.around(lines, log_y)),
        lines=lines,
        rings=tuple(rung),
        end_values=False,
        names_on_lines=True,  # both arms of ε(α) leave through the top: names at their ends would stand beside nothing
        summary=curves.lowest_point(improved),
    )
    facts = DecidingFacts(
        epsilon=best.value,
        order=best.order,
        moments=old,
        at_end=best.order == x[-1],
        theorems=theorems(noise_multiplier, sample_rate),
        noise_multiplier=noise_multiplier,
        sample_rate=sample_rate,
        steps=steps,
        delta=delta,
        largest=largest,
    )
    return Answer(plot, facts)


def nearby(line: Line, largest: float, log: bool) -> Span:
    """Where ε is within a few times its minimum, and some more; everything on a plain axis."""
    best = least(line)
    if not log:
        return 0.0, largest
    if math.isnan(best.order):
        return 1.1, largest
    near = np.asarray(line.x)[np.asarray(line.y) <= 3.0 * best.value]
    return 1.0 + max((float(near[0]) - 1.0) / 2.0, 1e-4), min(2.0 * float(near[-1]), largest)


def events(answer: Answer[DecidingFacts]) -> list[Event]:
    """The steps; none where ε is past all use."""
    facts = answer.facts
    return [(SampledGaussian(facts.noise_multiplier, facts.sample_rate), facts.steps)] if facts.useful else []


def with_truth(answer: Answer[DecidingFacts]) -> Plot:
    """The truth does not depend on an order: a level band that every ε(α) lies above."""
    plot, tight = answer.plot, answer.facts.tight
    assert isinstance(plot, LinePlot)
    if tight is None or tight.soon:
        return plot
    low, high = float(tight.lower[-1]), float(tight.upper[-1])
    plot = replace(plot, y=replace(plot.y, shown=curves.around(plot.lines, plot.y.log, (low, high))))
    if not (math.isfinite(low) and math.isfinite(high)):
        return plot
    assert isinstance(plot.x.shown, tuple)
    x = np.unique([float(plot.lines[0].x[0]), *(plot.x.marks or ()), plot.x.shown[1]])
    return with_bands(
        replace(answer, plot=plot),
        Band(Tight().label, x, np.full(x.shape, low), np.full(x.shape, high), key=Tight.name),
    )


def headline(f: DecidingFacts) -> str:
    if f.sample_rate == 0:
        return UNUSED
    steps = shown_steps(f.steps)
    if not f.decided:
        return f"No order shown gives a finite ε after {steps}: add noise or take fewer steps."
    return (
        f"After {steps}, the order <b>α = {numbers.plain(f.order)}</b> gives the smallest bound: "
        f"<b>ε ≤ {numbers.up(f.epsilon)}</b> at {shown_delta(f.delta)}."
    )


def metrics(f: DecidingFacts) -> Iterator[Metric]:
    at = f"at order α = {numbers.plain(f.order)}" if f.decided else "no finite ε"
    if f.sample_rate == 0:
        at = "nothing is released"
    yield Metric("Rényi DP (improved conversion)", f"ε ≤ {numbers.up(f.epsilon)}", at)
    if f.useful:
        yield from tight_figures(f.tight)
    yield f.guess.figure
    if not math.isnan(f.moments.order):
        order = f"at α = {f.moments.order:.0f}, of 2 to {curves.MOST_MOMENTS}"
        yield Metric("Moments accountant", f"ε ≤ {numbers.up(f.moments.value)}", order)


def notes(f: DecidingFacts) -> Iterator[Note]:
    if f.sample_rate == 0:
        return
    if f.at_end and f.largest < ALL_ORDERS:
        yield Note(f"The best order is the largest one shown, α = {f.largest:.0f}: show larger orders.", "caution")
    yield from map(Note, f.theorems)


def formulas(f: DecidingFacts) -> Iterator[Formula]:
    yield DIVERGENCE
    if f.sample_rate and f.decided:
        yield Formula(
            "Improved conversion (Canonne, Kamath, Steinke 2020)",
            r"\varepsilon = T R(\alpha) + \ln\tfrac{\alpha-1}{\alpha} - \tfrac{\ln\delta+\ln\alpha}{\alpha-1}"
            rf" = {numbers.tex(f.epsilon - f.tail)} + ({numbers.tex(f.tail)}) = {numbers.tex_up(f.epsilon)}"
            rf" \quad (\alpha = {numbers.tex(f.order)})",
        )
    if not math.isnan(f.moments.order):
        spent = numbers.tex(f.moments.value - f.moments_tail)
        yield Formula(
            "Moments accountant (Abadi et al. 2016)",
            r"\varepsilon = T R(\alpha) + \frac{\ln(1/\delta)}{\alpha-1} ="
            rf" {spent} + {numbers.tex(f.moments_tail)} = {numbers.tex_up(f.moments.value)}"
            rf" \quad (\alpha = {f.moments.order:.0f},\ \text{{whole}})",
        )


def use(answer: Answer[DecidingFacts]) -> list[Block]:
    """What to set, the paragraph and the code, by the improved conversion."""
    setting = {name: answer.given[name] for name in SETTINGS}
    return use_it(lambda: checked(Plan(**setting, key=Renyi().family, amplification="exact")))


DECIDING = orders_question(
    "orders",
    "Which order gives the smallest ε?",
    deciding,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    (Renyi().family, Renyi("classic").family, Moments.name, ClosedForm.name, Tight.name),
    ["abadi2orders"],
    asks="epsilon",
    option="epsilon",
    log_y=True,
    more={"Use it": use},
    slow=(tight_part(events, attack=True, drawn=with_truth),),
)
