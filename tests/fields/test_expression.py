"""What people type for numbers is understood, or refused in words, whatever it is."""

import doctest
import json
import math
import time
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dpviz.fields import expression
from dpviz.fields.expression import steps_of
from dpviz.fields.field import Number
from dpviz.questions.mechanism import DELTA, RATE, STEPS
from dpviz.questions.units import BATCH
from dpviz.ui.registry import FIELDS

NUMBERS = [field for field in (BATCH, *FIELDS) if isinstance(field, Number)]
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


@given(epochs=st.integers(1, 1000), batch=st.integers(1, 60_000))
def test_epochs_are_covered_by_the_fewest_whole_steps(epochs: int, batch: int) -> None:
    """By exact fractions: no binary dust adds a step or takes one away."""
    exact = Fraction(epochs * 60_000, batch)
    assert steps_of(epochs, batch / 60_000) == math.ceil(exact)


TYPED = json.loads(Path(__file__).with_name("typed.json").read_text())


def test_both_conventions_of_numbers_are_read() -> None:
    """The browser's reader meets the same table in `tests/js`."""
    assert [[text, list(expression.readings(text))] for text, _ in TYPED] == TYPED


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
