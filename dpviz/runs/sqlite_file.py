"""Connections to one SQLite file from many threads, and its faults in words."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpviz.runs.store import StoreError

SCHEMA_VERSION = 1

SCHEMA = """
CREATE TABLE IF NOT EXISTS owners (
    id TEXT PRIMARY KEY, process TEXT NOT NULL, heartbeat REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, note TEXT NOT NULL,
    target TEXT NOT NULL, settings TEXT NOT NULL, options TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
    created REAL NOT NULL, started REAL, ended REAL, attempt INTEGER NOT NULL, steps INTEGER NOT NULL,
    wish TEXT NOT NULL, granted INTEGER NOT NULL, baseline INTEGER NOT NULL, deleted REAL, imported INTEGER NOT NULL,
    owner TEXT NOT NULL, host TEXT, summary TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS runs_by_state ON runs (state);
CREATE TABLE IF NOT EXISTS attempts (
    run TEXT NOT NULL, attempt INTEGER NOT NULL, execution TEXT NOT NULL, worker TEXT NOT NULL, started REAL NOT NULL,
    ended REAL, outcome TEXT NOT NULL, PRIMARY KEY (run, attempt), UNIQUE (run, execution)
);
CREATE TABLE IF NOT EXISTS events (
    run TEXT NOT NULL, attempt INTEGER NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, step INTEGER NOT NULL,
    time REAL NOT NULL, data TEXT NOT NULL, PRIMARY KEY (run, attempt, seq)
) WITHOUT ROWID;
"""


class SqliteFile:
    """A pool of connections to one file: WAL, so that readers and a writer do not wait for each other.

    Attributes:
        path: The file.
        queries: Statements run so far through this object.
        rows_read: Rows fetched so far through `SqliteFile.fetch`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queries = 0
        self.rows_read = 0
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"Cannot make the folder {path.parent} for runs ({error.strerror}). "
                "Set DPVIZ_HOME to a folder that can be written."
            ) from error
        with self.connection(write=True) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, SCHEMA_VERSION):
                raise StoreError(
                    f"{path} was written by another version (format {version}, here {SCHEMA_VERSION}). "
                    "Set DPVIZ_HOME to another folder."
                )
            if version == 0:
                for statement in SCHEMA.split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")

    def fault(self, error: sqlite3.Error) -> StoreError:
        """The same in words that name the place and the way out."""
        text = str(error)
        if "full" in text:
            advice = "the disk is full: free some space; what was stored is kept"
        elif "readonly" in text or "unable to open" in text:
            advice = "it cannot be written: set DPVIZ_HOME to a folder that can"
        elif "not a database" in text or "malformed" in text:
            advice = "it is no store of runs, or damaged: move it away, or set DPVIZ_HOME to another folder"
        elif "locked" in text:
            advice = "another program holds it for too long: end that program"
        else:
            advice = "set DPVIZ_HOME to another folder if it lasts"
        return StoreError(f"Runs cannot be kept in {self.path}: {advice} (SQLite: {text}).")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            for attempt in range(20):
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    # Two processes that make the file at the same time: this statement does not wait for the other.
                    if "locked" not in str(error) or attempt == 19:
                        raise
                    time.sleep(0.05)
            connection.execute("PRAGMA synchronous = NORMAL")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def connection(self, *, write: bool = False) -> Iterator[sqlite3.Connection]:
        """One connection for this thread alone; with `write` inside one transaction, undone if anything fails."""
        with self._lock:
            if self._closed:
                raise StoreError(f"The store {self.path} was closed.")
            connection = self._idle.pop() if self._idle else None
        try:
            if connection is None:
                connection = self._open()
            if write:
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            if write:
                connection.execute("COMMIT")
        except BaseException as error:
            if connection is not None and connection.in_transaction:
                connection.rollback()
            if isinstance(error, sqlite3.Error):
                if connection is not None:
                    connection.close()
                    connection = None
                raise self.fault(error) from error
            raise
        finally:
            if connection is not None:
                self._give_back(connection)

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            keep = not self._closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def fetch(self, statement: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        """All rows of one reading statement; nothing stays open behind it."""
        with self.connection() as connection:
            rows: list[tuple[object, ...]] = connection.execute(statement, values).fetchall()
        with self._lock:
            self.queries += 1
            self.rows_read += len(rows)
        return rows

    def close(self) -> None:
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
