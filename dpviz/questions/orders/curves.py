"""Curves over the Rényi orders of the sampled Gaussian mechanism: α = λ + 1, but for charts of whole λ."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpviz import library as dpviz
from dpviz._arrays import Array
from dpviz.accounting.methods import ClosedForm, Moments, Renyi
from dpviz.accounting.renyi.additive import exact_divergence
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order
from dpviz.accounting.renyi.orders import DEFAULT_ORDERS
from dpviz.charts import Axis, Line, Ring, Span, look
from dpviz.fields import numbers

MOST_MOMENTS = 33  # the moments accountant's whole α: its authors computed λ = α − 1 up to 32
DOUBLED = 2.0  # R(α)/α counts as off its plateau from this multiple of it on


class Least(NamedTuple):
    """The lowest point of a curve, (order, value); NaNs where there is none."""

    order: float
    value: float


def least(line: Line) -> Least:
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    kept = np.flatnonzero(np.isfinite(y))
    if not kept.size:
        return Least(math.nan, math.nan)
    at = kept[y[kept].argmin()]
    return Least(float(x[at]), float(y[at]))


def order_grid(largest: float, deciding: Sequence[float] = ()) -> Array:
    """α up to `largest`: the accountants' grid, those that `decide` between its points, and whole ones."""
    whole = np.arange(2.0, MOST_MOMENTS + 1.0)
    orders = np.unique(np.concatenate([DEFAULT_ORDERS, deciding, whole, [largest]]))
    return np.asarray(orders[orders <= largest])


def whole_grid(largest: float) -> Array:
    """1, 2, … 64, then ever fewer whole orders up to `largest`: λ, of moments."""
    top = math.floor(largest)
    first = np.arange(1.0, min(top, 64) + 1.0)
    return np.unique(np.concatenate([first, np.round(np.geomspace(64.0, top, 100))])) if top > 64 else first


def exact(sigma: float, rate: float, orders: Array) -> Array:
    """R(α) of one step, shape (orders,)."""
    return exact_divergence(sigma, rate, tuple(orders.tolist()))


def asymptotic(sigma: float, rate: float, largest: float) -> tuple[Array, Array]:
    """Whole α up to `largest`, and the asymptotic R(α) of one step; empty where the lemma covers none."""
    last = dpviz.papers.asymptotic_last_order(noise_multiplier=sigma, sample_rate=rate)
    if not last >= 1:
        return np.empty(0), np.empty(0)
    order = whole_grid(min(last, max(largest - 1.0, 1.0)))
    moment = np.asarray(dpviz.papers.asymptotic_moment(noise_multiplier=sigma, sample_rate=rate, orders=order))
    return order + 1.0, moment / order


def closed_last(orders: Array, closed: Array) -> float:
    """The largest α that has a closed form; NaN where none has."""
    holds = orders[~np.isnan(closed)]
    return float(holds[-1]) if holds.size else math.nan


def leaves(orders: Array, ratio: Array) -> float:
    """The first α above 2 where R(α)/α is DOUBLED from its value at α = 2; NaN for none shown."""
    start = float(ratio[np.searchsorted(orders, 2.0)])
    grown = np.flatnonzero((orders > 2.0) & (ratio >= DOUBLED * start)) if start > 0 else np.empty(0)
    return float(orders[grown[0]]) if grown.size else math.nan


def order_axis(orders: Array, largest: float, *, log: bool, shown: Span, letter: str = "α") -> Axis:
    """The order, α or λ; the table has rows at 1, 2, 5, 10, … as far as shown, or at the nearest of `orders`."""
    round_ones = [float(f"{m}e{d}") for d in range(-1, 7) for m in (1, 2, 5)]
    wanted = np.array([*(m for m in round_ones if orders[0] <= m < largest), largest])
    near = np.unique(np.abs(orders[None, :] - wanted[:, None]).argmin(axis=1))
    return Axis(
        f"order {letter}",
        column={"α": "order", "λ": "order_lambda"}[letter],
        log=log,
        shown=shown,
        hover=f"{letter} = %{{x:,.4~r}}",
        write=lambda v: numbers.plain(v, digits=4),
        marks=tuple(orders[near].tolist()),
    )


def value_axis(title: str, name: str, column: str, *, log: bool, shown: Span | None) -> Axis:
    """ε, R(α) or R(α)/α, rounded up."""
    return Axis(
        title,
        name=name,
        column=column,
        log=log,
        shown=shown,
        write=lambda v: numbers.epsilon(v, digits=4, up=True),
        lowest="lowest at the largest order",
        reading="attack" if column == "epsilon" else None,
    )


def no_bound(key: str, name: str, x: Array, y: Array) -> Line:
    """An approximation: dashed, and rounded to nearest in the table."""
    line = Line(key, name, x, y, look.SOLID, approximate=True, color=look.BROWN, kept=False, explained=True)
    return replace(line, label=f"{name} (no bound)", write=lambda v: numbers.epsilon(v, digits=4))


def decades(lines: Sequence[Line], span: Span, air: float) -> Span | None:
    """What the curves show over the span on a log axis, with `air` above for the name of a hatched region."""
    seen = []
    for line in lines:
        x, y = np.asarray(line.x), np.asarray(line.y)
        seen.append(y[(x >= span[0]) & (x <= span[1]) & np.isfinite(y) & (y > 0)])
    values = np.concatenate(seen)
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    return low / 2.0, max(high * air, low * 20.0)


def whole_span(largest: float, log: bool, first: float = 1.1) -> Span:
    """Orders from `first`, or 0 on a plain axis, to the largest asked for."""
    return (first if log else 0.0), largest


def epsilon_lines(sigma: float, rate: float, steps: int, delta: float, largest: float) -> tuple[Line, ...]:
    """ε(α) at T of one mechanism: improved and classic conversion, closed form, asymptotic moment."""
    orders = order_grid(largest, deciding_orders(sigma, rate, steps, delta))
    spent = steps * exact(sigma, rate, orders)
    closed = steps * dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=rate, orders=orders)
    whole, moment = asymptotic(sigma, rate, largest)

    def converted(total: Array, at: Array, conversion: str) -> Array:
        if rate == 0.0:
            return np.zeros(at.shape)  # nothing is released, which no finite order would say
        return np.maximum(epsilon_per_order(total, at, np.array(delta), conversion), 0.0)

    improved, classic = (converted(spent, orders, conversion) for conversion in ("improved", "classic"))
    formula, x = converted(closed, orders, "improved"), orders
    lines = (
        Line(Renyi().family, "improved", x, improved, Renyi().family, explained=True),
        Line(Renyi("classic").family, "classic", x, classic, Renyi("classic").family, kept=False, explained=True),
        Line(ClosedForm.name, "closed form", x, formula, ClosedForm.name, kept=False, explained=True),
        no_bound("asymptotic", "asymptotic", whole, converted(steps * moment, whole, "classic")),
    )
    return tuple(line for line in lines if len(line.x))


def deciding_orders(sigma: float, rate: float, steps: int, delta: float) -> list[float]:
    """The orders at which the Rényi accountant reads ε, so that the curves' lowest points are what it answers."""
    deciding = [
        float(
            dpviz.accountant(Renyi.name, conversion=conversion)
            .evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
            .order
        )
        for conversion in CONVERSIONS
    ]
    return [order for order in deciding if not math.isnan(order)]


def moments(sigma: float, rate: float, steps: int, delta: float) -> Least:
    """α and ε of the moments accountant: whole α up to 33, classic conversion; NaNs at q = 0."""
    if rate == 0.0:
        return Least(math.nan, math.nan)
    bound = dpviz.accountant(Moments.name, max_order=MOST_MOMENTS - 1).evaluate(
        noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta
    )
    return Least(float(bound.order), float(bound.epsilon))


def around(lines: Sequence[Line], log: bool, tight: tuple[float, float] | None = None) -> Span | None:
    """What the ε axis shows: the minima, for both arms of ε(α) rise without end, and the truth below them."""
    lowest = [value for line in lines if (value := least(line).value) > 0]
    if not lowest:
        return None
    low, high = min(lowest), max(lowest)
    if tight is not None and tight[0] > 0:
        low = min(low, tight[0])
    if log:
        return low / 1.6, max(6.0 * high, 30.0 * low)
    return 0.0, max(3.0 * low, 1.35 * high if high < 20.0 * low else 0.0)


def rings(lines: Sequence[Line], letter: str = "α") -> list[Ring]:
    """The lowest points; `letter` as in `order_axis`."""
    built = []
    for line in lines:
        best = least(line)
        if not math.isnan(best.order):
            hover = f"smallest {line.name}, at {letter} = {numbers.plain(best.order)}"
            built.append(Ring(best.order, best.value, hover, line.hue, name=numbers.up(best.value)))
    return built


def lowest_point(line: Line, letter: str = "α") -> str:
    """For those who do not see the chart."""
    best = least(line)
    if math.isnan(best.order):
        return ""
    return (
        f"The curve {line.name} is lowest at {letter} = {numbers.plain(best.order)} with {numbers.epsilon(best.value)}."
    )
