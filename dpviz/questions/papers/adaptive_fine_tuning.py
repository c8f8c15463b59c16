"""Lécuyer 2021, Figs. 2b and 2d: an odometer along 50 epochs of the last layer, at σ = 1 or as an adaptive run."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.charts import LinePlot, Point
from dpviz.fields import numbers
from dpviz.questions import Answer, Formula, Metric, Note, Words
from dpviz.questions.papers.adaptive_accounts import (
    AS_PLOTTED,
    EPOCHS,
    EPSILON,
    PAPER_ODOMETER,
    RECORDS,
    by_epoch,
    spent,
)
from dpviz.questions.printed.filters import DELTA, FINE_TUNED, LAST_LAYER

PLANNED = 5.76  # the printed ε of 50 epochs at σ = 1
PRINTED = {"2b": {20: 4.7, 6: 3.24}, "2d": {8: 1.45}}  # figure → epoch → what is printed of the odometer


class PlottedOdometer(OdometerAccountant):
    """The odometer of the published plotting code: its first filters are 6/(α − 1)."""

    @property
    def first_filter(self) -> float:
        return 6.0 / math.log(2.0 * len(self.order_values) / DELTA)


PLOTTED_ODOMETER = PlottedOdometer("authors")


class EpochReading(NamedTuple):
    """ε after an epoch, by the odometer of the plotting code and by the text's with everything charged."""

    epoch: int
    plotted: float
    charged: float


@dataclass(frozen=True)
class FineTuningFacts:
    """What the odometers read.

    Attributes:
        part: the figure.
        planned: ε of 50 planned epochs at σ = 1.
        plotted: the readings at epochs of which the paper prints one, and after the last epoch.
    """

    part: str
    planned: float
    plotted: tuple[EpochReading, ...]


def fine_tuning(part: str) -> Answer[FineTuningFacts]:
    """50 epochs at σ = 1, or at the σ of the run that the plotting code draws."""
    last, fixed = LAST_LAYER.epochs, FINE_TUNED["last"][0]
    run = fixed if part == "2b" else LAST_LAYER
    planned = spent(AS_PLOTTED, fixed, False)
    plotted, charged = spent(PLOTTED_ODOMETER, run, False), spent(PAPER_ODOMETER, run, True)
    lines = [
        by_epoch("planned", "planned, σ = 1", planned, AS_PLOTTED.family),
        by_epoch("plotted", "odometer, plotting code", plotted, OdometerAccountant.name),
        by_epoch("charged", "odometer, all charged", charged, "odometer_other"),
    ]
    points = [point(epoch, value, OdometerAccountant.name) for epoch, value in PRINTED[part].items()]
    if part == "2b":
        points.insert(0, point(last, PLANNED, AS_PLOTTED.family))
    else:
        values = spent(AS_PLOTTED, run, False)
        name, family = "T fixed in advance", AS_PLOTTED.family
        lines.append(by_epoch("run", name, values, family, approximate=True))
    epochs = (*sorted(PRINTED[part]), last)
    readings = tuple(EpochReading(epoch, plotted[epoch - 1], charged[epoch - 1]) for epoch in epochs)
    plot = LinePlot(EPOCHS, EPSILON, tuple(lines), points=tuple(points))
    return Answer(plot, FineTuningFacts(part, planned[-1], readings))


def point(epoch: int, value: float, family: str) -> Point:
    """A printed ε."""
    return Point(epoch, value, f"{value}, Lécuyer 2021, §5.2", family)


def headline(f: FineTuningFacts) -> str:
    which = "at σ = 1" if f.part == "2b" else "for the adaptive run"
    readings = ", ".join(f"<b>{numbers.up(one.plotted, 4)}</b> after epoch {one.epoch}" for one in f.plotted)
    return (
        f"The odometer of the plotting code {which} reads {readings}; 50 planned epochs at σ = 1 cost "
        f"{numbers.up(f.planned, 4)}."
    )


def metrics(f: FineTuningFacts) -> Iterator[Metric]:
    yield Metric("Planned, 50 epochs, σ = 1", numbers.up(f.planned, 4), f"printed {PLANNED}")
    for one in f.plotted:
        charged = f"all charged {numbers.up(one.charged, 4)}"
        printed = PRINTED[f.part].get(one.epoch)
        note = charged if printed is None else f"printed {printed}; {charged}"
        yield Metric(f"Odometer, epoch {one.epoch}", numbers.up(one.plotted, 4), note)


def notes(_: FineTuningFacts) -> Iterator[Note]:
    yield RECORDS
    yield Note("The first filters of the plotting code are 6/(α − 1), a third of those in the text.")


def formulas(_: FineTuningFacts) -> Iterator[Formula]:
    yield Formula("Odometer (Lécuyer 2021, Theorem 2)", PAPER_ODOMETER.formula)


WORDS = Words(headline, metrics, notes, formulas)
