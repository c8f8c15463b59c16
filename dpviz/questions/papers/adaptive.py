"""Figs. 1b to 1d, 2b and 2d of Lécuyer 2021, drawn from what the author published of the runs."""

from __future__ import annotations

import math
from dataclasses import dataclass
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
from dpviz.fields.declared import choice
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.listing import Listing
from dpviz.questions.papers.claims import HEADS, WIDTHS, row
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.filters import DELTA
from dpviz.questions.printed.published_runs import EXAMPLES, LAST_LAYER, RUNS, PublishedRun
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE

PART = choice("ppart")
ROWS = {
    "1b": ("3x", "corollary1", "accuracy-baseline", "accuracy-noise", "accuracy-batch"),
    "1c": ("3x", "accuracy-noise", "gain"),
    "1d": ("accuracy-batch",),
    "2b": ("planned", "epoch20", "epoch6", "epochs-fixed"),
    "2d": ("epoch8",),
}
COLORS = {"baseline": look.GREY, "noise": look.ORANGE, "batch": look.GREEN}
SHOWN = {"baseline": 0, "noise": 3, "batch": 1}  # the runs that the plotting code chooses where it draws one
ORDER, COUNT_NOISE = 4.5, 100.0
AS_PLOTTED, SOUND, PAPER_ODOMETER = Renyi("classic", AUTHORS_ORDERS), Renyi("improved", (ORDER,)), OdometerAccountant()


class PlottedOdometer(OdometerAccountant):
    """The odometer of the published plotting code: its first filters are 6/(α − 1)."""

    @property
    def first_filter(self) -> float:
        return 6.0 / math.log(2.0 * len(self.order_values) / DELTA)


PLOTTED_ODOMETER = PlottedOdometer("authors")


@dataclass(frozen=True)
class Redrawn:
    """ε after `epochs`, an entry for each adaptive run of Fig. 1, or for each epoch that is judged in Fig. 2.

    Attributes:
        planned: of the baseline at its last epoch, as plotted.
        plotted: by the plotting code's account.
        charged: with σ as trained, every published count and a bound that allows for adaptive choices.
    """

    planned: float
    epochs: tuple[int, ...]
    plotted: tuple[float, ...]
    charged: tuple[float, ...]


@remembered
def spent(accountant: Accountant, run: PublishedRun, charged: bool) -> tuple[float, ...]:
    """ε after each epoch; `charged` takes σ and batch as trained, and charges the count that each epoch published."""
    ledger, values, each = Ledger(accountant), [], run.by_epoch()
    for sigma, batch in (each[0], *each[:-1]) if charged else each:
        ledger.spend(SampledGaussian(sigma, batch / EXAMPLES), math.ceil(EXAMPLES / batch))
        if charged:
            ledger.spend(SampledGaussian(COUNT_NOISE, 1.0))
        values.append(float(ledger.bound(DELTA).epsilon))
    return tuple(values)


def line(key: str, name: str, values: tuple[float, ...], family: str, **more: Any) -> Line:
    return Line(key, name, np.arange(1.0, len(values) + 1.0), np.array(values), family, **more)


def redrawn(*, part: str) -> Answer[Redrawn]:
    """The figure's curves from the records, and our account beside them."""
    epsilon = Axis("ε", column="epsilon")
    if part.startswith("2"):
        lines, points, facts = fine_tuning(part)
        return Answer(LinePlot(EPOCHS, epsilon, lines, points=points), facts)
    policies = {"1b": ("noise", "batch"), "1c": ("noise",), "1d": ("batch",)}[part]
    runs = [run for policy in policies for run in RUNS[policy]]
    facts = Redrawn(
        spent(AS_PLOTTED, RUNS["baseline"][0], False)[-1],
        tuple(run.epochs for run in runs),
        tuple(spent(AS_PLOTTED, run, False)[-1] for run in runs),
        tuple(spent(SOUND, run, True)[-1] for run in runs),
    )
    if part == "1b":
        longest = max(RUNS["noise"], key=lambda run: run.epochs)
        ours = line("charged", "noise, all charged", spent(SOUND, longest, True), "renyi_improved", color=look.BLUE)
        lines = (*budgets(), ours)
        return Answer(
            LinePlot(EPOCHS, epsilon, lines, guides=(Guide("y", facts.planned, "100 baseline epochs", told=False),)),
            facts,
        )
    title, which = ("noise σ", 0) if part == "1c" else ("batch size", 1)
    lines = tuple(
        line(one, one, tuple(float(pair[which]) for pair in RUNS[one][SHOWN[one]].by_epoch()), "tight",
             color=COLORS[one])
        for one in ("baseline", *policies)
    )  # fmt: skip
    low, high = (0.9, 1.85) if part == "1c" else (128.0, 550.0)
    return Answer(LinePlot(EPOCHS, Axis(title, write=numbers.plain, shown=(low, high)), lines), facts)


EPOCHS = Axis("epochs", kind="steps", hover="%{x:,d} epochs", write=numbers.steps)


def budgets() -> tuple[Line, ...]:
    """Fig. 1b: what the plotting code charges all runs. The five baselines cost the same; one is drawn."""
    return tuple(
        line(f"{policy}_{i}", f"{policy} {i + 1}", spent(AS_PLOTTED, run, False), "renyi_classic", color=COLORS[policy],
             approximate=policy != "baseline", end=policy if run.epochs == max(one.epochs for one in runs) else "")
        for policy, runs in RUNS.items() for i, run in enumerate(runs) if policy != "baseline" or i == 0
    )  # fmt: skip


def fine_tuning(part: str) -> tuple[tuple[Line, ...], tuple[Point, ...], Redrawn]:
    """Figs. 2b and 2d: 50 epochs at σ = 1, or at the σ of the run that the plotting code draws."""
    fixed = PublishedRun(math.nan, sigma=((LAST_LAYER.epochs, 1.0),))
    run, judged = (fixed, (6, 20, 50)) if part == "2b" else (LAST_LAYER, (8, 50))
    planned = spent(AS_PLOTTED, fixed, False)
    plotted, charged = spent(PLOTTED_ODOMETER, run, False), spent(PAPER_ODOMETER, run, True)
    lines: tuple[Line, ...] = (
        line("planned", "planned, σ = 1", planned, "renyi_classic"),
        line("plotted", "odometer, plotting code", plotted, "odometer"),
        line("charged", "odometer, all charged", charged, "odometer_run"),
    )
    if part == "2d":
        as_planned = spent(AS_PLOTTED, run, False)
        lines = (*lines, line("run", "as if planned", as_planned, "renyi_classic", approximate=True, color=look.ORANGE))
        points: tuple[Point, ...] = (Point(8, 1.45, "1.45, Lécuyer 2021, §5.2", "odometer"),)
    else:
        points = (
            Point(50, 5.76, "5.76, Lécuyer 2021, §5.2", "renyi_classic"),
            Point(20, 4.7, "4.7, Lécuyer 2021, §5.2", "odometer"),
            Point(6, 3.24, "3.24, Lécuyer 2021, §5.2", "odometer"),
        )
    at = tuple(tuple(values[epoch - 1] for epoch in judged) for values in (plotted, charged))
    return lines, points, Redrawn(planned[-1], judged, *at)


def eps(*values: float) -> str:
    """The values' ends, rounded up."""
    low, high = (numbers.epsilon(end(values), digits=4, up=True) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def headline(a: Answer[Redrawn]) -> str:
    f, part = a.facts, a.given["part"]
    if part.startswith("2"):
        what = "of the adaptive run" if part == "2d" else "at σ = 1"
        read = ", ".join(f"<b>{eps(e)}</b> after epoch {n}" for e, n in zip(f.plotted, f.epochs, strict=True))
        return f"The plotting code's odometer {what} reads {read}; 50 planned epochs at σ = 1 cost {eps(f.planned)}."
    return (
        f"The adaptive runs last {min(f.epochs)} to {max(f.epochs)} epochs. The plots charge them "
        f"<b>ε = {eps(*f.plotted)}</b>, and 100 baseline epochs {eps(f.planned)}; with all charged, a filter at "
        f"one order needs <b>{eps(*f.charged)}</b>."
    )


def metrics(a: Answer[Redrawn]) -> list[Metric]:
    f, part = a.facts, a.given["part"]
    if part.startswith("2"):
        printed = {"2b": {6: "printed 3.24; ", 20: "printed 4.7; "}, "2d": {8: "printed 1.45; "}}[part]
        cards = [Metric("Planned, 50 epochs, σ = 1", eps(f.planned), "printed 5.76")]
        return cards + [
            Metric(f"Odometer, epoch {epoch}", eps(e), f"{printed.get(epoch, '')}all charged {eps(ours)}")
            for epoch, e, ours in zip(f.epochs, f.plotted, f.charged, strict=True)
        ]
    return [
        Metric("Baseline, 100 epochs", eps(f.planned), "as plotted"),
        Metric("Adaptive, as plotted", eps(*f.plotted), "by the best order of each"),
        Metric("Adaptive, all charged", eps(*f.charged), f"one order, {ORDER:g}, improved conversion"),
        Metric("Epochs", f"{min(f.epochs)} to {max(f.epochs)}", "100 for the baseline"),
    ]


def notes(a: Answer[Redrawn]) -> list[Note]:
    built = [
        Note(
            "The records write σ and batch size of an epoch after they were adapted: what stands there is that of the "
            "next epoch. The plots take it for the same epoch and charge none of the counts of correct predictions. "
            "“All charged” trains one epoch later and charges a count an epoch, for each is in the records."
        ),
        Note(
            "Figs. 1a, 2a and 2c, accuracies of every epoch, are not redrawn. Last accuracies are in “The runs” below."
        ),
    ]
    if a.given["part"].startswith("2"):
        built.append(Note("The plotting code's first filters are 6/(α − 1), a third of the text's."))
    return built


def verdicts(a: Answer[Redrawn]) -> list[Block]:
    """The printed claims about this figure, with what comes out."""
    keys = {f"fo-{name}" for name in ROWS[a.given["part"]]}
    chosen = [claim for claim in CLAIMS if claim.key in keys]
    return [Listing(HEADS, tuple(row(c, c.recompute() if c.recompute else None) for c in chosen), WIDTHS)]


def table(a: Answer[Redrawn]) -> list[Block]:
    """A row for each run of Fig. 1."""
    rows = [
        {
            "run": f"{policy} {i + 1}",
            "epochs": f"{run.epochs}",
            "last test accuracy": numbers.probability(run.accuracy),
            "ε, as plotted": eps(spent(AS_PLOTTED, run, False)[-1]),
            "ε, all charged": eps(spent(SOUND, run, True)[-1]),
        }
        for policy, runs in RUNS.items()
        for i, run in enumerate(runs)
    ]
    return [pd.DataFrame(rows)]


def formulas(a: Answer[Redrawn]) -> list[tuple[str, str]]:
    if a.given["part"].startswith("2"):
        return [("Odometer (Lécuyer 2021, Theorem 2)", PAPER_ODOMETER.formula)]
    return [
        ("As plotted", r"\varepsilon = \min_\alpha \sum_t R_t(\alpha) + \frac{\ln(1/\delta)}{\alpha-1}"),
        ("Filter at one order (Lécuyer 2021, Theorem 1)", rf"\sum_t R_t({ORDER:g}) \le B"),
    ]


ASSUMPTIONS = """
- **Records:** σ, batch sizes and last accuracies that the author published (adaptive_rdp, exp_results, 641b3f3);
  nothing was trained here. δ = 1e-6, 50,000 examples, one added or removed.
- **Sampling:** every ε, the paper's too, is for Poisson sampling. The published code shuffles and takes batches in
  turn, for which these ε are not proven.
- **Steps:** ⌈50,000 ÷ batch⌉ an epoch, the last epoch in full, as in the plots. The published code takes 98, 130 and
  195 for batches of 512, 384 and 256, and ends within the last epoch; so what is drawn may exceed the filter's budget.
- **All charged, Fig. 1:** a filter at one order, α = 4.5, the plots' best for the planned 100 epochs, with the improved
  conversion. It holds where σ is chosen by outcomes; Corollary 1's best order is not proven there. ε is what the
  filter's budget had to be.
- **All charged, Fig. 2:** the odometer with the text's orders and filters.
"""


def layout(get: Reader) -> Groups:
    return {"Question": (PART,), "Show": experts(IMAGE)}


ADAPTIVE: Question[Redrawn] = Question(
    key="adaptive",
    title="Filters and odometers, Figs. 1 and 2: the author's records",
    settings={"part": PART},
    answer=redrawn,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    layout=layout,
    more={"Printed and computed": verdicts, "The runs": table},
)
