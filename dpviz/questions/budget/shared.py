"""Settings, curves and words shared by the questions about budgets."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.accounting.methods import MixtureOdometer, OdometerAccountant, Renyi
from dpviz.charts import Axis, Floor, Line, Span
from dpviz.fields import choice, number, numbers, several
from dpviz.mechanisms import Event, Mechanism
from dpviz.questions import Block, Formula, Note, cards
from dpviz.questions.mechanism import PUBLIC_SIZE
from dpviz.questions.tight_band import TightBand

Shown = Span | Callable[[Sequence[Line]], Span | None] | None

TARGET = number("beps")
VARIANT = choice("bodo")
CONVERSION = choice("bconv")
ORDERS = choice("bunion", means={"0": "one", "1": "union", "paper": "paper"})
POLICIES = several("bpol")
SHOWN = choice("bshow")

ODOMETER, MIXTURE = OdometerAccountant.name, MixtureOdometer.name
NAMES = {"fixed": "fixed", "noise": "adaptive noise", "batch": "adaptive batch", "tune": "fine-tuning"}
# What is drawn besides ε; the settings of an epoch stand at its end.
QUANTITIES = {"noise": "noise_multiplier", "batch": "batch_size", "accuracy": "accuracy"}

ACCOUNTS = """
- **Filter:** ε and δ are fixed first. Steps that pass the filter together satisfy (ε, δ)-DP, wherever training stops
  (Lécuyer 2021, Theorem 1). “T fixed in advance” (plain Rényi DP) and “filled” show how full the budget is. They are a
  guarantee only for steps fixed in advance.
- **Orders of the filter:** at one order that is fixed in advance, results may choose noise, batch size and the number
  of steps, at no cost (Lécuyer 2021, Theorem 1; Feldman and Zrnic 2021, Theorem 3.1). Here it is the order at which the
  budget allows the most steps (in Policies, epochs) of the first setting. If no order is fixed, each of the orders gets
  the same share of δ, and fewer steps are allowed. With the whole δ at all orders (Corollary 1), the proof chooses the
  deciding order afterwards: it holds if only the *number* of equal steps depends on results.
- **Lécuyer odometer:** it has no budget. Its readings hold at all times at once, so you may stop because of results.
  The cost is a union bound over orders and over filters that double in size, hence the stairs (Lécuyer 2021, §4).
- **Whitehouse odometer:** it also holds at all times at once, even if results choose noise, batch and end. Its cost is
  one mixture over orders instead of filters that double in size. This is the method of mixtures of Whitehouse, Ramdas,
  Rogers, Wu 2023, here with the exact Rényi divergences of sampled steps. The losses of earlier steps are covered too.
  Choose one odometer before training: the smaller of two readings holds only at the sum of their δ. Which odometer the
  sentence above names depends on the settings only, not on results.
  Training runs always use the Whitehouse odometer.
- **Filter of Whitehouse et al. 2023:** √(2 ln(1/δ′) Σε²) + ½Σε² ≤ ε for (ε, δ) steps. A sampled Gaussian step
  enters as 1/(2σ²)-zCDP without its sampling, or as (ε, δ) with δ/2 shared by all steps, whichever way allows more;
  both charge too much, so the Rényi filter allows far more.
- **Rogers et al. 2016:** steps are (ε_i, δ_i) from the Gaussian tail with exact amplification. Half of δ is shared
  equally by the T steps of the slider, for a data set of N examples. The constants are those commonly quoted from
  Theorems 5.1 and 6.3; tests check that they stay above strong composition.
- **Policies:** the count of correct training predictions gets Gaussian noise of standard deviation 100 and is charged
  like a step. A rise by 3 × 100 or more counts as significant, measured from the last count (0 before the first). The
  paper says that such a rise is never due to the noise. But the difference of two counts has noise √2 × 100: without
  any real rise, 1.7 % of checks look like one, and 39 % of runs with 29 checks have at least one. An epoch has
  N ÷ batch steps, rounded up. Noise is raised, or the batch lowered, only while the filter would still allow more
  epochs than “Epochs to keep in reserve” (the paper: 50).
- **Accuracy in Policies is assumed:** each epoch covers a share (Pace) of the way to the highest accuracy. That is the
  accuracy set under Show, less 0.04 · ln of the noise per example relative to σ = 1 with batches of 512. A small seeded
  random change is added.
"""
ASSUMPTIONS = f"""
- **Who is protected:** one example, added or removed. **Sampling:** Poisson. **Noise:** Gaussian, on the sum of clipped
  gradients, fresh at every step.
{PUBLIC_SIZE}{ACCOUNTS.lstrip()}"""


def filter_of(first: Mechanism, orders: str, *, target_epsilon: float, delta: float, conversion: str) -> Filter:
    """The page's filter.

    Args:
        first: the first setting, which alone decides the one order that is fixed in advance.
        orders: "one" for it, "union" for all orders with δ shared among them, "paper" for all with the whole δ each.
        target_epsilon, delta, conversion: as in `Filter`.
    """
    if orders == "one":
        return one_order_filter([(first, 1)], target_epsilon=target_epsilon, delta=delta, conversion=conversion)
    union = orders == "union"
    return Filter(target_epsilon=target_epsilon, delta=delta, conversion=conversion, union=union)


def accountants(variant: str, *, conversion: str = "", others: Sequence[str] = ()) -> list[Block]:
    """The cards of the odometer in one of its variants and of the filter, and of the curves `others`.

    `conversion`: of the Rényi accountant that reads a plan; "" for none.
    """
    odometer = ODOMETER if variant == "paper" else "odometer_authors"
    planned = {Renyi(conversion).family: f"T fixed in advance: {conversion}"} if conversion else {}
    return cards([odometer, FILTER, *planned, *others], names=planned)


def budget_range(lines: Sequence[Line], budget: float, log: bool) -> tuple[float, float] | None:
    """A range of ε that shows the budget too; None leaves a log axis to the curves."""
    if log:
        return None
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines] or [np.zeros(1)])
    return 0.0, 1.12 * max(budget, float(values[np.isfinite(values)].max(initial=0.0)))


def budget_axis(shown: str, accuracy: str, *, log: bool, budget: float | None, span: Shown = None) -> Axis:
    """y of what is drawn against epochs; ε shows its budget, `span` is that of all else."""
    costs = shown == "epsilon"
    return Axis(
        {"epsilon": "ε", "noise": "σ", "batch": "batch", "accuracy": accuracy}[shown],
        log=log and costs,
        kind="share" if shown == "accuracy" else "plain",
        shown=span if budget is None else partial(budget_range, budget=budget, log=log),
        reading="attack" if costs else None,
    )


def floors(budget: float | None) -> tuple[Floor, ...]:
    return () if budget is None else (Floor(budget, "budget", "budget"),)


def missing_interval(tight: TightBand | None) -> Iterator[Note]:
    """Where the numerical accountant does not keep its promise, and why."""
    if tight is not None and tight.reason:
        yield Note(f"PLD interval: {tight.reason}")


def odometer_formula(
    variant: str, delta: float, events: Sequence[Event], *, order: float, epsilon: float
) -> Iterator[Formula]:
    """The odometer's formula with today's numbers, where an order decides.

    Args:
        variant: which odometer.
        delta: of its reading.
        events: what was spent.
        order: the α that decided, one of the odometer's; NaN where nothing was spent.
        epsilon: what it reads.
    """
    if not math.isfinite(order):
        return
    odometer, tex = OdometerAccountant(variant), numbers.tex
    total = np.asarray(odometer.total(events))
    filters = int(odometer.filters(total, delta)[int(np.argmin(np.abs(odometer.orders - order)))])
    odds = math.log(2 * odometer.orders.size / delta)
    yield Formula(
        "odometer (Lécuyer 2021, Eq. 5 and §4.5)",
        r"\begin{aligned}\varepsilon &= \min_\alpha\; 2^{f-1}\,w\,\frac{\ln(2|\Lambda|/\delta)}{\alpha-1}"
        r" + \frac{\ln(2|\Lambda|f^2/\delta)}{\alpha-1}"
        rf"\\ &= 2^{{{filters - 1}}}\cdot {odometer.first_filter:g}\cdot\frac{{{tex(odds)}}}{{{tex(order - 1)}}}"
        rf" + \frac{{{tex(odds + 2 * math.log(filters))}}}{{{tex(order - 1)}}} = {tex(epsilon)}"
        rf"\quad(\alpha = {tex(order)},\; f = {filters},\; |\Lambda| = {odometer.orders.size})\end{{aligned}}",
    )


def share_of_delta(orders: str, count: int) -> str:
    """δ′ of each of the filter's orders, in LaTeX."""
    return rf"\frac\delta{{{count}}}" if orders == "union" else r"\delta"


def count_formula(correct: str, noise: int) -> Formula:
    """The count of `correct` predictions, in LaTeX, with noise of this standard deviation."""
    return Formula(
        "the count that a policy sees, and when it counts as a rise (Lécuyer 2021, §5.1)",
        rf"\hat c = {correct} + \mathcal N(0, {noise}^2), \qquad \hat c - \hat c_{{\text{{last}}}} \ge 3\cdot {noise}",
    )
