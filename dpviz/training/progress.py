"""Progress of long work, reported from anywhere within it to whoever listens.

>>> def work():
...     with task("counting", "sheep", 2):
...         for _ in range(2):
...             advance()
>>> with listening(lambda progress: print(progress.words)):
...     work()
Counting: 0 of 2 sheep.
Counting: 1 of 2 sheep.
Counting: 2 of 2 sheep.

Results do not depend on who listens, so nothing of this is an argument of what is kept by value. A listener that raises
ends the work: that is how it is cancelled.
"""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

# Seconds after which a pace tells something: the first pieces are slower than the rest.
SHORTEST = 0.15


class Progress(NamedTuple):
    """One moment of a task.

    Attributes:
        doing: What is done, as in "training the network".
        unit: What is counted, in the plural.
        done, total: How much of it.
        left: Seconds that the rest takes at the pace so far; None before there is a pace.
    """

    doing: str
    unit: str
    done: int
    total: int
    left: float | None = None

    @property
    def share(self) -> float:
        """In [0, 1]."""
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    @property
    def words(self) -> str:
        left = "" if self.left is None or self.done >= self.total else f", {duration(self.left)} left"
        return f"{self.doing.capitalize()}: {self.done:,} of {self.total:,} {self.unit}{left}."


Listener = Callable[[Progress], None]


def duration(seconds: float) -> str:
    """In words, rounded up to what can be told of a time to come."""
    if seconds < 1.0:
        return "less than a second"
    if seconds < 90.0:
        return f"about {math.ceil(seconds)} s"
    return f"about {math.ceil(seconds / 60.0)} min"


class _Task:
    def __init__(self, doing: str, unit: str, total: int, listener: Listener) -> None:
        self._about, self._total, self._listener = (doing, unit), total, listener
        self.resume(0)

    def resume(self, done: int) -> None:
        self.done = done
        self._begun = (time.monotonic(), done)
        self.tell()

    def tell(self) -> None:
        began, first = self._begun
        spent = time.monotonic() - began
        pace = None if self.done <= first or spent < SHORTEST else spent / (self.done - first)
        left = None if pace is None else pace * max(0, self._total - self.done)
        self._listener(Progress(*self._about, self.done, self._total, left))


_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_task: ContextVar[_Task | None] = ContextVar("task", default=None)


@contextmanager
def _held(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Tell `listener` of every task inside, at its beginning and at each piece of it that is done."""
    with _held(_listener, listener):
        yield


@contextmanager
def task(doing: str, unit: str, total: int) -> Iterator[None]:
    """What is done inside: `total` pieces of it, told with `advance`. A task within a task is not told of."""
    listener = _listener.get()
    if listener is None or _task.get() is not None or total <= 0:
        yield
        return
    with _held(_task, _Task(doing, unit, total, listener)):
        yield


def advance(count: int = 1) -> None:
    """So many more pieces of the task are done."""
    if (now := _task.get()) is not None:
        now.done += count
        now.tell()


def resumed(done: int) -> None:
    """The task goes on from where so many pieces are done: what was kept says nothing about the pace."""
    now = _task.get()
    if now is not None and now.done != done:
        now.resume(done)
