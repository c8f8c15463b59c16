"""Marks as Plotly traces (plain dicts, plain lists)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz.charts import look
from dpviz.charts.ink import named
from dpviz.charts.marks import Array, Band, Column, Line, Point, Region, short_floats
from dpviz.fields import numbers

Trace = dict[str, Any]
MOST_BARS = 30  # of a line
QUIET: Trace = {"hoverinfo": "skip", "showlegend": False}


def number_format(values: Array) -> str:
    """The d3 format that gives these values three significant digits without an exponent where that stays short."""
    if not values.size:
        return ".3~g"
    return ".3r" if values.max() < 1e5 and np.abs(values).min() >= 1e-4 else ".3~g"


def _all_nan(column: Column) -> bool:
    kept = np.asarray(column.values)
    return kept.dtype.kind == "f" and bool(np.isnan(kept).all())


def _all_finite(column: Column) -> bool:
    kept = np.asarray(column.values)
    return kept.dtype.kind in "fiu" and bool(np.isfinite(kept).all())


def _texts(column: Column) -> list[str]:
    kept = np.asarray(column.values)
    return [numbers.plain(float(v), digits=4) if kept.dtype.kind in "fiu" else str(v) for v in kept.tolist()]


def hover_of(line: Line, value: str, success: bool, gaps: bool = False) -> tuple[str, dict[str, list[Any]]]:
    """The hover template of a line, `value` being how it writes y, and the lists that the template reads.

    A list that will get "–" where there are `gaps` holds texts only: d3 would write "NaN" for it.

    Facts go into flat lists (customdata for the line's own, text for P(A)): Plotly checks every element of a nested
    list on its own, which cost a third of the time of a redraw.
    """
    columns = [c for c in line.hover if c.hovers and not _all_nan(c)]
    template = f"{named(line.name, line.hue)}  <b>{value}</b>"
    read: dict[str, list[Any]] = {}
    if len(columns) == 1 and not gaps and _all_finite(columns[0]):
        read["customdata"] = short_floats(columns[0].values)
        template += f" · {columns[0].name} %{{customdata:{columns[0].d3_format}}}"
    elif columns:
        each = [[f"{column.name} {text}" for text in _texts(column)] for column in columns]
        read["customdata"] = [" · ".join(facts) for facts in zip(*each, strict=True)]
        template += " · %{customdata}"
    if success:
        read["text"] = numbers.attack_probabilities(np.asarray(line.y, dtype=np.float64))
        template += " · P(A) %{text}"
    return template + "<extra></extra>", read


def line_traces(line: Line, *, log_y: bool, success: bool, x_shown: tuple[float, float]) -> list[Trace]:
    """A line as traces: one where it is whole; else what is drawn and what the hover reads are apart.

    Plotly's unified hover takes each trace's nearest point, however far: a line with a gap would show a value that was
    true elsewhere, and a line of two traces (solid, then dotted) would show twice. So such a line gets one unseen trace
    over the whole x range, with "–" where there is nothing.
    """
    shown = line.seen(log_y)
    x, y = np.asarray(line.x, dtype=np.float64), np.asarray(line.y, dtype=np.float64)
    xs, ys = short_floats(x), short_floats(np.where(shown, y, np.nan))
    stroke = {"color": line.hue, "width": line.width, "dash": line.dash}
    common: Trace = {"type": "scatter", "mode": "lines", "name": line.name, "opacity": 0.55 if line.faded else 1}
    whole = bool(shown.all()) and x[0] <= x_shown[0] and x[-1] >= x_shown[1]
    if whole and line.dotted_from is None and line.dotted_until is None:
        template, read = hover_of(line, f"%{{y:{number_format(y)}}}", success)
        return [*_bars(line), common | {"x": xs, "y": ys, "line": stroke, "hovertemplate": template} | read]
    start = 0 if line.dotted_until is None else int(np.searchsorted(x, line.dotted_until, side="right"))
    turn = len(xs) if line.dotted_from is None else max(int(np.searchsorted(x, line.dotted_from)), start)
    parts = ((slice(0, start + 1), "dot"), (slice(start, turn), line.dash), (slice(max(turn - 1, 0), None), "dot"))
    chosen = [part for part, there in zip(parts, (start > 0, start < turn, turn < len(xs)), strict=True) if there]
    traces = [common | {"x": xs[p], "y": ys[p], "line": stroke | {"dash": dash}} | QUIET for p, dash in chosen]
    alone = np.flatnonzero(shown & ~np.r_[False, shown[:-1]] & ~np.r_[shown[1:], False]).tolist()
    if alone:
        # Points whose neighbours are both missing: no line would show them.
        dots = {"mode": "markers", "marker": {"color": line.hue, "size": 5}}
        traces.append(common | {"x": [xs[i] for i in alone], "y": [ys[i] for i in alone]} | dots | QUIET)
    return [*_bars(line), *traces, _hover_trace(line, x, y, shown, success, x_shown)]


def _bars(line: Line) -> list[Trace]:
    """Error bars from the lowest to the highest of what the line is the mean of; one where they can be told apart."""
    if line.spread is None:
        return []
    x, y, low, high = (np.asarray(v, dtype=np.float64) for v in (line.x, line.y, *line.spread))
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_BARS)).round().astype(int))
    error = {"type": "data", "symmetric": False, "array": short_floats((high - y)[some])}
    error |= {"arrayminus": short_floats((y - low)[some]), "color": line.hue, "thickness": 1.2, "width": 4}
    marks = {"mode": "markers", "marker": {"color": line.hue, "size": 4}, "name": line.name, "error_y": error}
    faded = {"opacity": 0.55 if line.faded else 1}
    return [{"type": "scatter", "x": short_floats(x[some]), "y": short_floats(y[some])} | marks | faded | QUIET]


def _hover_trace(
    line: Line, x: Array, y: Array, shown: npt.NDArray[np.bool_], success: bool, x_shown: tuple[float, float]
) -> Trace:
    """An unseen trace over the whole x range that the hover reads; where nothing is drawn it sits on a neighbour."""
    template, read = hover_of(line, "%{hovertext}", success, gaps=True)
    read["hovertext"] = [numbers.epsilon(v) for v in y.tolist()]
    nearest = np.maximum.accumulate(np.where(shown, np.arange(len(y)), int(np.argmax(shown))))
    read |= {"x": short_floats(x, 9), "y": short_floats(y[nearest])}
    for end, beyond, at in ((x_shown[0], x[0] > x_shown[0], 0), (x_shown[1], x[-1] < x_shown[1], -1)):
        if beyond:
            # Two points without a value: one right beside the line's end, one at the edge of the chart.
            new = sorted([float(x[at] + (end - x[at]) * 1e-3), float(end)])
            for key, values in read.items():
                more = new if key == "x" else [values[at] if key == "y" else "–"] * 2
                read[key] = more + values if at == 0 else values + more
    unseen = {"type": "scatter", "mode": "lines", "line": {"width": 0, "color": line.hue}, "opacity": 0}
    return unseen | {"name": line.name, "hovertemplate": template} | read


def band_traces(band: Band, *, log_y: bool) -> list[Trace]:
    """A pale area between two curves, with edges that show also where it is thinner than a pixel."""
    x, lower, upper = (np.asarray(v, dtype=np.float64) for v in (band.x, band.lower, band.upper))
    good = np.isfinite(lower) & np.isfinite(upper) & ((lower > 0) | (not log_y))
    if not good.any():
        return []
    low, high = short_floats(lower[good]), short_floats(upper[good])
    ground, edge = (look.rgba(look.style(band.family).color, opacity) for opacity in (look.BAND, look.EDGE))
    xs = short_floats(x[good])
    form = number_format(upper[good])
    # A closed shape, not "tonexty": that fill would turn the order of the hover's rows round.
    area = {"x": xs + xs[::-1], "y": high + low[::-1], "fill": "toself", "fillcolor": ground, "name": band.name}
    hover = f"{band.name}  %{{customdata:{form}}} – <b>%{{y:{form}}}</b><extra></extra>"
    unseen = {"opacity": 0, "x": xs, "y": high, "customdata": low, "hovertemplate": hover, "name": band.name}
    base = {"type": "scatter", "mode": "lines", "line": {"color": edge, "width": 3}}
    return [base | area | QUIET, base | unseen]


def point_traces(points: Sequence[Point]) -> list[Trace]:
    """Published values as diamonds with a ring; what was printed is in `captions.point_hovers`."""
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
            "marker": {"symbol": "diamond", "size": 10, "color": colors, "line": ring},
            "hoverinfo": "skip",
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
