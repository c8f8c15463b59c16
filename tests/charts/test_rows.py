"""Charts of rows, of counts and of runs: marks where they belong, words, tables, files, and what a pin keeps."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest

from dpviz.charts import look
from dpviz.charts.histogram import Histogram, HistogramPlot, OverlaidPlot, counted_histogram
from dpviz.charts.labels import Mark
from dpviz.charts.marks import Floor
from dpviz.charts.plot import Axis, Plot
from dpviz.charts.rows import Allowed, AllowedPlot, Dot, DotPlot, reached
from dpviz.charts.training import accuracies_shown, aligned, epsilon_chart, series_chart, steps_axis

BLUE = look.BLUE
AXIS = Axis("noise σ needed", name="σ for ε ≤ 2", column="sigma", log=True)
DOTS = (
    Dot("first: the best", 2.0, "2.00", "first is 2", BLUE, note="−20 % noise", label="first", key="one"),
    Dot("second", 10.0, "10.0", "second is 10", BLUE),
    Dot("third", None, "–", "third", BLUE, instead="none: see below", why="too strict"),
)
PLOT = DotPlot(AXIS, DOTS, reference=10.0, compared="against second", summary="noise needed for ε ≤ 2")


def of_mode(figure: dict[str, Any], mode: str) -> list[dict[str, Any]]:
    return [trace for trace in figure["data"] if trace.get("mode") == mode]


# --- dots -------------------------------------------------------------------------------------------------------------


def test_everything_follows_from_the_dots() -> None:
    assert isinstance(PLOT, Plot)
    assert PLOT.alt == "noise needed for ε ≤ 2: first 2.00; second 10.0; third –."
    table = [("first", "2.00", "−20 % noise"), ("second", "10.0", "–"), ("third", "–", "–")]
    assert [*PLOT.table().itertuples(index=False, name=None)] == table
    assert [*PLOT.table().columns] == ["method", "σ for ε ≤ 2", "against second"]
    data = PLOT.data()
    assert data["method"].tolist() == ["one", "second", "third"]
    np.testing.assert_array_equal(data["sigma"], [2.0, 10.0, np.nan])
    assert data["why_none"].tolist() == ["", "", "too strict"]


def test_rows_dots_and_words() -> None:
    pinned = (Dot("second", 5.0, "", "pinned", BLUE, faded=True), Dot("gone", 7.0, "", "elsewhere", BLUE, faded=True))
    figure = replace(PLOT, dots=DOTS + pinned).chart().figure
    assert figure["layout"]["yaxis"]["ticktext"] == ["first: the best", "second", "third"]
    assert sorted((t["x"][0], t["y"][0]) for t in of_mode(figure, "markers")) == [(2.0, 0), (5.0, 1), (10.0, 1)]
    assert [t["x"] for t in of_mode(figure, "lines")] == [[10.0, 2.0], [10.0, 10.0]], "ties to the reference"
    words = {note["text"]: note["x"] for note in figure["layout"]["annotations"]}
    assert [*words] == ["<b>2.00</b>  −20 % noise", "<b>10.0</b>", "none: see below"]
    first, second, third = words.values()
    assert (first == second, third) == (True, 0.0), "right of the line that ties it to the reference"


def test_pins_add_faded_dots_of_the_same_axis_alone() -> None:
    both = PLOT.with_pinned([("σ <3>", PLOT), ("T", replace(PLOT, x=Axis("steps", column="steps")))])
    assert [(dot.name, dot.hover) for dot in both.dots if dot.faded] == [
        ("first: the best", "σ &lt;3&gt;: 2.00"),
        ("second", "σ &lt;3&gt;: 10.0"),
    ]
    assert both.table().equals(PLOT.table())
    assert both.alt == PLOT.alt
    again = PLOT.with_pinned([("both", both)])
    assert sum(dot.faded for dot in again.dots) == 2, "what was pinned beside it is not its own"


@pytest.mark.parametrize("values", [[], [None], [3.0], [1e-300, 1e300], [math.inf, 0.0], [1.0 + i for i in range(14)]])
def test_extremes_give_a_finite_axis_and_many_rows_stand_apart(values: list[float | None]) -> None:
    dots = tuple(Dot(str(i), value, "x", "x", BLUE) for i, value in enumerate(values))
    figure = replace(PLOT, dots=dots).chart(224).figure
    layout = figure["layout"]
    low, high = layout["xaxis"]["range"]
    assert -math.inf < low < high < math.inf
    assert figure["data"]
    inner = layout["height"] - layout["margin"]["t"] - layout["margin"]["b"]
    assert inner >= 1.3 * look.LABEL_SIZE * len(dots)
    assert layout["height"] == 224 or len(dots) == 14


# --- bars and attacks -------------------------------------------------------------------------------------------------


def attacks(*bounds: float, measured: tuple[Mark, ...] = ()) -> AllowedPlot:
    rows = [Allowed(f"bound {i}", success, f"at most {success}", "hover", BLUE) for i, success in enumerate(bounds)]
    return AllowedPlot(alt="", bounds=tuple(rows), reached=measured, x_title="right")


def test_bars_go_from_guessing_to_what_is_allowed_and_lines_stand_where_an_attack_was() -> None:
    one, other = (reached("measured", s, s - 0.03, s + 0.03, BLUE) for s in (0.52, 0.6))
    figure = attacks(0.9, 0.95, measured=(one,)).with_pinned([("pin", attacks(0.9, measured=(other,)))]).chart().figure
    go.Figure(figure)
    bars = [t for t in figure["data"] if t["type"] == "bar"]
    assert [b["base"][0] + b["x"][0] for b in bars] == pytest.approx([90, 95])
    band, line, faded = figure["layout"]["shapes"]
    assert (band["x0"], band["x1"], line["x0"], faded["x0"]) == pytest.approx((49, 55, 52, 60))
    assert "<b>measured 52.0 %</b> · 49.0 % to 55.0 %" in figure["layout"]["annotations"][0]["text"]


@pytest.mark.parametrize(("bound", "low", "high"), [(1.0, 0.0, 1.0), (0.5, 0.5, 0.5), (0.500001, 0.3, 0.4)])
def test_extreme_attacks_stay_in_view(bound: float, low: float, high: float) -> None:
    figure = attacks(bound, measured=(reached("m", (low + high) / 2, low, high, BLUE),)).chart().figure
    go.Figure(figure)
    first, last = figure["layout"]["xaxis"]["range"]
    assert 0 <= first < last <= 100
    assert first <= 100 * low
    assert last >= 100 * max(bound, high)


# --- counts -----------------------------------------------------------------------------------------------------------

RNG = np.random.default_rng(5)
LIGHT = np.abs(RNG.normal(size=4000)) + 1
NORMAL, WIDE, HEAVY = RNG.normal(10, 1, 400), RNG.normal(12, 2, 300), RNG.weibull(0.4, 4000)
SOME_ZEROS = np.array([*HEAVY, 0.0, 0.0])
COUNTS = HistogramPlot(LIGHT, noise_std=1.6, marks=(Mark(1.5, "C"), Mark(1e9, "far")), alt="")


def overlaid(*samples: Any, **more: Any) -> OverlaidPlot:
    colors = (look.BLUE, look.ORANGE)
    named = [Histogram(name, v, color) for name, v, color in zip("ab", samples, colors, strict=False)]
    return OverlaidPlot(alt="", samples=tuple(named), x_title="distance", **more)


@pytest.mark.parametrize("log_count", [False, True])
@pytest.mark.parametrize("distances", [LIGHT, HEAVY, np.full(5, 3.0), np.zeros(4)])
def test_every_distance_is_counted_in_bars_with_the_edges_of_their_bins(distances: np.ndarray, log_count: bool) -> None:
    chart = replace(COUNTS, distances=distances, log_count=log_count).chart()
    go.Figure(chart.figure)
    assert chart.figure["layout"]["xaxis"]["type"] == ("log" if distances is HEAVY else "linear")
    [bars] = chart.figure["data"]
    assert sum(bars["y"]) == distances.size
    assert chart.notes == ()
    middle, half = np.array(bars["x"]), np.array(bars["width"]) / 2
    left, right = middle - half, middle + half
    assert np.allclose(right[:-1], left[1:], rtol=1e-5)
    for low, high, count in zip(left[5:-1], right[5:-1], bars["y"][5:-1], strict=True):
        assert abs(np.sum((low <= distances) & (high > distances)) - count) <= 1 or np.ptp(distances) == 0


def test_marks_have_rows_of_their_own_and_far_ones_an_arrow() -> None:
    layout = COUNTS.chart().figure["layout"]
    names = layout["annotations"]
    assert len({note["yshift"] for note in names}) == 3
    assert "→" in names[-1]["text"]
    assert len(layout["shapes"]) == 2


def test_counts_made_elsewhere_are_drawn_where_there_are_some() -> None:
    edges = np.geomspace(1e-3, 1e3, 7)
    [bars] = counted_histogram(edges, [0, 0, 3, 4, 0, 0], x_title="norm").figure["data"]
    assert bars["y"] == [3, 4]


@pytest.mark.parametrize("samples", [(NORMAL, WIDE), (HEAVY, NORMAL), (np.zeros(3), np.zeros(4)), (np.full(3, 2.0),)])
def test_shares_of_samples_over_each_other_add_up(samples: tuple[np.ndarray, ...]) -> None:
    figure = overlaid(*samples).chart().figure
    go.Figure(figure)
    assert [sum(t["y"]) for t in of_mode(figure, "markers")] == pytest.approx([100] * len(samples), rel=1e-4)


def test_bins_hold_what_numpy_counts() -> None:
    figure = overlaid(NORMAL).chart(bins=10).figure
    counts, edges = np.histogram(NORMAL, bins=10)
    np.testing.assert_allclose(figure["data"][0]["x"][::2], edges, rtol=1e-6)
    np.testing.assert_allclose(of_mode(figure, "markers")[0]["y"], counts / 4, rtol=1e-4)


def test_means_are_named_and_drawn_but_for_pinned_samples() -> None:
    layout = overlaid(NORMAL, WIDE).with_pinned([("pin", overlaid(WIDE))]).chart().figure["layout"]
    assert ["mean a" in layout["annotations"][0]["text"], len(layout["annotations"])] == [True, 2]
    assert [shape["x0"] for shape in layout["shapes"]] == pytest.approx([NORMAL.mean(), WIDE.mean()])


def test_what_cannot_be_drawn_is_told() -> None:
    several = replace(COUNTS, distances=SOME_ZEROS).chart().notes
    assert several == ("2 distances are 0 and have no place on a logarithmic axis.",)
    assert overlaid(SOME_ZEROS[:-1]).chart().notes == ("1 value is 0 and has no place on a logarithmic axis.",)
    assert overlaid(empty="Nothing yet.").chart().figure["layout"]["annotations"][0]["text"] == "Nothing yet."


# --- runs -------------------------------------------------------------------------------------------------------------

STEPS = np.arange(1.0, 51.0)


def test_charts_below_each_other_share_their_axis_of_steps() -> None:
    rising = {"moments": np.linspace(0.1, 12345.0, 50)}
    one = epsilon_chart(STEPS, rising, plan_steps=np.empty(0), plan={}, total=50.0).figure
    two = series_chart({"test": (STEPS, STEPS / 60)}, across=steps_axis(50.0), y_title="share right").figure
    layouts = [figure["layout"] for figure in aligned([one, two])]
    for key in ("l", "r"):
        assert len({layout["margin"][key] for layout in layouts}) == 1
    assert len({tuple(layout["xaxis"]["range"]) for layout in layouts}) == 1

    def title(layout: dict[str, Any]) -> float:
        [left] = [note["xshift"] for note in layout["annotations"] if note.get("name") == "title"]
        return float(left + layout["margin"]["l"])

    assert [title(layout) for layout in layouts] == [title(one["layout"]), title(two["layout"])], "at the chart's edge"


def test_accuracies_are_drawn_where_they_end() -> None:
    test, train = np.r_[0.1, 0.85, 0.90], np.r_[0.1, 0.9, 0.95, np.nan]
    low, high = accuracies_shown([test, train]) or (0.0, 0.0)
    assert 0.5 < low < 0.9
    assert 0.95 < high <= 1.0
    assert accuracies_shown([np.array([np.nan])]) is None
    low, _ = accuracies_shown([np.array([0.1, 0.25, 0.48, 0.61])]) or (1.0, 0.0)  # of a run that still rises
    assert low < 0.25, "three of four are seen"


def test_a_share_is_written_in_percent_to_the_nearest_tenth() -> None:
    """As the headline writes it: at the line's end, on the axis, on a floor and under the pointer; not rounded up."""
    values = {
        "test": (np.arange(3.0), np.array([0.1, 0.8, 0.88632])),
        "drawn": (np.arange(2.0), np.array([0.1, 0.88632])),
    }
    floors, axis = [Floor(0.9, "target", "budget")], steps_axis(2.0)
    figure = series_chart(values, across=axis, y_title="accuracy", kind="share", floors=floors).figure
    words = [note["text"].replace("\u00a0", " ") for note in figure["layout"]["annotations"]]
    assert sum("88.6 %" in text for text in words) == 2
    assert "target: 90.0 %" in words
    assert figure["layout"]["yaxis"]["ticktext"][-1] == "100 %"
    assert ["88.6\u00a0%" in trace["hovertext"] for trace in figure["data"] if "hovertext" in trace] == [True]
    assert any("%{y:.1%}" in trace.get("hovertemplate", "") for trace in figure["data"])


def test_a_count_and_a_test_do_not_look_alike() -> None:
    values = {"test": (STEPS, STEPS / 60), "private count": (STEPS, STEPS / 70)}
    floors = [Floor(0.5, "majority class", "basic")]
    figure = series_chart(values, across=steps_axis(50.0), y_title="share right", floors=floors).figure
    assert len({trace["line"]["color"] for trace in of_mode(figure, "lines") if trace.get("name")}) == 2
    assert any("majority class" in note["text"] for note in figure["layout"]["annotations"])
