"""Answers to what a session or a pinned state asks, each computed once, and their slow parts: joined when they are
there; which one is missing, for whoever has it computed.

Slow parts are computed beside the page and never hold up the quick ones, nor each other: a page draws at once what is
quick; its browser asks for the rest. Results are kept by value: going back costs nothing.
"""

import threading
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from dpviz._remember import MEMORY, remembered
from dpviz.fields.field import Field
from dpviz.mechanisms import Mechanism
from dpviz.questions.answer import Answer, soon
from dpviz.questions.catalogue import QUESTIONS
from dpviz.questions.gradients import Law, Norms, Vectors
from dpviz.questions.layout import Reader
from dpviz.questions.methods import coarsely
from dpviz.questions.question import Question
from dpviz.ui import boundary, sources
from dpviz.ui.hand import beside


def compute(question: Question[Any], get: Reader) -> Answer[Any]:
    """The answer to the values that `get` tells, without its slow parts."""
    values = sources.resolved(question.read(get))
    # What is kept are numbers; a sample among the values belongs to whoever asks.
    return replace(_answer(question.key, False, tuple(values), *values.values()), given=values)


def with_samples(question: Question[Any], get: Reader, held: Mapping[str, Any]) -> Answer[Any]:
    """The same without a session, of fewer points: samples that only the app can give are those that are `held`.

    Raises:
        ValueError: these values have no answer, or need another sample.
    """
    values = question.read(get)
    resolved = {key: sources.known(value, held[key]) for key, value in values.items()}
    return replace(_answer(question.key, True, tuple(resolved), *resolved.values()), given=resolved)


@remembered
def _answer(key: str, coarse: bool, names: tuple[str, ...], *values: Any) -> Answer[Any]:
    with coarsely() if coarse else nullcontext():
        return QUESTIONS[key].answer(**dict(zip(names, values, strict=True)))


# --- slow parts -------------------------------------------------------------------------------------------------------


class ToCome(NamedTuple):
    """A part that is still to be computed: what it will be found under, and the work."""

    name: Hashable
    work: Callable[[], Any]


class Joined(NamedTuple):
    """An answer with the slow parts that are there, and the quick ones of others; those that are missing; and the names
    of parts that failed, without which the answer stands.
    """

    answer: Answer[Any]
    missing: tuple[ToCome, ...] = ()
    failed: tuple[Hashable, ...] = ()


def joined(place: str, question: Question[Any], answer: Answer[Any]) -> Joined:
    """The answer with what is there of its slow parts; `place` names the page in the log of what failed."""
    missing: list[ToCome] = []
    failed: list[Hashable] = []
    for k, slow in enumerate(question.slow):
        key = slow.key(answer)
        if key is None:
            continue
        name = (slow.work, key)  # questions that share a part find it computed
        try:
            part = finished(name)
            if part is not None:
                answer = slow.join(answer, part)
                continue
            missing.append(ToCome(name, partial(_part, question, k, answer)))
            answer = soon(answer, (slow,))
        except Exception as error:
            boundary.log(place, error)
            failed.append(name)
    return Joined(answer, tuple(missing), tuple(failed))


def _part(question: Question[Any], k: int, answer: Answer[Any]) -> Any:
    """A slow part, from a process beside the app where one can compute it."""
    slow = question.slow[k]
    if plain(question, answer.given):
        made = beside.makers.make({"question": question.key, "part": k, "texts": question.texts(answer.given)})
        if made is not None and made[0] == slow.key(answer):
            return made[1]
    return slow.work(answer)


def part_of(question: Question[Any], k: int, get: Reader) -> tuple[Hashable, Any]:
    """The key of a slow part of the answer to the values that `get` tells, and the part, computed here."""
    values, slow = question.read(get), question.slow[k]
    answer = replace(_answer(question.key, False, tuple(values), *values.values()), given=values)
    return slow.key(answer), slow.work(answer)


def plain(question: Question[Any], given: Mapping[str, Any]) -> bool:
    """Whether texts of fields say all these values: none is measured, uploaded or read from recorded runs."""
    values = Mechanism | Law | Norms | Vectors | None
    return all(isinstance(question.settings[key], Field) or isinstance(given[key], values) for key in given)


def try_again(failed: Sequence[Hashable]) -> None:
    """Joined that failed may be tried again."""
    for name in failed:
        forget(name)


# --- computed beside the page -----------------------------------------------------------------------------------------

GLANCE, PATIENCE = 0.05, 3.0  # seconds between two looks whether hands wait, and for which a slow part lets them pass
_WORKERS = max(beside.COUNT - 1, 1)  # a process beside the app stays free for frames

_pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="slow-part")
_lock = threading.Lock()
_jobs: dict[Hashable, Future[None]] = {}  # under way


class _Failed:
    """What the work raised, without the frames that it was raised in: they would keep all that they worked on."""

    def __init__(self, error: Exception) -> None:
        self.error = error.with_traceback(None)
        self.error.__context__ = self.error.__cause__ = None


def finished(key: Hashable) -> Any | None:
    """The result kept under `key`, None while there is none; raises what the work raised."""
    result = MEMORY.get(("slow part", key))
    if isinstance(result, _Failed):
        raise result.error.with_traceback(None)
    return result


def there(key: Hashable) -> bool:
    """Whether there is one, or the work failed."""
    return MEMORY.get(("slow part", key)) is not None


def forget(key: Hashable) -> None:
    """What failed under `key` may be tried again."""
    MEMORY.forget(("slow part", key))


def busy() -> bool:
    """Whether a slow part is under way."""
    return bool(_jobs)


def start(key: Hashable, work: Callable[[], Any]) -> Future[None]:
    """Begin `work` unless it runs or is done already; nobody waits, `finished` tells."""
    with _lock:
        job = _jobs.get(key)
        if job is None and MEMORY.get(("slow part", key)) is not None:
            job = Future()
            job.set_result(None)
        elif job is None or job.cancelled():
            job = _jobs[key] = _pool.submit(_do, key, work)
    return job


def drop(key: Hashable) -> None:
    """Nobody waits for this work any more: it is not begun. Whoever asks for it again begins it again."""
    with _lock:
        if (job := _jobs.get(key)) is not None and job.cancel():
            del _jobs[key]


def _do(key: Hashable, work: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE
    while beside.frames.crowded and time.monotonic() < until:
        time.sleep(GLANCE)
    try:
        result = work()
    except Exception as error:
        result = _Failed(error)
    MEMORY.put(("slow part", key), result)
    with _lock:
        _jobs.pop(key, None)
