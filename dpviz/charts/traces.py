"""Marks as Plotly traces (plain dicts, plain lists)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.charts import look, numbers
from dpviz.charts.marks import Array, Band, Column, Line, Point, Region, short_floats

Trace = dict[str, Any]
QUIET: Trace = {"hoverinfo": "skip", "showlegend": False}


def number_format(values: Array) -> str:
    """The d3 format that gives these values three significant digits without an exponent where that stays short."""
    if not values.size:
        return ".3~g"
    return ".3r" if values.max() < 1e5 and np.abs(values).min() >= 1e-4 else ".3~g"


def _columns(line: Line, success: bool) -> list[Column]:
    columns = [c for c in line.hover if not _all_nan(c)]
    if success:
        columns.append(Column("P(A)", numbers.attack_probabilities(np.asarray(line.y, dtype=np.float64))))
    return columns


def _all_nan(column: Column) -> bool:
    kept = np.asarray(column.values)
    return kept.dtype.kind == "f" and bool(np.isnan(kept).all())


def _values(column: Column) -> tuple[list[Any], str]:
    """A column's values and how the template writes them; numbers with gaps become texts."""
    kept = np.asarray(column.values)
    if kept.dtype.kind not in "fiu":
        return list(column.values), ""
    if np.isfinite(kept).all():
        return short_floats(kept), ":" + column.d3_format
    return [numbers.plain(float(v), digits=4) for v in kept], ""


def hover_of(line: Line, seen: Array, success: bool) -> tuple[str, list[tuple[Any, ...]]]:
    """The hover template of a line and its custom data, a tuple of column values for each point."""
    columns = _columns(line, success)
    parts = [_values(column) for column in columns]
    facts = "".join(
        f" · {column.name} %{{customdata[{i}]{form}}}"
        for i, (column, (_, form)) in enumerate(zip(columns, parts, strict=True))
    )
    color = look.rgba(line.hue, 0.75) if line.faded else line.hue
    name = f"<span style='color:{color}'>{line.name}</span>"
    template = f"{name}  <b>%{{y:{number_format(seen)}}}</b>{facts}<extra></extra>"
    return template, list(zip(*(values for values, _ in parts), strict=True))


def line_traces(line: Line, *, log_y: bool, success: bool) -> list[Trace]:
    """A line: one trace, or solid part, dotted tail and the tail's unseen hover points.

    The tail's drawn trace has no hover, for its first point is the solid part's last one and would be listed twice.
    """
    shown = line.seen(log_y)
    y = np.where(shown, np.asarray(line.y, dtype=np.float64), np.nan)
    xs, ys = short_floats(line.x), short_floats(y)
    template, custom = hover_of(line, y[shown], success)
    stroke = {"color": line.hue, "width": line.width, "dash": line.dash}
    common = {"type": "scatter", "name": line.name, "hovertemplate": template, "opacity": 0.45 if line.faded else 1}

    def part(first: int, last: int, **more: Any) -> Trace:
        data = {"customdata": custom[first:last]} if custom else {}
        return common | {"x": xs[first:last], "y": ys[first:last]} | data | more

    turn = len(xs)
    if line.dotted_from is not None:
        turn = int(np.searchsorted(np.asarray(line.x, dtype=np.float64), line.dotted_from))
    traces = [part(0, turn, mode="lines", line=stroke)] if turn > 0 else []
    if turn < len(xs):
        joint = max(turn - 1, 0)
        dotted = {"x": xs[joint:], "y": ys[joint:], "mode": "lines", "line": stroke | {"dash": "dot"}}
        traces.append({"type": "scatter", "opacity": common["opacity"]} | dotted | QUIET)
        traces.append(part(turn, len(xs), mode="markers", marker={"color": line.hue, "opacity": 0, "size": 1}))
    alone = np.flatnonzero(shown & ~np.r_[False, shown[:-1]] & ~np.r_[shown[1:], False]).tolist()
    if alone:
        # Points whose neighbours are both missing: no line would show them.
        dots = {"mode": "markers", "marker": {"color": line.hue, "size": 5}, "opacity": common["opacity"]}
        traces.append({"type": "scatter", "x": [xs[i] for i in alone], "y": [ys[i] for i in alone]} | dots | QUIET)
    return traces


def band_traces(band: Band, *, log_y: bool) -> list[Trace]:
    """A grey area between two curves, with edges that show also where it is thinner than a pixel."""
    x, lower, upper = (np.asarray(v, dtype=np.float64) for v in (band.x, band.lower, band.upper))
    good = np.isfinite(lower) & np.isfinite(upper) & ((lower > 0) | (not log_y))
    if not good.any():
        return []
    low, high = short_floats(lower[good]), short_floats(upper[good])
    edge = {"color": look.BAND, "width": 3}
    base = {"type": "scatter", "mode": "lines", "x": short_floats(x[good]), "line": edge, "name": band.name}
    form = number_format(upper[good])
    template = f"{band.name}  %{{customdata:{form}}} – <b>%{{y:{form}}}</b><extra></extra>"
    fill = {"fill": "tonexty", "fillcolor": look.BAND, "customdata": low, "hovertemplate": template}
    return [base | QUIET | {"y": low}, base | {"y": high} | fill]


def point_traces(points: Sequence[Point]) -> list[Trace]:
    """Published values as diamonds with a ring that parts them from the line below."""
    if not points:
        return []
    colors = [look.style(point.family).color for point in points]
    ring = {"color": "rgba(255,255,255,0.9)", "width": 1.5}
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "x": short_floats([point.x for point in points]),
            "y": short_floats([point.y for point in points]),
            "marker": {"symbol": "diamond", "size": 11, "color": colors, "line": ring},
            "customdata": [point.printed for point in points],
            "hovertemplate": "◆ printed: <b>%{customdata}</b><extra></extra>",
            "name": "published",
            "cliponaxis": False,
        }
    ]


def region_trace(region: Region, span: tuple[float, float], floor: float, top: float) -> Trace | None:
    """A hatched rectangle over the y range, clipped to the x range; None where nothing of it shows."""
    start, stop = max(region.start, span[0]), min(region.stop, span[1])
    if not start < stop:
        return None
    return {
        "type": "scatter",
        "mode": "lines",
        "line": {"width": 0},
        "x": [start, start, stop, stop],
        "y": [floor, top, top, floor],
        "fill": "toself",
        "fillcolor": "rgba(128,128,128,0.05)",
        "fillpattern": {"shape": "/", "fgcolor": look.HATCH, "bgcolor": "rgba(0,0,0,0)", "size": 9, "solidity": 0.1},
    } | QUIET
