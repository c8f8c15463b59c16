"""Areas of a plane with their boundaries, and a state among them, as one value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dpviz.charts import look
from dpviz.charts.areas import Area, with_areas, with_names_on_lines
from dpviz.charts.captions import small
from dpviz.charts.lines import Chart
from dpviz.charts.plot import HEIGHT, LinePlot
from dpviz.charts.rings import Ring


@dataclass(frozen=True, eq=False)
class AreaPlot(LinePlot):
    """Boundaries that carry their names (`Line.end`) where there is room; what is said of it is `said` alone.

    Attributes:
        areas: between or beside the boundaries, below everything else.
        here: the present state; pinned plots add theirs, grey.
        here_name: written beside it, and before what its hover says.
    """

    areas: tuple[Area, ...] = ()
    here: Ring | None = None
    here_name: str = "yours"

    def chart(self, height: int = HEIGHT) -> Chart:
        own = () if self.here is None else (replace(self.here, text=f"{self.here_name}: {self.here.text}"),)
        bare = replace(self, lines=tuple(replace(line, end="") for line in self.lines), rings=self.rings + own)
        built = with_areas(LinePlot.chart(bare, height), self.areas)
        avoid = [] if self.here is None else [(self.here.x, self.here.y)]
        return self._named(with_names_on_lines(built, self.lines, avoid=avoid))

    def _named(self, chart: Chart) -> Chart:
        """The state's name beside its ring, on the side with more room."""
        if self.here is None:
            return chart
        layout = chart.figure["layout"]
        x, y = (
            math.log10(value) if layout[axis]["type"] == "log" else value
            for axis, value in (("xaxis", self.here.x), ("yaxis", self.here.y))
        )
        low, high = layout["xaxis"]["range"]
        left = x > 0.7 * high + 0.3 * low
        where = {"xanchor": "right" if left else "left", "xshift": -9 if left else 9}
        words = small(f"<b>{self.here_name}</b>", x=x, y=y, font={"size": look.LABEL_SIZE}, **where)
        figure = chart.figure | {"layout": layout | {"annotations": [*layout["annotations"], words]}}
        return Chart(figure, chart.notes)

    @property
    def alt(self) -> str:
        return self.said

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same plot with the states of other ones."""
        kept = tuple(
            replace(other.here, text=f"{name}: {other.here.text}", color=look.GREY)
            for name, other in pinned
            if isinstance(other, AreaPlot) and other.here is not None
        )
        return replace(self, rings=self.rings + kept)
