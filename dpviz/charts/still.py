"""A chart that shows at once, before any script has run: curves as SVG and words as HTML, made from its figure.

The page may give it any width: curves are stretched along it, lines and words keep their size. What the script draws
takes its place.
"""

import math
import re
from collections.abc import Iterator, Mapping
from html import escape

from dpviz.charts.look import PlotlyPart
from dpviz.charts.thumbnail import Canvas, marks_svg

WIDTH = 1000.0
POINTS = 120  # of a curve
ALLOWED = re.compile(r"&lt;(/?(?:b|i|sub|sup|span)|br/?|span style=&#x27;color:[#\w(),. -]+&#x27;)&gt;")
ANCHORS = {"left": 0, "center": -50, "right": -100, "top": 0, "middle": -50, "bottom": -100}  # percent of a word's size


def still(figure: PlotlyPart, alt: str) -> str:
    """The chart as an element of its height; `alt` says what is on it."""
    layout = figure["layout"]
    height, margin = float(layout["height"]), {"l": 40.0, "r": 20.0, "t": 40.0, "b": 50.0} | layout.get("margin", {})
    inner = max(height - margin["t"] - margin["b"], 1.0)
    lines = "".join(_lines(layout, inner)) + marks_svg(figure, Canvas(WIDTH, inner, 0.0, POINTS, stretched=True))
    sides = "".join(f"--{side}:{margin[side]:g}px;" for side in "lrtb")
    words = "".join([*_ticks(layout, "x"), *_ticks(layout, "y"), *_notes(layout)])
    return (
        f'<div class="dpviz-still" role="img" aria-label="{escape(alt)}" style="{sides}height:{height:g}px">'
        f'<svg viewBox="0 0 {WIDTH:g} {inner:g}" preserveAspectRatio="none">{lines}</svg>{words}</div>'
    )


def _axes(layout: PlotlyPart, letter: str) -> dict[str, PlotlyPart]:
    """By their short names: x, x2, …"""
    named = re.compile(rf"{letter}axis\d*")
    axes = {key.replace("axis", ""): axis for key, axis in layout.items() if named.fullmatch(key)}
    return {name: axis for name, axis in axes.items() if axis.get("visible", True) and "range" in axis}


def _share(axis: PlotlyPart, place: float) -> float:
    """Where a place in the axis' own coordinate lies in the plot: 0 at its start, 1 at its end."""
    (low, high), (first, last) = axis["range"], axis.get("domain", (0.0, 1.0))
    return float(first + (place - low) / (high - low) * (last - first))


def _tick_shares(axis: PlotlyPart) -> Iterator[tuple[float, str]]:
    log, (first, last) = axis.get("type") == "log", sorted(axis.get("domain", (0.0, 1.0)))
    for value, text in zip(axis.get("tickvals", ()), axis.get("ticktext", ()), strict=False):
        share = _share(axis, _log10(value) if log else value)
        if first - 1e-9 <= share <= last + 1e-9:
            yield share, str(text)


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _lines(layout: PlotlyPart, inner: float) -> Iterator[str]:
    """The grid, the x axis, and straight lines across the plot."""
    for letter in "xy":
        for axis in _axes(layout, letter).values():
            if axis.get("showgrid"):
                for share, _ in _tick_shares(axis):
                    d = (
                        f"M{WIDTH * share:.1f} 0V{inner:g}"
                        if letter == "x"
                        else f"M0 {inner * (1 - share):.1f}H{WIDTH:g}"
                    )
                    yield f'<path d="{d}" class="grid" stroke="{axis.get("gridcolor", "none")}"/>'
            if axis.get("showline") and letter == "x":
                yield f'<path d="M0 {inner:g}H{WIDTH:g}" class="grid" stroke="{axis.get("linecolor", "gray")}"/>'
    for shape in layout.get("shapes", ()):
        if shape.get("type") == "line" and shape.get("xref") == shape.get("yref") == "paper":
            x0, x1 = (WIDTH * shape[key] for key in ("x0", "x1"))
            y0, y1 = (inner * (1.0 - shape[key]) for key in ("y0", "y1"))
            dash = "" if shape["line"].get("dash", "solid") == "solid" else ' stroke-dasharray="5 4"'
            color = shape["line"].get("color", "gray")
            yield f'<path d="M{x0:.1f} {y0:.1f}L{x1:.1f} {y1:.1f}" class="grid" stroke="{color}"{dash}/>'


def _ticks(layout: PlotlyPart, letter: str) -> Iterator[str]:
    """The axes' numbers and titles; an x axis below the plot, a y axis left of it."""
    for axis in _axes(layout, letter).values():
        for share, text in _tick_shares(axis):
            yield (
                _word(text, share, 0.0, "center", "top", 0, 8)
                if letter == "x"
                else _word(text, 0.0, share, "right", "middle", -6, 0)
            )
        title = axis.get("title", "")
        title = title.get("text", "") if isinstance(title, Mapping) else title
        if title and letter == "x":
            yield _word(title, 0.5 * sum(axis.get("domain", (0.0, 1.0))), 0.0, "center", "top", 0, 28)


def _notes(layout: PlotlyPart) -> Iterator[str]:
    """Words on the plot and beside it; those that only a pointer would find are left out."""
    axes = {name: axis for letter in "xy" for name, axis in _axes(layout, letter).items()}
    for note in layout.get("annotations", ()):
        places = []
        for letter in "xy":
            reference = note.get(f"{letter}ref", letter)
            if reference != "paper" and reference not in axes:
                break
            place = float(note[letter])
            places.append(place if reference == "paper" else _share(axes[reference], place))
        if len(places) < 2 or not all(map(math.isfinite, places)) or note.get("opacity") == 0 or "textangle" in note:
            continue
        across, down = note.get("xshift", 0), -note.get("yshift", 0)
        if note.get("showarrow", True):
            across, down = across + note.get("ax", 0), down + note.get("ay", 0)
        xanchor, yanchor = (
            anchor if anchor in ANCHORS else "center"
            for anchor in (note.get("xanchor", "center"), note.get("yanchor", "middle"))
        )
        x, y = places
        size = note.get("font", {}).get("size", 12)
        yield _word(note["text"], x, y, xanchor, yanchor, across, down, size, "name")


def _word(
    text: str,
    x: float,
    y: float,
    xanchor: str,
    yanchor: str,
    right: float,
    down: float,
    size: float = 12,
    kind: str = "",
) -> str:
    """Text at shares of the plot, so many pixels further right and down; tags but Plotly's few are text."""
    allowed = ALLOWED.sub(lambda tag: f"<{tag[1].replace('&#x27;', chr(39))}>", escape(text))
    moved = f"--dx:calc({ANCHORS[xanchor]}% + {right:g}px);--dy:calc({ANCHORS[yanchor]}% + {down:g}px)"
    return (
        f'<span class="{kind or "tick"}" style="--x:{x:.4g};--y:{y:.4g};{moved};font-size:{size:g}px">{allowed}</span>'
    )
