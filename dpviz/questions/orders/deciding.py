"""Which order decides ε? ε at T by order, with the lowest point of every curve."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.formula import tex
from dpviz.charts import look
from dpviz.charts.lines import Span
from dpviz.charts.marks import Band, Line
from dpviz.charts.plot import LinePlot
from dpviz.charts.rings import Ring
from dpviz.fields import numbers
from dpviz.questions import guessing, tight_band, units
from dpviz.questions.answer import Answer, Metric, Note, Slow
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds, theorems
from dpviz.questions.orders.curves import Least, least, order_axis, value_axis
from dpviz.questions.orders.epsilon import around, epsilon_lines, lowest_point, moments, rings
from dpviz.questions.orders.fields import LARGEST, LOG_X, LOG_Y
from dpviz.questions.orders.words import ASSUMPTIONS, DIVERGENCE, NOTHING, order
from dpviz.questions.presets import presets
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.tight_band import TightBand
from dpviz.questions.use.blocks import use_it
from dpviz.questions.use.plan import Plan, checked

NO_PROMISE = 1e5  # an ε beyond this needs no second opinion


@dataclass(frozen=True)
class DecidingFacts:
    """What decides.

    Attributes:
        best: λ and ε of the improved conversion; NaNs where no order gives a finite ε.
        moments: λ and ε of the moments accountant; NaNs at q = 0.
        at_end: whether the largest order shown decides.
        tight: the tight accountant's interval, once it is there.
        accuracy: of the best attack at T, with it.
    """

    best: Least
    moments: Least
    at_end: bool
    tight: TightBand | None = None
    accuracy: dpviz.Accuracy | None = None


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
    """ε(λ) by both conversions of exact divergences, by the closed form and by the asymptotic moment."""
    lines = epsilon_lines(noise_multiplier, sample_rate, steps, delta, largest)
    improved, best, old = lines[0], least(lines[0]), moments(noise_multiplier, sample_rate, steps, delta)
    x = np.asarray(improved.x)
    rung = [] if sample_rate == 0.0 else rings(lines)
    if not math.isnan(old.order):
        said = f"moments accountant (whole λ ≤ 32): <b>{numbers.epsilon(old.value)}</b> at λ = {old.order:.0f}"
        rung.append(Ring(old.order, old.value, said, look.style("moments").color))
    plot = LinePlot(
        x=order_axis(x, largest, log=log_x, shown=nearby(improved, largest, log_x)),
        y=value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=around(lines, log_y), reading="attack"),
        lines=lines,
        rings=tuple(rung),
        end_values=False,
        names_on_lines=True,  # both arms of ε(λ) leave through the top: names at their ends would stand beside nothing
        said=lowest_point(improved),
    )
    return Answer(plot, DecidingFacts(best, old, best.order == x[-1]))


def nearby(line: Line, largest: float, log: bool) -> Span:
    """Where ε is within a few times its minimum, and some more; everything on a plain axis."""
    best = least(line)
    if not log:
        return 0.0, largest
    if math.isnan(best.order):
        return 0.1, largest
    near = np.asarray(line.x)[np.asarray(line.y) <= 3.0 * best.value]
    return max(float(near[0]) / 2.0, 1e-4), min(2.0 * float(near[-1]), largest)


def tight_key(a: Answer[DecidingFacts]) -> Hashable | None:
    """What decides the tight interval; None where ε is past all use."""
    g = a.given
    wanted = a.facts.best.value < NO_PROMISE
    return (g["noise_multiplier"], g["sample_rate"], g["steps"], g["delta"]) if wanted else None


Tight = tuple[TightBand, dpviz.Accuracy]


def mechanism(a: Answer[DecidingFacts]) -> dpviz.SampledGaussian:
    return dpviz.SampledGaussian(a.given["noise_multiplier"], a.given["sample_rate"])


def tight_part(a: Answer[DecidingFacts]) -> Tight:
    """The tight accountant's interval, and the best attack's accuracy."""
    step, steps = mechanism(a), a.given["steps"]
    return tight_band.interval([(step, steps)], a.given["delta"]), guessing.accuracy(step, steps)


def tight_soon(a: Answer[DecidingFacts]) -> Tight:
    """The upper ends of both."""
    step, steps = mechanism(a), a.given["steps"]
    return tight_band.end([(step, steps)], a.given["delta"]), guessing.accuracy_soon(step, steps)


def with_tight(a: Answer[DecidingFacts], found: Tight) -> Answer[DecidingFacts]:
    """The truth does not depend on an order: a level band that every ε(λ) lies above."""
    plot, (tight, accuracy) = a.plot, found
    facts = replace(a.facts, tight=tight, accuracy=accuracy)
    if tight.soon:
        return replace(a, facts=facts)
    assert isinstance(plot, LinePlot)
    low, high = float(tight.lower[-1]), float(tight.upper[-1])
    shown = around(plot.lines, plot.y.log, (low, high))
    band = []
    if math.isfinite(low) and math.isfinite(high):
        assert isinstance(plot.x.shown, tuple)
        x = np.unique([float(plot.lines[0].x[0]), *(plot.x.marks or ()), plot.x.shown[1]])
        band = [Band("tight", x, np.full(x.shape, low), np.full(x.shape, high))]
    return replace(a, plot=replace(plot, y=replace(plot.y, shown=shown), bands=tuple(band)), facts=facts)


def headline(a: Answer[DecidingFacts]) -> str:
    g, best, old = a.given, a.facts.best, a.facts.moments
    if g["sample_rate"] == 0.0:
        return NOTHING
    steps = numbers.steps(g["steps"])
    if math.isnan(best.order):
        return f"No order shown gives a finite ε after <b>{steps}</b> steps: add noise or take fewer steps."
    return (
        f"After <b>{steps}</b> steps the order <b>α = {order(best.order + 1.0)}</b> decides: "
        f"<b>ε ≤ {numbers.epsilon(best.value, up=True)}</b> at δ = {numbers.delta(g['delta'])}. The moments "
        f"accountant, which tries whole λ = α − 1 up to 32, decides at <b>λ = {old.order:.0f}</b> and says "
        f"<b>{numbers.epsilon(old.value, up=True)}</b>."
    )


def metrics(a: Answer[DecidingFacts]) -> list[Metric]:
    g, f = a.given, a.facts
    best, old = f.best, f.moments
    decided = "no finite ε" if math.isnan(best.order) else f"decided at α = {order(best.order + 1.0)}"
    chance = guessing.guess(math.inf if math.isnan(best.value) else best.value, g["delta"], f.accuracy)
    late = Metric(tight_band.NAME, "–" if tight_key(a) is None else "…")
    return [
        Metric(
            "ε, improved conversion",
            f"≤ {numbers.epsilon(best.value, up=True)}",
            decided if g["sample_rate"] else "nothing is released",
        ),
        late if f.tight is None else f.tight.figure,
        chance.figure,
        Metric(
            "ε, moments accountant",
            "–" if math.isnan(old.value) else f"≤ {numbers.epsilon(old.value, up=True)}",
            "" if math.isnan(old.order) else f"decided at λ = {old.order:.0f} of 1–32",
        ),
    ]


def notes(a: Answer[DecidingFacts]) -> list[Note]:
    g = a.given
    if g["sample_rate"] == 0.0:
        return []
    built = []
    if a.facts.at_end and g["largest"] < LARGEST.high:
        text = f"The largest order shown, λ = {g['largest']:.0f}, decides: show more of them."
        built.append(Note(text, "caution"))
    return built + theorems(g["noise_multiplier"], g["sample_rate"])


def formulas(a: Answer[DecidingFacts]) -> list[tuple[str, str]]:
    delta, best, old, built = a.given["delta"], a.facts.best, a.facts.moments, [DIVERGENCE]
    if a.given["sample_rate"] > 0 and not math.isnan(best.order):
        alpha = best.order + 1.0
        tail = math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)
        built.append(
            (
                "Improved conversion (Canonne, Kamath, Steinke 2020)",
                r"\varepsilon = T R(\alpha) + \ln\tfrac{\alpha-1}{\alpha} - \tfrac{\ln\delta+\ln\alpha}{\alpha-1}"
                rf" = {tex(best.value - tail)} + ({tex(tail)}) = {tex(best.value)} \quad (\alpha = {tex(alpha)})",
            )
        )
    if not math.isnan(old.order):
        slack = math.log(1 / delta) / old.order
        built.append(
            (
                "Moments accountant (Abadi et al. 2016)",
                r"\varepsilon = \frac{T\alpha_M(\lambda) + \ln(1/\delta)}{\lambda} = "
                rf"{tex(old.value - slack)} + {tex(slack)} = {tex(old.value)} \quad (\lambda = {old.order:.0f})",
            )
        )
    return built


def use(a: Answer[DecidingFacts]) -> list[Block]:
    """What to set, the paragraph and the code, by the improved conversion."""
    g = a.given
    setting = g["noise_multiplier"], g["sample_rate"], g["steps"], g["delta"]
    return use_it(lambda: checked(Plan(*setting, "renyi_improved", "exact")))


def layout(get: Reader) -> Groups:
    return {"Mechanism": units.controls(get), "Show": (LOG_Y, *experts(LARGEST, LOG_X, IMAGE))}


DECIDING: Question[DecidingFacts] = Question(
    key="orders",
    option="epsilon",
    title="Which order decides ε?",
    settings={**SETTINGS, "largest": LARGEST, "log_x": LOG_X, "log_y": LOG_Y},
    answer=deciding,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("abadi2orders"),
    slow=(Slow(tight_key, tight_part, with_tight, tight_soon),),
    layout=layout,
    more={
        "Known bounds": lambda a: known_bounds(a, a.facts.tight),
        "Use it": use,
        "Accountants": lambda _: cards(("renyi_improved", "renyi_classic", "moments", "closed_form", "tight")),
    },
)
