"""What is shown goes where theory says it goes: at every stop of every slider, in frames and files as on settled pages.

A quantity is rounded to its safe side and may stand still from one stop to the next; it never turns back, and it keeps
its name.
"""

import html
import math
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dpviz.fields.field import Number
from dpviz.questions.acting import acting
from dpviz.questions.answer import Answer, soon, whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.handout import stops
from dpviz.questions.layout import Reader, moved, of_texts
from dpviz.questions.question import Question
from dpviz.questions.story import STOPS
from tests.questions.asking import default, reading, table

Rules = dict[str, int]
Finished = Callable[[Answer[Any], Any], Answer[Any]]

TABLE: dict[str, dict[str, Rules]] = table("monotone")["questions"]
STORY: dict[str, Rules] = table("monotone")["story"]

NUMBER = r"(?:[>≤≈×] ?)*(−?[\d.\u202f]*\d(?:e[−-]?\d+)?|∞)"
_PLAIN = str.maketrans("−", "-", "\u202f")


def number(text: str) -> float | None:
    """The last number that a figure says: of an interval its upper end; None where there is none."""
    written = re.findall(NUMBER, text)
    if not written:
        return None
    return math.inf if written[-1] == "∞" else float(written[-1].translate(_PLAIN))


def plain_name(name: str) -> str:
    """A quantity's name without today's setting: "ε at my σ" of "ε at my σ = 4"."""
    return re.sub(rf" = {NUMBER}", "", name)


def shown(metrics: Sequence[Any], headline: str) -> dict[str, str]:
    """What figures and headline say, by the quantities' names."""
    said = {metric.name: metric.value for metric in metrics}
    words = html.unescape(re.sub("<[^>]+>", "", headline))
    for pattern in ("at most # %", "more than # %", "ε ≤ #"):
        if found := re.search(pattern.replace("#", NUMBER), words):
            said[f"says: {pattern}"] = found[0].removesuffix(" %")
    return said


def sliders(question: Question[Any], get: Reader, rules: dict[str, Rules]) -> list[Number]:
    """Those that something is known of, and that act."""
    known = {key for rule in rules.values() for key in rule}
    return [f for f in acting(question, get) if isinstance(f, Number) and f.ticks and f.key in known]


def thinned(field: Number, most: int | None) -> list[float]:
    """Stops, a few even ones where they are too many, and the default; no top that means another setting (δ_μ = δ)."""
    ticks = [tick for tick in field.ticks if math.isfinite(tick)]
    if most is None or len(ticks) <= most:
        return ticks
    return sorted({ticks[round(i * (len(ticks) - 1) / (most - 1))] for i in range(most)} | {field.default} - {math.inf})


def faults(
    question: Question[Any],
    get: Reader,
    field: Number,
    values: Sequence[float],
    rules: dict[str, Rules],
    finished: Finished = soon,
    headline: Callable[[Answer[Any]], str] | None = None,
) -> list[str]:
    """What turns back, or changes its name, from one of these values to the next."""
    wrong: list[str] = []
    names: dict[tuple[str, ...], float] = {}
    last: dict[str, tuple[float, float]] = {}
    for value in values:
        try:
            answer = finished(question.asked(question.read(moved(get, field, value))), question.slow)
        except ValueError:  # these settings allow no answer
            continue
        metrics = [] if headline else question.metrics(answer)
        names.setdefault(tuple(plain_name(metric.name) for metric in metrics), value)
        for name, text in shown(metrics, (headline or question.headline)(answer)).items():
            sign = next((rule.get(field.key, 0) for pattern, rule in rules.items() if re.match(pattern, name)), 0)
            if not sign or (now := number(text)) is None:
                continue
            quantity = plain_name(name)
            before, at = last.get(quantity, (now, value))
            if sign * now < sign * before:
                wrong.append(f"{field.key} {at:g} → {value:g}: {quantity} {before:g} → {now:g}")
            last[quantity] = now, value
    fullest = max(names, key=len, default=())
    if any([name for name in fullest if name in some] != [*some] for some in names):  # a figure without a value is none
        wrong.append(f"{field.key}: {names}")
    return wrong


CASES = [(key, field.key) for key, rules in TABLE.items() for field in sliders(QUESTIONS[key], default, rules)]
SHORT = 8


def of_key(question: Question[Any], key: str) -> Number:
    return next(f for f in question.fields if f.key == key and isinstance(f, Number))


@pytest.mark.parametrize(("key", "slider"), CASES)
@pytest.mark.one_of(8)
def test_frames_go_where_theory_says(key: str, slider: str) -> None:
    field = of_key(QUESTIONS[key], slider)
    assert not faults(QUESTIONS[key], default, field, thinned(field, SHORT), TABLE[key])


@pytest.mark.long
@pytest.mark.parametrize(("key", "slider"), CASES)
def test_every_stop_goes_where_theory_says(key: str, slider: str) -> None:
    """In frames, in files that are handed out, and where all slow parts are there."""
    question, field = QUESTIONS[key], of_key(QUESTIONS[key], slider)
    assert not faults(question, default, field, thinned(field, None), TABLE[key])
    handed = stops(field, field.default, 25)
    assert not faults(question, default, field, [v for v in handed if math.isfinite(v)], TABLE[key])
    assert not faults(question, default, field, thinned(field, SHORT), TABLE[key], whole)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("key", TABLE)
def test_other_settings_go_where_theory_says(key: str, seed: int) -> None:
    question = QUESTIONS[key]
    draw = random.Random(f"{key} {seed}")
    numbers = [f for f in acting(question, default) if isinstance(f, Number) and f.ticks]
    here = {f.key: draw.choice(f.ticks[len(f.ticks) // 8 : -len(f.ticks) // 8 or None]) for f in numbers}
    get = reading(here)
    for field in sliders(question, get, TABLE[key]):
        assert not faults(question, get, field, thinned(field, 2 * SHORT), TABLE[key]), here


MOVED = [(n, f.key) for n, stop in enumerate(STOPS) for f in stop.question.fields if f.key in ("sigma", "steps")]


@pytest.mark.parametrize(("number", "slider"), MOVED)
def test_the_story_goes_where_theory_says(number: int, slider: str) -> None:
    stop = STOPS[number]
    field = of_key(stop.question, slider)
    assert not faults(stop.question, of_texts(stop.values), field, thinned(field, SHORT), STORY, headline=stop.headline)


def test_the_table_names_what_there_is() -> None:
    for key, rules in TABLE.items():
        question = QUESTIONS[key]
        answer = whole(question.asked(question.read(default)), question.slow)
        said = shown(question.metrics(answer), question.headline(answer))
        for pattern, rule in rules.items():
            assert any(re.match(pattern, name) and number(text) is not None for name, text in said.items()), pattern
            assert set(rule) & {field.key for field in acting(question, default)}, pattern


def test_numbers_are_read_as_they_are_written() -> None:
    texts = ["ε ≤ 1.04", "0.9462 – 0.9480", "≤ > 99.99", "1.20e-5", "24\u202f644", "–", "∞", "× 7.47", "−3"]
    assert [number(text) for text in texts] == [1.04, 0.948, 99.99, 1.2e-5, 24644.0, None, math.inf, 7.47, -3.0]
    assert plain_name("Steps within ε = 0.05") == "Steps within ε"
    assert plain_name("ε at my σ = 200") == "ε at my σ"


def test_a_fault_would_be_seen() -> None:
    """A rule turned round, and a quantity whose name follows the slider."""
    question = QUESTIONS["orders"]
    field = of_key(question, "sigma")
    assert faults(question, default, field, [2.0, 4.0], {"Moments accountant": {"sigma": 1}})
    words = question.words
    named = replace(
        words,
        metrics=lambda f: [one._replace(name="I" * round(f.noise_multiplier) + one.name) for one in words.metrics(f)],
    )
    swapping = replace(question, words=named)
    assert faults(swapping, default, field, [2.0, 4.0], {})
