"""One palette for both themes, a theme file that agrees with it, names that can be read, and images with good names."""

import re
import tomllib
from itertools import combinations
from pathlib import Path

import pytest

from dpviz.accounting.pld.accountant import Tight
from dpviz.charts import look
from dpviz.charts.look import GROUNDS, contrast, ink

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())["theme"]
COLORS = (*look.PALETTE, *(style.color for style in look.FAMILIES.values()), "#000000", "#ffffff", "#171614", "#9c860c")


@pytest.mark.parametrize(("ground", "color"), [*zip(("light", "dark"), GROUNDS, strict=True)])
def test_lines_and_text_stand_out_on_both_grounds(ground: str, color: str) -> None:
    theme = THEME[ground]
    assert theme["backgroundColor"].lower() == color
    least = {"textColor": 7, "linkColor": 4.5, "primaryColor": 3}
    assert all(contrast(theme[name], color) >= ratio for name, ratio in least.items())
    assert all(contrast(line, color) >= 2.99 for line in look.PALETTE)
    assert contrast(theme["textColor"], theme["secondaryBackgroundColor"]) >= 7
    assert len(theme["chartCategoricalColors"]) == 10, "with any other number Plotly falls back to its own"
    assert set(theme["chartCategoricalColors"]) == set(look.PALETTE)


def test_contrast_is_the_standards() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)  # the usual example of a grey that fails


@pytest.mark.parametrize("color", COLORS)
def test_a_name_is_readable_on_either_ground_and_keeps_a_colour_that_is(color: str) -> None:
    inks = re.fullmatch(r"light-dark\((#\w{6}),(#\w{6})\)", ink(color))
    assert inks is not None
    for text, ground in zip(inks.groups(), GROUNDS, strict=True):
        assert contrast(text, ground) >= 4.5
        assert text == color or contrast(color, ground) < 4.6
    assert look.named("moments", color) == f"<span style='color:{ink(color)}'>moments</span>"


@pytest.mark.parametrize("color", look.PALETTE)
def test_an_estimate_has_its_bound_s_hue_and_another_lightness(color: str) -> None:
    about = look.estimate(color)
    assert all(contrast(about, ground) >= 2.99 for ground in GROUNDS)
    assert contrast(about, color) >= 1.7, "told apart without any colour"


@pytest.mark.parametrize("ground", GROUNDS)
def test_a_thin_band_is_seen_as_a_line(ground: str) -> None:
    for color in (*look.PALETTE, look.style(Tight.name).color):
        pairs = zip(*(bytes.fromhex(one[1:]) for one in (color, ground)), strict=True)
        edge = bytes(round(look.EDGE * over + (1 - look.EDGE) * under) for over, under in pairs)
        least = 1.7 if color in look.PALETTE else 3.0  # the truth, which all else is compared with
        assert contrast(f"#{edge.hex()}", ground) >= least, color


def test_no_two_families_look_alike() -> None:
    for one, other in combinations(look.FAMILIES.values(), 2):
        assert (one.color, one.dash) != (other.color, other.dash)
    for family in look.FAMILIES.values():
        assert family.dash not in ("dash", "dot"), "these mean approximation and dominated by its tail"
    assert look.style("new") == look.style("new"), "an unknown one gets a style that stays"
    assert look.rgba("#1a62ba", 0.5) == "rgba(26,98,186,0.5)"
