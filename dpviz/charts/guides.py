"""Straight guides on a finished chart: a level to be reached, and a place to be found again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.charts import captions, look
from dpviz.charts.labels import text_width
from dpviz.charts.lines import Chart
from dpviz.charts.marks import Array
from dpviz.charts.plane import Box, Plane

CLEAR = 8.0  # pixels between a name and a curve that are enough


@dataclass(frozen=True, slots=True)
class Guide:
    """A dashed line across the plot.

    Attributes:
        axis: "y" for a level line, "x" for an upright one.
        at: where, in data units.
        name: beside it.
        told: whether a note says so where the axes do not reach it.
    """

    axis: str
    at: float
    name: str
    told: bool = True


def with_guides(chart: Chart, *guides: Guide) -> Chart:
    """The same chart with guides; one that its axes do not reach is left out, and a note says so where it is to be
    told."""
    layout = chart.figure["layout"]
    shapes: list[dict[str, Any]] = list(layout["shapes"])
    words: list[dict[str, Any]] = list(layout["annotations"])
    notes = list(chart.notes)
    across = np.linspace(0.0, 1.0, 200)
    plane = Plane(chart)
    courses = plane.courses(across)
    for guide in guides:
        place = _place(layout[f"{guide.axis}axis"], guide.at)
        if place is None:
            notes += [f"{guide.name} lies outside the chart."] if guide.told else []
            continue
        shapes.append(_line(guide.axis, place))
        level = guide.axis == "y"
        words.append(_level_name(guide, place, plane, across, courses) if level else _upright_name(guide, place))
    figure = chart.figure | {"layout": layout | {"shapes": shapes, "annotations": words}}
    return Chart(figure, tuple(notes))


def _place(axis: dict[str, Any], at: float) -> float | None:
    """Share of the axis, 0 to 1; None outside."""
    low, high = axis["range"]
    if axis["type"] == "log":
        if at <= 0:
            return None
        at = math.log10(at)
    share = (at - low) / (high - low)
    return share if -1e-9 <= share <= 1 + 1e-9 else None


def _line(axis: str, place: float) -> dict[str, Any]:
    ends = {"x0": 0, "x1": 1, "y0": place, "y1": place} if axis == "y" else {"x0": place, "x1": place, "y0": 0, "y1": 1}
    stroke = {"color": look.rgba("#808080", 0.8), "width": 1.5, "dash": "dash"}
    return {"type": "line", "layer": "below", "xref": "paper", "yref": "paper", "line": stroke} | ends


def _level_name(guide: Guide, place: float, plane: Plane, across: Array, courses: Sequence[Array]) -> dict[str, Any]:
    """At the left end, above, or wherever else at the line's ends the curves leave more room."""
    width, height = text_width(guide.name, look.SMALL_SIZE), 1.3 * look.SMALL_SIZE
    best: tuple[float, bool, bool] | None = None
    for right in (False, True):
        for below in (False, True):
            middle = (0.5 * width + 6) / plane.width
            beside = (1 if below else -1) * (0.5 * height + 1) / plane.height
            box = Box(1.0 - middle if right else middle, place - beside, width, height)
            inside = box.y - 0.5 * height / plane.height > 0.0 and box.y + 0.5 * height / plane.height < 1.0
            room = (
                min([float(plane.apart([box], across, one)[0]) for one in courses], default=CLEAR) if inside else -1.0
            )
            if best is None or min(room, CLEAR) > best[0]:
                best = min(room, CLEAR), right, below
    assert best is not None
    _, right, below = best
    return captions.small(
        guide.name,
        xref="paper",
        yref="paper",
        x=1 if right else 0,
        xanchor="right" if right else "left",
        xshift=-6 if right else 6,
        y=place,
        yanchor="top" if below else "bottom",
        yshift=-1 if below else 1,
    )


def _upright_name(guide: Guide, place: float) -> dict[str, Any]:
    """At the top, on the side with more room."""
    left = place > 0.7
    where = {"x": place, "xanchor": "right" if left else "left", "xshift": -5 if left else 5, "y": 1, "yanchor": "top"}
    return captions.small(guide.name, xref="paper", yref="paper", **where)
