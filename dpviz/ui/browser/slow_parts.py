"""Slow parts of an answer, which the browser fetches without a page run.

A session keeps what they are made from, under a name that nobody can guess. When the session ends, what it kept is
gone.
"""

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import streamlit as st
from starlette.concurrency import run_in_threadpool

from dpviz.charts.browser.pack import Packer
from dpviz.questions.answer import AnyAnswer
from dpviz.questions.computed import Joined, ToCome
from dpviz.questions.frames import Render, as_json
from dpviz.questions.question import AnyQuestion
from dpviz.ui import answers, boundary
from dpviz.ui.browser.pool import pool
from dpviz.ui.state import Keys

GLANCE = 0.2  # seconds between two looks, while something is computed, whether anybody still waits
PATIENCE = 20.0  # seconds that a request for a slow part may wait: then the browser asks again

Gone = Callable[[], Awaitable[bool]]


@dataclass(eq=False)
class SlowParts:
    """What is shown of an answer once its slow parts are there.

    Attributes:
        place: the page, for the log.
        question, answer: what is asked, and the answer without them.
        show: an answer's figure ("figure") and words.
        token: its name for the browser.
    """

    place: str
    question: AnyQuestion
    answer: AnyAnswer
    show: Render
    token: str = field(default_factory=lambda: secrets.token_urlsafe(15))

    def parts(self) -> Joined:
        return answers.joined(self.place, self.question, self.answer)

    def missing(self) -> tuple[ToCome, ...]:
        """Parts that are still to be computed; none too where that cannot be said: `content` says it failed."""
        try:
            return self.parts().missing
        except Exception as error:
            boundary.log(self.place, error)
            return ()

    def content(self) -> bytes:
        """What is there, as JSON; whether more is to come, and whether something failed: then the page says what."""
        try:
            parts = self.parts()
            shown, packer = self.show(parts.answer), Packer()
            more = {"more": bool(parts.missing), "failed": bool(parts.failed)}
            return as_json({**shown, "figure": packer.figure(shown["figure"]), "columns": packer.columns, **more})
        except Exception as error:
            boundary.log(self.place, error)
            return as_json({"more": False, "failed": True})


_offered: WeakValueDictionary[str, SlowParts] = WeakValueDictionary()


def offer(parts: SlowParts, missing: Sequence[ToCome]) -> str:
    """The name under which `answered` gives them, until the session's next one; empty where none is missing.

    They are begun now where processes beside the app compute them: here they would hold up the page, which is still
    being drawn. Nobody waits for those of the answer before any more.
    """
    before: tuple[SlowParts, Sequence[ToCome]] | None = st.session_state.get(Keys.SLOW_PARTS)
    if pool.there:
        for one in before[1] if before else ():
            answers.drop(one.name)
        for one in missing:
            answers.start(*one)
    st.session_state[Keys.SLOW_PARTS] = parts, missing
    if not missing:
        return ""
    _offered[parts.token] = parts
    return parts.token


def find(token: str) -> SlowParts | None:
    return _offered.get(token)


async def answered(parts: SlowParts, gone: Gone) -> bytes | None:
    """What is shown once one part more is there; None where that takes longer, or nobody waits any more (`gone`)."""
    missing = await run_in_threadpool(parts.missing)
    jobs = [asyncio.wrap_future(answers.start(*part)) for part in missing]
    until = time.monotonic() + PATIENCE
    while jobs and not (await asyncio.wait(jobs, timeout=GLANCE, return_when=asyncio.FIRST_COMPLETED))[0]:
        if await gone():
            for part in missing:
                answers.drop(part.name)
            return None
        if time.monotonic() > until:
            return None
    if any(job.cancelled() for job in jobs):  # by another who waited for it and went
        return None
    return await run_in_threadpool(parts.content)
