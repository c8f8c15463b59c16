"""Charts of runs: one axis of steps for those below each other, accuracies where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.charts.marks import Floor
from dpviz.charts.training import accuracies_shown, aligned, epsilon_chart, series_chart

STEPS = np.arange(1.0, 51.0)


def _left_title(figure: dict[str, Any]) -> float:
    notes = figure["layout"]["annotations"]
    return float(next(note["xshift"] for note in notes if note.get("name") == "title" and note["x"] == 0))


def test_charts_below_each_other_share_their_axis_of_steps() -> None:
    rising = {"moments": np.linspace(0.1, 12345.0, 50)}
    one = epsilon_chart(STEPS, rising, plan_steps=np.empty(0), plan={}, total=50.0).figure
    two = series_chart({"test": (STEPS, STEPS / 60)}, y_title="share right", total=50.0).figure
    assert one["layout"]["margin"]["l"] != two["layout"]["margin"]["l"]
    found = aligned([one, two])
    for key in ("l", "r"):
        assert len({figure["layout"]["margin"][key] for figure in found}) == 1
    assert len({tuple(figure["layout"]["xaxis"]["range"]) for figure in found}) == 1
    for before, after in zip((one, two), found, strict=True):  # titles stay where they were, at the chart's edge
        grown = after["layout"]["margin"]["l"] - before["layout"]["margin"]["l"]
        was, title = (_left_title(figure) for figure in (before, after))
        assert title == was - grown


def test_accuracies_are_drawn_where_they_end() -> None:
    test, train = np.r_[0.1, 0.85, 0.90], np.r_[0.1, 0.9, 0.95, np.nan]
    low, high = accuracies_shown([test, train]) or (0.0, 0.0)
    assert 0.5 < low < 0.9
    assert 0.95 < high <= 1.0
    assert accuracies_shown([np.array([np.nan])]) is None
    short = np.array([0.1, 0.25, 0.48, 0.61])  # of a run that ends while it still rises
    low, _ = accuracies_shown([short]) or (1.0, 0.0)
    assert low < short[1], "three of four are seen"


def test_a_count_and_a_test_do_not_look_alike() -> None:
    values = {"test": (STEPS, STEPS / 60), "private count": (STEPS, STEPS / 70)}
    floors = [Floor(0.5, "majority class", "basic")]
    figure = series_chart(values, y_title="share right", total=50.0, floors=floors).figure
    colors = {trace["line"]["color"] for trace in figure["data"] if trace.get("mode") == "lines" and trace.get("name")}
    assert len(colors) == 2
    assert any("majority class" in note["text"] for note in figure["layout"]["annotations"])


def test_a_name_inside_the_plot_stands_where_its_line_does_not() -> None:
    done = STEPS[:40]
    rising, falling = done / 100, 0.9 - done / 200
    for values, above in ((rising, True), (falling, False)):
        figure = series_chart({"test": (done, values)}, y_title="share right", total=50.0).figure
        (name,) = (note for note in figure["layout"]["annotations"] if note.get("name") == "end")
        assert (name["yshift"] > 0) == above
