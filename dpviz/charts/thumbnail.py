"""A small picture of a chart as SVG, made from its figure without a browser: curves, areas and marks, no words.

Both themes show it: colours are those of the chart, which were chosen for both.
"""

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NamedTuple

from dpviz.charts.look import PlotlyDict, PlotlyPart

WIDTH, HEIGHT = 240.0, 140.0
MARGIN = 4.0
MOST_POINTS = 60  # of a curve
DASHES = {"dot": "1.5 3", "dash": "6 4", "dashdot": "6 3 1.5 3", "longdash": "9 4"}

Place = tuple[float, float]


class Canvas(NamedTuple):
    """What a chart is drawn on.

    Attributes:
        width, height, margin: in the picture's units.
        points: of a curve, at most.
        stretched: whether a page gives it another shape: then marks are dots of a line's width, which keep theirs.
    """

    width: float = WIDTH
    height: float = HEIGHT
    margin: float = MARGIN
    points: int = MOST_POINTS
    stretched: bool = False


class _Axis(NamedTuple):
    """Where a value stands, in the picture's units."""

    low: float
    high: float
    log: bool
    first: float
    last: float

    def at(self, value: Any) -> float:
        """NaN for what an axis cannot show."""
        if value is None or (self.log and not value > 0):
            return math.nan
        share = ((math.log10(value) if self.log else value) - self.low) / (self.high - self.low)
        return self.first + min(max(share, -1.0), 2.0) * (self.last - self.first)


def thumbnail(figure: PlotlyPart, alt: str) -> str:
    """The picture; `alt` says what is on it."""
    marks = marks_svg(figure, Canvas())
    left, bottom = MARGIN, HEIGHT - MARGIN
    frame = f'<path d="M{left:g} {MARGIN:g}V{bottom:g}H{WIDTH - MARGIN:g}" class="axes"/>'
    return f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(alt)}">{frame}{marks}</svg>'


def marks_svg(figure: PlotlyPart, canvas: Canvas) -> str:
    """All of a figure's traces, from the back to the front."""
    shown = (trace for trace in figure["data"] if trace.get("opacity") != 0)
    return "".join(mark for trace in shown for mark in _marks(trace, figure["layout"], canvas))


def _marks(trace: PlotlyPart, layout: PlotlyPart, canvas: Canvas) -> Iterator[str]:
    """Its area, its curve, its points."""
    x, y = (_axis(layout, letter, trace.get(f"{letter}axis", letter), canvas) for letter in "xy")
    xs, ys = list(trace["x"]), list(trace["y"])
    places = [(x.at(a), y.at(b)) for a, b in zip(xs, ys, strict=True)]
    look, mode, opacity = trace.get("line", {}), trace.get("mode", "lines"), trace.get("opacity", 1)
    if trace.get("fill") == "toself":
        edge = f' stroke="{look["color"]}"' if look.get("width", 0) > 0 and "color" in look else ""
        for part in _parts(places):
            yield f'<path d="{_path(part)}Z" fill="{trace.get("fillcolor", "none")}" opacity="{opacity:g}"{edge}/>'
    elif "lines" in mode and look.get("width", 2) > 0:
        dash = f' stroke-dasharray="{DASHES[look["dash"]]}"' if look.get("dash") in DASHES else ""
        shape = look.get("shape", "linear")
        d = "".join(_path(_thinned(part, canvas.points), shape) for part in _parts(places) if len(part) > 1)
        if d:
            yield f'<path d="{d}" fill="none" stroke="{look.get("color", "gray")}" opacity="{opacity:g}"{dash}/>'
    if "markers" in mode:
        for (a, b), color in zip(places, _colors(trace.get("marker", {}), len(places)), strict=True):
            if not (math.isfinite(a) and math.isfinite(b)):
                continue
            if canvas.stretched:
                yield f'<path d="M{a:.1f} {b:.1f}h0" class="dot" stroke="{color}" opacity="{opacity:g}"/>'
            else:
                yield f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{color}" opacity="{opacity:g}"/>'


def _colors(marker: PlotlyPart, count: int) -> Sequence[str]:
    """A colour for each of so many marks: that of its edge for a ring, whose inside is the ground's."""
    color, edge = marker.get("color", "gray"), marker.get("line", {}).get("color")
    if edge and isinstance(color, str) and color.startswith("rgba(255,255,255"):
        color = edge
    return [color] * count if isinstance(color, str) else list(color)


def _axis(layout: PlotlyPart, letter: str, name: str, canvas: Canvas) -> _Axis:
    """The axis of a trace, which says it by a short name ("y2")."""
    axis: PlotlyDict = layout[f"{letter}axis{name.removeprefix(letter)}"]
    (low, high), (first, last) = axis["range"], axis.get("domain", (0.0, 1.0))
    size = (canvas.width if letter == "x" else canvas.height) - 2 * canvas.margin
    begin, end = canvas.margin + first * size, canvas.margin + last * size
    if letter == "y":
        begin, end = canvas.height - begin, canvas.height - end
    return _Axis(low, high, axis.get("type") == "log", begin, end)


def _parts(places: Sequence[Place]) -> Iterator[list[Place]]:
    """What is drawn without a gap."""
    part: list[Place] = []
    for place in places:
        if all(map(math.isfinite, place)):
            part.append(place)
        elif part:
            yield part
            part = []
    if part:
        yield part


def _thinned(part: Sequence[Place], most: int) -> list[Place]:
    """At most so many of them, with both ends."""
    if len(part) <= most:
        return list(part)
    return [part[round(k * (len(part) - 1) / (most - 1))] for k in range(most)]


def _path(part: Sequence[Place], shape: str = "linear") -> str:
    """As SVG writes it; stairs as Plotly draws them."""
    (x, y), *rest = part
    d = f"M{x:.1f} {y:.1f}"
    for x, y in rest:
        d += {"hv": f"H{x:.1f}V{y:.1f}", "vh": f"V{y:.1f}H{x:.1f}"}.get(shape, f"L{x:.1f} {y:.1f}")
    return d
