"""Events of a run that is not in a store yet, outside the memory of the process: in a file of SQLite's without a name.

While they are worked out nobody waits for the store, to which they are then copied in one short transaction.
"""

import sqlite3
from collections.abc import Iterable
from itertools import groupby

from dpviz.runs.store import events
from dpviz.runs.store.file import SCHEMA
from dpviz.runs.store.records import Event


class Spool:
    """Events of one run, by attempt. To be closed."""

    def __init__(self) -> None:
        self._db = sqlite3.connect("", isolation_level=None)  # it is gone when this process is
        self._db.executescript(SCHEMA)

    def add(self, content: Iterable[Event]) -> None:
        """Add the events of whole attempts, in order."""
        for attempt, mine in groupby(content, lambda event: event.attempt):
            events.add_all(self._db, "", attempt, mine)

    def copy_to(self, db: sqlite3.Connection, run: str) -> None:
        """Add all of them to the run in a store, to which `db` leads."""
        for table in ("blocks", "events"):
            for _, *row in self._db.execute(f"SELECT * FROM {table}"):
                db.execute(f"INSERT INTO {table} VALUES (?{', ?' * len(row)})", (run, *row))

    def close(self) -> None:
        self._db.close()
