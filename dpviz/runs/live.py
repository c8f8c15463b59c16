"""Running runs read once for everybody: what twenty sessions watch costs what one does."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Hashable
from typing import NamedTuple

from dpviz.runs.store.interface import Store
from dpviz.runs.store.records import RunRecord
from dpviz.runs.store.tables import RunView, Tables

# Runs whose arrays are kept in memory at once.
MOST_READERS = 24


class _Shown(NamedTuple):
    """A view, when it was read, and how many changes of its record had been told before."""

    view: RunView
    read_at: float
    changes: int


class _Reader:
    """One run as far as it was read. Whoever comes while another reads on sees what was read before."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._run = store, run
        self._reading = threading.Lock()
        self._attempt, self._seq = -1, -1
        self._tables = Tables()
        self._shown: _Shown | None = None
        self._changes = 0

    def look(self, max_age: float) -> RunView:
        shown = self._shown
        current = shown is not None and shown.changes == self._changes
        if shown is not None and current and time.monotonic() - shown.read_at <= max_age:
            return shown.view
        # A change that was told shows at once, so it is waited for.
        if not self._reading.acquire(blocking=not current) and shown is not None:
            return shown.view
        try:
            shown = self._shown
            if shown is None or shown.changes != self._changes or time.monotonic() - shown.read_at > max_age:
                shown = self._shown = self._read()
            return shown.view
        finally:
            self._reading.release()

    def _read(self) -> _Shown:
        changes = self._changes
        # Before the events: a record that says "done" then has all its events after it.
        record = self._store.run(self._run)
        news = self._store.events_since(self._run, self._seq, self._attempt)
        if news.attempt != self._attempt:
            self._tables = Tables()
        self._tables.add(news.events)
        self._attempt, self._seq = news.attempt, news.last
        return _Shown(self._tables.view(record), time.monotonic(), changes)

    def told(self, record: RunRecord) -> None:
        shown = self._shown
        if shown is None or _known(record) != _known(shown.view.record):
            # Two threads may count one change: both were in the store before, so whoever reads next has read both.
            self._changes += 1


def _known(record: RunRecord) -> tuple[Hashable, ...]:
    return record.attempt, record.state, record.desired, record.reason


class Live:
    """Shared views of runs; their events are read at most every `max_age` seconds however many look.

    What somebody just clicked must not show late: who knows of a change tells (`told`), and the next look reads anew.

    Safe to use from many threads. The views' arrays do not change once handed out.
    """

    def __init__(self, store: Store, *, max_age: float = 0.2) -> None:
        self.max_age = max_age
        self._store = store
        self._lock = threading.Lock()
        self._readers: OrderedDict[str, _Reader] = OrderedDict()

    def look(self, run: str) -> RunView:
        """The run as it was at most `max_age` seconds ago. KeyError if there is none."""
        with self._lock:
            reader = self._readers.get(run)
            if reader is None:
                reader = self._readers[run] = _Reader(self._store, run)
            self._readers.move_to_end(run)
            while len(self._readers) > MOST_READERS:
                self._readers.popitem(last=False)
        return reader.look(self.max_age)

    def told(self, record: RunRecord) -> None:
        """The run's record as it is now."""
        with self._lock:
            reader = self._readers.get(record.id)
        if reader is not None:
            reader.told(record)
