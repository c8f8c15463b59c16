"""Straight guides on a finished chart: a level to be reached, and a place to be found again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from dpviz.charts import captions, look
from dpviz.charts.lines import Chart


@dataclass(frozen=True, slots=True)
class Guide:
    """A dashed line across the plot at `at` (data units): level for axis "y", upright for axis "x"."""

    axis: str
    at: float
    name: str


def with_guides(chart: Chart, *guides: Guide) -> Chart:
    """The same chart with guides; one that its axes do not reach is left out, and the chart's remarks say so."""
    layout = chart.figure["layout"]
    shapes: list[dict[str, Any]] = list(layout["shapes"])
    words: list[dict[str, Any]] = list(layout["annotations"])
    remarks = list(chart.remarks)
    for guide in guides:
        place = _place(layout[f"{guide.axis}axis"], guide.at)
        if place is None:
            remarks.append(f"{guide.name} lies outside the chart.")
            continue
        shapes.append(_line(guide.axis, place))
        words.append(_name(guide, place))
    figure = chart.figure | {"layout": layout | {"shapes": shapes, "annotations": words}}
    return Chart(figure, tuple(remarks))


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


def _name(guide: Guide, place: float) -> dict[str, Any]:
    """Level guides are named at their left end, above; upright ones at their top, on the side with more room."""
    if guide.axis == "y":
        above = place < 0.9
        where = {"x": 0, "xanchor": "left", "xshift": 6, "y": place, "yanchor": "bottom" if above else "top"}
        return captions.small(guide.name, xref="paper", yref="paper", yshift=1 if above else -1, **where)
    left = place > 0.7
    where = {"x": place, "xanchor": "right" if left else "left", "xshift": -5 if left else 5, "y": 1, "yanchor": "top"}
    return captions.small(guide.name, xref="paper", yref="paper", **where)
