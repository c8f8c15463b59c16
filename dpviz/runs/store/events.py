"""How a batch of events changes a run: its attempts, its steps, its state; inside one transaction."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence

from dpviz.runs.clock import moment
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import ACTIVE, CONTROL_KIND, ENDED, FINAL_KINDS, RESTARTED, Delivery, State


def marks(values: Sequence[object]) -> str:
    """As many question marks as values, for a statement."""
    return ", ".join("?" for _ in values)


def now_of(db: sqlite3.Connection, run: str) -> float:
    """Now as the run counts time: never before what happened to it already."""
    row = db.execute("SELECT anchor, created, started FROM runs WHERE id = ?", (run,)).fetchone()
    return time.time() if row is None else moment(row[0], max(row[1], row[2] or row[1]))


def change_state(db: sqlite3.Connection, run: str, state: State, reason: str, only: Sequence[State]) -> bool:
    now = now_of(db, run)
    ended = now if state in ENDED else None
    changed = db.execute(
        f"UPDATE runs SET state = ?, reason = ?, ended = ? WHERE id = ? AND state IN ({marks(only)})",
        (state, reason, ended, run, *only),
    ).rowcount
    if changed and (ended is not None or state == "restarted"):
        db.execute("UPDATE attempts SET ended = ?, outcome = ? WHERE run = ? AND ended IS NULL", (now, state, run))
    return bool(changed)


def _attempt(db: sqlite3.Connection, batch: Delivery, state: str, latest: int) -> int | None:
    """The number of the batch's attempt, a new one if it is not known; None for a new one of a run that has ended."""
    found = db.execute(
        "SELECT attempt FROM attempts WHERE run = ? AND execution = ?", (batch.run, batch.execution)
    ).fetchone()
    if found is not None:
        return int(found[0])
    if state not in ACTIVE:
        return None
    attempt = latest + 1
    if attempt > 1:  # an earlier one was under way: its worker died, and nobody had noticed yet
        change_state(db, batch.run, "restarted", RESTARTED, ACTIVE)
    # The worker's clock says when it began, as far as that can be: after the run was sent, and not in the future.
    sent = db.execute("SELECT COALESCE(started, created) FROM runs WHERE id = ?", (batch.run,)).fetchone()[0]
    begun = max(sent, min(batch.begun, now_of(db, batch.run)))
    db.execute(
        "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, NULL, '')",
        (batch.run, attempt, batch.execution, json.dumps(batch.worker), begun),
    )
    db.execute("UPDATE runs SET attempt = ?, steps = 0 WHERE id = ?", (attempt, batch.run))
    return attempt


def record_batch(db: sqlite3.Connection, batch: Delivery) -> bool:
    """Whether its run is there, and open to a new attempt if it is one."""
    row = db.execute("SELECT state, attempt FROM runs WHERE id = ?", (batch.run,)).fetchone()
    if row is None:
        return False
    attempt = _attempt(db, batch, row[0], row[1])
    if attempt is None:
        return False
    db.executemany(
        "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(batch.run, attempt, *event) for event in batch.rows],
    )
    if not batch.rows or attempt < row[1]:
        return True
    db.execute(
        "UPDATE runs SET steps = MAX(steps, ?) WHERE id = ?", (max(event.step for event in batch.rows), batch.run)
    )
    for event in batch.rows:
        if event.kind == CONTROL_KIND:
            moving: State = "restarted" if attempt > 1 else "running"
            paused = jsontext.read(event.text).get("state") == "paused"
            reason = RESTARTED if attempt > 1 else ""
            change_state(db, batch.run, "paused" if paused else moving, reason, ACTIVE)
        elif event.kind in FINAL_KINDS:
            data = jsontext.read(event.text)
            db.execute("UPDATE runs SET summary = ? WHERE id = ?", (event.text, batch.run))
            reason = str(data.get("text") or data.get("reason") or "")
            # A run given up as lost may still have sent its last events: they are the truth.
            change_state(db, batch.run, FINAL_KINDS[event.kind], reason, (*ACTIVE, "lost"))
    return True
