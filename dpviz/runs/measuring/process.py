"""The child process in which measurements are made, as the app holds it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dpviz.runs.cluster import memory
from dpviz.runs.cluster.child import Child
from dpviz.runs.cluster.launch import usable_cores, worker_environment

MODULE = "dpviz.runs.measuring.worker"


class MeasuringEnded(RuntimeError):
    """The child ended before it answered; the message says how, and where more is written."""


class MeasurementProcess(Child):
    """Requests are lines of JSON on its standard input, answers pickles on its standard output: only ever from a child
    of our own. Asked to give up what it is doing, it answers "cancelled", or with what was done already."""

    def __init__(self, log: Path) -> None:
        # One thread: networks here are small.
        super().__init__(["-m", MODULE], log, worker_environment(usable_cores(), ()))

    @property
    def grown(self) -> bool:
        """Whether it holds so much memory that another is to take its place."""
        return memory.resident(self.pid) > memory.MOST_MEMORY

    def messages(self) -> Iterator[tuple[str, Any, int]]:
        """What it says: kind, content and size in bytes.

        Raises:
            MeasuringEnded: when it has ended.
        """
        while True:
            try:
                kind, content = pickle.load(self.output)
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                raise MeasuringEnded(self._why()) from None
            yield kind, pickle.loads(content) if kind == "done" else content, len(content)

    def _why(self) -> str:
        code = self.code
        how = f"was killed (signal {-code})" if code is not None and code < 0 else f"ended by itself (code {code})"
        return f"The process that measured {how}, perhaps for want of memory; see {self.log}."

    def close(self, limit: float = 2.0) -> None:
        super().close(limit)
        self.output.close()
