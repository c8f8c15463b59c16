"""Events of attempts in two tables: the latest ones a row each, all before them in blocks with their digests."""

import sqlite3
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from dpviz.runs.store import jsontext
from dpviz.runs.store.blocks import FULL, packed
from dpviz.runs.store.digest import Digest
from dpviz.runs.store.records import FINAL_KINDS, Event, EventRow

# Events, or steps, that are worth a block of their own once no more come.
REST = 128
_TAIL = "SELECT seq, kind, step, time, data FROM events WHERE run = ? AND attempt = ?"

# What a target of somebody's own may emit that is no event of a training: it stays as it is.
NO_EVENT = (ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError)


Row = tuple[int, str, int, float, str]


def event(row: Row, attempt: int) -> Event:
    """An event from its row."""
    return Event(attempt, *row[:-1], jsontext.read(row[-1]))


def rows_after(db: sqlite3.Connection, run: str, attempt: int, after: int) -> list[Row]:
    """The rows of events behind event `after`."""
    return db.execute(f"{_TAIL} AND seq > ? ORDER BY seq", (run, attempt, after)).fetchall()


def block_after(db: sqlite3.Connection, run: str, attempt: int, after: int) -> bytes | None:
    """The first block that holds an event behind `after`; None for none."""
    query = "SELECT events FROM blocks WHERE run = ? AND attempt = ? AND last > ? ORDER BY first LIMIT 1"
    row = db.execute(query, (run, attempt, after)).fetchone()
    return None if row is None else row[0]


def digests_after(db: sqlite3.Connection, run: str, attempt: int, after: int) -> list[tuple[bytes, bytes | None]]:
    """The digest of each block that holds an event behind `after`; with its events where it holds earlier ones too."""
    query = (
        "SELECT digest, CASE WHEN first <= ? THEN events END FROM blocks "
        "WHERE run = ? AND attempt = ? AND last > ? ORDER BY first"
    )
    return db.execute(query, (after, run, attempt, after)).fetchall()


def last(db: sqlite3.Connection, run: str, attempt: int) -> int:
    """The number of the latest event of an attempt; −1 for none."""
    query = "SELECT MAX(seq) FROM events WHERE run = ? AND attempt = ?"
    (row,) = db.execute(query, (run, attempt)).fetchone()
    return _packed_through(db, run, attempt) if row is None else int(row)


def add(db: sqlite3.Connection, run: str, attempt: int, rows: Iterable[EventRow]) -> None:
    """Add events, passing over what is there, and pack what fills a block.

    Only events behind which none is missing are packed: what comes late finds its place.
    """
    after = _packed_through(db, run, attempt)
    fresh = [(run, attempt, *row) for row in rows if row.seq > after]
    db.executemany("INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", fresh)
    over = any(row[3] in FINAL_KINDS for row in fresh)
    while _pack(db, run, attempt, REST if over else FULL):
        pass


def add_all(db: sqlite3.Connection, run: str, attempt: int, events: Iterable[Event]) -> None:
    """Add all events of an attempt that has none yet and gets no more, in order; numbers may be missing."""
    part: list[Event] = []
    for one in events:
        part.append(one)
        if len(part) >= FULL or one.step - part[0].step >= FULL:
            _insert_block(db, run, part)
            part = []
    if len(part) >= REST:
        _insert_block(db, run, part)
    else:
        rows = [(run, attempt, *one[1:-1], jsontext.write(one.data)) for one in part]
        db.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)", rows)


def _packed_through(db: sqlite3.Connection, run: str, attempt: int) -> int:
    query = "SELECT last FROM blocks WHERE run = ? AND attempt = ? ORDER BY first DESC LIMIT 1"
    row = db.execute(query, (run, attempt)).fetchone()
    return -1 if row is None else int(row[0])


def _pack(db: sqlite3.Connection, run: str, attempt: int, least: int) -> bool:
    """Put the first events that are no block yet into one, if there are `least` of them or of their steps."""
    after = _packed_through(db, run, attempt)
    ends = [
        db.execute(f"SELECT seq, step FROM ({_TAIL} ORDER BY seq {way} LIMIT 1)", (run, attempt)).fetchone()
        for way in ("ASC", "DESC")
    ]
    if None in ends or (ends[1][0] - after < least and ends[1][1] - ends[0][1] < least):
        return False
    rows = db.execute(f"{_TAIL} ORDER BY seq LIMIT {FULL}", (run, attempt)).fetchall()
    begin = rows[0][2]
    whole = [row for _, row in takewhile(lambda numbered: numbered[0] == numbered[1][0], enumerate(rows, after + 1))]
    full = next((at for at, row in enumerate(whole, 1) if row[2] - begin >= FULL), len(whole))
    whole = whole[:full]
    if len(whole) < least and (not whole or whole[-1][2] - begin < least):
        return False
    try:
        _insert_block(db, run, [event(row, attempt) for row in whole])
    except NO_EVENT:
        return False
    db.execute(
        "DELETE FROM events WHERE run = ? AND attempt = ? AND seq BETWEEN ? AND ?",
        (run, attempt, whole[0][0], whole[-1][0]),
    )
    return True


def _insert_block(db: sqlite3.Connection, run: str, events: list[Event]) -> None:
    row: tuple[Any, ...] = (
        run,
        events[0].attempt,
        events[0].seq,
        events[-1].seq,
        Digest.of(events).pack(),
        packed(events),
    )
    db.execute("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?)", row)
