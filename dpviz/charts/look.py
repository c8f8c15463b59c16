"""The one look of every chart: colours, dashes, greys, fonts, inks, the base layout and Plotly's buttons.

A colour means the same on every page: each family of accountants has one (`FAMILIES`), and no curve of a family has
another. Marks that are no accountant's have one of the same palette, which says nothing but that they differ.

The palette was chosen for both themes at once (contrast above 3.1 on #FFFFFF and on #171614), because Plotly keeps a
line's colour when the theme is switched. For those who see no green or no red, families of one lightness have another
dash. Text needs more: WCAG 2.1 asks for a contrast of 3 of a line and of 4.5 of text (success criteria 1.4.11 and
1.4.3). No colour reaches 4.5 on both grounds, so names have an `ink` for each, of which the browser takes the theme's.
Lines that must be quiet are a half-transparent grey, which is quiet on both grounds.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from dpviz.accounting.adaptive.filter import NAME as FILTER
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.methods import (
    Basic,
    ClosedForm,
    MixtureOdometer,
    Moments,
    OdometerAccountant,
    Renyi,
    Strong,
    Tight,
)

PlotlyDict = dict[str, Any]  # a figure, or a part of one, as Plotly reads it
PlotlyPart = Mapping[str, Any]  # one that is only read

BLUE, ORANGE, GREEN, MAUVE, BROWN, GREY, RED = PALETTE = (
    "#1f69c4",
    "#d47721",
    "#32a27a",
    "#a97fb0",
    "#7e6336",
    "#696969",
    "#b5366b",
)
PALE_RED, PALE_GREY = "#d3678f", "#8c8c8c"
ANOTHER_PERSON = "bayesian_another"  # Bayesian DP beside that of the same person in each step
# Of Bayesian DP by the quantile that C is of, from red to gold around its orange: the smaller, the redder.
QUANTILES = {
    "q01": "#b8443a",
    "q05": "#c04f36",
    "q25": "#cb6330",
    "q50": ORANGE,
    "q75": "#c27f1a",
    "q95": "#b08412",
    "q99": "#9c860c",
}
# Of policies that choose the noise or the batch of an epoch.
POLICIES = {
    "fixed": GREY,
    "baseline": GREY,
    "noise": BLUE,
    "batch": ORANGE,
    "tune": GREEN,
    "last": GREEN,
    "all": MAUVE,
}
# Of what a training run measures, by the first word of its name.
MEASURED = {
    "test": BLUE,
    "train": GREY,
    "posterior": ORANGE,
    "private": GREEN,
    "batch": MAUVE,
    "drawn": GREY,
    "expected": BLUE,
    "reported": BROWN,
}
# Of pages: a link on dark, words of caution and of problems on either ground. Controls are grey.
ACCENTS = ("#7fb2f0", "#8a4a06", "#e2a05c", "#c23b3b", "#9c2626", "#f2a5a5")
QUIET = "#808080"  # guides, and a histogram without a name
GRID = "rgba(128,128,128,0.16)"
MINOR_GRID = "rgba(128,128,128,0.07)"
AXIS = "rgba(128,128,128,0.45)"
BAND, EDGE = 0.18, 0.95  # opacity of a band and of its edges
HATCH = "rgba(128,128,128,0.35)"
LABEL_SIZE = 13
SMALL_SIZE = 12.0
GROUNDS = ("#ffffff", "#171614")  # light, dark
INK = "#22211f"  # of text on the light one
LEAST = 4.6  # of text: a little more than 4.5, for rounding
LINE = 3.0  # of a line
# Few buttons, and none that sends the chart to Plotly's servers.
REMOVED = ["pan2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "select2d", "lasso2d", "sendChartToCloud"]


@dataclass(frozen=True, slots=True)
class Style:
    """How a family of curves is drawn, on every page alike."""

    color: str
    dash: str = "solid"
    width: float = 2.25


FAMILIES: dict[str, Style] = {
    Moments.name: Style(BLUE),
    Renyi().family: Style(GREEN),
    # The same mechanism and divergence with an older conversion: the same hue, its own dash, never the "dash" that
    # means "approximation" nor the "dot" that means "dominated by its tail".
    Renyi("classic").family: Style(GREEN, "longdashdot", 2.0),
    ClosedForm.name: Style(BROWN),
    BAYESIAN: Style(ORANGE, width=2.75),
    ANOTHER_PERSON: Style(ORANGE, "20px,4px", 2.75),
    Strong.name: Style(MAUVE),
    Basic.name: Style(PALE_GREY, "20px,4px", 2.0),
    Tight.name: Style(GREY),
    # What one may stop at any time, or within a budget: one hue, a dash each, and two lightnesses.
    MixtureOdometer.name: Style(RED, "20px,3px", 2.5),
    OdometerAccountant.name: Style(PALE_RED, "12px,3px", 2.75),
    "odometer_other": Style(PALE_RED, "12px,3px,3px,3px", 2.25),
    FILTER: Style(RED, "30px,4px,4px,4px", 2.5),
    "rogers": Style(PALE_RED, "30px,6px"),
    "budget": Style(GREY, "longdashdot", 1.5),
}

# Styles of lines that are no accountant's; most bring their own colour.
SOLID, NEUTRAL, DASHED, AT_VOTES, FOLLOWED = "solid", "neutral", "dashed", "at_votes", "followed"
PLAIN: dict[str, Style] = {
    SOLID: Style(BLUE),
    NEUTRAL: Style(GREY, width=2.0),
    DASHED: Style(GREY, "longdashdot", 2.0),
    AT_VOTES: Style(BROWN),  # ε of PATE that only holds for the votes there are
    FOLLOWED: Style(BROWN, width=1.5),  # ε of single examples of a run, each by its own gradients
}


def style(family: str) -> Style:
    """The style of a family; a name without one gets a colour of its own, the same at each run."""
    if given := FAMILIES.get(family) or PLAIN.get(family):
        return given
    which = sum(family.encode())
    dashes = ("solid", "longdashdot", "longdash")
    return Style(PALETTE[which % len(PALETTE)], dashes[which // len(PALETTE) % len(dashes)])


def measured(name: str) -> str:
    """The colour of a quantity that a training run measures."""
    return MEASURED.get(name.split()[0], BLUE)


def rgba(color: str, opacity: float) -> str:
    """`color` ("#rrggbb") as an rgba() string with `opacity` in [0, 1]."""
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def base_layout(height: int, margin: dict[str, int]) -> PlotlyDict:
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
        "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": "rgba(128,128,128,0.6)", "activecolor": QUIET},
    }


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


def export_config(*, filename: str = "dpviz", image_format: str = "png") -> PlotlyDict:
    """The `config` of a Plotly chart: few buttons, and an image that is named and sharp.

    Args:
        filename: name of the downloaded image, without ending; what file systems dislike becomes "-".
        image_format: "png" or "svg".
    """
    clean = re.sub(r"[^\w.=+-]+", "-", filename).strip("-.") or "dpviz"
    return {
        "displaylogo": False,
        "modeBarButtonsToRemove": REMOVED,
        "toImageButtonOptions": {"format": image_format, "filename": clean[:120], "scale": 2},
    }
