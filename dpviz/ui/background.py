"""Slow parts of a result, computed beside the page so that they never hold up the quick ones.

A page draws at once what is quick; its browser asks for the rest. Results are kept by value: going back costs nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from dpviz._remember import MEMORY

_WORKERS = 2  # numpy's transforms release the interpreter; more would only take turns

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


def forget(key: Hashable) -> None:
    """What failed under `key` may be tried again."""
    MEMORY.forget(("slow part", key))


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
    try:
        result = work()
    except Exception as error:
        result = _Failed(error)
    MEMORY.put(("slow part", key), result)
    with _lock:
        _jobs.pop(key, None)
