"""The small picture of a chart: curves where the chart has them, and nothing else."""

import re
from typing import Any

import numpy as np

from dpviz.charts import Axis, Line, LinePlot
from dpviz.charts.thumbnail import HEIGHT, MARGIN, MOST_POINTS, WIDTH, thumbnail

LEFT, RIGHT, TOP, BOTTOM = MARGIN, WIDTH - MARGIN, MARGIN, HEIGHT - MARGIN


def picture(trace: dict[str, Any], **axes: Any) -> str:
    usual = {"range": [0.0, 1.0]}
    layout = {"xaxis": usual, "yaxis": usual, **axes}
    return thumbnail({"data": [{"line": {"color": "#123456"}, **trace}], "layout": layout}, "a < b")


def drawn(svg: str) -> list[tuple[float, float]]:
    """The corners of its only curve."""
    [d] = re.findall(r'<path d="([^"]+)" fill="none" stroke="#123456"', svg)
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", d)]


def test_a_curve_goes_from_corner_to_corner_on_every_kind_of_axis() -> None:
    corners = [(LEFT, BOTTOM), (RIGHT, TOP)]
    assert drawn(picture({"x": [0.0, 1.0], "y": [0.0, 1.0]})) == corners
    log = {"type": "log", "range": [-2.0, 2.0]}
    assert drawn(picture({"x": [0.01, 100.0], "y": [0.0, 1.0]}, xaxis=log)) == corners
    assert drawn(picture({"x": [0.0, 1.0], "y": [0.01, 100.0]}, yaxis=log)) == corners


def test_a_panel_s_curve_stands_in_its_panel() -> None:
    half = {"range": [0.0, 1.0], "domain": [0.5, 1.0]}
    trace = {"x": [0.0, 1.0], "y": [0.0, 1.0], "xaxis": "x2", "yaxis": "y2"}
    assert drawn(picture(trace, xaxis2=half, yaxis2=half)) == [(WIDTH / 2, HEIGHT / 2), (RIGHT, TOP)]


def test_a_gap_stays_a_gap_and_what_an_axis_cannot_show_is_one() -> None:
    y = [0.0, 0.5, None, 0.5, 1.0]
    [d] = re.findall(r'<path d="([^"]+)" fill="none" stroke', picture({"x": [0, 0.2, 0.5, 0.8, 1], "y": y}))
    assert (d.count("M"), d.count("L")) == (2, 2)
    log = {"type": "log", "range": [-2.0, 0.0]}
    assert len(drawn(picture({"x": [0.0, 0.01, 1.0], "y": [0.0, 0.5, 1.0]}, xaxis=log))) == 2


def test_areas_marks_and_dashes_are_drawn_and_what_is_unseen_is_not() -> None:
    area = picture({"x": [0, 1, 1], "y": [0, 0, 1], "fill": "toself", "fillcolor": "#abcdef"})
    assert re.search(r'Z" fill="#abcdef"', area)
    marks = picture({"x": [0.5], "y": [0.5], "mode": "markers", "marker": {"color": "#654321"}})
    assert f'<circle cx="{WIDTH / 2:.1f}" cy="{HEIGHT / 2:.1f}"' in marks
    assert 'fill="#654321"' in marks
    assert "stroke-dasharray" in picture({"x": [0, 1], "y": [0, 1], "line": {"color": "#123456", "dash": "dash"}})
    assert "#123456" not in picture({"x": [0, 1], "y": [0, 1], "opacity": 0})


def test_a_ring_has_the_colour_of_its_edge_and_marks_have_their_own() -> None:
    ring = {"color": "rgba(255,255,255,0.85)", "line": {"color": "#111111"}}
    assert 'fill="#111111"' in picture({"x": [0.5], "y": [0.5], "mode": "markers", "marker": ring})
    two = picture({"x": [0.2, None, 0.5], "y": [0.5] * 3, "mode": "markers", "marker": {"color": ["#1", "#2", "#3"]}})
    assert re.findall(r'fill="(#\d)"', two) == ["#1", "#3"]


def test_a_long_curve_is_thinned_and_the_words_are_escaped() -> None:
    x = np.linspace(0.0, 1.0, 500).tolist()
    found = picture({"x": x, "y": x})
    assert len(drawn(found)) == MOST_POINTS
    assert drawn(found)[-1] == (RIGHT, TOP)
    assert 'aria-label="a &lt; b"' in found


def test_a_real_chart_has_its_curves_colours() -> None:
    x = np.geomspace(1.0, 1e4, 30)
    plot = LinePlot(Axis("steps", log=True), Axis("ε"), (Line("r", "Rényi", x, np.sqrt(x), "renyi_improved"),))
    assert plot.lines[0].hue in thumbnail(plot.chart().figure, plot.alt)
