"""Runs in one SQLite file: what a killed process had recorded is there, and several processes may look and write."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from dpviz.runs.processes import Process, this_machine
from dpviz.runs.store import events, jsontext
from dpviz.runs.store.blocks import unpacked
from dpviz.runs.store.copies import remove_run
from dpviz.runs.store.digest import Digest, News, combined
from dpviz.runs.store.file import SqliteFile, insert
from dpviz.runs.store.folders import home
from dpviz.runs.store.records import (
    ACTIVE,
    CONTINUED_KIND,
    CONTROL_KIND,
    ENDED,
    FINAL_KINDS,
    GOES_ON,
    OPEN,
    RESTARTED,
    STATES,
    UNREAD,
    Chosen,
    Delivery,
    DesiredState,
    Event,
    Owner,
    RunRecord,
    State,
    new_id,
)
from dpviz.runs.store.rescue import notices, set_aside
from dpviz.runs.store.spool import Spool

T = TypeVar("T")

# Seconds that a deleted run can be brought back: a week.
KEPT = 7 * 24 * 3600.0
EVERY = Chosen()
_SOME = 50  # runs that are read at once

_NAMES = [field.name for field in dataclasses.fields(RunRecord)]
_COLUMNS = ", ".join(_NAMES).replace("desired", "wish")
_ATTEMPT = ("attempt", "execution", "worker", "started", "ended", "outcome")
_ATTEMPTS = f"SELECT {', '.join(_ATTEMPT)} FROM attempts WHERE run = ? ORDER BY attempt"


class RunSnapshot(NamedTuple):
    """A run at one moment: its record, its attempts (`Store.attempts`), and the number of its latest event, −1 for
    none."""

    record: RunRecord
    attempts: list[dict[str, Any]]
    last: int


class StateNow(NamedTuple):
    """What shows at once when it changes: the latest attempt of a run, its state, what is desired of it, and why."""

    attempt: int
    state: str
    desired: str
    reason: str

    @classmethod
    def of(cls, record: RunRecord) -> StateNow:
        return cls(record.attempt, record.state, record.desired, record.reason)


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
        with self._sound():
            return [make(row) for row in rows]

    @contextmanager
    def _sound(self) -> Iterator[None]:
        """Reads values of rows, which fails where they are not as they were written."""
        try:
            yield
        except (ValueError, KeyError, TypeError) as error:
            raise self.file.damaged(f"a row holds {error}") from error

    def _write(self, statement: str, *values: object) -> int:
        """How many rows it changed."""
        with self.file.connection(write=True) as db:
            return db.execute(statement, values).rowcount

    # Programs that compute runs of their own

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
        self, *, target: str, settings: dict[str, Any], options: dict[str, Any], name: str = "", run: str = ""
    ) -> RunRecord:
        """A new run in state "queued"; where there is one of id `run` already, that one, as it is."""
        record = RunRecord(
            run or new_id(),
            name=name,
            target=target,
            settings=settings,
            options=options,
            created=time.time(),
        )
        with self.file.connection(write=True) as db:
            insert(db, "runs", _row(record) | {"anchor": _anchor()}, ignore=True)
        return self.run(record.id)

    def run(self, run: str) -> RunRecord:
        records = self._read(_record, f"SELECT {_COLUMNS} FROM runs WHERE id = ?", run)
        if not records:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        return records[0]

    def state_now(self, run: str) -> StateNow:
        """Its state, for who asks often: a row of four values, none of which is JSON."""
        rows = self.file.fetch("SELECT attempt, state, wish, reason FROM runs WHERE id = ?", run)
        return StateNow(*rows[0]) if rows else StateNow.of(self.run(run))  # which raises KeyError

    def runs(self, *, deleted: bool = False, states: Sequence[State] = (), most: int = -1) -> list[RunRecord]:
        """The newest ones first, at most `most` (−1: all); deleted ones only with `deleted`; all states if none is
        named."""
        where = f"{'+' * bool(states)}deleted IS {'NOT ' * deleted}NULL" + (
            f" AND state IN ({_marks(states)})" if states else ""
        )
        query = f"SELECT {_COLUMNS} FROM runs WHERE {where} ORDER BY number DESC LIMIT ?"
        return self._read(_record, query, *states, most)

    def states(self, states: Sequence[State]) -> dict[str, State]:
        """The state of each run that is in one of these, by id, oldest first."""
        where = f"+deleted IS NULL AND state IN ({_marks(states)})"  # by the index of states: these are few
        return dict(self.file.fetch(f"SELECT id, state FROM runs WHERE {where} ORDER BY number", *states))

    def count(self, chosen: Chosen = EVERY) -> int:
        """How many runs a list of these would show."""
        where, values = _where(chosen)
        return int(self.file.fetch(f"SELECT COUNT(*) FROM runs WHERE {where}", *values)[0][0])

    def listed(self, chosen: Chosen, most: int, after: int = 0) -> list[RunRecord]:
        """The baseline first, then the newest: `most` runs after the first `after`."""
        where, values = _where(chosen)
        order = "ORDER BY baseline DESC, number DESC LIMIT ? OFFSET ?"
        return self._read(_record, f"SELECT {_COLUMNS} FROM runs WHERE {where} {order}", *values, most, after)

    def each(self, chosen: Chosen) -> Iterator[RunRecord]:
        """These runs, the newest first, read some at a time: whoever wants few reads few."""
        where, values = _where(chosen)
        some = f"SELECT {_COLUMNS} FROM runs WHERE {where} AND number < ? ORDER BY number DESC LIMIT {_SOME}"
        before = 2**63 - 1
        while records := self._read(_record, some, *values, before):
            yield from records
            before = records[-1].number

    def most_accurate(self, most: int, chosen: Chosen = EVERY) -> list[RunRecord]:
        """The runs with the highest accuracy on test data, best first and of equals the newest; at most `most`."""
        where, values = _where(chosen)
        best = f"{where} AND {_ACCURACY} IS NOT NULL ORDER BY {_ACCURACY} DESC, number DESC LIMIT ?"
        return self._read(_record, f"SELECT {_COLUMNS} FROM runs WHERE {best}", *values, most)

    def count_tested(self, chosen: Chosen = EVERY) -> int:
        """How many of these have an accuracy on test data."""
        where, values = _where(chosen)
        query = f"SELECT COUNT(*) FROM runs WHERE {where} AND {_ACCURACY} IS NOT NULL"
        return int(self.file.fetch(query, *values)[0][0])

    def begin(self, run: str, owner: str = "") -> bool:
        """Set a queued run running: computed by the program `owner`, or by a worker; whether it was queued."""
        with self.file.connection(write=True) as db:
            return _begin(db, run, owner)

    def begin_again(self, run: str) -> bool:
        """Queue another attempt of a run of workers that has ended; whether it had, and is kept."""
        with self.file.connection(write=True) as db:
            return bool(
                db.execute(
                    f"UPDATE runs SET state = 'queued', reason = ?, ended = NULL, wish = 'go' WHERE id = ? "
                    f"AND deleted IS NULL AND NOT imported AND owner = '' AND state IN ({_marks(ENDED)})",
                    (GOES_ON, run, *ENDED),
                ).rowcount
            )

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
        """Set the state if it is one of `only`; whether it was. A run that ends so is given up by who says it."""
        with self.file.connection(write=True) as db:
            changed = _change_state(db, run, state, reason, only)
            if changed and state in (*ENDED, "restarted"):
                _give_up(db, run, state)
            return changed

    def expect(self, run: str, executions: Sequence[str], worker: dict[str, Any]) -> None:
        """Make attempts of executions that began and of which nothing was read yet, where they are not known."""
        with self.file.connection(write=True) as db:
            for execution in executions:
                if _known(db, run, execution) is None:
                    _unseen(db, run, execution, worker)

    def all_recorded(self, run: str, execution: str) -> bool:
        """Everything that an execution will ever have written is recorded: whether its run is over, and needs it no
        more."""
        query = (
            "SELECT attempts.outcome, runs.ended FROM attempts JOIN runs ON runs.id = attempts.run "
            "WHERE run = ? AND execution = ?"
        )
        row = self.file.fetch(query, run, execution)
        if row and row[0][0] == UNREAD:
            self._write(
                "UPDATE attempts SET outcome = (SELECT CASE WHEN runs.attempt = attempts.attempt AND state != "
                "'queued' THEN state ELSE 'restarted' END FROM runs WHERE id = run) WHERE run = ? AND execution = ?",
                run,
                execution,
            )
        return not row or row[0][1] is not None

    def unread_clusters(self) -> set[str]:
        """Where attempts ran of which not everything was read: the addresses of their schedulers, "" the local one."""
        rows = self.file.fetch("SELECT DISTINCT worker FROM attempts WHERE outcome = ?", UNREAD)
        return {str(json.loads(worker).get("cluster", "")) for (worker,) in rows}

    # Events

    def record(self, batches: Sequence[Delivery]) -> list[bool]:
        """Add events, all in one transaction; what is already there is passed over. Final events end their run.

        Returns once they are on the disk, as everything written: for each batch whether it has a place here, which
        it has not where its run was removed, or ended before this execution began.
        """
        with self.file.connection(write=True) as db:
            return [_record_batch(db, batch) for batch in batches]

    def news(self, run: str, after: int = -1, attempt: int | None = None) -> News:
        """What came after event `after` of the latest attempt, all of it if that is not `attempt` (None: any).

        Raises:
            ValueError, TypeError, …: `events.NO_EVENT`, where a target of somebody's own told what is no event.
        """
        with self.file.connection(read=True) as db:
            row = db.execute("SELECT attempt FROM runs WHERE id = ?", (run,)).fetchone()
            if row is None:
                raise KeyError(f"There is no run {run!r} in {self.place}.")
            latest = int(row[0])
            if attempt is not None and latest != attempt:
                after = -1
            read = events.digests_after(db, run, latest, after), events.rows_after(db, run, latest, after)
        whole = self._combined(latest, after, *read)
        return News(latest, whole, max(after, whole.last))

    def digest(self, run: str, attempt: int | None = None) -> Digest:
        """What pages and claims read of an attempt, the latest if None; errors as of `news`."""
        latest = self.run(run).attempt if attempt is None else attempt
        with self.file.connection(read=True) as db:
            read = events.digests_after(db, run, latest, -1), events.rows_after(db, run, latest, -1)
        return self._combined(latest, -1, *read)

    def _combined(
        self, attempt: int, after: int, blocks: list[tuple[bytes, bytes | None]], rows: list[events.Row]
    ) -> Digest:
        with self._sound():
            known = [unpacked(block, attempt) for _, block in blocks if block is not None]
            parts = [Digest.unpack(digest) for digest, block in blocks if block is None]
            rest = [events.event(row, attempt) for row in rows]
        known_in_part = [event for part in known for event in part if event.seq > after]
        return combined([Digest.of(known_in_part), *parts, Digest.of(rest)])

    def each_event(self, run: str, attempt: int) -> Iterator[list[Event]]:
        """All events of one attempt in order, some at a time."""
        after, more = -1, True
        while more:
            with self.file.connection(read=True) as db:
                block = events.block_after(db, run, attempt, after)
                rows = [] if block is not None else events.rows_after(db, run, attempt, after)
            with self._sound():
                part = [events.event(row, attempt) for row in rows] if block is None else unpacked(block, attempt)
            more = block is not None
            if fresh := [event for event in part if event.seq > after]:
                after = fresh[-1].seq
                yield fresh

    def events(self, run: str, attempt: int | None = None) -> list[Event]:
        """All events of one attempt, the latest if None: as much memory as they need."""
        latest = self.run(run).attempt if attempt is None else attempt
        return [event for part in self.each_event(run, latest) for event in part]

    def attempts(self, run: str) -> list[dict[str, Any]]:
        """ "attempt", "execution", "worker", "started", "ended" and "outcome" of each attempt, oldest first."""
        return self._read(_attempt, _ATTEMPTS, run)

    def snapshot(self, run: str) -> RunSnapshot:
        """The run and its attempts at one moment, and how many events it then had, though more may come."""
        with self.file.connection(read=True) as db:
            rows = db.execute(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run,)).fetchall()
            attempts = db.execute(_ATTEMPTS, (run,)).fetchall()
            last = events.last(db, run, len(attempts))
        if not rows:
            raise KeyError(f"There is no run {run!r} in {self.place}.")
        with self._sound():
            return RunSnapshot(_record(rows[0]), [_attempt(row) for row in attempts], last)

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
            raise ValueError(
                f"Expected {record.title} to have ended before it is deleted; it is {record.state}: stop it."
            )
        self._set(run, deleted=time.time())

    def undelete(self, run: str) -> None:
        self._set(run, deleted=None)

    def purge(self, run: str) -> None:
        """Remove a deleted run for good, from all backups too.

        A damaged store that was set aside is left as it is: its notice says that it may hold what is removed later.
        """
        if self.run(run).deleted is None:
            raise ValueError(f"Expected run {run!r} to be deleted before it is removed for good.")
        with self.file.connection() as db:
            remove_run(self.file.path, run, db)

    def purge_old(self, remove_files: Callable[[str], None]) -> None:
        """Remove for good what was deleted more than `KEPT` seconds ago, its files beside the store first."""
        for record in self.runs(deleted=True):
            if record.deleted is not None and time.time() - record.deleted > KEPT:
                with suppress(OSError):
                    remove_files(record.id)
                with suppress(KeyError, ValueError):  # brought back, or removed, by another app meanwhile
                    self.purge(record.id)

    def insert(self, record: RunRecord, attempts: Sequence[dict[str, Any]], spool: Spool) -> RunRecord:
        """Add a run that ended elsewhere, under a new id and number, with the events in the spool."""
        if record.state not in ENDED:
            raise ValueError(f"Expected a run that has ended, found state {record.state!r}.")
        run = new_id()
        with self.file.connection(write=True) as db:
            insert(db, "runs", _row(dataclasses.replace(record, id=run, imported=True, owner="")))
            for attempt in attempts:
                insert(db, "attempts", {"run": run, **attempt, "worker": json.dumps(attempt["worker"])})
            spool.copy_to(db, run)
        return self.run(run)


# As the index of the schema has it.
_ACCURACY = "CASE json_type(summary, '$.test_accuracy') WHEN 'real' THEN json_extract(summary, '$.test_accuracy') END"
_TITLE = (
    "(CASE name WHEN '' THEN 'Run ' || number ELSE name END) || (CASE WHEN imported THEN ' (imported)' ELSE '' END)"
)


def _where(chosen: Chosen) -> tuple[str, tuple[object, ...]]:
    """The condition of a statement that these runs meet, and its values."""
    parts: list[tuple[str, tuple[object, ...]]] = [("deleted IS NULL", ())]
    if chosen.text:
        parts.append((f"instr(folded({_TITLE} || ' ' || note || ' ' || id), ?)", (chosen.text.casefold(),)))
    if chosen.states:
        parts.append((f"state IN ({_marks(chosen.states)})", chosen.states))
    for key, some in (("data", chosen.data), ("method", chosen.method), ("model", chosen.model)):
        if some:
            parts.append((f"json_extract(settings, '$.{key}') IN ({_marks(some)})", some))
    return " AND ".join(part for part, _ in parts), tuple(value for _, values in parts for value in values)


def _marks(values: Sequence[object]) -> str:
    """As many question marks as values, for a statement."""
    return ", ".join("?" for _ in values)


def _row(record: RunRecord) -> dict[str, Any]:
    """The columns of a record; its number is the store's to give."""
    row = {name: getattr(record, name) for name in _NAMES if name != "number"}
    row["wish"] = row.pop("desired")
    return row | {name: jsontext.write(row[name]) for name in ("settings", "options", "summary")}


def _attempt(row: tuple[Any, ...]) -> dict[str, Any]:
    return dict(zip(_ATTEMPT, row, strict=True)) | {"worker": json.loads(row[2])}


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


def _begin(db: sqlite3.Connection, run: str, owner: str) -> bool:
    """As `Store.begin`."""
    return bool(
        db.execute(
            "UPDATE runs SET state = 'running', reason = '', started = ?, owner = ? WHERE id = ? AND state = 'queued'",
            (_now_of(db, run), owner, run),
        ).rowcount
    )


def _change_state(db: sqlite3.Connection, run: str, state: State, reason: str | None, only: Sequence[State]) -> bool:
    """Whether the state was one of `only`; with `reason` None its reason stays."""
    ended = _now_of(db, run) if state in ENDED else None
    changed = db.execute(
        "UPDATE runs SET state = ?, reason = COALESCE(?, reason), ended = ? WHERE id = ? "
        f"AND state IN ({_marks(only)})",
        (state, reason, ended, run, *only),
    ).rowcount
    return bool(changed)


def _give_up(db: sqlite3.Connection, run: str, outcome: str) -> None:
    """End the attempt that is under way without its last event. A program of its own records before it releases; what
    a worker has written may be read later, or never."""
    owner, ended = db.execute("SELECT owner, ended FROM runs WHERE id = ?", (run,)).fetchone()
    moment, how = ended or _now_of(db, run), outcome if owner else UNREAD
    end = "UPDATE attempts SET ended = MAX(started, ?), outcome = ? WHERE run = ? AND ended IS NULL"
    db.execute(end, (moment, how, run))


def _known(db: sqlite3.Connection, run: str, execution: str) -> int | None:
    """The number of an execution's attempt; None where there is none."""
    row = db.execute("SELECT attempt FROM attempts WHERE run = ? AND execution = ?", (run, execution)).fetchone()
    return None if row is None else int(row[0])


def _latest(db: sqlite3.Connection, run: str) -> tuple[str, int]:
    """The run's state and the number of its latest attempt."""
    state, attempt = db.execute("SELECT state, attempt FROM runs WHERE id = ?", (run,)).fetchone()
    return str(state), int(attempt)


def _begin_attempt(db: sqlite3.Connection, run: str, execution: str, worker: dict[str, Any], begun: float) -> int:
    """A new attempt, the latest of a run that goes on; its number.

    What a run did that is heard of after its end went before its latest attempt, whose end is the run's.
    """
    state, latest = _latest(db, run)
    number = latest + 1
    asked = _begin(db, run, "")
    if asked or state in ACTIVE:
        if latest:  # asked to go on; else one was under way whose worker died, and nobody had noticed yet
            _change_state(db, run, "restarted", GOES_ON if asked else RESTARTED, ACTIVE)
            _give_up(db, run, "restarted")
        db.execute("UPDATE runs SET attempt = ?, steps = 0, summary = '{}' WHERE id = ?", (number, run))
    else:
        if latest:
            for table in ("attempts", "events", "blocks"):
                db.execute(f"UPDATE {table} SET attempt = ? WHERE run = ? AND attempt = ?", (number, run, latest))
        db.execute("UPDATE runs SET attempt = ? WHERE id = ?", (number, run))
        number = max(latest, 1)
    # The worker's clock says when it began, as far as that can be: after the run was sent, and not in the future.
    sent = db.execute("SELECT COALESCE(started, created) FROM runs WHERE id = ?", (run,)).fetchone()[0]
    row = {"run": run, "attempt": number, "execution": execution, "worker": json.dumps(worker), "outcome": ""}
    insert(db, "attempts", row | {"started": max(sent, min(begun, _now_of(db, run)))})
    if not asked and state not in ACTIVE:
        _give_up(db, run, state)
    return number


def _unseen(db: sqlite3.Connection, run: str, execution: str, worker: dict[str, Any]) -> None:
    """An attempt of which nothing is known but that it began."""
    _begin_attempt(db, run, execution, worker, 0.0)
    _give_up(db, run, UNREAD)


def _attempt_of(db: sqlite3.Connection, batch: Delivery) -> int | None:
    """The number of the batch's attempt, a new one if it is not known; None where its run is not there, or was a
    program's own and has ended."""
    run = db.execute("SELECT state, owner FROM runs WHERE id = ?", (batch.run,)).fetchone()
    if run is None:
        return None
    known = _known(db, batch.run, batch.execution)
    if known is not None or (run[1] and run[0] not in ACTIVE):
        return known
    for execution in batch.earlier:
        if _known(db, batch.run, execution) is None:
            _unseen(db, batch.run, execution, {})
    return _begin_attempt(db, batch.run, batch.execution, batch.worker, batch.begun)


def _record_batch(db: sqlite3.Connection, batch: Delivery) -> bool:
    """Whether its run is there, and open to it."""
    attempt = _attempt_of(db, batch)
    if attempt is None:
        return False
    events.add(db, batch.run, attempt, batch.rows)
    for event in batch.rows:
        if event.kind in FINAL_KINDS:
            db.execute(
                "UPDATE attempts SET ended = COALESCE(ended, ?), outcome = ? WHERE run = ? AND attempt = ?",
                (_now_of(db, batch.run), FINAL_KINDS[event.kind], batch.run, attempt),
            )
    if not batch.rows or attempt < _latest(db, batch.run)[1]:
        return True
    last = max(event.step for event in batch.rows)
    db.execute("UPDATE runs SET steps = MAX(steps, ?) WHERE id = ?", (last, batch.run))
    going: State = "restarted" if attempt > 1 else "running"
    for event in batch.rows:
        if event.kind == CONTROL_KIND:
            paused = jsontext.read(event.text).get("state") == "paused"
            _change_state(db, batch.run, "paused" if paused else going, None, ACTIVE)
        elif event.kind == CONTINUED_KIND:
            _change_state(db, batch.run, going, str(jsontext.read(event.text).get("text", "")), ACTIVE)
        elif event.kind in FINAL_KINDS:
            data = jsontext.read(event.text)
            db.execute("UPDATE runs SET summary = ? WHERE id = ?", (event.text, batch.run))
            why = str(data.get("text") or data.get("reason") or "")
            # A run given up as lost may still have sent its last events: they are the truth.
            _change_state(db, batch.run, FINAL_KINDS[event.kind], why, (*ACTIVE, "lost"))
    return True
