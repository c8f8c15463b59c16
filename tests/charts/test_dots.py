"""Dot charts and guides: places, words, and what is left out."""

from __future__ import annotations

import math

import pytest

from dpviz.charts.dots import Dot, dot_figure
from dpviz.charts.guides import Guide, with_guides
from dpviz.charts.lines import line_figure
from dpviz.charts.look import LABEL_SIZE
from dpviz.charts.marks import Line

BLUE = "#1a62ba"


def dots() -> list[Dot]:
    return [
        Dot("a", 10.0, "ten", "a is ten", BLUE),
        Dot("b", 2.0, "two", "b is two", BLUE),
        Dot("c", None, "none", "c has none", BLUE),
        Dot("b", 5.0, "", "pinned", BLUE, faded=True),
        Dot("gone", 7.0, "", "pinned elsewhere", BLUE, faded=True),
    ]


def test_rows_dots_and_words() -> None:
    figure = dot_figure(dots(), x_title="σ", reference=10.0).figure
    assert figure["layout"]["yaxis"]["ticktext"] == ["a", "b", "c"]
    marks = [t for t in figure["data"] if t.get("mode") == "markers"]
    assert sorted((t["x"][0], t["y"][0]) for t in marks) == [(2.0, 1), (5.0, 1), (10.0, 0)]
    ties = [t for t in figure["data"] if t.get("mode") == "lines"]
    assert [t["x"] for t in ties] == [[10.0, 10.0], [10.0, 2.0]]
    words = {a["text"]: a for a in figure["layout"]["annotations"]}
    assert set(words) == {"<b>ten</b>", "<b>two</b>", "<b>none</b>"}
    assert words["<b>two</b>"]["x"] == words["<b>ten</b>"]["x"], "right of the line that ties it to the reference"
    assert words["<b>none</b>"]["x"] == 0.0


@pytest.mark.parametrize("values", [[], [None], [3.0], [1e-300, 1e300], [math.inf, 0.0]])
def test_extremes_give_a_finite_axis(values: list[float | None]) -> None:
    rows = [Dot(str(i), value, "x", "x", BLUE) for i, value in enumerate(values)]
    figure = dot_figure(rows, x_title="σ").figure
    low, high = figure["layout"]["xaxis"]["range"]
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low < high
    assert figure["data"]


def test_guides_stand_where_the_axes_say() -> None:
    line = Line(key="a", name="a", x=[1.0, 100.0], y=[10.0, 0.1], family="moments")
    chart = line_figure([line], x_title="σ", y_title="ε", log_x=True, log_y=True, y_range=(0.1, 10.0))
    found = with_guides(chart, Guide("x", 10.0, "my σ"), Guide("y", 1.0, "target"), Guide("x", 1e4, "far"))
    upright, level = found.figure["layout"]["shapes"][-2:]
    assert upright["x0"] == upright["x1"] == pytest.approx(0.5)
    assert level["y0"] == level["y1"] == pytest.approx(0.5)
    assert found.notes[-1] == "far lies outside the chart."
    assert not chart.figure["layout"]["shapes"], "the first chart stays as it was"


def test_a_line_dotted_up_to_a_point() -> None:
    line = Line(key="a", name="a", x=[1.0, 2.0, 3.0, 4.0], y=[4.0, 3.0, 2.0, 1.0], family="bayesian", dotted_until=2.0)
    data = line_figure([line], x_title="σ", y_title="ε").figure["data"]
    drawn = [(t["x"], t["line"]["dash"]) for t in data if t.get("name") == "a" and t.get("line", {}).get("width")]
    assert drawn == [([1.0, 2.0, 3.0], "dot"), ([3.0, 4.0], "solid")]


def test_many_rows_stand_apart_however_low_the_chart_was_to_be() -> None:
    rows = [Dot(str(i), 1.0 + i, "x", "x", BLUE) for i in range(14)]
    layout = dot_figure(rows, x_title="ratio", height=224).figure["layout"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    assert inner / len(rows) >= 1.3 * LABEL_SIZE
    assert dot_figure(rows[:2], x_title="ratio", height=224).figure["layout"]["height"] == 224
