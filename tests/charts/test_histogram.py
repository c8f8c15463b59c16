"""Histograms count every value once, and name what they leave out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.charts import look
from dpviz.charts.histogram import Histogram, HistogramPlot, Mark, OverlaidPlot, counted_histogram

RNG = np.random.default_rng(5)
LIGHT = np.abs(RNG.normal(size=4000)) + 1
NORMAL, WIDE, HEAVY = RNG.normal(10, 1, 400), RNG.normal(12, 2, 300), RNG.weibull(0.4, 4000)
SOME_ZEROS = np.array([*HEAVY, 0.0, 0.0])
PLOT = HistogramPlot(LIGHT, noise_std=1.6, marks=(Mark(1.5, "C"), Mark(1e9, "far")), alt="")


@pytest.mark.parametrize("log_count", [False, True])
@pytest.mark.parametrize("distances", [LIGHT, HEAVY, np.full(5, 3.0), np.zeros(4)])
def test_every_distance_is_counted(distances: np.ndarray, log_count: bool) -> None:
    chart = replace(PLOT, distances=distances, log_count=log_count).chart()
    go.Figure(chart.figure)
    assert sum(chart.figure["data"][0]["y"]) == distances.size
    assert chart.notes == ()


def test_a_heavy_tail_turns_the_axis_logarithmic_and_bars_have_the_edges_of_their_bins() -> None:
    assert PLOT.chart().figure["layout"]["xaxis"]["type"] == "linear"
    figure = replace(PLOT, distances=HEAVY).chart().figure
    assert figure["layout"]["xaxis"]["type"] == "log"
    [bars] = figure["data"]
    middle, half = np.array(bars["x"]), np.array(bars["width"]) / 2
    left, right = middle - half, middle + half
    assert np.allclose(right[:-1], left[1:], rtol=1e-5)
    for low, high, count in zip(left[5:-1], right[5:-1], bars["y"][5:-1], strict=True):
        assert abs(np.sum((low <= HEAVY) & (high > HEAVY)) - count) <= 1


def test_marks_have_rows_of_their_own_and_far_ones_an_arrow() -> None:
    layout = PLOT.chart().figure["layout"]
    names = layout["annotations"]
    assert len({note["yshift"] for note in names}) == 3
    assert "→" in names[-1]["text"]
    assert len(layout["shapes"]) == 2


def test_counts_made_elsewhere_are_drawn_where_there_are_some() -> None:
    edges = np.geomspace(1e-3, 1e3, 7)
    [bars] = counted_histogram(edges, [0, 0, 3, 4, 0, 0], x_title="norm").figure["data"]
    assert bars["y"] == [3, 4]
    with pytest.raises(ValueError, match="one edge more than counts"):
        counted_histogram(edges, [1.0], x_title="norm")
    with pytest.raises(ValueError, match="increase from above 0"):
        counted_histogram([0.0, 1.0], [1.0], x_title="norm")


def overlaid(*samples: Any, **more: Any) -> OverlaidPlot:
    colors = (look.BLUE, look.ORANGE)
    named = [Histogram(name, v, color) for name, v, color in zip("ab", samples, colors, strict=False)]
    return OverlaidPlot(alt="", samples=tuple(named), x_title="distance", **more)


def spots(figure: dict[str, Any]) -> list[dict[str, Any]]:
    return [t for t in figure["data"] if t["mode"] == "markers"]


@pytest.mark.parametrize(
    "samples", [(NORMAL, WIDE), (HEAVY, NORMAL), (np.zeros(3), np.zeros(4)), (np.full(3, 2.0), np.full(3, 2.0))]
)
def test_shares_of_samples_over_each_other_add_up(samples: tuple[np.ndarray, np.ndarray]) -> None:
    figure = overlaid(*samples).chart().figure
    go.Figure(figure)
    assert [sum(t["y"]) for t in spots(figure)] == pytest.approx([100, 100], rel=1e-4)


def test_bins_hold_what_numpy_counts() -> None:
    figure = overlaid(NORMAL).chart(bins=10).figure
    counts, edges = np.histogram(NORMAL, bins=10)
    np.testing.assert_allclose(figure["data"][0]["x"][::2], edges, rtol=1e-6)
    np.testing.assert_allclose(spots(figure)[0]["y"], counts / 4, rtol=1e-4)


def test_means_are_named_and_drawn_but_for_pinned_samples() -> None:
    layout = overlaid(NORMAL, WIDE).beside([("pin", overlaid(WIDE))]).chart().figure["layout"]
    words = [note["text"] for note in layout["annotations"]]
    assert len(words) == len(layout["shapes"]) == 2
    assert "mean a" in words[0]
    assert layout["shapes"][1]["x0"] == pytest.approx(WIDE.mean())


def test_what_cannot_be_drawn_is_told() -> None:
    several = replace(PLOT, distances=SOME_ZEROS).chart().notes
    assert several == ("2 distances are 0 and have no place on a logarithmic axis.",)
    chart = overlaid(SOME_ZEROS[:-1]).chart()
    assert chart.figure["layout"]["xaxis"]["type"] == "log"
    assert chart.notes == ("1 value is 0 and has no place on a logarithmic axis.",)
    assert overlaid(empty="Nothing yet.").chart().figure["layout"]["annotations"][0]["text"] == "Nothing yet."
