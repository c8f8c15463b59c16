"""Every slider in sight changes a result: something in headline or tiles that is not the setting's own value.

And no tile stands there without a value, wherever a slider is.
"""

import re
from html import unescape

import pytest

from dpviz.fields import Number
from dpviz.questions.acting import sliders
from dpviz.questions.answer import soon, whole
from dpviz.questions.catalogue import PAGES, QUESTIONS
from dpviz.questions.layout import Reader, fields_of, in_sight, moved
from dpviz.questions.question import AnyQuestion
from tests.questions.asking import reading

TRIED = 6  # values of a slider, from end to end
PAGES_WITH_SLIDERS = ("compose", "orders", "attack", "noise", "budget", "langevin")
# What questions are asked with beside their defaults: other sliders are in sight.
STATES: dict[str, list[dict[str, object]]] = {
    "compose": [{"curves": ("moments", "tight")}, {"source": "lognormal"}, {"mech": "laplace"}, {"steps": 1.0}],
    "town": [{"anoise": "gaussian"}],
    "releases": [{"anoise": "gaussian"}],
    "residents": [{"anoise": "gaussian"}],
    "success": [{"aprior": 0.2}],
    "noise": [{"noiseq": ("q99",)}],
    "solve": [{"solvefor": key} for key in ("steps", "sample_rate", "delta")],
}
CASES = [
    (question.key, state)
    for page in PAGES if page.key in PAGES_WITH_SLIDERS
    for question in page.questions
    for state in ({}, *STATES.get(question.key, ()))
]  # fmt: skip
NUMBER = re.compile(r"\d[\d\u202f\u00a0 ]*(?:\.\d+)?(?:e-?\d+)?")


def in_sight_of(question: AnyQuestion, get: Reader) -> list[Number]:
    usual = {field.key for items in question.groups(get).values() for field in fields_of(in_sight(items, ())[0])}
    return [field for field in sliders(question, get) if field.key in usual]


def result(question: AnyQuestion, get: Reader, field: Number, *, late: bool) -> str:
    """Headline and tiles, but for numbers that are the field's own value; empty where there is no answer."""
    try:
        answer = question.asked(question.read(get))
    except ValueError:
        return ""
    answer = (whole if late else soon)(answer, question.slow)
    own = float(get(field))
    metrics = question.metrics(answer)
    assert not [metric for metric in metrics if metric.value in ("", "–", "off")], "what has no value is no tile"
    tiles = [part for metric in metrics for part in metric]
    text = unescape(re.sub("<[^>]*>", "", " | ".join([question.headline(answer), *tiles])))

    def without_own(match: re.Match[str]) -> str:
        said = float(re.sub(r"[^\d.e-]", "", match[0]))
        return "□" if abs(said - own) <= 1e-3 * abs(own) else match[0]

    return NUMBER.sub(without_own, text)


def changes(question: AnyQuestion, get: Reader, field: Number) -> bool:
    ticks = field.ticks[:: max(1, len(field.ticks) // TRIED)]
    for late in (False, True):
        before = result(question, get, field, late=late)
        if any(result(question, moved(get, field, tick), field, late=late) not in ("", before) for tick in ticks):
            return True
    return False


@pytest.mark.parametrize(("key", "state"), CASES, ids=lambda part: part if isinstance(part, str) else "-".join(part))
@pytest.mark.one_of(3)
def test_every_slider_in_sight_changes_headline_or_tiles(key: str, state: dict[str, object]) -> None:
    question, get = QUESTIONS[key], reading(state)
    assert [field.label for field in in_sight_of(question, get) if not changes(question, get, field)] == []


def test_a_value_that_is_only_repeated_is_no_result() -> None:
    question, sigma = QUESTIONS["risk"], next(f for f in QUESTIONS["risk"].fields if f.key == "sigma")
    said = [result(question, reading({"sigma": value}), sigma, late=False) for value in (4.0, 5.0)]
    assert "my σ = □" in said[0]
    assert all("σ = 4" not in one and "σ = 5" not in one for one in said)
