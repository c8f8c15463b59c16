"""Charts of rows: dots and bars where they belong, words, tables, files, and what a pin keeps."""

from __future__ import annotations

import math
from dataclasses import replace

import plotly.graph_objects as go
import pytest

from dpviz.charts import look
from dpviz.charts.plot import Axis, Plot
from dpviz.charts.rows import Allowed, AllowedPlot, Dot, DotPlot, Reached

BLUE = look.BLUE
AXIS = Axis("noise σ needed", name="σ for ε ≤ 2", column="sigma", log=True)
DOTS = (
    Dot("first: the best", 2.0, "2.00", "first is 2", BLUE, note="−20 % noise", label="first", key="one"),
    Dot("second", 10.0, "10.0", "second is 10", BLUE),
    Dot("third", None, "–", "third", BLUE, instead="none: see below", why="too strict"),
)
PLOT = DotPlot(AXIS, DOTS, reference=10.0, compared="against second", summary="noise needed for ε ≤ 2")


def test_everything_follows_from_the_dots() -> None:
    assert isinstance(PLOT, Plot)
    assert PLOT.alt == "noise needed for ε ≤ 2: first 2.00; second 10.0; third –."
    assert PLOT.table().to_dict("list") == {
        "method": ["first", "second", "third"],
        "σ for ε ≤ 2": ["2.00", "10.0", "–"],
        "against second": ["−20 % noise", "–", "–"],
    }
    data = PLOT.data()
    assert data["method"].tolist() == ["one", "second", "third"]
    assert data["sigma"].tolist()[:2] == [2.0, 10.0]
    assert data["sigma"].isna().tolist() == [False, False, True]
    assert data["why_none"].tolist() == ["", "", "too strict"]


def test_rows_dots_and_words() -> None:
    pinned = (Dot("second", 5.0, "", "pinned", BLUE, faded=True), Dot("gone", 7.0, "", "elsewhere", BLUE, faded=True))
    figure = replace(PLOT, dots=DOTS + pinned).chart().figure
    assert figure["layout"]["yaxis"]["ticktext"] == ["first: the best", "second", "third"]
    marks = [t for t in figure["data"] if t.get("mode") == "markers"]
    assert sorted((t["x"][0], t["y"][0]) for t in marks) == [(2.0, 0), (5.0, 1), (10.0, 1)]
    ties = [t["x"] for t in figure["data"] if t.get("mode") == "lines"]
    assert ties == [[10.0, 2.0], [10.0, 10.0]]
    words = {note["text"]: note["x"] for note in figure["layout"]["annotations"]}
    assert [*words] == ["<b>2.00</b>  −20 % noise", "<b>10.0</b>", "none: see below"]
    first, second, third = words.values()
    assert first == second, "right of the line that ties it to the reference"
    assert third == 0.0


def test_pins_add_faded_dots_of_the_same_axis_alone() -> None:
    both = PLOT.beside([("σ <3>", PLOT), ("T", replace(PLOT, x=Axis("steps", column="steps")))])
    assert [(dot.name, dot.hover) for dot in both.dots if dot.faded] == [
        ("first: the best", "σ &lt;3&gt;: 2.00"),
        ("second", "σ &lt;3&gt;: 10.0"),
    ]
    assert both.table().equals(PLOT.table())
    assert both.alt == PLOT.alt
    again = PLOT.beside([("both", both)])
    assert sum(dot.faded for dot in again.dots) == 2, "what was pinned beside it is not its own"


@pytest.mark.parametrize("values", [[], [None], [3.0], [1e-300, 1e300], [math.inf, 0.0]])
def test_extremes_give_a_finite_axis(values: list[float | None]) -> None:
    dots = tuple(Dot(str(i), value, "x", "x", BLUE) for i, value in enumerate(values))
    figure = replace(PLOT, dots=dots).chart().figure
    low, high = figure["layout"]["xaxis"]["range"]
    assert math.isfinite(low)
    assert math.isfinite(high)
    assert low < high
    assert figure["data"]


def test_many_rows_stand_apart_however_low_the_chart_was_to_be() -> None:
    many = tuple(Dot(str(i), 1.0 + i, "x", "x", BLUE) for i in range(14))
    layout = replace(PLOT, dots=many).chart(224).figure["layout"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    assert inner / 14 >= 1.3 * look.LABEL_SIZE
    assert replace(PLOT, dots=many[:2]).chart(224).figure["layout"]["height"] == 224


def attacks(*bounds: float, reached: tuple[Reached, ...] = ()) -> AllowedPlot:
    rows = tuple(
        Allowed(f"bound {i}", success, f"at most {success}", "hover", BLUE) for i, success in enumerate(bounds)
    )
    return AllowedPlot(alt="", bounds=rows, reached=reached, x_title="right")


def test_bars_go_from_guessing_to_what_is_allowed_and_lines_stand_where_an_attack_was() -> None:
    measured, pinned = Reached("measured", 0.52, 0.49, 0.55, BLUE), Reached("pinned", 0.6, 0.58, 0.62, BLUE, True)
    figure = attacks(0.9, 0.95, reached=(measured, pinned)).chart().figure
    go.Figure(figure)
    bars = [t for t in figure["data"] if t["type"] == "bar"]
    assert [b["base"][0] + b["x"][0] for b in bars] == pytest.approx([90, 95])
    band, line, faded = figure["layout"]["shapes"]
    assert (band["x0"], band["x1"], line["x0"], faded["x0"]) == pytest.approx((49, 55, 52, 60))
    go.Figure(attacks(0.7).chart().figure)


@pytest.mark.parametrize(("bound", "low", "high"), [(1.0, 0.0, 1.0), (0.5, 0.5, 0.5), (0.500001, 0.3, 0.4)])
def test_extreme_attacks_stay_in_view(bound: float, low: float, high: float) -> None:
    figure = attacks(bound, reached=(Reached("m", (low + high) / 2, low, high, BLUE),)).chart().figure
    go.Figure(figure)
    first, last = figure["layout"]["xaxis"]["range"]
    assert 0 <= first < last <= 100
    assert first <= 100 * low
    assert last >= 100 * max(bound, high)
