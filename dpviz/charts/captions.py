"""The small words on a chart: axis titles that lie flat, names of floors and regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from dpviz.charts import look
from dpviz.charts.labels import pushed_apart
from dpviz.charts.marks import Floor, Point, Region
from dpviz.fields import numbers

Annotation = dict[str, Any]


def small(text: str, **where: Any) -> Annotation:
    """A small annotation without an arrow."""
    return {"text": text, "showarrow": False, "font": {"size": look.SMALL_SIZE}, "borderpad": 0} | where


def title(text: str, margin: dict[str, int]) -> Annotation:
    """The title of the y axis flat above it: easier to read than a turned one, and it costs no width."""
    above: Annotation = {"name": "title", "xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 7}
    return small(text, x=0, xanchor="left", xshift=8 - margin["l"], **above) | {"font": {"size": look.SMALL_SIZE + 1}}


def point_hovers(points: Sequence[Point], log_x: bool, log_y: bool) -> list[Annotation]:
    """An unseen word on each diamond whose hover says what was printed.

    In the unified hover a lone point would show wherever the cursor is, for it is always its trace's nearest.
    """
    return [
        small(
            "◆◆",
            x=math.log10(point.x) if log_x else point.x,
            y=math.log10(point.y) if log_y else point.y,
            hovertext=f"printed: <b>{point.printed}</b>",
            captureevents=True,
            opacity=0,
        )
        for point in points
    ]


def floor_lines(floors: Sequence[Floor], down: Callable[[float], float], inner: int) -> list[dict[str, Any]]:
    """Thin dotted horizontal lines below the curves, for the floors that show."""
    return [
        {
            "type": "line",
            "layer": "below",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "yref": "paper",
            "y0": 1 - down(floor.y) / inner,
            "y1": 1 - down(floor.y) / inner,
            "line": {"color": look.rgba(look.style(floor.family).color, 0.7), "width": 1, "dash": "dot"},
        }
        for floor in floors
        if 0 <= down(floor.y) <= inner
    ]


def floor_names(floors: Sequence[Floor], down: Callable[[float], float], inner: int) -> list[Annotation]:
    """The floors' names at the right, inside, where growing curves have long left their floor; never overlapping.

    A floor that all but touches the bottom of the plot binds nothing that shows, and gets no name.
    """
    shown = [floor for floor in floors if 0 <= down(floor.y) <= inner - 14]
    places = pushed_apart([down(floor.y) - 8 for floor in shown], gap=14, low=8, high=inner - 8)
    return [
        small(
            f"{floor.name}: {numbers.epsilon(floor.y)}",
            xref="paper",
            x=1,
            xanchor="right",
            xshift=-6,
            yref="paper",
            y=1 - place / inner,
            yanchor="middle",
        )
        for floor, place in zip(shown, places, strict=True)
    ]


def region_names(regions: Sequence[Region], x_shown: tuple[float, float], log_x: bool) -> list[Annotation]:
    """Each region's name at its top, in rows of their own, for the width of a region is not known."""
    built: list[Annotation] = []
    for region in regions:
        start, stop = max(region.start, x_shown[0]), min(region.stop, x_shown[1])
        if start < stop:
            # Anchored at whichever edge of the region leaves more room for the words.
            at, anchor = (start, "left") if start - x_shown[0] < x_shown[1] - stop or log_x else (stop, "right")
            where = math.log10(at) if log_x else at
            shift = 6 if anchor == "left" else -6
            row = {"yref": "paper", "y": 1, "yanchor": "top", "yshift": -4 - 16 * len(built)}
            built.append(small(region.name, xref="x", x=where, xanchor=anchor, xshift=shift, **row))
    return built
