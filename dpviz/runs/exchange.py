"""Runs as files: one JSON text that comes back as the same run, tables for other programs, and all in one bundle."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from dpviz.runs import jsontext
from dpviz.runs.claims import claim_of_view
from dpviz.runs.records import ENDED, STATES, Event, RunRecord, State
from dpviz.runs.report import html_report
from dpviz.runs.store import Store
from dpviz.runs.tables import RunView, view_of
from dpviz.runs.work import TRAINING

FORMAT = "dpviz-run"
VERSION = 1
LARGEST = 256 * 1024 * 1024

_RECORD_TYPES: dict[str, tuple[type, ...]] = {
    "name": (str,),
    "note": (str,),
    "target": (str,),
    "settings": (dict,),
    "state": (str,),
    "reason": (str,),
    "created": (int, float),
    "started": (int, float, type(None)),
    "ended": (int, float, type(None)),
    "attempt": (int,),
    "steps": (int,),
    "summary": (dict,),
}
_ATTEMPT_TYPES: dict[str, tuple[type, ...]] = {
    "attempt": (int,),
    "execution": (str,),
    "worker": (dict,),
    "started": (int, float),
    "ended": (int, float, type(None)),
    "outcome": (str,),
}
_EVENT_TYPES: dict[str, tuple[type, ...]] = {
    "attempt": (int,),
    "seq": (int,),
    "kind": (str,),
    "step": (int,),
    "time": (int, float),
    "data": (dict,),
}


class NotARun(ValueError):
    """The file is no exported run; the message says why."""


def export_json(store: Store, run: str) -> bytes:
    """Everything the store knows about a run, all attempts included, without paths and processes of this machine."""
    record = asdict(store.run(run))
    attempts = store.attempts(run)
    events = [event._asdict() for attempt in attempts for event in store.events(run, attempt["attempt"])]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "run": {name: record[name] for name in _RECORD_TYPES},
        "attempts": [{**attempt, "worker": {}} for attempt in attempts],
        "events": events,
    }
    return jsontext.write(content).encode()


def _checked(what: str, found: Any, types: Mapping[str, tuple[type, ...]]) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise NotARun(f"Expected {what} to be an object, found {type(found).__name__}.")
    for name, allowed in types.items():
        if name not in found:
            raise NotARun(f"Expected {what} to have {name!r}.")
        value = found[name]
        if not isinstance(value, allowed) or (isinstance(value, bool) and bool not in allowed):
            raise NotARun(f"Expected {name!r} of {what} to be {allowed[0].__name__}, found {value!r:.60}.")
        if isinstance(value, (int, float)) and not abs(value) < 2**53:
            raise NotARun(f"Expected {name!r} of {what} to be a finite number, found {value!r}.")
    return {name: found[name] for name in types}


def _parsed(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST:
        raise NotARun(f"Expected a file of at most {LARGEST // 2**20} MB, found {len(content) // 2**20} MB.")
    try:
        found = jsontext.read(content.decode("utf-8-sig"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise NotARun(f"Expected the JSON of an exported run; this is no JSON ({error}).") from error
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise NotARun(f'Expected the JSON of an exported run, with "format": "{FORMAT}".')
    if found.get("version") != VERSION:
        raise NotARun(f"Expected version {VERSION} of the format, found {found.get('version')!r}.")
    for name in ("attempts", "events"):
        if not isinstance(found.get(name), list):
            raise NotARun(f"Expected {name!r} as a list.")
    return found


def _events(stored: list[Any], attempts: set[int]) -> list[Event]:
    events, seen = [], set()
    for at, entry in enumerate(stored):
        event = Event(**_checked(f"event {at}", entry, _EVENT_TYPES))
        if event.attempt not in attempts or event.seq < 0 or event.step < 0:
            raise NotARun(f"Expected event {at} to belong to an attempt, with seq and step >= 0.")
        if (event.attempt, event.seq) in seen:
            raise NotARun(f"Expected event {at} to have a number of its own, found {event.seq} again.")
        seen.add((event.attempt, event.seq))
        if event.data.get("kind") != event.kind:
            raise NotARun(f"Expected event {at} to hold its own kind {event.kind!r}, found {event.data.get('kind')!r}.")
        events.append(event)
    return sorted(events, key=lambda event: (event.attempt, event.seq))


def read_run(content: bytes) -> tuple[RunRecord, list[dict[str, Any]], list[Event]]:
    """Record, attempts and events of an exported run.

    Raises:
        NotARun: with the reason, if it is none or was changed so that it cannot be drawn.
    """
    found = _parsed(content)
    fields = _checked("the run", found.get("run"), _RECORD_TYPES)
    if fields["state"] not in STATES:
        raise NotARun(f"Expected state {fields['state']!r} to be one of {', '.join(STATES)}.")
    attempts = [_checked(f"attempt {i}", entry, _ATTEMPT_TYPES) for i, entry in enumerate(found["attempts"])]
    numbers = [attempt["attempt"] for attempt in attempts]
    if numbers != list(range(1, len(numbers) + 1)) or fields["attempt"] != len(numbers):
        raise NotARun(f"Expected attempts 1 … {fields['attempt']}, found {numbers}.")
    events = _events(found["events"], set(numbers))
    nobody: dict[str, Any] = {"id": "", "number": 0, "options": {}, "owner": "", "imported": True}
    record = RunRecord(wish="go", granted=0, baseline=False, deleted=None, **nobody, **fields)
    if record.state not in ENDED:
        state: State = "lost"
        record = replace(record, state=state, reason=f"exported while it was {record.state}")
    # A file may name any function: cloning the run must not call it.
    record = replace(record, target=TRAINING)
    try:
        view_of(record, [event for event in events if event.attempt == record.attempt])
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise NotARun(f"Expected events that can be drawn: {error}") from error
    return record, attempts, events


def import_json(store: Store, content: bytes) -> RunRecord:
    """Add an exported run to the store, under a new id.

    Raises:
        NotARun: with the reason; nothing is added then.
    """
    return store.insert(*read_run(content))


def steps_csv(view: RunView) -> str:
    """One row a step; empty where there is no number."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(view.steps)
    for row in zip(*(column.tolist() for column in view.steps.values()), strict=True):
        writer.writerow([_cell(value) for value in row])
    return out.getvalue()


def _cell(value: float) -> str:
    """All digits; whole numbers without a point, nothing for NaN."""
    if value != value:
        return ""
    return str(int(value)) if abs(value) < 2**53 and value == int(value) else repr(value)


def steps_parquet(view: RunView) -> bytes:
    """One row a step, as 64-bit floats; NaN where there is no number."""
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    sink = io.BytesIO()
    table = pyarrow.table({name: pyarrow.array(column) for name, column in view.steps.items()})
    pyarrow.parquet.write_table(table, sink)
    return sink.getvalue()


def bundle(store: Store, run: str) -> bytes:
    """A zip file with run.json (which can be imported), steps.csv, steps.parquet and report.html."""
    view = view_of(store.run(run), store.events(run))
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("run.json", export_json(store, run))
        archive.writestr("steps.csv", steps_csv(view))
        archive.writestr("steps.parquet", steps_parquet(view))
        archive.writestr("report.html", html_report(view, claim_of_view(view, store)))
    return out.getvalue()
