"""What the questions about budgets ask for, draw and say alike."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.adaptive.policies import MARGIN_EPOCHS
from dpviz.accounting.formula import tex
from dpviz.accounting.methods import MixtureOdometer, OdometerAccountant, Renyi, Tight
from dpviz.charts import Axis, Floor, Line, Span, look
from dpviz.fields import choice, flag, number, numbers, several
from dpviz.mechanisms import Event
from dpviz.questions import Block, cards

Shown = Span | Callable[[Sequence[Line]], Span | None] | None

TARGET = number("beps")
VARIANT = choice("bodo")
CONVERSION = choice("bconv")
ODOMETER, MIXTURE = OdometerAccountant.name, MixtureOdometer.name
CURVES = several("bcurves", default=(ODOMETER, MIXTURE, "planned", FILTER, "rogers", Tight.name))
POLICIES = several("bpol")
SHOWN = choice("bshow")
ACCOUNT = choice("bread")
ONE_ORDER = flag("bunion")
MARGIN = number("bmargin", default=float(MARGIN_EPOCHS))
EPOCHS = number("bepochs")
NOISE_STEP = number("bnstep")
BATCH_STEP = number("bbstep")
TOP = number("btop")
PACE = number("bpace")
GOAL = number("bgoal")
RUNS = choice("brun")
NETWORK = choice("bnet")
SEED = number("bseed")

NAMES = {"fixed": "fixed", "noise": "adaptive noise", "batch": "adaptive batch", "tune": "fine-tuning"}
COLORS = {"fixed": look.GREY, "noise": look.BLUE, "batch": look.ORANGE, "tune": look.GREEN}
# What is drawn besides ε; the settings of an epoch stand at its end.
QUANTITIES = {"noise": "noise_multiplier", "batch": "batch_size", "accuracy": "accuracy"}


def accountants(variant: str, *, conversion: str = "", others: Sequence[str] = ()) -> list[Block]:
    """The cards of the odometer in one of its variants and of the filter, and of the curves `others`.

    `conversion`: of the Rényi accountant that reads a plan; "" for none.
    """
    odometer = ODOMETER if variant == "paper" else "odometer_authors"
    planned = {Renyi(conversion).family: f"as if planned: {conversion}"} if conversion else {}
    return cards([odometer, FILTER, *planned, *others], names=planned)


def epsilon(value: float, digits: int = 3) -> str:
    """ε rounded up, for bounds."""
    return numbers.epsilon(value, digits=digits, up=True)


def budget_range(lines: Sequence[Line], budget: float, log: bool) -> tuple[float, float] | None:
    """A range of ε that shows the budget too; None leaves a log axis to the curves."""
    if log:
        return None
    values = np.concatenate([np.asarray(line.y, dtype=np.float64) for line in lines] or [np.zeros(1)])
    return 0.0, 1.12 * max(budget, float(values[np.isfinite(values)].max(initial=0.0)))


def odometer_formula(
    given: Mapping[str, Any], events: Sequence[Event], order: float, value: float
) -> list[tuple[str, str]]:
    """The odometer's formula with today's numbers, where an order decides.

    Args:
        given: the settings; "variant" says which odometer.
        events: what was spent.
        order: the α that decided, one of the odometer's; NaN where nothing was spent.
        value: the ε that it reads.
    """
    if not math.isfinite(order):
        return []
    odometer, delta = OdometerAccountant(given["variant"]), given["delta"]
    total = np.asarray(odometer.total(events))
    filters = int(odometer.filters(total, delta)[int(np.argmin(np.abs(odometer.orders - order)))])
    odds = np.log(2 * odometer.orders.size / delta)
    latex = (
        r"\begin{aligned}\varepsilon &= \min_\alpha\; 2^{f-1}\,w\,\frac{\ln(2|\Lambda|/\delta)}{\alpha-1}"
        r" + \frac{\ln(2|\Lambda|f^2/\delta)}{\alpha-1}"
        rf"\\ &= 2^{{{filters - 1}}}\cdot {odometer.first_filter:g}\cdot\frac{{{tex(odds)}}}{{{tex(order - 1)}}}"
        rf" + \frac{{{tex(odds + 2 * np.log(filters))}}}{{{tex(order - 1)}}} = {tex(value)}"
        rf"\quad(\alpha = {tex(order)},\; f = {filters},\; |\Lambda| = {odometer.orders.size})\end{{aligned}}"
    )
    return [("odometer (Lécuyer 2021, Eq. 5 and §4.5)", latex)]


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
