"""Slow parts that the browser fetches without a run of the page."""

import asyncio
import json
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.computed import part_of
from dpviz.questions.frames import Alone
from dpviz.questions.layout import of_texts
from dpviz.ui import answers
from dpviz.ui.browser import slow_parts


async def stays() -> bool:
    return False


def test_all_missing_parts_begin_together_and_each_is_shown_when_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_pool", ThreadPoolExecutor(2))  # as where there are three cores
    question, get = QUESTIONS["langevin_cost"], of_texts({"steps": "97"})
    works, together, go_on = [one.work for one in question.slow], threading.Barrier(2), threading.Event()

    def begun(work: Callable[[Any], Any], waits: bool, answer: Any) -> Any:
        together.wait(60.0)
        assert not waits or go_on.wait(60.0)
        return work(answer)

    slow = tuple(
        one._replace(work=partial(begun, work, k == 0))
        for k, (one, work) in enumerate(zip(question.slow, works, strict=True))
    )
    other = replace(question, slow=slow)
    parts = slow_parts.SlowParts("langevin", other, answers.compute(question, get), Alone(question.key))

    async def both() -> list[Any]:
        contents = [await slow_parts.answered(parts, stays)]
        go_on.set()
        contents.append(await slow_parts.answered(parts, stays))
        return [json.loads(content or b"") for content in contents]

    first, second = asyncio.run(both())
    assert (first["more"], second["more"]) == (True, False)
    assert not first["failed"] | second["failed"]
    assert first["figure"] != second["figure"]


def test_slow_parts_of_an_answer_do_not_need_each_other() -> None:
    for key in ("compose", "noise", "solve", "langevin_cost", "langevin_region"):
        question = QUESTIONS[key]
        bare = joined = answers.compute(question, of_texts({}))
        for k, slow in enumerate(question.slow):
            name = slow.key(bare)
            assert slow.key(joined) == name
            if name is not None:
                part = slow.work(joined)
                assert pickle.dumps(part_of(key, k, bare.given)) == pickle.dumps(part), (key, k)
                joined = slow.join(joined, part)


def fails(_: Any) -> Any:
    raise RuntimeError("as asked")


@pytest.mark.parametrize("slow", [(), (SimpleNamespace(key=fails),)])
def test_a_slow_part_that_cannot_be_named_or_shown_has_failed(slow: tuple[Any, ...]) -> None:
    """A request that fails without an answer would be repeated for ever."""
    answer: Any = SimpleNamespace()
    question: Any = SimpleNamespace(slow=slow)
    parts = slow_parts.SlowParts("compose", question, answer, fails)
    content = asyncio.run(slow_parts.answered(parts, stays))
    assert content is not None
    assert json.loads(content) == {"more": False, "failed": True}
