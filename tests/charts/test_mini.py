"""The card's chart."""

import numpy as np
import plotly.graph_objects as go

from dpviz.charts import Line, mini_line

T = np.geomspace(1, 1e4, 60)


def test_mini_line_is_bare_named_and_small() -> None:
    lines = [Line("m", "Moments", T, np.sqrt(T), "moments"), Line("b", "BDP", T, T, "bayesian", dotted_from=100)]
    figure = mini_line(lines, log_x=True, log_y=True)
    go.Figure(figure)
    assert len(figure["layout"]["annotations"]) == 2
    assert not figure["layout"]["xaxis"]["showticklabels"]
    assert all(t["hoverinfo"] == "skip" for t in figure["data"])


def test_mini_line_without_values_is_still_a_figure() -> None:
    figure = mini_line([Line("m", "Moments", [1, 2], [np.nan, np.nan], "moments")])
    go.Figure(figure)
    assert figure["data"]
    assert not figure["layout"]["annotations"]
