"""A line chart the size of a card: no axes, a name and a value at each end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.charts.ends import end_annotations
from dpviz.charts.look import AXIS, base_layout
from dpviz.charts.marks import Line
from dpviz.charts.ranges import x_span, y_span
from dpviz.charts.ticks import position
from dpviz.charts.traces import QUIET, line_traces


def mini_line(lines: Sequence[Line], *, log_x: bool = False, log_y: bool = False, height: int = 120) -> dict[str, Any]:
    """A sparkline figure (plain dict) of `lines`, `height` pixels high."""
    drawn = [line for line in lines if line.seen(log_y).any()]
    x_shown = x_span([np.asarray(v.x, dtype=np.float64) for v in drawn], log_x)
    y_shown = y_span([np.asarray(v.y, dtype=np.float64) for v in drawn], log_y)
    margin = 10
    inner = height - 2 * margin

    def down(y: float) -> float:
        return inner * (1 - position(y, y_shown, log_y))

    names, room, _ = end_annotations(
        drawn, (), x_shown=x_shown, down=down, inner=inner, log_x=log_x, log_y=log_y, end_values=True, success=False
    )
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "ticks": "", "fixedrange": True}

    def axis(span: tuple[float, float], log: bool) -> dict[str, Any]:
        ends = [float(np.log10(v)) if log else v for v in span]
        return bare | {"type": "log" if log else "linear", "range": ends}

    traces = [t for v in drawn for t in line_traces(v, log_y=log_y, success=False, x_shown=x_shown)]
    traces = [t for v in drawn for t in line_traces(v, log_y=log_y, success=False, x_shown=x_shown)]
    data = [t | {"hoverinfo": "skip", "hovertemplate": None, "customdata": None} for t in traces]
    if not data:
        data = [{"type": "scatter", "x": [x_shown[0]], "y": [y_shown[0]], "mode": "markers", "opacity": 0} | QUIET]
    layout = base_layout(height, {"l": 4, "r": room, "t": margin, "b": margin}) | {
        "hovermode": False,
        "xaxis": axis(x_shown, log_x) | {"showline": True, "linecolor": AXIS},
        "yaxis": axis(y_shown, log_y),
        "annotations": names,
    }
    return {"data": data, "layout": layout}
