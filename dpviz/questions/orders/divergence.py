"""What does one step cost? The divergence R(α) of one step: exact, in closed form, asymptotic, without sampling."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.questions import units
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds, theorems
from dpviz.questions.orders.curves import (
    asymptotic,
    closed_last,
    decades,
    exact,
    leaves,
    no_bound,
    order_axis,
    order_grid,
    value_axis,
    whole_span,
)
from dpviz.questions.orders.fields import LARGEST, LOG_X
from dpviz.questions.orders.words import ASSUMPTIONS, DIVERGENCE, NOTHING, order
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE


@dataclass(frozen=True)
class DivergenceFacts:
    """One step.

    Attributes:
        two: R(2).
        closed_last: the largest α shown with a closed form, NaN where it holds nowhere.
        asymptotic_last: the largest λ that the asymptotic lemma covers; NaN where none.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
    """

    two: float
    closed_last: float
    asymptotic_last: float
    leaves: float


def divergence(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[DivergenceFacts]:
    """R(α) against λ; T and δ matter to the known bounds beside it alone."""
    mechanism = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate}
    orders = order_grid(largest)
    x, found = orders - 1.0, exact(noise_multiplier, sample_rate, orders)
    closed = dpviz.closed_form_divergence(**mechanism, orders=orders)
    with np.errstate(over="ignore"):
        unsampled = orders / (2.0 * noise_multiplier) / noise_multiplier
    whole, moment = asymptotic(noise_multiplier, sample_rate, largest)
    drawn = (
        Line("exact", "exact", x, found, "renyi_improved", explained=True),
        Line("closed_form", "closed form", x, closed, "closed_form", kept=False, explained=True),
        no_bound("asymptotic", "asymptotic", whole - 1.0, moment),
        Line("unsampled", "without sampling", x, unsampled, "basic", kept=False, explained=True),
    )
    lines, last = tuple(line for line in drawn if len(line.x)), closed_last(orders, closed)
    shown = whole_span(largest, log_x)
    plot = LinePlot(
        x=order_axis(x, largest, log=log_x, shown=shown),
        y=value_axis("R(α) of one step", "R(α)", "divergence", log=True, shown=decades(lines, shown, 4.0)),
        lines=lines,
        regions=() if sample_rate == 0.0 else beyond(last, largest),
        end_values=False,
    )
    facts = DivergenceFacts(
        two=float(found[np.searchsorted(orders, 2.0)]),
        closed_last=last,
        asymptotic_last=dpviz.asymptotic_last_order(**mechanism),
        leaves=leaves(orders, found / orders),
    )
    return Answer(plot, facts)


def beyond(last: float, largest: float) -> tuple[Region, ...]:
    """Where there is no closed form."""
    if math.isnan(last):
        return (Region(-math.inf, math.inf, "closed form holds nowhere"),)
    if last - 1.0 >= largest:
        return ()
    return (Region(last - 1.0, math.inf, f"no closed form beyond λ = {numbers.plain(last - 1.0)}"),)


def headline(a: Answer[DivergenceFacts]) -> str:
    g, f = a.given, a.facts
    if g["sample_rate"] == 0.0:
        return NOTHING
    if math.isnan(f.closed_last):
        closed = "The closed form holds at no order here"
    elif f.closed_last >= g["largest"]:
        closed = "The closed form holds at every order shown"
    else:
        closed = f"The closed form holds up to <b>α = {order(f.closed_last)}</b>"
    if math.isnan(f.asymptotic_last):
        lemma = "the asymptotic lemma covers none."
    else:
        lemma = f"the asymptotic lemma covers λ up to <b>{numbers.steps(f.asymptotic_last)}</b>."
    return (
        f"One step costs <b>R(2) = {numbers.epsilon(f.two, up=True)}</b>, without sampling "
        f"{numbers.plain(1 / g['noise_multiplier'] / g['noise_multiplier'])}. {closed}; {lemma}"
    )


def metrics(a: Answer[DivergenceFacts]) -> list[Metric]:
    f = a.facts
    closed = "nowhere" if math.isnan(f.closed_last) else f"α ≤ {order(f.closed_last)}"
    lemma = "nowhere" if math.isnan(f.asymptotic_last) else f"λ ≤ {numbers.steps(f.asymptotic_last)}"
    return [
        Metric("R(2) of one step", numbers.epsilon(f.two, up=True), "exact"),
        Metric("Closed form holds", closed, "of the orders shown"),
        Metric("Asymptotic lemma covers", lemma, "an approximation"),
        Metric("Sampling stops helping at", doubles(f.leaves), "where R(α)/α has doubled"),
    ]


def doubles(alpha: float) -> str:
    """The order at which R(α)/α has doubled."""
    return "not shown" if math.isnan(alpha) else f"α = {order(alpha)}"


def notes(a: Answer[DivergenceFacts]) -> list[Note]:
    g = a.given
    return theorems(g["noise_multiplier"], g["sample_rate"]) if g["sample_rate"] > 0.0 else []


def formulas(a: Answer[DivergenceFacts]) -> list[tuple[str, str]]:
    return [
        DIVERGENCE,
        ("Closed form (Mironov, Talwar, Zhang 2019, Theorem 11)", r"R(\alpha) \le \frac{2q^2\alpha}{\sigma^2}"),
        (
            "Asymptotic moment (Abadi et al. 2016, Lemma 3)",
            r"\alpha_M(\lambda) \le \frac{q^2\lambda(\lambda+1)}{(1-q)\sigma^2} + "
            r"O\!\left(\frac{q^3\lambda^3}{\sigma^3}\right),"
            r"\quad \sigma\ge1,\ q<\tfrac1{16\sigma},\ \lambda\le\sigma^2\ln\tfrac1{q\sigma}",
        ),
    ]


def layout(get: Reader) -> Groups:
    return {"Mechanism": units.controls(get), "Show": experts(LARGEST, LOG_X, IMAGE)}


ONE_STEP: Question[DivergenceFacts] = Question(
    key="divergence",
    title="What does one step cost?",
    settings={**SETTINGS, "largest": LARGEST, "log_x": LOG_X},
    answer=divergence,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=presets("sgm1"),
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved", "closed_form"))},
)
