"""Marks on charts and numbers in headlines that a hand pulls are the settings that they say they are."""

import re
from collections.abc import Iterator

import pytest

from dpviz.fields import Number
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.frames import movable
from dpviz.questions.question import AnyQuestion
from dpviz.questions.words import setting, settings_in
from tests.questions.asking import asked, default

# Questions whose charts have a mark that is a setting, and those whose headlines hold one.
MARKED = {
    "compose": {"steps"},
    "noise": {"target", "sigma"},
    "risk": {"riskafter", "sigma"},
    "expected": {"target"},
    "correlated": {"decay"},
    "success": {"target"},
    "langevin_epsilon": {"target"},
    "langevin_cost": {"target"},
    "langevin_region": {"ltau", "leta"},
    "chosen": {"bfrom"},
    "individual": {"steps"},
}
SAID = {
    "compose": {"steps"},
    "noise": {"target", "steps", "q", "delta"},
    "stop": {"steps", "target", "delta"},
    "roc": {"steps"},
    "success": {"target", "delta"},
}
NUMBER = re.compile(r'<span data-sets="([^"]+)">(.*?)</span>')


def marks(answer: AnyAnswer) -> Iterator[tuple[str, float]]:
    """Each mark's field and place."""
    for grip in answer.plot.chart().figure["layout"].get("meta", {}).get("grips", ()):
        yield grip["field"], grip[grip["axis"]]


def numbers(question: AnyQuestion) -> dict[str, Number]:
    return {field.key: field for field, _, _ in movable(question, default)}


def elsewhere(field: Number) -> str:
    """The stop after the default's."""
    at = field.ticks.index(field.default)
    return field.stops[at + 1 if at + 1 < len(field.ticks) else at - 1]


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.key)
def test_a_mark_is_where_its_setting_is_and_goes_where_it_goes(question: AnyQuestion) -> None:
    there, fields = dict(marks(asked(question))), numbers(question)
    assert there.keys() >= MARKED.get(question.key, set())
    for key, place in there.items():
        assert place == pytest.approx(fields[key].default, rel=1e-12)
        moved = dict(marks(asked(question, **{key: elsewhere(fields[key])})))
        assert moved[key] == pytest.approx(float(elsewhere(fields[key])), rel=1e-12)


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.key)
def test_a_number_in_a_headline_is_its_setting_and_changes_with_it(question: AnyQuestion) -> None:
    headline, fields = question.headline(asked(question)), numbers(question)
    said = dict(NUMBER.findall(headline))
    assert said.keys() == settings_in(headline) >= SAID.get(question.key, set())
    for key, words in said.items():
        other = question.headline(asked(question, **{key: elsewhere(fields[key])}))
        assert dict(NUMBER.findall(other))[key] != words


def test_a_headline_says_which_setting_a_number_is() -> None:
    steps = QUESTIONS["compose"].fields[0]
    assert settings_in(f"After <b>{setting(steps, '10 000', 'steps')}</b>, all is well.") == {steps.key}
    assert settings_in("After <b>10 000</b> steps, all is well.") == set()
