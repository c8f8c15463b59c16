"""Curves on one pair of axes: the chart of every what-if page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dpviz import _validate
from dpviz.charts import captions, look
from dpviz.charts.ends import end_annotations
from dpviz.charts.labels import text_width
from dpviz.charts.marks import Array, Band, Floor, Line, Numbers, Point, Region
from dpviz.charts.ranges import x_span, y_span
from dpviz.charts.ticks import axis, baseline, position
from dpviz.charts.traces import QUIET, Trace, band_traces, line_traces, point_traces, region_trace

Span = tuple[float, float]
TOP, BOTTOM = 46, 52


class Chart(NamedTuple):
    """A Plotly figure as a plain dict, and what could not be drawn on it, in words for a note below."""

    figure: dict[str, Any]
    notes: tuple[str, ...]


def line_figure(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    log_x: bool = False,
    log_y: bool = False,
    x_kind: str = "plain",
    y_kind: str = "plain",
    x_hover: str = "%{x:,.6~r}",
    bands: Sequence[Band] = (),
    points: Sequence[Point] = (),
    floors: Sequence[Floor] = (),
    regions: Sequence[Region] = (),
    second_reading: str | None = None,
    x_range: Span | None = None,
    y_range: Span | None = None,
    end_values: bool = True,
    height: int = 430,
) -> Chart:
    """Lines that carry their names at their ends, with everything that may stand around them.

    Args:
        lines: the curves; those that cannot be drawn at all are named in the notes.
        x_title, y_title: axis titles with units.
        log_x, log_y: logarithmic axes.
        x_kind, y_kind: how ticks are written: "plain", "steps" or "delta".
        x_hover: head of the hover, a Plotly template of x ("%{x:,d} steps").
        bands, points, floors, regions: see `dpviz.charts.marks`.
        second_reading: "attack" reads y as ε and adds P(A) = 1/(1 + e^−ε), the accuracy of a guess of membership that
            ε alone allows (Triastcyn & Faltings 2020, Eq. 1), at the lines' ends and in the hover.
        x_range, y_range: what the axes show, in data units, instead of what the curves suggest.
        end_values: write each line's last value behind its name.
        height: of the whole figure in pixels, ≥ 160; the width is the page's.

    Raises:
        ValueError: a range that is empty or not positive on a log axis, a height or second reading that is none.
    """
    if height < 160:
        raise ValueError(f"Expected height={height} >= 160 pixels.")
    success = second_reading is not None and _validate.choice("second_reading", second_reading, ("attack",)) == "attack"
    x_shown = _given("x_range", x_range, log_x) or x_span(
        [_array(x) for x in [*(v.x for v in lines), *(b.x for b in bands)]], log_x
    )
    # A band lies below the curves: it shows where they do, and sets the range only where there are none.
    drawn_y = [_array(y) for v in lines for y in (v.y, *(v.spread or ()))]
    curves = [y for y in drawn_y if np.isfinite(y).any()]
    y_shown = _given("y_range", y_range, log_y) or y_span(curves or [_array(b.upper) for b in bands], log_y)
    visible = [p for p in points if _inside(p, x_shown, y_shown)]
    inner = height - TOP - BOTTOM
    drawn = [line for line in lines if line.seen(log_y).any()]

    def down(y: float) -> float:
        """Pixels from the top of the plot to y."""
        return inner * (1 - position(y, y_shown, log_y)) if not log_y or y > 0 else math.inf

    names, room, ends = end_annotations(
        drawn,
        bands,
        x_shown=x_shown,
        down=down,
        inner=inner,
        log_x=log_x,
        log_y=log_y,
        end_values=end_values,
        success=success,
    )
    y_axis = axis(span=y_shown, log=log_y, kind=y_kind, most=max(3, inner // 30))
    x_axis = baseline(axis(span=x_shown, log=log_x, kind=x_kind, most=9, grid=False))
    left = int(max(text_width(t, look.SMALL_SIZE + 1) for t in [*y_axis["ticktext"], "00"])) + 14
    x_axis |= {"title": {"text": x_title, "standoff": 14}, "unifiedhovertitle": {"text": f"<b>{x_hover}</b>"}}
    x_axis |= {"ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS, "showspikes": False}
    margin = {"l": left, "r": room, "t": TOP, "b": BOTTOM}
    layout = look.base_layout(height, margin) | {
        "hovermode": "x unified",
        "hoversort": "value descending",
        "hoverdistance": -1,
        "xaxis": x_axis,
        "yaxis": y_axis,
        "annotations": names
        + [captions.title(y_title, margin)]
        + captions.floor_names(floors, down, inner)
        + captions.region_names(regions, x_shown, log_x)
        + captions.point_hovers(visible, log_x, log_y),
        "shapes": captions.floor_lines(floors, down, inner),
        "meta": {"ends": ends},
    }
    data = [t for r in regions if (t := region_trace(r, x_shown, *y_shown))]
    data += [trace for band in bands for trace in band_traces(band, log_y=log_y)]
    for line in sorted(drawn, key=lambda v: not v.faded):
        data += line_traces(line, log_y=log_y, success=success, x_shown=x_shown)
    data += point_traces(visible)
    data = data or [_unseen(x_shown, y_shown)]
    notes = _missing(lines, log_y) + _outside(points, x_shown, y_shown)
    return Chart({"data": data, "layout": layout}, notes)


def _array(values: Numbers) -> Array:
    return np.asarray(values, dtype=np.float64)


def _given(name: str, span: Span | None, log: bool) -> Span | None:
    if span is not None and not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
        raise ValueError(f"Expected {name}={span} as two finite numbers, the first one smaller.")
    if span is not None and log and span[0] <= 0:
        raise ValueError(f"Expected {name}={span} to start above 0 on a log axis.")
    return span


def _unseen(x_shown: Span, y_shown: Span) -> Trace:
    """A trace that nobody sees: an axis shows, and Streamlit accepts a figure, only with one."""
    return {"type": "scatter", "mode": "markers", "x": [x_shown[0]], "y": [y_shown[0]], "opacity": 0} | QUIET


def _missing(lines: Sequence[Line], log_y: bool) -> tuple[str, ...]:
    gone = [line.name for line in lines if not line.explained and not line.seen(log_y).any()]
    return tuple(f"{name} has no value to draw here." for name in gone)


def _inside(point: Point, x_shown: Span, y_shown: Span) -> bool:
    return x_shown[0] <= point.x <= x_shown[1] and y_shown[0] <= point.y <= y_shown[1]


def _outside(points: Sequence[Point], x_shown: Span, y_shown: Span) -> tuple[str, ...]:
    hidden = [p for p in points if not _inside(p, x_shown, y_shown)]
    return tuple(f"Printed value outside the chart: {p.printed}." for p in hidden)
