"""A plot as a value: what its table, file and axes say of its marks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dpviz.charts.look import named
from dpviz.charts.marks import Band, Column, Line
from dpviz.charts.plot import Axis, LinePlot

X = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def plot(**changed: object) -> LinePlot:
    line = Line("a", "a", X, X, "moments")
    given = {"x": Axis("x", marks=(1.0, 3.0, 5.0)), "y": Axis("y"), "lines": (line,)} | changed
    return LinePlot(**given)  # type: ignore[arg-type]


def test_a_band_is_written_only_where_it_is_known() -> None:
    """The interval at another x would be another's."""
    band = Band("band", np.array([1.0, 4.0, 5.0]), np.array([0.1, 0.4, 0.5]), np.array([0.2, 0.6, 0.7]))
    assert plot(bands=(band,)).table()["y band"].tolist() == ["0.1 – 0.2", "–", "0.5 – 0.7"]


def test_a_band_alone_has_a_table_of_its_own() -> None:
    band = Band("band", np.array([1.0, 5.0]), np.array([0.1, 0.5]), np.array([0.2, 0.7]))
    assert plot(lines=(), bands=(band,)).table().columns.tolist() == ["x", "y band"]
    assert plot(lines=()).table().columns.tolist() == ["x"]


def test_an_axis_may_follow_all_lines_pinned_ones_too() -> None:
    def high(lines: object) -> tuple[float, float]:
        return 0.0, 2.0 * max(float(np.max(line.y)) for line in lines)  # type: ignore[attr-defined]

    now = plot(y=Axis("y", shown=high))
    assert now.chart().figure["layout"]["yaxis"]["range"] == [0.0, 10.0]
    pinned = plot(lines=(Line("a", "a", X, 3 * X, "moments"),))
    assert now.beside([("pin", pinned)]).chart().figure["layout"]["yaxis"]["range"] == [0.0, 30.0]


LINE = Line("rising", "rising", X[:4], X[:4] ** 2, "moments")


def curve(**more: object) -> LinePlot:
    return LinePlot(Axis("steps", marks=tuple(X[:4])), Axis("ε", column="epsilon"), (LINE,), **more)  # type: ignore[arg-type]


def test_an_interval_stands_in_no_row_but_its_own() -> None:
    """The interval after one step is none of the second step's: less was spent by then."""
    shown = curve(bands=(Band("tight", [1.0, 4.0], [0.5, 10.0], [0.9, 15.0]),)).table()["ε tight"]
    assert shown.tolist() == ["0.5 – 0.9", "–", "–", "10 – 15"]


def test_further_facts_about_x_are_in_table_and_file() -> None:
    found = curve(columns=(Column("σ of that step", X[:4] / 2, key="sigma"),))
    assert found.table()["σ of that step"].tolist() == ["0.5", "1", "1.5", "2"]
    np.testing.assert_array_equal(found.data()["sigma"], X[:4] / 2)


XS = np.geomspace(1.0, 1000.0, 31)
UP = Line("up", "rising", XS, XS**2, "moments")
NONE = Line("none", "nowhere", XS, np.full(XS.size, np.nan), "bayesian")
PLOT = LinePlot(Axis("x", log=True), Axis("y", log=True, shown=(1.0, 100.0)), (UP, NONE), end_values=False)


def names(plot: LinePlot) -> list[tuple[str, float]]:
    """What is written on the chart, and how far right: 1 is beside the plot."""
    return [(note["text"], note["x"]) for note in plot.chart().figure["layout"]["annotations"]]


def test_names_stand_on_lines_that_leave_through_the_top() -> None:
    assert (named("↑ rising", UP.hue) + "<b></b>", 1) in names(PLOT)
    found = dict(names(replace(PLOT, names_on_lines=True)))
    assert not any("↑" in text for text in found)
    assert 0.1 < found[named("<b>rising</b>", UP.hue)] < 0.5, "it leaves in the middle"


def test_a_line_without_a_value_goes_unmentioned_where_words_tell_why() -> None:
    assert PLOT.chart().notes == ("nowhere has no value to draw here.",)
    explained = replace(PLOT, lines=(UP, replace(NONE, explained=True)))
    assert explained.chart().notes == ()
    assert "y nowhere" in explained.table().columns
    assert np.isnan(explained.data()["y_none"]).all()
