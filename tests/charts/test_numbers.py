"""A number has the digits it deserves, and never reads as a certainty that it is not."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.charts import numbers

SUPERSCRIPT = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def read(text: str) -> float:
    """A written number as a float."""
    mantissa, _, power = text.replace(numbers.THIN, "").partition("×10")
    return float(mantissa + ("e" + power.translate(SUPERSCRIPT) if power else ""))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.258574741, "1.26"),
        (24.245, "24.2"),
        (0.0309, "0.0309"),
        (0.3, "0.300"),
        (1060.4, "1060"),
        (12345, "12\u202f300"),
        (1.2e9, "1.20×10⁹"),
        (4.5e-10, "4.50×10⁻¹⁰"),
        (0.0, "0"),
        (math.inf, "∞"),
        (math.nan, "–"),
    ],
)
def test_epsilon(value: float, text: str) -> None:
    assert numbers.epsilon(value) == text


@given(st.floats(1e-300, 1e300))
def test_epsilon_is_right_to_three_digits_and_up_is_never_less(x: float) -> None:
    assert read(numbers.epsilon(x)) == pytest.approx(x, rel=5.001e-3)
    assert read(numbers.epsilon(x, up=True)) >= x * (1 - 1e-15)
    assert read(numbers.epsilon(x, up=True)) <= x * 1.0101


@given(st.floats(1e-9, 1e9), st.floats(1.0, 10.0))
def test_the_written_ends_of_an_interval_never_lie_inside_it(low: float, times: float) -> None:
    left, right = map(read, numbers.interval(low, low * times).split(" – "))
    assert left <= low * (1 + 1e-15)
    assert low * times * (1 - 1e-15) <= right


@pytest.mark.parametrize(
    ("value", "text"), [(1e-5, "1e-5"), (2.5e-6, "2.5e-6"), (1e-300, "1e-300"), (0.05, "0.05"), (1e-3, "1e-3")]
)
def test_delta(value: float, text: str) -> None:
    assert numbers.delta(value) == text
    assert float(text) == value


@pytest.mark.parametrize(
    ("value", "long", "short"),
    [
        (9, "9", "9"),
        (4000, "4000", "4k"),
        (40_000, "40\u202f000", "40k"),
        (2.5e6, "2\u202f500\u202f000", "2.5M"),
        (1e9, None, "1G"),
    ],
)
def test_steps(value: float, long: str | None, short: str) -> None:
    assert numbers.short_steps(value) == short
    assert long is None or numbers.steps(value) == long


@pytest.mark.parametrize(
    ("p", "text"),
    [(0.5, "50 %"), (0.7787, "77.9 %"), (0.5003, "50.03 %"), (0.9997, "99.97 %"), (1.0, "100 %"), (0.0, "0 %")],
)
def test_probability(p: float, text: str) -> None:
    assert numbers.probability(p) == text


@given(st.floats(0.500001, 1 - 1e-9))
def test_probability_never_reads_as_certain_or_as_guessing(p: float) -> None:
    shown = float(numbers.probability(p).removesuffix(" %"))
    assert 50 < shown < 100
    assert shown == pytest.approx(100 * p, abs=0.5 * min(100 - 100 * p, 100 * p - 50))
    assert float(numbers.probability(p, up=True).removesuffix(" %").lstrip("> ")) >= 100 * p - 1e-10 or p > 1 - 1e-8


def test_a_curve_of_probabilities_reads_as_its_points_do() -> None:
    epsilons = np.geomspace(1e-3, 12, 300)
    points = [numbers.probability(float(1 / (1 + np.exp(-e)))) for e in epsilons]
    assert numbers.attack_probabilities(epsilons) == points


def test_probabilities_at_extremes() -> None:
    assert numbers.attack_probabilities(np.array([0.0, 14.0, 1e12, math.inf, math.nan])) == [
        "50 %",
        "> 99.9999 %",
        "> 99.9999 %",
        "> 99.9999 %",
        "–",
    ]


def test_what_is_called_at_most_is_rounded_up_wherever_it_is_written() -> None:
    """In every sentence of the package: "≤" or "at most", and then an ε or a probability."""
    pattern = r"(?:≤|at most)\s*(?:<b>|\*\*)?\{((?:numbers\.)?(?:epsilon|probability)\((?:[^{}]|\{[^{}]*\})*)\}"
    written = [
        (file.name, found)
        for file in Path(numbers.__file__).parents[1].rglob("*.py")
        for found in re.findall(pattern, file.read_text(encoding="utf-8"))
    ]
    nearest = [(file, found) for file, found in written if found.startswith("numbers.") and "up=True" not in found]
    assert len(written) > 20
    assert not nearest
