"""What the questions about budgets say alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.formula import tex
from dpviz.charts.axes import Span
from dpviz.charts.marks import Floor, Line
from dpviz.charts.plot import Axis
from dpviz.fields import numbers
from dpviz.questions.answer import Metric, Note
from dpviz.questions.cards import cards
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.question import Block
from dpviz.questions.tight_band import NAME, TightBand

Shown = Span | Callable[[Sequence[Line]], Span | None] | None

ASSUMPTIONS = (
    """
- **Filter:** ε and δ are fixed first; noise, batch and the number of steps may then be chosen as one goes. What passed
  has the promise (ε, δ), wherever one stops (Lécuyer 2021, Theorem 1 and Corollary 1). “As if planned” and “filled” say
  how full the budget is: as a promise they hold only for steps fixed in advance.
- **Over several orders** the corollary's proof names the deciding order after the fact. If only the *number* of equal
  steps depends on results, that order is always the same and the promise holds as it stands. If results choose noise or
  batch, it is proved at one order that is fixed ahead, at no price (Lécuyer 2021, Theorem 1; Feldman and Zrnic 2021,
  Theorem 3.1): Policies use the order at which the budget holds the most epochs of the first setting.
- **Odometer:** no budget; what it reads holds at every moment at once, so one may stop because of what one saw. It pays
  for that with a union over orders and over filters that double in size: hence the stairs (Lécuyer 2021, §4).
- **Rogers et al. 2016:** steps as (ε_i, δ_i) from the Gaussian tail with exact amplification; half of δ is shared out
  evenly over the T steps of the slider, for a data set of N examples. Constants are those commonly quoted from
  Theorems 5.1 and 6.3; tests hold them above strong composition.
- **Policies:** the count of correct training predictions gets Gaussian noise of standard deviation 100 and is charged
  like a step. A rise by 3 × 100 or more is significant, measured from the last count (0 before the first). An epoch has
  N ÷ batch steps, rounded up. Noise is raised, or the batch lowered, only while the filter would still let pass more
  epochs than the margin under Show (the paper: 50).
- **Accuracy in Policies is assumed:** each epoch covers a share (Pace) of the way to the accuracy set under Show, less
  0.04 · ln of the noise per example relative to σ = 1 with batches of 512, plus a little seeded chance.
- Poisson sampling, add/remove one example, Gaussian noise on the sum of clipped gradients, fresh at every step.
"""
    + PUBLIC_SIZE
)

TRAINED_ASSUMPTIONS = (
    """
- **Runs:** DP-SGD by dpviz's own training loop on the shipped digits, one CPU thread, seeds 0, 1 and 2. σ = 1 (2 where
  fine-tuning starts), Poisson batches of 102 of 10,000, δ = 1e-6: q is 0.0102 where the paper has 0.01024.
- **One budget:** that of 20 epochs at σ = 1 with a count after every second one, a fifth of the paper's 100, 10 and
  margin of 50. A count has noise 20, the paper's share of the data; a rise of 60 is significant. A run ends when its
  filter, which keeps to one order fixed ahead, refuses a step. “ε filled” reads all runs at that order.
- **To 80 %:** a count with noise 100 after every epoch, as in the paper; the run stops when one reaches 8000. With
  steps of this length σ = 1 takes some five epochs. The odometer holds whenever one stops.
- **Step sizes were not tuned:** for the budgets they are each model's usual ones, shortened as its usual batch is.
- **Accuracy** is that on 2,000 test digits, looked at without noise. An epoch has N ÷ batch steps, rounded up.
"""
    + PUBLIC_SIZE
)


def accountants(variant: str, *, conversion: str = "", others: Sequence[str] = ()) -> list[Block]:
    """The cards of the odometer in one of its variants and of the filter, and of the curves `others`.

    `conversion`: of the Rényi accountant that reads a plan; "" for none.
    """
    odometer = "odometer" if variant == "paper" else "odometer_authors"
    planned = [f"renyi_{conversion}"] if conversion else []
    return cards([odometer, "filter", *planned, *others], names={f"renyi_{conversion}": f"as if planned: {conversion}"})


def epsilon(value: float, digits: int = 3) -> str:
    """ε rounded up, for bounds."""
    return numbers.epsilon(value, digits=digits, up=True)


def in_table(value: float) -> str:
    """The same with a digit more."""
    return epsilon(value, 4)


def budget_range(lines: Sequence[Line], budget: float, log: bool) -> tuple[float, float] | None:
    """A range of ε that shows the budget too; None leaves a log axis to the curves."""
    if log:
        return None
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines] or [np.zeros(1)])
    return 0.0, 1.12 * max(budget, float(values[np.isfinite(values)].max(initial=0.0)))


def odometer_formula(
    odometer: OdometerAccountant, total: Any, *, delta: float, order: float, value: float
) -> tuple[str, str]:
    """The odometer's formula with today's numbers.

    Args:
        odometer: which.
        total: shape (orders,), what was spent.
        delta: δ.
        order: the α that decided, one of the odometer's.
        value: the ε that it reads.
    """
    filters = int(odometer.filters(np.asarray(total), delta)[int(np.argmin(np.abs(odometer.orders - order)))])
    odds = np.log(2 * odometer.orders.size / delta)
    return (
        "odometer (Lécuyer 2021, Eq. 5 and §4.5)",
        r"\begin{aligned}\varepsilon &= \min_\alpha\; 2^{f-1}\,w\,\frac{\ln(2|\Lambda|/\delta)}{\alpha-1}"
        r" + \frac{\ln(2|\Lambda|f^2/\delta)}{\alpha-1}"
        rf"\\ &= 2^{{{filters - 1}}}\cdot {odometer.first_filter:g}\cdot\frac{{{tex(odds)}}}{{{tex(order - 1)}}}"
        rf" + \frac{{{tex(odds + 2 * np.log(filters))}}}{{{tex(order - 1)}}} = {tex(value)}"
        rf"\quad(\alpha = {tex(order)},\; f = {filters},\; |\Lambda| = {odometer.orders.size})\end{{aligned}}",
    )


def tight_figure(found: TightBand | None, *, wanted: bool, off: str, held: str) -> Metric:
    """The tight interval among the four numbers: what it holds for; `off` says why it is not `wanted`."""
    if found is None:
        return Metric(NAME, "…" if wanted else "–", "" if wanted else off)
    return found.figure._replace(note=f"{found.figure.note}; {held}")


def tight_notes(found: TightBand | None) -> list[Note]:
    """Where its width is not kept."""
    return [Note(f"Tight interval: {found.reason}")] if found is not None and found.reason else []


def budget_axis(shown: str, accuracy: str, *, log: bool, budget: float | None, span: Shown = None) -> Axis:
    """y of what is drawn against epochs; ε shows its budget, `span` is that of all else."""
    costs = shown == "epsilon"
    return Axis(
        {"epsilon": "ε", "noise": "σ", "batch": "batch", "accuracy": accuracy}[shown],
        log=log and costs,
        shown=span if budget is None else partial(budget_range, budget=budget, log=log),
        reading="attack" if costs else None,
    )


def floors(budget: float | None) -> tuple[Floor, ...]:
    return () if budget is None else (Floor(budget, "budget", "budget"),)


def rise_formula(counted: str, noise: int) -> tuple[str, str]:
    """When a count with so much noise is a rise."""
    return (
        "the count that a policy sees, and when it counts as a rise (Lécuyer 2021, §5.1)",
        rf"\hat c = {counted} + \mathcal N(0, {noise}^2), \qquad \hat c - \hat c_{{\text{{last}}}} \ge 3\cdot {noise}",
    )
