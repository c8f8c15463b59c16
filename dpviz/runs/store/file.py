"""Connections to one SQLite file from many threads, its tables and its errors in words. A damaged file is replaced."""

import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from dpviz.runs.store.copies import back_up, backup_of, sweep
from dpviz.runs.store.earlier import take_over
from dpviz.runs.store.folders import FILE, only_a_file, private_file, private_home, tighten
from dpviz.runs.store.records import StoreError

# What may lie in a folder that is ours alone.
OURS = ("runs", "weights", "logs")

# A larger store is not read through at each start, which takes a second for every 400 MB; damage there shows in use.
CHECKED = 200_000_000

# Seconds without a write after which what was written is backed up.
QUIET = 120.0

SCHEMA = (Path(__file__).parent / "schema.sql").read_text()
TABLES = ("owners", "runs", "attempts", "events", "blocks")
SCHEMA_VERSION = 4
_LAST_FORMAT = 30  # a larger number was never written by any version: it is damaged

# Each connection keeps checksums, by `crc`: of a run's row, and of all events and blocks of an attempt together.
_RUN = ("id", "settings", "options", "state", "attempt", "steps", "summary")
_HELD = {"events": ("seq", "kind", "step", "data"), "blocks": ("first", "last", "digest", "events")}
OF_RUN = f"crc({', '.join(_RUN)})"
OF_ATTEMPT = "SELECT " + " + ".join(
    f"(SELECT COALESCE(SUM(crc({', '.join(names)})), 0) FROM {table} "
    f"WHERE run = attempts.run AND {table}.attempt = attempts.attempt)"
    for table, names in _HELD.items()
)
_KEPT = f"UPDATE runs SET checksum = {OF_RUN} WHERE number = NEW.number"


def _counted(table: str, row: str, sign: str) -> str:
    values = ", ".join(f"{row}.{name}" for name in _HELD[table])
    where = f"run = {row}.run AND attempt = {row}.attempt"
    return f"UPDATE attempts SET checksum = checksum {sign} crc({values}) WHERE {where}"


_TRIGGERS = {
    "INSERT ON main.runs": _KEPT,
    "UPDATE ON main.runs": _KEPT,
    "INSERT ON main.events": _counted("events", "NEW", "+"),
    "DELETE ON main.events": _counted("events", "OLD", "-"),
    "INSERT ON main.blocks": _counted("blocks", "NEW", "+"),
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


def checksum_of(held: Mapping[str, Iterable[Mapping[str, Any]]]) -> int:
    """Of an attempt, by table its rows."""
    return sum(crc(*map(row.get, _HELD[table])) for table, rows in held.items() for row in rows)


def prepare_schema(db: sqlite3.Connection, path: Path) -> None:
    """Create the tables in a new file, or take over one of an earlier format, and maintain checksums from now on.

    Raises:
        StoreError: if a later version wrote it.
        sqlite3.DatabaseError: if it is a database of something else, or an earlier one that is damaged.
    """
    db.create_function("crc", -1, crc, deterministic=True)
    db.create_function("folded", 1, str.casefold, deterministic=True)
    if version(db) != SCHEMA_VERSION:
        with db:
            db.execute("BEGIN IMMEDIATE")
            before = version(db)  # another process may have been quicker
            if not 0 <= before <= _LAST_FORMAT and columns(db) == wanted_columns():
                raise sqlite3.DatabaseError(f"{DAMAGE}there is no format {before}")
            if before > SCHEMA_VERSION:
                raise StoreError(
                    f"{path} was written by a later version (format {before}, here {SCHEMA_VERSION}). Set DPVIZ_HOME "
                    "to another folder."
                )
            if before == 0 and db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError(f"{DAMAGE}its tables are not those of dpviz")
            for statement in SCHEMA.split(";"):
                db.execute(statement)
            if 0 < before < SCHEMA_VERSION:
                check_pages(db)  # what is damaged gets no checksum
                if before == SCHEMA_VERSION - 1:  # the first that had them
                    check_rows(db)
                take_over(db, path)
                db.execute(f"UPDATE attempts SET checksum = ({OF_ATTEMPT})")
                db.execute(f"UPDATE runs SET checksum = {OF_RUN}")
            db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    for number, (moment, change) in enumerate(_TRIGGERS.items()):
        db.execute(f"CREATE TEMP TRIGGER checksum_{number} AFTER {moment} BEGIN {change}; END")


def version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def check_pages(db: sqlite3.Connection) -> None:
    """DatabaseError if SQLite's full check fails. The quick check misses a changed key, which hides rows."""
    verdict = db.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != ("ok",):
        raise sqlite3.DatabaseError(f"{DAMAGE}{verdict[0] if verdict else 'it cannot be read'}")


def check_rows(db: sqlite3.Connection) -> None:
    """DatabaseError if a run is not as it was written."""
    if run := db.execute(CHANGED).fetchone():
        raise sqlite3.DatabaseError(f"{DAMAGE}run {run[0]} is not as it was written")


def insert(db: sqlite3.Connection, table: str, row: Mapping[str, Any], *, ignore: bool = False) -> None:
    """Add a row; with `ignore` only if there is none with its key."""
    statement = f"INSERT {'OR IGNORE ' * ignore}INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    db.execute(statement, tuple(row.values()))


class _Reading(sqlite3.Connection):
    """A connection to a file on a disk that is full or read-only, used once: it would not see what others write."""


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
        except (OSError, ValueError) as error:  # ValueError: a name that holds a NUL
            raise self._not_kept(error) from error
        for beside in path.parent.glob(f"{path.stem}*"):  # backups, what is kept of them, locks
            if beside.is_file() and not beside.is_symlink():
                tighten(beside, FILE)
        sweep(path)
        try:
            self._check()
        except Damaged:
            self._check()  # of the new one

    def _check(self) -> None:
        with self.connection() as db:
            if columns(db) != wanted_columns():
                raise sqlite3.DatabaseError(f"{DAMAGE}its tables lack columns")
            if self.path.stat().st_size <= CHECKED:
                check_pages(db)
                check_rows(db)

    def _what_is_lost(self) -> str:
        """Why this cannot be the store that was used here: it is gone or empty beside what belongs to its runs."""
        if self.path.exists() and (not self.path.is_file() or self.path.stat().st_size):
            return ""
        used = backup_of(self.path).is_file() or any((self.path.parent / "weights").glob("*.pt"))
        state = "is empty" if self.path.exists() else "was gone"
        return f"it {state}, although weights of runs or a backup are in the same folder" if used else ""

    def _not_kept(self, error: OSError | ValueError) -> StoreError:
        why = error.strerror if isinstance(error, OSError) else error
        path = repr(str(self.path))[1:-1]
        return StoreError(f"Runs cannot be kept in {path} ({why}): set DPVIZ_HOME to a folder that can be written.")

    def back_up(self) -> None:
        """Copy the file, as it is at one moment, to its `backup_of`.

        Raises:
            StoreError: if the file cannot be read.
            OSError, sqlite3.Error: if the copy cannot be written.
        """
        with self.connection() as db:
            back_up(self.path, db)

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
            raise StoreError(
                f"The runs in {self.path} are damaged ({why}), and it cannot be set aside ({error}): move it away, or "
                "set DPVIZ_HOME to another folder."
            ) from error
        return Damaged(notice or f"The runs in {self.path} were damaged; a new store was created. Load the page again.")

    def _inode(self) -> int:
        """The inode of the file at the path; 0 if there is none."""
        try:
            return self.path.stat().st_ino
        except OSError:
            return 0

    def _open(self) -> sqlite3.Connection:
        if lost := self._what_is_lost():
            raise self.damaged(lost)
        try:
            private_file(self.path)
        except OSError as error:
            raise self._not_kept(error) from error
        try:
            return self._to_write()
        except sqlite3.OperationalError as error:
            if is_damage(error) or (db := self._to_read()) is None:
                raise
            return db

    def _to_read(self) -> sqlite3.Connection | None:
        """A connection for reading alone, to a file on a disk that is full or read-only; None if there can be none.

        Without its log, which SQLite cannot read there, it is all there only where that is empty.
        """
        log = self.path.with_name(f"{self.path.name}-wal")
        whole = not log.exists() or log.stat().st_size == 0
        for how in ("mode=ro", *(["immutable=1"] if whole else [])):
            place = f"{self.path.absolute().as_uri()}?{how}"
            db = sqlite3.connect(place, 10.0, uri=True, isolation_level=None, factory=_Reading)
            with suppress(sqlite3.OperationalError):
                if version(db) == SCHEMA_VERSION:
                    prepare_schema(db, self.path)
                    return db
            db.close()
        return None

    def _to_write(self) -> sqlite3.Connection:
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
    def connection(
        self, *, read: bool = False, write: bool = False, backed_up: bool = True
    ) -> Iterator[sqlite3.Connection]:
        """One connection for this thread alone.

        With `read` all that is read is of one moment, with `write` inside one transaction, undone if anything fails.

        What was written is backed up after quiet minutes, unless not `backed_up`.
        """
        inode, reading = self._inode(), False
        db = self._idle_connection(inode)
        try:
            if db is None:
                db = self._open()
                inode = self._inode()
            reading = isinstance(db, _Reading)
            with db:
                if read or write:
                    db.execute("BEGIN IMMEDIATE" if write else "BEGIN")
                yield db
            if write and backed_up:
                self._back_up_when_quiet()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if db is not None:
                db.close()
                db = None
            if is_damage(error) and not reading:
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
            if inode == self._pooled and not self._closed and not isinstance(db, _Reading):
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
