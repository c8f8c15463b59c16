"""One number a row, side by side on one axis: what each of several methods answers to the same question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpviz.charts import look
from dpviz.charts.labels import text_width
from dpviz.charts.lines import BOTTOM, Chart
from dpviz.charts.ticks import axis, baseline, position
from dpviz.charts.traces import QUIET

TOP = 28
ROW = 20  # pixels of a row, at least
ROOM = 170  # pixels right of the plot, for the words behind the dots


@dataclass(frozen=True, slots=True)
class Dot:
    """One row.

    Attributes:
        name: what stands left of it; rows of one name share their place.
        value: where the dot is; None, infinite or (on a log axis) not positive: no dot, only words.
        text: the value, written right of the dot.
        hover: what the hover says.
        color: "#rrggbb".
        faded: a pinned state's: small, and without words.
        note: written behind the text: what it saves, say.
        label: what tables and sentences call it where that is not `name`.
        key: its name in files; the label where empty.
        instead: written right of it in place of both, where there is no dot.
        why: why there is no value, in files.
    """

    name: str
    value: float | None
    text: str
    hover: str
    color: str
    faded: bool = False
    note: str = ""
    label: str = ""
    key: str = ""
    instead: str = ""
    why: str = ""

    @property
    def called(self) -> str:
        return self.label or self.name

    @property
    def words(self) -> str:
        """What stands right of it."""
        return self.instead or f"<b>{self.text}</b>" + (f"  {self.note}" if self.note else "")


def dot_figure(
    dots: Sequence[Dot],
    *,
    x_title: str,
    log_x: bool = True,
    x_kind: str = "plain",
    reference: float | None = None,
    height: int = 430,
) -> Chart:
    """Dots in rows, from top to bottom in the given order, each tied to `reference` by a line.

    Args:
        dots: the rows; faded ones stand in the row of their name, or in none.
        x_title: axis title with unit.
        log_x: logarithmic axis.
        x_kind: how ticks are written: "plain", "steps" or "delta".
        reference: the value that all are compared with.
        height: of the whole figure in pixels; more where the rows need it.
    """
    names = list(dict.fromkeys(dot.name for dot in dots if not dot.faded))
    seen = [dot for dot in dots if dot.name in names and _drawn(dot, log_x)]
    span = _span([float(dot.value or 0.0) for dot in seen], log_x)
    x_axis = baseline(axis(span=span, log=log_x, kind=x_kind, most=9))
    x_axis |= {"title": {"text": x_title, "standoff": 14}, "ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS}
    left = int(max((text_width(name, look.LABEL_SIZE) for name in names), default=40)) + 18
    height = max(height, TOP + BOTTOM + ROW * len(names))
    layout = look.base_layout(height, {"l": left, "r": ROOM, "t": TOP, "b": BOTTOM}) | {
        "hovermode": "closest",
        "xaxis": x_axis,
        "yaxis": {
            "range": [len(names) - 0.5, -0.5],
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickfont": {"size": look.LABEL_SIZE},
            "showgrid": True,
            "gridcolor": look.MINOR_GRID,
            "zeroline": False,
            "ticklabelstandoff": 6,
            "automargin": False,
        },
        "annotations": [_words(dot, names.index(dot.name), span, log_x, reference) for dot in dots if not dot.faded],
        "shapes": [],
        "meta": {"rows": names},
    }
    data: list[dict[str, Any]] = []
    if reference is not None and span[0] <= reference <= span[1]:
        data += [
            {"type": "scatter", "mode": "lines", "x": [reference, dot.value], "y": [names.index(dot.name)] * 2}
            | {"line": {"color": look.rgba(dot.color, 0.45), "width": 5}}
            | QUIET
            for dot in seen
            if not dot.faded
        ]
    for dot in sorted(seen, key=lambda dot: not dot.faded):
        marker = {"color": dot.color, "size": 9 if dot.faded else 15, "opacity": 0.5 if dot.faded else 1}
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "x": [dot.value],
                "y": [names.index(dot.name)],
                "marker": marker,
                "name": dot.name,
                "hovertemplate": f"{dot.hover}<extra></extra>",
                "cliponaxis": False,
            }
        )
    empty = {"type": "scatter", "mode": "markers", "x": [span[0]], "y": [0], "opacity": 0} | QUIET
    return Chart({"data": data or [empty], "layout": layout}, ())


def _drawn(dot: Dot, log_x: bool) -> bool:
    return dot.value is not None and math.isfinite(dot.value) and (dot.value > 0 or not log_x)


def _span(values: list[float], log_x: bool) -> tuple[float, float]:
    """A little beyond the values on both sides, at least a factor of 3 (log) or from 0 (linear)."""
    if not values:
        return (0.1, 10.0) if log_x else (0.0, 1.0)
    low, high = min(values), max(values)
    if not log_x:
        return min(low, 0.0), 1.1 * high or 1.0
    air = max(0.06 * math.log10(high / low), 0.5 * math.log10(max(3.0 * low / high, 1.0)), 0.02)
    return 10 ** max(math.log10(low) - air, -307.0), 10 ** min(math.log10(high) + air, 307.0)


def _words(dot: Dot, row: int, span: tuple[float, float], log_x: bool, reference: float | None) -> dict[str, Any]:
    """Right of the dot and of the line that ties it; at the plot's left end where there is none."""
    drawn = _drawn(dot, log_x)
    tied = reference is not None and span[0] <= reference <= span[1]
    right = max(float(dot.value or 0.0), reference if tied and reference is not None else 0.0)
    place = position(right, span, log_x) if drawn else 0.0
    return {
        "text": dot.words,
        "showarrow": False,
        "font": {"size": look.LABEL_SIZE},
        "xref": "paper",
        "x": place,
        "xanchor": "left",
        "xshift": 13 if drawn else 6,
        "yref": "y",
        "y": row,
        "yanchor": "middle",
        "align": "left",
    }
