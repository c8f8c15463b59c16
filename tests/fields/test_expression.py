"""What people type for numbers is understood, or refused in words, whatever it is."""

from __future__ import annotations

import doctest
import json
import math
import shutil
import subprocess
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.charts.hand import HERE
from dpviz.fields import expression
from dpviz.fields.expression import steps_of
from dpviz.fields.field import Number
from dpviz.questions.asked import ask
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, SIZE, STEPS
from dpviz.questions.units import BATCH
from dpviz.ui.registry import ENTERED

NUMBERS = [field for field in ENTERED if isinstance(field, Number)]
KNOWN: dict[str, float | None] = {expression.SIZE: 60_000.0, expression.EPOCHS: 256 / 60_000}
# Pieces of the grammar, so that most texts are nearly right.
WORDS = [
    *("1", "0", "256", "60000", "1e-5", "1e308", "-", ".", "e", "/", "//", "(", ")", "N", "n", "^", "·", "*", "%", "k"),
    *("M", "G", "_", "epoch", "epochs", "s", "nan", "inf", "∞", "²", "½", "٣", "1/N", "N^1.1", "^1e9", "30"),
]
PIECES = st.lists(st.sampled_from([*WORDS, " "]), max_size=25).map(lambda pieces: "".join(pieces)[:100])


@given(st.one_of(PIECES, st.text(max_size=100)), st.sampled_from(NUMBERS), st.sampled_from([KNOWN, {}]))
@example("1/N^" + "9" * 90, DELTA, KNOWN)
@example("N^" + "9" * 90, DELTA, KNOWN)
@example("(" * 100, DELTA, KNOWN)
@example("n" * 100, DELTA, KNOWN)
@example("1e308 epochs", STEPS, KNOWN)
@example("0/0", RATE, KNOWN)
@example("-N^0.5", BATCH, KNOWN)
def test_any_text_is_a_value_in_range_or_refused_in_words(
    text: str, field: Number, known: dict[str, float | None]
) -> None:
    begun = time.process_time()
    try:
        value, refused = field.parse(text, known), ""
    except ValueError as problem:
        value, refused = field.default, str(problem)
    assert time.process_time() - begun < 0.2
    assert not refused or (refused.startswith(field.label) and "; try " in refused)
    assert field.check(value) == value
    assert field.parse(field.write(value)) == value, "the text becomes the value"
    assert not field.whole or value == math.inf or value == math.floor(value)


@pytest.mark.parametrize(
    ("field", "text", "value"),
    [
        (RATE, "256/60000", 256 / 60_000),
        (RATE, "256/N", 256 / 60_000),
        (RATE, "1/n", 1 / 60_000),
        (DELTA, "1/N", 1 / 60_000),
        (DELTA, "1/(10 N)", 1 / 600_000),
        (DELTA, "1/10N", 1 / 600_000),
        (DELTA, "0.1/N", 0.1 / 60_000),
        (DELTA, "1/N^1.1", 1 / 60_000**1.1),
        (DELTA, "N^-1.5", 60_000**-1.5),
        (DELTA, "1e-5", 1e-5),
        (DELTA, "5%", 0.05),
        (BATCH, "N", 60_000.0),
        (BATCH, "0.5 N", 30_000.0),
        (BATCH, "N/100", 600.0),
        (STEPS, "30 epochs", 7032.0),
        (STEPS, "1 epoch", 235.0),
        (STEPS, "1/2 epoch", 118.0),
        (STEPS, "10k", 10_000.0),
        (STEPS, "10 000", 10_000.0),
    ],
)
def test_what_is_understood(field: Number, text: str, value: float) -> None:
    assert field.parse(text, KNOWN) == value


@pytest.mark.parametrize(
    ("field", "text", "found"),
    [
        (STEPS, "30 epochs", "“30 epochs” needs the sampling rate q (batch ÷ N) above 0, which is not known here"),
        (DELTA, "1/N", "“1/N” needs the size N of the data set, which is not known here"),
        (SIGMA, "1/N", "“1/N” is not a number"),
        (SIGMA, "30 epochs", "is not a number"),
        (SIZE, "2 N", "is not a number"),
        (DELTA, "1/N/N", "is not a number"),
        (DELTA, "import os", "is not a number"),
        (DELTA, "__import__('os')", "is not a number"),
    ],
)
def test_what_cannot_be_known_or_understood_is_said(field: Number, text: str, found: str) -> None:
    with pytest.raises(ValueError, match=field.label) as problem:
        field.parse(text)
    assert found in str(problem.value)


def test_asked_from_python_and_the_shell() -> None:
    assert ask("success", delta="1/60000").answer.given["delta"] == 1 / 60_000
    with pytest.raises(ValueError, match="needs the size N of the data set, which is not known here; try 1e-5"):
        ask("success", delta="1/N")
    with pytest.raises(ValueError, match="“30 epochs” needs the sampling rate"):
        ask("roc", steps="30 epochs")


@given(epochs=st.integers(1, 1000), batch=st.integers(1, 60_000))
def test_epochs_are_covered_by_the_fewest_whole_steps(epochs: int, batch: int) -> None:
    """By exact fractions: no binary dust adds a step or takes one away."""
    exact = Fraction(epochs * 60_000, batch)
    assert steps_of(epochs, batch / 60_000) == math.ceil(exact)


TYPED = json.loads(Path(__file__).with_name("typed.json").read_text())


def test_both_conventions_of_numbers_are_read_alike_in_python_and_in_the_browser() -> None:
    expected = dict(map(tuple, TYPED))
    assert {text: list(expression.readings(text)) for text in expected} == expected
    if shutil.which("node") is None:
        pytest.skip("no node found: the browser's reader is not compared")
    script = f"import {{readings}} from {json.dumps((HERE / 'readings.js').as_uri())};"
    script += f"console.log(JSON.stringify({json.dumps(list(expected))}.map(readings)))"
    shown = subprocess.run(["node", "--input-type=module", "-e", script], capture_output=True, text=True, check=True)
    assert dict(zip(expected, json.loads(shown.stdout), strict=True)) == expected


@given(st.sampled_from(NUMBERS), st.floats(1e-6, 1e6), st.integers(1, 9))
def test_a_comma_never_changes_a_value_without_a_word(field: Number, value: float, digits: int) -> None:
    """Written with a decimal comma or with thousands separators, it is read as itself, or as the one reading on the
    slider, or both readings are named. Links stay strict."""
    value = field.nearest(f"{value:.{digits}g}")
    texts = {f"{value:.9f}".rstrip("0").rstrip(".").replace(".", ","), f"{value:,.9f}".rstrip("0").rstrip(".")}
    for text in texts:
        possible = {float(plain) for plain in expression.readings(text)}
        assert any(math.isclose(value, one, abs_tol=1e-9) for one in possible)
        read, problem = value, ""
        try:
            read = field.typed(text)
        except ValueError as error:
            problem = str(error)
        settled = field.ticks and not field.ticks[0] <= value <= field.ticks[-1]
        assert settled or math.isclose(read, value, abs_tol=1e-9)
        assert not problem or (len(possible) == 2 and "may mean" in problem)
        if "," in text:
            with pytest.raises(ValueError, match="is not a number"):
                field.parse(text)


def test_examples() -> None:
    assert doctest.testmod(expression).failed == 0
