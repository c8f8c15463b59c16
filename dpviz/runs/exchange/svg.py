"""A line chart as SVG text: for reports that must work without a network and without scripts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

# Told apart under three kinds of colour blindness, and readable on white.
COLOURS = ("#1a62ba", "#d57922", "#33a27c", "#ab83b1", "#7a5f32", "#636363")
DASHES = ("", "6 3", "2 3")

WIDTH, HEIGHT = 640, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 120, 12, 44
# More points than these cannot be seen.
_MOST_POINTS = 800
_LABEL_HEIGHT = 14.0


def nice_ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers that cover [low, high], at distances of 1, 2 or 5 times a power of ten."""
    if not high > low:
        low, high = low - 0.5, high + 0.5
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1.0, 2.0, 5.0, 10.0) if power * factor >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [round(index * step, 12) for index in range(first, last + 1)]


def _thinned(x: Array, y: Array) -> tuple[Array, Array]:
    """At most `_MOST_POINTS`, lowest and highest of each stretch kept, so that no peak is lost."""
    if x.size <= _MOST_POINTS:
        return x, y
    parts = np.array_split(np.arange(x.size), _MOST_POINTS // 2)
    keep = np.unique(np.concatenate([[part[y[part].argmin()], part[y[part].argmax()]] for part in parts]))
    return x[keep], y[keep]


def _spread(wanted: list[float], gap: float, highest: float) -> list[float]:
    """Positions for labels at least `gap` apart and at most `highest`, each near where it belongs."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = dict.fromkeys(order, 0.0)
    last = -math.inf
    for i in order:
        last = placed[i] = max(wanted[i], last + gap)
    limit = highest
    for i in reversed(order):
        placed[i] = min(placed[i], limit)
        limit = placed[i] - gap
    return [placed[i] for i in range(len(wanted))]


def line_chart(series: Mapping[str, tuple[Array, Array]], *, title: str, x_title: str, y_title: str) -> str:
    """Lines with their names at the end; "" if there is nothing finite to draw.

    Args:
        series: Name → (x, y), each (n,); NaN and infinities are left out.
        title: What the chart shows, also read aloud.
        x_title, y_title: With units.
    """
    lines = {}
    for name, (x, y) in series.items():
        good = np.isfinite(x) & np.isfinite(y)
        if good.any():
            lines[name] = _thinned(x[good], y[good])
    if not lines:
        return ""
    x_ticks = nice_ticks(*_range([x for x, _ in lines.values()]))
    y_ticks = nice_ticks(*_range([y for _, y in lines.values()]))

    def across(value: Array | float) -> Array:
        share = (np.asarray(value) - x_ticks[0]) / (x_ticks[-1] - x_ticks[0])
        return np.asarray(_LEFT + share * (WIDTH - _LEFT - _RIGHT))

    def down(value: Array | float) -> Array:
        share = (np.asarray(value) - y_ticks[0]) / (y_ticks[-1] - y_ticks[0])
        return np.asarray(HEIGHT - _BOTTOM - share * (HEIGHT - _TOP - _BOTTOM))

    ends = "; ".join(f"{name} ends at {y[-1]:.4g}" for name, (_, y) in lines.items())
    bottom = HEIGHT - _BOTTOM
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}. {escape(ends)}." '
        'xmlns="http://www.w3.org/2000/svg">'
    ]
    parts += [
        f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down(tick):.1f}" y2="{down(tick):.1f}" class="grid"/>'
        f'<text x="{_LEFT - 6}" y="{down(tick) + 4:.1f}" text-anchor="end">{tick:g}</text>'
        for tick in y_ticks
    ]
    parts += [
        f'<text x="{across(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>' for tick in x_ticks
    ]
    labels = _spread([float(down(y[-1])) for _, y in lines.values()], _LABEL_HEIGHT, bottom)
    for i, ((name, (x, y)), label) in enumerate(zip(lines.items(), labels, strict=True)):
        colour, dash = COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]
        points = " ".join(f"{px:.1f},{py:.1f}" for px, py in zip(across(x), down(y), strict=True))
        # A single point has no line: a round cap makes it a dot.
        points = f"{points} {points}" if x.size == 1 else points
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-linecap="round"'
            f' stroke-dasharray="{dash}"/>'
            f'<text x="{across(x[-1]) + 6:.1f}" y="{label + 4:.1f}" fill="{colour}">{escape(name)}</text>'
        )
    middle, height = (_LEFT + WIDTH - _RIGHT) / 2, (bottom + _TOP) / 2
    parts.append(
        f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_title)}</text>'
        f'<text transform="translate(14 {height}) rotate(-90)" text-anchor="middle">{escape(y_title)}</text>'
        "</svg>"
    )
    return "".join(parts)


def _range(arrays: list[Array]) -> tuple[float, float]:
    return min(float(a.min()) for a in arrays), max(float(a.max()) for a in arrays)
