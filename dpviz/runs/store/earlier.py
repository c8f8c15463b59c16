"""Stores of earlier formats, taken over once: every event was a row there, and some claims were meant otherwise."""

import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpviz.accounting.claims import Claim
from dpviz.accounting.methods import MixtureOdometer, OdometerAccountant
from dpviz.runs.exchange.checksums import KEY, checksum, with_checksums
from dpviz.runs.store import events, jsontext
from dpviz.runs.store.copies import keep
from dpviz.runs.store.records import Event, EventRow
from dpviz.training.settings import RunSettings


def take_over(db: sqlite3.Connection, path: Path) -> None:
    """Bring a store of an earlier format, whose tables are all there, into the present one, within a transaction.

    What it was is kept beside it. Its checksums are made by whoever calls this.

    Raises:
        OSError, sqlite3.Error: if the copy cannot be written.
    """
    keep(path)
    for column in ("runs ADD COLUMN anchor TEXT", "runs ADD COLUMN checksum", "attempts ADD COLUMN checksum"):
        with suppress(sqlite3.OperationalError):  # it is there
            db.execute(f"ALTER TABLE {column} NOT NULL DEFAULT {0 if 'checksum' in column else repr('')}")
    as_now(db)


def as_now(db: sqlite3.Connection) -> None:
    """Read every event that is a row as it is meant now, and put into blocks what fills them."""
    for run, text, summary in db.execute("SELECT id, settings, summary FROM runs").fetchall():
        settings = _settings(text)
        last = jsontext.write(_as_now(jsontext.read(summary), settings))
        db.execute("UPDATE runs SET summary = ? WHERE id = ?", (last, run))
        for (attempt,) in db.execute("SELECT DISTINCT attempt FROM events WHERE run = ?", (run,)).fetchall():
            before = [events.event(row, attempt) for row in events.rows_after(db, run, attempt, -1)]
            db.execute("DELETE FROM events WHERE run = ? AND attempt = ?", (run, attempt))
            rows = (EventRow(*one[1:-1], jsontext.write(one.data)) for one in _chained_anew(before, settings))
            events.add(db, run, attempt, rows)


def _settings(text: str) -> RunSettings | None:
    with suppress(ValueError, TypeError):
        return RunSettings.from_json(jsontext.read(text))
    return None


def _chained_anew(rows: list[Event], settings: RunSettings | None) -> list[Event]:
    """The events as they are meant now; with new checksums where their own were right."""
    now = [event._replace(data=_as_now(event.data, settings)) for event in rows]
    return list(with_checksums(now)) if now != rows and _right(rows) else now


def _right(rows: list[Event]) -> bool:
    before = ""
    for event in rows:
        sound = event.data.get(KEY) == checksum(before, event.seq, jsontext.strict(event.data))
        if not sound:
            return False
        before = event.data[KEY]
    return True


def _as_now(data: Mapping[str, Any], settings: RunSettings | None) -> dict[str, Any]:
    """An event, or a summary, with the readings of the odometer that went before the present one under its name, for
    they bound the same, and with what noise from a kept seed, or a policy without a budget, may claim."""
    now = dict(data)
    if isinstance(readings := now.get("epsilon"), dict) and OdometerAccountant.name in readings:
        kept = {name: value for name, value in readings.items() if name != OdometerAccountant.name}
        now["epsilon"] = {MixtureOdometer.name: readings[OdometerAccountant.name]} | kept
    if settings is None or not settings.private:
        return now
    if isinstance(now.get("claim"), dict):
        claim = Claim.from_json(now["claim"])
        if not settings.secure_noise and not claim.demonstration:
            now["claim"] = claim.as_demonstration().to_json()
    elif now.get("kind") == "started" and settings.adaptive and settings.filter_epsilon is None:
        now["claim"] = Claim.nothing("it had no budget", settings.delta).to_json()
    return now
