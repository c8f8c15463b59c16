"""A number has the digits it deserves, and never reads as a certainty that it is not."""

import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.fields import numbers

ROOT = Path(numbers.__file__).parents[1]


def read(text: str) -> float:
    """A written number as a float."""
    return float(text.replace(numbers.THIN, ""))


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


@given(st.floats(1e-300, 1.0))
def test_a_probability_of_failure_never_reads_smaller_than_it_is(x: float) -> None:
    assert x * (1 - 1e-12) <= float(numbers.delta(x)) <= x * 1.0101
    assert float(numbers.delta(x, up=False)) == pytest.approx(x, rel=5.001e-3)


def test_a_round_probability_of_failure_stays_as_it_is() -> None:
    assert [*map(numbers.delta, (1e-5, 2.5e-6, 0.1 + 0.2, 1e-5 * 3))] == ["1e-5", "2.5e-6", "0.3", "3e-5"]


@given(st.floats(0.500001, 1 - 1e-9))
def test_probability_never_reads_as_certain_or_as_guessing(p: float) -> None:
    shown = float(numbers.probability(p).removesuffix(" %"))
    assert 50 < shown < 100
    assert shown == pytest.approx(100 * p, abs=0.5 * min(100 - 100 * p, 100 * p - 50))
    assert float(numbers.probability(p, up=True).removesuffix(" %")) >= 100 * p - 1e-10
    assert numbers.probability(1 - 1e-15, up=True) == "100 %", "“at most > 99.99 %” is no sentence"


def test_a_curve_of_probabilities_reads_as_its_points_do() -> None:
    epsilons = np.geomspace(1e-3, 12, 300)
    points = [numbers.probability(float(1 / (1 + np.exp(-e)))) for e in epsilons]
    assert numbers.attack_probabilities(epsilons) == points


def test_what_is_called_at_most_is_rounded_up_wherever_it_is_written() -> None:
    """In every sentence of the package: "≤" or "at most", and then an ε or a probability."""
    pattern = r"(?:≤|at most)\s*(?:<b>|\*\*)?\{numbers\.(\w+)\(((?:[^{}]|\{[^{}]*\})*)\}"
    written = [call for file in ROOT.rglob("*.py") for call in re.findall(pattern, file.read_text(encoding="utf-8"))]
    nearest = [
        (name, rest)
        for name, rest in written
        if name in ("down", "near") or (name in ("epsilon", "probability") and "up=True" not in rest)
    ]
    assert nearest == []
    assert sum(name in ("up", "chance_up", "at_most") for name, _ in written) > 40
