"""The rescue of a damaged store: set aside under a dated name, and a new one begun with all that could be read.

Runs are kept as they were only if all their events are there. Of any other run settings, names and notes stay, and it
counts as lost without a single event: half of its steps would show half of what it gave away.
"""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from dpviz.runs.store import jsontext
from dpviz.runs.store.copies import KEPT, NEW, backup_of, rescue_lock, write_note
from dpviz.runs.store.earlier import as_now
from dpviz.runs.store.file import checksum_of, checksum_of_run, insert, prepare_schema, wanted_columns
from dpviz.runs.store.folders import only_a_file, private_file
from dpviz.runs.store.lock import alone
from dpviz.runs.store.records import FINAL_KINDS, STATES

PREFIX = "runs-damaged-"
INCOMPLETE = "its record was damaged and could not be read whole: its privacy loss is unknown"

# What reading a damaged file raises: SQLite's message may quote words of it that are no text any more.
UNREADABLE = (sqlite3.Error, UnicodeDecodeError)

Row = dict[str, Any]


def set_aside(path: Path, why: str) -> str:
    """Replace the damaged or missing file at `path`. Returns a message for people, "" if another process has just done
    it.

    Raises:
        OSError, sqlite3.Error: if the folder cannot be written.
    """
    before = _inode(path)
    only_a_file(path)
    with alone(rescue_lock(path)):
        if _inode(path) != before:
            return ""
        stamp = time.strftime("%Y-%m-%d-%H%M%S")
        aside = path.with_name(f"{PREFIX}{stamp}.sqlite")
        fresh = path.with_name(f"{NEW}{os.getpid()}.sqlite")
        backup = _day_of(backup_of(path))
        whole, partly = _begin_anew(path, fresh)
        _swap(path, aside, fresh)
        read = f"{whole} runs could be read whole" + (f", {partly} in part" if partly else "")
        if aside.exists():
            note = _was_damaged(why, aside, stamp[:10], read)
        else:
            note = _was_gone(path, stamp[:10], backup, read)
        return write_note(aside.with_suffix(".txt"), note)


def _was_damaged(why: str, aside: Path, day: str, read: str) -> str:
    return (
        f"The recorded runs were damaged ({why}). They were set aside as {aside} on {day}, and a new store was begun: "
        f"{read}. The file set aside may hold runs that you remove later: delete it if you do not need it."
    )


def _was_gone(path: Path, day: str, backup: str, read: str) -> str:
    if not backup:
        return (
            f"The recorded runs, {path}, were gone on {day}, although there are weights of runs in the same folder. "
            "There was no backup, so a new store was begun."
        )
    return (
        f"The recorded runs, {path}, were gone on {day}. Their backup of {backup} was taken: {read}. What was recorded "
        "after that backup is missing."
    )


def notices(folder: Path) -> list[str]:
    """What happened to the store here and is still to be known, newest first."""
    texts = []
    notes = [note for prefix in (PREFIX, KEPT) for note in folder.glob(f"{prefix}*.txt")]
    for note in sorted(notes, key=lambda note: note.stem.removeprefix(PREFIX).removeprefix(KEPT), reverse=True):
        with suppress(OSError):
            only_a_file(note)
            texts.append(note.read_text())
    return texts


def _inode(path: Path) -> int:
    """0 where there is no file."""
    return path.stat().st_ino if path.exists() else 0


def _day_of(backup: Path) -> str:
    """ "2026-11-28", when the backup was written; "" if there is none."""
    return time.strftime("%Y-%m-%d", time.localtime(backup.stat().st_mtime)) if backup.is_file() else ""


def _swap(path: Path, aside: Path, fresh: Path) -> None:
    """Rename the old file and the files that belong to it to dated names, then move the new one into its place."""
    try:
        os.link(path, aside)
    except FileNotFoundError:
        pass
    except OSError:  # a file system without second names
        path.replace(aside)
    for suffix in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))
    fresh.replace(path)


def _begin_anew(path: Path, fresh: Path) -> tuple[int, int]:
    """Write what can be read of `path`, then of its backup, into `fresh`: how many runs are whole, and how many not."""
    fresh.unlink(missing_ok=True)
    private_file(fresh)
    with closing(sqlite3.connect(fresh, isolation_level=None)) as new:
        new.execute("PRAGMA auto_vacuum = INCREMENTAL")
        prepare_schema(new, fresh)
        new.execute("BEGIN")
        whole: set[str] = set()
        spoilt: dict[str, tuple[Row, list[Row]]] = {}  # with the attempts of each
        for source in (path, backup_of(path)):
            with suppress(*UNREADABLE, OSError), closing(_reader(source)) as old:
                _copy(old, new, whole, spoilt, backup=source != path)
        partly = 0
        for run, (row, attempts) in spoilt.items():
            kept = row | {"summary": "{}", "attempt": len(attempts)}
            lost = {} if row["state"] == "queued" else {"state": "lost", "reason": INCOMPLETE}
            partly += run not in whole and _put(new, runs=[kept | lost], attempts=attempts)
        as_now(new)  # the file, or its backup, may be of an earlier format
        new.execute("COMMIT")
        return len(whole), partly


def _reader(path: Path) -> sqlite3.Connection:
    """A connection to a file of this format."""
    only_a_file(path)
    old = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=2.0)
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
    for owner in _rows(old, "SELECT * FROM owners"):
        if _sound(owner, "process"):
            _put(new, owners=[owner])
    for number in list(_rows(old, "SELECT number FROM runs ORDER BY number")):
        run = next(_rows(old, "SELECT * FROM runs WHERE number = :number", number), {"id": ""})
        if run["id"] in whole or not _sound(run, "settings", "options", "summary") or run["state"] not in STATES:
            continue
        mine = list(_rows(old, "SELECT * FROM attempts WHERE run = ? ORDER BY attempt", (run["id"],)))
        mine = [row for row in mine if _sound(row, "worker")]
        held = _held(old, run, mine)
        if backup and run["state"] == "queued":
            run["state"] = "running"
        may_have_gone_on = backup and (run["state"] not in FINAL_KINDS.values() or run["summary"] == "{}")
        if held is not None and not may_have_gone_on and _put(new, runs=[run], attempts=mine, **held):
            whole.add(run["id"])
        else:
            spoilt.setdefault(run["id"], (run, mine))


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


def _rows(old: sqlite3.Connection, statement: str, values: Row | tuple[object, ...] = ()) -> Iterator[Row]:
    """Rows until one cannot be read."""
    with suppress(*UNREADABLE):
        for row in old.execute(statement, values):
            yield dict(row)


def _held(old: sqlite3.Connection, run: Row, attempts: list[Row]) -> dict[str, list[Row]] | None:
    """The events and blocks of all attempts of a run; None unless its row and all of these match their checksums."""
    if run["attempt"] != len(attempts) or run.get("checksum") != checksum_of_run(run):
        return None
    held: dict[str, list[Row]] = {"events": [], "blocks": []}
    for attempt in range(len(attempts) + 1):  # a run that was imported before its first has an event of attempt 0
        statement = "SELECT * FROM {} WHERE run = ? AND attempt = ? ORDER BY 3"
        mine = {table: list(_rows(old, statement.format(table), (run["id"], attempt))) for table in held}
        if attempt and attempts[attempt - 1].get("checksum") != checksum_of(mine):
            return None
        held = {table: rows + mine[table] for table, rows in held.items()}
    return held
