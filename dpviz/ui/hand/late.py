"""The slow parts of what a page shows, for a browser that asks for them once it has drawn the rest: no run of the page.

A session keeps what its last run left out, under a name that nobody can guess.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool

from dpviz.charts.hand.pack import Packer
from dpviz.questions.answer import Answer
from dpviz.questions.question import Question
from dpviz.ui import background, boundary, slow
from dpviz.ui.slow import Parts, ToCome
from dpviz.ui.state import Keys

PATIENCE = 20.0  # seconds that one request may wait: then the browser asks again
GLANCE = 0.02

Shown = Callable[[Answer[Any]], Mapping[str, Any]]


@dataclass(eq=False)
class Late:
    """What is shown of an answer once its slow parts are there.

    Attributes:
        place: the page, for the log.
        question, answer: what is asked, and the answer without them.
        show: an answer's figure ("figure") and words.
        token: its name for the browser.
    """

    place: str
    question: Question[Any]
    answer: Answer[Any]
    show: Shown
    token: str = field(default_factory=lambda: secrets.token_urlsafe(15))

    def parts(self) -> Parts:
        return slow.joined(self.place, self.question, self.answer)

    def missing(self) -> ToCome | None:
        """The first part that is still to be computed; None too where that cannot be said: `told` says it failed."""
        try:
            return self.parts().missing
        except Exception as error:
            boundary.log(self.place, error)
            return None

    def told(self) -> bytes:
        """What is there, as JSON; whether more is to come, and whether something failed: then the page says what."""
        try:
            found = self.parts()
            shown, packer = self.show(found.answer), Packer()
            more = {"late": found.missing is not None, "failed": bool(found.failed)}
            told = {**shown, "figure": packer.figure(shown["figure"]), "columns": packer.columns, **more}
        except Exception as error:
            boundary.log(self.place, error)
            told = {"late": False, "failed": True}
        return json.dumps(told, separators=(",", ":")).encode()


_known: WeakValueDictionary[str, Late] = WeakValueDictionary()


def offer(late: Late) -> str:
    """The name under which `answer` tells it, until the session's next one."""
    st.session_state[Keys.LATE] = late
    _known[late.token] = late
    return late.token


def find(token: str) -> Late | None:
    return _known.get(token)


async def answer(late: Late, gone: Callable[[], Awaitable[bool]]) -> bytes | None:
    """What `late` is once its next part is there; None where that takes longer, or nobody waits any more (`gone`)."""
    missing = await run_in_threadpool(late.missing)
    if missing is not None:
        job = background.start(*missing)
        until = time.monotonic() + PATIENCE
        while not job.done():
            if await gone():
                background.drop(missing.name)
                return None
            if time.monotonic() > until:
                return None
            await asyncio.sleep(GLANCE)
        if job.cancelled():  # by another who waited for it and went
            return None
    return await run_in_threadpool(late.told)
