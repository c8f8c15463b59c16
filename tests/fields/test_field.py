"""Settings as text: exact, forgiving in form, strict in value. What single texts say is in `values/fields.toml`."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.fields.field import Field, Number
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, STEPS
from dpviz.ui.registry import FIELDS, PRESET
from tests.tables import refused

ALL = (*FIELDS, PRESET)
TEXTS = st.one_of(st.text(max_size=60), st.floats().map(repr), st.integers().map(str))


def test_every_default_and_every_slider_stop_is_legal_and_written_exactly() -> None:
    assert len({field.key for field in ALL}) == len(ALL)
    for field in ALL:
        assert field.parse(field.write(field.default)) == field.default, field.key
        if isinstance(field, Number):
            labels = [field.show(tick) for tick in field.ticks]
            assert len(set(labels)) == len(labels) or not labels, "the browser names a stop by its label"
            assert list(field.ticks) == sorted(field.ticks) == [field.parse(field.write(tick)) for tick in field.ticks]


@given(value=st.floats(0, 1), field=st.sampled_from([RATE, SIGMA, DELTA]))
def test_what_is_written_is_read_back_to_the_last_bit(value: float, field: Number) -> None:
    legal = field.nearest(repr(value))
    assert field.parse(field.write(legal)) == legal
    assert legal == value or not field.low < value < field.high


@given(value=st.integers(1, 10**12))
def test_whole_numbers_are_written_whole(value: int) -> None:
    assert STEPS.write(float(value)) == str(value)
    assert STEPS.parse(str(value)) == value


@given(text=TEXTS, field=st.sampled_from(ALL))
def test_a_text_is_read_or_refused_with_the_label_and_the_nearest_value_is_legal(text: str, field: Field) -> None:
    nearest = field.nearest(text)
    assert not isinstance(nearest, float) or math.isfinite(nearest) or field.top
    problem = refused(field.parse, text)
    assert not problem or field.label in problem
    if not problem:
        value = field.parse(text)
        assert field.parse(field.write(value)) == value == nearest
    assert field.parse(field.write(nearest)) == nearest


@pytest.mark.parametrize("field", [field for field in ALL if isinstance(field, Number)], ids=lambda field: field.key)
def test_what_a_refusal_recommends_can_be_typed(field: Number) -> None:
    for text in field.example.split(" or "):
        field.parse(text, dict.fromkeys(field.names, 1000.0))


@pytest.mark.parametrize("name", ["delta", "noise_multiplier"])
def test_numbers_from_python_are_checked_as_texts_are(name: str) -> None:
    field = {"delta": DELTA, "noise_multiplier": SIGMA}[name]
    assert field.accept(field.default) == field.default
    with pytest.raises(ValueError, match=f"{re.escape(field.label)} must be .*; try "):
        field.accept(-1.0)
