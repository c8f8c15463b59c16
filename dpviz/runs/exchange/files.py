"""Runs as files: one JSON text that comes back as the same run, and tables for other programs.

No path and no process of this machine leaves it with a run:

>>> without_paths('File "/home/jane/dpviz/training/loop.py", line 3: no /tmp/a b/c.pt')
'File "…/loop.py", line 3: no …/a b/c.pt'
"""

import csv
import io
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz._extras import extra
from dpviz.runs.claims import has_gap, settings_of
from dpviz.runs.exchange.checks import DISPUTES, NAME, STEPS, TRACE, WORDS, NotARun, expect, parsed, small_enough
from dpviz.runs.exchange.checksums import KEY, NONE, verified, with_checksums
from dpviz.runs.exchange.disputes import of_event
from dpviz.runs.exchange.recheck import Recheck
from dpviz.runs.exchange.sequence import attempts_of, events_of, known_size
from dpviz.runs.store import jsontext
from dpviz.runs.store.digest import Digest, Table, joined
from dpviz.runs.store.records import ENDED, FINAL_KINDS, IMPORTED_KIND, TRAINING, Event, RunRecord, State
from dpviz.runs.store.store import Store
from dpviz.runs.views import RunView
from dpviz.training.covered import NOT_COVERED, heading, not_covered
from dpviz.training.values import LOST

_BLOCKS = 64  # of events whose columns are in memory at once
FORMAT = "dpviz-run"
VERSION = 1

A_FILE = "a file"  # stands for the parameters that a run started from: that there were some is part of its claim
# Folders, then the name that stays: it says what went wrong, and where it lay says who works where.
_QUOTED = re.compile(r"""(["'])(?:[A-Za-z]:)?[\\/](?:[^"'\n]*[\\/])?([^"'\\/\n]*)\1""")
_BARE = re.compile(r"(?<![\w.:/\\<])…?(?:[A-Za-z]:[\\/]|[\\/]|\\\\)(?:[^\s\"'\\/:<>]+[\\/])+([^\s\"'\\/:<>]*)")


def export_json(store: Store, run: str) -> bytes:
    """Everything the store knows about a run, all attempts included, without paths and processes of this machine.

    Under "not covered by ε" it names, by kind of event, what is measured on the training data.

    Raises:
        NotARun: if it would be too long to be imported again (`too_long`).
    """
    expect(not (why := too_long(store, run)), f"a run whose file can be imported: {why}")
    record, attempts = store.run(run), store.attempts(run)
    numbers = sorted({0, *(attempt["attempt"] for attempt in attempts)})
    events = [event for number in numbers for event in store.events(run, number)]
    measured: dict[str, set[str]] = {}
    for event in events:
        measured.setdefault(event.kind, set()).update(not_covered({"kind": event.kind, **event.data}))
    content = {
        "format": FORMAT,
        "version": VERSION,
        "imported": record.imported,
        "run": {
            "name": cut(record.name, NAME),
            "note": cut(record.note, WORDS),
            "target": record.target,
            "settings": shared_settings(record.settings),
            "state": record.state,
            "reason": cut(without_paths(record.reason), WORDS),
            "created": record.created,
            "started": record.started,
            "ended": record.ended,
            "attempt": record.attempt,
            "steps": record.steps,
            "summary": _short(shared_event(record.summary)),
        },
        "attempts": [shared({**attempt, "worker": {}}) | _end_of(attempt["attempt"], events) for attempt in attempts],
        "events": [event._replace(data=_short(shared_event(event.data)))._asdict() for event in events],
        NOT_COVERED: {kind: sorted(names) for kind, names in measured.items() if names},
    }
    written = jsontext.write(content).encode()
    small_enough(written)
    return written


def too_long(store: Store, run: str) -> str:
    """Why no JSON file of a run is written, for none could be imported: in words, empty for others."""
    taken = 0
    for attempt in store.attempts(run):
        taken += sum(count for *_, count in store.digest(run, attempt["attempt"]).spent)
    taken = max(taken, store.run(run).steps)
    if taken <= STEPS:
        return ""
    return f"it took {taken:,} steps, and a file holds at most {STEPS:,}. CSV and Parquet hold all of them."


def _end_of(attempt: int, events: list[Event]) -> dict[str, str]:
    """The checksum of the run's last event, which covers all earlier events."""
    last = [event.data[KEY] for event in events if event.attempt == attempt and KEY in event.data][-1:]
    return {KEY: last[0]} if last else {}


def _short(data: dict[str, Any]) -> dict[str, Any]:
    """The texts of an event, cut to the length that an import accepts."""
    limits = {"traceback": TRACE} | dict.fromkeys(("text", "data", "model", "noise_source"), WORDS)
    return data | {name: cut(data[name], most) for name, most in limits.items() if isinstance(data.get(name), str)}


def read_run(file: bytes) -> tuple[RunRecord, list[dict[str, Any]], list[Event]]:
    """Record, attempts and events of an exported run: typed, bounded, and every ε in them worked out again.

    Where events are missing no ε is worked out; the run claims its whole plan.

    Raises:
        NotARun: with the reason, if it is none or was changed so that it cannot be followed.
    """
    run = parsed(file)
    right = isinstance(run, dict) and run.get("format") == FORMAT
    expect(right, f'the JSON of an exported run, with "format": "{FORMAT}"')
    right = run.get("version") == VERSION and not isinstance(run["version"], bool)
    expect(right, f"version {VERSION} of the format, found {run.get('version')!r:.60}")
    with extra("app"):  # only for who takes a file in
        from dpviz.runs.exchange.format import RUN_FILE, checked

    content = checked("the file", run, RUN_FILE)
    fields: dict[str, Any] = {**content["run"]}
    attempts = attempts_of(content["attempts"], fields["attempt"])
    events = events_of(content["events"], len(attempts))
    checksums = verified(run["attempts"], run["events"])
    summary = fields.pop("summary")
    # A file may name any function: cloning the run must not call it.
    record = _ended(RunRecord("", imported=True, **fields | {"target": TRAINING}), events)
    try:
        return _rechecked(record, summary, attempts, events, checksums)
    except NotARun:
        raise
    except (ValueError, ArithmeticError) as error:  # an accountant's own words
        raise NotARun(f"Expected events that follow their plan: {str(error)[:300]}") from error


def _ended(record: RunRecord, events: list[Event]) -> RunRecord:
    """The run as one that is over, its state, steps and summary those of its last attempt's events."""
    mine = [event for event in events if event.attempt == record.attempt and event.kind != IMPORTED_KIND]
    last = max((event.step for event in mine), default=0)
    expect(record.steps == last, f"steps={record.steps} of the run to be {last}, the last step of its events")
    final = mine[-1] if mine and mine[-1].kind in FINAL_KINDS else None
    if final is not None:
        right = FINAL_KINDS[final.kind] == record.state
        expect(right, f"the state of a run that ended as {final.kind!r}, found {record.state!r}")
    expect(final is not None or record.state != "done", "a last event 'done' of a run that is done")
    if record.state not in ENDED:
        state: State = "lost"
        record = replace(record, state=state, reason=f"exported while it was {record.state}")
    return record


def _rechecked(
    record: RunRecord, recorded: dict[str, Any], attempts: list[dict[str, Any]], events: list[Event], checksums: str
) -> tuple[RunRecord, list[dict[str, Any]], list[Event]]:
    settings = settings_of(record)
    for event in events:
        same = event.kind != "started" or _as_planned(event.data.get("settings", record.settings)) == record.settings
        expect(same, "the settings of 'started' to be those of the run")
    if settings is not None:
        known_size(settings, events)
    check, rechecked = Recheck(settings), []
    mine: list[Event] = []
    for attempt in range(1, record.attempt + 1):
        mine = check.attempt([event for event in events if event.attempt == attempt and event.kind != IMPORTED_KIND])
        rechecked += mine
    summary: dict[str, Any] = {}
    if mine and mine[-1].kind in FINAL_KINDS:
        summary = mine[-1].data
        if not has_gap(Digest.of(mine)):
            check.ended(recorded.get("epsilon") or {}, recorded.get("claim"), summary)
    last = max((event.seq for event in mine), default=-1)
    data = {"kind": IMPORTED_KIND, "step": record.steps, "time": 0.0, **_findings(check, events, checksums)}
    mark = Event(record.attempt, last + 1, IMPORTED_KIND, record.steps, 0.0, data)
    return replace(record, summary=summary), attempts, with_checksums([*rechecked, mark])


def _as_planned(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without what the run had lost before."""
    if "origins" not in settings:
        return settings
    return settings | {"origins": [origin for origin in settings["origins"] if origin["run"] != LOST]}


def _findings(check: Recheck, events: list[Event], checksums: str) -> dict[str, Any]:
    """What the import found, as its event says it: disputes, and which checksums there were."""
    # What did not match when it was taken in elsewhere was set right there: the file still says so.
    marks = [event.data for event in events if event.kind == IMPORTED_KIND]
    earlier = [dispute for data in marks for dispute in of_event(data)]
    disputes = list(dict.fromkeys([*check.disputes, *earlier]))[:DISPUTES]
    # Events that were taken in without got theirs then.
    checksums = next((data["checksums"] for data in marks if data.get("checksums") == NONE), checksums)
    return {"disputes": [dispute._asdict() for dispute in disputes], "checksums": checksums}


def import_json(store: Store, content: bytes) -> RunRecord:
    """Add an exported run to the store, under a new id.

    Raises:
        NotARun: with the reason; nothing is added then.
    """
    return store.insert(*read_run(content))


def _steps(store: Store, run: str) -> tuple[list[str], Iterator[list[Array]]]:
    """The names of what was recorded of each step, and these columns, some thousand steps at a time."""
    attempt = store.run(run).attempt
    names = list(store.digest(run, attempt).tables["step"])

    def columns(parts: list[Table]) -> list[Array]:
        table = joined([*parts, {name: np.empty(0) for name in names}])
        return [table[name] for name in names]

    def portions() -> Iterator[list[Array]]:
        parts: list[Table] = []
        for events in store.each_event(run, attempt):
            parts.append(Digest.of(events, whole=True).tables["step"])
            if len(parts) == _BLOCKS:
                yield columns(parts)
                parts = []
        yield columns(parts)

    return names, portions()


def steps_csv(store: Store, run: str) -> bytes:
    """One row a step; empty where there is no number. Headings say what is not covered by ε."""
    names, portions = _steps(store, run)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(heading("step", name) for name in names)
    for columns in portions:
        writer.writerows(zip(*(map(_cell, column.tolist()) for column in columns), strict=True))
    return out.getvalue().encode()


def _cell(value: float) -> float | str:
    """A number with all digits: whole numbers without a point, NaN as an empty text."""
    if value != value:
        return ""
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def steps_parquet(store: Store, run: str) -> bytes:
    """One row a step, as 64-bit floats; NaN where there is no number. Names of columns as in `steps_csv`."""
    import pyarrow
    import pyarrow.parquet

    names, portions = _steps(store, run)
    schema = pyarrow.schema([(heading("step", name), pyarrow.float64()) for name in names])
    sink = io.BytesIO()
    with pyarrow.parquet.ParquetWriter(sink, schema) as writer:
        for columns in portions:
            writer.write_table(pyarrow.table(list(map(pyarrow.array, columns)), schema))
    return sink.getvalue()


def without_paths(text: str) -> str:
    """The text with every absolute path cut down to its last name.

    A folder with a space in its name is known as one between quotes, or below the usual places, only.
    """
    for place in _known_places():
        text = text.replace(place, "…")
    return _BARE.sub(r"…/\1", _QUOTED.sub(r"\1…/\2\1", text))


def _known_places() -> list[str]:
    """Folders, whose names may contain spaces; the longest first."""
    places = {str(Path.home()), str(Path.cwd()), sys.prefix, sys.base_prefix, tempfile.gettempdir()}
    return sorted((place for place in places if len(place) > 3), key=len, reverse=True)


def shared(value: Any) -> Any:
    """A JSON value with `without_paths` in every text."""
    if isinstance(value, str):
        return without_paths(value)
    if isinstance(value, dict):
        return {key: shared(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [shared(entry) for entry in value] if not _numbers(value) else list(value)
    return value


def _numbers(value: Any) -> bool:
    """Whether the list begins with a number: a column of them, which needs no look at each."""
    return bool(value) and isinstance(value[0], (int, float)) and not any(isinstance(v, str) for v in value)


def shared_settings(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without the folders and files of this machine."""
    hidden = {"data_folder": None, "start_from": A_FILE}
    public: dict[str, Any] = shared(settings)
    return public | {name: word for name, word in hidden.items() if public.get(name) is not None}


def shared_event(data: dict[str, Any]) -> dict[str, Any]:
    """An event or a summary without paths of this machine."""
    public: dict[str, Any] = shared(data)
    if isinstance(public.get("settings"), dict):
        public["settings"] = shared_settings(data["settings"])
    return public | ({"weights": None} if "weights" in public else {})


def shared_view(view: RunView) -> RunView:
    """A run's texts and settings without paths of this machine; its numbers contain none."""
    record = view.record
    return replace(
        view,
        record=replace(record, settings=shared_settings(record.settings), reason=without_paths(record.reason)),
        started=shared_event(view.started),
        notes=tuple((step, without_paths(text)) for step, text in view.notes),
        final=shared_event(view.final),
    )


def cut(text: str, most: int) -> str:
    """The text, cut to `most` characters so that an exported run can be imported."""
    return text if len(text) <= most and text not in jsontext.WORDS else f"{text[: most - 1]}…"
