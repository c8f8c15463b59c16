"""What does the threshold C change? ε by order for three clipping thresholds (Triastcyn & Faltings 2020, Fig. 5)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import Answer
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Item, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds
from dpviz.questions.orders.curves import (
    Least,
    around,
    exact,
    least,
    lowest_point,
    order_axis,
    rings,
    value_axis,
    whole_grid,
    whole_span,
)
from dpviz.questions.orders.fields import FIRST, LARGEST, LOG_X, LOG_Y, SECOND, THIRD
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words


@dataclass(frozen=True)
class ThresholdFacts:
    """What each threshold costs.

    Attributes:
        best: (name, its lowest point) of each curve; NaNs where no order gives a finite ε.
        last: the largest λ tried.
    """

    best: tuple[tuple[str, Least], ...]
    last: float

    @property
    def late(self) -> list[str]:
        """The curves that still fall there."""
        return [name for name, best in self.best if best.order == self.last]


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
        summary=lowest_point(lines[0]),
    )
    return Answer(plot, ThresholdFacts(tuple((line.name, least(line)) for line in lines), float(orders[-1] - 1.0)))


def layout(get: Reader) -> Groups:
    shown: tuple[Item, ...] = (LOG_Y, *experts(LARGEST, LOG_X, IMAGE))
    return {"Question": (FIRST, SECOND, THIRD), "Mechanism": units.controls(get), "Show": shown}


THRESHOLDS: Question[ThresholdFacts] = Question(
    key="thresholds",
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
    **words("orders", "thresholds"),
    presets=presets("bdp5"),
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved",))},
)
