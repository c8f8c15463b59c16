"""Measurements on networks and data, made by workers, so that the app itself never loads PyTorch.

A measurement is asked for by value: whoever asks for the same gets the same one, under way or done. It goes on as long
as somebody looks at it, and is given up soon after nobody does, or with the app. Each is a task of the cluster that
trains (`measuring.task`), before the runs that wait there: while runs keep all workers busy, it waits for one.
"""

import pickle
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dpviz.runs.cluster.connection import Connection
from dpviz.runs.measuring.task import PREFIX, TOPIC, SentFile, TaskResult, measure

CLOSED = "the app is about to end."
GONE = "the workers have gone, and the measurement with them."
DIED = "the workers that measured ended, one after the other (out of memory, or killed); their log may say more."

# Seconds without a look after which a measurement is given up.
FORGOTTEN = 3.0

# Bytes of results that are kept, as sent.
MOST_KEPT = 64_000_000

# Dask's order among what waits: runs have 0, and what is greater goes first.
PRIORITY = 1

# Seconds that the way of a result may take.
FETCHING = 5.0


@dataclass(frozen=True)
class Request:
    """What is to be measured.

    Attributes:
        key: Stands for the result: the same key, the same measurement.
        target: "module:function", called by a worker with the arguments; its result comes back pickled.
        arguments: JSON values, and files of the app's as `Path`, whose content is sent to workers elsewhere.
    """

    key: Hashable
    target: str = field(compare=False)
    arguments: Mapping[str, Any] = field(compare=False)


@dataclass(eq=False)
class Measurement:
    """One that was asked for.

    Attributes:
        task: Key of its task.
        future: Dask's, which keeps the task alive; None before it is sent.
        result: What the target returned; None before the end.
        problem: Why there is none, in words; "" if nothing is wrong.
        doing, since: What is being done now, in words, and from when on.
        share: How much of that is done, in [0, 1]; None where that is not known.
        heard: Whether a worker has said something of it.
        seen: When somebody looked last, on the monotonic clock.
        size: Bytes of the result, as sent.
    """

    asked: Request
    task: str = field(default_factory=lambda: PREFIX + uuid.uuid4().hex)
    future: Any = None
    result: Any = None
    problem: str = ""
    doing: str = "Measuring begins"
    since: float = field(default_factory=time.monotonic)
    share: float | None = None
    heard: bool = False
    seen: float = field(default_factory=time.monotonic)
    size: int = 0

    def tell(self, doing: str, share: float | None) -> None:
        if share is not None or doing.partition(":")[0] != self.doing.partition(":")[0]:
            self.since = time.monotonic()
        self.doing, self.share, self.heard = doing, share, True

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


def _sendable(value: Any, connection: Connection) -> Any:
    if not isinstance(value, Path):
        return value
    return str(value) if connection.local else SentFile(value.name, value.read_bytes())


class Measurements:
    """All measurements of an engine, by key.

    Args:
        wake: Called when there is something for `update` to do.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._by_key: OrderedDict[Hashable, Measurement] = OrderedDict()
        self._lock = threading.RLock()
        self._heard: Any = None  # the client whose workers are listened to

    # From any thread

    def find(self, key: Hashable) -> Measurement | None:
        """The measurement if it was asked for, under way or over."""
        with self._lock:
            return self._by_key.get(key)

    def ask(self, asked: Request) -> Measurement:
        """The measurement, begun unless it is there; to be looked at again within `FORGOTTEN` seconds."""
        with self._lock:
            measurement = self._by_key.setdefault(asked.key, Measurement(asked))
            self._by_key.move_to_end(asked.key)
            measurement.look()
        if not measurement.over:
            self._wake()
        return measurement

    def forget(self, key: Hashable) -> None:
        """Let a failed one be tried again."""
        with self._lock:
            if key in self._by_key and self._by_key[key].problem:
                del self._by_key[key]

    def close(self) -> None:
        """Nothing is measured any more."""
        for measurement in self._open():
            measurement.problem = CLOSED
            measurement.future = None

    # From the thread that owns the connection

    @property
    def wanted(self) -> bool:
        """Whether any is to be sent or under way; those that nobody waits for are given up."""
        for measurement in self._open():
            if measurement.forgotten:
                self._give_up(measurement)
        return bool(self._open())

    def update(self, connection: Connection) -> None:
        """Send what was asked for, and take what has come."""
        for measurement in self._open():
            if measurement.future is None:
                if connection.ready and connection.equipped() and not connection.other_code:
                    self._send(measurement, connection)
            elif measurement.future.client is not connection.client:
                measurement.future, measurement.problem = None, GONE
            elif measurement.future.done():
                self._take(measurement)

    def _open(self) -> list[Measurement]:
        with self._lock:
            return [measurement for measurement in self._by_key.values() if not measurement.over]

    def _send(self, measurement: Measurement, connection: Connection) -> None:
        client, asked = connection.client, measurement.asked
        try:
            arguments = {name: _sendable(value, connection) for name, value in asked.arguments.items()}
        except OSError as error:
            measurement.problem = str(error)
            return
        if self._heard is not client:
            client.subscribe_topic(TOPIC, self._hear)
            self._heard = client
        measurement.future = client.submit(
            measure,
            measurement.task,
            asked.target,
            arguments,
            key=measurement.task,
            pure=False,
            priority=PRIORITY,
        )
        measurement.future.add_done_callback(lambda _: self._wake())

    def _hear(self, event: tuple[float, list[Any]]) -> None:
        """Progress of any measurement on the cluster, perhaps another app's."""
        task, doing, share = event[1]
        for measurement in self._open():
            if measurement.task == task:
                measurement.tell(doing, share)

    def _take(self, measurement: Measurement) -> None:
        """What has come of it; left for the next look where it does not arrive in time."""
        try:
            answer: TaskResult = measurement.future.result(timeout=FETCHING)
            measurement.size, measurement.problem = len(answer.content), answer.problem
            if not answer.problem:
                measurement.result = pickle.loads(answer.content)
        except TimeoutError:
            return
        except CancelledError:
            measurement.problem = GONE
        except Exception as error:  # the page says it and stays
            died = type(error).__name__ == "KilledWorker"
            measurement.problem = DIED if died else f"{type(error).__name__}: {error}"
        measurement.future = None
        self._keep_few()

    def _give_up(self, measurement: Measurement) -> None:
        """Let Dask forget it: the worker ends what it is at. Whoever asks from now on starts it anew."""
        with self._lock:
            if self._by_key.get(measurement.asked.key) is measurement:
                del self._by_key[measurement.asked.key]
        future, measurement.future = measurement.future, None
        if future is not None:
            with suppress(Exception):  # with its connection the task goes too
                future.cancel()

    def _keep_few(self) -> None:
        with self._lock:
            total = sum(measurement.size for measurement in self._by_key.values())
            for key in list(self._by_key)[:-1]:
                if total <= MOST_KEPT:
                    return
                if self._by_key[key].over:
                    total -= self._by_key.pop(key).size
