"""The child process in which measurements are made, as the app holds it."""

from __future__ import annotations

import json
import pickle
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz.runs.cluster import memory
from dpviz.runs.cluster.launch import usable_cores, worker_environment
from dpviz.runs.cluster.processes import end_child, start_child

MODULE = "dpviz.runs.measuring.worker"


class MeasuringEnded(RuntimeError):
    """The child ended before it answered; the message says how, and where more is written."""


class MeasurementProcess:
    """Started at once; to be made in a thread that lives on, for the child ends with it.

    Requests are lines of JSON on its standard input, answers pickles on its standard output: only ever from a child
    of our own. It ends when its input closes, which happens however the app ends.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        # One thread: networks here are small.
        self._child = start_child(["-m", MODULE], log, worker_environment(usable_cores(), ()))
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def alive(self) -> bool:
        return self._child.poll() is None

    @property
    def grown(self) -> bool:
        """Whether it holds so much memory that another is to take its place."""
        return memory.resident(self.pid) > memory.MOST_MEMORY

    def send(self, target: str, arguments: Mapping[str, Any]) -> None:
        self._say({"target": target, "arguments": dict(arguments)})

    def cancel(self) -> None:
        """Ask it to give up what it is doing; it answers "cancelled", or with what was done already."""
        self._say({"cancel": True})

    def _say(self, request: dict[str, Any]) -> None:
        assert self._child.stdin is not None
        # A child that has ended is noticed by `messages`.
        with self._lock, suppress(OSError, ValueError):
            self._child.stdin.write(json.dumps(request).encode() + b"\n")
            self._child.stdin.flush()

    def messages(self) -> Iterator[tuple[str, Any, int]]:
        """What it says: kind, content and size in bytes.

        Raises:
            MeasuringEnded: when it has ended.
        """
        assert self._child.stdout is not None
        while True:
            try:
                kind, content = pickle.load(self._child.stdout)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                raise MeasuringEnded(self._why()) from None
            yield kind, pickle.loads(content) if kind == "done" else content, len(content)

    def _why(self) -> str:
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(5.0)
        code = self._child.poll()
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended by itself (code {code})"
        return f"The process that measured {how}, perhaps for want of memory; see {self._log}."

    def close(self, limit: float = 2.0) -> None:
        """End it: by closing its input, by force after `limit` seconds."""
        with self._lock:  # nobody is in the middle of a line
            end_child(self._child, limit)
        if self._child.stdout is not None:
            self._child.stdout.close()
