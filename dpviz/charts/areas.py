"""Areas between curves on a finished chart, and names written on the curves that bound them.

For charts whose lines leave through the top or the bottom, where a name at the line's end would stand beside nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.charts import look
from dpviz.charts.ink import named
from dpviz.charts.labels import text_width
from dpviz.charts.lines import Chart
from dpviz.charts.marks import Array, Line, Numbers, short_floats
from dpviz.charts.plane import Box, Plane
from dpviz.charts.traces import QUIET

_EDGE = 0.12  # names keep off the edges by so much of the plot
_AWAY = 7  # pixels between a line and its name
_OFF = 4.0  # pixels that a name keeps off its own line, where it can
_CORNERS = ((-1, 1), (1, -1), (1, 1), (-1, -1))  # of a point on a line: left and above it, and so on
_FINE = 400


@dataclass(frozen=True, slots=True, eq=False)
class Area:
    """Where lower < y < upper.

    Attributes:
        x, lower, upper: shape (n,), x ascending; infinite bounds reach to the edge, NaN leaves a gap.
        color: "#rrggbb".
        opacity: of the fill.
        name: written in its middle; empty for none.
    """

    x: Numbers
    lower: Numbers
    upper: Numbers
    color: str
    opacity: float = 0.1
    name: str = ""


def with_areas(chart: Chart, areas: Sequence[Area]) -> Chart:
    """The same chart with areas below everything else, clipped to what the axes show."""
    plane = Plane(chart)
    fills, words = [], []
    for area in areas:
        x, low, high = _clipped(area, plane)
        for part in np.split(np.arange(x.size), np.flatnonzero(np.diff(np.flatnonzero(high > low)) > 1) + 1):
            part = part[high[part] > low[part]]
            if part.size > 1:
                fills.append(_fill(area, plane, x[part], low[part], high[part]))
        if area.name and (high > low).any():
            words.append(_name(area, plane, x, low, high))
    layout = chart.figure["layout"]
    figure = chart.figure | {
        "data": [*fills, *chart.figure["data"]],
        "layout": layout | {"annotations": [*layout["annotations"], *words]},
    }
    return Chart(figure, chart.notes)


def _clipped(area: Area, plane: Plane) -> tuple[Array, Array, Array]:
    """x, lower and upper as shares of the plot on a fine grid, lower = upper = 0 where there is nothing."""
    at, low, high = (plane.share(name, v) for name, v in (("x", area.x), ("y", area.lower), ("y", area.upper)))
    # Far outside any number will do, but an infinite one cannot be interpolated.
    low, high = (np.clip(v, -50.0, 50.0) for v in (low, high))
    x = np.linspace(max(at[0], 0.0), min(at[-1], 1.0), _FINE)
    low, high = (np.clip(np.interp(x, at, v), 0.0, 1.0) for v in (low, high))
    empty = ~(high > low)
    return x, np.where(empty, 0.0, low), np.where(empty, 0.0, high)


def _fill(area: Area, plane: Plane, x: Array, low: Array, high: Array) -> dict[str, Any]:
    xs, bottom, top = plane.data("x", x), plane.data("y", low), plane.data("y", high)
    return {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 0},
        "x": short_floats(np.concatenate([xs, xs[::-1]])),
        "y": short_floats(np.concatenate([top, bottom[::-1]])),
        "fill": "toself",
        "fillcolor": look.rgba(area.color, area.opacity),
        "name": area.name or "area",
    } | QUIET


def _name(area: Area, plane: Plane, x: Array, low: Array, high: Array) -> dict[str, Any]:
    """In the middle of the longest level stretch within the area, where most of the words fit."""
    levels = np.linspace(0.06, 0.94, 45)
    inside = (low < levels[:, None]) & (levels[:, None] < high)
    long = inside.sum(axis=1)
    widest = np.flatnonzero(long >= 0.98 * long.max())
    level = int(widest[widest.size // 2])
    across = x[inside[level]] if inside[level].any() else x[high > low]
    y = levels[level] if inside[level].any() else 0.5 * float((low + high)[high > low].mean())
    place = {"x": float(across.mean()), "y": float(y)}
    font = {"font": {"size": look.LABEL_SIZE}}
    return {"text": f"<b>{area.name}</b>", "showarrow": False, "xref": "paper", "yref": "paper"} | place | font


def with_names_on_lines(chart: Chart, lines: Sequence[Line], avoid: Sequence[tuple[float, float]] = ()) -> Chart:
    """The same chart with each line's name (its `end`, if it has one) beside it, where other lines leave most room.

    `avoid`: points, in data units, that no name should cover.
    """
    plane = Plane(chart)
    x = np.linspace(0.0, 1.0, _FINE)
    courses = [_course(line, plane, x) for line in lines]
    annotations = chart.figure["layout"]["annotations"]
    taken = [
        _box(plane, n["x"], n["y"], n["text"], (0, 0)) for n in annotations if n.get("xref") == n.get("yref") == "paper"
    ]
    taken += [Box(float(plane.share("x", [a])[0]), float(plane.share("y", [b])[0]), 90.0, 30.0) for a, b in avoid]
    words = []
    for i, (line, y) in enumerate(zip(lines, courses, strict=True)):
        text = line.end or line.name
        here = np.flatnonzero((x > _EDGE) & (x < 1.0 - _EDGE) & (y > _EDGE) & (y < 1.0 - _EDGE))[::8]
        if not here.size:
            continue
        places = [
            (k, side, _box(plane, float(x[k]), float(y[k]), text, side)) for k in here.tolist() for side in _CORNERS
        ]
        boxes = [box for _, _, box in places]
        room = _room(plane, x, [other for j, other in enumerate(courses) if j != i], taken, boxes)
        off = np.minimum(plane.apart(boxes, x, y), _OFF)  # from its own line: first of all it does not lie on that
        k, side, box = places[int(np.where(off == off.max(), room, -np.inf).argmax())]
        taken.append(box)
        words.append(_on_line(line, text, float(x[k]), float(y[k]), side))
    layout = chart.figure["layout"]
    figure = chart.figure | {"layout": layout | {"annotations": [*annotations, *words]}}
    return Chart(figure, chart.notes)


def _box(plane: Plane, x: float, y: float, text: str, side: tuple[int, int]) -> Box:
    """Around a name that stands left (−1) or right (+1) of a point, and below (−1) or above it (+1); (0, 0): on it."""
    width, height = text_width(text, look.LABEL_SIZE), 1.2 * look.LABEL_SIZE
    across, up = side[0] * (0.5 * width + _AWAY) / plane.width, side[1] * (0.5 * height + _OFF) / plane.height
    return Box(x + across, y + up, width, height)


def _room(plane: Plane, x: Array, others: Sequence[Array], taken: Sequence[Box], boxes: Sequence[Box]) -> Array:
    """Pixels between each of some names and the nearest other line, name or edge."""
    at, up, width, height = np.array(boxes).T
    room = np.minimum(at, 1.0 - at) * plane.width - 0.5 * width
    for other in taken:
        across = np.maximum(np.abs(at - other.x) * plane.width - 0.5 * (width + other.width), 0.0)
        along = np.maximum(np.abs(up - other.y) * plane.height - 0.5 * (height + other.height), 0.0)
        room = np.minimum(room, np.hypot(across, along))
    return np.asarray(np.minimum.reduce([room, *(plane.apart(boxes, x, other) for other in others)]))


def _course(line: Line, plane: Plane, x: Array) -> Array:
    at, y = plane.share("x", line.x), plane.share("y", line.y)
    seen = np.isfinite(y)
    return np.interp(x, at[seen], y[seen], left=np.nan, right=np.nan) if seen.any() else np.full(x.size, np.nan)


def _on_line(line: Line, text: str, x: float, y: float, side: tuple[int, int]) -> dict[str, Any]:
    return {
        "text": named(f"<b>{text}</b>", line.hue),
        "showarrow": False,
        "font": {"size": look.LABEL_SIZE},
        "xref": "paper",
        "yref": "paper",
        "x": x,
        "y": y,
        "xanchor": "right" if side[0] < 0 else "left",
        "yanchor": "bottom" if side[1] > 0 else "top",
        "xshift": side[0] * _AWAY,
        "yshift": side[1] * _OFF,
    }
