"""Processes that make frames and slow parts, so that pages and answers to browsers do not wait for the interpreter.

They load neither Streamlit nor PyTorch, keep results as the app does (`dpviz._remember`), and end with it. One that
ends breaks the pool, which then starts anew.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import active_children, get_context
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from dpviz._processes import end_with_parent
from dpviz._remember import MEMORY
from dpviz.runs.cluster.launch import usable_cores
from dpviz.runs.cluster.memory import give_back, keep_little

P = ParamSpec("P")
T = TypeVar("T")

COUNT = min(max(usable_cores(), 2), 4)
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
REMEMBERED = 24 * 2**20  # bytes of results that each keeps; frames themselves are kept by the app
TRIMMED_EVERY = 3.0  # seconds
WORKED = 0.1  # seconds of processor time after which there may be something to give back
PROBE = 0.01  # seconds
STEADY = 60.0  # seconds after which a pool that broke had worked
SHORT = 3  # so many in a row that broke before, and no other is started


class ProcessPool:
    """Processes that call functions of modules, with arguments and results that can be pickled; what was asked for
    first is begun first. Until one has started there are none."""

    def __init__(self) -> None:
        self._latest: ProcessPoolExecutor | None = None  # which may be starting
        self._executor: ProcessPoolExecutor | None = None
        self._lock = threading.RLock()
        self._began = 0.0
        self._short = 0

    @property
    def there(self) -> bool:
        return self._executor is not None

    def begin(self) -> None:
        """Start the processes; returns at once."""
        os.environ |= dict.fromkeys(THREADS, "1")  # read where NumPy is loaded, so here it changes nothing
        executor = ProcessPoolExecutor(COUNT, get_context("spawn"), _begin)
        self._latest, self._began = executor, time.monotonic()
        with _no_program():
            # Each call starts one, as long as none is idle.
            started = [executor.submit(os.getpid) for _ in range(COUNT)]
        for one in started:
            one.add_done_callback(lambda done: self._look(executor, done))

    def end(self) -> None:
        """End them; what was asked for never comes."""
        with self._lock:
            executor, self._latest, self._executor = self._latest, None, None
        if executor is not None:
            for child in active_children():
                child.terminate()
            executor.shutdown(cancel_futures=True)

    def submit(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """The result to come; BrokenExecutor where a process ended.

        Raises:
            BrokenExecutor: there are no processes.
        """
        executor = self._executor
        if executor is None:
            raise BrokenExecutor("There are no processes beside the app.")
        try:
            future = executor.submit(function, *args, **kwargs)
        except BrokenExecutor:  # since nobody waited
            self._again(executor)
            raise
        future.add_done_callback(lambda done: self._look(executor, done))
        return future

    def _look(self, executor: ProcessPoolExecutor, done: Future[Any]) -> None:
        if done.cancelled():
            return
        if isinstance(done.exception(), BrokenExecutor):
            self._again(executor)
            return
        with self._lock:
            if self._latest is executor:
                self._executor = executor

    def _again(self, broken: ProcessPoolExecutor) -> None:
        with self._lock:
            if self._latest is not broken:
                return
            self._short = self._short + 1 if time.monotonic() - self._began < STEADY else 1
            self._latest = self._executor = None
            if self._short < SHORT:
                self.begin()


pool = ProcessPool()


def share_of_core() -> float:
    """Which part of a core this process has while it wants all of it: 1 where no other program does."""
    began, used = time.perf_counter(), time.process_time()
    while (lasted := time.perf_counter() - began) < PROBE:
        pass
    return (time.process_time() - used) / lasted


@contextmanager
def _no_program() -> Iterator[None]:
    """Processes that start meanwhile do not import the program that runs: it is Streamlit's, or one of its pages."""
    program = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _trim() -> None:
    """Give back, after work, what the C library keeps of what was freed; as long as the process lives."""
    worked = 0.0
    while True:
        time.sleep(TRIMMED_EVERY)
        if time.process_time() - worked > WORKED:
            give_back()
            worked = time.process_time()


def _begin() -> None:
    """In each process, as it starts."""
    end_with_parent()
    keep_little()
    threading.Thread(target=_trim, name="dpviz-trim", daemon=True).start()
    MEMORY.most = REMEMBERED
    with suppress(AttributeError, OSError):  # Windows has neither
        os.setsid()  # Ctrl-C in the terminal is for the app
        os.nice(5)  # pages go first
    import dpviz.questions.frames  # noqa: F401  # before somebody waits for it
