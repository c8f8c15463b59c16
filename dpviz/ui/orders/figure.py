"""The Orders page's chart from its curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dpviz.charts import look, numbers
from dpviz.charts.alt import alt_text
from dpviz.charts.areas import with_names_on_lines
from dpviz.charts.lines import line_figure
from dpviz.charts.marks import Band, Line, Point, Region
from dpviz.charts.rings import Ring, with_rings
from dpviz.ui import state
from dpviz.ui.frame import CHART_HEIGHT, Drawing, Pinned, Remark
from dpviz.ui.orders.curves import Orders, Series, in_view
from dpviz.ui.orders.settings import LOG_X, LOG_Y

COLORS = {"C0": look.BLUE, "C1": look.ORANGE, "C2": look.GREEN, "asymptotic": look.MAUVE, "plateau": look.MAUVE}
THRESHOLD_KEYS = ("C0", "C1", "C2")
TITLES = {
    "epsilon": "ε at T by order",
    "divergence": "R(α) of one step",
    "thresholds": "ε at T by order",
    "concentrated": "R(α)/α of one step",
}


def line(series: Series, *, faded: bool = False, tag: str = "") -> Line:
    return Line(
        key=f"{tag}.{series.key}",
        name=f"{tag}: {series.name}" if tag else series.name,
        x=series.orders - 1.0,
        y=series.values,
        family="renyi_improved" if series.key in THRESHOLD_KEYS else series.key,
        faded=faded,
        approximate=series.approximate,
        color=COLORS.get(series.key),
    )


def drawing(found: Orders, pinned: Sequence[Pinned[Orders]], points: Sequence[Point]) -> Drawing:
    """The chart with the pinned states' exact curves faded, minima ringed and printed values as diamonds."""
    view = found.settings.view
    lines = [line(s) for s in found.series if s.orders.size]
    for name, other in pinned:
        there = in_view(other, view)
        kept = there.series if view == "thresholds" else (there.exact,)
        lines += [line(s, faded=True, tag=name) for s in kept]
    shows_epsilon = view in ("epsilon", "thresholds")
    log_x = state.get(LOG_X)
    log_y = state.get(LOG_Y) if shows_epsilon else True
    span = _span(found, log_x)
    built = line_figure(
        [replace(one, end="") for one in lines] if shows_epsilon else lines,
        x_title="λ = α − 1",
        y_title=TITLES[view],
        log_x=log_x,
        log_y=log_y,
        x_hover="λ = %{x:,.4~r}",
        x_range=span,
        y_range=_height(found, log_y) if shows_epsilon else _decades(found, span),
        points=points if view == "epsilon" else (),
        bands=_tight(found, span),
        regions=_regions(found),
        second_reading="attack" if shows_epsilon else None,
        end_values=False,
        height=CHART_HEIGHT,
    )
    rings = _rings(found)
    if shows_epsilon:  # both arms of ε(α) leave through the top: names at their ends would stand beside nothing
        built = with_names_on_lines(built, lines, avoid=[(ring.x, ring.y) for ring in rings])
    built = with_rings(built, rings)
    alt = alt_text(lines, x_name="order λ", y_name=TITLES[view], lower="lowest at the largest order")
    # Why a bound has no curve is said among the page's remarks, with the condition that fails.
    known = {s.name for s in found.series}
    remarks = [Remark(text) for text in built.remarks if not any(text.startswith(name) for name in known)]
    return Drawing(built.figure, alt + _minimum_in_words(found), remarks)


def _span(found: Orders, log_x: bool) -> tuple[float, float]:
    """Orders around the deciding one, or from a tenth (where it is whole: from 1) to the largest asked for."""
    last = found.settings.largest
    if not log_x:
        return 0.0, last
    if found.settings.view == "thresholds":
        return 1.0, last
    least, value = found.exact.least()
    if found.settings.view != "epsilon" or math.isnan(least):
        return 0.1, last
    # Where the curve is within a few times its minimum, and a third of a decade more.
    near = found.exact.orders[found.exact.values <= 3.0 * value] - 1.0
    return max(float(near[0]) / 2.0, 1e-4), min(2.0 * float(near[-1]), last)


def _height(found: Orders, log_y: bool) -> tuple[float, float] | None:
    """Around the minima: both arms of ε(α) rise without end."""
    least = [value for s in found.series if not math.isnan(value := s.least()[1]) and value > 0]
    if not least:
        return None
    low, high = min(least), max(least)
    if found.tight is not None and found.tight[0] > 0:
        low = min(low, found.tight[0])
    if log_y:
        return low / 1.6, max(6.0 * high, 30.0 * low)
    return 0.0, max(3.0 * low, 1.35 * high if high < 20.0 * low else 0.0)


def _decades(found: Orders, span: tuple[float, float]) -> tuple[float, float] | None:
    """What the curves show over the span on a log axis, the steep end cut at what is without sampling."""
    seen = []
    for s in found.series:
        inside = (s.orders - 1.0 >= span[0]) & (s.orders - 1.0 <= span[1])
        values = s.values[inside]
        seen.append(values[np.isfinite(values) & (values > 0)])
    values = np.concatenate(seen)
    if not values.size:
        return None
    low, high = float(values.min()), float(values.max())
    # Air above the curves for the name of the hatched region.
    return low / 2.0, max(high * (30.0 if found.settings.view == "concentrated" else 4.0), low * 20.0)


def _tight(found: Orders, span: tuple[float, float]) -> list[Band]:
    """The truth does not depend on an order: a level band that every ε(α) lies above."""
    if found.tight is None or not all(math.isfinite(v) for v in found.tight):
        return []
    low, high = found.tight
    ends = [span[0] or 1e-9, span[1]]
    return [Band("tight", ends, [low, low], [high, high])]


def _regions(found: Orders) -> list[Region]:
    view = found.settings.view
    if view not in ("divergence", "concentrated") or found.settings.rate == 0.0:
        return []
    if view == "concentrated":
        if math.isnan(found.leaves):
            return []
        return [Region(found.leaves - 1.0, math.inf, f"off the plateau from λ = {numbers.plain(found.leaves - 1)}")]
    if math.isnan(found.closed_last):
        return [Region(-math.inf, math.inf, "closed form holds nowhere")]
    last = found.closed_last - 1.0
    if last >= found.settings.largest:
        return []
    return [Region(last, math.inf, f"no closed form beyond λ = {numbers.plain(last)}")]


def _rings(found: Orders) -> list[Ring]:
    view = found.settings.view
    built = []
    if view in ("epsilon", "thresholds") and found.settings.rate > 0:
        for s in found.series:
            alpha, value = s.least()
            if not math.isnan(alpha):
                text = f"smallest {s.name}: <b>{numbers.epsilon(value)}</b> at λ = {numbers.plain(alpha - 1)}"
                built.append(Ring(alpha - 1.0, value, text, COLORS.get(s.key) or look.style(s.key).color))
    if view == "epsilon" and not math.isnan(found.moments[0]):
        alpha, value = found.moments
        text = f"moments accountant (whole λ ≤ 32): <b>{numbers.epsilon(value)}</b> at λ = {alpha - 1:.0f}"
        built.append(Ring(alpha - 1.0, value, text, look.style("moments").color))
    return built


def _minimum_in_words(found: Orders) -> str:
    if found.settings.view not in ("epsilon", "thresholds"):
        return ""
    alpha, value = found.exact.least()
    if math.isnan(alpha):
        return ""
    return f" The curve {found.exact.name} is lowest at λ = {numbers.plain(alpha - 1)} with {numbers.epsilon(value)}."
