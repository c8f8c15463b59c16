"""A view of the Papers page: what computes a figure, theorem or example anew, and what its paper's table says of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from dpviz.questions.answer import Answer
from dpviz.questions.layout import Groups, Layout, Reader, experts
from dpviz.questions.question import Question, Setting
from dpviz.questions.shared import IMAGE
from dpviz.questions.words import words

Facts = SimpleNamespace  # the numbers that a view's words name


def reproduction(
    paper: str,
    key: str,
    recompute: Callable[..., Answer[Any]],
    settings: Mapping[str, Setting],
    layout: Layout | Groups,
    **more: Any,
) -> Question[Any]:
    """The question of one view.

    Args:
        paper: the file of its words, beside this one and without suffix.
        key: its table there, and its name.
        recompute: its function.
        settings: keyword of `recompute` → the field behind it.
        layout: the controls in groups, without what every view shows.
        more: further attributes of the question.
    """

    def groups(get: Reader) -> Groups:
        items = dict(layout(get) if callable(layout) else layout)
        return items | {"Show": (*items.get("Show", ()), *experts(IMAGE))}

    wording = words(f"papers/{paper}", key)
    return Question(key=key, settings=settings, answer=recompute, layout=groups, **wording, **more)
