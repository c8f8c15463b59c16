"""The distance histogram counts everything and names what it leaves out."""

import numpy as np
import plotly.graph_objects as go
import pytest
from scipy.stats import norm

from dpviz.charts import Mark, distance_histogram

RNG = np.random.default_rng(5)
LIGHT = np.abs(RNG.normal(size=4000)) + 1
HEAVY = RNG.weibull(0.5, size=4000)


@pytest.mark.parametrize("log_count", [False, True])
@pytest.mark.parametrize("distances", [LIGHT, HEAVY, np.full(5, 3.0), np.zeros(4)])
def test_every_distance_is_counted(distances: np.ndarray, log_count: bool) -> None:
    chart = distance_histogram(distances, clip=1.5, noise_std=3.0, log_count=log_count)
    go.Figure(chart.figure)
    assert sum(chart.figure["data"][0]["y"]) == distances.size
    assert chart.notes == ()


def test_a_heavy_tail_turns_the_axis_logarithmic() -> None:
    assert distance_histogram(HEAVY).figure["layout"]["xaxis"]["type"] == "log"
    assert distance_histogram(LIGHT).figure["layout"]["xaxis"]["type"] == "linear"
    assert distance_histogram(HEAVY, log_x=False).figure["layout"]["xaxis"]["type"] == "linear"


def test_bars_have_the_edges_of_their_bins() -> None:
    bars = distance_histogram(HEAVY, bins=20).figure["data"][0]
    left, right = np.array(bars["x"]) - np.array(bars["width"]) / 2, np.array(bars["x"]) + np.array(bars["width"]) / 2
    assert np.allclose(right[:-1], left[1:], rtol=1e-5)
    for low, high, count in zip(left[5:-1], right[5:-1], bars["y"][5:-1], strict=True):
        assert abs(np.sum((low <= HEAVY) & (high > HEAVY)) - count) <= 1


def test_the_share_above_the_threshold_is_written() -> None:
    chart = distance_histogram(np.arange(1, 101), clip=90)
    assert any("10 % are larger" in a["text"] for a in chart.figure["layout"]["annotations"])
    share = float(np.mean(LIGHT > 2))
    assert share == pytest.approx(2 * norm.sf(1), abs=0.03)
    assert any(
        f"{100 * share:.3g} %" in a["text"] for a in distance_histogram(LIGHT, clip=2).figure["layout"]["annotations"]
    )


def test_marks_have_rows_of_their_own_and_far_ones_an_arrow() -> None:
    chart = distance_histogram(LIGHT, clip=1.5, noise_std=1.6, marks=[Mark(1e9, "far")])
    names = chart.figure["layout"]["annotations"]
    assert len({a["yshift"] for a in names}) == 3
    assert "→" in names[-1]["text"]
    assert len(chart.figure["layout"]["shapes"]) == 2


def test_zeros_on_a_logarithmic_axis_are_named() -> None:
    chart = distance_histogram([0.0, 0.0, 1.0, 100.0], log_x=True)
    assert chart.notes == ("2 distances are 0 and have no place on a logarithmic axis.",)
