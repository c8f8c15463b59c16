"""One palette for both themes, and a theme file that agrees with it."""

import tomllib
from itertools import combinations
from pathlib import Path

import pytest

from dpviz.charts import look
from dpviz.charts.ink import GROUNDS, contrast, estimate

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())["theme"]


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_lines_and_text_stand_out_on_both_grounds(ground: str) -> None:
    theme = THEME[ground]
    for color in look.PALETTE:
        assert contrast(color, theme["backgroundColor"]) >= 2.99
    assert contrast(theme["textColor"], theme["backgroundColor"]) >= 7
    assert contrast(theme["textColor"], theme["secondaryBackgroundColor"]) >= 7
    assert contrast(theme["linkColor"], theme["backgroundColor"]) >= 4.5
    assert contrast(theme["primaryColor"], theme["backgroundColor"]) >= 3


@pytest.mark.parametrize("ground", ["light", "dark"])
def test_the_theme_has_ten_chart_colours_of_our_palette(ground: str) -> None:
    colors = THEME[ground]["chartCategoricalColors"]
    assert len(colors) == 10, "with any other number Plotly falls back to its own"
    assert set(colors) == set(look.PALETTE)
    assert THEME[ground]["backgroundColor"] == {"light": "#FFFFFF", "dark": "#171614"}[ground]


@pytest.mark.parametrize("color", look.PALETTE)
def test_an_estimate_has_its_bound_s_hue_and_another_lightness(color: str) -> None:
    about = estimate(color)
    assert all(contrast(about, ground) >= 2.99 for ground in GROUNDS)
    assert contrast(about, color) >= 1.7, "told apart without any colour"


def test_no_two_families_look_alike() -> None:
    for one, other in combinations(look.FAMILIES.values(), 2):
        assert (one.color, one.dash) != (other.color, other.dash)
    for family in look.FAMILIES.values():
        assert family.dash not in ("dash", "dot"), "these mean approximation and dominated by its tail"


def test_unknown_families_get_a_style_that_stays() -> None:
    assert look.style("new") == look.style("new")
    assert look.rgba("#1a62ba", 0.5) == "rgba(26,98,186,0.5)"
