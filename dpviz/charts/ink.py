"""Colours that text of a chart can be read in, in both themes.

A line may be lighter than its name: WCAG 2.1 asks for a contrast of 3 of a line and of 4.5 of text (success criteria
1.4.11 and 1.4.3). No colour reaches 4.5 on both grounds, so text has one for each, and the browser takes the theme's.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise

GROUNDS = ("#ffffff", "#171614")  # light, dark
LEAST = 4.6  # of text: a little more than 4.5, for rounding
LINE = 3.0  # of a line


def luminance(color: str) -> float:
    """Relative luminance of "#rrggbb", 0 (black) to 1 (white) (WCAG 2.1)."""
    shares = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.1)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@lru_cache(maxsize=256)
def ink(color: str) -> str:
    """`color` ("#rrggbb") for text, as near to it as a readable one can be, for each theme.

    A CSS colour that Plotly takes in the style of a `<span>` within a text, and nowhere else.
    """
    light, dark = (_readable(color, ground) for ground in GROUNDS)
    return f"light-dark({light},{dark})"


@lru_cache(maxsize=256)
def estimate(color: str) -> str:
    """`color` for a curve that is no bound: the same hue at the other end of the lightness that a line can have on both
    grounds, so that an estimate and the bound beside it differ to every eye."""
    light = contrast(color, GROUNDS[0]) < contrast(color, GROUNDS[1])
    ground, end = (GROUNDS[1], 0) if light else (GROUNDS[0], 255)
    steps = [_blended(color, end, percent) for percent in range(101)]
    return next((one for one, far in pairwise(steps) if contrast(far, ground) < LINE), color)


def named(name: str, color: str) -> str:
    """`name` written in `color`, as Plotly's pseudo-HTML."""
    return f"<span style='color:{ink(color)}'>{name}</span>"


def _readable(color: str, ground: str) -> str:
    """`color`, darkened on a light ground and lightened on a dark one until its contrast is LEAST."""
    end = 0 if luminance(ground) > 0.5 else 255
    steps = (_blended(color, end, percent) for percent in range(101))
    return next(one for one in steps if contrast(one, ground) >= LEAST)


def _blended(color: str, end: int, percent: int) -> str:
    """`color`, so many percent of the way to black (0) or white (255)."""
    parts = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{round(v + (end - v) * percent / 100):02x}" for v in parts)
