"""Work that many sessions ask for, in fair turns: one piece of each in turn, of each what it asked for last."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any


@dataclass(eq=False)
class Job:
    """A piece of work, done once for all who ask while it waits or runs.

    Attributes:
        result: what the work returns.
        asked: how many wait for it.
    """

    name: Hashable
    work: Callable[[], Any]
    result: Future[Any] = field(default_factory=Future)
    asked: int = 0


class Turns:
    """Workers and those who wait for them."""

    def __init__(self, workers: int, name: str) -> None:
        self._workers = workers
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job] = {}  # waiting or running
        self._waiting: OrderedDict[Hashable, list[Job]] = OrderedDict()  # session → its jobs; the first has the turn

    @property
    def busy(self) -> bool:
        return bool(self._jobs)

    @property
    def crowded(self) -> bool:
        """Whether more sessions wait than there are workers."""
        return len(self._waiting) > self._workers

    def ask(self, session: Hashable, works: Mapping[Hashable, Callable[[], Any]]) -> list[Job]:
        """Have these done, in this order and before what the session asked for earlier; none that is under way twice.

        Equal work has the same name.
        """
        with self._lock:
            jobs = [self._jobs.setdefault(name, Job(name, work)) for name, work in works.items()]
            for job in jobs:
                job.asked += 1
            if jobs:
                self._waiting.setdefault(session, []).extend(jobs[::-1])
        for _ in jobs:
            self._pool.submit(self._next)
        return jobs

    def drop(self, jobs: Sequence[Job]) -> None:
        """One who asked for them waits no more; nobody's work is not begun."""
        with self._lock:
            for job in jobs:
                job.asked -= 1
                if not job.asked and job.result.cancel():
                    self._jobs.pop(job.name, None)

    def _next(self) -> None:
        job = self._taken()
        if job is None:
            return
        try:
            job.result.set_result(job.work())
        except BaseException as error:
            job.result.set_exception(error)
        finally:
            with self._lock:
                self._jobs.pop(job.name, None)

    def _taken(self) -> Job | None:
        """The next piece that still has to be begun; the session that it is taken from is the last in turn then."""
        with self._lock:
            while self._waiting:
                session, jobs = next(iter(self._waiting.items()))
                job = jobs.pop()
                if not jobs:
                    del self._waiting[session]
                if job.result.done() or job.result.running():  # asked for by another too, or dropped
                    continue
                if jobs:
                    self._waiting.move_to_end(session)
                job.result.set_running_or_notify_cancel()
                return job
        return None
