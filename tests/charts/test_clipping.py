"""The small picture of clipped norms: true shares, an axis that holds, and words for those who do not see it."""

import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from dpviz.charts.clipping import WIDTH, Clipping
from dpviz.gradients.clipped_law import threshold_over_median
from dpviz.gradients.norm_density import norm_density

CASES = [("weibull", 0.5), ("weibull", 0.05), ("weibull", 20.0), ("lognormal", 20.0), ("halfnormal", 1.0)]


def clipping(quantile: float = 0.95, sigma: float = 4.0, family: str = "weibull", shape: float = 0.5) -> Clipping:
    threshold = threshold_over_median(family, shape, quantile)
    return Clipping(norm_density(family, shape), threshold, 1.0 - quantile, sigma * threshold, "Norms")


def numbers_of(path: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+) ([\d.]+)", path)]


def area(points: list[tuple[float, float]]) -> float:
    x, y = np.array(points).T
    return abs(0.5 * float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)))


@pytest.mark.parametrize(("family", "shape"), CASES)
@pytest.mark.parametrize("quantile", [1e-4, 0.05, 0.5, 0.95, 0.9999])
@pytest.mark.parametrize("sigma", [0.01, 4.0, 1e6])
def test_it_is_a_picture_with_all_of_it_inside(family: str, shape: float, quantile: float, sigma: float) -> None:
    picture = ElementTree.fromstring(clipping(quantile, sigma, family, shape).svg())
    assert picture.get("role") == "img"
    for bar in picture.iter("rect"):
        assert 0.0 <= float(bar.get("x", "")) <= float(bar.get("x", "")) + float(bar.get("width", "")) <= WIDTH
    for path in picture.iter("path"):
        assert all(0.0 <= x <= WIDTH and 0.0 <= y <= 88.0 for x, y in numbers_of(path.get("d", "")))


@pytest.mark.parametrize("quantile", [0.3, 0.5, 0.8, 0.95])
def test_the_tinted_part_is_the_share_that_is_clipped(quantile: float) -> None:
    picture = ElementTree.fromstring(clipping(quantile).svg())
    below, beyond = (area(numbers_of(path.get("d", ""))) for path in picture.iter("path"))
    assert beyond / (below + beyond) == pytest.approx(1.0 - quantile, abs=0.025)


def test_a_quantile_and_noise_move_the_line_and_the_bar_alone() -> None:
    """The axis is the distribution's: the outline of the whole density stays."""

    def highest(known: Clipping) -> tuple[float, float]:
        picture = ElementTree.fromstring(known.svg())
        points = [point for path in picture.iter("path") for point in numbers_of(path.get("d", ""))]
        return min(points, key=lambda point: point[1])

    assert highest(clipping(0.5)) == highest(clipping(0.99)) == highest(clipping(0.95, sigma=1000.0))
    line = [re.search(r'<line x1="([\d.]+)" y1="12"', clipping(quantile).svg()) for quantile in (0.5, 0.95)]
    assert line[0] is not None
    assert line[1] is not None
    assert float(line[0][1]) < float(line[1][1])


def test_it_says_what_it_shows() -> None:
    """Of Weibull norms of shape 0.5 the 0.95 quantile is 18.7 medians: (ln 20 / ln 2)²."""
    alt = clipping().alt
    first = "Norms: 5 % of the norms are longer than C, 18.7 × the median norm, and are clipped to it."
    assert alt == f"{first} The noise σC is 75 × the median norm."
    assert alt in clipping().svg()
    assert "noise σC →" in clipping(sigma=1e6).svg()
    assert "← noise σC" in clipping(sigma=1e-9).svg()
