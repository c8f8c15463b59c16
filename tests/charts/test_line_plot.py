"""The line chart: valid for Plotly, small, true at each x, calm where numbers explode, and names where nothing is."""

import json
import math
import re
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.charts import look
from dpviz.charts.axes import BOTTOM, TOP, AxisScale, Box, Plane
from dpviz.charts.labels import text_width
from dpviz.charts.look import named
from dpviz.charts.marks import Area, Band, Column, Floor, Guide, Line, Point, Reference, Region, Ring
from dpviz.charts.names import _between, _room, _roomiest, boxes_of, region_names
from dpviz.charts.plot import Axis, Chart, LinePlot, alt_text
from dpviz.fields import number

T = np.unique(np.round(np.geomspace(1, 40_000, 200)))
LOGS = pytest.mark.parametrize("log", [False, True])


def chart(*lines: Line, log: bool = False, attack: bool = False, **more: Any) -> Chart:
    x, y = Axis("steps T", kind="steps", log=log), Axis("ε", log=log, reading="attack" if attack else None)
    return LinePlot(x, y, lines, **more).chart()


def curve(key: str, end: float, **more: Any) -> Line:
    return Line(key, key.title(), T, end * np.sqrt(T / 40_000), key, **more)


def compose(log: bool) -> Chart:
    orders = np.clip(np.round(9 * np.sqrt(40_000 / T)), 2, 512)
    ends = {"basic": 82.0, "strong": 24.2, "moments": 2.58, "renyi_classic": 2.57, "renyi_improved": 2.21}
    ends |= {"closed_form": 4.4, "bayesian": 1.5}
    return chart(
        *(curve(family, end, hover=(Column("α", orders),)) for family, end in ends.items()),
        log=log,
        attack=True,
        bands=(Band("Tight", T, 1.9 * np.sqrt(T / 4e4), 2.0 * np.sqrt(T / 4e4)),),
        points=(Point(10_000, 1.26, "1.26, Abadi et al. 2016, Fig. 2", "moments"),),
        floors=(Floor(0.37, "floor of λ ≤ 32", "moments"),),
        regions=(Region(12_000, math.inf, "closed form: α too large"),),
    )


def drawn(shown: Chart) -> list[dict[str, Any]]:
    """The traces that someone sees."""
    return [trace for trace in shown.figure["data"] if trace.get("opacity", 1) > 0]


def notes(shown: Chart) -> dict[str, dict[str, Any]]:
    """All annotations by their text."""
    return {note["text"]: note for note in shown.figure["layout"]["annotations"]}


def ends(shown: Chart) -> dict[str, dict[str, Any]]:
    """The annotations of line ends by the first words of their text."""
    named_ends = [note for note in shown.figure["layout"]["annotations"] if note.get("name") == "end"]
    return {next(part for part in re.split("<[^>]*>", note["text"]) if part): note for note in named_ends}


def hovered(shown: Chart) -> dict[str, Any]:
    """The trace that the hover reads, of a line with gaps."""
    return next(trace for trace in shown.figure["data"] if trace.get("hovertext"))


@LOGS
def test_the_full_chart_is_valid_and_small_and_its_names_never_overlap(log: bool) -> None:
    shown = compose(log)
    go.Figure(shown.figure)
    assert len(json.dumps(shown.figure, allow_nan=False)) < 90_000
    assert shown.notes == ()
    layout = shown.figure["layout"]
    assert layout["hoversort"] == "value descending"
    titles = [note["text"] for note in layout["annotations"] if note.get("name") == "title"]
    assert titles == ["ε · ◆ printed in a paper"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    low, high = layout["yaxis"]["range"]
    heights = []
    for told, note in zip(layout["meta"]["ends"], ends(shown).values(), strict=True):
        assert told["line"] in note["text"], "a name says which traces are its line"
        assert note["captureevents"]
        assert any(trace.get("name") == told["line"] for trace in drawn(shown))
        share = (note["y"] - low) / (high - low) if note["yref"] == "y" else note["y"]
        heights.append(inner * (1 - share) + note.get("ay", 0))
    heights.sort()
    assert len(heights) == 8
    assert np.diff(heights).min() > 16.9
    assert 3.9 <= heights[0] < heights[-1] <= inner - 3.9


def test_the_value_at_the_end_of_a_bound_is_never_below_it() -> None:
    x, y = np.arange(1.0, 4.0), np.array([0.5, 0.8, 1.001])
    band = Band("tight", x, y / 2, y + 1.0)
    shown = chart(Line("a", "bound", x, y, "moments"), bands=(band,))
    values = re.findall(r"\d\.\d\d", " ".join(note["text"] for note in ends(shown).values()))
    assert sorted(values) == ["1.01", "2.01"]


def test_one_exploding_curve_does_not_squash_the_rest() -> None:
    shown = chart(curve("basic", 1e9), curve("moments", 2.5), curve("renyi_improved", 2.2))
    assert shown.figure["layout"]["yaxis"]["range"] == [0, pytest.approx(2.5 * 1.15)]
    assert ends(shown)["↑ Basic"]["yref"] == "paper"


@LOGS
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_any_numbers_give_a_valid_figure(log: bool, data: st.DataObject) -> None:
    number = st.one_of(st.floats(1e-9, 1e12), st.sampled_from([math.nan, math.inf, 0.0, -math.inf]))
    lines = []
    for i in range(data.draw(st.integers(0, 4))):
        y = data.draw(st.lists(number, min_size=1, max_size=6))
        turn = data.draw(st.sampled_from([None, 0.0, 2.5, 99.0]))
        x = np.arange(1.0, len(y) + 1)
        lines.append(Line(f"k{i}", f"curve {i}", x, y, "moments", dotted_from=turn, hover=(Column("α", y),)))
    shown = chart(*lines, log=log, attack=True)
    go.Figure(shown.figure)
    json.dumps(shown.figure, allow_nan=False)
    assert shown.figure["data"], "Streamlit refuses a figure without a trace"
    blank = [line for line in lines if not line.seen(log).any()]
    assert shown.notes == tuple(f"{line.name} has no value to draw here." for line in blank)
    assert len(ends(shown)) == len(lines) - len(blank)


def test_what_epsilon_alone_allows_is_told_by_the_pointer_and_not_at_the_ends() -> None:
    """1/(1 + e^−ε): the attacker on the mechanism behind it may be right far less often."""
    x = [1.0, 2.0]
    shown = chart(Line("m", "Moments", x, x, "moments"), attack=True)
    (trace,) = (one for one in shown.figure["data"] if "P(A)" in one.get("hovertemplate", ""))
    assert list(trace["text"])[-1] == "88.1 %", "1/(1 + e^−2) = .88080, rounded up"
    assert not any("P(A)" in note["text"] for note in ends(shown).values())


X4 = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    ("dotted", "parts"),
    [
        ({"dotted_from": 2.5}, [([1, 2], "solid"), ([2, 3, 4], "dot")]),
        ({"dotted_until": 2.0}, [([1, 2, 3], "dot"), ([3, 4], "solid")]),
    ],
)
def test_a_tail_is_dotted_and_the_hover_tells_each_point_once(dotted: dict[str, float], parts: list[Any]) -> None:
    shown = chart(Line("b", "BDP", X4, [10.0, 20.0, 30.0, 40.0], "bayesian", **dotted))  # type: ignore[arg-type]
    assert [(trace["x"], trace["line"]["dash"]) for trace in drawn(shown)] == parts
    assert [t["x"] for t in shown.figure["data"] if t.get("hoverinfo") != "skip"] == [X4]
    assert hovered(shown)["hovertext"] == ["10.0", "20.0", "30.0", "40.0"]


def test_a_gap_is_a_gap_and_the_hover_says_so() -> None:
    full = Line("m", "Moments", X4, X4, "moments")
    shown = chart(full, Line("c", "Closed form", X4, [5.0, math.nan, math.inf, 8.0], "closed_form"), attack=True)
    assert next(t for t in drawn(shown) if t.get("name") == "Closed form")["y"] == [5, None, None, 8]
    hover = hovered(shown)
    assert (hover["hovertext"], hover["text"][1], hover["x"]) == (["5.00", "–", "∞", "8.00"], "–", X4)


def test_a_shorter_line_shows_no_value_beyond_its_end() -> None:
    long = Line("m", "Moments", [1.0, 100.0], [1.0, 2.0], "moments")
    hover = hovered(chart(long, Line("p", "Pinned", [10.0, 50.0], [1.0, 1.5], "moments", faded=True)))
    assert hover["hovertext"] == ["–", "–", "1.00", "1.50", "–", "–"]
    assert hover["x"] == sorted(hover["x"])
    assert (hover["x"][0], hover["x"][-1]) == (1, 100)


def test_styles_tell_what_a_line_is() -> None:
    lines = [curve("moments", 2.0), curve("strong", 3.0, approximate=True), curve("basic", 4.0, faded=True)]
    moments, strong, basic = (next(t for t in drawn(chart(*lines)) if t["name"] == line.name) for line in lines)
    assert (moments["line"]["dash"], strong["line"]["dash"]) == ("solid", "dash")
    assert strong["line"]["color"] != look.style("strong").color, "an estimate has a lightness of its own"
    assert basic["opacity"] < 1
    assert basic["line"]["width"] < moments["line"]["width"]


def test_printed_values_are_diamonds_with_the_number_in_the_hover_or_a_remark() -> None:
    points = (Point(10_000, 1.26, "1.26, Fig. 2", "moments"), Point(10_000, 99.0, "99, Fig. 9", "moments"))
    shown = chart(curve("moments", 2.5), points=points)
    diamonds = next(t for t in drawn(shown) if t.get("marker", {}).get("symbol") == "diamond")
    assert (diamonds["x"], diamonds["y"]) == ([10_000], [1.26])
    assert [n["hovertext"] for n in notes(shown).values() if "hovertext" in n] == ["printed: <b>1.26, Fig. 2</b>"]
    assert shown.notes == ("Printed value outside the chart: 99, Fig. 9.",)


def test_a_mean_has_bars_from_the_lowest_to_the_highest_within_the_axis() -> None:
    x, mean = np.arange(100.0), np.linspace(1.0, 2.0, 100)
    shown = chart(Line("m", "mean", x, mean, "moments", spread=(mean - 0.25, mean + 3.0)))
    go.Figure(shown.figure)
    [bars] = [t for t in drawn(shown) if "error_y" in t]
    assert (len(bars["x"]), bars["x"][0], bars["x"][-1]) == (30, 0.0, 99.0), "as many as can be told apart"
    assert bars["error_y"]["arrayminus"] == pytest.approx([0.25] * 30)
    assert bars["error_y"]["array"] == pytest.approx([3.0] * 30)
    assert shown.figure["layout"]["yaxis"]["range"][1] >= 5.0, "the highest bar shows"
    assert bars["hoverinfo"] == "skip", "the hover says it once"


# --- the sentence for those who do not see it -------------------------------------------------------------------------

X = [1.0, 10_000.0, 40_000.0]
MOMENTS = Line("m", "Moments", X, [0.4, 1.26, 2.58], "moments")
STRONG = Line("s", "Strong", X, [1, 9, 24.2], "strong")
RENYI = Line("r", "Rényi improved", X, [0.1, 1.04, 2.2101], "renyi_improved")
PINNED = Line("p", "σ = 2", X, [0.1, 0.2, 0.3], "moments", faded=True)
BAYESIAN = Line("b", "Bayesian", X, [0.1, 0.2, 0.3], "bayesian")
ASYMPTOTIC = Line("a", "Asymptotic", X, [0.1, 0.2, 0.4], "moments", approximate=True)
SHORT = Line("c", "Closed form", X, [0.01, 0.02, math.nan], "closed_form")
BEST = "Rényi improved is best and goes from 0.100 to 2.22; Strong ends highest at 24.2, 1 pinned beside them."


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([STRONG, RENYI, PINNED], BEST),
        ([BAYESIAN, ASYMPTOTIC, MOMENTS], "Moments is best"),  # neither an approximation nor a weaker promise is
        ([BAYESIAN, ASYMPTOTIC, MOMENTS], "Bayesian ends at 0.300"),
        ([SHORT, MOMENTS], "Moments is best"),  # at the end, where the other has stopped
        ([], "ε against steps T: no curve has a value here."),
    ],
)
def test_the_takeaway_names_best_and_highest(lines: list[Line], sentence: str) -> None:
    text = alt_text(lines, x_name="steps T", x_kind="steps")
    assert sentence in text
    assert not lines or text.startswith("ε against steps T from 1 to 40k: ")


# --- table and file ---------------------------------------------------------------------------------------------------

STEPS = np.array([1.0, 2.0, 3.0, 4.0])
SQUARES = LinePlot(Axis("steps", marks=tuple(STEPS)), Axis("ε", column="epsilon"), (curve("moments", 1.0),))
SQUARES = replace(SQUARES, lines=(Line("a", "a", STEPS, STEPS**2, "moments"),))


def test_an_interval_stands_in_no_row_but_its_own() -> None:
    """The interval after one step is none of the second step's: less was spent by then."""
    band = Band("tight", [1.0, 4.0], [0.5, 10.0], [0.9, 15.0])
    table = replace(SQUARES, bands=(band,)).table()
    assert table["ε tight"].tolist() == ["0.5 – 0.9", "–", "–", "10 – 15"]
    assert table["ε a"].tolist() == ["1", "4", "9", "16"]
    assert replace(SQUARES, lines=(), bands=(band,)).table().columns.tolist() == ["steps", "ε tight"]
    assert replace(SQUARES, lines=()).table().columns.tolist() == ["steps"]
    data = replace(SQUARES, bands=(band,)).data()
    np.testing.assert_array_equal(data["epsilon_tight_lower"], [0.5, np.nan, np.nan, 10.0])


def test_further_facts_about_x_are_in_table_and_file() -> None:
    plot = replace(SQUARES, columns=(Column("σ of that step", STEPS / 2, key="sigma"),))
    assert plot.table()["σ of that step"].tolist() == ["0.5", "1", "1.5", "2"]
    np.testing.assert_array_equal(plot.data()["sigma"], STEPS / 2)


def test_an_axis_may_follow_all_lines_pinned_ones_too() -> None:
    def high(lines: Any) -> tuple[float, float]:
        return 0.0, 2.0 * max(float(np.max(line.y)) for line in lines)

    now = replace(SQUARES, y=Axis("y", shown=high))
    assert now.chart().figure["layout"]["yaxis"]["range"] == [0.0, 32.0]
    pinned = replace(SQUARES, lines=(Line("a", "a", STEPS, 3 * STEPS**2, "moments"),))
    assert now.with_pinned([("pin", pinned)]).chart().figure["layout"]["yaxis"]["range"] == [0.0, 96.0]


# --- names on lines, areas, guides, rings -----------------------------------------------------------------------------

XS = np.geomspace(1.0, 1000.0, 31)
UP = Line("up", "rising", XS, XS**2, "moments")
FLAT = Line("flat", "level", XS, np.full(XS.size, 100.0), "bayesian")
COLOR = "#33a27c"


def plane(*lines: Line, log: bool = True, span: Any = (1.0, 1e4), across: Any = None, **more: Any) -> Chart:
    x, y = Axis("x", log=log, shown=across), Axis("y", log=log, shown=span)
    return LinePlot(x, y, lines, end_values=False, **more).chart()


def fills(shown: Chart) -> list[dict[str, Any]]:
    return [trace for trace in shown.figure["data"] if trace.get("fill") == "toself"]


def test_an_area_is_clipped_to_the_axes_and_lies_between_its_curves() -> None:
    shown = plane(UP, FLAT, areas=(Area(XS, UP.y, FLAT.y, COLOR, name="between"),))
    assert "<b>between</b>" in notes(shown)
    fill = shown.figure["data"][0]
    x, y = np.array(fill["x"]), np.array(fill["y"])
    assert x.min() == pytest.approx(1.0)
    assert 9.0 < x.max() <= 10.05, "they cross at 10"
    top, bottom = y[: y.size // 2], y[y.size // 2 :][::-1]
    np.testing.assert_allclose(top, 100.0, rtol=1e-3)
    np.testing.assert_allclose(bottom, np.maximum(x[: x.size // 2] ** 2, 1.0), rtol=2e-2)


def test_the_name_of_a_thin_area_lies_within_it() -> None:
    x = np.linspace(0.0, 1.0, 21)
    top = 0.215 + 0.3 * (1.0 - x)
    area = Area(x, np.full(x.size, 0.215), top, COLOR, name="within")
    shown = plane(Line("top", "top", x, top, "basic"), log=False, span=(0.0, 1.0), areas=(area,))
    [name] = [note for note in shown.figure["layout"]["annotations"] if "within" in note["text"]]
    half = 0.5 * look.LABEL_SIZE / (shown.figure["layout"]["height"] - TOP - BOTTOM)
    assert 0.215 + half < name["y"] < np.interp(name["x"], x, top) - half


def test_infinite_missing_and_empty_bounds_of_an_area() -> None:
    lower = np.where(XS < 10.0, np.nan, 10.0)
    [fill] = fills(plane(FLAT, areas=(Area(XS, lower, np.full(XS.size, np.inf), COLOR),)))
    assert max(fill["y"]) == pytest.approx(1e4, rel=1e-3)
    assert min(fill["x"]) >= 9.0
    assert plane(UP, FLAT, areas=(Area(XS, FLAT.y, FLAT.y, COLOR, name="nothing"),)) == plane(UP, FLAT)


@pytest.mark.parametrize(
    ("hidden", "parts"),
    [
        ((XS < 5.0) | (XS > 200.0), [(1.0, 10.0), (100.0, 1000.0)]),
        ((XS > 3.0) & (XS < 20.0) | (XS > 200.0), [(1.0, 50.0), (100.0, 1000.0)]),
    ],
)
def test_an_area_in_two_parts_is_filled_in_two_parts(hidden: np.ndarray, parts: list[tuple[float, float]]) -> None:
    two = fills(plane(FLAT, areas=(Area(XS, FLAT.y, np.where(hidden, 1000.0, 1.0), COLOR, name="twice"),)))
    for fill, (low, high) in zip(two, parts, strict=True):
        assert low * 0.999 <= min(fill["x"]) < max(fill["x"]) <= high * 1.001


def test_names_stand_beside_their_lines_and_apart() -> None:
    assert named("↑ rising", UP.hue) + "<b></b>" in notes(plane(UP, FLAT, span=(1.0, 100.0)))
    names = notes(plane(UP, FLAT, names_on_lines=True))
    assert not any("↑" in text for text in names)
    rising, level = (names[named(f"<b>{line.name}</b>", line.hue)] for line in (UP, FLAT))
    assert rising["y"] == pytest.approx(1.5 * rising["x"], abs=0.01), "x² over 3 decades and 4"
    assert level["y"] == pytest.approx(0.5, abs=0.01)
    apart = 700 * abs(rising["x"] - level["x"]) + 330 * abs(rising["y"] - level["y"])
    assert apart > text_width("level", 13)
    above = Line("above", "above", XS, 1e6 * XS, "moments")
    assert not any("above" in name for name in notes(plane(UP, above, names_on_lines=True))), "it does not show"


@pytest.mark.parametrize(("values", "above"), [(T / 1e5, True), (0.9 - T / 2e5, False)])
def test_a_name_inside_the_plot_stands_where_its_line_does_not(values: np.ndarray, above: bool) -> None:
    x = Axis("steps", shown=(0.0, 50_000.0))
    [name] = ends(LinePlot(x, Axis("y"), (Line("a", "a", T, values, "basic"),)).chart()).values()
    assert (name["yshift"] > 0) == above


@pytest.mark.parametrize(("second", "apart"), [(0.7, False), (0.32, True)])
def test_names_inside_the_plot_make_way_for_each_other_where_they_meet(second: float, apart: bool) -> None:
    x = Axis("steps", shown=(0.0, float(T[-1])))
    lines = (Line(key, key, share * T, 0.5 + T / 1e5, "basic") for key, share in (("one", 0.3), ("two", second)))
    one, two = ends(LinePlot(x, Axis("y", shown=(0.0, 1.0)), tuple(lines), end_values=False).chart()).values()
    assert (abs(one["yshift"] - two["yshift"]) > 10) == apart


@pytest.mark.parametrize(("last", "side"), [(0.8, "left"), (0.3, "right")])
def test_the_name_of_a_floor_stands_on_the_side_where_no_line_is_named(last: float, side: str) -> None:
    x, y = Axis("steps", shown=(0.0, float(T[-1]))), Axis("y", shown=(0.0, 1.0))
    lines = Line("long", "long", T, 0.2 + T / 1e5, "basic"), Line("short", "short", last * T, T / T[-1], "strong")
    shown = LinePlot(x, y, lines, floors=(Floor(0.98, "budget", "moments"),), end_values=False).chart()
    [name] = [note for note in shown.figure["layout"]["annotations"] if note["text"].startswith("budget")]
    assert name["xanchor"] == side


@pytest.mark.parametrize(("ends_at", "side"), [(0.1, "left"), (0.5, "right")])
def test_the_name_of_a_floor_stands_at_the_other_end_where_a_curve_comes_to_the_floor(
    ends_at: float, side: str
) -> None:
    x, y = Axis("steps", shown=(0.0, float(T[-1]))), Axis("y", shown=(0.0, 1.0))
    line = Line("falls", "falls", T, 0.9 - (0.9 - ends_at) * T / T[-1], "basic")
    shown = LinePlot(x, y, (line,), floors=(Floor(0.1, "claim", "budget"),), end_values=False).chart()
    [name] = [note for note in shown.figure["layout"]["annotations"] if note["text"].startswith("claim")]
    assert name["xanchor"] == side


@pytest.mark.parametrize(("name", "anchor"), [("a", "left"), ("a name of two words", "right")])
def test_a_name_inside_the_plot_stands_behind_its_line_where_it_has_room(name: str, anchor: str) -> None:
    """Without P(A), which the pointer tells."""
    x, y = Axis("steps", shown=(0.0, float(T[-1]) / 0.85)), Axis("ε", reading="attack")
    [note] = ends(LinePlot(x, y, (Line("a", name, T, T / 1e5, "basic"),)).chart()).values()
    assert note["xanchor"] == anchor
    assert "P(A)" not in note["text"]


def test_a_name_on_a_line_lies_on_no_error_bar() -> None:
    x, y = 10.0 ** np.arange(0.0, 3.1, 0.5), np.full(7, 100.0)
    line = Line("a", "spread", x, y, "basic", spread=(y / 90.0, y * 90.0))
    name = notes(plane(line, names_on_lines=True))[named("<b>spread</b>", line.hue)]
    width = text_width("spread", look.LABEL_SIZE) / 700
    low = name["x"] + (0.01 if name["xanchor"] == "left" else -0.01 - width)
    assert not any(low <= bar <= low + width for bar in np.arange(7) / 6)


def test_a_line_without_a_value_goes_unmentioned_where_words_tell_why() -> None:
    none = Line("none", "nowhere", STEPS, np.full(4, np.nan), "bayesian", explained=True)
    plot = replace(SQUARES, lines=(*SQUARES.lines, none))
    assert plot.chart().notes == ()
    assert "ε nowhere" in plot.table().columns
    assert np.isnan(plot.data()["epsilon_none"]).all()


@pytest.mark.parametrize(
    ("curves", "where"),
    [
        ([XS], ("left", "bottom")),  # nothing near: at the left end, above
        ([XS, np.full(31, 5.3)], ("left", "top")),  # one runs above the whole guide
        ([np.full(31, 5.3), 4.9 - 0.5 * np.linspace(0, 1, 31)], ("right", "top")),  # and one below it, at the left
        ([5.3 + 3 * np.linspace(0, 1, 31), np.full(31, 4.7)], ("right", "bottom")),
    ],
)
def test_a_level_is_named_where_no_curve_runs(curves: list[np.ndarray], where: tuple[str, str]) -> None:
    across = np.linspace(0.0, 10.0, 31)
    lines = [Line(str(i), f"curve {i}", across, across if y is XS else y, "moments") for i, y in enumerate(curves)]
    shown = plane(*lines, log=False, across=(0.0, 10.0), span=(0.0, 10.0), guides=(Guide("y", 5.0, "target"),))
    name = notes(shown)["target"]
    assert (name["xanchor"], name["yanchor"]) == where


@pytest.mark.parametrize("apart", [0.05, 0.3])
def test_names_of_close_levels_never_share_a_row(apart: float) -> None:
    """On a phone each may be as wide as the plot: the left and the right end are then the same place."""
    curve = Line("a", "curve", np.linspace(0.0, 10.0, 31), np.full(31, 9.0), "moments")
    guides = (Guide("y", 5.0, "banded, best"), Guide("y", 5.0 - apart, "independent noise, Poisson batches"))
    named = notes(plane(curve, log=False, across=(0.0, 10.0), span=(0.0, 10.0), guides=guides))
    upper, lower = (named[guide.name] for guide in guides)
    assert (upper["yanchor"], lower["yanchor"]) == ("bottom", "top")


def test_names_of_guides_that_stand_close_are_in_rows_of_their_own() -> None:
    line = Line("ε", "ε", np.geomspace(0.1, 10.0, 31), np.geomspace(0.1, 10.0, 31), "gdp")
    guides = (Guide("x", 1.0, "largest for ε = 0.1"), Guide("x", 1.1, "yours"), Guide("x", 5.0, "least error"))
    named = notes(plane(line, span=(0.1, 10.0), guides=guides))
    assert [named[guide.name]["yshift"] for guide in guides] == [0, -16, 0]


def test_the_name_of_a_guide_that_is_pulled_stands_beside_its_knob() -> None:
    line = Line("ε", "ε", np.geomspace(0.1, 10.0, 31), np.geomspace(0.1, 0.2, 31), "gdp")
    still, pulled = Guide("y", 5.0, "target"), Guide("y", 5.0, "target", sets=number("target"))
    shifts = [notes(plane(line, span=(0.1, 10.0), guides=(one,)))["target"]["xshift"] for one in (still, pulled)]
    assert shifts == [6, 24]


@pytest.mark.parametrize("noted", [True, False])
def test_guides_stand_where_the_axes_say_and_are_said_where_they_do_not_reach(noted: bool) -> None:
    line = Line("a", "a", [1.0, 100.0], [10.0, 0.1], "moments")
    guides = (Guide("x", 10.0, "my σ"), Guide("y", 1.0, "target"), Guide("x", 1e4, "far", noted=noted))
    shown = plane(line, span=(0.1, 10.0), guides=guides)
    upright, level = shown.figure["layout"]["shapes"]
    assert [upright["x0"], upright["x1"], level["y0"], level["y1"]] == pytest.approx([0.5] * 4)
    assert upright["line"]["dash"] == "dash"
    assert shown.notes == (("far lies outside the chart.",) if noted else ())


@LOGS
@pytest.mark.parametrize(("at", "side"), [(2.0, 1.0), (90.0, -1.0)])
def test_a_ring_with_its_name_hover_and_interval_where_the_axes_show_it(at: float, side: float, log: bool) -> None:
    ring = Ring(at, 2.0, "here", COLOR, 1.5, 2.25, name="yours")
    outside = (Ring(1e9, 2.0, "", COLOR), Ring(10.0, -1.0, "", COLOR), Ring(0.0, 2.0, "", COLOR))
    line = Line("a", "a", [1.0, 10.0, 100.0], [1.0, 2.0, 3.0], "moments")
    shown = plane(line, log=log, span=None, rings=(ring, *outside))
    [trace] = [trace for trace in shown.figure["data"] if trace.get("name") == "ring"]
    assert (trace["x"], trace["y"]) == ([at], [2.0])
    assert (trace["error_y"]["array"], trace["error_y"]["arrayminus"]) == ([0.25], [0.5])
    [hover] = [note for note in notes(shown).values() if "hovertext" in note]
    name = notes(shown)[named("<b>yours</b>", COLOR)]
    assert hover["hovertext"] == "yours: here"
    assert name["xshift"] * side > 0, "on the side with room"
    for note in (hover, name):
        assert (note["x"], note["y"]) == ((math.log10(at), math.log10(2.0)) if log else (at, 2.0))


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=5))
@settings(max_examples=30)
def test_the_names_of_rings_near_each_other_never_overlap(places: list[float]) -> None:
    """As where several curves reach one target: on one level, which is drawn too."""
    rings = [Ring(100.0**at, 2.0, "here", COLOR, name=f"σ {i}.28") for i, at in enumerate(places)]
    line = Line("a", "a", [1.0, 10.0, 100.0], [1.0, 2.0, 3.0], "moments")
    shown = plane(line, span=(0.1, 40.0), across=(1.0, 100.0), rings=tuple(rings), guides=(Guide("y", 2.0, "target"),))
    boxes = []
    for ring in rings:
        name = notes(shown)[named(f"<b>{ring.name}</b>", COLOR)]
        width = text_width(ring.name, look.LABEL_SIZE)
        boxes.append((700.0 * math.log(ring.x, 100.0) + name["xshift"], name["yshift"], width))
    for i, (x, y, width) in enumerate(boxes):
        assert abs(y) >= look.LABEL_SIZE, "off the level"
        assert all(abs(x - other) > width or abs(y - row) > look.LABEL_SIZE for other, row, _ in boxes[:i])


# A valley with its lowest point in the middle of a plot that is 700 pixels wide and 332 high, and what runs near it.
VALLEY = np.linspace(-5.0, 5.0, 201)
DOWN, ASIDE = 332 / 10.0, 700 / 10.0


@pytest.mark.parametrize(
    ("levels", "uprights", "other", "up", "side"),
    [
        ([], [], [], 1, 0),
        ([-12], [], [], 1, 0),  # as the PLD's value below the best bound: more room, but behind it
        ([-12, 21], [], [], 1, 0),  # hardly any room above
        ([15], [], [], -1, 0),
        ([-12], [], [30], 1, 0),  # beyond the other ring is all room
        ([], [10], [], 0, -1),
        ([], [-10], [], 0, 1),
    ],
)
def test_the_name_of_a_ring_stands_near_it_and_behind_no_curve(
    levels: list[float], uprights: list[float], other: list[float], up: int, side: int
) -> None:
    lines = [Line("own", "own", VALLEY, VALLEY**2, "moments")]
    lines += [Line(f"l{y}", f"l{y}", VALLEY, np.full(VALLEY.size, y / DOWN), "strong") for y in levels]
    guides = tuple(Guide("x", x / ASIDE, "") for x in uprights)
    rings = (Ring(0.0, 0.0, "lowest", COLOR, name="1.04"), *(Ring(0.0, y / DOWN, "", COLOR) for y in other))
    shown = plane(*lines, log=False, across=(-5.0, 5.0), span=(-5.0, 5.0), rings=rings, guides=guides)
    name = notes(shown)[named("<b>1.04</b>", COLOR)]
    assert name["yshift"] * up >= 0.0
    assert name["xshift"] * side >= 13.0 * abs(side)
    assert 13 <= abs(name["yshift"]) + abs(name["xshift"]) <= 40


@pytest.mark.parametrize("at", [4.8, -4.8])
def test_the_name_of_a_ring_at_an_edge_stands_in_the_plot(at: float) -> None:
    level = Line("own", "own", VALLEY, np.full(VALLEY.size, at), "moments")
    rings = (Ring(0.0, at, "", COLOR, name="1.04"),)
    name = notes(plane(level, log=False, across=(-5.0, 5.0), span=(-5.0, 5.0), rings=rings))[
        named("<b>1.04</b>", COLOR)
    ]
    assert name["yshift"] * at < 0.0


def test_the_name_of_a_ring_stands_off_the_error_bars_of_all() -> None:
    rings = tuple(Ring(at / ASIDE, 0.0, "", COLOR, -1.5, 1.5, name=f"{at}.5") for at in (-22, 0, 22))
    shown = plane(FLAT, log=False, across=(-5.0, 5.0), span=(-5.0, 5.0), rings=rings)
    for ring in rings:
        name = notes(shown)[named(f"<b>{ring.name}</b>", COLOR)]
        middle, half = ring.x * ASIDE + name["xshift"], 0.5 * text_width(ring.name, look.LABEL_SIZE)
        beyond = abs(name["yshift"]) > 1.5 * DOWN + 0.5 * look.LABEL_SIZE
        assert beyond or all(abs(middle - bar) > half for bar in (-22, 0, 22))


def test_pinned_states_are_grey_rings_named_by_what_differs() -> None:
    kept, other = (Ring(at, 20.0, "fails", COLOR, name="yours", kept=True) for at in (2.0, 9.0))
    line, area = replace(UP, kept=False), Area(XS, 0 * XS, XS, COLOR, name="inside")
    one = LinePlot(
        Axis("batch", log=True), Axis("size", log=True), (line,), areas=(area,), rings=(kept,), summary="Out."
    )
    bare = replace(one, rings=(), areas=())
    shown = one.with_pinned([("batch 9", replace(one, rings=(other,))), ("other", bare)]).chart()
    rings = [trace for trace in shown.figure["data"] if trace.get("name") == "ring"]
    assert [ring["x"] for ring in rings] == [[9.0], [2.0]]
    assert rings[0]["marker"]["line"]["color"] == look.GREY
    assert [n["hovertext"] for n in notes(shown).values() if "hovertext" in n][-1] == "yours: fails"
    assert "batch 9: fails" in json.dumps(shown.figure["layout"])
    assert one.alt == "Out."
    assert list(one.data().columns) == ["batch", "size_up"]


def test_a_printed_value_stands_beside_what_the_curve_of_its_family_gives_there() -> None:
    points = (
        Point(2.0, 1.26, "1.26 (moments, λ = 19), Fig. 2", "moments", why="because of this"),
        Point(1.5, 9.0, "9, Fig. 2", "moments"),
        Point(9.0, 1.0, "1.0, beyond the curve's end", "moments"),
        Point(1.0, 1.0, "1.0, of another family", "strong"),
    )
    line = Line("m", "moments", [1.0, 2.0], [1.0, 1.2585748], "moments")
    plot = LinePlot(Axis("x"), Axis("ε", reading="attack"), (line,), points=points[:2])
    beside = "Printed 1.26 (moments, λ = 19) · here 1.259, because of this; 9 · here 1.130."
    assert plot.compared(points) == beside
    assert plot.compared(()) == ""
    assert replace(plot, lines=(replace(line, faded=True),)).compared(points) == "", "no pinned curve"


def test_a_pin_brings_only_what_it_changes() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    same = Line("dp", "DP", x, x, "moments")
    coarse = replace(same, x=x[[0, 3]], y=x[[0, 3]])
    other = Line("bayesian", "Bayesian", x, 0.5 * x, BAYESIAN, end="weaker")
    plot = LinePlot(Axis("steps"), Axis("ε"), (coarse, replace(other, y=0.4 * x)))
    both = plot.with_pinned([("shape 1", replace(plot, lines=(same, other))), ("shape 2", plot)])
    assert [line.name for line in both.lines] == ["DP", "Bayesian", "shape 1: Bayesian"]
    assert both.lines[-1].end == "shape 1: weaker", "its end says whose it is"
    longer = replace(same, x=np.append(x, 5.0), y=np.append(x, 5.0))
    assert len(plot.with_pinned([("T 5", replace(plot, lines=(longer,)))]).lines) == 3, "it goes further"


@LOGS
def test_a_reference_is_drawn_and_named_below_all_curves_and_is_no_result(log: bool) -> None:
    root = Reference(T, 2.0 * np.sqrt(T / 40_000), "∝ √T")
    lines = curve("renyi_improved", 2.0), curve("bayesian", 1.5)
    plain, shown = chart(*lines, log=log), chart(*lines, log=log, references=(root,))
    [trace] = [trace for trace in drawn(shown) if trace["name"] == "reference"]
    assert trace["hoverinfo"] == "skip"
    if log:  # slope ½
        slope = np.diff(np.log(trace["y"])) / np.diff(np.log(trace["x"]))
        assert slope == pytest.approx(np.full(slope.shape, 0.5), abs=1e-3)
    assert len(shown.figure["data"]) == len(plain.figure["data"]) + 1
    plot = LinePlot(Axis("steps"), Axis("ε"), lines, references=(root,))
    assert plot.alt == replace(plot, references=()).alt
    assert list(plot.data()) == list(replace(plot, references=()).data())
    note = notes(shown)["∝ √T"]
    low, high = shown.figure["layout"]["yaxis"]["range"]
    lowest = 1.5 * math.sqrt(0.35) if not log else 1.5 * math.sqrt((40_000**0.35) / 40_000)
    assert note["y"] < ((math.log10(lowest) if log else lowest) - low) / (high - low)


def test_a_reference_without_room_for_its_name_has_none() -> None:
    flat = Line("flat", "flat", T, np.full(T.shape, 0.04), "moments")
    steep = curve("basic", 1.0)
    assert "∝ √T" not in notes(chart(flat, steep, references=(Reference(T, np.sqrt(T / 40_000), "∝ √T"),)))


def scattered(seed: int) -> tuple[Plane, np.ndarray, np.ndarray, list[Box]]:
    """A plane, curves with gaps on it, and names."""
    rng = np.random.default_rng(seed)
    x = np.linspace(0.0, 1.0, 400)
    curves = np.array([np.interp(x, np.linspace(0.0, 1.0, 9), rng.uniform(-0.2, 1.2, 9)) for _ in range(4)])
    curves[0][rng.random(400) < 0.2] = np.nan
    boxes = [Box(*rng.random(2), rng.uniform(5.0, 150.0), 14.0) for _ in range(60)]
    return Plane(AxisScale(0.0, 1.0), AxisScale(0.0, 1.0), 430), x, curves, boxes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("most", [4.0, 8.0])
def test_a_distance_up_to_the_most_that_matters_is_the_whole_distance(seed: int, most: float) -> None:
    plane, x, curves, boxes = scattered(seed)
    whole = plane.apart(boxes, x, curves)
    assert np.array_equal(plane.apart(boxes, x, curves, most), np.minimum(whole, most))
    assert (whole < most).any(axis=1).all()


@pytest.mark.parametrize("seed", range(20))
def test_the_name_with_most_room_is_found_among_few(seed: int) -> None:
    plane, x, curves, boxes = scattered(seed)
    boxes += boxes[::-1]  # the first of equals
    assert _roomiest(plane, x, curves, [], boxes) == _room(plane, x, curves, [], boxes).argmax()


def test_a_region_s_name_is_whole_on_a_narrow_plot() -> None:
    """On a log axis it stands at the region's start if it has room there, else before the region's end."""
    plane = Plane(AxisScale(1.0, 512.0, log=True), AxisScale(0.0, 1.0), 400)
    names = region_names(
        [Region(149.0, math.inf, "off the plateau from α = 149"), Region(4.0, math.inf, "short")], plane
    )
    assert [name["xanchor"] for name in names] == ["right", "left"]
    assert names[0]["x"] == pytest.approx(math.log10(512.0))


def test_a_curve_or_band_of_one_point_is_drawn_as_a_point() -> None:
    """As ε after one step, on an axis that ends there: no line and no area would show it."""
    bands = (Band("b", [1.0], [0.2], [0.3], key="tight"),)
    shown = chart(Line("m", "Moments", [1.0], [0.5], "moments"), bands=bands)
    points = [trace for trace in shown.figure["data"] if "markers" in trace["mode"] and trace.get("opacity", 1) == 1]
    assert [list(trace["y"]) for trace in points] == [[0.3, 0.2], [0.5]]


def covering(shown: Chart, plane: Plane) -> list[tuple[str, str]]:
    """Pairs of names of guides and rings that lie on each other on a phone."""
    names = shown.figure["layout"]["meta"]["phone"]
    boxes = boxes_of(names, plane.on_phone())
    covers = _between(boxes, boxes, plane.on_phone()) <= 0.0
    return [(names[i]["text"], names[j]["text"]) for i, j in zip(*np.nonzero(np.tril(covers, -1)), strict=True)]


def test_on_a_phone_the_name_of_an_upright_guide_makes_way_for_that_of_a_level() -> None:
    line = Line("a", "a", [1.0, 100.0], [0.2, 0.3], "moments")
    guides = (Guide("x", 20.0, "its steps, clipped"), Guide("y", 0.95, "standard SGLD, not private"))
    plot = LinePlot(Axis("T", shown=(1.0, 100.0)), Axis("ε", shown=(0.0, 1.0)), (line,), guides=guides)
    assert covering(plot.chart(), plot.plane()) == []


def test_the_name_of_an_upright_guide_stands_below_a_curve_along_the_top() -> None:
    line = Line("a", "a", np.linspace(1.0, 100.0, 50), np.full(50, 0.98), "moments")
    plot = LinePlot(
        Axis("T", shown=(1.0, 100.0)), Axis("ε", shown=(0.0, 1.0)), (line,), guides=(Guide("x", 50.0, "T"),)
    )
    layout = plot.chart().figure["layout"]
    for note in [*layout["annotations"], *layout["meta"]["phone"]]:
        assert note["text"] != "T" or note["yshift"] < 0


@given(st.lists(st.floats(0.05, 0.95), min_size=1, max_size=3), st.floats(0.1, 0.9))
@settings(max_examples=30)
def test_on_a_phone_names_of_rings_guides_and_levels_never_overlap(places: list[float], level: float) -> None:
    """Rings on a level, where curves reach a target."""
    rings = [Ring(100.0**at, level, "here", COLOR, name=f"σ {i}.28") for i, at in enumerate(places)]
    guides = (Guide("y", level, "target ε = 2"), Guide("x", 10.0, "my σ = 4"))
    line = Line("a", "a", [1.0, 100.0], [0.02, 0.02], "moments")
    axes = Axis("T", log=True, shown=(1.0, 100.0)), Axis("ε", shown=(0.0, 1.0))
    plot = LinePlot(*axes, (line,), rings=tuple(rings), guides=guides)
    assert covering(plot.chart(), plot.plane()) == []
