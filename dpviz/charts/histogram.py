"""Gradient distances as a histogram, with the clipping threshold and the noise level marked on it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpviz import _validate
from dpviz.charts import captions, look
from dpviz.charts.ink import named
from dpviz.charts.lines import BOTTOM, Chart
from dpviz.charts.marks import Array, Numbers, short_floats
from dpviz.charts.ticks import axis, baseline
from dpviz.fields import numbers

if TYPE_CHECKING:
    import pandas as pd

HEAVY = 30.0
FAR = 4.0


@dataclass(frozen=True, slots=True)
class Mark:
    """A named vertical line: "C", "noise σC"; `note` says more ("5 % are clipped")."""

    x: float
    name: str
    note: str = ""
    color: str = look.BLUE


def distance_histogram(
    distances: Numbers,
    *,
    clip: float | None = None,
    noise_std: float | None = None,
    marks: Sequence[Mark] = (),
    log_count: bool = False,
    log_x: bool | None = None,
    bins: int = 60,
    x_title: str = "distance ‖g − g′‖",
    height: int = 300,
) -> Chart:
    """How often each distance occurs, with C and the noise level as named vertical lines.

    Args:
        distances: shape (m,), finite, ≥ 0, in the gradients' units.
        clip: C, the clipping threshold; its note gives the share of distances above it.
        noise_std: the absolute noise standard deviation.
        marks: further vertical lines.
        log_count: logarithmic counts, for tails that a linear axis hides.
        log_x: logarithmic distances; None chooses it where the largest is over 30 times the median.
        bins: number of bins, 1 to 400.
        x_title: axis title with unit.
        height: of the figure in pixels.

    Raises:
        ValueError: distances that are none, a threshold or noise that is not positive, bins out of range.
    """
    found = _validate.distances(distances)
    if not 1 <= bins <= 400:
        raise ValueError(f"Expected bins={bins} in [1, 400].")
    lines = _marks(found, clip, noise_std) + list(marks)
    positive = found[found > 0]
    if log_x is None:
        log_x = positive.size > 0 and found.max() > HEAVY * np.median(positive)
    log_x = log_x and positive.size > 0
    kept = positive if log_x else found
    low, high = _reach(kept, [mark.x for mark in lines], log_x)
    edges = np.geomspace(low, high, bins + 1) if log_x else np.linspace(low, high, bins + 1)
    edges[0], edges[-1] = low, high
    counts, _ = np.histogram(kept, bins=edges)
    # One row above the bars for each mark: their names never meet, however near the lines are.
    top = 14 + 17 * max(len(lines), 1)
    inner = height - top - BOTTOM
    tallest = float(counts.max(initial=1))
    span = (0.7, 1.3 * tallest) if log_count else (0.0, 1.05 * tallest)
    y_axis = axis(span=span, log=log_count, kind="steps", most=max(3, inner // 34))
    layout = look.base_layout(height, {"l": 52, "r": 16, "t": top, "b": BOTTOM}) | {
        "bargap": 0,
        "hovermode": "closest",
        "xaxis": baseline(axis(span=(low, high), log=log_x, most=9, grid=False))
        | {"title": {"text": x_title, "standoff": 14}, "ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS},
        "yaxis": y_axis,
        "shapes": [_vertical(mark, i) for i, mark in enumerate(lines) if low <= mark.x <= high],
        "annotations": [_name(mark, i, low, high, log_x) for i, mark in enumerate(lines)],
    }
    notes = []
    if kept.size < found.size:
        zeros = found.size - kept.size
        verb = "distance is 0 and has" if zeros == 1 else "distances are 0 and have"
        notes.append(f"{numbers.steps(zeros)} {verb} no place on a logarithmic axis.")
    return Chart({"data": [_bars(edges, counts)], "layout": layout}, tuple(notes))


@dataclass(frozen=True, eq=False)
class HistogramPlot:
    """Distances as a plot: the figure, a table of their spread, the file of all of them, and a text.

    Attributes:
        distances, noise_std, marks, log_count: as `distance_histogram` takes them.
        alt: the plot in a sentence.
        column: what a distance is called in files.
    """

    distances: Array
    noise_std: float | None
    marks: tuple[Mark, ...]
    alt: str
    log_count: bool = False
    column: str = "distance"

    def chart(self, height: int = 300) -> Chart:
        return distance_histogram(
            self.distances, noise_std=self.noise_std, marks=self.marks, log_count=self.log_count, height=height
        )

    def table(self) -> pd.DataFrame:
        import pandas as pd

        shares = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
        found = [numbers.plain(float(v), digits=4) for v in np.quantile(self.distances, shares)]
        return pd.DataFrame({"share below": [f"{100 * share:.0f} %" for share in shares], self.column: found})

    def data(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({self.column: np.sort(self.distances)})

    def beside(self, pinned: Sequence[tuple[str, Any]]) -> Self:
        """The same: counts of several samples on each other tell nothing."""
        return self


def _marks(found: Array, clip: float | None, noise_std: float | None) -> list[Mark]:
    built = []
    if clip is not None:
        c = _validate.scalar("clip", _validate.positive("clip", clip))
        over = float(np.mean(found > c))
        note = "none is larger" if over == 0 else f"{numbers.plain(100 * over)} % are larger"
        built.append(Mark(c, "C", note, look.BLUE))
    if noise_std is not None:
        level = _validate.scalar("noise_std", _validate.positive("noise_std", noise_std))
        built.append(Mark(level, "noise", "", look.ORANGE))
    return built


def _reach(kept: Array, marks: list[float], log: bool) -> tuple[float, float]:
    """From the smallest to the largest distance, stretched to marks that are not too far away."""
    low, high = float(kept.min()) if log else 0.0, float(kept.max())
    if not high > 0:
        high = 1.0
    far = FAR**4 if log else FAR
    high = max([high, *(1.05 * m for m in marks if m <= far * high)])
    if log:
        low = max(min([low, *(m / 1.05 for m in marks if m >= low / far)]), high * 1e-12)
    return (low, high) if low < high else (low / 2, high * 2)


def _bars(edges: Array, counts: Any) -> dict[str, Any]:
    shown = [
        f"{numbers.plain(a)} – {numbers.plain(b)}" for a, b in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    return {
        "type": "bar",
        "x": short_floats((edges[:-1] + edges[1:]) / 2, 9),
        "width": short_floats(edges[1:] - edges[:-1], 9),
        "y": counts.tolist(),
        "marker": {"color": look.rgba("#808080", 0.55), "line": {"width": 0}},
        "customdata": shown,
        "hovertemplate": "%{customdata}: <b>%{y:,d}</b><extra></extra>",
        "name": "distances",
    }


def _vertical(mark: Mark, row: int) -> dict[str, Any]:
    where = {"xref": "x", "x0": mark.x, "x1": mark.x, "yref": "paper", "y0": 0, "y1": 1}
    return {"type": "line", **where, "line": {"color": mark.color, "width": 2, "dash": "dash" if row % 2 else "solid"}}


def _name(mark: Mark, row: int, low: float, high: float, log: bool) -> dict[str, Any]:
    """The mark's name above the bars, on the side where there is room; an arrow where its line is outside."""
    inside = low <= mark.x <= high
    at = min(max(mark.x, low), high)
    share = math.log(at / low) / math.log(high / low) if log else (at - low) / (high - low)
    left = share > 0.6
    arrow = "" if inside else " →" if mark.x > high else "← "
    words = f"<b>{mark.name} {numbers.epsilon(mark.x)}</b>" + (f" · {mark.note}" if mark.note else "")
    text = arrow + words if mark.x < low else words + arrow
    where = {"xref": "paper", "x": share, "yref": "paper", "y": 1}
    place = {"xanchor": "right" if left else "left", "xshift": 4 if left else -2, "yanchor": "bottom"}
    font = {"font": {"size": look.SMALL_SIZE + 0.5}}
    return captions.small(named(text, mark.color), **where, **place, yshift=3 + 17 * row) | font


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
    bounds, found = np.asarray(edges, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if bounds.ndim != 1 or found.shape != (bounds.size - 1,):
        raise ValueError(f"Expected one edge more than counts, found {bounds.shape} and {found.shape}.")
    if not (bounds.size > 1 and bounds[0] > 0 and (np.diff(bounds) > 0).all()):
        raise ValueError("Expected edges that increase from above 0.")
    filled = np.flatnonzero(found)
    first, last = (int(filled[0]), int(filled[-1])) if filled.size else (0, found.size - 1)
    low, high = _reach(np.array([bounds[first], bounds[last + 1]]), [mark.x for mark in marks], True)
    top = 14 + 17 * max(len(marks), 1)
    inner = height - top - BOTTOM
    span = (0.0, 1.05 * max(float(found.max()), 1.0))
    layout = look.base_layout(height, {"l": 52, "r": 16, "t": top, "b": BOTTOM}) | {
        "bargap": 0,
        "hovermode": "closest",
        "xaxis": baseline(axis(span=(low, high), log=True, most=9, grid=False))
        | {"title": {"text": x_title, "standoff": 14}, "ticks": "outside", "ticklen": 4, "tickcolor": look.AXIS},
        "yaxis": axis(span=span, log=False, kind="steps", most=max(3, inner // 34)),
        "shapes": [_vertical(mark, i) for i, mark in enumerate(marks) if low <= mark.x <= high],
        "annotations": [_name(mark, i, low, high, True) for i, mark in enumerate(marks)],
    }
    bars = _bars(bounds[first : last + 2], found[first : last + 1])
    return Chart({"data": [bars], "layout": layout}, ())
