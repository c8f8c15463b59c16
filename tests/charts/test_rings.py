"""Rings stand where they should on every kind of axis, and nowhere else."""

from __future__ import annotations

import math

import pytest

from dpviz.charts.lines import line_figure
from dpviz.charts.marks import Line
from dpviz.charts.rings import Ring, with_rings

LINE = Line(key="a", name="a", x=[1.0, 10.0, 100.0], y=[1.0, 2.0, 3.0], family="moments")


@pytest.mark.parametrize("log", [False, True])
def test_ring_with_its_hover_and_interval(log: bool) -> None:
    chart = line_figure([LINE], x_title="x", y_title="y", log_x=log, log_y=log)
    ringed = with_rings(chart, [Ring(10.0, 2.0, "<b>here</b>", "#1a62ba", 1.5, 2.25)])
    trace = ringed.figure["data"][-1]
    assert (trace["x"], trace["y"]) == ([10.0], [2.0])
    assert trace["error_y"]["array"] == [0.25]
    assert trace["error_y"]["arrayminus"] == [0.5]
    hover = ringed.figure["layout"]["annotations"][-1]
    assert hover["hovertext"] == "<b>here</b>"
    assert (hover["x"], hover["y"]) == ((1.0, math.log10(2.0)) if log else (10.0, 2.0))
    assert len(chart.figure["data"]) + 1 == len(ringed.figure["data"])  # the chart given is left as it was


def test_what_the_axes_do_not_show_is_left_out() -> None:
    chart = line_figure([LINE], x_title="x", y_title="y", log_x=True, log_y=True)
    outside = [Ring(1e9, 2.0, "", "#1a62ba"), Ring(10.0, -1.0, "", "#1a62ba"), Ring(0.0, 2.0, "", "#1a62ba")]
    assert with_rings(chart, outside) is chart
