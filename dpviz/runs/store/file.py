"""Connections to one SQLite file from many threads, and its faults in words; a damaged one is replaced."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from dpviz.runs.store.damage import Damaged, is_damage
from dpviz.runs.store.interface import StoreError
from dpviz.runs.store.permissions import FILE, only_a_file, private_file, private_home, tighten
from dpviz.runs.store.rescue import backup_of, set_aside
from dpviz.runs.store.schema import check_schema, prepare_schema

# What may lie in a folder that is ours alone.
OURS = ("runs", "weights", "logs")

# A larger store is not read through at each start, which takes a second for every 400 MB; damage there shows in use.
CHECKED = 200_000_000

# Seconds without a write after which what was written is backed up.
QUIET = 120.0


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
        self._last_write = 0.0
        self._timer: threading.Timer | None = None
        try:
            private_home(path.parent, OURS)
        except OSError as error:
            raise StoreError(
                f"Cannot make the folder {path.parent} for runs ({error.strerror}). "
                "Set DPVIZ_HOME to a folder that can be written."
            ) from error
        for suffix in ("-wal", "-shm"):
            beside = path.with_name(path.name + suffix)
            try:
                only_a_file(beside)
            except OSError as error:
                raise self._not_kept(error) from error
            tighten(beside, FILE)
        tighten(backup_of(path), FILE)
        try:
            if self._emptied():
                raise self.damaged("it is empty, though weights of runs or a backup lie beside it")
            self._check()
        except Damaged:
            self._check()  # of the new one

    def _check(self) -> None:
        with self.connection() as connection:
            if self.path.stat().st_size <= CHECKED:
                # A quick check does not see a key that was changed, behind which rows are silently missing.
                found = connection.execute("PRAGMA integrity_check(1)").fetchone()
                if found != ("ok",):
                    raise sqlite3.DatabaseError(f"malformed: {found[0] if found else 'nothing to be read'}")
            check_schema(connection)

    def _emptied(self) -> bool:
        """Whether the file holds nothing, beside weights or a backup. A process that is making it is waited for."""
        for _ in range(20):
            if not self.path.is_file() or self.path.stat().st_size:
                return False
            beside = self.path.parent
            if not backup_of(self.path).is_file() and not any((beside / "weights").glob("*.pt")):
                return False
            time.sleep(0.05)
        return True

    def _not_kept(self, error: OSError) -> StoreError:
        return StoreError(
            f"Runs cannot be kept in {self.path} ({error.strerror}): set DPVIZ_HOME to a folder that can be written."
        )

    def back_up(self) -> None:
        """Copy the file, as it is at one moment, to `backup_of` it; a copy that is not whole replaces none.

        Raises:
            StoreError: if the file cannot be read.
            OSError, sqlite3.Error: if the copy cannot be written.
        """
        partial = self.path.with_name(f"runs-backup-{os.getpid()}-{threading.get_ident()}.sqlite")
        try:
            private_file(partial)
            with self.connection() as db, closing(sqlite3.connect(partial)) as copy:
                db.backup(copy, pages=1_000)
                copy.execute("PRAGMA journal_mode = DELETE")  # all in one file
                if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    return
            partial.replace(backup_of(self.path))
        finally:
            partial.unlink(missing_ok=True)

    def forget_backup(self) -> None:
        """What was removed for good is in no copy either."""
        backup_of(self.path).unlink(missing_ok=True)

    def _written(self) -> None:
        with self._lock:
            self._last_write = time.monotonic()
            self._wait(QUIET)

    def _wait(self, seconds: float) -> None:
        if self._timer is None and not self._closed:
            self._timer = threading.Timer(seconds, self._quiet)
            self._timer.daemon = True
            self._timer.start()

    def _quiet(self) -> None:
        """Back up if nothing was written for a while; else wait on."""
        with self._lock:
            self._timer = None
            left = self._last_write + QUIET - time.monotonic()
            if left > 0:
                self._wait(left)
                return
        with suppress(StoreError, OSError, sqlite3.Error):
            self.back_up()

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
            raise self._not_kept(error) from error
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
    def connection(self, *, write: bool = False, backed_up: bool = True) -> Iterator[sqlite3.Connection]:
        """One connection for this thread alone; with `write` inside one transaction, undone if anything fails.

        What was written is backed up after quiet minutes, unless not `backed_up`.
        """
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
                if backed_up:
                    self._written()
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
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
            with suppress(StoreError, OSError, sqlite3.Error):
                self.back_up()
        with self._lock:
            self._closed = True
        self._drop_idle()
