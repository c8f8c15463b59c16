"""What is assumed wherever q may be given as batch ÷ N."""

from __future__ import annotations

from typing import Any

import pytest

from dpviz.questions.asked import ask
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.layout import InUnits
from dpviz.questions.question import Question
from dpviz.training.events import PUBLIC_SIZE

WITH_BATCH = [
    q
    for q in QUESTIONS.values()
    if any(isinstance(item, InUnits) for g in q.groups(lambda f: f.default).values() for item in g)
]
assert len(WITH_BATCH) > 5


@pytest.mark.parametrize("question", WITH_BATCH, ids=lambda q: q.key)
def test_every_page_says_that_the_size_is_public(question: Question[Any]) -> None:
    assert f"- {PUBLIC_SIZE}" in question.assumed(ask(question.key).answer).splitlines()
