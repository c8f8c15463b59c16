"""What bounds allow an attacker, row by row, and what one attack was measured to reach."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dpviz.charts import captions, look
from dpviz.charts.ink import named
from dpviz.charts.labels import text_width
from dpviz.charts.lines import BOTTOM, Chart
from dpviz.charts.listed import Listed
from dpviz.charts.plot import HEIGHT
from dpviz.charts.ticks import axis, baseline, position
from dpviz.fields import numbers

GUESSING = 0.5
BAR = 0.55  # a bar's share of its row


@dataclass(frozen=True, slots=True)
class Allowed:
    """One bound.

    Attributes:
        name: what stands left of its bar.
        success: the highest success that it allows, in [0.5, 1].
        text: what stands right of its bar.
        hover: what the hover says.
        color: "#rrggbb".
        note: small words below `text`; why it promises less than the others, say.
    """

    name: str
    success: float
    text: str
    hover: str
    color: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reached:
    """What an attack was measured to reach: an upright line with its interval behind it."""

    name: str
    success: float
    low: float
    high: float
    color: str
    faded: bool = False


def allowed_figure(rows: Sequence[Allowed], reached: Sequence[Reached], *, x_title: str, height: int = 430) -> Chart:
    """Bars from guessing (50 %) to what each bound allows, and measured attacks as upright lines across all rows.

    Args:
        rows: from top to bottom, at least one, names all different.
        reached: measured attacks; one below 50 % widens the axis.
        x_title: axis title.
        height: of the figure in pixels.

    Raises:
        ValueError: no row.
    """
    if not rows:
        raise ValueError("Expected at least one bound, found none.")
    names = [row.name for row in rows]
    span = _span([row.success for row in rows], reached)
    left = int(max(text_width(name, look.LABEL_SIZE) for name in names)) + 18
    right = int(max(text_width(text, look.LABEL_SIZE) for row in rows for text in (row.text, row.note))) + 20
    top = 14 + 17 * max(len(reached), 1)
    x_axis = baseline(axis(span=(100 * span[0], 100 * span[1]), log=False, most=8))
    x_axis |= {"title": {"text": x_title, "standoff": 14}, "ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS}
    layout = look.base_layout(height, {"l": left, "r": right, "t": top, "b": BOTTOM}) | {
        "hovermode": "closest",
        "xaxis": x_axis | {"ticktext": [f"{text} %" for text in x_axis["ticktext"]]},
        "yaxis": {
            "range": [len(names) - 0.4, -0.6],
            "tickmode": "array",
            "tickvals": list(range(len(names))),
            "ticktext": names,
            "tickfont": {"size": look.LABEL_SIZE},
            "showgrid": False,
            "zeroline": False,
            "ticklabelstandoff": 6,
            "automargin": False,
        },
        "shapes": [shape for one in reached for shape in _upright(one)],
        "annotations": [_behind(row, i) for i, row in enumerate(rows)]
        + [_above(one, i, span) for i, one in enumerate(reached)],
    }
    data = [_bar(row, i, BAR * min(1.0, len(rows) / 3)) for i, row in enumerate(rows)]
    data += [_spots(one, len(rows)) for one in reached]
    return Chart({"data": data, "layout": layout}, ())


@dataclass(frozen=True, eq=False, kw_only=True)
class AllowedPlot(Listed):
    """Bounds and measured attacks as a plot; pinned plots add their attacks. Arguments as of `allowed_figure`."""

    bounds: tuple[Allowed, ...]
    reached: tuple[Reached, ...]
    x_title: str

    def chart(self, height: int = HEIGHT) -> Chart:
        return allowed_figure(self.bounds, self.reached, x_title=self.x_title, height=height)

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(one, name=self.named(name, other), faded=True)
            for name, other in pinned
            if isinstance(other, AllowedPlot)
            for one in other.reached
        )
        return replace(self, reached=self.reached + kept)


def _span(bounds: list[float], reached: Sequence[Reached]) -> tuple[float, float]:
    """From guessing, or the lowest interval, to the largest bound, with air; all of it in [0, 1]."""
    low = min([GUESSING, *(one.low for one in reached)])
    high = max([*bounds, *(one.high for one in reached)])
    air = 0.04 * max(high - low, 1e-3)
    return max(low - air, 0.0), high if high == 1.0 else min(high + air, 1.0)


def _bar(row: Allowed, at: int, width: float) -> dict[str, Any]:
    ground = look.rgba(row.color, 0.45)
    return {
        "type": "bar",
        "orientation": "h",
        "base": [100 * GUESSING],
        "x": [max(100 * (row.success - GUESSING), 0.0)],
        "y": [at],
        "width": [width],
        "marker": {"color": ground, "line": {"color": row.color, "width": 1.5}},
        "name": row.name,
        "hovertemplate": f"{row.hover}<extra></extra>",
    }


def _upright(one: Reached) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    stroke = {"color": look.rgba(one.color, 0.5 if one.faded else 1), "width": 1.2 if one.faded else 2.5}
    line = whole | {"type": "line", "x0": 100 * one.success, "x1": 100 * one.success, "line": stroke}
    if one.faded:
        return [line]
    ground = {"fillcolor": look.rgba(one.color, 0.18), "line": {"width": 0}}
    return [whole | {"type": "rect", "x0": 100 * one.low, "x1": 100 * one.high} | ground, line]


def _spots(one: Reached, rows: int) -> dict[str, Any]:
    """Unseen points on the line that answer the cursor between the bars."""
    said = f"{one.name}: <b>{numbers.probability(one.success)}</b>"
    said += f" ({numbers.probability(one.low)} to {numbers.probability(one.high)})"
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [100 * one.success] * rows,
        "y": [at + 0.5 for at in range(rows)],
        "marker": {"size": 14, "opacity": 0, "color": one.color},
        "name": one.name,
        "hovertemplate": f"{said}<extra></extra>",
    }


def _behind(row: Allowed, at: int) -> dict[str, Any]:
    """In a column right of the plot."""
    where = {"xref": "paper", "x": 1, "xanchor": "left", "xshift": 10, "yref": "y", "y": at, "yanchor": "middle"}
    note = f"<br><span style='font-size:{look.SMALL_SIZE}px'>{row.note}</span>" if row.note else ""
    return captions.small(row.text + note, **where) | {"font": {"size": look.LABEL_SIZE}, "align": "left"}


def _above(one: Reached, at: int, span: tuple[float, float]) -> dict[str, Any]:
    share = position(min(max(one.success, span[0]), span[1]), span, False)
    left = share > 0.6
    interval = f"{numbers.probability(one.low)} to {numbers.probability(one.high)}"
    words = f"<b>{one.name} {numbers.probability(one.success)}</b> · {interval}"
    place = {"xanchor": "right" if left else "left", "xshift": 4 if left else -2, "yanchor": "bottom"}
    where = {"xref": "paper", "x": share, "yref": "paper", "y": 1}
    font = {"font": {"size": look.SMALL_SIZE + 0.5}}
    return captions.small(named(words, one.color), **where, **place, yshift=3 + 17 * at) | font
