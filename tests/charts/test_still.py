"""The chart before its script: where curves, ticks and names stand, and that text stays text."""

import re

import numpy as np
import pytest

from dpviz.charts import Axis, Band, Line, LinePlot
from dpviz.charts.still import WIDTH, still

X = np.linspace(0.0, 10.0, 11)
AXES = Axis("steps", shown=(0.0, 10.0)), Axis("ε", shown=(0.0, 2.0))


def shown(*lines: Line, x: Axis = AXES[0], y: Axis = AXES[1], bands: tuple[Band, ...] = ()) -> tuple[str, float]:
    """The element, and the height of its plot in pixels."""
    figure = LinePlot(x, y, lines, bands).chart().figure
    margin = figure["layout"]["margin"]
    return still(figure, "a < b"), figure["layout"]["height"] - margin["t"] - margin["b"]


def words(element: str) -> dict[str, tuple[float, float]]:
    """Shares of the plot by text."""
    each = re.findall(
        r"<span class=\"\w+\" style=\"--x:([^;]+);--y:([^;]+);[^>]*>(.*?)</span>(?=<span|</div>)", element
    )
    return {re.sub("<[^>]+>", "", text).strip(): (float(x), float(y)) for x, y, text in each}


def test_a_curve_fills_the_plot_from_corner_to_corner() -> None:
    element, height = shown(Line("a", "a", X, X / 5.0, "moments"))
    curve = re.search(r'<path d="(M0\.0 [^"]+)" fill="none"', element)
    assert curve is not None
    assert curve[1].startswith(f"M0.0 {height:.1f}")
    assert curve[1].endswith(f"L{WIDTH:.1f} 0.0")


@pytest.mark.parametrize("log", [False, True])
def test_ticks_stand_where_their_values_are(log: bool) -> None:
    x = Axis("q", log=True, shown=(1.0, 100.0)) if log else Axis("steps", shown=(0.0, 10.0))
    element, _ = shown(Line("a", "a", 1.0 + 9.9 * X, X / 5.0, "moments"), x=x)
    places = words(element)
    middle, text = (0.5, "10") if log else (0.8, "8")
    assert places[text] == pytest.approx((middle, 0.0), abs=1e-3)
    assert places["0.4"] == pytest.approx((0.0, 0.2), abs=1e-3)
    assert places["q" if log else "steps"][0] == pytest.approx(0.5)


def test_a_name_stands_at_its_line_s_end_with_its_value() -> None:
    element, _ = shown(Line("a", "moments", X, X / 10.0, "moments"))
    [place] = [place for text, place in words(element).items() if text.startswith("moments ")]
    assert place == pytest.approx((1.0, 0.5), abs=1e-3)


def test_a_thin_band_is_seen_by_its_edges() -> None:
    line = Line("a", "a", X, X / 5.0, "moments")
    edges = [
        re.findall(r'Z" fill="rgba[^"]+" opacity="1" stroke="rgba', shown(line, bands=bands)[0])
        for bands in ((), (Band("b", X, X / 5.0, X / 5.0 + 1e-3),))
    ]
    assert [len(found) for found in edges] == [0, 1]


def test_text_of_others_is_no_markup() -> None:
    element, _ = shown(Line("a", "<img src=x onerror=alert(1)> <b onclick=x>b", X, X / 5.0, "moments"))
    assert "<img" not in element
    assert "<b onclick" not in element
    assert 'aria-label="a &lt; b"' in element
    style = "<span style='color:red;position:fixed'>"
    assert style not in shown(Line("a", style, X, X / 5.0, "moments"))[0]
