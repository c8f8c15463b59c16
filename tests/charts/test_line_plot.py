"""The line chart: valid for Plotly, small, true at each x, and calm where numbers explode."""

import json
import math
import re
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.charts import look
from dpviz.charts.marks import Band, Column, Floor, Line, Point, Region
from dpviz.charts.plot import Axis, Chart, LinePlot, alt_text

T = np.unique(np.round(np.geomspace(1, 40_000, 200)))


def chart(*lines: Line, log: bool = False, attack: bool = False, **more: Any) -> Chart:
    x, y = Axis("steps T", kind="steps", log=log), Axis("ε", log=log, reading="attack" if attack else None)
    return LinePlot(x, y, lines, **more).chart()


def curve(key: str, end: float, **more: Any) -> Line:
    return Line(key, key.title(), T, end * np.sqrt(T / 40_000), key, **more)


def compose(log: bool, count: int = 7) -> Chart:
    orders = np.clip(np.round(9 * np.sqrt(40_000 / T)), 2, 512)
    families = ["basic", "strong", "moments", "renyi_classic", "renyi_improved", "closed_form", "bayesian", "other"]
    ends = [82.0, 24.2, 2.58, 2.57, 2.21, 4.4, 1.5, 3.0]
    lines = [curve(f, e, hover=(Column("α", orders),)) for f, e in zip(families, ends, strict=True)][:count]
    return chart(
        *lines,
        log=log,
        attack=True,
        bands=(Band("Tight", T, 1.9 * np.sqrt(T / 4e4), 2.0 * np.sqrt(T / 4e4)),),
        points=(Point(10_000, 1.26, "1.26, Abadi et al. 2016, Fig. 2", "moments"),),
        floors=(Floor(0.37, "floor of λ ≤ 32", "moments"),),
        regions=(Region(12_000, math.inf, "closed form: α too large"),),
    )


def drawn(shown: Chart) -> list[dict[str, Any]]:
    """The traces that someone sees."""
    return [t for t in shown.figure["data"] if t.get("opacity", 1) > 0]


def ends(shown: Chart) -> dict[str, dict[str, Any]]:
    """The annotations of line ends by their text without tags."""
    found = [a for a in shown.figure["layout"]["annotations"] if a.get("borderpad") == 2]
    return {next(part for part in re.split("<[^>]*>", a["text"]) if part): a for a in found}


@pytest.mark.parametrize("log", [False, True])
def test_the_full_chart_is_valid_and_small(log: bool) -> None:
    shown = compose(log, count=8)
    go.Figure(shown.figure)
    assert len(json.dumps(shown.figure, allow_nan=False)) < 90_000
    assert shown.notes == ()
    assert shown.figure["layout"]["hoversort"] == "value descending"


def test_a_name_says_which_traces_are_its_line() -> None:
    shown = compose(False, count=8)
    layout = shown.figure["layout"]
    told = layout["meta"]["ends"]
    named = [a for a in layout["annotations"] if a.get("name") == "end"]
    assert len(told) == len(named) == 9
    for end, note in zip(told, named, strict=True):
        assert end["line"] in note["text"]
        assert note["captureevents"]
        assert any(t.get("name") == end["line"] for t in drawn(shown))
    titles = [a["text"] for a in layout["annotations"] if a.get("name") == "title"]
    assert titles == ["ε"]


@pytest.mark.parametrize("log", [False, True])
def test_names_beside_the_plot_never_overlap(log: bool) -> None:
    shown = compose(log)
    layout = shown.figure["layout"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    low, high = layout["yaxis"]["range"]
    places = []
    for a in ends(shown).values():
        share = (a["y"] - low) / (high - low) if a["yref"] == "y" else a["y"]
        places.append(inner * (1 - share) + a.get("ay", 0))
    places.sort()
    assert len(places) == 8
    assert all(b - a > 32.9 for a, b in zip(places, places[1:], strict=False)), "two lines each"
    assert places[0] >= 11.9
    assert places[-1] <= inner - 11.9


def test_the_value_at_the_end_of_a_bound_is_never_below_it() -> None:
    x, y = np.arange(1.0, 4.0), np.array([0.5, 0.8, 1.001])
    band = Band("tight", x, y / 2, y + 1.0)
    shown = chart(Line("a", "bound", x, y, "moments"), bands=(band,))
    values = re.findall(r"\d\.\d\d", " ".join(note["text"] for note in ends(shown).values()))
    assert sorted(values) == ["1.01", "2.01"]


def test_one_exploding_curve_does_not_squash_the_rest() -> None:
    shown = chart(curve("basic", 1e9), curve("moments", 2.5), curve("renyi_improved", 2.2))
    assert shown.figure["layout"]["yaxis"]["range"] == [0, pytest.approx(2.5 * 1.15)]
    assert "↑ Basic" in ends(shown)
    assert ends(shown)["↑ Basic"]["yref"] == "paper"


@pytest.mark.parametrize("log", [False, True])
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
    blank = [line for line in lines if not line.seen(log).any()]
    assert len(shown.notes) == len(blank)
    assert len(ends(shown)) == len({line.name for line in lines}) - len(blank)


def test_the_second_reading_stands_at_the_ends_and_says_what_it_is() -> None:
    """1/(1 + e^−ε) is what ε alone allows: the attacker on the mechanism behind it may be right far less often."""
    x = [1.0, 2.0]
    lines = [Line("m", "Moments", x, x, "moments"), Line("a", "About", x, [0.5, 1.0], "strong", approximate=True)]
    bound, about = ends(chart(*lines, attack=True)).values()
    assert bound["text"].endswith("<br>P(A) ≤ 88.1 % from ε alone"), "1/(1 + e^−2) = .88080, rounded up"
    assert about["text"].endswith("<br>P(A) ≈ 73.2 % from ε alone"), "an estimate bounds nothing"
    assert not any("P(A)" in note["text"] for note in ends(chart(*lines)).values())


def test_where_two_lines_have_no_room_the_second_reading_stands_beside_the_name() -> None:
    many = [Line(f"k{i}", f"curve {i}", [1.0, 2.0], [0.1, 1.0 + i / 9], "moments") for i in range(12)]
    shown = chart(*many, attack=True)
    names = list(ends(shown).values())
    assert all(re.search(r"</b> · P\(A\) ≤ \d\d\.\d %$", note["text"]) for note in names)
    short = Line("s", "short", [1.0, 2.0, 3.0], [1.0, 1.5, math.nan], "moments")
    within = ends(chart(curve("moments", 2.0), short, attack=True))
    assert {name: "<br>" in note["text"] for name, note in within.items()} == {"Moments": True, "short": False}


def test_a_tail_turns_dotted_and_the_hover_tells_each_point_once() -> None:
    x, y = [1.0, 2.0, 3.0, 4.0], [10.0, 20.0, 30.0, 40.0]
    shown = chart(Line("b", "BDP", x, y, "bayesian", dotted_from=2.5))
    solid, dotted = drawn(shown)
    assert (solid["x"], solid["line"]["dash"]) == ([1, 2], "solid")
    assert (dotted["x"], dotted["line"]["dash"]) == ([2, 3, 4], "dot")
    hovered = [t for t in shown.figure["data"] if t.get("hoverinfo") != "skip"]
    assert [t["x"] for t in hovered] == [x]
    assert hovered[0]["hovertext"] == ["10.0", "20.0", "30.0", "40.0"]


def test_a_line_dotted_up_to_a_point() -> None:
    line = Line("a", "a", [1.0, 2.0, 3.0, 4.0], [4.0, 3.0, 2.0, 1.0], "bayesian", dotted_until=2.0)
    parts = [(t["x"], t["line"]["dash"]) for t in drawn(chart(line))]
    assert parts == [([1.0, 2.0, 3.0], "dot"), ([3.0, 4.0], "solid")]


def test_a_gap_is_a_gap_and_the_hover_says_so() -> None:
    x = [1.0, 2.0, 3.0, 4.0]
    full = Line("m", "Moments", x, [1.0, 2.0, 3.0, 4.0], "moments")
    gap = Line("c", "Closed form", x, [5.0, math.nan, math.inf, 8.0], "closed_form")
    shown = chart(full, gap, attack=True)
    line = next(t for t in drawn(shown) if t.get("name") == "Closed form")
    assert line["y"] == [5, None, None, 8]
    hover = next(t for t in shown.figure["data"] if t.get("hovertext"))
    assert hover["hovertext"] == ["5.00", "–", "∞", "8.00"]
    assert hover["text"][1] == "–"
    assert hover["x"] == x


def test_a_shorter_line_shows_no_value_beyond_its_end() -> None:
    long = Line("m", "Moments", [1.0, 100.0], [1.0, 2.0], "moments")
    short = Line("p", "Pinned", [10.0, 50.0], [1.0, 1.5], "moments", faded=True)
    shown = chart(long, short)
    hover = next(t for t in shown.figure["data"] if t.get("hovertext"))
    assert hover["hovertext"] == ["–", "–", "1.00", "1.50", "–", "–"]
    assert hover["x"][0] == 1
    assert hover["x"][-1] == 100
    assert hover["x"] == sorted(hover["x"])


def test_a_line_without_values_is_named_in_a_remark() -> None:
    shown = chart(Line("c", "Closed form", [1, 2], [math.nan, math.nan], "closed_form"))
    assert shown.notes == ("Closed form has no value to draw here.",)
    go.Figure(shown.figure)
    assert shown.figure["data"], "Streamlit refuses a figure without a trace"


def test_styles_tell_what_a_line_is() -> None:
    lines = [curve("moments", 2.0), curve("strong", 3.0, approximate=True), curve("basic", 4.0, faded=True)]
    by_name = {t["name"]: t for t in drawn(chart(*lines))}
    assert by_name["Moments"]["line"]["dash"] == "solid"
    assert by_name["Strong"]["line"]["dash"] == "dash"
    assert by_name["Strong"]["line"]["color"] != look.style("strong").color, "an estimate has a lightness of its own"
    assert by_name["Basic"]["opacity"] < 1
    assert by_name["Basic"]["line"]["width"] < by_name["Moments"]["line"]["width"]


def test_printed_values_are_diamonds_with_the_number_in_the_hover_or_a_remark() -> None:
    points = (Point(10_000, 1.26, "1.26, Fig. 2", "moments"), Point(10_000, 99.0, "99, Fig. 9", "moments"))
    shown = chart(curve("moments", 2.5), points=points)
    diamonds = next(t for t in drawn(shown) if t.get("marker", {}).get("symbol") == "diamond")
    assert (diamonds["x"], diamonds["y"]) == ([10_000], [1.26])
    assert [a["hovertext"] for a in shown.figure["layout"]["annotations"] if "hovertext" in a] == [
        "printed: <b>1.26, Fig. 2</b>"
    ]
    assert shown.notes == ("Printed value outside the chart: 99, Fig. 9.",)


def test_a_mean_has_bars_from_the_lowest_to_the_highest_within_the_axis() -> None:
    x, mean = np.arange(100.0), np.linspace(1.0, 2.0, 100)
    line = Line("m", "mean", x, mean, "moments", spread=(mean - 0.25, mean + 3.0))
    shown = chart(line)
    go.Figure(shown.figure)
    [bars] = [t for t in drawn(shown) if "error_y" in t]
    error = bars["error_y"]
    assert len(bars["x"]) == len(error["array"]) == 30, "as many as can be told apart"
    assert (bars["x"][0], bars["x"][-1]) == (0.0, 99.0)
    assert error["arrayminus"] == pytest.approx([0.25] * 30)
    assert error["array"] == pytest.approx([3.0] * 30)
    assert shown.figure["layout"]["yaxis"]["range"][1] >= 5.0, "the highest bar shows"
    assert bars["hoverinfo"] == "skip", "the hover says it once"


# --- the sentence for those who do not see it -------------------------------------------------------------------------

X = [1.0, 10_000.0, 40_000.0]
MOMENTS = Line("m", "Moments", X, [0.4, 1.26, 2.58], "moments")
STRONG = Line("s", "Strong", X, [1, 9, 24.2], "strong")
RENYI = Line("r", "Rényi improved", X, [0.1, 1.04, 2.21], "renyi_improved")
PINNED = Line("p", "σ = 2", X, [0.1, 0.2, 0.3], "moments", faded=True)
BAYESIAN = Line("b", "Bayesian", X, [0.1, 0.2, 0.3], "bayesian")
ASYMPTOTIC = Line("a", "Asymptotic", X, [0.1, 0.2, 0.4], "moments", approximate=True)
SHORT = Line("c", "Closed form", X, [0.01, 0.02, math.nan], "closed_form")


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        (
            [STRONG, RENYI, PINNED],
            "Rényi improved is best and goes from 0.100 to 2.21; Strong ends highest at 24.2, 1 pinned beside them.",
        ),
        ([BAYESIAN, ASYMPTOTIC, MOMENTS], "Moments is best"),  # neither an approximation nor a weaker promise is
        ([BAYESIAN, ASYMPTOTIC, MOMENTS], "Bayesian (a weaker promise) ends at 0.300"),
        ([SHORT, MOMENTS], "Moments is best"),  # at the end, where the other has stopped
        ([], "ε against steps T: no curve has a value here."),
    ],
)
def test_the_takeaway_names_best_and_highest(lines: list[Line], sentence: str) -> None:
    text = alt_text(lines, x_name="steps T", x_kind="steps")
    assert sentence in text
    assert not lines or text.startswith("ε against steps T from 1 to 40k: ")
