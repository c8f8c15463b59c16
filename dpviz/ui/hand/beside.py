"""Processes beside the app that make frames, so that pages and answers to browsers do not wait for the interpreter.

python -m dpviz.ui.hand.maker   # one of them, as the app starts it
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from dpviz.runs.child import Child
from dpviz.runs.cluster.launch import usable_cores, worker_environment
from dpviz.runs.store.folders import home

MODULE = "dpviz.ui.hand.maker"
COUNT = min(max(usable_cores(), 2), 4)
GLANCE = 0.5  # seconds between two looks whether one is left
CLOSING = 1.0  # seconds that one may take to end


class Makers:
    """Those that have started; each makes one frame at a time. Until one has, and where none is left, there is none."""

    def __init__(self) -> None:
        self._every: list[Child] = []
        self._idle: queue.SimpleQueue[Child] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._ready = 0

    def begin(self, count: int = COUNT) -> None:
        """Start them; to be called from a thread that lives on."""
        log = home() / "logs" / "frames.log"
        for _ in range(count):
            child = Child(["-m", MODULE], log, worker_environment(usable_cores(), ()))
            self._every.append(child)
            threading.Thread(target=self._welcome, args=(child,), name="frames-beside", daemon=True).start()

    def end(self) -> None:
        """End them."""
        for child in self._every:
            child.close(CLOSING)
            child.output.close()
        self._every, self._ready = [], 0

    def make(self, recipe: Mapping[str, Any], text: str) -> Any | None:
        """What `maker` answers; None where no process can."""
        child = self._free()
        if child is None:
            return None
        child.say({"recipe": recipe, "text": text})
        kind, content = next(child.messages(), ("ended", None))
        if kind == "ended":
            with self._lock:
                self._ready -= 1
            return None
        self._idle.put(child)
        return content

    def _free(self) -> Child | None:
        while self._ready:
            with suppress(queue.Empty):
                return self._idle.get(timeout=GLANCE)
        return None

    def _welcome(self, child: Child) -> None:
        """Wait until it has started."""
        if next(child.messages(), None) is not None:
            with self._lock:
                self._ready += 1
            self._idle.put(child)
