"""Settings as text: exact, forgiving in form, strict in value; a message names the value and the way out."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.fields.field import Choice, Flag, Number, Several
from dpviz.questions.mechanism import DELTA, RATE, SIGMA, SIZE, STEPS
from dpviz.ui.registry import FIELDS, PRESET

ALL = (*FIELDS, PRESET)
NUMBERS = [field for field in FIELDS if isinstance(field, Number)]


@pytest.mark.parametrize("field", ALL, ids=lambda f: f.key)
def test_the_default_is_legal_and_written_exactly(field):
    assert field.parse(field.write(field.default)) == field.default


def test_keys_are_unique():
    assert len({field.key for field in ALL}) == len(ALL)


@pytest.mark.parametrize("field", NUMBERS, ids=lambda f: f.key)
def test_every_slider_stop_is_legal_and_written_exactly(field):
    assert list(field.ticks) == sorted(field.ticks)
    labels = [field.show(tick) for tick in set(field.ticks)]
    assert len(set(labels)) == len(labels)  # the browser names a stop by its label
    for tick in field.ticks:
        assert field.parse(field.write(tick)) == tick


@given(value=st.floats(0, 1), field=st.sampled_from([RATE, SIGMA, DELTA]))
def test_what_is_written_is_read_back_to_the_last_bit(value, field):
    try:
        legal = field.check(value)
    except ValueError:
        return
    assert field.parse(field.write(legal)) == legal


@given(value=st.integers(1, 10**12))
def test_whole_numbers_are_written_whole(value):
    assert STEPS.write(float(value)) == str(value)
    assert STEPS.parse(str(value)) == value


@given(text=st.one_of(st.text(max_size=30), st.floats().map(repr), st.integers().map(str)), field=st.sampled_from(ALL))
def test_whatever_a_link_says_the_nearest_value_is_legal(text, field):
    nearest = field.nearest(text)
    assert field.parse(field.write(nearest)) == nearest


@given(text=st.text(max_size=60), field=st.sampled_from(ALL))
def test_a_text_is_read_or_refused_with_the_label(text, field):
    try:
        value = field.parse(text)
    except ValueError as problem:
        value, text = field.default, str(problem)
        if field.label not in text:
            raise
    assert field.parse(field.write(value)) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("256/60000", 256 / 60000),
        ("1/3", 1 / 3),
        ("0.29 %", 0.0029),
        ("1e-5", 1e-5),
        ("0,01".replace(",", "."), 0.01),
        (" 0.5 ", 0.5),
        ("50%", 0.5),
        ("25/100%", 25.0),
    ],
)
def test_rates_as_people_write_them(text, value):
    if value > 1:
        with pytest.raises(ValueError, match="outside"):
            RATE.parse(text)
    else:
        assert RATE.parse(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [("10k", 10_000), ("1.001k", 1001), ("10 000", 10_000), ("10_000", 10_000), ("2M", 2e6), ("1e3", 1000)],
)
def test_steps_as_people_write_them(text, value):
    assert STEPS.parse(text) == value


@pytest.mark.parametrize(
    ("field", "text", "found"),
    [
        (SIGMA, "0", "0 is outside"),
        (SIGMA, "−3", "-3 is outside"),
        (SIGMA, "nan", "NaN"),
        (SIGMA, "inf", "inf is outside"),
        (SIGMA, "1e999999999/3", "inf is outside"),
        (SIGMA, "1/0", "divides by zero"),
        (SIGMA, "lots", "“lots” is not a number"),
        (SIGMA, "", "“” is not a number"),
        (SIGMA, "9" * 5000, "inf is outside"),
        (RATE, "1.4", "1.4 is outside"),
        (RATE, "-0.1", "-0.1 is outside"),
        (STEPS, "0", "0 is outside"),
        (STEPS, "1.5", "1.5 is not whole"),
        (STEPS, "inf", "inf is outside"),
        (DELTA, "0", "0 is outside"),
        (DELTA, "1", "1 is outside"),
        (SIZE, "2.5", "2.5 is not whole"),
    ],
)
def test_bad_numbers_are_named_with_a_way_out(field, text, found):
    with pytest.raises(ValueError, match=field.label) as problem:
        field.parse(text)
    assert found in str(problem.value)
    assert "; try " in str(problem.value)
    assert math.isfinite(field.nearest(text))


def test_minus_zero_is_zero():
    assert math.copysign(1, RATE.parse("-0")) == 1


def test_long_rubbish_is_cut_in_messages():
    with pytest.raises(ValueError, match="not a number") as problem:
        SIGMA.parse("x" * 10_000)
    assert len(str(problem.value)) < 150


def test_options():
    choice = Choice(key="c", label="C", default="a", options={"a": "A", "b": "B"})
    several = Several(key="s", label="S", default=("a",), options={"a": "A", "b": "B"})
    flag = Flag(key="f", label="F", default=True)
    assert several.parse("b.a") == ("a", "b")
    assert several.parse("") == ()
    assert several.nearest("x.b") == ("b",)
    assert several.nearest("x") == ("a",)
    assert choice.nearest("x") == "a"
    assert flag.nearest("7") is True
    for field in (choice, several, flag):
        with pytest.raises(ValueError, match="“x” is n"):
            field.parse("x")
