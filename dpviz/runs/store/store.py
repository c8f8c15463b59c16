"""Runs in one SQLite file: what a killed process had recorded is there, and several processes may look and write."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from dpviz.runs.processes import Process, this_machine
from dpviz.runs.store import jsontext
from dpviz.runs.store.file import SqliteFile, backup_of, insert
from dpviz.runs.store.folders import home
from dpviz.runs.store.records import (
    ACTIVE,
    CONTROL_KIND,
    ENDED,
    FINAL_KINDS,
    OPEN,
    RESTARTED,
    STATES,
    Delivery,
    DesiredState,
    Event,
    News,
    Owner,
    RunRecord,
    State,
    new_id,
)
from dpviz.runs.store.rescue import notices, set_aside
from dpviz.runs.words import words

T = TypeVar("T")

# Seconds that a deleted run can be brought back: a week.
KEPT = 7 * 24 * 3600.0

_NAMES = [field.name for field in dataclasses.fields(RunRecord)]
_COLUMNS = ", ".join(_NAMES).replace("desired", "wish")
_EVENT = "attempt, seq, kind, step, time, data"
_ATTEMPT = ("attempt", "execution", "worker", "started", "ended", "outcome")


def open_store(folder: Path | None = None) -> Store:
    """The store in `folder`, in `home()` if None; made if it is not there.

    Raises:
        StoreError: if the folder cannot be written or holds something else.
    """
    return Store((folder or home()) / "runs.sqlite")


class Store:
    """Runs, their attempts and events in the file `path`, which is made if it is not there.

    Safe to use from many threads and processes at once. A run that does not exist raises KeyError. Whatever was
    recorded stays, also when a process is killed in the midst.

    Raises:
        StoreError: from any method, if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.file = SqliteFile(path, set_aside)

    @property
    def place(self) -> str:
        """Where it lies, for messages."""
        return str(self.file.path)

    @property
    def notice(self) -> str:
        """What people should know of it: that a damaged one was set aside, and where; "" if there is nothing."""
        return " ".join(notices(self.file.path.parent))

    def close(self) -> None:
        self.file.close()

    def _read(self, make: Callable[[tuple[Any, ...]], T], statement: str, *values: object) -> list[T]:
        """Values from rows. Bytes that were overwritten inside a row SQLite does not notice: reading them does."""
        rows = self.file.fetch(statement, *values)
        try:
            return [make(row) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise self.file.damaged(f"a row holds {error}") from error

    def _write(self, statement: str, *values: object) -> int:
        """How many rows it changed."""
        with self.file.connection(write=True) as db:
            return db.execute(statement, values).rowcount

    # Engines

    def heartbeat(self, owner: str, process: Process) -> None:
        """Make the owner known, and that it lives now."""
        with self.file.connection(write=True, backed_up=False) as db:
            db.execute(
                "INSERT INTO owners VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET heartbeat = excluded.heartbeat",
                (owner, json.dumps(process.to_json()), time.time()),
            )

    def owners(self) -> list[Owner]:
        return self._read(
            lambda row: Owner(row[0], Process.from_json(json.loads(row[1])), float(row[2])),
            "SELECT id, process, heartbeat FROM owners",
        )

    # Runs

    def create(
        self, *, target: str, settings: dict[str, Any], options: dict[str, Any], name: str, owner: str, run: str = ""
    ) -> RunRecord:
        """A new run in state "queued"; where there is one of id `run` already, that one, as it is."""
        record = RunRecord(
            run or new_id(),
            name=name,
            target=target,
            settings=settings,
            options=options,
            created=time.time(),
            owner=owner,
        )
        with self.file.connection(write=True) as db:
            insert(db, "runs", _row(record) | {"anchor": _anchor()}, ignore=True)
        return self.run(record.id)

    def run(self, run: str) -> RunRecord:
        records = self._read(_record, f"SELECT {_COLUMNS} FROM runs WHERE id = ?", run)
        if not records:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        return records[0]

    def runs(self, *, deleted: bool = False, states: Sequence[State] = ()) -> list[RunRecord]:
        """Newest first; those deleted only with `deleted`; all states if none is named."""
        where = f"deleted IS {'NOT ' * deleted}NULL" + (f" AND state IN ({_marks(states)})" if states else "")
        return self._read(_record, f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY number DESC", *states)

    def claim(self, owner: str, host: Process | None, limit: int) -> RunRecord | None:
        """Take the owner's oldest queued run and set it running, unless `limit` runs are active, anyone's."""
        with self.file.connection(write=True) as db:
            active = db.execute(f"SELECT COUNT(*) FROM runs WHERE state IN ({_marks(ACTIVE)})", ACTIVE).fetchone()[0]
            oldest = db.execute(
                "SELECT id FROM runs WHERE state = 'queued' AND owner = ? ORDER BY number LIMIT 1", (owner,)
            ).fetchone()
            if active >= limit or oldest is None:
                return None
            db.execute(
                "UPDATE runs SET state = 'running', reason = '', started = ?, host = ? WHERE id = ?",
                (_now_of(db, oldest[0]), json.dumps(host.to_json()) if host else None, oldest[0]),
            )
        return self.run(oldest[0])

    def release(self, run: str) -> bool:
        """Put a run that was claimed but never began back into the queue; whether it was such a one."""
        return bool(
            self._write(
                "UPDATE runs SET state = 'queued', reason = '', started = NULL, host = NULL "
                f"WHERE id = ? AND attempt = 0 AND state IN ({_marks(ACTIVE)})",
                run,
                *ACTIVE,
            )
        )

    def adopt(self, run: str, former: str, owner: str) -> bool:
        """Make a queued run of `former` one of `owner`; whether it was still his."""
        change = "UPDATE runs SET owner = ? WHERE id = ? AND owner = ? AND state = 'queued'"
        return bool(self._write(change, owner, run, former))

    def host_of(self, run: str) -> Process | None:
        """The process that hosts the run's workers; None if it is not on this side."""
        query = "SELECT host FROM runs WHERE id = ? AND host IS NOT NULL"
        return next(iter(self._read(lambda row: Process.from_json(json.loads(row[0])), query, run)), None)

    def set_desired(
        self, run: str, desired: DesiredState, *, single_steps: int = 0, granted: int | None = None
    ) -> RunRecord:
        """Say what is wanted. A queued run that is to stop is stopped at once.

        With `granted`, single steps are added only to so many granted before: asked twice, they count once.
        """
        with self.file.connection(write=True) as db:
            db.execute("UPDATE runs SET wish = ? WHERE id = ?", (desired, run))
            db.execute(
                "UPDATE runs SET granted = granted + ? WHERE id = ? AND granted = COALESCE(?, granted)",
                (single_steps, run, granted),
            )
            if desired in ("stop", "kill"):
                _change_state(db, run, "stopped", "stopped before it started", ("queued",))
        return self.run(run)

    def change_state(self, run: str, state: State, reason: str = "", *, only: Sequence[State]) -> bool:
        """Set the state if it is one of `only`; whether it was."""
        with self.file.connection(write=True) as db:
            return _change_state(db, run, state, reason, only)

    # Events

    def record(self, batches: Sequence[Delivery]) -> list[bool]:
        """Add events, all in one transaction; what is already there is passed over. Final events end their run.

        Returns once they are on the disk, as everything written: for each batch whether it has a place here, which
        it has not where its run was removed, or ended before this execution began.
        """
        with self.file.connection(write=True) as db:
            return [_record_batch(db, batch) for batch in batches]

    def events_since(self, run: str, seq: int = -1, attempt: int | None = None) -> News:
        """Events after number `seq` of the latest attempt, all of it if that is not `attempt` (None: any)."""
        rows = self.file.fetch("SELECT attempt FROM runs WHERE id = ?", run)
        if not rows:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        latest = int(rows[0][0])
        if attempt is not None and latest != attempt:
            seq = -1
        query = f"SELECT {_EVENT} FROM events WHERE run = ? AND attempt = ? AND seq > ? ORDER BY seq"
        events = self._read(_event, query, run, latest, seq)
        return News(latest, events, events[-1].seq if events else seq)

    def events(self, run: str, attempt: int | None = None, kinds: Sequence[str] = ()) -> list[Event]:
        """Events of one attempt, the latest if None."""
        latest = self.run(run).attempt if attempt is None else attempt
        where = f" AND kind IN ({_marks(kinds)})" if kinds else ""
        query = f"SELECT {_EVENT} FROM events WHERE run = ? AND attempt = ?{where} ORDER BY seq"
        return self._read(_event, query, run, latest, *kinds)

    def attempts(self, run: str) -> list[dict[str, Any]]:
        """ "attempt", "execution", "worker", "started", "ended" and "outcome" of each attempt, oldest first."""
        return self._read(
            lambda row: dict(zip(_ATTEMPT, row, strict=True)) | {"worker": json.loads(row[2])},
            f"SELECT {', '.join(_ATTEMPT)} FROM attempts WHERE run = ? ORDER BY attempt",
            run,
        )

    # The user's words

    def _set(self, run: str, **columns: object) -> None:
        names = ", ".join(f"{name} = ?" for name in columns)
        if not self._write(f"UPDATE runs SET {names} WHERE id = ?", *columns.values(), run):
            self.run(run)  # raises KeyError

    def rename(self, run: str, name: str) -> None:
        self._set(run, name=name)

    def annotate(self, run: str, note: str) -> None:
        self._set(run, note=note)

    def pin_baseline(self, run: str | None) -> None:
        """Make it the baseline, and no other; None: no run is."""
        if run is not None:
            self.run(run)
        self._write("UPDATE runs SET baseline = (id = ?)", run or "")

    def delete(self, run: str) -> None:
        """Hide it; `undelete` brings it back. An open run is refused with ValueError."""
        record = self.run(run)
        if record.state in OPEN:
            raise ValueError(words("store", "not_ended", record=record))
        self._set(run, deleted=time.time())

    def undelete(self, run: str) -> None:
        self._set(run, deleted=None)

    def purge(self, run: str) -> None:
        """Remove a deleted run for good: what was removed is in no copy either."""
        if self.run(run).deleted is None:
            raise ValueError(f"Expected run {run!r} to be deleted before it is removed for good.")
        backup_of(self.file.path).unlink(missing_ok=True)
        with self.file.connection(write=True) as db:
            for table, key in (("events", "run"), ("attempts", "run"), ("runs", "id")):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (run,))
        with self.file.connection() as db:
            db.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page

    def purge_old(self, weights: Callable[[str], Path]) -> None:
        """Remove for good what was deleted more than `KEPT` seconds ago, weights first."""
        for record in self.runs(deleted=True):
            if record.deleted is not None and time.time() - record.deleted > KEPT:
                with suppress(OSError):
                    weights(record.id).unlink(missing_ok=True)
                with suppress(KeyError, ValueError):  # brought back, or removed, by another app meanwhile
                    self.purge(record.id)

    def insert(self, record: RunRecord, attempts: Sequence[dict[str, Any]], events: Sequence[Event]) -> RunRecord:
        """Add a run that ended elsewhere, under a new id and number."""
        if record.state not in ENDED:
            raise ValueError(f"Expected a run that has ended, found state {record.state!r}.")
        run = new_id()
        with self.file.connection(write=True) as db:
            insert(db, "runs", _row(dataclasses.replace(record, id=run, imported=True, owner="")))
            for attempt in attempts:
                insert(db, "attempts", {"run": run, **attempt, "worker": json.dumps(attempt["worker"])})
            db.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(run, *event[:-1], jsontext.write(event.data)) for event in events],
            )
        return self.run(run)


def _marks(values: Sequence[object]) -> str:
    """As many question marks as values, for a statement."""
    return ", ".join("?" for _ in values)


def _row(record: RunRecord) -> dict[str, Any]:
    """The columns of a record; its number is the store's to give."""
    row = {name: getattr(record, name) for name in _NAMES if name != "number"}
    row["wish"] = row.pop("desired")
    return row | {name: jsontext.write(row[name]) for name in ("settings", "options", "summary")}


def _record(row: tuple[Any, ...]) -> RunRecord:
    """ValueError, KeyError or TypeError where the row is not what was written."""
    values = dict(zip(_NAMES, row, strict=True))
    for name in ("settings", "options", "summary"):
        values[name] = jsontext.read(values[name])
    for name in ("baseline", "imported"):
        values[name] = bool(values[name])
    if values["state"] not in STATES:
        raise ValueError(f"state {values['state']!r}")
    return RunRecord(**values)


def _event(row: tuple[Any, ...]) -> Event:
    attempt, seq, kind, step, seconds, text = row
    return Event(attempt, seq, kind, step, seconds, jsontext.read(text))


# Moments of a run that later ones follow, also when somebody sets the clock meanwhile. Its anchor says what the wall
# clock showed when it was created and where the monotonic clock stood: every later moment of it is told from there, by
# whichever process of this machine, so that differences are true durations.


def _anchor() -> str:
    """Where this machine's two clocks stand now."""
    return json.dumps({"machine": this_machine(), "offset": time.time() - time.monotonic()})


def moment(anchored: str, earliest: float) -> float:
    """Now, in seconds since 1970 as the anchor counts them; the wall clock's, never before `earliest`, where the
    anchor is another machine's or from before a restart of this one."""
    held = json.loads(anchored) if anchored else {}
    if held.get("machine") == this_machine():
        return max(earliest, float(held["offset"]) + time.monotonic())
    return max(earliest, time.time())


def _now_of(db: sqlite3.Connection, run: str) -> float:
    """Now as the run counts time: never before what happened to it already."""
    row = db.execute("SELECT anchor, created, started FROM runs WHERE id = ?", (run,)).fetchone()
    return time.time() if row is None else moment(row[0], max(row[1], row[2] or row[1]))


def _change_state(db: sqlite3.Connection, run: str, state: State, reason: str, only: Sequence[State]) -> bool:
    now = _now_of(db, run)
    ended = now if state in ENDED else None
    changed = db.execute(
        f"UPDATE runs SET state = ?, reason = ?, ended = ? WHERE id = ? AND state IN ({_marks(only)})",
        (state, reason, ended, run, *only),
    ).rowcount
    if changed and (ended is not None or state == "restarted"):
        db.execute("UPDATE attempts SET ended = ?, outcome = ? WHERE run = ? AND ended IS NULL", (now, state, run))
    return bool(changed)


def _attempt_of(db: sqlite3.Connection, batch: Delivery, state: str, latest: int) -> int | None:
    """The number of the batch's attempt, a new one if it is not known; None for a new one of a run that has ended."""
    query = "SELECT attempt FROM attempts WHERE run = ? AND execution = ?"
    if (known := db.execute(query, (batch.run, batch.execution)).fetchone()) is not None:
        return int(known[0])
    if state not in ACTIVE:
        return None
    attempt = latest + 1
    if attempt > 1:  # an earlier one was under way: its worker died, and nobody had noticed yet
        _change_state(db, batch.run, "restarted", RESTARTED, ACTIVE)
    # The worker's clock says when it began, as far as that can be: after the run was sent, and not in the future.
    sent = db.execute("SELECT COALESCE(started, created) FROM runs WHERE id = ?", (batch.run,)).fetchone()[0]
    begun = max(sent, min(batch.begun, _now_of(db, batch.run)))
    row = {"run": batch.run, "attempt": attempt, "execution": batch.execution, "worker": json.dumps(batch.worker)}
    insert(db, "attempts", row | {"started": begun, "outcome": ""})
    db.execute("UPDATE runs SET attempt = ?, steps = 0 WHERE id = ?", (attempt, batch.run))
    return attempt


def _record_batch(db: sqlite3.Connection, batch: Delivery) -> bool:
    """Whether its run is there, and open to a new attempt if it is one."""
    row = db.execute("SELECT state, attempt FROM runs WHERE id = ?", (batch.run,)).fetchone()
    attempt = None if row is None else _attempt_of(db, batch, *row)
    if attempt is None:
        return False
    db.executemany(
        "INSERT OR IGNORE INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
        [(batch.run, attempt, *event) for event in batch.rows],
    )
    if not batch.rows or attempt < row[1]:
        return True
    last = max(event.step for event in batch.rows)
    db.execute("UPDATE runs SET steps = MAX(steps, ?) WHERE id = ?", (last, batch.run))
    going: State = "restarted" if attempt > 1 else "running"
    reason = RESTARTED if attempt > 1 else ""
    for event in batch.rows:
        if event.kind == CONTROL_KIND:
            paused = jsontext.read(event.text).get("state") == "paused"
            _change_state(db, batch.run, "paused" if paused else going, reason, ACTIVE)
        elif event.kind in FINAL_KINDS:
            data = jsontext.read(event.text)
            db.execute("UPDATE runs SET summary = ? WHERE id = ?", (event.text, batch.run))
            why = str(data.get("text") or data.get("reason") or "")
            # A run given up as lost may still have sent its last events: they are the truth.
            _change_state(db, batch.run, FINAL_KINDS[event.kind], why, (*ACTIVE, "lost"))
    return True
