"""Histograms: gradient distances with the clipping threshold and the noise level marked on them, or two samples over
each other with their means: is one shifted or wider than the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpviz import _validate
from dpviz.charts import look
from dpviz.charts.axes import BOTTOM, Span, axis, bottom_axis, position
from dpviz.charts.labels import above
from dpviz.charts.marks import Array, Numbers, floats, short_floats
from dpviz.charts.plot import HEIGHT, Chart
from dpviz.charts.rows import Listed
from dpviz.charts.traces import QUIET, Trace, scatter, unseen
from dpviz.fields import numbers

if TYPE_CHECKING:
    import pandas as pd

HEAVY = 30.0  # the largest value over the median, beyond which the axis is logarithmic
FAR = 4.0  # times the largest distance, within which the axis is stretched to a mark
SIDES = {"l": 52, "r": 16, "b": BOTTOM}


@dataclass(frozen=True, slots=True)
class Mark:
    """A named vertical line: "C", "noise σC"; `note` says more ("5 % are clipped")."""

    x: float
    name: str
    note: str = ""
    color: str = look.BLUE


def _layout(
    edges: Array,
    marks: Sequence[Mark],
    *,
    tallest: float,
    log_x: bool,
    x_title: str,
    height: int,
    log_y: bool = False,
    percent: bool = False,
) -> dict[str, Any]:
    """Over bins between these edges; one row above the bars for each mark: their names never meet, however near the
    lines are."""
    low, high = float(edges[0]), float(edges[-1])
    top = 14 + 17 * max(len(marks), 1)
    y_span = (0.7, 1.3 * tallest) if log_y else (0.0, 1.05 * tallest)
    y_kind = "plain" if percent else "steps"
    y_axis = axis(span=y_span, log=log_y, kind=y_kind, most=max(3, (height - top - BOTTOM) // 34))
    if percent:
        y_axis["ticktext"] = [f"{text} %" for text in y_axis["ticktext"]]
    return look.base_layout(height, SIDES | {"t": top}) | {
        "hovermode": "closest",
        "xaxis": bottom_axis(x_title, span=(low, high), log=log_x),
        "yaxis": y_axis,
        "shapes": [_vertical(mark, row) for row, mark in enumerate(marks) if low <= mark.x <= high],
        "annotations": [_name(mark, row, (low, high), log_x) for row, mark in enumerate(marks)],
    }


def _vertical(mark: Mark, row: int) -> dict[str, Any]:
    where = {"xref": "x", "x0": mark.x, "x1": mark.x, "yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", **where, "line": {"color": mark.color, "width": 2, "dash": "dash" if row % 2 else "solid"}}


def _name(mark: Mark, row: int, span: Span, log: bool) -> dict[str, Any]:
    """The mark's name above the bars; an arrow where its line is outside."""
    words = f"<b>{mark.name} {numbers.epsilon(mark.x)}</b>" + (f" · {mark.note}" if mark.note else "")
    words = f"← {words}" if mark.x < span[0] else f"{words} →" if mark.x > span[1] else words
    at = min(max(mark.x, span[0]), span[1])
    return above(row, position(at, span, log), look.named(words, mark.color))


def _edges(low: float, high: float, log: bool, bins: int) -> Array:
    edges = np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high
    return edges


def _is_heavy(values: Array) -> bool:
    positive = values[values > 0]
    return bool(positive.size > 0 and values.max() > HEAVY * np.median(positive))


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
        noise = [] if self.noise_std is None else [Mark(self.noise_std, "noise", "", look.ORANGE)]
        marks = [*noise, *self.marks]
        distances = _validate.distances(self.distances)
        log = _is_heavy(distances)
        shown = distances[distances > 0] if log else distances
        low, high = _reach(shown, [mark.x for mark in marks], log)
        edges = _edges(low, high, log, 60)
        counts, _ = np.histogram(np.clip(shown, low, high), bins=edges)  # what the axis cuts off is in an outer bin
        more: dict[str, Any] = {"log_x": log, "log_y": self.log_count, "x_title": "distance ‖g − g′‖", "height": height}
        layout = _layout(edges, marks, tallest=float(counts.max(initial=1)), **more) | {"bargap": 0}
        notes = _zeros(distances.size - shown.size, "distance")
        return Chart({"data": [_bars(edges, counts)], "layout": layout}, notes)

    def table(self) -> pd.DataFrame:
        import pandas as pd

        shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
        quantiles = [numbers.plain(float(v), digits=4) for v in np.quantile(self.distances, shares)]
        return pd.DataFrame({"share below": [f"{100 * share:.0f} %" for share in shares], self.column: quantiles})

    def data(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({self.column: np.sort(self.distances)})

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
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
    filled = np.flatnonzero(heights)
    first, last = (int(filled[0]), int(filled[-1])) if filled.size else (0, heights.size - 1)
    span = np.array(_reach(bounds[[first, last + 1]], [mark.x for mark in marks], True))
    tallest = max(float(heights.max()), 1.0)
    layout = _layout(span, marks, tallest=tallest, log_x=True, x_title=x_title, height=height) | {"bargap": 0}
    return Chart({"data": [_bars(bounds[first : last + 2], heights[first : last + 1])], "layout": layout}, ())


def _reach(values: Array, marks: list[float], log: bool) -> Span:
    """From the smallest (0 on a plain axis) to the largest, stretched to marks that are not too far away."""
    low, high = float(values.min()) if log else 0.0, float(values.max())
    if not high > 0:
        high = 1.0
    far = FAR**4 if log else FAR
    high = max([high, *(1.05 * mark for mark in marks if mark <= far * high)])
    if log:
        low = max(min([low, *(mark / 1.05 for mark in marks if mark >= low / far)]), high * 1e-12)
    return (low, high) if low < high else (low / 2, high * 2)


def _bars(edges: Array, counts: Any) -> Trace:
    ends = [numbers.plain(edge) for edge in edges.tolist()]
    return {
        "type": "bar",
        "x": short_floats((edges[:-1] + edges[1:]) / 2, 9),
        "width": short_floats(edges[1:] - edges[:-1], 9),
        "y": counts.tolist(),
        "marker": {"color": look.rgba("#808080", 0.55), "line": {"width": 0}},
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
        values = [_validate.distances(sample.values) for sample in self.samples]
        every = np.concatenate(values)
        positive = every[every > 0]
        log = (_is_heavy(every) if self.log_x is None else self.log_x) and positive.size > 0
        edges = _edges(*_overlaid_reach(positive if log else every, log), log, bins)
        shares = [_shares(v[v > 0] if log else v, edges, v.size) for v in values]
        marks = [
            Mark(float(v.mean()), f"mean {sample.name}", color=sample.color)
            for sample, v in zip(self.samples, values, strict=True)
            if not sample.faded
        ]
        more: dict[str, Any] = {"log_x": log, "x_title": self.x_title, "height": height, "percent": True}
        layout = _layout(edges, marks, tallest=max(float(share.max()) for share in shares), **more)
        layout["xaxis"] |= {"showspikes": False, "hoverformat": ".3~g"}
        layout["hovermode"] = "x unified"
        drawn = sorted(zip(self.samples, shares, strict=True), key=lambda pair: not pair[0].faded)
        data = [trace for sample, share in drawn for trace in _traces(sample, edges, share, log)]
        return Chart({"data": data, "layout": layout}, _zeros(every.size - positive.size, "value") if log else ())

    def _blank(self, height: int) -> Chart:
        """An empty plot of the same size, so that nothing jumps when there is something to draw."""
        bare = {"visible": False, "range": [0, 1], "type": "linear"}
        words = {"text": self.empty, "showarrow": False, "x": 0.5, "y": 0.5, "font": {"size": 15}}
        layout = look.base_layout(height, SIDES | {"t": 48}) | {"xaxis": bare, "yaxis": bare}
        return Chart({"data": [unseen(0, 0)], "layout": layout | {"annotations": [words], "shapes": []}}, ())

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        kept = tuple(
            replace(sample, name=f"{self.named(name, other)}: {sample.name}", faded=True)
            for name, other in pinned
            if isinstance(other, OverlaidPlot)
            for sample in other.samples
        )
        return replace(self, samples=self.samples + kept)


def _overlaid_reach(values: Array, log: bool) -> Span:
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


def _traces(sample: Histogram, edges: Array, share: Array, log_x: bool) -> list[Trace]:
    """The outline with its ground, and unseen points in the bins' middles that answer the cursor."""
    stroke = {"color": look.rgba(sample.color, 0.5 if sample.faded else 1), "width": 1.2 if sample.faded else 2}
    corners = np.concatenate([[0.0], np.repeat(share, 2), [0.0]])
    outline = scatter(short_floats(np.repeat(edges, 2), 9), short_floats(corners), name=sample.name)
    outline |= {"line": stroke | {"shape": "linear"}} | QUIET
    if not sample.faded:
        outline |= {"fill": "tozeroy", "fillcolor": look.rgba(sample.color, 0.22)}
    middles = np.sqrt(edges[:-1] * edges[1:]) if log_x else (edges[:-1] + edges[1:]) / 2
    hover = f"{sample.name}: <b>%{{y:.1f}} %</b><extra></extra>"
    marker = {"color": sample.color, "size": 8, "opacity": 0}
    more = {"marker": marker, "name": sample.name, "hovertemplate": hover, "showlegend": False}
    return [outline, scatter(short_floats(middles, 9), short_floats(share), "markers", **more)]
