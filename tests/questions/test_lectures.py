"""Lectures: every stop opens, its numbers are computed, and follow its sliders."""

import ast
import contextlib
import dataclasses
import inspect
import re
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest

import dpviz
from dpviz.questions import lectures
from dpviz.questions.answer import whole
from dpviz.questions.layout import moved, of_texts
from dpviz.questions.lectures import LECTURES
from dpviz.questions.lectures.lecture import LectureStop, RoomQuestion
from dpviz.questions.plain_text import plain_text
from dpviz.questions.printed import PAPERS

STOPS = [(key, number) for key, lecture in LECTURES.items() for number in range(1, len(lecture.stops) + 1)]
NUMBER = re.compile(r"\d[\d \u202f,]*(?:\.\d+)?(?:e-?\d+)?")


def stop_of(key, number):
    return LECTURES[key].stops[number - 1]


@cache
def answers(key, number):
    """The answer of a stop as it opens, and the one that its reply is about."""
    stop = stop_of(key, number)
    get = of_texts(stop.values)
    question = stop.question
    return question.asked(question.read(get)), question.asked(question.read(stop.room.reader(get)))


def figure(stop, answer):
    return str(stop.plot(answer).chart(300).figure)


def numbers_in(text):
    return [float(re.sub(r"[ \u202f,]", "", number)) for number in NUMBER.findall(text)]


def test_every_paper_has_a_lecture_of_five_to_eight_stops():
    assert set(LECTURES) == set(PAPERS) - {"slides"}
    assert all(5 <= len(lecture.stops) <= 8 for lecture in LECTURES.values())


@pytest.mark.parametrize(("key", "number"), STOPS)
def test_a_stop_says_its_sentence_its_question_and_its_reply(key, number):
    stop = stop_of(key, number)
    opening, then = answers(key, number)
    sentence, reply = stop.sentence(opening), stop.room.replies(opening, then)
    assert numbers_in(sentence)
    assert reply.endswith(".")
    assert stop.room.text(opening).endswith("?")
    assert max(map(len, (sentence, reply))) < 420  # a column of a slide
    assert not re.search(r"\b(nan|inf|None)\b", sentence + reply)
    assert figure(stop, opening) != figure(stop, then)  # the room sees the reply on the chart


@pytest.mark.parametrize(("key", "number"), STOPS)
@pytest.mark.one_of(6)
def test_sliders_act_on_the_chart_from_end_to_end(key, number):
    stop = stop_of(key, number)
    get, question = of_texts(stop.values), stop.question
    opening = question.asked(question.read(get))
    for field in stop.moving:
        seen = set()
        for value in (field.ticks[0], field.ticks[-1]):
            try:
                answer = question.asked(question.read(moved(get, field, value)))
            except ValueError:
                continue
            text = stop.sentence(answer)
            assert not re.search(r"\b(nan|None)\b", text + plain_text(stop.headline(answer))), (field.key, value)
            seen.add(figure(stop, answer))
        assert len(seen | {figure(stop, opening)}) > 1, field.key


@pytest.mark.parametrize(("key", "number"), STOPS)
def test_a_stop_sets_what_its_question_reads(key, number):
    """A misspelt setting would be silent: the stop would open at a default."""
    stop = stop_of(key, number)
    known = {field.key: field for field in stop.question.fields}
    assert stop.room.moved.keys() <= known.keys()
    for name, text in {**stop.values, **stop.room.moved}.items():
        if name in known:
            known[name].parse(text)
    if stop.page.choice:
        assert stop.values.get(stop.page.view, stop.page.questions[0].asked_as) == stop.question.asked_as
    assert stop.question in stop.page.questions
    assert not stop.page.trains  # a public server gives it too


# A lecture, its stop, what one number of its sentence is by the library, and the parts of that between which it lies.
PLAN = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000, "delta": 1e-5}
SAID = [
    ("bdp", 2, lambda: dpviz.epsilon("renyi", **PLAN), 1.0, 1.01),
    ("bdp", 4, lambda: dpviz.epsilon("renyi", **PLAN), 1.0, 1.01),
    ("bdp", 4, lambda: dpviz.ask("compose").answer.facts.promise, 1.0, 1.01),
    ("abadi", 3, lambda: dpviz.epsilon("renyi", **PLAN), 1.0, 1.01),
    ("abadi", 4, lambda: dpviz.epsilon("moments", **PLAN), 1.0, 1.01),
    ("abadi", 4, lambda: dpviz.epsilon("strong", **PLAN), 1.0, 1.01),
    ("abadi", 5, lambda: dpviz.delta("moments", **{k: PLAN[k] for k in PLAN if k != "delta"}, epsilon=1.26), 1.0, 1.01),
    ("sgmcmc", 2, lambda: dpviz.langevin_epsilon(
        lambda t: 0.103 * t ** (-1 / 3), n=50_000, batch_size=50_000**0.5, clip=1.0, steps=10_000, delta=1e-5
    ), 1.0, 1.01),
    ("sgm", 5, lambda: dpviz.epsilon("renyi", **PLAN), 1.0, 1.01),
    ("sgm", 6, lambda: dpviz.epsilon("closed_form", **PLAN), 1.0, 1.01),
    ("filters", 1, lambda: dpviz.epsilon("renyi", **PLAN), 1.0, 1.01),
]  # fmt: skip


@pytest.mark.parametrize(("key", "number", "value", "low", "high"), SAID)
def test_numbers_of_a_sentence_are_the_librarys(key, number, value, low, high):
    stop = stop_of(key, number)
    exact = float(value())
    assert any(low * exact <= said <= high * exact for said in numbers_in(stop.sentence(answers(key, number)[0])))


# Names with a digit in them, which no answer changes.
NAMES = re.compile(
    r"Theorem \d+|Proposition \d+|Fig\. \d|\(1\) and \(2\)|R\(2\)|α = 2 |ε₀|η₁|2q²α/σ²|2η/N|1/√η|ln\(1/δ\)|α − 1|q²|"
    r"distances of 0|all of them 0|et al\. \d{4}|σ ≥ 4 and q ≤ 1/5|σ ≥ 4"
)


def constant_texts(module):
    """The parts of a lecture's texts that no answer fills."""
    for function in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(function, ast.FunctionDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                    yield node.value


def test_no_number_of_a_text_is_typed():
    modules = [
        path.stem
        for path in Path(lectures.__file__).parent.glob("*.py")
        if path.stem not in ("__init__", "lecture", "page")
    ]
    assert len(modules) == len(LECTURES)
    for name in modules:
        module = __import__(f"dpviz.questions.lectures.{name}", fromlist=["LECTURE"])
        for text in constant_texts(module):
            if not text.rstrip().endswith("."):
                text += " "
            assert not re.search(r"\d", NAMES.sub("", text)), (name, text)


@pytest.mark.parametrize(("key", "number"), STOPS)
def test_numbers_of_a_question_for_the_room_are_those_of_its_settings(key, number):
    stop = stop_of(key, number)
    asked = stop.room.text(answers(key, number)[0])
    settings = {float(text) for text in {**stop.values, **stop.room.moved}.values() if re.fullmatch(r"[\d.e-]+", text)}
    assert set(numbers_in(NAMES.sub("", asked + " "))) <= settings


# A number as it is written, and a sign of per cent behind it.
WRITTEN = re.compile(r"(\d+(?:[ \u202f]\d{3})*(?:\.\d+)?(?:e-?\d+)?)([ \u00a0]%)?")


def written(text):
    """The numbers of a text, each with the unit of its last digit."""
    for match in WRITTEN.finditer(NAMES.sub("", text + " ")):
        digits, share = re.sub(r"[ \u202f]", "", match[1]), 0.01 if match[2] else 1.0
        mantissa, _, exponent = digits.partition("e")
        yield float(digits) * share, share * 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))


def numbers_of(facts, depth=0):
    """The numbers that facts hold or count, those of their names, and of arrays the first and the last."""
    if isinstance(facts, str):
        yield from (value for value, _ in written(facts))
    elif isinstance(facts, int | float | np.number) and not isinstance(facts, bool):
        yield float(facts)
    elif isinstance(facts, np.ndarray) and facts.ndim == 1 and facts.size:
        yield from map(float, (facts[0], facts[-1]))
    elif isinstance(facts, dict | tuple | list):
        for one in facts.values() if isinstance(facts, dict) else facts:
            yield from numbers_of(one, depth)
    if depth < 4 and dataclasses.is_dataclass(facts):
        counted = [
            name
            for kind in type(facts).__mro__
            for name, one in vars(kind).items()
            if depth == 0 and isinstance(one, property | cached_property)
        ]
        for name in (*(one.name for one in dataclasses.fields(facts)), *counted):
            with contextlib.suppress(AssertionError):  # a number of a part that is worked out later
                yield from numbers_of(getattr(facts, name), depth + 1)


def known_numbers(stop, opening, then):
    """Numbers of both answers, of the settings, what is printed, and how many times as large a number becomes."""
    before, after = list(numbers_of(opening.facts)), list(numbers_of(then.facts))
    settings = {**stop.values, **stop.room.moved}.values()
    printed = (point.y for point in getattr(stop.plot(opening), "points", ()))
    changes = (b / a for a, b in zip(before, after, strict=False) if a)
    typed = (value for text in settings for value, _ in written(text))
    return np.array([*before, *after, *printed, *changes, *typed])


def is_known(value, unit, known):
    return bool((np.abs(known - value) <= 1.0001 * unit).any())


@pytest.mark.parametrize(("key", "number"), STOPS)
def test_every_number_said_is_one_of_the_answer_or_a_setting(key, number):
    stop = stop_of(key, number)
    opening, then = answers(key, number)
    known = known_numbers(stop, opening, then)
    for text in (stop.sentence(opening), stop.room.text(opening), stop.room.replies(opening, then)):
        for value, unit in written(text):
            assert is_known(value, unit, known), (value, text)


def test_a_number_that_is_a_little_wrong_would_be_seen():
    seen = []
    for key, number in STOPS:
        stop = stop_of(key, number)
        opening, then = answers(key, number)
        known = known_numbers(stop, opening, then)
        exact = [(value, unit) for value, unit in written(stop.sentence(opening)) if value >= 100.0 * unit]
        seen += [not is_known(1.04 * value, unit, known) for value, unit in exact]
    assert len(seen) > 30
    assert np.mean(seen) > 0.9


def test_a_stop_without_sliders_or_with_too_many_is_refused():
    stop = stop_of("sgm", 1)
    for sliders in ((), ("sigma", "q", "steps"), ("leta",)):
        with pytest.raises(ValueError, match="one or two sliders"):
            LectureStop("A", "b", stop.question, stop.page, room=RoomQuestion("?", lambda *_: ""), sliders=sliders)


def test_printed_values_stand_on_the_chart_of_figure_2():
    stop, (opening, _) = stop_of("abadi", 6), answers("abadi", 6)
    assert {point.y for point in stop.plot(opening).points} >= {1.26, 9.34}
    assert "1.26 and 9.34" in stop.sentence(opening)
    assert whole(opening, stop.question.slow).facts.steps == 10_000
