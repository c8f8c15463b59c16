"""The one thread of an engine that writes events to the store."""

import queue
import threading
import time
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from dpviz.runs.reconcile import give_up, why_gone
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import ACTIVE, Delivery, EventRow, StoreError
from dpviz.runs.store.store import Store

# Seconds between tries while the store cannot be written, and after how long the runs are held.
RETRY = 1.0
PATIENCE = 3.0
V = TypeVar("V")
DIED_TWICE = "its worker process ended twice (out of memory, or killed)"
HELD = "Runs wait until they can be recorded and then continue."


def read_batch(text: str) -> Delivery:
    """The batch that a worker sent."""
    sent: dict[str, Any] = jsontext.read(text)
    return Delivery(**sent | {"rows": tuple(EventRow(*row) for row in sent["rows"])})


class EndedFuture(NamedTuple):
    """A Dask future that will not change any more."""

    run: str
    future: Any


class Collector:
    """Takes batches and ended futures from Dask's threads; one transaction holds all that has gathered.

    While the store cannot be written nothing is thrown away: it is kept in memory and tried again every second.

    Args:
        store: Where events go.
        on_batch: Told of each batch once it is stored; not of one that found no place.
        on_end: Told the id of each run whose future is dealt with.
        on_trouble: Told why if the store could not be written for `PATIENCE` seconds, and "" once it can be again.

    Attributes:
        trouble: Why the store cannot be written now; "" if it can.
    """

    def __init__(
        self,
        store: Store,
        *,
        on_batch: Callable[[Delivery], None],
        on_end: Callable[[str], None],
        on_trouble: Callable[[str], None],
    ) -> None:
        self.trouble = ""
        self._store = store
        self._on_batch, self._on_end, self._on_trouble = on_batch, on_end, on_trouble
        self._incoming: queue.SimpleQueue[str | EndedFuture | None] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dpviz-collector", daemon=True)
        self._thread.start()

    def put(self, item: str | EndedFuture) -> None:
        """A batch as text, or an ended future; returns at once."""
        self._incoming.put(item)

    def close(self, limit: float = 5.0) -> None:
        """Write what has come, then end."""
        self._closing.set()
        self._incoming.put(None)
        self._thread.join(limit)

    def _run(self) -> None:
        over = False
        while not over:
            items = [self._incoming.get()]
            while not self._incoming.empty():
                items.append(self._incoming.get())
            over = None in items
            batches = [read_batch(item) for item in items if isinstance(item, str)]
            for batch in self._record(batches):
                self._on_batch(batch)
            for item in items:
                if isinstance(item, EndedFuture):
                    self._finish(item)

    def _record(self, batches: list[Delivery]) -> list[Delivery]:
        """Those that the store has now."""
        stored = (self._insist(lambda: self._store.record(batches)) if batches else None) or []
        return [batch for batch, there in zip(batches, stored, strict=False) if there]

    def _insist(self, write: Callable[[], V]) -> V | None:
        """Write until it succeeds; once we are to end, only as long as it takes to see that it does not: then None."""
        since, held = time.monotonic(), False
        while True:
            try:
                written = write()
            except StoreError as error:
                self.trouble = f"{error} {HELD}" if held else str(error)
                if self._closing.is_set():
                    return None
                if not held and time.monotonic() - since > PATIENCE:
                    held = True
                    self._on_trouble(str(error))
                self._closing.wait(RETRY)
            else:
                self.trouble = ""
                if held:
                    self._on_trouble("")
                return written

    def _finish(self, ended: EndedFuture) -> None:
        """Fill gaps from the history that came with the result, and let go of the result."""
        try:
            status = ended.future.status
            if status == "finished":
                history = ended.future.result(timeout=30)
                self._record([read_batch(zlib.decompress(history).decode())])
            elif status == "error":
                error = ended.future.exception(timeout=10)
                killed = type(error).__name__ == "KilledWorker"
                why = DIED_TWICE if killed else f"{type(error).__name__}: {error}"
                self._insist(lambda: self._store.change_state(ended.run, "failed", why, only=ACTIVE))
            elif status in ("cancelled", "lost"):  # with the connection; a hard stop has set its state already
                self._insist(lambda: give_up(self._store, ended.run, why_gone(self._store, ended.run)))
        except StoreError as error:
            self.trouble = str(error)
        except Exception as error:  # the host went while the result was on its way: the scheduler says what that means
            self.trouble = f"The result of a run did not arrive: {error!r}"
        finally:
            ended.future.release()
            self._on_end(ended.run)
