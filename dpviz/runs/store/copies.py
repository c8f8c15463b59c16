"""Copies of the store in its folder: the newest backup, backups that were kept, and what a killed process left.

A backup is written beside the one before it and then takes its place, under a lock: while nobody holds the lock, every
unfinished copy is a leftover, which the next one to come removes.
"""

import os
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path

from dpviz.runs.store.folders import only_a_file, private_file
from dpviz.runs.store.lock import alone

KEPT = "runs-kept-"  # a backup that held more than the next one
NEW = "runs-new-"  # what a rescue writes, while it goes on
_UNFINISHED_BACKUPS = "runs-backup-*"
_UNFINISHED_RESCUES = f"{NEW}*"
_TABLES = {"blocks": "run", "events": "run", "attempts": "run", "runs": "id"}

# What a run has in a store: how often it was begun, its steps, how many of its attempts have events.
Holdings = dict[str, tuple[int, ...]]


def backup_of(path: Path) -> Path:
    """The path of the newest backup of the store."""
    return path.with_name("runs-backup.sqlite")


def rescue_lock(path: Path) -> Path:
    """The file that a process locks while it sets a damaged store aside."""
    return path.with_name("runs.lock")


def _backup_lock(path: Path) -> Path:
    return path.with_name("runs-backup.lock")


def back_up(path: Path, store: sqlite3.Connection) -> None:
    """Copy the store at `path`, as it is at one moment, to its `backup_of`. An incomplete copy replaces nothing.

    A backup that holds what the store no longer has is kept under a dated name, and a note says so.

    Raises:
        OSError, sqlite3.Error: if the copy cannot be written.
    """
    with alone(_backup_lock(path)):
        _remove(path, _UNFINISHED_BACKUPS)
        fresh = path.with_name(f"runs-backup-{os.getpid()}.sqlite")
        try:
            private_file(fresh)
            with closing(sqlite3.connect(fresh)) as copy:
                store.backup(copy, pages=1_000)
                copy.execute("PRAGMA journal_mode = DELETE")  # all in one file
                if copy.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
                    return
                emptier = _is_emptier(_holdings(copy), _holdings_of(backup_of(path)))
            if emptier:
                _keep(backup_of(path))
            fresh.replace(backup_of(path))
        finally:
            fresh.unlink(missing_ok=True)


def _holdings(db: sqlite3.Connection) -> Holdings:
    """Empty for a store of another format, whose columns are others: its backup is kept then."""
    if "checksum" not in {row[1] for row in db.execute("PRAGMA table_info(attempts)")}:
        return {}
    filled = "SELECT COUNT(*) FROM attempts WHERE run = runs.id AND checksum != 0"
    return {run: tuple(held) for run, *held in db.execute(f"SELECT id, attempt, steps, ({filled}) FROM runs")}


def _holdings_of(backup: Path) -> Holdings:
    """Empty for a backup that is not there or cannot be read."""
    with suppress(OSError, sqlite3.Error):
        only_a_file(backup)
        with closing(sqlite3.connect(f"file:{backup}?mode=ro", uri=True)) as db:
            return _holdings(db)
    return {}


def _is_emptier(new: Holdings, old: Holdings) -> bool:
    """Whether a run of `old` is missing, has fewer steps of the same attempt, or has lost the events of one."""
    return any(run not in new or new[run][:2] < held[:2] or new[run][2] < held[2] for run, held in old.items())


def _keep(backup: Path) -> None:
    """Rename the backup to a dated name of its own, and say so in a note beside it."""
    day = time.strftime("%Y-%m-%d", time.localtime(backup.stat().st_mtime))
    kept = _dated(backup)
    backup.replace(kept)
    holds = "runs that are no longer in the store, or more of their steps"
    write_note(kept.with_suffix(".txt"), f"The backup of {day} holds {holds}. It was kept as {kept}.")


def _dated(path: Path) -> Path:
    return path.with_name(f"{KEPT}{time.strftime('%Y-%m-%d-%H%M%S')}.sqlite")


def keep(path: Path) -> None:
    """Copy the store of an earlier format, as it is, under a dated name.

    Raises:
        OSError, sqlite3.Error: if the copy cannot be written.
    """
    kept = _dated(path)
    private_file(kept)
    with closing(sqlite3.connect(path)) as store, closing(sqlite3.connect(kept)) as copy:
        store.backup(copy)
    brought = f"The recorded runs, {path}, were brought into the format of this version."
    write_note(kept.with_suffix(".txt"), f"{brought} What they were is kept as {kept}.")


def write_note(note: Path, text: str) -> str:
    """Write what people should know of the file of the same name; the whole text."""
    beside = note.with_suffix(".sqlite")
    what = f"that file and {note.name}" if beside.exists() else note.name
    private_file(note)
    note.write_text(f"{text} To remove this message, move {what} to another folder.")
    return note.read_text()


def sweep(path: Path) -> None:
    """Remove copies that a killed process left unfinished: they may hold runs that were removed since."""
    for lock, pattern in ((_backup_lock(path), _UNFINISHED_BACKUPS), (rescue_lock(path), _UNFINISHED_RESCUES)):
        if any(path.parent.glob(pattern)):
            with suppress(OSError, sqlite3.OperationalError), alone(lock, 0.0):  # else one is being written now
                _remove(path, pattern)


def remove_run(path: Path, run: str, store: sqlite3.Connection) -> None:
    """Remove a run, its attempts and events, from every backup, and from the store itself, to which `store` leads.

    No backup is made meanwhile, which could bring it back. A copy that cannot be changed is removed.

    Raises:
        OSError, sqlite3.Error: if the store cannot be written, or if another process holds the backups for too long.
    """
    sweep(path)
    with alone(_backup_lock(path)):
        _remove(path, _UNFINISHED_BACKUPS)
        for copy in (backup_of(path), *path.parent.glob(f"{KEPT}*.sqlite")):
            if copy.is_file():
                try:
                    with closing(sqlite3.connect(copy, isolation_level=None)) as db:
                        _delete(db, run)
                except sqlite3.Error:
                    copy.unlink()
        _delete(store, run)
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()  # its log holds what was overwritten


def _delete(db: sqlite3.Connection, run: str) -> None:
    """Overwrite all rows of the run, and give the space back."""
    db.execute("PRAGMA secure_delete = ON")
    db.execute("BEGIN IMMEDIATE")
    there = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for table, key in _TABLES.items():
        if table in there:  # a copy of an earlier format lacks one
            db.execute(f"DELETE FROM {table} WHERE {key} = ?", (run,))
    db.execute("COMMIT")
    db.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page


def _remove(path: Path, pattern: str) -> None:
    for file in path.parent.glob(pattern):
        file.unlink(missing_ok=True)
