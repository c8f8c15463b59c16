"""How a damaged file is told from one that is only in trouble: a full disk or a lock leave it whole."""

from __future__ import annotations

import sqlite3

from dpviz.runs.store.interface import StoreError

# Beginning of our own words for what SQLite does not notice.
DAMAGE = "malformed: "

_CODES = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_WORDS = (
    "malformed",
    "not a database",
    "unsupported file format",
    "no such table",
    "no such column",
    "has no column",
    "decode to UTF-8",
)


class Damaged(StoreError):
    """The file was damaged: it was set aside, and what was asked can be asked again."""


def is_damage(error: sqlite3.Error) -> bool:
    """Whether the file itself is spoilt."""
    code = getattr(error, "sqlite_errorcode", 0)
    # The low byte is the kind; a short read is what a file gives that was cut off.
    if code & 0xFF in _CODES or code == sqlite3.SQLITE_IOERR_SHORT_READ:
        return True
    return any(word in str(error) for word in _WORDS)
