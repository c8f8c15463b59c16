"""Overlaid histograms: every value counted once, in its bin, as a share of its own sample."""

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.charts import look
from dpviz.charts.overlaid import Histogram, overlaid_histograms

RNG = np.random.default_rng(5)
LIGHT, WIDE, HEAVY = RNG.normal(10, 1, 400), RNG.normal(12, 2, 300), RNG.weibull(0.4, 500)


def spots(chart):
    return [t for t in chart.figure["data"] if t["mode"] == "markers"]


@pytest.mark.parametrize(
    "values", [(LIGHT, WIDE), (HEAVY, LIGHT), (np.zeros(3), np.zeros(4)), (np.full(3, 2.0), np.full(3, 2.0))]
)
def test_shares_add_up(values):
    chart = overlaid_histograms(
        [Histogram("a", values[0], look.BLUE), Histogram("b", values[1], look.ORANGE)], x_title="distance"
    )
    go.Figure(chart.figure)
    assert [sum(t["y"]) for t in spots(chart)] == pytest.approx([100, 100], rel=1e-4)


def test_bins_hold_what_numpy_counts():
    chart = overlaid_histograms([Histogram("a", LIGHT, look.BLUE)], x_title="d", bins=10)
    outline = chart.figure["data"][0]
    edges = np.array(outline["x"][::2])
    counts, _ = np.histogram(LIGHT, bins=10, range=(LIGHT.min(), LIGHT.max()))
    np.testing.assert_allclose(edges, np.linspace(LIGHT.min(), LIGHT.max(), 11), rtol=1e-6)
    np.testing.assert_allclose(spots(chart)[0]["y"], counts / 4, rtol=1e-4)


def test_means_are_named_and_drawn():
    chart = overlaid_histograms(
        [
            Histogram("train", LIGHT, look.BLUE),
            Histogram("test", WIDE, look.ORANGE),
            Histogram("old", WIDE, "#636363", True),
        ],
        x_title="d",
    )
    words = [a["text"] for a in chart.figure["layout"]["annotations"]]
    assert len(words) == len(chart.figure["layout"]["shapes"]) == 2
    assert "mean train" in words[0]
    assert chart.figure["layout"]["shapes"][1]["x0"] == pytest.approx(WIDE.mean())


def test_zeros_on_a_log_axis_are_told():
    chart = overlaid_histograms([Histogram("a", [*HEAVY, 0.0], look.BLUE)], x_title="d")
    assert chart.figure["layout"]["xaxis"]["type"] == "log"
    assert chart.notes == ("1 value is 0 and has no place on a logarithmic axis.",)
