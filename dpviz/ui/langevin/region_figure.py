"""The chart of the three conditions: three boundaries over batch and step size, and where all of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz.charts import look, numbers
from dpviz.charts.areas import Area, with_areas, with_names_on_lines
from dpviz.charts.captions import small
from dpviz.charts.lines import Chart, line_figure
from dpviz.charts.marks import Line
from dpviz.charts.rings import Ring, with_rings
from dpviz.ui.frame import CHART_HEIGHT, Drawing, Pinned
from dpviz.ui.langevin.curves import Answer
from dpviz.ui.langevin.region import holds, open_anywhere, open_interval, third
from dpviz.ui.langevin.settings import Settings

_WORDS = {True: "holds", False: "fails", None: "no step size is proven"}
_SIDES = {
    "first_condition": "(1) holds below",
    "second_condition": "(2) holds above",
    "third_condition": "(3) holds below",
}
_TINT = 0.09


def drawing(found: Answer, lines: Sequence[Line], pinned: Sequence[Pinned[Answer]]) -> Drawing:
    """Boundaries named on themselves, the side of each that keeps its condition tinted, settings as rings."""
    s = found.settings
    chart = line_figure(
        [replace(line, end="") for line in lines],
        x_title="batch τ (q = τ/N)",
        y_title="first step size η₁",
        log_x=True,
        log_y=True,
        x_hover="τ = %{x:.4~g}",
        x_range=(float(found.x[0]), float(found.x[-1])),
        y_range=_y_range(found),
        end_values=False,
        height=CHART_HEIGHT,
    )
    named = [replace(line, end=_SIDES.get(line.key.strip("."), line.name)) for line in lines]
    chart = with_names_on_lines(with_areas(chart, _areas(found)), named, avoid=[(s.batch, s.first)])
    chart = with_rings(chart, [_ring(other.result.settings, name, look.GREY) for name, other in _named(pinned)])
    chart = with_rings(chart, [_ring(s, _state(found), look.BLUE)])
    return Drawing(_with_name(chart, s).figure, alt(found))


def _named(pinned: Sequence[Pinned[Answer]]) -> list[tuple[str, Pinned[Answer]]]:
    return [
        (f"{pin.name}: τ = {pin.result.settings.batch:.4g}, η₁ = {pin.result.settings.first:.3g}", pin)
        for pin in pinned
    ]


def _areas(found: Answer) -> list[Area]:
    n = found.x.size
    nothing, all_ = np.zeros(n), np.full(n, np.inf)
    first, second = found.curves["first_condition"], found.curves["second_condition"]
    kept = third(found)
    low, high = open_interval(found)
    return [
        Area(found.x, nothing, first, look.BROWN, _TINT),
        Area(found.x, second, all_, look.MAUVE, _TINT),
        Area(found.x, nothing, np.where(np.isnan(kept), 0.0, kept), look.ORANGE, _TINT),
        Area(found.x, low, high, look.GREEN, 0.22, "all three hold"),
    ]


def _y_range(found: Answer) -> tuple[float, float] | None:
    """Around the present step size, the largest one for the claim, and where (1) meets (2)."""
    s = found.settings
    first, second = found.curves["first_condition"], found.curves["second_condition"]
    with np.errstate(divide="ignore"):
        apex = float(first[np.abs(np.log(first / second)).argmin()])
    seen = [s.first, found.largest, float(np.interp(s.batch, found.x, first)), apex]
    near = [v for v in seen if 1e-6 * s.first < v < 1e6 * s.first]
    low, high = min(near) / 300.0, max(near) * 100.0
    return (low, high) if low > 1e-290 and high < 1e290 else None


def _ring(s: Settings, text: str, color: str) -> Ring:
    return Ring(s.batch, s.first, text, color)


def _state(found: Answer) -> str:
    s, state = found.settings, holds(found)
    said = ", ".join(f"({i}) {_WORDS[v]}" for i, v in enumerate((state.first, state.second, state.third), start=1))
    return f"your τ = {numbers.plain(s.batch)}, η₁ = {numbers.plain(s.first)}: {said}"


def _with_name(chart: Chart, s: Settings) -> Chart:
    """ "yours" beside the ring."""
    layout = chart.figure["layout"]
    low, high = layout["xaxis"]["range"]
    left = np.log10(s.batch) > 0.7 * high + 0.3 * low
    words = small(
        "<b>yours</b>",
        x=float(np.log10(s.batch)),
        y=float(np.log10(s.first)),
        xanchor="right" if left else "left",
        xshift=-9 if left else 9,
        font={"size": look.LABEL_SIZE},
    )
    figure = chart.figure | {"layout": layout | {"annotations": [*layout["annotations"], words]}}
    return Chart(figure, chart.remarks)


def alt(found: Answer) -> str:
    """The takeaway for those who do not see it."""
    said = f"Step size η₁ against batch τ with the boundaries of three conditions; {_state(found)}."
    if not open_anywhere(found):
        return f"{said} Nowhere here do all three hold."
    low, high = open_interval(found)
    at = found.x[high > low]
    return f"{said} All three hold for some η₁ where τ is from {numbers.plain(at[0])} to {numbers.plain(at[-1])}."
