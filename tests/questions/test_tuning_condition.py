"""The condition on the score that picks the best run stands in every question that counts tuning."""

import pytest

from dpviz.accounting.tuning import SCORE
from dpviz.questions.catalogue import QUESTIONS
from tests.questions.asking import asked


@pytest.mark.parametrize("key", ["compose", "noise", "solve"])
def test_the_condition_on_the_score_is_noted_where_runs_are_tried(key: str) -> None:
    question = QUESTIONS[key]
    tuned, one = (" ".join(note.text for note in question.notes(asked(question, tried=n))) for n in ("40", "1"))
    assert SCORE in tuned
    assert SCORE not in one
