"""Words on a chart: how wide they are, how they are pushed apart, the small ones, and lines with names above them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from dpviz.charts import look
from dpviz.charts.axes import AxisScale

_NARROW = frozenset("iljtfrI.,:;|!'()[]/ \u202f·↑↓")
_WIDE = frozenset("mwMWGOQ@%→∞σεδ×")


@lru_cache(maxsize=1024)  # a name is tried in many places
def text_width(text: str, size: float) -> float:
    """About how many pixels `text` takes in the app's font at `size` pixels; errs on the wide side."""
    ems = sum(0.31 if c in _NARROW else 0.84 if c in _WIDE else 0.64 if c.isupper() else 0.55 for c in text)
    return 1.04 * size * ems


def shortened(text: str, longest: int) -> str:
    """`text` cut to `longest` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= longest else text[: longest - 1].rstrip(" ,·") + "…"


def pushed_apart(wanted: Sequence[float], *, gap: float, low: float, high: float) -> list[float]:
    """Positions nearest to `wanted` (least squares) that keep their order, stand ≥ `gap` apart, and lie in [low, high].

    Equal positions keep the order of the list. Where (n − 1)·gap does not fit into [low, high] the gap shrinks to what
    fits. After subtracting k·gap from the k-th, "at least gap apart" reads "not decreasing": an isotonic regression.

    Returns:
        The positions, in the order of `wanted`.
    """
    if not wanted:
        return []
    offsets = min(gap, (high - low) / max(len(wanted) - 1, 1)) * np.arange(len(wanted))
    order = np.argsort(wanted, kind="stable")
    places = np.empty(len(wanted))
    nearest = isotonic_regression(np.asarray(wanted, dtype=np.float64)[order] - offsets).x
    places[order] = np.clip(nearest, low, high - offsets[-1]) + offsets
    return [float(place) for place in places]


def small(text: str, *, size: float = look.SMALL_SIZE, **where: Any) -> look.PlotlyDict:
    """A small annotation without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": size}, "borderpad": 0} | where


def title(text: str, left: float) -> look.PlotlyDict:
    """The title of the y axis flat above it: easier to read than a turned one, and it costs no width. `left`: pixels of
    the margin."""
    where: look.PlotlyDict = {"name": "title", "xref": "paper", "yref": "paper", "x": 0, "xanchor": "left"}
    return small(text, size=look.SMALL_SIZE + 1, **where, xshift=8 - left, y=1, yanchor="bottom", yshift=7)


@dataclass(frozen=True, slots=True)
class Mark:
    """An upright line across a plot: "C", "noise σC", what an attack was measured to reach.

    Attributes:
        x: where, in data units.
        name, note: stand above the plot, the value between them; a pinned state's note is empty.
        color: "#rrggbb".
        low, high: ends of the interval behind it.
        faded: of a pinned state: thin, and without its interval.
    """

    x: float
    name: str
    note: str = ""
    color: str = look.BLUE
    low: float | None = None
    high: float | None = None
    faded: bool = False


def uprights(
    marks: Sequence[Mark], scale: AxisScale, write: Callable[[float], str]
) -> dict[str, list[look.PlotlyDict]]:
    """Lines and names of the marks, as parts of a layout: each name has a row of its own above the plot, where they
    never meet however near the lines are, on the side where there is room; an arrow where its line is outside."""
    shapes, annotations = [], []
    whole: look.PlotlyDict = {"xref": "x", "yref": "paper", "y0": 0, "y1": 1}
    for row, mark in enumerate(marks):
        words = f"<b>{mark.name} {write(mark.x)}</b>" + (f" · {mark.note}" if mark.note else "")
        share = scale.share(mark.x)
        words = f"← {words}" if share < 0 else f"{words} →" if share > 1 else words
        side = {"xanchor": "right", "xshift": 4} if share > 0.6 else {"xanchor": "left", "xshift": -2}
        where = {"xref": "paper", "x": scale.within(mark.x), "yref": "paper", "y": 1, "yanchor": "bottom"}
        text = look.named(words, mark.color)
        annotations.append(small(text, size=look.SMALL_SIZE + 0.5, **where, **side, yshift=3 + 17 * row))
        if mark.low is not None and not mark.faded:
            ground = {"fillcolor": look.rgba(mark.color, 0.18), "line": {"width": 0}}
            shapes.append(whole | {"type": "rect", "x0": mark.low, "x1": mark.high} | ground)
        if 0 <= share <= 1:
            stroke = {"color": look.rgba(mark.color, 0.5 if mark.faded else 1), "width": 1.2 if mark.faded else 2}
            line = stroke | {"dash": "dash" if row % 2 else "solid"}
            shapes.append(whole | {"type": "line", "x0": mark.x, "x1": mark.x, "line": line})
    return {"shapes": shapes, "annotations": annotations}
