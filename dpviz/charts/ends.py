"""The names that lines carry at their ends, in place of a legend."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz.charts import look
from dpviz.charts.ink import named
from dpviz.charts.labels import pushed_apart, shortened, text_width
from dpviz.charts.marks import Band, Line
from dpviz.charts.ticks import position
from dpviz.fields import numbers

GAP, TALL = 17, 33  # pixels from one name to the next: of one line, and with P(A) below it
LONGEST = 28
LEAD = 16  # pixels from a line's end to its name, crossed by a hair line


@dataclass(frozen=True, slots=True)
class End:
    """Where a line ends and what is written there: y in data units, `reach` pixels from the plot's top; and whether its
    last quarter lies above its end, so that a name inside the plot is free of it below."""

    name: str
    line: str  # the line's own name, as its traces have it
    x: float
    y: float
    reach: float
    color: str
    faded: bool
    falls: bool
    about: bool  # an approximation: what follows from it is no bound


def end_of(line: Line, x_shown: tuple[float, float], down: Callable[[float], float], log_y: bool) -> End | None:
    """The last point of a line that lies in the x range; None where there is none."""
    x = np.asarray(line.x, dtype=np.float64)
    within = np.flatnonzero(line.seen(log_y) & (x >= x_shown[0]) & (x <= x_shown[1]))
    if not within.size:
        return None
    last = within[-1]
    values = np.asarray(line.y, dtype=np.float64)
    y, before = float(values[last]), values[within[-1 - len(within) // 4 : -1]]
    name = line.name if line.end is None else line.end
    falls = bool(before.size) and before.mean() > y
    return End(name, line.name, float(x[last]), y, down(y), line.hue, line.faded, falls, line.approximate)


def _band_end(band: Band, x_shown: tuple[float, float], down: Callable[[float], float], log_y: bool) -> End | None:
    edge = Line(key=band.name, name=band.name, x=band.x, y=band.upper, family=band.family)
    return end_of(edge, x_shown, down, log_y)


def _text(end: End, inner: float, with_value: bool, success: bool, tall: bool) -> tuple[str, float]:
    """What is written, the name in the line's colour and the value in the theme's, where `success` with P(A), in a line
    of its own where `tall`; and its width in pixels."""
    arrow = "↑ " if end.reach < 0 else "↓ " if end.reach > inner else ""
    name = arrow + shortened(end.name, LONGEST)
    value = f"  {numbers.epsilon(end.y, up=True)}" if with_value else ""
    strong = value if end.faded else f"<b>{value}</b>"  # a pinned state's is not faded: it must be readable
    text, width = f"{named(name, end.color)}{strong}", text_width(name + value, look.LABEL_SIZE)
    if not success:
        return text, width
    allowed = f"P(A) {'≈' if end.about else '≤'} {numbers.attack_allowed(end.y)}"
    if not tall:
        return f"{text} · {allowed}", text_width(f"{name}{value} · {allowed}", look.LABEL_SIZE)
    below = f"{allowed} from ε alone"
    # The text is of the small size, and so its lines stand close.
    first = f"<span style='font-size:{look.LABEL_SIZE}px'>{text}</span>"
    return f"{first}<br>{below}", max(width, text_width(below, look.FINE_SIZE))


def end_annotations(
    lines: Sequence[Line],
    bands: Sequence[Band],
    *,
    x_shown: tuple[float, float],
    down: Callable[[float], float],
    inner: float,
    log_x: bool,
    log_y: bool,
    end_values: bool,
    success: bool,
) -> tuple[list[dict[str, Any]], int, list[dict[str, Any]]]:
    """The names as annotations that never overlap, and the pixels they need right of the plot.

    And the same as they are, for whoever moves the lines: the line's name, text, x and y in data units, size in
    pixels, colour of the hair line.

    Args:
        lines, bands: what carries names.
        x_shown: the x range in data units.
        down: pixels from the top of the plot to a y.
        inner: height of the plot in pixels.
        log_x, log_y: logarithmic axes.
        end_values: write the last value behind the name.
        success: write P(A) below it, the accuracy of a guess that ε alone allows; beside it where that has no room.
    """
    ends = [e for line in lines if line.end != "" and (e := end_of(line, x_shown, down, log_y))]
    ends += [e for band in bands if (e := _band_end(band, x_shown, down, log_y))]
    # Curves that left through the top keep their order there: the largest on top.
    ends.sort(key=lambda e: (max(e.reach, 0.0), -e.y))
    at_edge = [e.x >= x_shown[1] - 1e-9 * abs(x_shown[1]) for e in ends]
    # A name inside the plot stands above its line's end, or below it.
    rises = [0 if edge else -11 if e.falls else 11 for e, edge in zip(ends, at_edge, strict=True)]
    wanted = [min(max(e.reach, 0.0), inner) - rise for e, rise in zip(ends, rises, strict=True)]
    places = [0.0] * len(ends)
    tall = success and TALL * sum(at_edge) <= inner
    for group in (True, False):  # names beside the plot and names inside it cannot meet
        chosen = [i for i, edge in enumerate(at_edge) if edge is group]
        gap, air = (TALL, 12) if group and tall else (GAP, 4)
        for i, place in zip(
            chosen, pushed_apart([wanted[i] for i in chosen], gap=gap, low=air, high=inner - air), strict=True
        ):
            places[i] = place
    crowded = min(look.LABEL_SIZE, max(9.0, 0.82 * inner / max(len(ends) - 1, 1)))
    sizes = [look.FINE_SIZE if tall and edge else crowded for edge in at_edge]
    texts = [_text(e, inner, end_values, success, tall and edge) for e, edge in zip(ends, at_edge, strict=True)]
    widths = [width for (_, width), edge in zip(texts, at_edge, strict=True) if edge]
    built = []
    for end, place, (text, _), edge, size in zip(ends, places, texts, at_edge, sizes, strict=True):
        across = position(end.x, x_shown, log_x)
        x = (1 if edge else math.log10(end.x) if log_x else end.x, "paper" if edge else "x")
        built.append(
            {
                "name": "end",
                "text": text,
                "font": {"size": size},
                "x": x[0],
                "xref": x[1],
                "xanchor": "left" if edge or across < 0.55 else "right",
                "align": "left",
                "yanchor": "middle",
                "borderpad": 2,
                "captureevents": True,
            }
            | _lead(end, place, edge, inner, log_y)
        )
    free = [
        {
            "line": e.line,
            "text": _text(replace(e, reach=0.0), inner, end_values, success, tall and edge)[0],
            "x": e.x,
            "y": e.y,
            "size": size,
            "hair": _hair(e),
        }
        for e, edge, size in zip(ends, at_edge, sizes, strict=True)
    ]
    return built, int(max(widths, default=0)) + (LEAD + 15 if widths else 16), free


def _hair(end: End) -> str:
    return look.rgba(end.color, 0.55)


def _lead(end: End, place: float, edge: bool, inner: float, log_y: bool) -> dict[str, Any]:
    """Where the name stands vertically (`place` pixels from the plot's top), and the hair line that leads to it."""
    if not 0 <= end.reach <= inner:
        return {"showarrow": False, "yref": "paper", "y": 1 - place / inner, "xshift": LEAD - 2 if edge else 0}
    y = {"yref": "y", "y": math.log10(end.y) if log_y else end.y}
    if not edge:
        return y | {"showarrow": False, "yshift": round(end.reach - place, 1)}
    hair = {"arrowhead": 0, "arrowwidth": 1, "arrowcolor": _hair(end), "standoff": 3}
    return y | hair | {"showarrow": True, "ax": LEAD, "ay": round(place - end.reach, 1)}
