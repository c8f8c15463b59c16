"""The Attack page's charts from their curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpviz.charts import look, numbers
from dpviz.charts.alt import alt_text
from dpviz.charts.lines import Chart, line_figure
from dpviz.charts.marks import Line, Region
from dpviz.charts.rings import Ring, with_rings
from dpviz.ui.attack.curves import NAMES, Found, Series
from dpviz.ui.attack.presets import PRINTED
from dpviz.ui.frame import CHART_HEIGHT, Drawing, Pinned, Remark

COLORS = {
    "bound": look.GREEN,
    "pure": look.MAUVE,
    "accuracy": look.GREEN,
    "belief": look.ORANGE,
    "pair": look.BLUE,
    "renyi": look.GREEN,
    "tight": look.ORANGE,
    "unsampled": look.MAUVE,
    "guess": look.GREY,
    "outlier": look.ORANGE,
    "sure": look.BROWN,
    "resident": look.BLUE,
    "with": look.ORANGE,
    "without": look.BLUE,
    "own": look.BLUE,
    "bayesian": look.ORANGE,
    "dp": look.GREEN,
}
# Which curve of a pinned state stays, by question.
KEPT = {
    "success": ("bound", "accuracy", "belief"),
    "roc": ("tight", "renyi"),
    "town": ("outlier",),
    "releases": ("with",),
}


def line(series: Series, *, faded: bool = False, tag: str = "") -> Line:
    name = NAMES[series.key]
    return Line(
        key=f"{tag}.{series.key}",
        name=f"{tag}: {name}" if tag else name,
        x=series.x,
        y=series.y,
        family="moments" if series.key != "bayesian" else "bayesian",
        faded=faded,
        # Guessing is no bound but where bounds end; what was measured is none either, and is solid all the same.
        approximate=series.key == "guess",
        color=COLORS[series.key],
    )


def drawing(found: Found, pinned: Sequence[Pinned[Found]]) -> Drawing:
    """The chart of the question asked, with the pinned states' main curve faded."""
    view = found.settings.view
    lines = [line(s) for s in found.series]
    for name, other in pinned:
        kept = [s for s in other.series if s.key in KEPT.get(view, ("own", "bayesian"))]
        lines += [line(s, faded=True, tag=name) for s in (kept[:1] if view == "roc" else kept)]
    built, alt = {
        "success": _success,
        "roc": _roc,
        "town": _town,
        "releases": _releases,
        "residents": _residents,
    }[view](found, lines)
    return Drawing(built.figure, alt, [Remark(text) for text in built.remarks])


Drawn = tuple[Chart, str]


def _success(found: Found, lines: list[Line]) -> Drawn:
    s = found.settings
    fair = s.prior == 0.5
    last = max(s.largest, 1e-9)
    low = min(0.48, 0.9 * s.prior) if not fair else 0.48
    built = line_figure(
        lines,
        x_title="ε",
        y_title="right guesses, at most" if fair else "right guesses, and belief that you are in, at most",
        x_hover="ε = %{x:,.4~r}",
        x_range=(0.0, last),
        y_range=(low, 1.02),
        points=[p for p in PRINTED if p.x <= last] if fair else (),
        end_values=False,
        height=CHART_HEIGHT,
    )
    told = {"right guesses": ("right", look.GREEN)} | ({} if fair else {"belief": ("belief", look.ORANGE)})
    rings, said = [], []
    for what, (fact, color) in told.items():
        value = numbers.probability(found.facts[fact], up=True)
        text = f"{what} at ε = {numbers.plain(s.epsilon)}: <b>{value}</b> at most"
        rings.append(Ring(s.epsilon, found.facts[fact], text, color))
        said.append(f"{what} {value}")
    alt = alt_text(lines, x_name="ε", y_name="highest probability", lower="lowest")
    return with_rings(built, rings), f"{alt} At ε = {numbers.plain(s.epsilon)} at most: {', '.join(said)}."


def _roc(found: Found, lines: list[Line]) -> Drawn:
    log = found.settings.log_rates
    built = line_figure(
        lines,
        x_title="false positive rate: called in, but out",
        y_title="true positive rate: called in, and in",
        log_x=log,
        log_y=log,
        x_hover="FPR %{x:.4~r}",
        x_range=(1e-6, 1.0) if log else (0.0, 1.0),
        y_range=(1e-6, 1.3) if log else (0.0, 1.02),
        end_values=False,
        height=CHART_HEIGHT,
    )
    return built, alt_text(lines, x_name="false positive rate", y_name="true positive rate", lower="lowest")


def _measured(x: float, value: float, low: float, high: float, what: str, color: str) -> Ring:
    text = (
        f"measured, {what}: <b>{numbers.probability(value)}</b> "
        f"(99 % interval {numbers.probability(low)} to {numbers.probability(high)})"
    )
    return Ring(x, value, text, color, low, high)


def _town(found: Found, lines: list[Line]) -> Drawn:
    assert found.outlier is not None
    assert found.resident is not None
    largest = float(found.series[0].x[-1])
    low = min(0.48, float(np.nanmin([line.y for line in lines if not line.faded])) - 0.02)
    built = line_figure(
        lines,
        x_title="ε of the release",
        y_title="share of right guesses",
        x_hover="ε = %{x:,.4~r}",
        x_range=(0.0, largest),
        y_range=(low, 1.02),
        end_values=False,
        height=CHART_HEIGHT,
    )
    o, r, e = found.outlier, found.resident, found.epsilon
    rings = [
        _measured(e, o.accuracy[-1], o.accuracy_low[-1], o.accuracy_high[-1], "outlier", COLORS["outlier"]),
        _measured(e, r.accuracy[-1], r.accuracy_low[-1], r.accuracy_high[-1], "resident", COLORS["resident"]),
    ]
    if not math.isnan(o.sure[-1]):
        rings.append(_measured(e, o.sure[-1], o.sure_low[-1], o.sure_high[-1], "sure claims", COLORS["sure"]))
    alt = alt_text(lines, x_name="ε", y_name="share of right guesses", lower="lowest")
    return with_rings(built, rings), alt


def _releases(found: Found, lines: list[Line]) -> Drawn:
    top = max(float(np.max(line.y)) for line in lines)
    span = float(found.series[0].x[0]), float(found.series[0].x[-1])
    built = line_figure(
        lines,
        x_title="released mean income (thousand)",
        y_title="density",
        x_hover="mean %{x:,.4~r}",
        x_range=span,
        y_range=(0.0, 1.25 * top),
        regions=[Region(found.facts["middle"], math.inf, "here the attacker says: the outlier is in town")],
        end_values=False,
        height=CHART_HEIGHT,
    )
    centres = (numbers.plain(found.facts["base"]), numbers.plain(found.facts["there"]))
    alt = f"Two densities of the released mean, centred at {centres[0]} without the outlier and {centres[1]} with."
    return built, alt


def _residents(found: Found, lines: list[Line]) -> Drawn:
    built = line_figure(
        lines,
        x_title="share of residents left out, 1 − p",
        y_title="ε at δ",
        log_x=True,
        log_y=True,
        x_kind="delta",
        x_hover="1 − p = %{x:.3~g}",
        second_reading="attack",
        height=CHART_HEIGHT,
    )
    return built, alt_text(lines, x_name="share left out", x_kind="delta", lower="lowest")
