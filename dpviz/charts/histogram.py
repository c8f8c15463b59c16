"""Histograms of gradient distances with the clipping threshold and the noise level, and of two samples in one chart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.charts import look
from dpviz.charts.axes import BOTTOM, AxisScale, axis, bottom_axis
from dpviz.charts.labels import Mark, uprights
from dpviz.charts.marks import Numbers, floats, short_floats
from dpviz.charts.plot import HEIGHT, Chart
from dpviz.charts.rows import Listed
from dpviz.charts.traces import QUIET, Trace, scatter, unseen
from dpviz.fields import numbers

HEAVY = 30.0  # the largest value over the median, beyond which the axis is logarithmic
FAR = 4.0  # times the largest distance, within which the axis is stretched to a mark
SIDES = {"l": 52, "r": 16, "b": BOTTOM}


def _layout(
    scale: AxisScale, marks: Sequence[Mark], x_title: str, height: int, tallest: float, *, log: bool = False, kind: str
) -> look.PlotlyDict:
    """Bars up to `tallest` below one row for each mark's name; counts are logarithmic where `log`."""
    top = 14 + 17 * max(len(marks), 1)
    up = AxisScale(0.7, 1.3 * tallest, log) if log else AxisScale(0.0, 1.05 * tallest)
    layout = look.base_layout(height, SIDES | {"t": top}) | uprights(marks, scale, numbers.epsilon)
    y_axis = axis(up, kind=kind, most=max(3, (height - top - BOTTOM) // 34))
    return layout | {"hovermode": "closest", "xaxis": bottom_axis(x_title, scale), "yaxis": y_axis, "bargap": 0}


def _edges(scale: AxisScale, bins: int) -> Array:
    edges = scale.data(np.linspace(0.0, 1.0, bins + 1))
    edges[0], edges[-1] = scale.low, scale.high
    return edges


def _counts(values: Array, edges: Array) -> Array:
    """How many lie in each bin; what the axis cuts off is in an outer one."""
    return np.histogram(np.clip(values, edges[0], edges[-1]), bins=edges)[0]


def _is_heavy(values: Array) -> bool:
    positive = values[values > 0]
    return bool(positive.size > 0 and values.max() > HEAVY * np.median(positive))


def _scale(values: Array, marks: Sequence[Mark], log: bool, *, zero: bool) -> AxisScale:
    """From the smallest value (from 0 on a plain axis where `zero`, or where not all lie far from it) to the largest,
    stretched to marks that are not too far away."""
    low, high = float(values.min()), float(values.max())
    places = [mark.x for mark in marks]
    if not log:
        high = high if high > 0 else 1.0
        low = 0.0 if zero or low < 0.5 * high else low
    high = max([high, *(1.05 * place for place in places if place <= (FAR**4 if log else FAR) * high)])
    if log:
        low = max(min([low, *(place / 1.05 for place in places if place >= low / FAR)]), high * 1e-12)
    return AxisScale(low, high, log) if low < high else AxisScale(low / 2, high * 2, log)


def _zeros(count: int, what: str) -> tuple[str, ...]:
    """What is said of zeros on a logarithmic axis."""
    if not count:
        return ()
    verb = f"{what} is 0 and has" if count == 1 else f"{what}s are 0 and have"
    return (f"{numbers.steps(count)} {verb} no place on a logarithmic axis.",)


# --- distances --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class HistogramPlot:
    """How often each distance occurs, with named vertical lines: the figure, a table of their spread, the file of all
    of them, and a text.

    Attributes:
        distances: shape (m,), finite, ≥ 0, in the gradients' units; drawn on a logarithmic axis where the largest is
            over 30 times the median.
        noise_std: the absolute noise standard deviation, None for no line.
        marks: further vertical lines.
        alt: the plot in a sentence.
        log_count: logarithmic counts, for tails that a linear axis hides.
        column: what a distance is called in files.
    """

    distances: Array
    noise_std: float | None
    marks: tuple[Mark, ...]
    alt: str
    log_count: bool = False
    column: str = "distance"

    def chart(self, height: int = 300) -> Chart:
        noise = [] if self.noise_std is None else [Mark(self.noise_std, "noise", color=look.ORANGE)]
        marks = [*noise, *self.marks]
        distances = _validate.distances(self.distances)
        log = _is_heavy(distances)
        shown = distances[distances > 0] if log else distances
        scale = _scale(shown, marks, log, zero=True)
        edges = _edges(scale, 60)
        counts = _counts(shown, edges)
        tallest, title = float(counts.max(initial=1)), "distance ‖g − g′‖"
        layout = _layout(scale, marks, title, height, tallest, log=self.log_count, kind="steps")
        notes = _zeros(distances.size - shown.size, "distance")
        return Chart({"data": [_bars(edges, counts)], "layout": layout}, notes)

    def table(self) -> pd.DataFrame:
        shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
        quantiles = [numbers.plain(float(v), digits=4) for v in np.quantile(self.distances, shares)]
        return pd.DataFrame({"share below": [f"{100 * share:.0f} %" for share in shares], self.column: quantiles})

    def data(self) -> pd.DataFrame:
        return pd.DataFrame({self.column: np.sort(self.distances)})

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same: counts of several samples on each other tell nothing."""
        return self


def counted_histogram(
    edges: Numbers, counts: Numbers, *, marks: Sequence[Mark] = (), x_title: str, height: int = 300
) -> Chart:
    """Counts that were made elsewhere, on a logarithmic axis, with named vertical lines.

    Args:
        edges: shape (n + 1,), positive, increasing.
        counts: shape (n,), ≥ 0; empty bins at both ends are left out.
        marks: named vertical lines.
        x_title: axis title with unit.
        height: of the figure in pixels.

    Raises:
        ValueError: shapes that do not fit, edges that do not increase from above 0.
    """
    bounds, heights = floats(edges), floats(counts)
    if bounds.ndim != 1 or heights.shape != (bounds.size - 1,):
        raise ValueError(f"Expected one edge more than counts, found {bounds.shape} and {heights.shape}.")
    if not (bounds.size > 1 and bounds[0] > 0 and (np.diff(bounds) > 0).all()):
        raise ValueError("Expected edges that increase from above 0.")
    filled = np.flatnonzero(heights) if heights.any() else np.arange(heights.size)
    first, last = filled[0], filled[-1]
    scale = _scale(bounds[[first, last + 1]], marks, True, zero=False)
    layout = _layout(scale, marks, x_title, height, max(float(heights.max()), 1.0), kind="steps")
    return Chart({"data": [_bars(bounds[first : last + 2], heights[first : last + 1])], "layout": layout}, ())


def _bars(edges: Array, counts: Array) -> Trace:
    ends = [numbers.plain(edge) for edge in edges.tolist()]
    return {
        "type": "bar",
        "x": short_floats((edges[:-1] + edges[1:]) / 2, 9),
        "width": short_floats(edges[1:] - edges[:-1], 9),
        "y": counts.tolist(),
        "marker": {"color": look.rgba(look.QUIET, 0.55), "line": {"width": 0}},
        "customdata": [f"{low} – {high}" for low, high in zip(ends[:-1], ends[1:], strict=True)],
        "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra></extra>",
        "name": "distances",
    }


# --- samples over each other ------------------------------------------------------------------------------------------


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


@dataclass(frozen=True, eq=False, kw_only=True)
class OverlaidPlot(Listed):
    """Outlined, half-transparent histograms on common bins; each bin as its share of its sample, in percent.

    Attributes:
        samples: those of pinned plots, faded, behind the plot's own.
        x_title: axis title with unit.
        log_x: logarithmic axis; None chooses it where the largest value is over 30 times the median.
        empty: what is said in the place of samples that are not there.
    """

    samples: tuple[Histogram, ...]
    x_title: str
    log_x: bool | None = None
    empty: str = ""

    def chart(self, height: int = HEIGHT, bins: int = 50) -> Chart:
        if all(sample.faded for sample in self.samples):
            return self._blank(height)
        samples = sorted(self.samples, key=lambda sample: not sample.faded)
        values = [_validate.distances(sample.values) for sample in samples]
        every = np.concatenate(values)
        positive = every[every > 0]
        log = (_is_heavy(every) if self.log_x is None else self.log_x) and positive.size > 0
        scale = _scale(positive if log else every, (), log, zero=False)
        edges = _edges(scale, bins)
        shares = [100.0 * _counts(v[v > 0] if log else v, edges) / v.size for v in values]
        data, marks = [], []
        for sample, of_sample, share in zip(samples, values, shares, strict=True):
            data += _traces(sample, scale, edges, share)
            if not sample.faded:
                marks.append(Mark(float(of_sample.mean()), f"mean {sample.name}", color=sample.color))
        tallest = max(float(share.max()) for share in shares)
        layout = _layout(scale, marks, self.x_title, height, tallest, kind="percent")
        layout["xaxis"] |= {"showspikes": False, "hoverformat": ".3~g"}
        layout["hovermode"] = "x unified"
        return Chart({"data": data, "layout": layout}, _zeros(every.size - positive.size, "value") if log else ())

    def _blank(self, height: int) -> Chart:
        """An empty plot of the same size, so that nothing jumps when there is something to draw."""
        bare = {"visible": False, "range": [0, 1], "type": "linear"}
        words = {"text": self.empty, "showarrow": False, "x": 0.5, "y": 0.5, "font": {"size": 15}}
        layout = look.base_layout(height, SIDES | {"t": 48}) | {"xaxis": bare, "yaxis": bare}
        return Chart({"data": [unseen(0, 0)], "layout": layout | {"annotations": [words], "shapes": []}}, ())

    def with_pinned(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(sample, name=f"{name}: {sample.name}", faded=True)
            for name, other in self.of_kind(pinned)
            for sample in other.samples
        )
        return replace(self, samples=self.samples + kept)


def _traces(sample: Histogram, scale: AxisScale, edges: Array, share: Array) -> list[Trace]:
    """The outline with its ground, and unseen points in the bins' middles that answer the cursor."""
    stroke = {"color": look.rgba(sample.color, 0.5 if sample.faded else 1), "width": 1.2 if sample.faded else 2}
    corners = np.concatenate([[0.0], np.repeat(share, 2), [0.0]])
    outline = scatter(short_floats(np.repeat(edges, 2), 9), short_floats(corners), name=sample.name, line=stroke)
    if not sample.faded:
        outline |= {"fill": "tozeroy", "fillcolor": look.rgba(sample.color, 0.22)}
    middles = np.sqrt(edges[:-1] * edges[1:]) if scale.log else (edges[:-1] + edges[1:]) / 2
    hover = f"{sample.name}: <b>%{{y:.1f}} %</b><extra></extra>"
    marker = {"color": sample.color, "size": 8, "opacity": 0}
    more = {"marker": marker, "name": sample.name, "hovertemplate": hover, "showlegend": False}
    return [outline | QUIET, scatter(short_floats(middles, 9), short_floats(share), "markers", **more)]
