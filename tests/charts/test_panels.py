"""Panels: each is its plot on axes that all share, and table, file and words go through all of them."""

from dataclasses import replace

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from dpviz.charts import Axis, Line, LinePlot, Panel, Panels, Plot, look

X = (1.0, 50.0, 100.0)


def plot(top: float) -> LinePlot:
    """Two curves, of which one is the same in every plot."""
    same = Line("same", "DP", X, (1.0, 2.0, 3.0), look.SOLID)
    other = Line("other", "Bayesian", X, (0.5 * top, 0.8 * top, top), look.SOLID, color=look.ORANGE)
    return LinePlot(Axis("steps T", name="T", column="steps"), Axis("ε", column="epsilon", log=True), (same, other))


PANELS = Panels("quantile", (Panel(0.05, plot(200.0)), Panel(0.95, plot(1.0)), Panel(0.5, plot(20.0))))


def test_each_panel_has_its_own_curves_on_axes_that_all_share() -> None:
    assert isinstance(PANELS, Plot)
    figure = PANELS.chart().figure
    layout = figure["layout"]
    for axis in ("xaxis", "yaxis"):
        assert [key for key in layout if key.startswith(axis)] == [f"{axis}{number}" for number in (2, 3, 4)]
        ranges = [layout[f"{axis}{number}"]["range"] for number in (2, 3, 4)]
        assert ranges == [ranges[0]] * 3
        zooms = [layout[f"{axis}{number}"].get("matches") for number in (2, 3, 4)]
        assert zooms == [None, f"{axis[0]}2", f"{axis[0]}2"]
    low, high = 10.0 ** np.array(layout["yaxis2"]["range"])
    assert low <= 0.5
    assert high >= 200.0, "of the highest panel"
    for number, (_, own) in enumerate(PANELS.panels, 2):
        drawn = [trace for trace in figure["data"] if trace["xaxis"] == f"x{number}"]
        assert {trace["yaxis"] for trace in drawn} == {f"y{number}"}
        for line in own.lines:
            assert any(t["name"] == line.name and list(t["y"]) == list(line.y) for t in drawn), (number, line.key)


def test_panels_stand_side_by_side_under_their_names() -> None:
    layout = PANELS.chart().figure["layout"]
    domains = [layout[f"xaxis{number}"]["domain"] for number in (2, 3, 4)]
    assert domains[0][0] == 0.0
    assert domains[-1][1] == pytest.approx(1.0)
    assert all(one[1] < other[0] for one, other in zip(domains[:-1], domains[1:], strict=True))
    assert np.ptp([last - first for first, last in domains]) == pytest.approx(0.0, abs=1e-12)
    above = {note["xref"]: note["text"] for note in layout["annotations"] if note["xref"] != "paper"}
    values = ("0.05", "0.95", "0.5")
    assert above == {f"x{number} domain": f"<b>quantile {v}</b>" for number, v in enumerate(values, 2)}
    [curves] = [note["text"] for note in layout["annotations"] if note.get("name") == "names"]
    assert [curves.count(name) for name in ("DP", "Bayesian")] == [1, 1], "a name a curve, not one a panel"
    assert [entry["line"] for entry in layout["meta"]["panels"]] == ["DP", "Bayesian"]


def test_plotly_takes_the_figure() -> None:
    figure = go.Figure(PANELS.chart(300).figure)
    assert figure.layout.height == 300
    assert figure.layout.xaxis3.matches == "x2"


def test_table_file_and_words_are_those_of_each_panel() -> None:
    tables, files = (PANELS.table(), [plot.table() for _, plot in PANELS.panels]), PANELS.data()
    whole, each = tables
    assert whole["quantile"].tolist() == ["0.05"] * 3 + ["0.95"] * 3 + ["0.5"] * 3
    pd.testing.assert_frame_equal(whole.drop(columns="quantile"), pd.concat(each, ignore_index=True))
    assert files["quantile"].tolist() == [0.05] * 3 + [0.95] * 3 + [0.5] * 3
    pd.testing.assert_frame_equal(
        files[files["quantile"] == 0.95].drop(columns="quantile").reset_index(drop=True), plot(1.0).data()
    )
    for value, own in PANELS.panels:
        assert f"Quantile {value:g}: {own.alt}" in PANELS.alt
    assert PANELS.with_pinned([("σ 2", PANELS)]) is PANELS


def test_panels_of_other_quantities_are_refused() -> None:
    other = replace(plot(1.0), y=Axis("accuracy"))
    with pytest.raises(ValueError, match="axes of one kind, found 2 kinds"):
        Panels("quantile", (Panel(0.05, plot(1.0)), Panel(0.95, other)))
