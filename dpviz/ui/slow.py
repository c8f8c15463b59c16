"""The slow parts of an answer: joined when they are there; which one is missing, for whoever has it computed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

from dpviz.questions.answer import Answer, soon
from dpviz.questions.question import Question
from dpviz.ui import background, boundary


class ToCome(NamedTuple):
    """A part that is still to be computed: what it will be found under, and the work."""

    name: Hashable
    work: Callable[[], Any]


class Parts(NamedTuple):
    """An answer with the slow parts that are there, and the quick ones of others; the first that is missing; and the
    names of parts that failed, without which the answer stands.
    """

    answer: Answer[Any]
    missing: ToCome | None = None
    failed: tuple[Hashable, ...] = ()


def joined(place: str, question: Question[Any], answer: Answer[Any]) -> Parts:
    """The answer with what is there of its slow parts; `place` names the page in the log of what failed."""
    missing: ToCome | None = None
    failed: list[Hashable] = []
    for slow in question.slow:
        key = slow.key(answer)
        if key is None:
            continue
        name = (slow.work, key)  # questions that share a part find it computed
        try:
            part = background.finished(name)
            if part is not None:
                answer = slow.join(answer, part)
                continue
            missing = missing or ToCome(name, partial(slow.work, answer))
            answer = soon(answer, (slow,))
        except Exception as error:
            boundary.log(place, error)
            failed.append(name)
    return Parts(answer, missing, tuple(failed))


def forget(failed: Sequence[Hashable]) -> None:
    """Parts that failed may be tried again."""
    for name in failed:
        background.forget(name)
