"""Guides lie where they are told, and their names where no curve runs."""

import numpy as np
import pytest

from dpviz.charts.guides import Guide, with_guides
from dpviz.charts.lines import Chart, line_figure
from dpviz.charts.marks import Line

X = np.linspace(0.0, 10.0, 50)


def chart(*curves: object) -> Chart:
    lines = [Line(str(i), f"curve {i}", X, y, "renyi_improved") for i, y in enumerate(curves)]
    return line_figure(lines, x_title="x", y_title="y", x_range=(0.0, 10.0), y_range=(0.0, 10.0), height=430)


def name_of(built: Chart, text: str) -> dict[str, object]:
    (found,) = (a for a in built.figure["layout"]["annotations"] if a["text"] == text)
    return found


@pytest.mark.parametrize(
    ("curves", "where"),
    [
        ([X], ("left", "bottom")),  # nothing near: at the left end, above
        ([X, np.full(50, 5.3)], ("left", "top")),  # one runs above the whole guide
        ([np.full(50, 5.3), 4.9 - 0.5 * X / 10], ("right", "top")),  # and one below it, at the left
        ([5.3 + 0.3 * X, np.full(50, 4.7)], ("right", "bottom")),
    ],
)
def test_a_level_is_named_where_no_curve_runs(curves: list[object], where: tuple[str, str]) -> None:
    found = name_of(with_guides(chart(*curves), Guide("y", 5.0, "target")), "target")
    assert (found["xanchor"], found["yanchor"]) == where


def test_a_guide_beyond_the_axes_is_said_not_drawn() -> None:
    plain = chart(X)
    built = with_guides(plain, Guide("y", 11.0, "target"), Guide("x", 3.0, "mine"))
    assert built.notes[-1] == "target lies outside the chart."
    (line,) = built.figure["layout"]["shapes"][len(plain.figure["layout"]["shapes"]) :]
    assert line["x0"] == line["x1"] == pytest.approx(0.3)
