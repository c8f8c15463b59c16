"""Where things lie on a finished chart, and how far a name stays from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpviz.charts.lines import Chart
from dpviz.charts.marks import Array, Numbers

WIDTH, HEIGHT = 700.0, 330.0  # about what a plot measures: only to tell which places are far apart


class Plane:
    """A chart's axes: data to shares of the plot, 0 to 1 where it shows."""

    def __init__(self, chart: Chart) -> None:
        layout = chart.figure["layout"]
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


class Box(NamedTuple):
    """A name: its middle in shares of the plot, its size in pixels."""

    x: float
    y: float
    width: float
    height: float


def apart(boxes: Sequence[Box], x: Array, y: Array) -> Array:
    """Pixels from each box to the nearest of some points given in shares."""
    at, up, width, height = (each[:, None] for each in np.array(boxes).T)
    across = np.maximum(np.abs(x - at) * WIDTH - 0.5 * width, 0.0)
    along = np.maximum(np.abs(y - up) * HEIGHT - 0.5 * height, 0.0)
    return np.asarray(np.sqrt(np.fmin.reduce(across * across + along * along, axis=1, initial=WIDTH**2)))
