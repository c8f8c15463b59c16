"""The tables of the store, and whether a file has them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from dpviz.runs.store.damage import DAMAGE
from dpviz.runs.store.interface import StoreError

SCHEMA_VERSION = 2
_LAST_FORMAT = 30  # a larger number was never written by any version: it is damaged

SCHEMA = """
CREATE TABLE IF NOT EXISTS owners (
    id TEXT PRIMARY KEY, process TEXT NOT NULL, heartbeat REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, name TEXT NOT NULL, note TEXT NOT NULL,
    target TEXT NOT NULL, settings TEXT NOT NULL, options TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL,
    created REAL NOT NULL, started REAL, ended REAL, attempt INTEGER NOT NULL, steps INTEGER NOT NULL,
    wish TEXT NOT NULL, granted INTEGER NOT NULL, baseline INTEGER NOT NULL, deleted REAL, imported INTEGER NOT NULL,
    owner TEXT NOT NULL, host TEXT, summary TEXT NOT NULL, anchor TEXT NOT NULL DEFAULT ''
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

# What a store of an earlier format lacks: (format before, statement).
_CHANGES = ((1, "ALTER TABLE runs ADD COLUMN anchor TEXT NOT NULL DEFAULT ''"),)


def prepare_schema(db: sqlite3.Connection, path: Path) -> None:
    """Make the tables in a new file, and bring an earlier format to this one.

    Raises:
        StoreError: if a later version wrote it.
        sqlite3.DatabaseError: if it is a database of something else.
    """
    if _version(db) == SCHEMA_VERSION:
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        version = _version(db)  # another process may have been quicker
        if not 0 <= version <= _LAST_FORMAT and columns(db) == wanted_columns():
            raise sqlite3.DatabaseError(f"{DAMAGE}there is no format {version}")
        if version > SCHEMA_VERSION:
            raise StoreError(
                f"{path} was written by a later version (format {version}, here {SCHEMA_VERSION}). "
                "Set DPVIZ_HOME to another folder."
            )
        if version == 0:
            if db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
                raise sqlite3.DatabaseError(f"{DAMAGE}it holds tables of something else")
            for statement in SCHEMA.split(";"):
                db.execute(statement)
        for before, statement in _CHANGES:
            if 0 < version <= before and "anchor" not in columns(db)["runs"]:
                db.execute(statement)
        db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.rollback()
        raise


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def columns(db: sqlite3.Connection) -> dict[str, list[str]]:
    """Names of the columns of each table of ours; empty for a table that is not there."""
    tables = ("owners", "runs", "attempts", "events")
    return {table: [str(row[1]) for row in db.execute(f"PRAGMA table_info({table})")] for table in tables}


def wanted_columns() -> dict[str, list[str]]:
    with sqlite3.connect(":memory:") as made:
        made.executescript(SCHEMA)
        found = columns(made)
    made.close()
    return found


def check_schema(db: sqlite3.Connection) -> None:
    """sqlite3.DatabaseError if a table or a column of ours is missing."""
    found = columns(db)
    for table, wanted in wanted_columns().items():
        if missing := set(wanted) - set(found[table]):
            raise sqlite3.DatabaseError(f"{DAMAGE}table {table} lacks {', '.join(sorted(missing))}")
