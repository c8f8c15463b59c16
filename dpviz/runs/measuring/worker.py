"""The process that measures: ``python -m dpviz.runs.measuring.worker``, started by `measuring.measurement`.

To each request it says "progress" (words, share or None), then one of "done" (the pickled result), "failed" (words) and
"cancelled". Asked to give up what it is doing, it may still answer with what was done already.
"""

import os
import pickle
import queue
import sys
import threading
import time
import traceback
from contextlib import suppress
from pkgutil import resolve_name
from typing import Any

from dpviz._extras import extra
from dpviz.runs.child import Parent, end_with_parent
from dpviz.runs.cluster.memory import give_back
from dpviz.training.progress import Progress, listening

# Seconds between two words about the same task, and how much it steps back for those who train.
PAUSE = 0.1
NICE = 10


class Cancelled(Exception):
    """Nobody waits for the result any more."""


class Worker:
    """Answers requests one after the other; a thread of its own reads them, so that it hears of a cancelled one."""

    def __init__(self) -> None:
        self._parent = Parent()
        self._requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._cancel = threading.Event()
        threading.Thread(target=self._read, name="dpviz-stdin", daemon=True).start()

    def _read(self) -> None:
        for request in self._parent.messages():
            if "cancel" in request:
                self._cancel.set()
            else:
                self._requests.put(request)
        os._exit(0)

    def serve(self) -> None:
        """Until standard input ends, which ends this process."""
        while True:
            request = self._requests.get()
            self._cancel.clear()
            self._parent.say(*self._answer(request["target"], request["arguments"]))
            give_back()

    def _answer(self, target: str, arguments: dict[str, Any]) -> tuple[str, Any]:
        try:
            with listening(self._tell):
                result = self._load(target)(**arguments)
            return "done", pickle.dumps(result, protocol=pickle.HIGHEST_PROTOCOL)
        except Cancelled:
            return "cancelled", ""
        except Exception as error:  # whatever a file or a data set does: said in words
            traceback.print_exc()
            worded = isinstance(error, (ValueError, OSError)) or type(error).__module__.startswith("dpviz.")
            return "failed", str(error) if worded else f"{type(error).__name__}: {error}"

    def _load(self, target: str) -> Any:
        if target.partition(":")[0] not in sys.modules:
            self._parent.say("progress", ("The measuring process starts: loading PyTorch", None))
        with extra("train"):
            function = resolve_name(target)
        if hasattr(os, "setpriority"):
            with suppress(OSError):  # those who train go first; only now, for loading holds up whoever waits
                os.setpriority(os.PRIO_PROCESS, 0, NICE)
        self._parent.say("progress", ("Reading the data", None))
        return function

    _told = 0.0

    def _tell(self, progress: Progress) -> None:
        if self._cancel.is_set():
            raise Cancelled
        now = time.monotonic()
        if now - self._told >= PAUSE or progress.done == 0:
            self._told = now
            self._parent.say("progress", (progress.words, progress.share))


if __name__ == "__main__":
    end_with_parent()
    Worker().serve()
