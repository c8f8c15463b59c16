"""Connections to one SQLite file from many threads, its tables and its errors in words. A damaged file is replaced."""

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from dpviz.runs.store.folders import FILE, only_a_file, private_file, private_home, tighten
from dpviz.runs.store.records import StoreError
from dpviz.runs.words import words

# What may lie in a folder that is ours alone.
OURS = ("runs", "weights", "logs")

# A larger store is not read through at each start, which takes a second for every 400 MB; damage there shows in use.
CHECKED = 200_000_000

# Seconds without a write after which what was written is backed up.
QUIET = 120.0

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()
TABLES = ("owners", "runs", "attempts", "events")
SCHEMA_VERSION = 3
_LAST_FORMAT = 30  # a larger number was never written by any version: it is damaged

# Each connection keeps checksums, by `crc`: of a run's row, and of all events of an attempt together.
_RUN = ("id", "settings", "options", "state", "attempt", "steps", "summary")
_EVENT = ("seq", "kind", "step", "data")
OF_RUN = f"crc({', '.join(_RUN)})"
OF_EVENT = f"crc({', '.join(_EVENT)})"
OF_ATTEMPT = (
    f"SELECT COALESCE(SUM({OF_EVENT}), 0) FROM events WHERE run = attempts.run AND events.attempt = attempts.attempt"
)
_KEPT = f"UPDATE runs SET checksum = {OF_RUN} WHERE number = NEW.number"
_ADDED = f"checksum + crc({', '.join(f'NEW.{name}' for name in _EVENT)}) WHERE run = NEW.run AND attempt = NEW.attempt"
_TRIGGERS = {
    "INSERT ON main.runs": _KEPT,
    "UPDATE ON main.runs": _KEPT,
    "INSERT ON main.events": f"UPDATE attempts SET checksum = {_ADDED}",
}
# Runs that are not as they were written: changed, or with attempts or events missing, changed or too many.
CHANGED = (
    f"SELECT id FROM runs WHERE checksum != {OF_RUN} OR "
    "attempt != (SELECT COUNT(*) FROM attempts WHERE run = runs.id) "
    f"UNION ALL SELECT run FROM attempts WHERE checksum != ({OF_ATTEMPT}) LIMIT 1"
)

# Beginning of our own words for what SQLite does not notice; SQLite's for a file that is spoilt, not only in trouble
# as by a full disk or a lock.
DAMAGE = "malformed: "
_DAMAGE_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DAMAGE_WORDS = (
    "malformed",
    "not a database",
    "unsupported file format",
    "no such table",
    "no such column",
    "has no column",
    "decode to UTF-8",
    "user-defined function",
)
_ADVICE = {
    "full": "the disk is full: free some space; what was stored is kept",
    "readonly": "it cannot be written: set DPVIZ_HOME to a folder that can",
    "unable to open": "it cannot be written: set DPVIZ_HOME to a folder that can",
    "locked": "another program holds it for too long: end that program",
    "": "set DPVIZ_HOME to another folder if it lasts",
}


class Damaged(StoreError):
    """The file was damaged and has been set aside; the request can be repeated."""


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether the file itself is damaged. SQLite's message may quote a schema that is no longer text."""
    code = getattr(error, "sqlite_errorcode", 0)
    # The low byte is the kind; a short read is what a file gives that was cut off.
    if isinstance(error, UnicodeDecodeError) or code & 0xFF in _DAMAGE_CODES:
        return True
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or any(word in str(error) for word in _DAMAGE_WORDS)


def columns(db: sqlite3.Connection) -> dict[str, set[str]]:
    """The columns of each of our tables; empty for a missing table."""
    return {table: {str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")} for table in TABLES}


@cache
def wanted_columns() -> dict[str, set[str]]:
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(SCHEMA)
        return columns(db)


def crc(*values: object) -> int:
    """The checksum of some columns of one row."""
    return zlib.crc32(repr(values).encode())


def checksum_of_run(row: Mapping[str, Any]) -> int:
    return crc(*map(row.get, _RUN))


def checksum_of_events(rows: Iterable[Mapping[str, Any]]) -> int:
    return sum(crc(*map(row.get, _EVENT)) for row in rows)


def prepare_schema(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables in a new file, or convert an earlier format, and maintain checksums from now on.

    Raises:
        StoreError: if a later version wrote it.
        sqlite3.DatabaseError: if it is a database of something else.
    """
    db.create_function("crc", -1, crc, deterministic=True)
    if _version(db) != SCHEMA_VERSION:
        with db:
            db.execute("BEGIN IMMEDIATE")
            _upgrade(db, path)
    for number, (moment, change) in enumerate(_TRIGGERS.items()):
        db.execute(f"CREATE TEMP TRIGGER checksum_{number} AFTER {moment} BEGIN {change}; END")


def _upgrade(db: sqlite3.Connection, path: Path) -> None:
    version = _version(db)  # another process may have been quicker
    if not 0 <= version <= _LAST_FORMAT and columns(db) == wanted_columns():
        raise sqlite3.DatabaseError(f"{DAMAGE}there is no format {version}")
    if version > SCHEMA_VERSION:
        raise StoreError(words("store", "later_version", path=path, version=version, here=SCHEMA_VERSION))
    if version == 0 and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
        raise sqlite3.DatabaseError(f"{DAMAGE}its tables are not those of dpviz")
    for statement in SCHEMA.split(";"):
        db.execute(statement)
    if 0 < version < SCHEMA_VERSION:
        check_pages(db)  # what is damaged gets no checksum
        for addition in ("runs ADD COLUMN anchor TEXT", "runs ADD COLUMN checksum", "attempts ADD COLUMN checksum"):
            with suppress(sqlite3.OperationalError):  # it is there
                db.execute(f"ALTER TABLE {addition} NOT NULL DEFAULT {0 if 'checksum' in addition else repr('')}")
        db.execute(f"UPDATE attempts SET checksum = ({OF_ATTEMPT})")
        db.execute(f"UPDATE runs SET checksum = {OF_RUN}")
    db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_pages(db: sqlite3.Connection) -> None:
    """DatabaseError if SQLite's full check fails. The quick check misses a changed key, which hides rows."""
    verdict = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != ("ok",):
        raise sqlite3.DatabaseError(f"{DAMAGE}{verdict[0] if verdict else 'it cannot be read'}")


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any], *, ignore: bool = False) -> None:
    """Add a row; with `ignore` only if there is none with its key."""
    statement = f"INSERT {'OR IGNORE ' * ignore}INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    db.execute(statement, tuple(row.values()))


def backup_of(path: Path) -> Path:
    """The path of the newest backup of the store."""
    return path.with_name("runs-backup.sqlite")


class SqliteFile:
    """A pool of connections to one file: WAL, so that readers and a writer do not wait for each other.

    Only its owner may read it. A file that is damaged, or no store of runs, is set aside under a dated name, and a new
    one begun with what could be read of it, by whichever process finds out first.

    Args:
        path: The file.
        set_aside: Replaces the file, told why; words about it, "" where another process has just done it.
    """

    def __init__(self, path: Path, set_aside: Callable[[Path, str], str]) -> None:
        self.path = path
        self._set_aside = set_aside
        self._idle: list[sqlite3.Connection] = []
        self._pooled = 0  # which file these are connections to
        self._lock = threading.Lock()
        self._closed = False
        self._backup: threading.Timer | None = None
        try:
            private_home(path.parent, OURS)
            for suffix in ("-wal", "-shm"):
                beside = path.with_name(path.name + suffix)
                only_a_file(beside)
                tighten(beside, FILE)
        except OSError as error:
            raise self._not_kept(error) from error
        tighten(backup_of(path), FILE)
        try:
            if path.is_file() and not path.stat().st_size and self._was_used():
                raise self.damaged("it is empty, although weights of runs or a backup are in the same folder")
            self._check()
        except Damaged:
            self._check()  # of the new one

    def _check(self) -> None:
        with self.connection() as db:
            if columns(db) != wanted_columns():
                raise sqlite3.DatabaseError(f"{DAMAGE}its tables lack columns")
            if self.path.stat().st_size <= CHECKED:
                check_pages(db)
                if run := db.execute(CHANGED).fetchone():
                    raise sqlite3.DatabaseError(f"{DAMAGE}run {run[0]} is not as it was written")

    def _was_used(self) -> bool:
        return backup_of(self.path).is_file() or any((self.path.parent / "weights").glob("*.pt"))

    def _not_kept(self, error: OSError) -> StoreError:
        return StoreError(words("store", "not_kept", path=self.path, error=error))

    def back_up(self) -> None:
        """Copy the file, as it is at one moment, to its `backup_of`. An incomplete copy replaces nothing.

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

    def _back_up_if_possible(self) -> None:
        with suppress(StoreError, OSError, sqlite3.Error):
            self.back_up()

    def _back_up_when_quiet(self) -> None:
        """Make a backup when nothing has been written for a while."""
        with self._lock:
            if self._backup is not None:
                self._backup.cancel()
            self._backup = threading.Timer(QUIET, self._back_up_if_possible)
            self._backup.daemon = True
            self._backup.start()

    def damaged(self, why: str) -> Damaged:
        """The file cannot be read: set it aside and say so. The request can be repeated with the new file."""
        self._drop_idle()
        try:
            notice = self._set_aside(self.path, why)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(words("store", "not_set_aside", path=self.path, why=why, error=error)) from error
        return Damaged(notice or f"The runs in {self.path} were damaged; a new store was created. Load the page again.")

    def _inode(self) -> int:
        """The inode of the file at the path; 0 if there is none."""
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _open(self) -> sqlite3.Connection:
        try:
            private_file(self.path)
        except OSError as error:
            raise self._not_kept(error) from error
        db = sqlite3.connect(self.path, timeout=10.0, isolation_level=None, check_same_thread=False)
        try:
            # Freed pages go back to the disk, and what was deleted is overwritten.
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
            db.execute("PRAGMA secure_delete = ON")
            for attempt in range(20):
                try:
                    db.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    # Two processes that make the file at the same time: this statement does not wait for the other.
                    if "locked" not in str(error) or attempt == 19:
                        raise
                    time.sleep(0.05)
            # What is read was on the disk before: a lost power supply takes back no charge that somebody saw.
            db.execute("PRAGMA synchronous = FULL")
            prepare_schema(db, self.path)
        except BaseException:
            db.close()
            raise
        return db

    @contextmanager
    def connection(self, *, write: bool = False, backed_up: bool = True) -> Iterator[sqlite3.Connection]:
        """One connection for this thread alone; with `write` inside one transaction, undone if anything fails.

        What was written is backed up after quiet minutes, unless not `backed_up`.
        """
        inode = self._inode()
        db = self._idle_connection(inode)
        try:
            if db is None:
                db = self._open()
                inode = self._inode()
            with db:
                if write:
                    db.execute("BEGIN IMMEDIATE")
                yield db
            if write and backed_up:
                self._back_up_when_quiet()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if db is not None:
                db.close()
                db = None
            if is_damage(error):
                raise self.damaged(str(error)) from error
            advice = next(advice for word, advice in _ADVICE.items() if word in str(error))
            raise StoreError(f"Runs cannot be kept in {self.path}: {advice} (SQLite: {error}).") from error
        finally:
            if db is not None:
                self._give_back(db, inode)

    def _idle_connection(self, inode: int) -> sqlite3.Connection | None:
        """A connection to the current file; connections to a replaced file are closed."""
        if inode != self._pooled:
            self._drop_idle()
        with self._lock:
            if self._closed:
                raise StoreError(f"The store {self.path} was closed.")
            self._pooled = inode
            return self._idle.pop() if self._idle else None

    def _give_back(self, db: sqlite3.Connection, inode: int) -> None:
        with self._lock:
            if inode == self._pooled and not self._closed:
                return self._idle.append(db)
        db.close()

    def _drop_idle(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for db in idle:
            db.close()

    def fetch(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of one SELECT statement; no cursor stays open."""
        with self.connection() as db:
            return db.execute(statement, values).fetchall()

    def close(self) -> None:
        """Back up what was written, and close the file."""
        with self._lock:
            backup, self._backup = self._backup, None
        if backup is not None:
            backup.cancel()
            self._back_up_if_possible()
        self._closed = True
        self._drop_idle()
