"""A run that a program computes itself: its record in the store, its costs recorded ahead, and what pages ask of it."""

from __future__ import annotations

import math
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dpviz.runs.processes import this_process
from dpviz.runs.store.records import CHARGED_KIND, Delivery, EventRow, StoreError
from dpviz.runs.work import PATIENCE, AskedControl, Sender

if TYPE_CHECKING:
    from dpviz.runs.store.store import Store

TELLS = 0.2  # seconds between two events about steps
SHARE = 0.01  # of the steps' time, for recording ahead what they cost


class ProgramRun:
    """One run in the store, whose steps this program takes.

    Attributes:
        id: Of the run.
        charged: The last step that the store has the cost of.

    Args:
        store: Where it is recorded.
        target: Who takes the steps, as "module:name".
        settings: JSON values.
        name: For people.

    Raises:
        StoreError: if the store cannot be written.
    """

    def __init__(self, store: Store, *, target: str, settings: dict[str, Any], name: str) -> None:
        self._store = store
        process, owner = this_process(), uuid.uuid4().hex
        self._store.heartbeat(owner, process)
        self.id = self._store.create(target=target, settings=settings, options={}, name=name).id
        self._store.begin(self.id, owner)
        execution, begun, described = uuid.uuid4().hex, time.time(), process.to_json()

        def send(rows: list[EventRow]) -> None:
            if self._store.record([Delivery(self.id, execution, described, tuple(rows), begun)]) != [True]:
                raise self._removed()

        send([])
        self._sender = Sender(send, patience=PATIENCE)
        self._control = AskedControl(self._asked, self._sender.emit, self._sender.flush)
        self._began = self._charged_at = time.monotonic()
        self.charged, self._ahead, self._cost = 0, 1, 0.0  # by so many steps ahead; seconds that the last one took

    def _asked(self) -> tuple[str, int]:
        try:
            record = self._store.run(self.id)
        except KeyError:
            raise self._removed() from None
        return record.desired, record.granted

    def _removed(self) -> StoreError:
        return StoreError(f"The run {self.id!r} is no longer in {self._store.place}: it was removed.")

    @property
    def seconds(self) -> float:
        """Since it began."""
        return time.monotonic() - self._began

    def emit(self, kind: str, step: int, **content: Any) -> None:
        self._sender.emit({"kind": kind, "step": step, "time": self.seconds, **content})

    def asked(self) -> str:
        """What a page wants of it now: "go", "step", "pause" or "stop"."""
        return self._control.poll()

    def check(self) -> None:
        """Raise NotRecorded if nothing could be recorded for a while."""
        self._sender.check()

    def charge(self, done: int, most: int, mechanisms: Callable[[int], list[list[Any]]]) -> None:
        """Record what the coming step costs, and as many more as make writing cheap; the store has it on return.

        Args:
            done: Steps taken.
            most: The last step that may be charged ahead.
            mechanisms: All that steps up to one cost, as `training.samplers.stored` writes it.

        Raises:
            NotRecorded: if the store has it not.
        """
        now = time.monotonic()
        if done:
            cheap = self._ahead * self._cost / (SHARE * (now - self._charged_at)) if now > self._charged_at else 1.0
            self._ahead = max(1, min(math.ceil(cheap), 2 * self._ahead))
        through = min(done + self._ahead, most)
        self.emit(CHARGED_KIND, done, through=through, mechanisms=mechanisms(through))
        self.charged, self._charged_at = through, time.monotonic()
        self._cost = self._charged_at - now

    def close(self, step: int, summary: Mapping[str, Any]) -> None:
        """The last event; warns where that cannot be recorded, unless the run failed, which raises already.

        Args:
            step: The last step that was taken.
            summary: As in `training.events`, with "state" and "text".
        """
        state = str(summary["state"])
        self.emit(state, step, **summary)
        try:
            self._sender.insist()
        except StoreError as error:
            if state != "failed":
                text = f"The end of this run could not be recorded: it claims all charged steps. {error}"
                warnings.warn(text, stacklevel=5)
        with suppress(StoreError):  # as long as this program runs its thread goes on trying
            self._sender.close()
