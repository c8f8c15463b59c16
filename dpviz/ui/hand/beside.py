"""Processes beside the app that make frames and slow parts, so that pages and answers to browsers do not wait for the
interpreter.

python -m dpviz.ui.hand.maker   # one of them, as the app starts it
"""

import queue
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dpviz.runs.child import Child
from dpviz.runs.cluster.launch import usable_cores, worker_environment
from dpviz.runs.store.folders import home
from dpviz.ui.hand.turns import Turns

MODULE = "dpviz.ui.hand.maker"
COUNT = min(max(usable_cores(), 2), 4)
GLANCE = 0.5  # seconds between two looks whether one is left
CLOSING = 1.0  # seconds that one may take to end
STEADY = 60.0  # seconds after which one that ended had worked
SHORT = 3  # so many in a row that ended before, and no other is started


class Makers:
    """Those that have started; each does one thing at a time. Until one has, and where none is left, there is none."""

    def __init__(self) -> None:
        self._every: set[Child] = set()
        self._idle: queue.SimpleQueue[Child] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._over = True
        self.ready = 0  # how many have started and not ended

    def begin(self, count: int = COUNT) -> None:
        """Start them; one that ends is started again."""
        self._over = False
        for _ in range(count):
            threading.Thread(target=self._keep, name="frames-beside", daemon=True).start()

    def end(self) -> None:
        """End them."""
        with self._lock:
            self._over = True
            every = list(self._every)
        for child in every:
            child.close(CLOSING)

    def make(self, request: Mapping[str, Any]) -> Any | None:
        """What `maker` answers; None where no process can."""
        while child := self._free():
            child.say(request)
            kind, content = next(child.messages(), ("ended", None))
            if kind != "ended":
                self._idle.put(child)
                return content
        return None

    def _free(self) -> Child | None:
        while self.ready:
            with suppress(queue.Empty):
                return self._idle.get(timeout=GLANCE)
        return None

    def _keep(self) -> None:
        """Start one, and another when it has ended; the thread stays, for a process may end with the one it is of."""
        short = 0
        while short < SHORT:
            with self._lock:
                if self._over:
                    return
                child = Child(["-m", MODULE], home() / "logs" / "frames.log", worker_environment(usable_cores(), ()))
                self._every.add(child)
            began = time.monotonic()
            if next(child.messages(), None) is not None:
                self._count(1)
                self._idle.put(child)
                child.wait()
                self._count(-1)
            child.close(CLOSING)
            child.output.close()
            self._every.discard(child)
            short = short + 1 if time.monotonic() - began < STEADY else 0

    def _count(self, change: int) -> None:
        with self._lock:
            self.ready += change


makers = Makers()
frames = Turns(COUNT, "frames")  # what hands wait for
