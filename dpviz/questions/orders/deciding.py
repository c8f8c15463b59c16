"""Which order decides ε? ε at T by order, with the lowest point of every curve."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.axes import Span
from dpviz.charts.marks import Band, Line, Ring
from dpviz.charts.plot import LinePlot, Plot
from dpviz.fields import numbers
from dpviz.mechanisms import Event, SampledGaussian
from dpviz.questions import guessing, tight_band, units
from dpviz.questions.answer import Answer, Metric, given, slow_facts
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds, theorems
from dpviz.questions.orders.curves import (
    Least,
    around,
    epsilon_lines,
    least,
    lowest_point,
    moments,
    order_axis,
    rings,
    value_axis,
)
from dpviz.questions.orders.fields import LARGEST, LOG_X, LOG_Y
from dpviz.questions.presets import presets
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.tight_band import TightBand
from dpviz.questions.use.blocks import use_it
from dpviz.questions.use.plan import Plan, checked
from dpviz.questions.words import words

NO_PROMISE = 1e5  # an ε beyond this needs no second opinion


@dataclass(frozen=True)
class DecidingFacts:
    """What decides.

    Attributes:
        best: λ and ε of the improved conversion; NaNs where no order gives a finite ε.
        moments: λ and ε of the moments accountant; NaNs at q = 0.
        at_end: whether the largest order shown decides.
        theorems: which hold at no order, in sentences.
        tight: the tight accountant's interval, once it is there.
        accuracy: of the best attack at T, with it.
    """

    best: Least
    moments: Least
    at_end: bool
    theorems: list[str]
    tight: TightBand | None = None
    accuracy: dpviz.Accuracy | None = None

    @property
    def useful(self) -> bool:
        """Whether a second opinion on ε is of any use."""
        return self.best.value < NO_PROMISE

    @property
    def tight_figure(self) -> Metric:
        return self.tight.figure if self.tight else Metric(tight_band.NAME, "…" if self.useful else "–")

    def guess(self, delta: float) -> guessing.Guess:
        epsilon = math.inf if math.isnan(self.best.value) else self.best.value
        return guessing.guess(epsilon, delta, self.accuracy)

    def tail(self, delta: float) -> float:
        """What the improved conversion adds at the order that decides."""
        alpha = self.best.order + 1.0
        return math.log1p(-1 / alpha) - (math.log(delta) + math.log(alpha)) / (alpha - 1)

    def slack(self, delta: float) -> float:
        """What the moments accountant's tail bound adds."""
        return math.log(1 / delta) / self.moments.order


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
        hover = f"moments accountant (whole λ ≤ 32): <b>{numbers.epsilon(old.value)}</b> at λ = {old.order:.0f}"
        rung.append(Ring(old.order, old.value, hover, look.style("moments").color))
    plot = LinePlot(
        x=order_axis(x, largest, log=log_x, shown=nearby(improved, largest, log_x)),
        y=value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=around(lines, log_y), reading="attack"),
        lines=lines,
        rings=tuple(rung),
        end_values=False,
        names_on_lines=True,  # both arms of ε(λ) leave through the top: names at their ends would stand beside nothing
        summary=lowest_point(improved),
    )
    return Answer(plot, DecidingFacts(best, old, best.order == x[-1], theorems(noise_multiplier, sample_rate)))


def nearby(line: Line, largest: float, log: bool) -> Span:
    """Where ε is within a few times its minimum, and some more; everything on a plain axis."""
    best = least(line)
    if not log:
        return 0.0, largest
    if math.isnan(best.order):
        return 0.1, largest
    near = np.asarray(line.x)[np.asarray(line.y) <= 3.0 * best.value]
    return max(float(near[0]) / 2.0, 1e-4), min(2.0 * float(near[-1]), largest)


def tight_key(answer: Answer[DecidingFacts]) -> Hashable | None:
    """What decides the tight interval; None where ε is past all use."""
    return given(*SETTINGS)(answer) if answer.facts.useful else None


def event(answer: Answer[DecidingFacts]) -> Event:
    given = answer.given
    return SampledGaussian(given["noise_multiplier"], given["sample_rate"]), given["steps"]


def tight_part(answer: Answer[DecidingFacts]) -> dict[str, Any]:
    """The tight accountant's interval, and the best attack's accuracy."""
    step = event(answer)
    return {"tight": tight_band.interval([step], answer.given["delta"]), "accuracy": guessing.accuracy(*step)}


def tight_soon(answer: Answer[DecidingFacts]) -> dict[str, Any]:
    """The upper ends of both."""
    step = event(answer)
    return {"tight": tight_band.end([step], answer.given["delta"]), "accuracy": guessing.accuracy_soon(*step)}


def with_band(answer: Answer[DecidingFacts]) -> Plot:
    """The truth does not depend on an order: a level band that every ε(λ) lies above."""
    plot, tight = answer.plot, answer.facts.tight
    assert isinstance(plot, LinePlot)
    assert tight is not None
    if tight.soon:
        return plot
    low, high = float(tight.lower[-1]), float(tight.upper[-1])
    plot = replace(plot, y=replace(plot.y, shown=around(plot.lines, plot.y.log, (low, high))))
    if not (math.isfinite(low) and math.isfinite(high)):
        return replace(plot, bands=())
    assert isinstance(plot.x.shown, tuple)
    x = np.unique([float(plot.lines[0].x[0]), *(plot.x.marks or ()), plot.x.shown[1]])
    return replace(plot, bands=(Band("tight", x, np.full(x.shape, low), np.full(x.shape, high)),))


def use(answer: Answer[DecidingFacts]) -> list[Block]:
    """What to set, the paragraph and the code, by the improved conversion."""
    setting = {name: answer.given[name] for name in SETTINGS}
    return use_it(lambda: checked(Plan(**setting, key="renyi_improved", amplification="exact")))


def layout(get: Reader) -> Groups:
    return {"Mechanism": units.controls(get), "Show": (LOG_Y, *experts(LARGEST, LOG_X, IMAGE))}


DECIDING: Question[DecidingFacts] = Question(
    key="orders",
    option="epsilon",
    settings={**SETTINGS, "largest": LARGEST, "log_x": LOG_X, "log_y": LOG_Y},
    answer=deciding,
    **words("orders", "deciding"),
    presets=presets("abadi2orders"),
    slow=(slow_facts(tight_key, tight_part, tight_soon, with_band),),
    layout=layout,
    more={
        "Known bounds": known_bounds,
        "Use it": use,
        "Accountants": lambda _: cards(("renyi_improved", "renyi_classic", "moments", "closed_form", "tight")),
    },
)
