"""Panels of a figure: line plots on common axes side by side, on a phone below each other."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import pandas as pd

from dpviz.charts import look, names, traces
from dpviz.charts.axes import BOTTOM, TOP, axis, bottom_axis
from dpviz.charts.labels import small, text_width, title
from dpviz.charts.marks import Line
from dpviz.charts.plot import HEIGHT, Chart, LinePlot
from dpviz.fields import numbers

BETWEEN = 0.03  # of the width, from one panel to the next
BESIDE = 16  # pixels right of the last panel
ABOVE, HIGHER = 5, 25  # pixels above the panels: their own names, and the row with the names of axis and curves


class Panel(NamedTuple):
    """One plot, and the value in which it differs from the others."""

    value: float
    plot: LinePlot


@dataclass(frozen=True, eq=False)
class Panels:
    """Plots of the same quantities, whose lines alone are drawn. Each curve has its colour in all of them.

    Attributes:
        by: what differs from panel to panel ("quantile"): a panel's title is this and its value.
        panels: from left to right.
    """

    by: str
    panels: tuple[Panel, ...]

    def __post_init__(self) -> None:
        kinds = {(plot.x.title, plot.x.log, plot.y.title, plot.y.log) for _, plot in self.panels}
        if len(kinds) != 1:
            raise ValueError(f"Expected panels with axes of one kind, found {len(kinds)} kinds.")

    @property
    def common(self) -> LinePlot:
        """The lines of all panels on one pair of axes, which each panel has."""
        return replace(self.panels[0].plot, lines=tuple(line for _, plot in self.panels for line in plot.lines))

    def chart(self, height: int = HEIGHT) -> Chart:
        """The figure. Its axes are x2, y2, x3, …: x and y, which a hand moves, belong to charts of one plot."""
        common = self.common
        plane, x, y = common.plane(height), common.x, common.y
        up = axis(plane.y, kind=y.kind, most=plane.most)
        left = int(max(text_width(text, look.SMALL_SIZE + 1) for text in [*up["ticktext"], "00"])) + 14
        across = bottom_axis(x.title, plane.x, kind=x.kind, most=5)
        across |= {"unifiedhovertitle": {"text": f"<b>{x.hover}</b>"}, "showspikes": False}
        curves = list({line.key: line for line in common.lines}.values())
        layout: look.PlotlyDict = look.base_layout(height, {"l": left, "r": BESIDE, "t": TOP, "b": BOTTOM}) | {
            "hovermode": "x unified",
            "hoversort": "value descending",
            "hoverdistance": -1,
            "annotations": [title(y.title, left) | {"yshift": HIGHER}, _in_a_row(curves)],
            "shapes": [],
            "meta": {"panels": [{"line": line.name, "text": look.named(line.name, line.hue)} for line in curves]},
        }
        data: list[traces.Trace] = []
        width = (1.0 - BETWEEN * (len(self.panels) - 1)) / len(self.panels)
        for index, panel in enumerate(self.panels):
            own, start = str(index + 2), index * (width + BETWEEN)
            first = index == 0
            layout["xaxis" + own] = across | {"anchor": "y" + own, "domain": [start, start + width]}
            layout["yaxis" + own] = up | {"anchor": "x" + own, "domain": [0.0, 1.0], "showticklabels": first}
            if not first:  # a zoom of one is a zoom of all
                layout["xaxis" + own]["matches"], layout["yaxis" + own]["matches"] = "x2", "y2"
            layout["annotations"].append(self._above(panel, own))
            for line in panel.plot.lines:
                if line.seen(plane.y.log).any():
                    of_line = traces.line_traces(line, plane, success=y.reading == "attack", share=y.kind == "share")
                    data += [trace | {"xaxis": "x" + own, "yaxis": "y" + own} for trace in of_line]
        return Chart({"data": data, "layout": layout}, ())

    def _above(self, panel: Panel, own: str) -> names.Annotation:
        """A panel's name in its middle."""
        where: names.Annotation = {"xref": f"x{own} domain", "x": 0.5, "yref": f"y{own} domain", "y": 1}
        return small(f"<b>{self.named(panel)}</b>", **where, yanchor="bottom", yshift=ABOVE)

    def named(self, panel: Panel) -> str:
        return f"{self.by} {numbers.plain(panel.value)}"

    @property
    def alt(self) -> str:
        return " ".join(f"{self.named(panel).capitalize()}: {panel.plot.alt}" for panel in self.panels)

    def table(self) -> pd.DataFrame:
        """The rows of each panel's own table, one panel below the other."""
        return self._stacked([panel.plot.table() for panel in self.panels], numbers.plain)

    def data(self) -> pd.DataFrame:
        """All points, one panel below the other."""
        return self._stacked([panel.plot.data() for panel in self.panels], float)

    def _stacked(self, tables: Sequence[pd.DataFrame], write: Any) -> pd.DataFrame:
        for panel, table in zip(self.panels, tables, strict=True):
            table.insert(0, self.by, write(panel.value))
        return pd.concat(tables, ignore_index=True)

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same: panels are compared with each other, and have no room for the curves of more."""
        return self


def _in_a_row(curves: Sequence[Line]) -> names.Annotation:
    """The names of the curves above all panels, each in its colour."""
    text = "\u2003".join(look.named(line.name, line.hue) for line in curves)
    where: names.Annotation = {"name": "names", "xref": "paper", "x": 1, "xanchor": "right", "yref": "paper", "y": 1}
    return small(text, size=look.SMALL_SIZE + 1, **where, yanchor="bottom", yshift=HIGHER)
