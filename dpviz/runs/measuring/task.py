"""The Dask task of a measurement: calls the target, and tells how far it is as long as somebody waits for it."""

import pickle
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from dpviz._extras import extra
from dpviz.runs.cluster.memory import give_back
from dpviz.runs.work import GIVEN_UP, executes
from dpviz.training.progress import Progress, listening

# Keys of these tasks begin with this, and their progress has this topic among the scheduler's events.
PREFIX = "dpviz-measuring-"
TOPIC = "dpviz-measuring"

# Seconds between two words about the same task.
PAUSE = 0.1


class TaskResult(NamedTuple):
    """What came of a measurement.

    Attributes:
        content: The pickled result; b"" if there is none.
        problem: Why there is none, in words; "" if there is one.
    """

    content: bytes
    problem: str


class SentFile(NamedTuple):
    """A file of the app's for a worker that may not see it."""

    name: str
    content: bytes

    def written(self, folder: str) -> str:
        """The path of the file in this folder, where it now lies."""
        path = Path(folder, self.name)
        path.write_bytes(self.content)
        return str(path)


class Cancelled(Exception):
    """Nobody waits for the result any more."""


class Teller:
    """Tells whoever waits for a task how far it is.

    Args:
        worker: Dask's.
        key: Of the task.
    """

    def __init__(self, worker: Any, key: str) -> None:
        self._worker, self._key = worker, key
        self._told = 0.0

    def say(self, words: str, share: float | None = None) -> None:
        self._worker.log_event(TOPIC, [self._key, words, share])

    def tell(self, progress: Progress) -> None:
        """Pass on a moment of the work, a few times a second.

        Raises:
            Cancelled: if nobody waits for it any more.
        """
        if not executes(self._worker, self._key):
            raise Cancelled
        now = time.monotonic()
        if now - self._told >= PAUSE or progress.done == 0:
            self._told = now
            self.say(progress.words, progress.share)


def measure(key: str, target: str, arguments: Mapping[str, Any]) -> TaskResult:
    """The Dask task of one measurement: `target`, "module:function", called with the arguments, a file by its path."""
    from distributed import get_worker

    worker = get_worker()
    teller = Teller(worker, key)
    content, problem = b"", ""
    try:
        if target.partition(":")[0] not in sys.modules:
            teller.say("Loading PyTorch")
        with extra("train"):
            function = resolve_name(target)
        teller.say("Reading the data")
        with TemporaryDirectory(dir=worker.local_directory) as folder, listening(teller.tell):
            here = {
                name: value.written(folder) if isinstance(value, SentFile) else value
                for name, value in arguments.items()
            }
            content = pickle.dumps(function(**here), protocol=pickle.HIGHEST_PROTOCOL)
    except Cancelled:
        problem = GIVEN_UP
    except Exception as error:  # whatever a file or a data set does: said in words
        traceback.print_exc()
        worded = isinstance(error, (ValueError, OSError)) or type(error).__module__.startswith("dpviz.")
        problem = str(error) if worded else f"{type(error).__name__}: {error}"
    give_back()
    return TaskResult(content, problem)
