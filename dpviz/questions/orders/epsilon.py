"""ε at each order: the curves whose lowest points are what Rényi accountants answer, and where to look at them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpviz import library as dpviz
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order
from dpviz.charts.lines import Span
from dpviz.charts.marks import Line
from dpviz.charts.rings import Ring
from dpviz.fields import numbers
from dpviz.questions.orders.curves import (
    MOST_MOMENTS,
    Array,
    Least,
    asymptotic,
    exact,
    least,
    no_bound,
    order_grid,
)


def epsilon_lines(sigma: float, rate: float, steps: int, delta: float, largest: float) -> tuple[Line, ...]:
    """ε(λ) at T of one mechanism: improved and classic conversion, closed form, asymptotic moment."""
    orders = order_grid(largest, deciding_orders(sigma, rate, steps, delta))
    spent = steps * exact(sigma, rate, orders)
    closed = steps * dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders)
    whole, moment = asymptotic(sigma, rate, largest)

    def converted(total: Array, at: Array, conversion: str) -> Array:
        if rate == 0.0:
            return np.zeros(at.shape)  # nothing is released, which no finite order would say
        return np.maximum(epsilon_per_order(total, at, np.array(delta), conversion), 0.0)

    improved, classic = (converted(spent, orders, conversion) for conversion in ("improved", "classic"))
    formula, x = converted(closed, orders, "improved"), orders - 1.0
    lines = (
        Line("renyi_improved", "improved", x, improved, "renyi_improved", explained=True),
        Line("renyi_classic", "classic", x, classic, "renyi_classic", kept=False, explained=True),
        Line("closed_form", "closed form", x, formula, "closed_form", kept=False, explained=True),
        no_bound("asymptotic", "asymptotic", whole - 1.0, converted(steps * moment, whole, "classic")),
    )
    return tuple(line for line in lines if len(line.x))


def deciding_orders(sigma: float, rate: float, steps: int, delta: float) -> list[float]:
    """The orders at which the Rényi accountant reads ε, so that the curves' lowest points are what it answers."""
    found = [
        float(
            dpviz.accountant("renyi", conversion=conversion)
            .evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
            .order
        )
        for conversion in CONVERSIONS
    ]
    return [order for order in found if not math.isnan(order)]


def moments(sigma: float, rate: float, steps: int, delta: float) -> Least:
    """λ and ε of the moments accountant: whole λ up to 32, classic conversion; NaNs at q = 0."""
    if rate == 0.0:
        return Least(math.nan, math.nan)
    bound = dpviz.accountant("moments", max_order=MOST_MOMENTS).evaluate(
        noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta
    )
    return Least(float(bound.order) - 1.0, float(bound.epsilon))


def around(lines: Sequence[Line], log: bool, tight: tuple[float, float] | None = None) -> Span | None:
    """What the ε axis shows: the minima, for both arms of ε(λ) rise without end, and the truth below them."""
    lowest = [value for line in lines if (value := least(line).value) > 0]
    if not lowest:
        return None
    low, high = min(lowest), max(lowest)
    if tight is not None and tight[0] > 0:
        low = min(low, tight[0])
    if log:
        return low / 1.6, max(6.0 * high, 30.0 * low)
    return 0.0, max(3.0 * low, 1.35 * high if high < 20.0 * low else 0.0)


def rings(lines: Sequence[Line]) -> list[Ring]:
    """The lowest points."""
    built = []
    for line in lines:
        best = least(line)
        if not math.isnan(best.order):
            said = f"smallest {line.name}: <b>{numbers.epsilon(best.value)}</b> at λ = {numbers.plain(best.order)}"
            built.append(Ring(best.order, best.value, said, line.hue))
    return built


def lowest_point(line: Line) -> str:
    """For those who do not see the chart."""
    best = least(line)
    if math.isnan(best.order):
        return ""
    return f"The curve {line.name} is lowest at λ = {numbers.plain(best.order)} with {numbers.epsilon(best.value)}."
