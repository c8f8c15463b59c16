"""Marks as Plotly traces (plain dicts, plain lists)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.charts import look
from dpviz.charts.axes import AxisScale, Plane
from dpviz.charts.marks import Area, Band, Line, Point, Reference, Region, Ring, Scatter, floats, short_floats, thinned
from dpviz.fields import numbers

Trace = look.PlotlyDict
MOST_BARS = 30  # of a line
STAIRS = {"falling": "hv", "rising": "vh"}  # Plotly's names
QUIET: Trace = {"hoverinfo": "skip", "showlegend": False}
_FINE = 400  # places along an area


def scatter(x: Any, y: Any, mode: str = "lines", **more: Any) -> Trace:
    return {"type": "scatter", "mode": mode, "x": x, "y": y} | more


def unseen(x: float, y: float) -> Trace:
    """A trace that nobody sees: an axis shows, and Streamlit accepts a figure, only with one."""
    return scatter([x], [y], "markers", opacity=0) | QUIET


def number_format(values: Array) -> str:
    """The d3 format that gives these values three significant digits without an exponent where that stays short."""
    if not values.size:
        return ".3~g"
    return ".3r" if values.max() < 1e5 and np.abs(values).min() >= 1e-4 else ".3~g"


def hover_of(line: Line, value: str, success: bool, gaps: bool = False) -> tuple[str, dict[str, list[Any]]]:
    """The hover template of a line, `value` being how it writes y, and the lists that the template reads.

    A list that will get "–" where there are `gaps` holds texts only: d3 would write "NaN" for it.

    Facts go into flat lists (customdata for the line's own, text for P(A)): Plotly checks every element of a nested
    list on its own, which cost a third of the time of a redraw.
    """
    template = f"{look.named(line.name, line.hue)}  <b>{value}</b>"
    lists: dict[str, list[Any]] = {}
    columns = [column for column in line.hover if column.hovers and not column.empty]
    if len(columns) == 1 and not gaps and (values := columns[0].numbers) is not None and np.isfinite(values).all():
        lists["customdata"] = short_floats(values)
        template += f" · {columns[0].name} %{{customdata:{columns[0].d3_format}}}"
    elif columns:
        facts = [[f"{column.name} {text}" for text in column.texts()] for column in columns]
        lists["customdata"] = [" · ".join(row) for row in zip(*facts, strict=True)]
        template += " · %{customdata}"
    if success:
        lists["text"] = numbers.attack_probabilities(floats(line.y))
        template += " · P(A) %{text}"
    return template + "<extra></extra>", lists


def _about(words: str) -> Trace:
    """What a pointer that rests on the trace is told."""
    return {"meta": {"about": words}} if words else {}


def line_traces(line: Line, plane: Plane, *, success: bool, share: bool = False) -> list[Trace]:
    """A line as traces: one where it is whole; else what is drawn and what the hover reads are apart. A `share` is
    written in percent.

    Plotly's unified hover takes each trace's nearest point, however far: a line with a gap would show a value that was
    true elsewhere, and a line of two traces (solid, then dotted) would show twice. So such a line gets one unseen trace
    over the whole x range, with "–" where there is nothing.
    """
    shown = line.seen(plane.y.log)
    x, y = floats(line.x), floats(line.y)
    xs, ys = short_floats(x), short_floats(np.where(shown, y, np.nan))
    # Plotly would leave out points within two pixels of a chord: corners show in what is smooth.
    stroke = {"color": line.hue, "width": line.width, "dash": line.dash, "simplify": False} | (
        {"shape": STAIRS[line.stairs]} if line.stairs else {}
    )
    common: Trace = {"name": line.name, "opacity": 0.55 if line.faded else 1, **_about(line.about)}
    whole = bool(shown.all()) and len(x) > 1 and x[0] <= plane.x.low and x[-1] >= plane.x.high
    if whole and line.dotted_from is None and line.dotted_until is None:
        value = f"%{{y:{number_format(y)}}}"
        template, lists = hover_of(line, "%{y:.1%}" if share else value, success)
        return [*_bars(line, common), scatter(xs, ys, line=stroke, hovertemplate=template) | common | lists]
    start = 0 if line.dotted_until is None else int(np.searchsorted(x, line.dotted_until, side="right"))
    turn = len(xs) if line.dotted_from is None else max(int(np.searchsorted(x, line.dotted_from)), start)
    parts = ((slice(0, start + 1), "dot"), (slice(start, turn), line.dash), (slice(max(turn - 1, 0), None), "dot"))
    chosen = [part for part, there in zip(parts, (start > 0, start < turn, turn < len(xs)), strict=True) if there]
    traces = [scatter(xs[p], ys[p], line=stroke | {"dash": dash}) | common | QUIET for p, dash in chosen]
    alone = np.flatnonzero(shown & ~np.r_[False, shown[:-1]] & ~np.r_[shown[1:], False]).tolist()
    if alone:
        # Points without a neighbour, as ε after one step: no line would show them.
        marker = {"color": line.hue, "size": 5}
        dots = scatter([xs[i] for i in alone], [ys[i] for i in alone], "markers", marker=marker)
        traces.append(dots | common | QUIET)
    return [*_bars(line, common), *traces, _hover_trace(line, x, y, shown, success, plane.x, share)]


def _bars(line: Line, common: Trace) -> list[Trace]:
    """Error bars from the lowest to the highest of what the line is the mean of; one where they can be told apart."""
    if line.spread is None:
        return []
    x, y, low, high = (floats(v) for v in (line.x, line.y, *line.spread))
    some = thinned(len(x), MOST_BARS)
    error = {"type": "data", "symmetric": False, "array": short_floats((high - y)[some])}
    error |= {"arrayminus": short_floats((y - low)[some]), "color": line.hue, "thickness": 1.2, "width": 4}
    marker = {"color": line.hue, "size": 4}
    points = scatter(short_floats(x[some]), short_floats(y[some]), "markers", marker=marker, error_y=error)
    return [points | common | QUIET]


def _hover_trace(
    line: Line, x: Array, y: Array, shown: npt.NDArray[np.bool_], success: bool, scale: AxisScale, share: bool
) -> Trace:
    """An unseen trace over the whole x range that the hover reads; where nothing is drawn it sits on a neighbour."""
    template, lists = hover_of(line, "%{hovertext}", success, gaps=True)
    lists["hovertext"] = [(numbers.tenths if share else numbers.epsilon)(v) for v in y.tolist()]
    nearest = np.maximum.accumulate(np.where(shown, np.arange(len(y)), int(np.argmax(shown))))
    lists |= {"x": short_floats(x, 9), "y": short_floats(y[nearest])}
    for end, beyond, at in ((scale.low, x[0] > scale.low, 0), (scale.high, x[-1] < scale.high, -1)):
        if beyond:
            # Two points without a value: one right beside the line's end, one at the edge of the chart.
            new = sorted([float(x[at] + (end - x[at]) * 1e-3), float(end)])
            for key, values in lists.items():
                more = new if key == "x" else [values[at] if key == "y" else "–"] * 2
                lists[key] = more + values if at == 0 else values + more
    seen = {"line": {"width": 0, "color": line.hue}, "opacity": 0, "name": line.name, "hovertemplate": template}
    return scatter(lists.pop("x"), lists.pop("y")) | seen | lists


def band_traces(band: Band, *, log_y: bool) -> list[Trace]:
    """A pale area between two curves, with edges that show also where it is thinner than a pixel."""
    x, lower, upper = (floats(v) for v in (band.x, band.lower, band.upper))
    good = np.isfinite(lower) & np.isfinite(upper) & ((lower > 0) | (not log_y))
    if not good.any():
        return []
    xs, low, high = (short_floats(v[good]) for v in (x, lower, upper))
    ground, edge = (look.rgba(look.style(band.family).color, opacity) for opacity in (look.BAND, look.EDGE))
    form = number_format(upper[good])
    common = {"name": band.name, "line": {"color": edge, "width": 3}, **_about(band.about)}
    # A closed shape, not "tonexty": that fill would turn the order of the hover's rows round.
    area = scatter(xs + xs[::-1], high + low[::-1], fill="toself", fillcolor=ground) | common | QUIET
    if len(xs) == 1:  # as ε after one step: neither area nor edge would show it
        area |= {"mode": "lines+markers", "marker": {"color": edge, "size": 6}}
    hover = f"{band.name}  %{{customdata:{form}}} – <b>%{{y:{form}}}</b><extra></extra>"
    return [area, scatter(xs, high, opacity=0, customdata=low, hovertemplate=hover) | common]


def reference_trace(reference: Reference) -> Trace:
    """A curve that is no result."""
    stroke = {"color": look.rgba(look.QUIET, 0.8), "width": 1.25, "dash": "dot"}
    return scatter(short_floats(reference.x), short_floats(reference.y), line=stroke, name="reference") | QUIET


def point_traces(points: Sequence[Point]) -> list[Trace]:
    """Published values as diamonds with a ring; what was printed is in an unseen word on each (`names.hover_note`)."""
    if not points:
        return []
    colors = [look.style(point.family).color for point in points]
    ring = {"color": "rgba(255,255,255,0.9)", "width": 1.5}
    marker = {"symbol": "diamond", "size": 10, "color": colors, "line": ring}
    x, y = short_floats([point.x for point in points]), short_floats([point.y for point in points])
    return [scatter(x, y, "markers", marker=marker, hoverinfo="skip", name="published", cliponaxis=False)]


def scatter_trace(dots: Scatter) -> Trace:
    symbol = "circle-open" if dots.hollow else "circle"
    marker = {"size": dots.size, "color": dots.color, "opacity": 0.75, "symbol": symbol}
    return scatter(short_floats(dots.x), short_floats(dots.y), "markers", marker=marker, name=dots.name) | QUIET


def ring_trace(ring: Ring) -> Trace:
    marker = {"symbol": "circle", "size": 10, "color": "rgba(255,255,255,0.85)"}
    marker |= {"line": {"color": ring.color, "width": 2.5}}
    trace = scatter([ring.x], [ring.y], "markers", marker=marker, cliponaxis=False, name="ring") | QUIET
    if ring.low is not None and ring.high is not None:
        above, below = max(ring.high - ring.y, 0.0), max(ring.y - ring.low, 0.0)
        trace["error_y"] = {"array": [above], "arrayminus": [below], "color": ring.color, "thickness": 2, "width": 5}
    return trace


def region_trace(region: Region, plane: Plane) -> Trace | None:
    """A hatched rectangle over the y range, clipped to the x range; None where nothing of it shows."""
    start, stop = max(region.start, plane.x.low), min(region.stop, plane.x.high)
    if not start < stop:
        return None
    pattern = {"shape": "/", "fgcolor": look.HATCH, "bgcolor": "rgba(0,0,0,0)", "size": 9, "solidity": 0.1}
    fill = {"fill": "toself", "fillcolor": "rgba(128,128,128,0.05)", "fillpattern": pattern, "line": {"width": 0}}
    return scatter([start, start, stop, stop], [plane.y.low, plane.y.high, plane.y.high, plane.y.low]) | fill | QUIET


def clipped(area: Area, plane: Plane) -> tuple[Array, Array, Array]:
    """x, lower and upper as shares of the plot on a fine grid, lower = upper = 0 where there is nothing."""
    at, low, high = plane.x.shares(area.x), plane.y.shares(area.lower), plane.y.shares(area.upper)
    # Far outside any number will do, but an infinite one cannot be interpolated.
    low, high = (np.clip(v, -50.0, 50.0) for v in (low, high))
    x = np.linspace(max(at[0], 0.0), min(at[-1], 1.0), _FINE)
    low, high = (np.clip(np.interp(x, at, v), 0.0, 1.0) for v in (low, high))
    empty = ~(high > low)
    return x, np.where(empty, 0.0, low), np.where(empty, 0.0, high)


def area_traces(area: Area, plane: Plane) -> list[Trace]:
    """An area, clipped to what the axes show, in as many parts as it has."""
    x, low, high = clipped(area, plane)
    within = np.flatnonzero(high > low)
    parts = np.split(within, np.flatnonzero(np.diff(within) > 1) + 1)
    look_of = {"line": {"width": 0}, "fill": "toself", "fillcolor": look.rgba(area.color, area.opacity)}
    fills = []
    for part in (part for part in parts if part.size > 1):
        xs, bottom, top = plane.x.data(x[part]), plane.y.data(low[part]), plane.y.data(high[part])
        ring = short_floats(np.concatenate([xs, xs[::-1]])), short_floats(np.concatenate([top, bottom[::-1]]))
        fills.append(scatter(*ring, name=area.name or "area") | look_of | QUIET)
    return fills
