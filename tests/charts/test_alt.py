"""The sentence for those who do not see the chart."""

import math

from dpviz.charts import Line, alt_text

T = [1.0, 10_000.0, 40_000.0]


def test_the_takeaway_names_best_and_highest() -> None:
    lines = [
        Line("s", "Strong", T, [1, 9, 24.2], "strong"),
        Line("r", "Rényi improved", T, [0.1, 1.04, 2.21], "renyi_improved"),
        Line("p", "σ = 2", T, [0.1, 0.2, 0.3], "moments", faded=True),
    ]
    assert alt_text(lines, x_name="steps T", x_kind="steps") == (
        "ε against steps T from 1 to 40k: Rényi improved is best and goes from 0.100 to 2.21; "
        "Strong ends highest at 24.2, 1 pinned beside them."
    )


def test_neither_an_approximation_nor_a_weaker_promise_is_called_best() -> None:
    lines = [
        Line("b", "Bayesian", T, [0.1, 0.2, 0.3], "bayesian"),
        Line("a", "Asymptotic", T, [0.1, 0.2, 0.4], "moments", approximate=True),
        Line("m", "Moments", T, [0.4, 1.26, 2.58], "moments"),
    ]
    said = alt_text(lines, x_name="steps T")
    assert "Moments is best" in said
    assert "Bayesian (a weaker promise) ends at 0.300" in said


def test_a_curve_that_stops_early_is_not_called_best_at_the_end() -> None:
    lines = [
        Line("c", "Closed form", T, [0.01, 0.02, math.nan], "closed_form"),
        Line("m", "Moments", T, [0.4, 1.26, 2.58], "moments"),
    ]
    assert "Moments is best" in alt_text(lines, x_name="steps T")


def test_no_curve() -> None:
    assert alt_text([], x_name="steps T") == "ε against steps T: no curve has a value here."
