"""Answers to what a session or a pinned state asks, and their slow parts, computed beside the page.

Slow parts never hold up the quick ones, nor each other: a page draws at once what is quick; its browser asks for the
rest.
"""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from functools import partial
from typing import Any

from dpviz.questions.answer import AnyAnswer
from dpviz.questions.computed import Joined, computed, forget, keep, part_here, part_of, plain, there
from dpviz.questions.computed import joined as joined_with
from dpviz.questions.layout import Reader, Values
from dpviz.questions.question import AnyQuestion
from dpviz.questions.source import Source
from dpviz.ui import boundary, sources
from dpviz.ui.browser.pool import COUNT, pool


def compute(question: AnyQuestion, get: Reader) -> AnyAnswer:
    """The answer to the values that `get` tells, without its slow parts."""
    values = {
        name: sources.resolved(value) if isinstance(value, Source) else value
        for name, value in question.read(get).items()
    }
    return computed(question, values)


def with_samples(question: AnyQuestion, get: Reader, held: Values) -> AnyAnswer:
    """The same without a session, of fewer points: samples that only the app can give are those that are `held`.

    Raises:
        ValueError: these values have no answer, or need another sample.
    """
    return computed(question, sources.with_held(question.read(get), held), coarse=True)


def joined(place: str, question: AnyQuestion, answer: AnyAnswer) -> Joined:
    """The answer with what is there of its slow parts; `place` names the page in the log of what failed."""
    return joined_with(question, answer, partial(boundary.log, place), _part)


def _part(question: AnyQuestion, place: int, answer: AnyAnswer) -> Any:
    """A slow part, from a process beside the app where one can compute it."""
    if plain(question, answer.given):
        try:
            return pool.submit(part_of, question.key, place, answer.given).result()
        except BrokenExecutor:
            pass
    return part_here(question, place, answer)


def try_again(failed: Sequence[Hashable]) -> None:
    """Joined that failed may be tried again."""
    for name in failed:
        forget(name)


# --- computed beside the page -----------------------------------------------------------------------------------------

_WORKERS = max(COUNT - 1, 1)  # a process beside the app stays free for frames

_pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="slow-part")
_lock = threading.Lock()
_jobs: dict[Hashable, Future[None]] = {}  # under way


def busy() -> bool:
    """Whether a slow part is under way."""
    return bool(_jobs)


def start(name: Hashable, work: Callable[[], Any]) -> Future[None]:
    """Begin `work` unless it runs or is done already; nobody waits, `finished` tells."""
    with _lock:
        job = _jobs.get(name)
        if job is None and there(name):
            job = Future()
            job.set_result(None)
        elif job is None or job.cancelled():
            job = _jobs[name] = _pool.submit(_do, name, work)
    return job


def drop(name: Hashable) -> None:
    """Nobody waits for this work any more: it is not begun. Whoever asks for it again begins it again."""
    with _lock:
        if (job := _jobs.get(name)) is not None and job.cancel():
            del _jobs[name]


def _do(name: Hashable, work: Callable[[], Any]) -> None:
    keep(name, work)
    with _lock:
        _jobs.pop(name, None)
