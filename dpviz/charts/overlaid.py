"""Two samples as histograms over each other, with their means: is one shifted or wider than the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dpviz import _validate
from dpviz.charts import histogram, look
from dpviz.charts.histogram import HEAVY, Mark
from dpviz.charts.lines import BOTTOM, Chart
from dpviz.charts.listed import Listed
from dpviz.charts.marks import Array, Numbers, short_floats
from dpviz.charts.plot import HEIGHT
from dpviz.charts.ticks import axis, baseline
from dpviz.charts.traces import QUIET
from dpviz.fields import numbers


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """One sample.

    Attributes:
        name: what the chart calls it.
        values: shape (m,), m >= 2, finite, >= 0.
        color: "#rrggbb".
        faded: a pinned state's: its outline alone, thin, and no mean.
    """

    name: str
    values: Numbers
    color: str
    faded: bool = False


def overlaid_histograms(
    samples: Sequence[Histogram], *, x_title: str, log_x: bool | None = None, bins: int = 50, height: int = 430
) -> Chart:
    """Outlined, half-transparent histograms on common bins; each bin as its share of its sample, in percent.

    Args:
        samples: at least one.
        x_title: axis title with unit.
        log_x: logarithmic axis; None chooses it where the largest value is over 30 times the median.
        bins: number of bins, 1 to 400.
        height: of the figure in pixels.

    Raises:
        ValueError: a sample that is none, bins out of range.
    """
    if not 1 <= bins <= 400:
        raise ValueError(f"Expected bins={bins} in [1, 400].")
    found = [_validate.distances(sample.values) for sample in samples]
    whole = np.concatenate(found)
    positive = whole[whole > 0]
    if log_x is None:
        log_x = positive.size > 0 and whole.max() > HEAVY * np.median(positive)
    log_x = log_x and positive.size > 0
    low, high = _reach(positive if log_x else whole, log_x)
    edges = np.geomspace(low, high, bins + 1) if log_x else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high
    shares = [_shares(values[values > 0] if log_x else values, edges, values.size) for values in found]
    marks = [
        Mark(float(values.mean()), f"mean {sample.name}", color=sample.color)
        for sample, values in zip(samples, found, strict=True)
        if not sample.faded
    ]
    top = 14 + 17 * max(len(marks), 1)
    inner = height - top - BOTTOM
    tallest = max(float(share.max()) for share in shares)
    y_axis = axis(span=(0.0, 1.05 * tallest), log=False, most=max(3, inner // 34))
    layout = look.base_layout(height, {"l": 52, "r": 16, "t": top, "b": BOTTOM}) | {
        "hovermode": "x unified",
        "xaxis": baseline(axis(span=(low, high), log=log_x, most=9, grid=False))
        | {"title": {"text": x_title, "standoff": 14}, "ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS}
        | {"showspikes": False, "hoverformat": ".3~g"},
        "yaxis": y_axis | {"ticktext": [f"{text} %" for text in y_axis["ticktext"]]},
        "shapes": [histogram._vertical(mark, i) for i, mark in enumerate(marks) if low <= mark.x <= high],
        "annotations": [histogram._name(mark, i, low, high, log_x) for i, mark in enumerate(marks)],
    }
    data: list[dict[str, Any]] = []
    for sample, share in sorted(zip(samples, shares, strict=True), key=lambda pair: not pair[0].faded):
        data += _traces(sample, edges, share, log_x)
    return Chart({"data": data, "layout": layout}, _left_out(whole, positive) if log_x else ())


@dataclass(frozen=True, eq=False, kw_only=True)
class OverlaidPlot(Listed):
    """Histograms over each other as a plot.

    Attributes:
        samples: those of pinned plots, faded, behind the plot's own.
        x_title, log_x: as `overlaid_histograms` takes them.
        empty: what is said in the place of samples that are not there.
    """

    samples: tuple[Histogram, ...]
    x_title: str
    log_x: bool | None = None
    empty: str = ""

    def chart(self, height: int = HEIGHT) -> Chart:
        if all(sample.faded for sample in self.samples):
            return _blank(self.empty, height)
        return overlaid_histograms(self.samples, x_title=self.x_title, log_x=self.log_x, height=height)

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(sample, name=f"{self.named(name, other)}: {sample.name}", faded=True)
            for name, other in pinned
            if isinstance(other, OverlaidPlot)
            for sample in other.samples
        )
        return replace(self, samples=self.samples + kept)


def _blank(words: str, height: int) -> Chart:
    """An empty plot of the same size, so that nothing jumps when there is something to draw."""
    unseen = {"visible": False, "range": [0, 1], "type": "linear"}
    layout = look.base_layout(height, {"l": 52, "r": 16, "t": 48, "b": BOTTOM}) | {
        "xaxis": unseen,
        "yaxis": unseen,
        "annotations": [{"text": words, "showarrow": False, "x": 0.5, "y": 0.5, "font": {"size": 15}}],
        "shapes": [],
    }
    spot = {"type": "scatter", "mode": "markers", "x": [0], "y": [0], "opacity": 0, "hoverinfo": "skip"}
    return Chart({"data": [spot], "layout": layout}, ())


def _reach(values: Array, log: bool) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    if log:
        low = max(low, high * 1e-12)
    # On a plain axis 0 belongs to the picture unless everything lies far from it.
    elif low < 0.5 * high or not high > 0:
        low = 0.0
    return (low, high) if low < high else (low / 2, high * 2 or 1.0)


def _shares(values: Array, edges: Array, whole: int) -> Array:
    """Percent of `whole` in each bin; what the axis cuts off counts to its outer bins."""
    return 100.0 * np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)[0] / whole


def _traces(sample: Histogram, edges: Array, share: Array, log_x: bool) -> list[dict[str, Any]]:
    """The outline with its ground, and unseen points in the bins' middles that answer the cursor."""
    stroke = {"color": look.rgba(sample.color, 0.5 if sample.faded else 1), "width": 1.2 if sample.faded else 2}
    outline = {
        "type": "scatter",
        "mode": "lines",
        "x": short_floats(np.repeat(edges, 2), 9),
        "y": short_floats(np.concatenate([[0.0], np.repeat(share, 2), [0.0]])),
        "line": stroke | {"shape": "linear"},
        "name": sample.name,
    } | QUIET
    if not sample.faded:
        outline |= {"fill": "tozeroy", "fillcolor": look.rgba(sample.color, 0.22)}
    middles = np.sqrt(edges[:-1] * edges[1:]) if log_x else (edges[:-1] + edges[1:]) / 2
    spots = {
        "type": "scatter",
        "mode": "markers",
        "x": short_floats(middles, 9),
        "y": short_floats(share),
        "marker": {"color": sample.color, "size": 8, "opacity": 0},
        "name": sample.name,
        "hovertemplate": f"{sample.name}: <b>%{{y:.1f}} %</b><extra></extra>",
        "showlegend": False,
    }
    return [outline, spots]


def _left_out(whole: Array, positive: Array) -> tuple[str, ...]:
    zeros = whole.size - positive.size
    if not zeros:
        return ()
    verb = "value is 0 and has" if zeros == 1 else "values are 0 and have"
    return (f"{numbers.steps(zeros)} {verb} no place on a logarithmic axis.",)
