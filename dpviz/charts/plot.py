"""One plot as a value: axes and marks, from which the figure, the table, the file of all points and a text follow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np

from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts import labels, look, names, traces
from dpviz.charts.axes import BOTTOM, FORMATS, Span, axis, bottom_axis, x_span, y_span
from dpviz.charts.marks import Area, Array, Band, Column, Floor, Guide, Line, Point, Region, Ring, floats
from dpviz.charts.plane import TOP, Plane
from dpviz.fields import numbers

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 430
ROWS = 12


class Chart(NamedTuple):
    """A Plotly figure as a plain dict, and what could not be drawn on it, in words for a note below."""

    figure: dict[str, Any]
    notes: tuple[str, ...]


@runtime_checkable
class Plot(Protocol):
    """What every kind of plot can do."""

    def chart(self, height: int = HEIGHT) -> Chart:
        """The Plotly figure, and what could not be drawn, in words."""

    def table(self) -> pd.DataFrame:
        """Marked rows for the eye, every value written."""

    def data(self) -> pd.DataFrame:
        """All points as numbers."""

    @property
    def alt(self) -> str:
        """The plot in a sentence, for those who do not see it."""

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same plot with what is kept of other plots of its kind, faded and named."""


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        title: with its unit.
        name: short, for the table and the sentence; the title where empty.
        column: in files; the name where empty.
        log: logarithmic.
        kind: how ticks are written: "plain", "steps" or "delta".
        shown: what the axis shows, in data units, perhaps from all lines, pinned ones too; None for what they suggest.
        hover: head of the hover, a Plotly template of x ("%{x:,d} steps"); of the x axis alone.
        write: a value in the table.
        marks: x of the table's rows; None for a dozen along the axis.
        lowest: what the lowest curve is called in the sentence: "best" where lower is better, else "lowest".
        reading: "attack" on a y axis of ε adds P(A) = 1/(1 + e^−ε), the accuracy of a guess of membership that ε alone
            allows (Triastcyn & Faltings 2020, Eq. 1), at the lines' ends and in the hover.
    """

    title: str
    name: str = ""
    column: str = ""
    log: bool = False
    kind: str = "plain"
    shown: Span | Callable[[Sequence[Line]], Span | None] | None = None
    hover: str = "%{x:,.6~r}"
    write: Callable[[float], str] = numbers.plain
    marks: tuple[float, ...] | None = None
    lowest: str = "lowest"
    reading: Literal["attack"] | None = None

    @property
    def short_name(self) -> str:
        return self.name or self.title

    @property
    def filed(self) -> str:
        return self.column or self.short_name

    def span(self, lines: Sequence[Line]) -> Span | None:
        """What the axis is to show of these lines; ValueError where it cannot."""
        span = self.shown(lines) if callable(self.shown) else self.shown
        if span is not None and not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
            raise ValueError(
                f"Expected the axis of {self.title} over two finite numbers, the first one smaller: {span}."
            )
        if span is not None and self.log and span[0] <= 0:
            raise ValueError(f"Expected the log axis of {self.title} to start above 0: {span}.")
        return span


@dataclass(frozen=True, eq=False)
class LinePlot:
    """Curves on one pair of axes, with all that may stand around them.

    Attributes:
        x, y: the axes.
        lines: the curves; `Line.kept` says which stay when the plot is pinned. Those that cannot be drawn at all are
            named in the chart's notes.
        bands, points, floors, regions, rings, guides, areas: see `dpviz.charts.marks`.
        end_values: write each line's last value behind its name.
        names_on_lines: names stand on the lines, where most room is, and not at their ends: for lines that leave
            through the top.
        more: further columns of the file, by name, along the first line's x.
        columns: further facts about each x of the first line, in the table and the file.
        summary: added to the sentence for those who do not see the plot; all of it where there are areas.
    """

    x: Axis
    y: Axis
    lines: tuple[Line, ...]
    bands: tuple[Band, ...] = ()
    points: tuple[Point, ...] = ()
    floors: tuple[Floor, ...] = ()
    regions: tuple[Region, ...] = ()
    rings: tuple[Ring, ...] = ()
    guides: tuple[Guide, ...] = ()
    areas: tuple[Area, ...] = ()
    end_values: bool = True
    names_on_lines: bool = False
    more: tuple[tuple[str, Array], ...] = ()
    columns: tuple[Column, ...] = ()
    summary: str = ""

    def plane(self, height: int = HEIGHT) -> Plane:
        """What the axes show, on a figure of this height."""
        xs = [*(floats(line.x) for line in self.lines), *(floats(band.x) for band in self.bands)]
        x = self.x.span(self.lines) or x_span(xs, self.x.log)
        # A band lies below the curves: it shows where they do, and sets the range only where there are none.
        ys = [floats(y) for line in self.lines for y in (line.y, *(line.spread or ()))]
        curves = [y for y in ys if np.isfinite(y).any()] or [floats(band.upper) for band in self.bands]
        return Plane(x, self.y.span(self.lines) or y_span(curves, self.y.log), self.x.log, self.y.log, height)

    def chart(self, height: int = HEIGHT) -> Chart:
        plane = self.plane(height)
        drawn = [line for line in self.lines if line.seen(plane.log_y).any()]
        points = [point for point in self.points if plane.shows(point.x, point.y)]
        rings = [ring for ring in self.rings if plane.shows(ring.x, ring.y)]
        data = self._traces(plane, drawn, points)
        named = [replace(line, end="") for line in drawn] if self.names_on_lines else drawn
        success = self.y.reading == "attack"
        ends, room, meta = names.end_names(named, self.bands, plane, end_values=self.end_values, success=success)
        y_axis = axis(span=plane.y, log=plane.log_y, kind=self.y.kind, most=max(3, plane.inner // 30))
        left = int(max(labels.text_width(text, look.SMALL_SIZE + 1) for text in [*y_axis["ticktext"], "00"])) + 14
        x_axis = bottom_axis(self.x.title, span=plane.x, log=plane.log_x, kind=self.x.kind)
        words = [
            *ends,
            labels.title(self.y.title, left),
            *names.floor_names(self.floors, plane),
            *names.region_names(self.regions, plane),
            *(names.hover_note(one.x, one.y, f"printed: <b>{one.printed}</b>", plane) for one in points),
            *names.area_names(self.areas, plane),
        ]
        if self.names_on_lines:
            words += names.names_on_lines(self.lines, plane, words, self.rings)
        lines, guides, beyond = names.guide_marks(self.guides, plane, data)
        words += guides + [names.hover_note(ring.x, ring.y, ring.hover, plane) for ring in rings]
        layout = look.base_layout(height, {"l": left, "r": room, "t": TOP, "b": BOTTOM}) | {
            "hovermode": "x unified",
            "hoversort": "value descending",
            "hoverdistance": -1,
            "xaxis": x_axis | {"unifiedhovertitle": {"text": f"<b>{self.x.hover}</b>"}, "showspikes": False},
            "yaxis": y_axis,
            "annotations": words + names.ring_names(rings, plane),
            "shapes": names.floor_lines(self.floors, plane) + lines,
            "meta": {"ends": meta},
        }
        fills = [trace for area in self.areas for trace in traces.area_traces(area, plane)]
        data = fills + data + [traces.ring_trace(ring) for ring in rings]
        absent = [line for line in self.lines if line not in drawn and not line.explained]
        notes = [f"{line.name} has no value to draw here." for line in absent]
        notes += [f"Printed value outside the chart: {one.printed}." for one in self.points if one not in points]
        return Chart({"data": data, "layout": layout}, (*notes, *beyond))

    def _traces(self, plane: Plane, drawn: Sequence[Line], points: Sequence[Point]) -> list[traces.Trace]:
        """Of regions, bands, lines and points, in their order: what lies below comes first."""
        data = [trace for region in self.regions if (trace := traces.region_trace(region, plane))]
        data += [trace for band in self.bands for trace in traces.band_traces(band, log_y=plane.log_y)]
        for line in sorted(drawn, key=lambda line: not line.faded):
            data += traces.line_traces(line, plane, success=self.y.reading == "attack")
        data += traces.point_traces(points)
        return data or [traces.unseen(plane.x[0], plane.y[0])]

    @property
    def alt(self) -> str:
        if self.areas:
            return self.summary
        sentence = alt_text(
            self.lines, x_name=self.x.short_name, y_name=self.y.short_name, x_kind=self.x.kind, lower=self.y.lowest
        )
        return f"{sentence} {self.summary}".strip()

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        plots = [(name, other) for name, other in pinned if isinstance(other, LinePlot)]
        lines = tuple(
            replace(line, key=f"{name}.{line.key}", name=f"{name}: {line.name}", faded=True)
            for name, other in plots
            for line in other.lines
            if line.kept and not line.faded
        )
        rings = tuple(
            replace(ring, text=f"{name}: {ring.text}", name="", kept=False, color=look.GREY)
            for name, other in plots
            for ring in other.rings
            if ring.kept
        )
        return replace(self, lines=self.lines + lines, rings=rings + self.rings)

    def table(self) -> pd.DataFrame:
        import pandas as pd

        drawn = [line for line in self.lines if not line.faded]
        places = [line.x for line in drawn] or [band.x for band in self.bands]
        rows = _rows(np.unique(np.concatenate([floats(place) for place in places] or [np.zeros(0)])), self.x)
        columns: dict[str, list[str]] = {self.x.short_name: [self.x.write(v) for v in rows]}
        for line in drawn:
            at = _at(line, rows)
            name = line.name if line.label is None else line.label
            columns[f"{self.y.short_name} {name}"] = [_written(line, self.y, i) for i in at]
            for column in line.hover:
                columns[f"{column.name} {name}"] = [_fact(column, i) for i in at]
        for band in self.bands:
            columns[f"{self.y.short_name} {band.name}"] = [_interval(band, i, self.y) for i in _at(band, rows)]
        for column in self.columns:
            columns[column.name] = [_fact(column, i) for i in _at(drawn[0], rows)]
        return pd.DataFrame(columns)

    def data(self) -> pd.DataFrame:
        import pandas as pd

        drawn = [line for line in self.lines if not line.faded]
        places = [*(line.x for line in drawn), *(band.x for band in self.bands)]
        x = np.unique(np.concatenate([floats(place) for place in places] or [np.zeros(0)]))
        columns: dict[str, Array] = {self.x.filed: x}
        for line in drawn:
            columns[f"{self.y.filed}_{line.key}"] = _along(x, line.x, line.y)
            for column in line.hover:
                if column.write is None and (values := np.asarray(column.values)).dtype.kind == "f":
                    columns[f"{column.filed}_{line.key}"] = _along(x, line.x, values)
        for band in self.bands:
            for side, ends in (("lower", band.lower), ("upper", band.upper)):
                columns[f"{self.y.filed}_{band.filed}_{side}"] = _along(x, band.x, ends)
        for name, values in self.more:
            columns[name] = _along(x, drawn[0].x, values)
        for column in self.columns:
            columns[column.filed] = _along(x, drawn[0].x, column.values)
        return pd.DataFrame(columns)


def _rows(x: Array, axis: Axis) -> Array:
    """The points of x nearest to the marks."""
    if not x.size:
        return x
    if axis.marks is not None:
        marks = floats(axis.marks)
    elif axis.log and x[0] > 0:
        marks = np.geomspace(x[0], x[-1], ROWS)
    else:
        marks = np.linspace(x[0], x[-1], ROWS)
    return np.unique(x[[_nearest(x, mark) for mark in marks]])


def _nearest(x: Array, value: float) -> int:
    return int(np.abs(x - value).argmin())


def _at(mark: Line | Band, rows: Array) -> list[int]:
    """Where the line or band has these x; −1 where it has not: another x has other values."""
    x = floats(mark.x)
    return [i if x[i := _nearest(x, v)] == v else -1 for v in rows]


def _written(line: Line, axis: Axis, i: int) -> str:
    if i < 0 or np.isnan(value := float(line.y[i])):
        return "–"
    return (line.write or axis.write)(value)


def _fact(column: Column, i: int) -> str:
    if i < 0:
        return "–"
    value = column.values[i]
    if isinstance(value, str):
        return value
    return numbers.plain(float(value), digits=4) if column.write is None else column.write(float(value))


def _interval(band: Band, i: int, axis: Axis) -> str:
    if i < 0:
        return "–"
    low, high = float(floats(band.lower)[i]), float(floats(band.upper)[i])
    return "–" if np.isnan(low) or np.isnan(high) else f"{numbers.plain(low, digits=4)} – {axis.write(high)}"


def _along(x: Array, own: Any, values: Any) -> Array:
    """`values`, given along `own`, along x; NaN where there are none."""
    column = np.full(x.shape, np.nan)
    column[np.searchsorted(x, floats(own))] = floats(values)
    return column


def alt_text(
    lines: Sequence[Line], *, x_name: str, y_name: str = "ε", x_kind: str = "plain", lower: str = "best"
) -> str:
    """The takeaway of a line chart: the lowest and the highest curve at its right end, and how the lowest grew.

    Args:
        lines: the curves of the chart; pinned (faded) ones are only counted; approximations and Bayesian DP are never
            called the best while there is a bound.
        x_name, y_name: what the axes show, short ("steps T", "ε").
        x_kind: how x is written: "plain", "steps" or "delta".
        lower: what to call the lowest curve: "best" where lower is a better bound, else "lowest".
    """
    ends = [(line, *end) for line in lines if not line.faded and (end := _ends(line))]
    pinned = sum(line.faded for line in lines)
    if not ends:
        return f"{y_name} against {x_name}: no curve has a value here."
    far = max(last for _, _, last, _, _ in ends)
    here = [e for e in ends if e[2] == far]
    # Bayesian DP promises less than DP does, and an approximation promises nothing: neither is called the best bound.
    proper = [e for e in here if not e[0].approximate and e[0].family != bayesian.NAME]
    bounds = proper or here
    line, first, last, y_first, y_last = min(bounds, key=lambda e: e[4])
    write = FORMATS[x_kind]
    sentence = f"{y_name} against {x_name} from {write(first)} to {write(last)}: {line.name} is {lower} and"
    sentence += f" goes from {numbers.epsilon(y_first)} to {numbers.epsilon(y_last)}"
    top = max(here, key=lambda e: e[4])
    if top[0] is not line:
        sentence += f"; {top[0].name} ends highest at {numbers.epsilon(top[4])}"
    for other, _, _, _, y_other in here:
        if other.family == bayesian.NAME and other not in (line, top[0]):
            sentence += f"; {other.name} (a weaker promise) ends at {numbers.epsilon(y_other)}"
    if len(ends) > 2:
        sentence += f"; {len(ends)} curves"
    if pinned:
        sentence += f", {pinned} pinned beside {'it' if len(ends) == 1 else 'them'}"
    return sentence + "."


def _ends(line: Line) -> tuple[float, float, float, float] | None:
    """First x, last x, and their y, of what can be drawn."""
    seen = np.flatnonzero(line.seen(log_y=False))
    if not seen.size:
        return None
    x, y = floats(line.x), floats(line.y)
    return float(x[seen[0]]), float(x[seen[-1]]), float(y[seen[0]]), float(y[seen[-1]])
