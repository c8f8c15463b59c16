"""What bounds allow and what was reached: bars from 50 %, lines where they were measured, all of it in view."""

import plotly.graph_objects as go
import pytest

from dpviz.charts import look
from dpviz.charts.allowed import Allowed, Reached, allowed_figure


def row(name, success, **more):
    return Allowed(name, success, f"at most {success}", f"hover {name}", look.BLUE, **more)


def test_bars_and_lines():
    chart = allowed_figure(
        [row("moments", 0.9), row("odometer", 0.95)],
        [Reached("measured", 0.52, 0.49, 0.55, look.ORANGE), Reached("pinned", 0.6, 0.58, 0.62, look.GREY, True)],
        x_title="right",
    )
    go.Figure(chart.figure)
    bars = [t for t in chart.figure["data"] if t["type"] == "bar"]
    assert [b["base"][0] + b["x"][0] for b in bars] == pytest.approx([90, 95])
    band, line, faded = chart.figure["layout"]["shapes"]
    assert (band["x0"], band["x1"], line["x0"], faded["x0"]) == pytest.approx((49, 55, 52, 60))
    low, high = chart.figure["layout"]["xaxis"]["range"]
    assert low < 49
    assert 95 < high <= 100


@pytest.mark.parametrize(("bound", "low", "high"), [(1.0, 0.0, 1.0), (0.5, 0.5, 0.5), (0.500001, 0.3, 0.4)])
def test_extremes_stay_in_view(bound, low, high):
    chart = allowed_figure([row("a", bound)], [Reached("m", (low + high) / 2, low, high, look.BLUE)], x_title="right")
    go.Figure(chart.figure)
    first, last = chart.figure["layout"]["xaxis"]["range"]
    assert 0 <= first < last <= 100
    assert first <= 100 * low
    assert last >= 100 * max(bound, high)


def test_nothing_measured_yet():
    go.Figure(allowed_figure([row("a", 0.7)], [], x_title="right").figure)
