"""Sets a damaged store aside under a dated name and begins a new one with everything that could be read.

Runs are kept as they were only if all their events are there. Of any other run settings, names and notes stay, and it
counts as lost without a single event: half of its steps would show half of what it gave away.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from dpviz.runs.store import jsontext
from dpviz.runs.store.file import backup_of, checksum_of_events, checksum_of_run, insert, prepare_schema, wanted_columns
from dpviz.runs.store.folders import only_a_file, private_file
from dpviz.runs.store.records import FINAL_KINDS, STATES
from dpviz.runs.words import words

PREFIX = "runs-damaged-"
INCOMPLETE = "its record was damaged and could not be read whole: its privacy loss is unknown"

# Holes between readable rows are tried one by one, so many at most; another process's rescue is waited for so long.
TRIES = 10_000
PATIENCE = 120.0

PAGE = 4096  # bytes of a page, as SQLite makes them

# What reading a damaged file raises: SQLite's message may quote words of it that are no text any more.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

Row = dict[str, Any]


def set_aside(path: Path, why: str) -> str:
    """Replace the damaged file at `path`. Returns a message for people, "" if another process has just done it.

    Raises:
        OSError, sqlite3.Error: if the folder cannot be written.
    """
    before = path.stat().st_ino
    only_a_file(path)
    with _alone(path.with_name("runs.lock")):
        if path.stat().st_ino != before:
            return ""
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        aside = path.with_name(f"{PREFIX}{stamp}.sqlite")
        fresh = path.with_name(f"runs-new-{os.getpid()}.sqlite")
        whole, partly = _begin_anew(path, fresh)
        _swap(path, aside, fresh)
        more = f", {partly} in part" if partly else ""
        notice = words("store", "set_aside", why=why, aside=aside, day=stamp[:10], whole=whole, more=more)
        note = aside.with_suffix(".txt")
        private_file(note)
        note.write_text(f"{notice} To remove this message, move that file and {note.name} to another folder.")
        return note.read_text()


def notices(folder: Path) -> list[str]:
    """The files that were set aside and still exist, newest first."""
    texts = []
    for note in sorted(folder.glob(f"{PREFIX}*.txt"), reverse=True):
        with suppress(OSError):
            only_a_file(note)
            texts.append(note.read_text())
    return texts


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Only one process at a time. The system releases the lock of a process that dies."""
    private_file(lock)
    with closing(sqlite3.connect(lock, timeout=PATIENCE, isolation_level=None)) as held:
        held.execute("BEGIN EXCLUSIVE")
        yield


def _swap(path: Path, aside: Path, fresh: Path) -> None:
    """Rename the old file and the files that belong to it to dated names, then move the new one into its place."""
    try:
        os.link(path, aside)
    except OSError:  # a file system without second names
        path.replace(aside)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))
    fresh.replace(path)


def _begin_anew(path: Path, fresh: Path) -> tuple[int, int]:
    """Write what can be read of `path` into `fresh`: how many runs are whole, and how many are not."""
    fresh.unlink(missing_ok=True)
    private_file(fresh)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute("PRAGMA auto_vacuum = INCREMENTAL")
        prepare_schema(new, fresh)
        new.execute("BEGIN")
        whole: set[str] = set()
        spoilt: dict[str, tuple[Row, list[Row]]] = {}  # with the attempts of each
        with _with_first_page(path, fresh.read_bytes()[:PAGE]) as repaired:
            # Its log is added to the copy that is read.
            for source, mode in ((repaired, "rw"), (path, "ro"), (backup_of(path), "ro")):
                with suppress(*UNREADABLE, OSError), closing(_reader(source, mode)) as old:
                    _copy(old, new, whole, spoilt, backup=source == backup_of(path))
        partly = 0
        for run, (row, attempts) in spoilt.items():
            kept = row | {"summary": "{}", "attempt": len(attempts)}
            lost = {} if row["state"] == "queued" else {"state": "lost", "reason": INCOMPLETE}
            partly += run not in whole and _put(new, runs=[kept | lost], attempts=attempts)
        new.execute("COMMIT")
        return len(whole), partly


def _reader(path: Path, mode: str) -> sqlite3.Connection:
    only_a_file(path)
    old = sqlite3.connect(f"file:{path}?mode={mode}", uri=True, timeout=2.0)
    old.row_factory = sqlite3.Row
    return old


def _copy(
    old: sqlite3.Connection,
    new: sqlite3.Connection,
    whole: set[str],
    spoilt: dict[str, tuple[Row, list[Row]]],
    *,
    backup: bool,
) -> None:
    """Put the owners and whole runs of `old` into `new`; the other runs, with their attempts, into `spoilt`.

    Of a backup only runs that had ended in words of their own are whole: any other may have gone on since.
    """
    for owner in _all(old, "owners", "rowid"):
        if _sound(owner, "process"):
            _put(new, owners=[owner])
    attempts = [row for row in _all(old, "attempts", "rowid") if _sound(row, "worker")]
    for run in _all(old, "runs", "number"):
        if run["id"] in whole or not _sound(run, "settings", "options", "summary") or run["state"] not in STATES:
            continue
        mine = [row for row in attempts if row["run"] == run["id"]]
        events = _events_of(old, run, mine)
        if backup and run["state"] == "queued":
            run["state"] = "running"
        may_have_gone_on = backup and (run["state"] not in FINAL_KINDS.values() or run["summary"] == "{}")
        if events is not None and not may_have_gone_on and _put(new, runs=[run], attempts=mine, events=events):
            whole.add(run["id"])
        else:
            spoilt.setdefault(run["id"], (run, mine))


@contextmanager
def _with_first_page(path: Path, page: bytes) -> Iterator[Path]:
    """A copy of the file that begins with this page, and of its write-ahead log.

    The first page names the tables and where each begins, which is the same in every store that `prepare_schema` made:
    without it nothing can be read, and one wrong byte of it is enough for that.
    """
    copy = path.with_name(f"runs-reread-{os.getpid()}.sqlite")
    suffixes = ("", "-wal", "-shm")
    try:
        for suffix in suffixes[:2]:
            with suppress(FileNotFoundError), path.with_name(path.name + suffix).open("rb") as old:
                private_file(copy.with_name(copy.name + suffix))
                with copy.with_name(copy.name + suffix).open("wb") as new:
                    shutil.copyfileobj(old, new)
        with copy.open("r+b") as new:
            # SQLite's file format: bytes 18 and 19 say that there is a log, 28 to 31 count the pages, 0 for as many as
            # there are, 32 to 39 name those that are free.
            new.write(page[:18] + b"\2\2" + page[20:28] + bytes(12) + page[40:])
        yield copy
    finally:
        for suffix in suffixes:
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _put(new: sqlite3.Connection, **tables: list[Row]) -> bool:
    """Add rows with new checksums; none of them if one is invalid."""
    new.execute("SAVEPOINT rows")
    try:
        for table, rows in tables.items():
            names = [name for name in wanted_columns()[table] if name != "checksum"]
            for row in rows:
                insert(new, table, {name: row[name] for name in names if name in row})
    except UNREADABLE:
        new.execute("ROLLBACK TO rows")
        return False
    return True


def _sound(row: Row, *texts: str) -> bool:
    """Whether these columns contain valid JSON."""
    try:
        return all(isinstance(jsontext.read(row[name]), dict) for name in texts)
    except (KeyError, TypeError, ValueError):
        return False


def _rows(old: sqlite3.Connection, statement: str, *values: object) -> Iterator[Row]:
    """Rows until one cannot be read."""
    with suppress(*UNREADABLE):
        for row in old.execute(statement, values):
            yield dict(row)


def _all(old: sqlite3.Connection, table: str, key: str) -> list[Row]:
    """Every row that can be read, by its integer key: from both ends, then those in between one by one."""
    select = f"SELECT {key} AS _key, * FROM {table}"
    rows = {row["_key"]: row for row in _rows(old, f"{select} ORDER BY {key}")}
    last = max(rows, default=0)
    behind = {row["_key"]: row for row in _rows(old, f"{select} WHERE {key} > ? ORDER BY {key} DESC", last)}
    for number in range(last + 1, min([*behind, last + TRIES + 1])):
        rows |= {row["_key"]: row for row in _rows(old, f"{select} WHERE {key} = ?", number)}
    return [row for _, row in sorted((rows | behind).items())]


def _events_of(old: sqlite3.Connection, run: Row, attempts: list[Row]) -> list[Row] | None:
    """All events of all attempts of a run in order; None unless its row and all events match their checksums."""
    if run["attempt"] != len(attempts) or run.get("checksum") != checksum_of_run(run):
        return None
    events: list[Row] = []
    for attempt in range(len(attempts) + 1):  # a run that was imported before its first has an event of attempt 0
        statement = "SELECT * FROM events WHERE run = ? AND attempt = ? ORDER BY seq"
        rows = list(_rows(old, statement, run["id"], attempt))
        if not all(_sound(row, "data") for row in rows):
            return None
        if attempt and attempts[attempt - 1].get("checksum") != checksum_of_events(rows):
            return None
        events += rows
    return events
