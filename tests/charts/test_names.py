"""Names, areas, guides and rings lie where the axes say, and names where nothing else is."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from dpviz.charts import look
from dpviz.charts.labels import text_width
from dpviz.charts.look import named
from dpviz.charts.marks import Area, Guide, Line, Ring
from dpviz.charts.plot import Axis, Chart, LinePlot

X = np.geomspace(1.0, 1000.0, 31)
UP = Line("up", "rising", X, X**2, "moments")
FLAT = Line("flat", "level", X, np.full(X.size, 100.0), "bayesian")
LINE = Line("a", "a", [1.0, 10.0, 100.0], [1.0, 2.0, 3.0], "moments")
COLOR = "#33a27c"


def chart(*lines: Line, log: bool = True, span: tuple[float, float] | None = (1.0, 1e4), **more: Any) -> Chart:
    x, y = Axis("x", log=log, shown=more.pop("across", None)), Axis("y", log=log, shown=span)
    return LinePlot(x, y, lines, end_values=False, **more).chart()


def notes(shown: Chart) -> dict[str, dict[str, Any]]:
    return {note["text"]: note for note in shown.figure["layout"]["annotations"]}


def fills(shown: Chart) -> list[dict[str, Any]]:
    return [trace for trace in shown.figure["data"] if trace.get("fill") == "toself"]


def test_an_area_is_clipped_to_the_axes_and_lies_between_its_curves() -> None:
    shown = chart(UP, FLAT, areas=(Area(X, UP.y, FLAT.y, COLOR, name="between"),))
    assert "<b>between</b>" in notes(shown)
    fill = shown.figure["data"][0]
    x, y = np.array(fill["x"]), np.array(fill["y"])
    assert x.min() == pytest.approx(1.0)
    assert 9.0 < x.max() <= 10.05, "they cross at 10"
    assert (y >= 0.999).all()
    assert (y <= 100.1).all()
    top, bottom = y[: y.size // 2], y[y.size // 2 :][::-1]
    np.testing.assert_allclose(top, 100.0, rtol=1e-3)
    np.testing.assert_allclose(bottom, np.maximum(x[: x.size // 2] ** 2, 1.0), rtol=2e-2)


def test_infinite_and_missing_bounds_of_an_area() -> None:
    lower = np.where(X < 10.0, np.nan, 10.0)
    [fill] = fills(chart(FLAT, areas=(Area(X, lower, np.full(X.size, np.inf), COLOR),)))
    assert max(fill["y"]) == pytest.approx(1e4, rel=1e-3)
    assert min(fill["x"]) >= 9.0


@pytest.mark.parametrize(
    ("wave", "parts"),
    [
        (np.where((X < 5.0) | (X > 200.0), 1000.0, 1.0), [(1.0, 10.0), (100.0, 1000.0)]),
        (np.where((X > 3.0) & (X < 20.0) | (X > 200.0), 1000.0, 1.0), [(1.0, 50.0), (100.0, 1000.0)]),
    ],
)
def test_an_area_in_two_parts_is_filled_in_two_parts(wave: np.ndarray, parts: list[tuple[float, float]]) -> None:
    two = fills(chart(FLAT, areas=(Area(X, FLAT.y, wave, COLOR, name="twice"),)))
    assert len(two) == 2
    for fill, (low, high) in zip(two, parts, strict=True):
        assert low * 0.999 <= min(fill["x"]) < max(fill["x"]) <= high * 1.001


def test_an_empty_area_draws_nothing_and_has_no_name() -> None:
    shown = chart(UP, FLAT, areas=(Area(X, FLAT.y, FLAT.y, COLOR, name="nothing"),))
    assert shown == chart(UP, FLAT)


def test_names_stand_beside_their_lines_and_apart() -> None:
    names = notes(chart(UP, FLAT, names_on_lines=True))
    rising, level = (names[named(f"<b>{line.name}</b>", line.hue)] for line in (UP, FLAT))
    assert rising["y"] == pytest.approx(1.5 * rising["x"], abs=0.01), "x² over 3 decades and 4"
    assert level["y"] == pytest.approx(0.5, abs=0.01)
    apart = 700 * abs(rising["x"] - level["x"]) + 330 * abs(rising["y"] - level["y"])
    assert apart > text_width("level", 13)
    above = Line("above", "above", X, 1e6 * X, "moments")
    assert not any("above" in name for name in notes(chart(UP, above, names_on_lines=True))), "it does not show"


@pytest.mark.parametrize(
    ("curves", "where"),
    [
        ([X], ("left", "bottom")),  # nothing near: at the left end, above
        ([X, np.full(31, 5.3)], ("left", "top")),  # one runs above the whole guide
        ([np.full(31, 5.3), 4.9 - 0.5 * np.linspace(0, 1, 31)], ("right", "top")),  # and one below it, at the left
        ([5.3 + 3 * np.linspace(0, 1, 31), np.full(31, 4.7)], ("right", "bottom")),
    ],
)
def test_a_level_is_named_where_no_curve_runs(curves: list[np.ndarray], where: tuple[str, str]) -> None:
    across = np.linspace(0.0, 10.0, 31)
    lines = [Line(str(i), f"curve {i}", across, across if y is X else y, "moments") for i, y in enumerate(curves)]
    shown = chart(*lines, log=False, across=(0.0, 10.0), span=(0.0, 10.0), guides=(Guide("y", 5.0, "target"),))
    name = notes(shown)["target"]
    assert (name["xanchor"], name["yanchor"]) == where


@pytest.mark.parametrize("told", [True, False])
def test_guides_stand_where_the_axes_say_and_are_said_where_they_do_not_reach(told: bool) -> None:
    line = Line("a", "a", [1.0, 100.0], [10.0, 0.1], "moments")
    guides = (Guide("x", 10.0, "my σ"), Guide("y", 1.0, "target"), Guide("x", 1e4, "far", noted=told))
    shown = chart(line, span=(0.1, 10.0), guides=guides)
    upright, level = shown.figure["layout"]["shapes"]
    assert upright["x0"] == upright["x1"] == pytest.approx(0.5)
    assert level["y0"] == level["y1"] == pytest.approx(0.5)
    assert upright["line"]["dash"] == "dash"
    assert shown.notes == (("far lies outside the chart.",) if told else ())


@pytest.mark.parametrize("log", [False, True])
def test_a_ring_with_its_hover_and_interval_where_the_axes_show_it(log: bool) -> None:
    ring = Ring(10.0, 2.0, "<b>here</b>", COLOR, 1.5, 2.25)
    outside = (Ring(1e9, 2.0, "", COLOR), Ring(10.0, -1.0, "", COLOR), Ring(0.0, 2.0, "", COLOR))
    shown = chart(LINE, log=log, span=None, rings=(ring, *outside))
    [trace] = [trace for trace in shown.figure["data"] if trace.get("name") == "ring"]
    assert (trace["x"], trace["y"]) == ([10.0], [2.0])
    assert (trace["error_y"]["array"], trace["error_y"]["arrayminus"]) == ([0.25], [0.5])
    [hover] = [note for note in shown.figure["layout"]["annotations"] if "hovertext" in note]
    assert hover["hovertext"] == "<b>here</b>"
    assert (hover["x"], hover["y"]) == ((1.0, math.log10(2.0)) if log else (10.0, 2.0))


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("at", "anchor"), [(2.0, "left"), (90.0, "right")])
def test_a_state_among_areas_is_named_on_the_side_with_room(at: float, anchor: str, log: bool) -> None:
    name = notes(states(at, log=log).chart())["<b>yours</b>"]
    assert name["xanchor"] == anchor
    assert name["x"] == pytest.approx(np.log10(at) if log else at)


def states(at: float, log: bool = True) -> LinePlot:
    x = np.geomspace(1.0, 100.0, 9)
    return LinePlot(
        Axis("batch", log=log, shown=(1.0, 100.0)),
        Axis("step size", log=log, shown=(0.5, 200.0)),
        (Line("up", "up", x, x, "moments", end="holds below", kept=False),),
        areas=(Area(x, np.zeros(9), x, COLOR, name="inside"),),
        rings=(Ring(at, 20.0, "fails", COLOR, name="yours", kept=True),),
        names_on_lines=True,
        summary="One state lies outside.",
    )


def test_pinned_states_are_grey_rings_named_by_what_differs() -> None:
    one = states(2.0)
    shown = one.beside([("batch 9", states(9.0)), ("other", LinePlot(one.x, one.y, one.lines))]).chart()
    rings = [trace for trace in shown.figure["data"] if trace.get("name") == "ring"]
    assert [ring["x"] for ring in rings] == [[9.0], [2.0]]
    assert rings[0]["marker"]["line"]["color"] == look.GREY
    hovers = [note["hovertext"] for note in shown.figure["layout"]["annotations"] if "hovertext" in note]
    assert hovers == ["batch 9: fails", "yours: fails"]
    assert {named("<b>holds below</b>", one.lines[0].hue), "<b>inside</b>"} <= notes(shown).keys()
    assert one.alt == "One state lies outside."
    assert list(one.data().columns) == ["batch", "step size_up"]
