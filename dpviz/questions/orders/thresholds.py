"""What does the threshold C change? ε by order for three clipping thresholds (Triastcyn & Faltings 2020, Fig. 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz.accounting.formula import tex
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Item, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds
from dpviz.questions.orders.curves import Least, exact, least, order_axis, value_axis, whole_grid, whole_span
from dpviz.questions.orders.epsilon import around, lowest_point, rings
from dpviz.questions.orders.fields import FIRST, LARGEST, LOG_X, LOG_Y, SECOND, THIRD
from dpviz.questions.orders.words import ASSUMPTIONS, DIVERGENCE, NOTHING
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE


@dataclass(frozen=True)
class ThresholdFacts:
    """What each threshold costs.

    Attributes:
        best: (name, its lowest point) of each curve; NaNs where no order gives a finite ε.
        last: the largest λ tried.
    """

    best: tuple[tuple[str, Least], ...]
    last: float


def thresholds(
    *,
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    first: float,
    second: float,
    third: float,
    largest: float,
    log_x: bool,
    log_y: bool,
) -> Answer[ThresholdFacts]:
    """ε(λ) at whole λ with noise of standard deviation σ, all distances equal to C: the noise multiplier is σ/C."""
    orders, lines = whole_grid(largest) + 1.0, []
    for index, threshold in enumerate(dict.fromkeys([first, second, third])):
        spent = steps * exact(noise_multiplier / threshold, sample_rate, orders)
        epsilon = epsilon_per_order(spent, orders, np.array(delta), "classic")
        name, color = f"C = {numbers.plain(threshold)}", (look.BLUE, look.ORANGE, look.GREEN)[index]
        lines.append(Line(f"C{index}", name, orders - 1.0, epsilon, "renyi_improved", color=color, explained=True))
    plot = LinePlot(
        x=order_axis(orders - 1.0, largest, log=log_x, shown=whole_span(largest, log_x, first=1.0)),
        y=value_axis("ε at T by order", "ε", "epsilon", log=log_y, shown=around(lines, log_y), reading="attack"),
        lines=tuple(lines),
        rings=tuple(rings(lines)) if sample_rate > 0.0 else (),
        end_values=False,
        names_on_lines=True,
        said=lowest_point(lines[0]),
    )
    return Answer(plot, ThresholdFacts(tuple((line.name, least(line)) for line in lines), float(orders[-1] - 1.0)))


def headline(a: Answer[ThresholdFacts]) -> str:
    g, parts = a.given, []
    if g["sample_rate"] == 0.0:
        return NOTHING
    for name, best in a.facts.best:
        if math.isnan(best.order):
            parts.append(f"{name}: no finite ε")
            continue
        end = " (the last one shown)" if best.order == a.facts.last else ""
        parts.append(f"{name}: <b>ε ≤ {numbers.epsilon(best.value, up=True)}</b> at λ = {best.order:.0f}{end}")
    lead = f"After <b>{numbers.steps(g['steps'])}</b> steps with noise of standard deviation "
    said = f"{lead}σ = {numbers.plain(g['noise_multiplier'])} whatever C is: " + "; ".join(parts) + "."
    return said.replace("C = ", "C\u00a0=\u00a0")


def metrics(a: Answer[ThresholdFacts]) -> list[Metric]:
    built = []
    for name, best in a.facts.best:
        end = "the last order shown" if best.order == a.facts.last else "the best whole order"
        order = "–" if math.isnan(best.order) else f"λ = {best.order:.0f}"
        built.append(Metric(f"ε at {name}", f"≤ {numbers.epsilon(best.value, up=True)}", f"{order}, {end}"))
    return built


def notes(a: Answer[ThresholdFacts]) -> list[Note]:
    g, built = a.given, []
    if g["sample_rate"] == 0.0:
        return []
    late = [name for name, best in a.facts.best if best.order == a.facts.last]
    if late and g["largest"] < LARGEST.high:
        text = f"{' and '.join(late)}: ε still falls at the largest order shown, λ = {g['largest']:.0f}."
        built.append(Note(text, "caution"))
    if g["noise_multiplier"] != 1.0:
        built.append(Note("Here σ is the noise itself, in the units of C; the noise multiplier is σ/C."))
    return built


def formulas(a: Answer[ThresholdFacts]) -> list[tuple[str, str]]:
    return [
        DIVERGENCE,
        *(
            (
                f"{name} (Triastcyn & Faltings 2020, Fig. 5: the moments accountant at σ/C)",
                r"\varepsilon = \tfrac1\lambda\left(T\,\psi(\lambda, C) - \ln\delta\right) = "
                rf"{tex(best.value)} \quad (\lambda = {best.order:.0f},\ \sigma/C)",
            )
            for name, best in a.facts.best
            if not math.isnan(best.order)
        ),
    ]


def layout(get: Reader) -> Groups:
    shown: tuple[Item, ...] = (LOG_Y, *experts(LARGEST, LOG_X, IMAGE))
    return {"Question": (FIRST, SECOND, THIRD), "Mechanism": units.controls(get), "Show": shown}


THRESHOLDS: Question[ThresholdFacts] = Question(
    key="thresholds",
    title="What does the threshold C change?",
    settings={
        **SETTINGS,
        "first": FIRST,
        "second": SECOND,
        "third": THIRD,
        "largest": LARGEST,
        "log_x": LOG_X,
        "log_y": LOG_Y,
    },
    answer=thresholds,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("bdp5"),
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved",))},
)
