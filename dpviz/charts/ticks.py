"""Ticks: 1-2-5 on log axes, thinned to what fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from dpviz.charts.look import AXIS, GRID, MINOR_GRID
from dpviz.fields import numbers

Format = Callable[[float], str]
FORMATS: dict[str, Format] = {"plain": numbers.plain, "steps": numbers.short_steps, "delta": numbers.delta}


def log_ticks(low: float, high: float, *, most: int = 12) -> list[float]:
    """Tick values of a log axis over [low, high], 0 < low ≤ high: at most `most`, on the finest pattern that fits.

    The patterns, finest first: 1-2-5 a decade, whole decades, then every 2nd, 3rd, … decade.
    A range that holds no tick of 1-2-5 (narrower than about a third of a decade) gets linear ticks.
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    slack = 1 + 1e-9
    for pattern in ((1, 2, 5), (1,)):
        found = [float(f"{m}e{d}") for d in range(first, last + 1) for m in pattern]
        found = [t for t in found if low / slack <= t <= high * slack]
        if len(found) <= most:
            return found if len(found) >= 2 else linear_ticks(low, high, most=min(most, 6))
    stride = math.ceil(len(found) / most)
    return [t for t in found if round(math.log10(t)) % stride == 0]


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


def position(value: float, span: tuple[float, float], log: bool) -> float:
    """Where `value` lies on an axis over `span`: 0 at its start, 1 at its end."""
    if log:
        low, high = math.log10(span[0]), math.log10(span[1])
        return (math.log10(value) - low) / (high - low)
    return (value - span[0]) / (span[1] - span[0])


def thinned(values: list[float], span: tuple[float, float], *, log: bool, pixels: float, gap: float) -> list[float]:
    """Those of `values` inside `span` that stand at least `gap` of the axis' `pixels` apart; the first wins."""
    kept: list[float] = []
    for value in values:
        if (log and value <= 0) or not span[0] <= value <= span[1]:
            continue
        here = position(value, span, log)
        if all(abs(here - position(other, span, log)) * pixels >= gap for other in kept):
            kept.append(value)
    return sorted(kept)


def axis(
    *, span: tuple[float, float], log: bool, kind: str = "plain", most: int = 10, grid: bool = True
) -> dict[str, Any]:
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
        "gridcolor": GRID,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "ticklabelstandoff": 4,
        "automargin": False,
    }
    if log and grid and len(ticks) > 1 and ticks[-1] / ticks[0] > 100:
        every = log_ticks(low, high, most=40)
        if len(every) > len(ticks):
            built["minor"] = {"tickmode": "array", "tickvals": every, "showgrid": True, "gridcolor": MINOR_GRID}
    return built


def baseline(built: dict[str, Any]) -> dict[str, Any]:
    """The same axis with its line drawn."""
    return built | {"showline": True, "linecolor": AXIS, "linewidth": 1}
