"""Asks a question as a link does: settings by their keys in links, as text; and runs scripts."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pandas as pd

from dpviz.questions.answer import Answer, whole
from dpviz.questions.asked import Asked
from dpviz.questions.question import Question


def asked(question: Question[Any], **texts: str) -> Answer[Any]:
    """The answer without its slow parts."""
    known = {field.key for field in question.fields}
    assert set(texts) <= known, set(texts) - known
    return question.asked(question.read(lambda f: f.parse(texts[f.key]) if f.key in texts else f.default))


def asked_whole(question: Question[Any], **texts: str) -> Answer[Any]:
    """The answer with all of them."""
    return whole(asked(question, **texts), question.slow)


def run_script(source: str, expected: Asked) -> Asked:
    """What a script leaves behind, which says and draws what is expected; nothing opens."""
    found: dict[str, Any] = {}
    with patch("plotly.graph_objects.Figure.show"):
        exec(compile(source, "script", "exec"), found)
    answer: Asked = found["answer"]
    assert answer.headline == expected.headline
    pd.testing.assert_frame_equal(found["points"], expected.data())
    return answer
