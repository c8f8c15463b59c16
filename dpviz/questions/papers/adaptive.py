"""Figs. 1b to 1d, 2b and 2d of Lécuyer 2021, drawn from what the author published of the runs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dpviz._remember import remembered
from dpviz.accounting.adaptive.odometer import AUTHORS_ORDERS, OdometerAccountant
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import Accountant, Renyi
from dpviz.charts import Guide, Point
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Answer, Block, Facts, chart, make_question, style
from dpviz.questions.papers.claims import listing
from dpviz.questions.printed import CLAIMS
from dpviz.questions.printed.filters import DELTA, EXAMPLES, LAST_LAYER, RUNS, PublishedRun

ROOM = "papers/adaptive"
# The printed claims about each figure.
ROWS = {
    "1b": ("fo-3x", "fo-corollary1", "fo-accuracy-baseline", "fo-accuracy-noise", "fo-accuracy-batch"),
    "1c": ("fo-3x", "fo-accuracy-noise", "fo-gain"),
    "1d": ("fo-accuracy-batch",),
    "2b": ("fo-planned", "fo-epoch20", "fo-epoch6", "fo-epochs-fixed"),
    "2d": ("fo-epoch8",),
}
SHOWN = {"baseline": 0, "noise": 3, "batch": 1}  # the runs that the plotting code chooses where it draws one
AS_PLOTTED, SOUND, PAPER_ODOMETER = Renyi("classic", AUTHORS_ORDERS), Renyi("improved", (4.5,)), OdometerAccountant()
COUNT = SampledGaussian(100.0, 1.0)


# What is printed of Figs. 2b and 2d: epoch → ε, and whose.
PRINTED = {
    "2b": {50: (5.76, Renyi("classic").family), 20: (4.7, OdometerAccountant.name), 6: (3.24, OdometerAccountant.name)},
    "2d": {8: (1.45, OdometerAccountant.name)},
}


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


def by_epoch(values: Sequence[float], **more: Any) -> dict[str, Any]:
    """A run's curve over its own epochs."""
    return {"x": np.arange(1.0, len(values) + 1.0), "y": np.array(values), **more}


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
        guides = (Guide("y", planned, "100 baseline epochs", noted=False),)
        curves = budgets() | {"charged": by_epoch(spent(SOUND, longest, True))}
        return Answer(chart(ROOM, part, (), curves, guides=guides), facts)
    which = 0 if part == "1c" else 1  # σ, or the batch size
    shown = {policy: RUNS[policy][SHOWN[policy]].by_epoch() for policy in ("baseline", *policies)}
    values = {policy: by_epoch([float(pair[which]) for pair in pairs]) for policy, pairs in shown.items()}
    return Answer(chart(ROOM, part, (), values), facts)


def budgets() -> dict[str, dict[str, Any]]:
    """Fig. 1b: what the plotting code charges all runs. The five baselines cost the same; one is drawn."""
    curves = {}
    for policy, runs in RUNS.items():
        longest = max(one.epochs for one in runs)
        for i, run in enumerate(runs if policy != "baseline" else runs[:1]):
            more = style(ROOM, "1b", policy) | {"name": f"{policy} {i + 1}"}
            end = policy if run.epochs == longest else ""
            curves[f"{policy}_{i}"] = by_epoch(spent(AS_PLOTTED, run, False), end=end, **more)
    return curves


def fine_tuning(part: str) -> Answer[Facts]:
    """Figs. 2b and 2d: 50 epochs at σ = 1, or at the σ of the run that the plotting code draws."""
    fixed = PublishedRun(math.nan, sigma=((LAST_LAYER.epochs, 1.0),))
    run = fixed if part == "2b" else LAST_LAYER
    printed = PRINTED[part]
    curves = {
        "planned": spent(AS_PLOTTED, fixed, False),
        "plotted": spent(PLOTTED_ODOMETER, run, False),
        "charged": spent(PAPER_ODOMETER, run, True),
    }
    if part == "2d":
        curves["run"] = spent(AS_PLOTTED, run, False)
    points = tuple(
        Point(epoch, value, f"{value}, Lécuyer 2021, §5.2", family) for epoch, (value, family) in printed.items()
    )
    at = {
        epoch: Facts(**{name: values[epoch - 1] for name, values in curves.items()}) for epoch in (*sorted(printed), 50)
    }
    facts = Facts(
        odometer=True,
        planned=curves["planned"][-1],
        at=at,
        read=", ".join(f"<b>{span([one.plotted])}</b> after epoch {epoch}" for epoch, one in at.items()),
        formula=PAPER_ODOMETER.formula,
    )
    lines = {name: by_epoch(values) for name, values in curves.items()}
    return Answer(chart(ROOM, part, (), lines, points=points), facts)


def span(values: list[float]) -> str:
    """The values' ends, rounded up."""
    low, high = (numbers.epsilon(end(values), digits=4, up=True) for end in (min, max))
    return low if low == high else f"{low} to {high}"


def table(answer: Answer[Facts]) -> list[Block]:
    """A row for each run of Fig. 1."""
    rows = [
        {
            "run": f"{policy} {i}",
            "epochs": f"{run.epochs}",
            "last test accuracy": numbers.probability(run.accuracy),
            "ε, as plotted": span([spent(AS_PLOTTED, run, False)[-1]]),
            "ε, all charged": span([spent(SOUND, run, True)[-1]]),
        }
        for policy, runs in RUNS.items()
        for i, run in enumerate(runs, 1)
    ]
    return [pd.DataFrame(rows)]


ADAPTIVE = make_question(
    "papers/adaptive/adaptive",
    redrawn,
    more={
        "Printed and computed": lambda answer: [
            listing([claim for claim in CLAIMS if claim.key in ROWS[answer.given["part"]]])
        ],
        "The runs": table,
    },
)
