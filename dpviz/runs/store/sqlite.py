"""Runs in one SQLite file: what a killed process had recorded is there, and several processes may look and write."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from dpviz.runs.clock import anchor
from dpviz.runs.cluster.processes import Process
from dpviz.runs.store import jsontext
from dpviz.runs.store.events import change_state, marks, now_of, record_batch
from dpviz.runs.store.file import SqliteFile
from dpviz.runs.store.records import (
    ACTIVE,
    ENDED,
    OPEN,
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
from dpviz.runs.store.rescue import notices

T = TypeVar("T")

_COLUMNS = (
    "id, number, name, note, target, settings, options, state, reason, created, started, ended, attempt, steps, "
    "wish, granted, baseline, deleted, imported, owner, summary"
)


def _record(row: tuple[Any, ...]) -> RunRecord:
    """ValueError, KeyError or TypeError where the row is not what was written."""
    values = dict(zip(_COLUMNS.split(", "), row, strict=True))
    values["desired"] = values.pop("wish")
    for name in ("settings", "options", "summary"):
        values[name] = jsontext.read(values[name])
    for name in ("baseline", "imported"):
        values[name] = bool(values[name])
    if values["state"] not in STATES:
        raise ValueError(f"state {values['state']!r}")
    return RunRecord(**values)


def _event(row: tuple[Any, ...]) -> Event:
    attempt, seq, kind, step, moment, text = row
    return Event(attempt, seq, kind, step, moment, jsontext.read(text))


class SqliteStore:
    """`dpviz.runs.store.interface.Store` in the file `path`, which is made if it is not there.

    Raises:
        StoreError: from any method, if the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.file = SqliteFile(path)

    @property
    def notice(self) -> str:
        return " ".join(notices(self.file.path.parent))

    def _read(self, make: Callable[[tuple[Any, ...]], T], rows: Sequence[Any]) -> list[T]:
        """Values from rows. Bytes that were overwritten inside a row SQLite does not notice: reading them does."""
        try:
            return [make(row) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise self.file.damaged(f"a row holds {error}") from error

    @property
    def place(self) -> str:
        return str(self.file.path)

    def close(self) -> None:
        self.file.close()

    # Engines

    def heartbeat(self, owner: str, process: Process) -> None:
        with self.file.connection(write=True, backed_up=False) as db:
            db.execute(
                "INSERT INTO owners VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET heartbeat = excluded.heartbeat",
                (owner, json.dumps(process.to_json()), time.time()),
            )

    def owners(self) -> list[Owner]:
        rows: list[Any] = self.file.fetch("SELECT id, process, heartbeat FROM owners")
        return self._read(lambda row: Owner(row[0], Process.from_json(json.loads(row[1])), float(row[2])), rows)

    # Runs

    def create(
        self, *, target: str, settings: dict[str, Any], options: dict[str, Any], name: str, owner: str, run: str = ""
    ) -> RunRecord:
        run = run or new_id()
        texts = jsontext.write(settings), jsontext.write(options)
        with self.file.connection(write=True) as db:
            db.execute(
                "INSERT INTO runs (id, name, note, target, settings, options, state, reason, created, attempt, steps, "
                "wish, granted, baseline, imported, owner, summary, anchor) "
                "VALUES (?, ?, '', ?, ?, ?, 'queued', '', ?, 0, 0, 'go', 0, 0, 0, ?, '{}', ?) "
                "ON CONFLICT (id) DO NOTHING",
                (run, name, target, *texts, time.time(), owner, anchor()),
            )
        return self.run(run)

    def run(self, run: str) -> RunRecord:
        rows = self.file.fetch(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run,))
        if not rows:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        return self._read(_record, rows)[0]

    def runs(self, *, deleted: bool = False, states: Sequence[State] = ()) -> list[RunRecord]:
        where = f"deleted IS {'NOT ' if deleted else ''}NULL"
        if states:
            where += f" AND state IN ({marks(states)})"
        rows = self.file.fetch(f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY number DESC", tuple(states))
        return self._read(_record, rows)

    def claim(self, owner: str, host: Process | None, limit: int) -> RunRecord | None:
        with self.file.connection(write=True) as db:
            active = db.execute(f"SELECT COUNT(*) FROM runs WHERE state IN ({marks(ACTIVE)})", ACTIVE).fetchone()[0]
            if active >= limit:
                return None
            found = db.execute(
                "SELECT id FROM runs WHERE state = 'queued' AND owner = ? ORDER BY number LIMIT 1", (owner,)
            ).fetchone()
            if found is None:
                return None
            db.execute(
                "UPDATE runs SET state = 'running', reason = '', started = ?, host = ? WHERE id = ?",
                (now_of(db, found[0]), json.dumps(host.to_json()) if host else None, found[0]),
            )
        return self.run(found[0])

    def release(self, run: str) -> bool:
        with self.file.connection(write=True) as db:
            changed = db.execute(
                "UPDATE runs SET state = 'queued', reason = '', started = NULL, host = NULL "
                f"WHERE id = ? AND attempt = 0 AND state IN ({marks(ACTIVE)})",
                (run, *ACTIVE),
            ).rowcount
            return bool(changed)

    def adopt(self, run: str, former: str, owner: str) -> bool:
        with self.file.connection(write=True) as db:
            changed = db.execute(
                "UPDATE runs SET owner = ? WHERE id = ? AND owner = ? AND state = 'queued'", (owner, run, former)
            ).rowcount
            return bool(changed)

    def host_of(self, run: str) -> Process | None:
        rows: list[Any] = self.file.fetch("SELECT host FROM runs WHERE id = ?", (run,))
        held = self._read(lambda row: Process.from_json(json.loads(row[0])), [row for row in rows if row[0]])
        return held[0] if held else None

    def set_desired(
        self, run: str, desired: DesiredState, *, single_steps: int = 0, granted: int | None = None
    ) -> RunRecord:
        self.run(run)
        with self.file.connection(write=True) as db:
            db.execute("UPDATE runs SET wish = ? WHERE id = ?", (desired, run))
            db.execute(
                "UPDATE runs SET granted = granted + ? WHERE id = ? AND granted = COALESCE(?, granted)",
                (single_steps, run, granted),
            )
            if desired in ("stop", "kill"):
                db.execute(
                    "UPDATE runs SET state = 'stopped', reason = 'stopped before it started', ended = ? "
                    "WHERE id = ? AND state = 'queued'",
                    (now_of(db, run), run),
                )
        return self.run(run)

    def change_state(self, run: str, state: State, reason: str = "", *, only: Sequence[State]) -> bool:
        with self.file.connection(write=True) as db:
            return change_state(db, run, state, reason, only)

    # Events

    def record(self, batches: Sequence[Delivery]) -> list[bool]:
        with self.file.connection(write=True) as db:
            return [record_batch(db, batch) for batch in batches]

    def events_since(self, run: str, seq: int = -1, attempt: int | None = None, limit: int | None = None) -> News:
        rows: list[Any] = self.file.fetch("SELECT attempt FROM runs WHERE id = ?", (run,))
        if not rows:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        latest = int(rows[0][0])
        if attempt is not None and latest != attempt:
            seq = -1
        found: list[Any] = self.file.fetch(
            "SELECT attempt, seq, kind, step, time, data FROM events "
            "WHERE run = ? AND attempt = ? AND seq > ? ORDER BY seq LIMIT ?",
            (run, latest, seq, -1 if limit is None else limit),
        )
        events = self._read(_event, found)
        return News(latest, events, events[-1].seq if events else seq)

    def events(self, run: str, attempt: int | None = None, kinds: Sequence[str] = ()) -> list[Event]:
        latest = self.run(run).attempt if attempt is None else attempt
        where = f" AND kind IN ({marks(kinds)})" if kinds else ""
        rows: list[Any] = self.file.fetch(
            "SELECT attempt, seq, kind, step, time, data FROM events "
            f"WHERE run = ? AND attempt = ?{where} ORDER BY seq",
            (run, latest, *kinds),
        )
        return self._read(_event, rows)

    def event_count(self, run: str, execution: str) -> int:
        rows: list[Any] = self.file.fetch(
            "SELECT COUNT(*) FROM events JOIN attempts USING (run, attempt) WHERE run = ? AND execution = ?",
            (run, execution),
        )
        return int(rows[0][0])

    def attempts(self, run: str) -> list[dict[str, Any]]:
        names = ("attempt", "execution", "worker", "started", "ended", "outcome")
        rows: list[Any] = self.file.fetch(
            f"SELECT {', '.join(names)} FROM attempts WHERE run = ? ORDER BY attempt", (run,)
        )
        found = self._read(lambda row: dict(zip(names, row, strict=True)) | {"worker": json.loads(row[2])}, rows)
        return found

    # The user's words

    def _set(self, run: str, **columns: object) -> None:
        self.run(run)
        names = ", ".join(f"{name} = ?" for name in columns)
        with self.file.connection(write=True) as db:
            db.execute(f"UPDATE runs SET {names} WHERE id = ?", (*columns.values(), run))

    def rename(self, run: str, name: str) -> None:
        self._set(run, name=name)

    def annotate(self, run: str, note: str) -> None:
        self._set(run, note=note)

    def pin_baseline(self, run: str | None) -> None:
        if run is not None:
            self.run(run)
        with self.file.connection(write=True) as db:
            db.execute("UPDATE runs SET baseline = (id = ?)", (run or "",))

    def delete(self, run: str) -> None:
        record = self.run(run)
        if record.state in OPEN:
            raise ValueError(
                f"Expected {record.title} to have ended before it is deleted; it is {record.state}: stop it."
            )
        self._set(run, deleted=time.time())

    def undelete(self, run: str) -> None:
        self._set(run, deleted=None)

    def purge(self, run: str) -> None:
        if self.run(run).deleted is None:
            raise ValueError(f"Expected run {run!r} to be deleted before it is removed for good.")
        self.file.forget_backup()
        with self.file.connection(write=True) as db:
            for table, key in (("events", "run"), ("attempts", "run"), ("runs", "id")):
                db.execute(f"DELETE FROM {table} WHERE {key} = ?", (run,))
        with self.file.connection() as db:
            db.executescript("PRAGMA incremental_vacuum")  # `execute` would stop after one page

    def insert(self, record: RunRecord, attempts: Sequence[dict[str, Any]], events: Sequence[Event]) -> RunRecord:
        if record.state not in ENDED:
            raise ValueError(f"Expected a run that has ended, found state {record.state!r}.")
        run = new_id()
        texts = [jsontext.write(part) for part in (record.settings, record.options, record.summary)]
        with self.file.connection(write=True) as db:
            db.execute(
                "INSERT INTO runs (id, name, note, target, settings, options, state, reason, created, started, ended, "
                "attempt, steps, wish, granted, baseline, imported, owner, summary) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'go', 0, 0, 1, '', ?)",
                (
                    run, record.name, record.note, record.target, texts[0], texts[1], record.state, record.reason,
                    record.created, record.started, record.ended, record.attempt, record.steps, texts[2],
                ),
            )  # fmt: skip
            db.executemany(
                "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)",
                [
                    (run, a["attempt"], a["execution"], json.dumps(a["worker"]), a["started"], a["ended"], a["outcome"])
                    for a in attempts
                ],
            )
            db.executemany(
                "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)",
                [(run, e.attempt, e.seq, e.kind, e.step, e.time, jsontext.write(e.data)) for e in events],
            )
        return self.run(run)
