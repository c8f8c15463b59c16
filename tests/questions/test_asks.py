"""The headline holds what its question asks for: another value of that makes another headline."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

import numpy as np
import pytest

from dpviz.questions.answer import AnyAnswer
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.question import AnyQuestion
from tests.questions.asking import asked_whole


def other(value: Any) -> Any:
    """A value unlike this one, of its type; shares stay shares."""
    match value:
        case bool():
            return not value
        case int() | float():
            return type(value)(value * 5 / 3 if value > 1 else 0.5 * (1 + value) if value < 1 else 0.6)
        case str():
            return f"{value} another"
        case np.ndarray():
            return np.where(value > 1, value * 5 / 3, 0.5 * (1 + value)) if value.dtype.kind in "fi" else value
        case Mapping():
            return {key: other(part) for key, part in value.items()}
        case tuple() if hasattr(value, "_fields"):
            return type(value)(*map(other, value))
        case tuple() | list():
            return type(value)(map(other, value))
        case _ if is_dataclass(value) and not isinstance(value, type):
            names = [each.name for each in fields(value) if each.init]
            return replace(value, **{name: other(getattr(value, name)) for name in names})
        case _:
            return value


def with_other(facts: Any, name: str) -> Any:
    """The same facts, but for the one of that name, a field or a property."""
    changed = other(getattr(facts, name))
    if any(each.name == name for each in fields(facts)):
        return replace(facts, **{name: changed})
    kind = type(facts.__class__.__name__, (type(facts),), {name: changed})
    return kind(**{each.name: getattr(facts, each.name) for each in fields(facts) if each.init})


# Where the defaults do not let what is asked differ: no policy ends before the last epoch shown.
STATES = {"policy": "sigma=1&q=512/50000&delta=1e-6&n=50000&target=3&bepochs=60"}


@pytest.mark.one_of(5)
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=lambda question: question.key)
def test_another_value_of_what_is_asked_makes_another_headline(question: AnyQuestion) -> None:
    answer: AnyAnswer = asked_whole(question, **dict(parse_qsl(STATES.get(question.key, ""))))
    changed = replace(answer, facts=with_other(answer.facts, question.asks))
    assert question.headline(changed) != question.headline(answer)
