"""Axes: how far they reach, their 1-2-5 ticks thinned to what fits, and how they are named."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from dpviz.charts import look
from dpviz.charts.marks import Array
from dpviz.fields import numbers

Span = tuple[float, float]
FORMATS: dict[str, Callable[[float], str]] = {
    "plain": numbers.plain,
    "steps": numbers.short_steps,
    "delta": numbers.delta,
}
OUTLIER: Final = 30.0  # times the smallest curve's maximum, beyond which a curve leaves through the top
HEADROOM: Final = 1.15
DECADES: Final = 24.0
BOTTOM: Final = 52  # pixels below the plot: ticks and the x axis' title


def x_span(xs: Sequence[Array], log: bool) -> Span:
    """From the smallest to the largest x of all curves (positive ones where `log`); (1, 10) where there is none."""
    values = np.concatenate([*xs, np.empty(0)])
    values = values[np.isfinite(values) & ((values > 0) | (not log))]
    if not values.size:
        return 1.0, 10.0
    low, high = float(values.min()), float(values.max())
    if low < high:
        return low, high
    return (low / 2, low * 2) if log else (low - max(abs(low), 1.0) / 2, low + max(abs(low), 1.0) / 2)


def y_span(ys: Sequence[Array], log: bool) -> Span:
    """The y range that shows the curves `ys` well: one exploding curve does not squash the others.

    Linear: from 0 (or the lowest negative value) to 1.15 times the largest maximum among the curves whose maximum is at
    most 30 times the smallest one; what is above leaves through the top. Log: from the smallest positive to the largest
    value, at least one decade and at most 24 below the top, with a little air.
    """
    valid = [y for y in (y[np.isfinite(y) & ((y > 0) | (not log))] for y in ys) if y.size]
    if not valid:
        return (0.1, 10.0) if log else (0.0, 1.0)
    maxima = np.array([y.max() for y in valid])
    lowest = float(min(y.min() for y in valid))
    if not log:
        positive = maxima[maxima > 0]
        top = float(positive[positive <= OUTLIER * positive.min()].max()) if positive.size else 0.0
        bottom = min(lowest, 0.0)
        span = top - bottom or 1.0
        return bottom - (HEADROOM - 1) * span * (bottom < 0), top + (HEADROOM - 1) * span
    low, high = np.log10(lowest), np.log10(maxima.max())
    low = max(low, high - DECADES)
    if high - low < 1:
        middle = (high + low) / 2
        low, high = middle - 0.5, middle + 0.5
    air = 0.04 * (high - low)
    return float(10 ** max(low - air, -307)), float(10 ** min(high + air, 308))


def log_ticks(low: float, high: float, *, most: int = 12) -> list[float]:
    """Tick values of a log axis over [low, high], 0 < low ≤ high: at most `most`, on the finest pattern that fits.

    The patterns, finest first: 1-2-5 a decade, whole decades, then every 2nd, 3rd, … decade.
    A range that holds no tick of 1-2-5 (narrower than about a third of a decade) gets linear ticks.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    slack = 1 + 1e-9
    for pattern in ((1, 2, 5), (1,)):
        ticks = [float(f"{m}e{d}") for d in range(first, last + 1) for m in pattern]
        ticks = [t for t in ticks if low / slack <= t <= high * slack]
        if len(ticks) <= most:
            return ticks if len(ticks) >= 2 else linear_ticks(low, high, most=min(most, 6))
    stride = math.ceil(len(ticks) / most)
    return [t for t in ticks if round(math.log10(t)) % stride == 0]


def linear_ticks(low: float, high: float, *, most: int = 8) -> list[float]:
    """Round tick values over [low, high], low ≤ high: multiples of 1, 2 or 5 times a power of ten, at most `most`."""
    span = high - low
    if not span > 0:
        return [low]
    power = math.floor(math.log10(span / most)) - 1
    for step in (float(f"{m}e{power + d}") for d in range(4) for m in (1, 2, 5)):
        start, stop = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if stop - start + 1 <= most:
            return [float(f"{k * step:.12g}") for k in range(start, stop + 1)]
    return [low, high]


def position(value: float, span: Span, log: bool) -> float:
    """Where `value` lies on an axis over `span`: 0 at its start, 1 at its end."""
    if log:
        low, high = math.log10(span[0]), math.log10(span[1])
        return (math.log10(value) - low) / (high - low)
    return (value - span[0]) / (span[1] - span[0])


def axis(*, span: Span, log: bool, kind: str = "plain", most: int = 10, grid: bool = True) -> dict[str, Any]:
    """One Plotly axis over `span` (data units, positive where `log`), with our ticks and quiet lines.

    Args:
        span: first and last value shown.
        log: logarithmic (1-2-5 ticks) or linear.
        kind: how ticks are written: "plain", "steps" (40k) or "delta" (1e-5).
        most: how many ticks fit.
        grid: draw grid lines.
    """
    low, high = span
    ticks = log_ticks(low, high, most=most) if log else linear_ticks(low, high, most=most)
    built: dict[str, Any] = {
        "type": "log" if log else "linear",
        "range": [math.log10(low), math.log10(high)] if log else [low, high],
        "tickmode": "array",
        "tickvals": ticks,
        "ticktext": [FORMATS[kind](t) for t in ticks],
        "showgrid": grid,
        "gridcolor": look.GRID,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": False,
    }
    if log and grid and len(ticks) > 1 and ticks[-1] / ticks[0] > 100:
        every = log_ticks(low, high, most=40)
        if len(every) > len(ticks):
            built["minor"] = {"tickmode": "array", "tickvals": every, "showgrid": True, "gridcolor": look.MINOR_GRID}
    return built


def bottom_axis(
    title: str, *, span: Span, log: bool, kind: str = "plain", most: int = 9, grid: bool = False
) -> dict[str, Any]:
    """The x axis below a plot, with its line and its title; arguments as of `axis`."""
    return axis(span=span, log=log, kind=kind, most=most, grid=grid) | {
        "title": {"text": title, "standoff": 14},
        "showline": True,
        "linecolor": look.AXIS,
        "linewidth": 1,
        "ticks": "outside",
        "ticklen": 4,
        "tickcolor": look.AXIS,
    }


def row_axis(names: Sequence[str], span: Span, **more: Any) -> dict[str, Any]:
    """The y axis of a chart of named rows, the first one on top: row k lies at y = k."""
    return {
        "range": list(span),
        "tickmode": "array",
        "tickvals": list(range(len(names))),
        "ticktext": list(names),
        "tickfont": {"size": look.LABEL_SIZE},
        "zeroline": False,
        "ticklabelstandoff": 6,
        "automargin": False,
    } | more
