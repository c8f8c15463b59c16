"""ε of the runs that Lécuyer 2021 published, epoch by epoch: as his plots charge them, and with everything charged."""

import math
from collections.abc import Sequence

import numpy as np

from dpviz._remember import remembered
from dpviz.accounting.adaptive.odometer import AUTHORS_ORDERS, OdometerAccountant
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import Accountant, Renyi
from dpviz.charts import Axis, Line
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import Note
from dpviz.questions.printed.filters import DELTA, EXAMPLES, PublishedRun

AS_PLOTTED, SOUND, PAPER_ODOMETER = Renyi("classic", AUTHORS_ORDERS), Renyi("improved", (4.5,)), OdometerAccountant()
COUNT = SampledGaussian(100.0, 1.0)  # a count of correct predictions
EPOCHS = Axis("epochs", kind="steps", hover="%{x:,d} epochs", write=numbers.steps)
EPSILON = Axis("ε", column="epsilon")

RECORDS = Note(
    "The records give σ and batch size of an epoch after they were adapted, so they are those of the next epoch. "
    "The plots use them for the same epoch and do not charge the counts of correct predictions. “All charged” uses "
    "them one epoch later and charges one count per epoch, because each is in the records."
)
ASSUMPTIONS = """
- **Records:** σ, batch size and test accuracy of each epoch, as the author published them (adaptive_rdp, exp_results,
  c01d10f); nothing was trained here. δ = 1e-6, 50,000 examples, one added or removed.
- **Sampling:** every ε, also in the paper, is for Poisson sampling. The published code shuffles the data and takes
  batches in turn. These ε are not proven for such batches.
- **Steps:** ⌈50,000 ÷ batch⌉ per epoch, with a full last epoch, as in the plots. The published code takes 98, 130 and
  195 steps for batches of 512, 384 and 256, and ends within the last epoch. The curves may therefore exceed the
  filter's budget.
- **All charged, Fig. 1:** a filter at one order, α = 4.5, the best order of the plots for the planned 100 epochs, with
  the improved conversion. It holds if outcomes decide σ; the best order of Corollary 1 is not proven in that case. ε is
  the budget that the filter needs.
- **All charged, Fig. 2:** the odometer with the text's orders and filters.
"""


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


def by_epoch(
    key: str,
    name: str,
    values: Sequence[float],
    family: str,
    *,
    color: str | None = None,
    approximate: bool = False,
    end: str | None = None,
) -> Line:
    """A run's curve over its own epochs."""
    x, y = np.arange(1.0, len(values) + 1.0), np.array(values)
    return Line(key, name, x, y, family, color=color, approximate=approximate, end=end)


def span(values: Sequence[float]) -> str:
    """The values' ends, rounded up: "8.197 to 8.281"."""
    low, high = numbers.up(min(values), 4), numbers.up(max(values), 4)
    return low if low == high else f"{low} to {high}"
