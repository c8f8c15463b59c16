"""Rings on a finished chart: the point of a curve that decides, or a measured value with its interval.

Diamonds are what papers printed; rings are our own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpviz.charts import captions
from dpviz.charts.lines import Chart
from dpviz.charts.traces import QUIET


@dataclass(frozen=True, slots=True)
class Ring:
    """An open circle.

    Attributes:
        x, y: where, in data units.
        text: what the hover says.
        color: "#rrggbb".
        low, high: ends of an interval around y, drawn as an error bar; None for none.
    """

    x: float
    y: float
    text: str
    color: str
    low: float | None = None
    high: float | None = None


def with_rings(chart: Chart, rings: Sequence[Ring]) -> Chart:
    """The same chart with rings; those that its axes cannot show are left out."""
    layout = chart.figure["layout"]
    log_x, log_y = layout["xaxis"]["type"] == "log", layout["yaxis"]["type"] == "log"
    x_range, y_range = layout["xaxis"]["range"], layout["yaxis"]["range"]

    def place(value: float, log: bool) -> float:
        if not log:
            return value
        return math.log10(value) if value > 0 else -math.inf

    shown = [
        ring
        for ring in rings
        if x_range[0] <= place(ring.x, log_x) <= x_range[1] and y_range[0] <= place(ring.y, log_y) <= y_range[1]
    ]
    if not shown:
        return chart
    hovers = [
        captions.small("◆◆", x=place(r.x, log_x), y=place(r.y, log_y), hovertext=r.text, captureevents=True, opacity=0)
        for r in shown
    ]
    figure = chart.figure | {
        "data": [*chart.figure["data"], *(_trace(ring) for ring in shown)],
        "layout": layout | {"annotations": [*layout["annotations"], *hovers]},
    }
    return Chart(figure, chart.notes)


def _trace(ring: Ring) -> dict[str, Any]:
    marker = {"symbol": "circle", "size": 10, "color": "rgba(255,255,255,0.85)"}
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers",
        "x": [ring.x],
        "y": [ring.y],
        "marker": marker | {"line": {"color": ring.color, "width": 2.5}},
        "cliponaxis": False,
        "name": "ring",
    } | QUIET
    if ring.low is not None and ring.high is not None:
        above, below = max(ring.high - ring.y, 0.0), max(ring.y - ring.low, 0.0)
        trace["error_y"] = {"array": [above], "arrayminus": [below], "color": ring.color, "thickness": 2, "width": 5}
    return trace
