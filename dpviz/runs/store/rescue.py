"""A damaged store is set aside under a dated name, and a new one begun with what could be read of it.

Runs are kept as they were only if all their events are there. Of any other run settings, names and notes stay, and it
counts as lost without a single event: half of its steps would show half of what it gave away.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from dpviz.runs.store import jsontext
from dpviz.runs.store.permissions import only_a_file, private_file, read_text
from dpviz.runs.store.records import ENDED, FINAL_KINDS, IMPORTED_KIND, STATES
from dpviz.runs.store.schema import columns, prepare_schema, wanted_columns

PREFIX = "runs-damaged-"
INCOMPLETE = "its record was damaged and could not be read whole: what it gave away is not known"

# Holes between readable rows are tried one by one, so many at most; a lock older than this, in seconds, is nobody's.
TRIES = 10_000
STALE = 120.0

PAGE = 4096  # bytes of a page, as SQLite makes them
MOST_PAGES = 2**20  # beyond the pages of a log: a page that it places further on is a damaged one's

# What reading a damaged file raises: SQLite's message may quote words of it that are no text any more.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

Row = dict[str, Any]


def set_aside(path: Path, why: str) -> str:
    """Replace the damaged file at `path`; words for people, "" if another process has just done it.

    Raises:
        OSError: if the folder cannot be written.
    """
    before = path.stat().st_ino
    only_a_file(path)
    with _alone(path.with_name("runs.lock")):
        if path.stat().st_ino != before:
            return ""
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        aside = path.with_name(f"{PREFIX}{stamp}.sqlite")
        fresh = path.with_name(f"runs-new-{os.getpid()}.sqlite")
        kept, spoilt = _begin_anew(path, fresh)
        _swap(path, aside, fresh)
        said = (
            f"The recorded runs were damaged ({why}). They were set aside as {aside} on {stamp[:10]}, and a new store "
            f"was begun: {kept} runs could be read whole" + (f", {spoilt} in part. " if spoilt else ". ")
        )
        note = aside.with_suffix(".txt")
        private_file(note)
        note.write_text(f"{said}Move that file away, and {note.name} with it, and this is said no more.")
        return note.read_text()


def notices(folder: Path) -> list[str]:
    """What was set aside and still lies there, newest first."""
    found = []
    for note in sorted(folder.glob(f"{PREFIX}*.txt"), reverse=True):
        with suppress(OSError):
            found.append(read_text(note))
    return found


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """One process at a time; one that died inside is not waited for."""
    while True:
        try:
            os.close(os.open(lock, os.O_CREAT | os.O_EXCL, 0o600))
            break
        except FileExistsError:
            with suppress(OSError):
                if abs(time.time() - lock.stat().st_mtime) > STALE:
                    lock.unlink()
            time.sleep(0.05)
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)


def _swap(path: Path, aside: Path, fresh: Path) -> None:
    """The old one under its dated name with all that belongs to it, the new one in its place in one move."""
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
        page = fresh.read_bytes()[:PAGE]
        new.execute("BEGIN")
        whole: set[str] = set()
        spoilt: dict[str, Callable[[], bool]] = {}
        with _with_first_page(path, page) as repaired:
            for source in (repaired, path, backup_of(path)):
                with suppress(*UNREADABLE, OSError), closing(_reader(source)) as old:
                    _copy(old, new, whole, spoilt, backup=source == backup_of(path))
        partly = sum(put() for run, put in spoilt.items() if run not in whole)
        new.execute("COMMIT")
        return len(whole), partly


def backup_of(path: Path) -> Path:
    """Where the newest backup of the store lies."""
    return path.with_name("runs-backup.sqlite")


def _reader(path: Path) -> sqlite3.Connection:
    only_a_file(path)
    old = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2.0)
    old.row_factory = sqlite3.Row
    return old


def _copy(
    old: sqlite3.Connection, new: sqlite3.Connection, whole: set[str], spoilt: dict[str, Any], *, backup: bool
) -> None:
    """Put the owners and whole runs of `old` into `new`; how to put the others goes into `spoilt`, by run.

    Of a backup only runs that had ended in words of their own are whole: any other may have gone on since.
    """
    there = columns(old)
    for owner in _all(old, "owners", "rowid"):
        if _sound(owner, "process"):
            _put(new, "owners", owner, there)
    attempts = [row for row in _all(old, "attempts", "rowid") if _sound(row, "worker")]
    for run in _all(old, "runs", "number"):
        sound = _sound(run, "settings", "options", "summary") and run.get("state") in STATES
        if not sound or run["id"] in whole:
            continue
        mine = [row for row in attempts if row["run"] == run["id"]]
        events = None
        with suppress(KeyError, TypeError, ValueError):
            events = _events_of(old, run, len(mine))
        finished = run["state"] in FINAL_KINDS.values() and run["summary"] != "{}"
        if backup and run["state"] == "queued":
            run = {**run, "state": "running"}
        if events is None or (backup and not finished):
            spoilt.setdefault(run["id"], partial(_put_spoilt, new, run, mine, there))
        elif _put(new, "runs", run, there):
            whole.add(run["id"])
            for row in mine:
                _put(new, "attempts", row, there)
            for row in events:
                _put(new, "events", row, there)


def _put_spoilt(new: sqlite3.Connection, run: Row, attempts: list[Row], there: dict[str, list[str]]) -> bool:
    if run["state"] != "queued":
        run = {**run, "state": "lost", "reason": INCOMPLETE}
    put = _put(new, "runs", {**run, "summary": "{}"}, there)
    return put and all(_put(new, "attempts", row, there) for row in attempts)


@contextmanager
def _with_first_page(path: Path, page: bytes) -> Iterator[Path]:
    """A copy of the file that begins with this page, with what its write-ahead log had added.

    The first page names the tables and where each begins, which is the same in every store that `prepare_schema` made:
    without it nothing can be read, and one wrong byte of it is enough for that.
    """
    copy = path.with_name(f"runs-reread-{os.getpid()}.sqlite")
    copy.unlink(missing_ok=True)
    private_file(copy)
    try:
        with path.open("rb") as old, copy.open("wb") as new:
            shutil.copyfileobj(old, new)
            for number, content in _logged(path.with_name(path.name + "-wal")).items():
                new.seek((number - 1) * PAGE)
                new.write(content)
            pages = new.seek(0, os.SEEK_END) // PAGE
            new.seek(0)
            # SQLite's file format: bytes 28 to 31 count the pages, 32 to 39 name those that are free.
            new.write(page[:28] + struct.pack(">III", pages, 0, 0) + page[40:])
        yield copy
    finally:
        copy.unlink(missing_ok=True)


def _logged(log: Path) -> dict[int, bytes]:
    """The pages that a write-ahead log holds, by number, up to its last commit (SQLite's file format, section 4)."""
    content = log.read_bytes() if log.exists() else b""
    pages: dict[int, bytes] = {}
    open_ones: dict[int, bytes] = {}
    for at in range(32, len(content) - PAGE - 23, PAGE + 24):
        number, committed = struct.unpack(">II", content[at : at + 8])
        if content[at + 8 : at + 16] != content[16:24] or not 0 < number < len(content) + MOST_PAGES:
            break
        open_ones[number] = content[at + 24 : at + 24 + PAGE]
        if committed:
            pages |= open_ones
            open_ones = {}
    return pages


def _put(new: sqlite3.Connection, table: str, row: Row, there: dict[str, list[str]]) -> bool:
    names = [name for name in wanted_columns()[table] if name in there[table]]
    try:
        new.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            [row[name] for name in names],
        )
    except (*UNREADABLE, KeyError):
        return False
    return True


def _sound(row: Row, *texts: str) -> bool:
    """Whether these columns hold the JSON that was written there."""
    try:
        return all(isinstance(jsontext.read(row[name]), dict) for name in texts)
    except (KeyError, TypeError, ValueError):
        return False


def _rows(old: sqlite3.Connection, statement: str, values: tuple[object, ...] = ()) -> Iterator[Row]:
    """Rows until one cannot be read."""
    with suppress(*UNREADABLE):
        for row in old.execute(statement, values):
            yield dict(row)


def _all(old: sqlite3.Connection, table: str, key: str) -> list[Row]:
    """Every row that can be read, by its integer key: from both ends, and what lies between, one by one."""
    found = {row["_key"]: row for row in _rows(old, f"SELECT {key} AS _key, * FROM {table} ORDER BY {key}")}
    last = max(found, default=0)
    behind = _rows(old, f"SELECT {key} AS _key, * FROM {table} WHERE {key} > ? ORDER BY {key} DESC", (last,))
    found.update({row["_key"]: row for row in behind})
    for number in range(last + 1, min([k for k in found if k > last], default=last + TRIES)):
        if number - last > TRIES:
            break
        for row in _rows(old, f"SELECT {key} AS _key, * FROM {table} WHERE {key} = ?", (number,)):
            found[number] = row
    return [found[key] for key in sorted(found)]


def _events_of(old: sqlite3.Connection, run: Row, attempts: int) -> list[Row] | None:
    """All events of all attempts of a run in order; None unless every one of them is there."""
    if run["attempt"] != attempts:
        return None
    found: list[Row] = []
    for attempt in range(attempts + 1):  # a run that was imported before its first has an event of attempt 0
        statement = "SELECT * FROM events WHERE run = ? AND attempt = ? ORDER BY seq"
        rows = list(_rows(old, statement, (run["id"], attempt)))
        if [row["seq"] for row in rows] != list(range(len(rows))) or not all(_sound(row, "data") for row in rows):
            return None
        found += rows
    latest = [row for row in found if row["attempt"] == attempts and row["kind"] != IMPORTED_KIND]
    steps = max([row["step"] for row in latest], default=0)
    if steps < int(run["steps"]) or (int(run["steps"]) and not latest):
        return None
    # A run that ended in words of its own ended with an event.
    ended = run["state"] in ENDED and run["summary"] != "{}"
    return None if ended and (not latest or latest[-1]["kind"] not in FINAL_KINDS) else found
