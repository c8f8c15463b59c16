"""The one look of every chart: colours, dashes, greys, fonts and the base layout.

The palette was chosen for both themes at once (contrast ≥ 3 on #FFFFFF and on #171614, CIEDE2000 ≥ 16.8 between any
two under the three colour blindnesses), because Plotly keeps a line's colour when the theme is switched. Text needs
more: names take `ink` of their line's colour, all else has the theme's. Lines that must be quiet are a half-transparent
grey, which is quiet on both grounds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

BLUE, ORANGE, GREEN, MAUVE, BROWN, GREY = PALETTE = (
    "#1a62ba",
    "#d57922",
    "#33a27c",
    "#ab83b1",
    "#7a5f32",
    "#636363",
)
GRID = "rgba(128,128,128,0.16)"
MINOR_GRID = "rgba(128,128,128,0.07)"
AXIS = "rgba(128,128,128,0.45)"
BAND, EDGE = 0.18, 0.36  # opacity of a band and of its edges
HATCH = "rgba(128,128,128,0.35)"
LABEL_SIZE = 13
SMALL_SIZE = 12.0
FINE_SIZE = 11


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of curves is drawn, on every page alike."""

    color: str
    dash: str = "solid"
    width: float = 2.25


FAMILIES: dict[str, Style] = {
    "moments": Style(BLUE),
    "renyi_improved": Style(GREEN),
    # The same mechanism and divergence with an older conversion: the same hue, its own dash, never the "dash" that
    # means "approximation" nor the "dot" that means "dominated by its tail".
    "renyi_classic": Style(GREEN, "longdashdot", 2.0),
    "closed_form": Style(BROWN),
    "bayesian": Style(ORANGE, width=2.75),
    "strong": Style(MAUVE),
    "basic": Style(GREY, width=2.0),
    "tight": Style("#808080", width=1.5),
    # What one may stop at any time, or within a budget: solid to the eye, for none of them meets the solid blue,
    # orange or mauve of other pages, and yet a style of its own.
    "odometer": Style(BLUE, "4000px,1px", 2.75),
    "odometer_run": Style(MAUVE, "4000px,2px", 2.5),  # beside the moments accountant, which is blue
    "odometer_other": Style(BLUE, "longdashdot", 2.0),
    "filter": Style(ORANGE, "4000px,1px", 2.5),
    "rogers": Style(MAUVE, "4000px,1px"),
    "budget": Style(GREY, "longdashdot", 1.5),
}


def style(family: str) -> Style:
    """The style of a family; a name without one gets a colour of its own, the same at each run."""
    if family in FAMILIES:
        return FAMILIES[family]
    which = sum(family.encode())
    dashes = ("solid", "longdashdot", "longdash")
    return Style(PALETTE[which % len(PALETTE)], dashes[which // len(PALETTE) % len(dashes)])


def rgba(color: str, opacity: float) -> str:
    """`color` ("#rrggbb") as an rgba() string with `opacity` in [0, 1]."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def base_layout(height: int, margin: dict[str, int]) -> dict[str, Any]:
    """What all layouts share: clear ground, no legend, calm hover, thin spaces between thousands."""
    return {
        "height": height,
        "margin": margin | {"autoexpand": False, "pad": 0},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "showlegend": False,
        "separators": ".\u202f",
        "font": {"size": SMALL_SIZE + 0.5},
        "hoverlabel": {"font": {"size": LABEL_SIZE}, "align": "left"},
        "dragmode": "zoom",
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "rgba(128,128,128,0.6)", "activecolor": "#7f7f7f"},
    }
