"""One palette for both themes, a theme file that agrees with it, names that can be read, and images with good names."""

import re
import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN
from dpviz.accounting.pld.accountant import Tight
from dpviz.charts import look
from dpviz.charts.look import GROUNDS, contrast, ink
from dpviz.questions.catalogue import QUESTIONS
from tests.questions.asking import asked

THEME = tomllib.loads((Path(__file__).parents[2] / ".streamlit" / "config.toml").read_text())["theme"]
FAMILIES = look.FAMILIES | look.PLAIN
COLORS = (
    *look.PALETTE,
    *look.QUANTILES.values(),
    *(style.color for style in FAMILIES.values()),
    "#000000",
    "#ffffff",
    "#171614",
)
# Machado, Oliveira, Fernandes 2009, severity 1.0: who sees no green, and no red.
BLINDNESS = {
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
}
TO_XYZ = ((0.4124564, 0.3575761, 0.1804375), (0.2126729, 0.7151522, 0.0721750), (0.0193339, 0.1191920, 0.9503041))
WHITE = (0.95047, 1.0, 1.08883)
APART = 14.0  # CIELAB; 2.3 is just noticeable
WRITTEN = ("css", "js", "html", "toml", "py")


@pytest.mark.parametrize(("ground", "color"), [*zip(("light", "dark"), GROUNDS, strict=True)])
def test_lines_and_text_stand_out_on_both_grounds(ground: str, color: str) -> None:
    theme = THEME[ground]
    assert theme["backgroundColor"].lower() == color
    least = {"textColor": 7, "linkColor": 4.5, "primaryColor": 3}
    assert all(contrast(theme[name], color) >= ratio for name, ratio in least.items())
    assert all(contrast(line, color) >= 3.1 for line in look.PALETTE)
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


def cielab(color: str, blindness: str = "") -> np.ndarray:
    """L*, a*, b* of "#rrggbb" as it is seen."""
    shares = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(BLINDNESS[blindness]) @ linear, 0.0, 1.0) if blindness else linear
    x, y, z = np.cbrt(np.array(TO_XYZ) @ seen / np.array(WHITE))  # no colour here is dark enough for the linear part
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def test_cielab_is_the_standards() -> None:
    assert cielab("#ffffff") == pytest.approx([100, 0, 0], abs=0.02)
    assert cielab("#ff0000") == pytest.approx([53.24, 80.09, 67.20], abs=0.05)
    assert cielab("#808080", "deuteranopia") == pytest.approx(cielab("#808080"), abs=0.05), "grey stays grey"


@pytest.mark.parametrize("blindness", ["", *BLINDNESS])
def test_families_are_told_apart_by_every_eye(blindness: str) -> None:
    for (one, first), (other, second) in combinations(look.FAMILIES.items(), 2):
        apart = float(np.linalg.norm(cielab(first.color, blindness) - cielab(second.color, blindness)))
        assert first.dash != second.dash or apart >= APART, (one, other, apart)


@pytest.mark.parametrize("ground", GROUNDS)
def test_lines_of_every_family_and_quantile_are_seen(ground: str) -> None:
    colors = {style.color for style in FAMILIES.values()} | set(look.QUANTILES.values())
    assert {color: contrast(color, ground) for color in colors if contrast(color, ground) < 3.0} == {}


@pytest.mark.parametrize("key", QUESTIONS)
@pytest.mark.one_of(4)
def test_a_colour_means_the_same_everywhere(key: str) -> None:
    """Each accountant's curve has its family's colour, and Bayesian DP perhaps the shade of its quantile."""
    shades = {BAYESIAN: set(look.QUANTILES.values()), OdometerAccountant.name: set(look.POLICIES.values())}
    for line in getattr(asked(QUESTIONS[key]).plot, "lines", ()):
        if line.family not in look.PLAIN:
            assert line.family in look.FAMILIES, line.key
            assert line.color in {None, look.FAMILIES[line.family].color} | shades.get(line.family, set()), line.key


def test_every_colour_is_from_one_file() -> None:
    root = Path(look.__file__).parents[2]
    files = [path for end in WRITTEN for path in (root / "dpviz").rglob(f"*.{end}")] + [root / ".streamlit/config.toml"]
    known = {*look.PALETTE, *look.ACCENTS}
    for path in files:
        colors = {color.lower() for color in re.findall(r"#[0-9a-fA-F]{6}\b", path.read_text(encoding="utf-8"))}
        hues = {color for color in colors if np.ptp(list(bytes.fromhex(color[1:]))) > 16}  # all else is grey
        assert path.name == "look.py" or hues <= known, (path, hues - known)
        assert path.suffix != ".py" or path.name == "look.py" or not colors, path


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
    for family in FAMILIES.values():
        assert family.dash not in ("dash", "dot"), "these mean approximation and dominated by its tail"
    assert look.style("new") == look.style("new"), "an unknown one gets a style that stays"
    assert look.rgba("#1a62ba", 0.5) == "rgba(26,98,186,0.5)"
