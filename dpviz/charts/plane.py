"""Where things lie on a finished chart, and how far a name stays from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpviz.charts.lines import Chart
from dpviz.charts.marks import Array, Numbers

WIDTH, WIDE = 700.0, 2.15  # pixels of a plot, about, and at most so many times the chart's height


class Box(NamedTuple):
    """A name: its middle in shares of the plot, its size in pixels."""

    x: float
    y: float
    width: float
    height: float


class Plane:
    """A chart's axes: data to shares of the plot, 0 to 1 where it shows.

    Attributes:
        width, height: Pixels of the plot, about: a browser decides. Only to tell which places are far apart.
    """

    def __init__(self, chart: Chart) -> None:
        layout = chart.figure["layout"]
        self.width = min(WIDTH, WIDE * layout["height"])
        self.height = float(max(layout["height"] - layout["margin"]["t"] - layout["margin"]["b"], 1))
        self.axes = {name: layout[f"{name}axis"] for name in "xy"}
        self.traces = chart.figure["data"]

    def share(self, name: str, values: Numbers) -> Array:
        axis = self.axes[name]
        given = np.asarray(values, dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            placed = np.log10(given) if axis["type"] == "log" else given
        low, high = axis["range"]
        return np.asarray((placed - low) / (high - low))

    def data(self, name: str, shares: Array) -> Array:
        axis = self.axes[name]
        low, high = axis["range"]
        placed = low + shares * (high - low)
        return np.asarray(10.0**placed if axis["type"] == "log" else placed)

    def courses(self, x: Array) -> list[Array]:
        """Heights of all drawn lines at `x`, both in shares; NaN where a line is not."""
        found = []
        for trace in self.traces:
            if "lines" not in trace.get("mode", "") or not len(trace.get("x", ())):
                continue
            at, y = self.share("x", trace["x"]), self.share("y", trace["y"])
            seen = np.isfinite(at) & np.isfinite(y)
            if seen.sum() > 1:
                found.append(np.interp(x, at[seen], y[seen], left=np.nan, right=np.nan))
        return found

    def apart(self, boxes: Sequence[Box], x: Array, y: Array) -> Array:
        """Pixels from each box to the nearest of some points given in shares."""
        at, up, width, height = (each[:, None] for each in np.array(boxes).T)
        across = np.maximum(np.abs(x - at) * self.width - 0.5 * width, 0.0)
        along = np.maximum(np.abs(y - up) * self.height - 0.5 * height, 0.0)
        nearest = np.fmin.reduce(across * across + along * along, axis=1, initial=self.width**2)
        return np.asarray(np.sqrt(nearest))
