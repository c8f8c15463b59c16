"""The plane of a chart: its axes and its pixels, and how far a name stays from what is drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from dpviz.charts.axes import BOTTOM, Span
from dpviz.charts.marks import Array, Numbers, floats

TOP = 46  # pixels above the plot
WIDTH, WIDE = 700.0, 2.15  # pixels of a plot, about, and at most so many times the chart's height


class Box(NamedTuple):
    """A name: its middle in shares of the plot, its size in pixels."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True)
class Plane:
    """A chart's axes: data to shares of the plot, 0 to 1 where it shows.

    Attributes:
        x, y: what the axes show, in data units.
        log_x, log_y: logarithmic.
        height: of the whole figure in pixels.
    """

    x: Span
    y: Span
    log_x: bool
    log_y: bool
    height: int

    @property
    def inner(self) -> int:
        """Pixels of the plot's height."""
        return self.height - TOP - BOTTOM

    @property
    def width(self) -> float:
        """Pixels of the plot's width, about: a browser decides. Only to tell which places are far apart."""
        return min(WIDTH, WIDE * self.height)

    def _axis(self, name: str) -> tuple[float, float, bool]:
        """Where an axis begins and ends, in its own coordinate."""
        (low, high), log = (self.x, self.log_x) if name == "x" else (self.y, self.log_y)
        return (math.log10(low), math.log10(high), True) if log else (low, high, False)

    def raw(self, name: str, value: float) -> float:
        """A value in its axis' own coordinate, as Plotly's layout takes it; −∞ where a log axis has no place for it."""
        if not self._axis(name)[2]:
            return value
        return math.log10(value) if value > 0 else -math.inf

    def share(self, name: str, values: Numbers) -> Array:
        low, high, log = self._axis(name)
        with np.errstate(divide="ignore", invalid="ignore"):
            placed = np.log10(floats(values)) if log else floats(values)
        return np.asarray((placed - low) / (high - low))

    def data(self, name: str, shares: Array) -> Array:
        low, high, log = self._axis(name)
        placed = low + shares * (high - low)
        return np.asarray(10.0**placed if log else placed)

    def shows(self, x: float, y: float) -> bool:
        return all(
            low <= self.raw(name, value) <= high
            for name, value in (("x", x), ("y", y))
            for low, high, _ in [self._axis(name)]
        )

    def across(self, x: float) -> float:
        """The share of the width at x."""
        low, high, _ = self._axis("x")
        return (self.raw("x", x) - low) / (high - low)

    def down(self, y: float) -> float:
        """Pixels from the top of the plot to y; infinitely many where a log axis has no place for it."""
        low, high, _ = self._axis("y")
        return self.inner * (1 - (self.raw("y", y) - low) / (high - low))

    def course(self, x: Array, xs: Numbers, ys: Numbers) -> Array:
        """Heights of a curve at `x`, both in shares; NaN where it is not."""
        at, y = self.share("x", xs), self.share("y", ys)
        shown = np.isfinite(at) & np.isfinite(y)
        return np.interp(x, at[shown], y[shown], left=np.nan, right=np.nan) if shown.any() else np.full(x.size, np.nan)

    def courses(self, x: Array, traces: Sequence[dict[str, Any]]) -> list[Array]:
        """Heights of all lines among some traces."""
        return [
            self.course(x, trace["x"], trace["y"])
            for trace in traces
            if "lines" in trace.get("mode", "") and len(trace.get("x", ()))
        ]

    def apart(self, boxes: Sequence[Box], x: Array, y: Array) -> Array:
        """Pixels from each box to the nearest of some points given in shares."""
        at, up, width, height = (each[:, None] for each in np.array(boxes).T)
        across = np.maximum(np.abs(x - at) * self.width - 0.5 * width, 0.0)
        along = np.maximum(np.abs(y - up) * self.inner - 0.5 * height, 0.0)
        nearest = np.fmin.reduce(across * across + along * along, axis=1, initial=self.width**2)
        return np.asarray(np.sqrt(nearest))
