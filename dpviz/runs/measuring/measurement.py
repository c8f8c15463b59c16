"""Measurements on networks and data, made in a child process, so that the app itself never loads PyTorch.

A measurement is asked for by value: whoever asks for the same gets the same one, under way or done. It goes on as long
as somebody looks at it, and is given up soon after nobody does. They are made one after the other in one process
(`measuring.worker`), beside the workers that train: nobody waits for the end of a run, and a cluster elsewhere
changes nothing, for parameters and data are read where the app is.
"""

import atexit
import pickle
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from dpviz.runs.child import Child
from dpviz.runs.cluster import memory
from dpviz.runs.cluster.launch import usable_cores, worker_environment
from dpviz.runs.store.folders import home

MODULE = "dpviz.runs.measuring.worker"

# Seconds without a look after which a measurement is given up, and without work after which the process ends.
FORGOTTEN = 3.0
IDLE = 120.0

# Seconds that the process has for its own end.
CLOSING = 2.0

# Bytes of results that are kept, as sent.
MOST_KEPT = 64_000_000


@dataclass(frozen=True)
class Request:
    """What is to be measured.

    Attributes:
        key: Stands for the result: the same key, the same measurement.
        target: "module:function", called in the child with the arguments; its result comes back pickled.
        arguments: JSON values.
    """

    key: Hashable
    target: str = field(compare=False)
    arguments: Mapping[str, Any] = field(compare=False)


@dataclass(eq=False)
class Measurement:
    """One that was asked for.

    Attributes:
        result: What the target returned; None before the end.
        problem: Why there is none, in words; "" if nothing is wrong.
        doing, since: What is being done now, in words, and from when on.
        share: How much of that is done, in [0, 1]; None where that is not known.
        seen: When somebody looked last, on the monotonic clock.
    """

    asked: Request
    result: Any = None
    problem: str = ""
    doing: str = "The measuring process starts"
    since: float = field(default_factory=time.monotonic)
    share: float | None = None
    seen: float = field(default_factory=time.monotonic)
    size: int = 0

    def tell(self, doing: str, share: float | None) -> None:
        if share is not None or doing.partition(":")[0] != self.doing.partition(":")[0]:
            self.since = time.monotonic()
        self.doing, self.share = doing, share

    @property
    def words(self) -> str:
        """What is being done, with how long it takes still, or has taken."""
        return self.doing if self.share is not None else f"{self.doing}, {time.monotonic() - self.since:.0f} s so far."

    def look(self) -> None:
        """Somebody waits for it: it goes on."""
        self.seen = time.monotonic()

    @property
    def over(self) -> bool:
        return self.result is not None or bool(self.problem)

    @property
    def forgotten(self) -> bool:
        """Whether nobody waits for it any more."""
        return time.monotonic() - self.seen > FORGOTTEN


class Measurements:
    """All measurements of this process, by key; called from any thread.

    Args:
        log: File for messages of the child; the folder of the store's logs if None.
    """

    def __init__(self, log: Path | None = None) -> None:
        self._log = log
        self._by_key: OrderedDict[Hashable, Measurement] = OrderedDict()
        self._queue: deque[Measurement] = deque()
        self._changed = threading.Condition()
        self._process: Child | None = None
        self._busy = False  # whether one is under way
        self._closed = False
        # The child ends with the thread that started it, so this one lives on.
        self._thread: threading.Thread | None = None

    def find(self, key: Hashable) -> Measurement | None:
        """The measurement if it was asked for, under way or over."""
        with self._changed:
            return self._by_key.get(key)

    def ask(self, asked: Request) -> Measurement:
        """The measurement, begun unless it is there; to be looked at again within `FORGOTTEN` seconds."""
        with self._changed:
            if asked.key not in self._by_key:
                if self._closed:
                    raise RuntimeError("Measurements were closed.")
                self._by_key[asked.key] = Measurement(asked)
                self._queue.append(self._by_key[asked.key])
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="dpviz-measurements", daemon=True)
                    self._thread.start()
                self._changed.notify()
            self._by_key.move_to_end(asked.key)
            measurement = self._by_key[asked.key]
            measurement.look()
            return measurement

    def forget(self, key: Hashable) -> None:
        """Let a failed one be tried again."""
        with self._changed:
            if key in self._by_key and self._by_key[key].problem:
                del self._by_key[key]

    def before(self, measurement: Measurement) -> int:
        """How many others go first."""
        with self._changed:
            return self._queue.index(measurement) + self._busy if measurement in self._queue else 0

    @property
    def worker(self) -> int | None:
        """Process id of the child; None while there is none."""
        process = self._process
        return process.pid if process is not None and process.alive else None

    def close(self) -> None:
        """End the child; what waits is dropped."""
        with self._changed:
            self._closed = True
            self._queue.clear()
            self._changed.notify()
        if self._process is not None:
            self._process.close(CLOSING)
        if self._thread is not None:
            self._thread.join(5.0)

    def _run(self) -> None:
        while not self._closed:
            with self._changed:
                self._busy = False
                idle = not self._queue and not self._changed.wait(IDLE)
                measurement = self._queue.popleft() if self._queue else None
                self._busy = measurement is not None
            if measurement is None:
                if idle:
                    self._end()  # its memory is given back
            elif measurement.forgotten:
                self._drop(measurement)
            else:
                self._measure(measurement)
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close(CLOSING)
            process.output.close()

    def _drop(self, measurement: Measurement) -> None:
        with self._changed:
            if self._by_key.get(measurement.asked.key) is measurement:
                del self._by_key[measurement.asked.key]

    def _measure(self, measurement: Measurement) -> None:
        try:
            process = self._process
            if process is None or not process.alive or memory.resident(process.pid) > memory.MOST_MEMORY:
                self._end()
                log = self._log or home() / "logs" / "measurements.log"
                # One thread: networks here are small.
                process = self._process = Child(["-m", MODULE], log, worker_environment(usable_cores(), preload=False))
            self._follow(measurement, process)
        except Exception as error:  # the page says it and stays
            measurement.problem = f"The measuring process cannot start ({type(error).__name__}: {error})."
        if measurement.problem and not self.worker:
            self._end()

    def _follow(self, measurement: Measurement, process: Child) -> None:
        """Hand the work over and listen until it is over."""
        process.say({"target": measurement.asked.target, "arguments": dict(measurement.asked.arguments)})
        cancelled = False
        for kind, content in process.messages():
            if kind == "progress":
                measurement.tell(*content)
                if measurement.forgotten and not cancelled:
                    cancelled = True
                    self._drop(measurement)  # whoever asks from now on starts it anew
                    process.say({"cancel": True})
                continue
            if kind == "failed":
                measurement.problem = content
            elif kind == "done":
                measurement.size = len(content)
                measurement.result = pickle.loads(content)
                self._keep_few()
            return
        code = process.code
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended by itself (code {code})"
        measurement.problem = f"The process that measured {how}, perhaps because memory ran out; see {process.log}."

    def _keep_few(self) -> None:
        with self._changed:
            total = sum(measurement.size for measurement in self._by_key.values())
            for key in list(self._by_key)[:-1]:
                if total <= MOST_KEPT:
                    return
                if self._by_key[key].over:
                    total -= self._by_key.pop(key).size


@cache
def measurements() -> Measurements:
    """Those of this process, for all sessions; ended with it."""
    made = Measurements()
    atexit.register(made.close)
    return made
