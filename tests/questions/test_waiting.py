"""What a page says while its slow part is computed is what it says then, with "…" in the places of numbers."""

import re

import pytest

from dpviz.questions.answer import soon, whole
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.question import AnyQuestion
from tests.questions.asking import asked, headline, skeleton


@pytest.mark.parametrize("question", [each for each in QUESTIONS.values() if each.slow], ids=lambda each: each.key)
def test_a_headline_keeps_its_sentence_when_the_slow_part_comes(question: AnyQuestion) -> None:
    answer = asked(question)
    waiting, there = (
        skeleton(headline(question, each)) for each in (soon(answer, question.slow), whole(answer, question.slow))
    )
    assert re.fullmatch(re.escape(waiting).replace("…", ".+"), there), (waiting, there)
