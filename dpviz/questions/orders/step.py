"""One step: what does it cost, and is it concentrated DP? R(α) exactly, in closed form, asymptotic; and R(α)/α."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.charts.marks import Line, Region
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import units
from dpviz.questions.answer import Answer
from dpviz.questions.cards import cards
from dpviz.questions.layout import Groups, Reader, experts
from dpviz.questions.mechanism import SETTINGS
from dpviz.questions.orders.bounds import known_bounds, theorems
from dpviz.questions.orders.curves import (
    Array,
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
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words


@dataclass(frozen=True)
class DivergenceFacts:
    """One step.

    Attributes:
        two: R(2).
        closed_last: the largest α shown with a closed form, NaN where it holds nowhere.
        asymptotic_last: the largest λ that the asymptotic lemma covers; NaN where none.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        theorems: which hold at no order, in sentences.
    """

    two: float
    closed_last: float
    asymptotic_last: float
    leaves: float
    theorems: list[str]


def divergence(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[DivergenceFacts]:
    """R(α) against λ; T and δ matter to the known bounds beside it alone."""
    mechanism = {"noise_multiplier": noise_multiplier, "sample_rate": sample_rate}
    orders = order_grid(largest)
    x, divergences = orders - 1.0, exact(noise_multiplier, sample_rate, orders)
    closed = dpviz.closed_form_divergence(**mechanism, orders=orders)
    with np.errstate(over="ignore"):
        unsampled = orders / (2.0 * noise_multiplier) / noise_multiplier
    whole, moment = asymptotic(noise_multiplier, sample_rate, largest)
    drawn = (
        Line("exact", "exact", x, divergences, "renyi_improved", explained=True),
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
        two=float(divergences[np.searchsorted(orders, 2.0)]),
        closed_last=last,
        asymptotic_last=dpviz.asymptotic_last_order(**mechanism),
        leaves=leaves(orders, divergences / orders),
        theorems=theorems(noise_multiplier, sample_rate),
    )
    return Answer(plot, facts)


def beyond(last: float, largest: float) -> tuple[Region, ...]:
    """Where there is no closed form."""
    if math.isnan(last):
        return (Region(-math.inf, math.inf, "closed form holds nowhere"),)
    if last - 1.0 >= largest:
        return ()
    return (Region(last - 1.0, math.inf, f"no closed form beyond λ = {numbers.plain(last - 1.0)}"),)


@dataclass(frozen=True)
class ConcentratedFacts:
    """One step.

    Attributes:
        two: R(2).
        unsampled: 1/(2σ²), R(α)/α without sampling.
        rho, omega: of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω.
        plateau: ½q²(e^{1/σ²} − 1), what R(α)/α is at small orders while q is small.
        leaves: the smallest α > 2 at which R(α)/α has doubled; NaN for none shown.
        mean: μ of (μ, τ)-CDP, the mean loss of a removed example, which is the larger.
    """

    two: float
    unsampled: float
    rho: float
    omega: float
    plateau: float
    leaves: float
    mean: float


def concentrated(
    *, noise_multiplier: float, sample_rate: float, steps: int, delta: float, largest: float, log_x: bool
) -> Answer[ConcentratedFacts]:
    """R(α)/α against λ; T and δ matter to the known bounds beside it alone."""
    orders = order_grid(largest)
    x, ratio = orders - 1.0, exact(noise_multiplier, sample_rate, orders) / orders
    with np.errstate(over="ignore"):
        unsampled = np.full(x.shape, 0.5 / noise_multiplier / noise_multiplier)
        one = np.float64(1.0)
        plateau = float(0.5 * sample_rate**2 * np.expm1(one / noise_multiplier / noise_multiplier))
    off = leaves(orders, ratio)
    lines = (
        Line("exact", "exact", x, ratio, "renyi_improved", explained=True),
        Line("unsampled", "without sampling: 1/(2σ²)", x, unsampled, "basic", kept=False, explained=True),
        no_bound("plateau", "plateau", x, np.full(x.shape, plateau)),
    )
    shown = whole_span(largest, log_x)
    regions = []
    if sample_rate > 0.0 and not math.isnan(off):
        regions = [Region(off - 1.0, math.inf, f"off the plateau from λ = {numbers.plain(off - 1.0)}")]
    plot = LinePlot(
        x=order_axis(x, largest, log=log_x, shown=shown),
        y=value_axis("R(α)/α of one step", "R(α)/α", "ratio", log=True, shown=decades(lines, shown, 30.0)),
        lines=lines,
        regions=tuple(regions),
        end_values=False,
    )
    two = 2.0 * float(ratio[np.searchsorted(orders, 2.0)])
    mean = 0.0
    if sample_rate > 0.0:
        mean = loss_density(SampledGaussian(noise_multiplier, sample_rate), steps=1, epsilon=0.0).mean
    return Answer(plot, ConcentratedFacts(two, float(unsampled[0]), *truncated(orders, ratio, off), plateau, off, mean))


def truncated(orders: Array, ratio: Array, end: float) -> tuple[float, float]:
    """(ρ, ω) of truncated concentrated DP: R(α) ≤ ρα for all 1 < α < ω, ω the last order before `end` (NaN: no end).

    R is increasing, so between two orders of the grid R(α)/α ≤ R(right)/left: no order in between is missed.
    """
    inside = orders < (math.inf if math.isnan(end) else end)
    spent = (ratio * orders)[inside]
    left = np.concatenate([[1.0], orders[inside][:-1]])
    return float((spent / left).max()), float(orders[inside][-1])


def layout(get: Reader) -> Groups:
    return {"Mechanism": units.controls(get), "Show": experts(LARGEST, LOG_X, IMAGE)}


ONE_STEP: Question[DivergenceFacts] = Question(
    key="divergence",
    settings={**SETTINGS, "largest": LARGEST, "log_x": LOG_X},
    answer=divergence,
    **words("orders", "divergence"),
    presets=presets("sgm1"),
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved", "closed_form"))},
)

CONCENTRATED: Question[ConcentratedFacts] = Question(
    key="concentrated",
    settings=ONE_STEP.settings,
    answer=concentrated,
    **words("orders", "concentrated"),
    layout=layout,
    more={"Known bounds": known_bounds, "Accountants": lambda _: cards(("renyi_improved",))},
)
