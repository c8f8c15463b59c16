"""Figs. 1b to 1d, 2b and 2d of Lécuyer 2021, drawn from what the author published of the runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from dpviz._remember import remembered
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.adaptive.odometer import AUTHORS_ORDERS, OdometerAccountant
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.charts import look
from dpviz.charts.marks import Guide, Line, Point
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer
from dpviz.questions.papers.claims import listing
from dpviz.questions.papers.fields import PART
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.filters import DELTA
from dpviz.questions.printed.published_runs import EXAMPLES, LAST_LAYER, RUNS, PublishedRun
from dpviz.questions.question import Block

# The printed claims about each figure.
ROWS = {
    "1b": ("fo-3x", "fo-corollary1", "fo-accuracy-baseline", "fo-accuracy-noise", "fo-accuracy-batch"),
    "1c": ("fo-3x", "fo-accuracy-noise", "fo-gain"),
    "1d": ("fo-accuracy-batch",),
    "2b": ("fo-planned", "fo-epoch20", "fo-epoch6", "fo-epochs-fixed"),
    "2d": ("fo-epoch8",),
}
COLORS = {"baseline": look.GREY, "noise": look.ORANGE, "batch": look.GREEN}
SHOWN = {"baseline": 0, "noise": 3, "batch": 1}  # the runs that the plotting code chooses where it draws one
AS_PLOTTED, SOUND, PAPER_ODOMETER = Renyi("classic", AUTHORS_ORDERS), Renyi("improved", (4.5,)), OdometerAccountant()
COUNT = SampledGaussian(100.0, 1.0)
EPOCHS = Axis("epochs", kind="steps", hover="%{x:,d} epochs", write=numbers.steps)
EPSILON = Axis("ε", column="epsilon")


class PlottedOdometer(OdometerAccountant):
    """The odometer of the published plotting code: its first filters are 6/(α − 1)."""

    @property
    def first_filter(self) -> float:
        return 6.0 / math.log(2.0 * len(self.order_values) / DELTA)


PLOTTED_ODOMETER = PlottedOdometer("authors")


@remembered
def spent(accountant: Accountant, run: PublishedRun, charged: bool) -> tuple[float, ...]:
    """ε after each epoch; `charged` takes σ and batch as trained, and charges the count that each epoch published."""
    ledger, values, each = Ledger(accountant), [], run.by_epoch()
    for sigma, batch in (each[0], *each[:-1]) if charged else each:
        ledger.spend(SampledGaussian(sigma, batch / EXAMPLES), math.ceil(EXAMPLES / batch))
        if charged:
            ledger.spend(COUNT, 1)
        values.append(float(ledger.bound(DELTA).epsilon))
    return tuple(values)


def line(key: str, name: str, values: tuple[float, ...], family: str, **more: Any) -> Line:
    return Line(key, name, np.arange(1.0, len(values) + 1.0), np.array(values), family, **more)


def redrawn(*, part: str) -> Answer[Facts]:
    """The figure's curves from the records, and our account beside them."""
    return fine_tuning(part) if part.startswith("2") else from_scratch(part)


def from_scratch(part: str) -> Answer[Facts]:
    """Figs. 1b to 1d: ε of all runs, σ or batch of one of each."""
    policies = {"1b": ("noise", "batch"), "1c": ("noise",), "1d": ("batch",)}[part]
    runs = [run for policy in policies for run in RUNS[policy]]
    planned, lengths = spent(AS_PLOTTED, RUNS["baseline"][0], False)[-1], [run.epochs for run in runs]
    facts = Facts(
        odometer=False,
        planned=planned,
        lengths=f"{min(lengths)} to {max(lengths)}",
        plotted=span([spent(AS_PLOTTED, run, False)[-1] for run in runs]),
        charged=span([spent(SOUND, run, True)[-1] for run in runs]),
    )
    if part == "1b":
        longest = max(RUNS["noise"], key=lambda run: run.epochs)
        ours = line("charged", "noise, all charged", spent(SOUND, longest, True), "renyi_improved", color=look.BLUE)
        guides = (Guide("y", planned, "100 baseline epochs", noted=False),)
        return Answer(LinePlot(EPOCHS, EPSILON, (*budgets(), ours), guides=guides), facts)
    which, axis = {
        "1c": (0, Axis("noise σ", write=numbers.plain, shown=(0.9, 1.85))),
        "1d": (1, Axis("batch size", write=numbers.plain, shown=(128.0, 550.0))),
    }[part]
    lines = tuple(
        line(one, one, tuple(float(pair[which]) for pair in RUNS[one][SHOWN[one]].by_epoch()), "tight",
             color=COLORS[one])
        for one in ("baseline", *policies)
    )  # fmt: skip
    return Answer(LinePlot(EPOCHS, axis, lines), facts)


def budgets() -> tuple[Line, ...]:
    """Fig. 1b: what the plotting code charges all runs. The five baselines cost the same; one is drawn."""
    return tuple(
        line(f"{policy}_{i}", f"{policy} {i + 1}", spent(AS_PLOTTED, run, False), "renyi_classic", color=COLORS[policy],
             approximate=policy != "baseline", end=policy if run.epochs == max(one.epochs for one in runs) else "")
        for policy, runs in RUNS.items() for i, run in enumerate(runs) if policy != "baseline" or i == 0
    )  # fmt: skip


def fine_tuning(part: str) -> Answer[Facts]:
    """Figs. 2b and 2d: 50 epochs at σ = 1, or at the σ of the run that the plotting code draws."""
    fixed = PublishedRun(math.nan, sigma=((LAST_LAYER.epochs, 1.0),))
    run, epochs = (fixed, (6, 20, 50)) if part == "2b" else (LAST_LAYER, (8, 50))
    planned = spent(AS_PLOTTED, fixed, False)
    plotted, charged = spent(PLOTTED_ODOMETER, run, False), spent(PAPER_ODOMETER, run, True)
    lines = [
        line("planned", "planned, σ = 1", planned, "renyi_classic"),
        line("plotted", "odometer, plotting code", plotted, "odometer"),
        line("charged", "odometer, all charged", charged, "odometer_run"),
    ]
    printed = {50: (5.76, "renyi_classic"), 20: (4.7, "odometer"), 6: (3.24, "odometer")}
    if part == "2d":
        as_planned = spent(AS_PLOTTED, run, False)
        lines.append(line("run", "as if planned", as_planned, "renyi_classic", approximate=True, color=look.ORANGE))
        printed = {8: (1.45, "odometer")}
    points = tuple(
        Point(epoch, value, f"{value}, Lécuyer 2021, §5.2", family) for epoch, (value, family) in printed.items()
    )
    at = [Facts(plotted=plotted[epoch - 1], charged=charged[epoch - 1]) for epoch in epochs]
    each = zip(at, epochs, strict=True)
    facts = Facts(
        odometer=True,
        planned=planned[-1],
        first=at[0],
        second=at[1],
        last=at[-1],
        read=", ".join(f"<b>{span([one.plotted])}</b> after epoch {epoch}" for one, epoch in each),
        formula=PAPER_ODOMETER.formula,
    )
    return Answer(LinePlot(EPOCHS, EPSILON, tuple(lines), points=points), facts)


def span(values: list[float]) -> str:
    """The values' ends, rounded up."""
    low, high = (numbers.epsilon(end(values), digits=4, up=True) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def table(answer: Answer[Facts]) -> list[Block]:
    """A row for each run of Fig. 1."""
    rows = [
        {
            "run": f"{policy} {i + 1}",
            "epochs": f"{run.epochs}",
            "last test accuracy": numbers.probability(run.accuracy),
            "ε, as plotted": span([spent(AS_PLOTTED, run, False)[-1]]),
            "ε, all charged": span([spent(SOUND, run, True)[-1]]),
        }
        for policy, runs in RUNS.items()
        for i, run in enumerate(runs)
    ]
    return [pd.DataFrame(rows)]


ADAPTIVE = reproduction(
    "adaptive",
    "adaptive",
    redrawn,
    {"part": PART},
    {"Question": (PART,)},
    more={
        "Printed and computed": lambda answer: [
            listing([claim for claim in CLAIMS if claim.key in ROWS[answer.given["part"]]])
        ],
        "The runs": table,
    },
)
