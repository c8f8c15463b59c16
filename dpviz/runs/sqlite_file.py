"""Connections to one SQLite file from many threads, and its faults in words; a damaged one is replaced."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dpviz.runs.private import FILE, private_file, private_home, tighten
from dpviz.runs.sqlite_rescue import set_aside
from dpviz.runs.sqlite_schema import check_schema, prepare_schema
from dpviz.runs.sqlite_whole import Damaged, is_damage
from dpviz.runs.store import StoreError

# What may lie in a folder that is ours alone.
OURS = ("runs", "weights", "logs")

# A larger store is not read through at each start, which takes a second for every 400 MB; damage there shows in use.
CHECKED = 200_000_000


class SqliteFile:
    """A pool of connections to one file: WAL, so that readers and a writer do not wait for each other.

    Only its owner may read it. A file that is damaged, or no store of runs, is set aside under a dated name, and a new
    one begun with what could be read of it, by whichever process finds out first.

    Attributes:
        path: The file.
        queries: Statements run so far through this object.
        rows_read: Rows fetched so far through `SqliteFile.fetch`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.queries = 0
        self.rows_read = 0
        self._idle: list[tuple[int, sqlite3.Connection]] = []
        self._lock = threading.Lock()
        self._closed = False
        try:
            private_home(path.parent, OURS)
        except OSError as error:
            raise StoreError(
                f"Cannot make the folder {path.parent} for runs ({error.strerror}). "
                "Set DPVIZ_HOME to a folder that can be written."
            ) from error
        for suffix in ("-wal", "-shm"):
            tighten(path.with_name(path.name + suffix), FILE)
        try:
            self._check()
        except Damaged:
            self._check()  # of the new one

    def _check(self) -> None:
        with self.connection() as connection:
            if self.path.stat().st_size <= CHECKED:
                found = connection.execute("PRAGMA quick_check(1)").fetchone()
                if found != ("ok",):
                    raise sqlite3.DatabaseError(f"malformed: {found[0] if found else 'nothing to be read'}")
            check_schema(connection)

    def fault(self, error: sqlite3.Error) -> StoreError:
        """The same in words that name the place and the way out."""
        text = str(error)
        if "full" in text:
            advice = "the disk is full: free some space; what was stored is kept"
        elif "readonly" in text or "unable to open" in text:
            advice = "it cannot be written: set DPVIZ_HOME to a folder that can"
        elif "locked" in text:
            advice = "another program holds it for too long: end that program"
        else:
            advice = "set DPVIZ_HOME to another folder if it lasts"
        return StoreError(f"Runs cannot be kept in {self.path}: {advice} (SQLite: {text}).")

    def damaged(self, why: str) -> Damaged:
        """The file cannot be read: set it aside, and say so. What was asked can be asked again, of a new file."""
        self._drop_idle()
        try:
            notice = set_aside(self.path, why)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(
                f"The runs in {self.path} are damaged ({why}), and it cannot be set aside ({error}): "
                "move it away, or set DPVIZ_HOME to another folder."
            ) from error
        return Damaged(notice or f"The runs in {self.path} were damaged and are begun anew: look again.")

    def _inode(self) -> int:
        """Which file stands at the path; 0 if none does."""
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _open(self) -> sqlite3.Connection:
        try:
            private_file(self.path)
        except OSError as error:
            raise StoreError(
                f"Runs cannot be kept in {self.path} ({error.strerror}): "
                "set DPVIZ_HOME to a folder that can be written."
            ) from error
        connection = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            # Freed pages go back to the disk, and what was deleted is overwritten.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA secure_delete = ON")
            for attempt in range(20):
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    # Two processes that make the file at the same time: this statement does not wait for the other.
                    if "locked" not in str(error) or attempt == 19:
                        raise
                    time.sleep(0.05)
            # What is read was on the disk before: a lost power supply takes back no charge that somebody saw.
            connection.execute("PRAGMA synchronous = FULL")
            prepare_schema(connection, self.path)
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
        connection, inode = None, self._inode()
        try:
            connection = self._taken(inode)
            if connection is None:
                connection = self._open()
                inode = self._inode()
            if write:
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            if write:
                connection.execute("COMMIT")
        except BaseException as error:
            if connection is not None and connection.in_transaction:
                connection.rollback()
            if isinstance(error, (sqlite3.Error, UnicodeDecodeError)):
                if connection is not None:
                    connection.close()
                    connection = None
                # SQLite's message may quote a schema that is no text any more.
                if isinstance(error, UnicodeDecodeError) or is_damage(error):
                    raise self.damaged(str(error)) from error
                raise self.fault(error) from error
            raise
        finally:
            if connection is not None:
                self._give_back(connection, inode)

    def _taken(self, inode: int) -> sqlite3.Connection | None:
        """An idle connection to the file that stands there now; those to one that was replaced are closed."""
        with self._lock:
            stale = [held for of, held in self._idle if of != inode]
            self._idle = [(of, held) for of, held in self._idle if of == inode]
            found = self._idle.pop()[1] if self._idle else None
        for held in stale:
            held.close()
        return found

    def _give_back(self, connection: sqlite3.Connection, inode: int) -> None:
        with self._lock:
            keep = not self._closed
            if keep:
                self._idle.append((inode, connection))
        if not keep:
            connection.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for _, connection in idle:
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
        self._drop_idle()
