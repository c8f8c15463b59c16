"""One plot as a value: axes and marks, from which the figure, the table, the file of all points and a text follow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

import numpy as np

from dpviz.charts.alt import alt_text
from dpviz.charts.areas import with_names_on_lines
from dpviz.charts.guides import Guide, with_guides
from dpviz.charts.lines import Chart, Span, line_figure
from dpviz.charts.marks import Array, Band, Column, Floor, Line, Point, Region
from dpviz.charts.rings import Ring, with_rings
from dpviz.fields import numbers

if TYPE_CHECKING:
    import pandas as pd

HEIGHT = 430
ROWS = 12


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
        reading: "attack" on a y axis of ε adds the accuracy of a guess that ε alone allows, at the lines' ends.
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
    reading: str | None = None

    @property
    def said(self) -> str:
        return self.name or self.title

    @property
    def filed(self) -> str:
        return self.column or self.said

    def span(self, lines: Sequence[Line]) -> Span | None:
        """What the axis shows of these lines."""
        return self.shown(lines) if callable(self.shown) else self.shown


@dataclass(frozen=True, eq=False)
class LinePlot:
    """Curves on one pair of axes, with all that may stand around them.

    Attributes:
        x, y: the axes.
        lines: the curves; `Line.kept` says which stay when the plot is pinned.
        bands, points, floors, regions, rings: see `dpviz.charts.marks` and `rings`.
        guides: levels and places, see `dpviz.charts.guides`.
        end_values: write each line's last value behind its name.
        names_on_lines: names stand on the lines, where most room is, and not at their ends: for lines that leave
            through the top.
        more: further columns of the file, by name, along the first line's x.
        columns: further facts about each x of the first line, in the table and the file.
        said: added to the sentence for those who do not see the plot.
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
    end_values: bool = True
    names_on_lines: bool = False
    more: tuple[tuple[str, Array], ...] = ()
    columns: tuple[Column, ...] = ()
    said: str = ""

    def chart(self, height: int = HEIGHT) -> Chart:
        built = line_figure(
            [replace(line, end="") for line in self.lines] if self.names_on_lines else self.lines,
            x_title=self.x.title,
            y_title=self.y.title,
            log_x=self.x.log,
            log_y=self.y.log,
            x_kind=self.x.kind,
            y_kind=self.y.kind,
            x_hover=self.x.hover,
            bands=self.bands,
            points=self.points,
            floors=self.floors,
            regions=self.regions,
            second_reading=self.y.reading,
            x_range=self.x.span(self.lines),
            y_range=self.y.span(self.lines),
            end_values=self.end_values,
            height=height,
        )
        if self.names_on_lines:
            built = with_names_on_lines(built, self.lines, avoid=[(ring.x, ring.y) for ring in self.rings])
        return with_rings(with_guides(built, *self.guides) if self.guides else built, self.rings)

    @property
    def alt(self) -> str:
        told = alt_text(self.lines, x_name=self.x.said, y_name=self.y.said, x_kind=self.x.kind, lower=self.y.lowest)
        return f"{told} {self.said}".strip()

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(line, key=f"{name}.{line.key}", name=f"{name}: {line.name}", faded=True)
            for name, other in pinned
            if isinstance(other, LinePlot)
            for line in other.lines
            if line.kept and not line.faded
        )
        return replace(self, lines=self.lines + kept)

    def table(self) -> pd.DataFrame:
        import pandas as pd

        drawn = [line for line in self.lines if not line.faded]
        places = [line.x for line in drawn] or [band.x for band in self.bands]
        rows = _rows(np.unique(np.concatenate([_array(place) for place in places] or [np.zeros(0)])), self.x)
        columns: dict[str, list[str]] = {self.x.said: [self.x.write(v) for v in rows]}
        for line in drawn:
            at = _at(line, rows)
            name = line.name if line.label is None else line.label
            columns[f"{self.y.said} {name}"] = [_written(line, self.y, i) for i in at]
            for column in line.hover:
                columns[f"{column.name} {name}"] = [_fact(column, i) for i in at]
        for band in self.bands:
            columns[f"{self.y.said} {band.name}"] = [_interval(band, i, self.y) for i in _at(band, rows)]
        for column in self.columns:
            columns[column.name] = [_fact(column, i) for i in _at(drawn[0], rows)]
        return pd.DataFrame(columns)

    def data(self) -> pd.DataFrame:
        import pandas as pd

        drawn = [line for line in self.lines if not line.faded]
        places = [*(line.x for line in drawn), *(band.x for band in self.bands)]
        x = np.unique(np.concatenate([_array(place) for place in places] or [np.zeros(0)]))
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


def _array(values: Any) -> Array:
    return np.asarray(values, dtype=np.float64)


def _rows(x: Array, axis: Axis) -> Array:
    """The points of x nearest to the marks."""
    if not x.size:
        return x
    if axis.marks is not None:
        marks = _array(axis.marks)
    elif axis.log and x[0] > 0:
        marks = np.geomspace(x[0], x[-1], ROWS)
    else:
        marks = np.linspace(x[0], x[-1], ROWS)
    return np.unique(x[[_nearest(x, mark) for mark in marks]])


def _nearest(x: Array, value: float) -> int:
    return int(np.abs(x - value).argmin())


def _at(mark: Line | Band, rows: Array) -> list[int]:
    """Where the line or band has these x; −1 where it has not: another x has other values."""
    x = _array(mark.x)
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
    low, high = float(_array(band.lower)[i]), float(_array(band.upper)[i])
    return "–" if np.isnan(low) or np.isnan(high) else f"{numbers.plain(low, digits=4)} – {axis.write(high)}"


def _along(x: Array, own: Any, values: Any) -> Array:
    """`values`, given along `own`, along x; NaN where there are none."""
    found = np.full(x.shape, np.nan)
    found[np.searchsorted(x, _array(own))] = _array(values)
    return found
