"""What questions answer at settings whose numbers and words are known: answers.toml."""

import re
from html import unescape
from typing import Any

import pytest

from dpviz.questions.answer import whole
from dpviz.questions.catalogue import QUESTIONS
from tests.questions.asking import answer_to, table

ANSWERS: dict[str, dict[str, Any]] = table("answers")


def fact(facts: Any, path: str) -> float:
    """A number by its path: "median", or "basic.1" of a sequence."""
    for name in path.split("."):
        facts = facts[int(name)] if name.isdigit() else getattr(facts, name)
    return float(facts)


@pytest.mark.parametrize("link", ANSWERS)
@pytest.mark.one_of(2)
def test_what_is_known_comes_out(link: str) -> None:
    """`values`: fact → number and relative tolerance; `says`: patterns in the words; `never`: not in them."""
    expected, question = ANSWERS[link], QUESTIONS[link.removesuffix(" first").partition("?")[0]]
    answer = answer_to(link.removesuffix(" first"))
    if not link.endswith(" first"):  # with what comes later
        answer = whole(answer, question.slow)
    words = [question.headline(answer), *map(str, question.metrics(answer)), *map(str, question.notes(answer))]
    text = unescape(re.sub(r"<[^>]+>", "", " ".join(words)))
    assert [one for one in expected.get("says", ()) if not re.search(one, text)] == [], text
    assert [one for one in expected.get("never", ()) if re.search(one, text)] == [], text
    for path, (number, rel) in expected.get("values", {}).items():
        assert fact(answer.facts, path) == pytest.approx(number, rel=rel), path
