"""One plot as a value: axes and marks, from which the figure, the table, the file of all points and a text follow."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

import numpy as np
import pandas as pd

from dpviz._arrays import Array
from dpviz.accounting.bayesian import accountant as bayesian
from dpviz.charts import labels, look, names, traces
from dpviz.charts.axes import BOTTOM, FORMATS, TOP, AxisScale, Plane, Span, axis, bottom_axis, x_span, y_span
from dpviz.charts.marks import (
    Area,
    Band,
    Column,
    Floor,
    Guide,
    Line,
    Numbers,
    Point,
    Reference,
    Region,
    Ring,
    Scatter,
    floats,
    grips,
)
from dpviz.fields import numbers

V = TypeVar("V")
HEIGHT = 430
PRINTED = " · ◆ printed in a paper"  # behind the title of a chart with such points
ROWS = 12


class Chart(NamedTuple):
    """A Plotly figure as a plain dict, and what could not be drawn on it, in words for a note below."""

    figure: look.PlotlyDict
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

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same plot with what is kept of other plots of its kind, faded and named."""


@dataclass(frozen=True)
class Axis:
    """One axis.

    Attributes:
        title: with its unit.
        name: short, for the table and the sentence; the title where empty.
        column: in files; the name where empty.
        log: logarithmic.
        kind: how ticks are written: "plain", "share" (0.4 as 40 %; on the y axis values too), "steps" or "delta".
        shown: what the axis shows, in data units, perhaps from all lines, pinned ones too; None for what they suggest.
        hover: head of the hover, a Plotly template of x ("%{x:,d} steps"); of the x axis alone.
        write: a value in the table.
        marks: x of the table's rows; None for a dozen along the axis.
        lowest: what the lowest curve is called in the sentence: "best" where lower is better, else "lowest".
        reading: "attack" on a y axis of ε adds P(A) = 1/(1 + e^−ε), the accuracy of a guess of membership that ε alone
            allows (Triastcyn & Faltings 2020, Eq. 1), in the hover.
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
    def writes(self) -> Callable[[float], str]:
        """How the chart writes a value: a share to the nearest tenth of a percent, else rounded up, as a bound is."""
        return numbers.tenths if self.kind == "share" else partial(numbers.epsilon, up=True)

    def compares(self, value: float) -> str:
        """A value beside a printed one: a digit more, and an ε rounded up."""
        return (
            numbers.tenths(value) if self.kind == "share" else numbers.epsilon(value, digits=4, up=bool(self.reading))
        )

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
        bands, points, floors, regions, rings, dots, guides, references, areas: see `dpviz.charts.marks`.
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
    dots: tuple[Scatter, ...] = ()
    guides: tuple[Guide, ...] = ()
    references: tuple[Reference, ...] = ()
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
        y = self.y.span(self.lines) or y_span(curves, self.y.log)
        return Plane(AxisScale(*x, self.x.log), AxisScale(*y, self.y.log), height)

    def chart(self, height: int = HEIGHT) -> Chart:
        plane = self.plane(height)
        curves = [line for line in self.lines if line.seen(plane.y.log).any()]
        points = [point for point in self.points if plane.shows(point.x, point.y)]
        rings = [ring for ring in self.rings if plane.shows(ring.x, ring.y)]
        data = self._traces(plane, curves, points)
        ends, room, meta = self._end_names(plane, curves)
        y_axis = axis(plane.y, kind=self.y.kind, most=plane.most)
        left = int(max(labels.text_width(text, look.SMALL_SIZE + 1) for text in [*y_axis["ticktext"], "00"])) + 14
        floors, floor_names = names.floor_lines(self.floors, curves, meta, plane, share=self.y.kind == "share")
        words = [
            *ends,
            labels.title(self.y.title + PRINTED * bool(points), left),
            *floor_names,
            *names.region_names(self.regions, plane),
            *(names.hover_note(one.x, one.y, f"printed: <b>{one.printed}</b>", plane) for one in points),
            *names.area_names(self.areas, plane),
            *names.reference_names(self.references, curves, self.bands, plane),
        ]
        if self.names_on_lines:
            words += names.names_on_lines(self.lines, plane, words, self.rings)
        lines, beyond = names.guide_lines(self.guides, plane)
        inside, on_phone = (self._inside(one, data, curves, rings, words) for one in (plane, plane.on_phone()))
        words += [names.hover_note(ring.x, ring.y, ring.hover, plane) for ring in rings]
        hover = {"unifiedhovertitle": {"text": f"<b>{self.x.hover}</b>"}, "showspikes": False}
        layout = look.base_layout(height, {"l": left, "r": room, "t": TOP, "b": BOTTOM}) | {
            "hovermode": "x unified",
            "hoversort": "value descending",
            "hoverdistance": -1,
            "xaxis": bottom_axis(self.x.title, plane.x, kind=self.x.kind) | hover,
            "yaxis": y_axis,
            "annotations": words + inside,
            "shapes": floors + lines,
            "meta": {"ends": meta} | ({"phone": on_phone} if on_phone else {}) | self._grips(),
        }
        fills = [trace for area in self.areas for trace in traces.area_traces(area, plane)]
        data = fills + data + [traces.ring_trace(ring) for ring in rings]
        return Chart({"data": data, "layout": layout}, (*self._absent(curves, points), *beyond))

    def _inside(
        self,
        plane: Plane,
        data: Sequence[traces.Trace],
        curves: Sequence[Line],
        rings: Sequence[Ring],
        words: Sequence[names.Annotation],
    ) -> list[names.Annotation]:
        """The names of guides and rings, which find their places among what is `data` and `words` already.

        On a phone they find others, and names that lines carry stand below the plot.
        """
        kept = [
            note for note in words if plane.across is None or not str(note.get("name", "")).startswith(("end", "line "))
        ]
        guides = names.guide_names(self.guides, plane, data, kept, rings)
        return guides + names.ring_names(rings, curves, self.bands, self.guides, plane, kept + guides)

    def _grips(self) -> dict[str, list[look.PlotlyDict]]:
        """The marks that a hand can pull, for the browser; nothing where there are none."""
        built = [
            {"field": grip.field.key, "axis": grip.axis, "x": grip.x, "y": grip.y}
            for grip in grips(self.guides, self.rings)
        ]
        return {"grips": built} if built else {}

    def _traces(self, plane: Plane, curves: Sequence[Line], points: Sequence[Point]) -> list[traces.Trace]:
        """Regions, bands, lines and printed points, from the back to the front."""
        data = [trace for region in self.regions if (trace := traces.region_trace(region, plane))]
        data += [traces.reference_trace(reference) for reference in self.references]
        data += [traces.scatter_trace(dots) for dots in self.dots]
        data += [trace for band in self.bands for trace in traces.band_traces(band, log_y=plane.y.log)]
        for line in sorted(curves, key=lambda line: not line.faded):
            data += traces.line_traces(line, plane, success=self.y.reading == "attack", share=self.y.kind == "share")
        return data + traces.point_traces(points) or [traces.unseen(plane.x.low, plane.y.low)]

    def _end_names(
        self, plane: Plane, curves: Sequence[Line]
    ) -> tuple[list[names.Annotation], int, list[look.PlotlyDict]]:
        """The names at lines' ends; see `names.end_names`."""
        named = [replace(line, end="") for line in curves] if self.names_on_lines else curves
        writes = self.y.writes if self.end_values else None
        return names.end_names(named, self.bands, plane, writes=writes)

    def compared(self, points: Sequence[Point]) -> str:
        """What was printed beside the curves of the same families: "Printed 2.55 (moments) · here 2.576, because …"."""
        each = []
        for point in points:
            here = [line for line in self.lines if line.family == point.family and not line.faded]
            value = here[0].at(point.x) if here else math.nan
            if math.isfinite(value):
                why = f", {point.why}" * bool(point.why)
                each.append(f"{point.printed_value} · here {self.y.compares(value)}{why}")
        return f"Printed {'; '.join(each)}." if each else ""

    def _absent(self, curves: Sequence[Line], points: Sequence[Point]) -> Iterator[str]:
        """What is not drawn, and is not told elsewhere."""
        for line in self.lines:
            if line not in curves and not line.explained:
                yield f"{line.name} has no value to draw here."
        for point in self.points:
            if point not in points:
                yield f"Printed value outside the chart: {point.printed}."

    @property
    def alt(self) -> str:
        if self.areas:
            return self.summary
        sentence = alt_text(
            self.lines, x_name=self.x.short_name, y_name=self.y.short_name, x_kind=self.x.kind, lower=self.y.lowest
        )
        return f"{sentence} {self.summary}".strip()

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """What a pinned state changes: a curve or a ring that is here already is not repeated."""
        lines, rings = list(self.lines), list(self.rings)
        for name, other in pinned:
            if not isinstance(other, LinePlot):
                continue
            for line in other.lines:
                if line.kept and not line.faded and not any(_alike(line, there) for there in lines):
                    end = f"{name}: {line.end}" if line.end else line.end
                    lines.append(
                        replace(line, key=f"{name}.{line.key}", name=f"{name}: {line.name}", end=end, faded=True)
                    )
            for ring in other.rings:
                if ring.kept and (ring.x, ring.y) not in [(there.x, there.y) for there in rings]:
                    faded = replace(ring, text=f"{name}: {ring.text}", name="", kept=False, color=look.GREY)
                    rings.insert(0, replace(faded, sets=(None, None)))
        return replace(self, lines=tuple(lines), rings=tuple(rings))

    def table(self) -> pd.DataFrame:
        curves = [line for line in self.lines if not line.faded]
        rows = _rows(_union([line.x for line in curves] or [band.x for band in self.bands]), self.x)
        table = {self.x.short_name: [self.x.write(x) for x in rows.tolist()]}
        for line in curves:
            name = line.name if line.label is None else line.label
            values = Column(f"{self.y.short_name} {name}", line.y, write=line.write or self.y.write)
            for fact in (values, *(replace(fact, name=f"{fact.name} {name}") for fact in line.hover)):
                table[fact.name] = _along(rows, line.x, fact.texts(), "–")
        for band in self.bands:
            ends = zip(Column("", band.lower).texts(), Column("", band.upper, write=self.y.write).texts(), strict=True)
            texts = ["–" if "–" in pair else " – ".join(pair) for pair in ends]
            table[f"{self.y.short_name} {band.name}"] = _along(rows, band.x, texts, "–")
        for fact in self.columns:
            table[fact.name] = _along(rows, curves[0].x, fact.texts(), "–")
        return pd.DataFrame(table)

    def data(self) -> pd.DataFrame:
        curves = [line for line in self.lines if not line.faded]
        x = _union([*(line.x for line in curves), *(band.x for band in self.bands)])
        columns: list[tuple[str, Numbers, Any]] = []
        for line in curves:
            columns.append((f"{self.y.filed}_{line.key}", line.x, line.y))
            facts = [fact for fact in line.hover if fact.write is None and np.asarray(fact.values).dtype.kind == "f"]
            columns += [(f"{fact.filed}_{line.key}", line.x, fact.values) for fact in facts]
        for band in self.bands:
            for side, end in (("lower", band.lower), ("upper", band.upper)):
                columns.append((f"{self.y.filed}_{band.filed}_{side}", band.x, end))
        columns += [(name, curves[0].x, values) for name, values in self.more]
        columns += [(fact.filed, curves[0].x, fact.values) for fact in self.columns]
        along = {name: _along(x, own, floats(values).tolist(), math.nan) for name, own, values in columns}
        return pd.DataFrame({self.x.filed: x} | along, dtype=float)


def _alike(line: Line, other: Line) -> bool:
    """Whether two curves of one kind are the same where both have points; a frame has fewer."""
    x, y, other_x, other_y = (floats(v) for v in (line.x, line.y, other.x, other.y))
    both, own, others = np.intersect1d(x, other_x, return_indices=True)
    return (
        (line.family, line.approximate) == (other.family, other.approximate)
        and both.size > 1
        and max(x[-1], other_x[-1]) == both[-1]
        and np.array_equal(y[own], other_y[others], equal_nan=True)
    )


def _union(places: Sequence[Numbers]) -> Array:
    """All places once, increasing."""
    return np.unique(np.concatenate([np.zeros(0), *map(floats, places)]))


def _rows(x: Array, axis: Axis) -> Array:
    """The points of x nearest to the axis' marks, or to a dozen places along it."""
    if not x.size:
        return x
    if axis.marks is not None:
        marks = floats(axis.marks)
    else:
        marks = (np.geomspace if axis.log and x[0] > 0 else np.linspace)(x[0], x[-1], ROWS)
    return np.unique(x[np.abs(x - marks[:, None]).argmin(axis=1)])


def _along(x: Array, own: Numbers, values: Sequence[V], absent: V) -> list[V]:
    """What is given along places of its own, at `x`; another place has other values."""
    given = dict(zip(floats(own).tolist(), values, strict=True))
    return [given.get(place, absent) for place in x.tolist()]


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
    unfaded = [line for line in lines if not line.faded]
    seen = [(line, np.flatnonzero(line.seen(log_y=False))) for line in unfaded]
    ends = [(line, places[0], places[-1]) for line, places in seen if places.size]
    if not ends:
        return f"{y_name} against {x_name}: no curve has a value here."
    far = max(line.x[last] for line, _, last in ends)
    here = [(float(line.y[last]), line, first) for line, first, last in ends if line.x[last] == far]
    y_last, line, first = min(_bounds(here) or here, key=lambda end: end[0])
    left, right = (FORMATS[x_kind](float(x)) for x in (line.x[first], far))
    sentence = (
        f"{y_name} against {x_name} from {left} to {right}: {line.name} is {lower} and goes from "
        f"{_at_most(float(line.y[first]))} to {_at_most(y_last)}{_others(here, line)}"
    )
    if len(ends) > 2:
        sentence += f"; {len(ends)} curves"
    if pinned := len(lines) - len(unfaded):
        sentence += f", {pinned} pinned beside {'it' if len(ends) == 1 else 'them'}"
    return sentence + "."


RightEnd = tuple[float, Line, Any]  # the last y, the line, and the place of its first value


def _bounds(ends: Sequence[RightEnd]) -> list[RightEnd]:
    """Those that may be called the best bound.

    Bayesian DP promises less than DP does, and an approximation promises nothing.
    """
    return [end for end in ends if not end[1].approximate and end[1].family != bayesian.NAME]


def _others(ends: Sequence[RightEnd], lowest: Line) -> str:
    """Where the highest curve and Bayesian DP end, to continue a sentence."""
    y_top, top, _ = max(ends, key=lambda end: end[0])
    text = "" if top is lowest else f"; {top.name} ends highest at {_at_most(y_top)}"
    for y, line, _ in ends:
        if line.family == bayesian.NAME and line not in (lowest, top):
            text += f"; {line.name} ends at {_at_most(y)}"
    return text


def _at_most(y: float) -> str:
    """Rounded up, but for what floating point adds."""
    return numbers.epsilon(numbers.rounded_up(float(y) * (1.0 - numbers.FLOATING)))
