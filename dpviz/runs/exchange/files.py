"""Runs as files: lines of JSON that come back as the same run, and tables for other programs.

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
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz.runs.claims import settings_of
from dpviz.runs.exchange.checks import NAME, TRACE, WORDS
from dpviz.runs.exchange.checksums import KEY
from dpviz.runs.exchange.lines import written
from dpviz.runs.exchange.sequence import Costs
from dpviz.runs.kept import last_time, later, steps_taken, stretches
from dpviz.runs.store import jsontext
from dpviz.runs.store.digest import Digest, Table, joined
from dpviz.runs.store.store import Store
from dpviz.runs.views import RunView
from dpviz.training.covered import NOT_COVERED, heading, not_covered

_BLOCKS = 64  # of events whose columns are in memory at once
FORMAT = "dpviz-run"
RUN_FILE = "jsonl.gz"  # how the names of such files end
VERSION = 2

A_FILE = "a file"  # stands for the parameters that a run started from: that there were some is part of its claim
# Folders, then the name that stays: it says what went wrong, and where it lay says who works where.
_QUOTED = re.compile(r"""(["'])(?:[A-Za-z]:)?[\\/](?:[^"'\n]*[\\/])?([^"'\\/\n]*)\1""")
_BARE = re.compile(r"(?<![\w.:/\\<])…?(?:[A-Za-z]:[\\/]|[\\/]|\\\\)(?:[^\s\"'\\/:<>]+[\\/])+([^\s\"'\\/:<>]*)")


def export_run(store: Store, run: str) -> bytes:
    """Everything the store knows about a run, all attempts included, without paths and processes of this machine.

    Lines of JSON, compressed: the run, each event, and at the end the attempts, each with the checksum of its last
    event, which covers all earlier ones. Under "not covered by ε" the end names, by kind of event, what is measured on
    the training data.

    Raises:
        NotARun: if it could not be imported again.
    """
    return written(_lines(store, run))


def _lines(store: Store, run: str) -> Iterator[dict[str, Any]]:
    then = store.snapshot(run)
    record = then.record
    costs = Costs(settings_of(record), record.attempt)
    costs.check()
    yield {
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
    }
    measured: dict[str, set[str]] = {}
    checksums: dict[int, str] = {}
    number = 0
    for attempt in sorted({0, *(attempt["attempt"] for attempt in then.attempts)}):
        for event in chain.from_iterable(store.each_event(run, attempt)):
            if attempt == record.attempt and event.seq > then.last:  # later than what the first line says
                break
            costs.add(event)
            measured.setdefault(event.kind, set()).update(not_covered({"kind": event.kind, **event.data}))
            if KEY in event.data:
                checksums[attempt] = event.data[KEY]
            number += 1
            yield event._replace(data=_short(shared_event(event.data)))._asdict()
    ends = {attempt: {KEY: checksum} for attempt, checksum in checksums.items()}
    yield {
        "attempts": [shared({**one, "worker": {}}) | ends.get(one["attempt"], {}) for one in then.attempts],
        "events": number,
        NOT_COVERED: {kind: sorted(names) for kind, names in measured.items() if names},
    }


def why_no_file(view: RunView, store: Store) -> str:
    """Why no file of a run is written, as a sentence: no import would take it. "" where one is, as far as that is known
    before all events are read."""
    record, settings = view.record, settings_of(view.record)
    earlier = sum(steps_taken(store.digest(record.id, attempt)) for attempt in range(1, record.attempt))
    costs = Costs(settings, record.attempt, steps=record.steps - int(view.continued.get("step", 0)) + earlier)
    costs.mechanisms = {tuple(one[:-1]) for one in view.spent}
    if settings is not None and settings.bayesian:
        each = settings.pairs * (2 if settings.bayesian_distances == "norms" else 1)
        costs.distances = costs.steps * min(each, settings.batch_size)
    costs.distances += 0 if settings is None else costs.steps * settings.followed
    return f"An import takes {costs.problem}. CSV and Parquet hold all steps." if costs.problem else ""


def _short(data: dict[str, Any]) -> dict[str, Any]:
    """The texts of an event, cut to the length that an import accepts."""
    limits = {"traceback": TRACE} | dict.fromkeys(("text", "data", "model", "noise_source"), WORDS)
    return data | {name: cut(data[name], most) for name, most in limits.items() if isinstance(data.get(name), str)}


def _steps(store: Store, run: str) -> tuple[list[str], Iterator[list[Array]]]:
    """The names of what was recorded of each step that the run keeps, and these columns, some thousand steps at a
    time."""
    attempt, digest_of = store.run(run).attempt, cache(partial(store.digest, run))
    kept = stretches(attempt, digest_of(attempt), digest_of)
    names = list(dict.fromkeys(name for one in kept for name in digest_of(one.attempt).tables["step"]))

    def columns(parts: list[Table]) -> list[Array]:
        table = joined([*parts, {name: np.empty(0) for name in names}])
        return [table[name] for name in names]

    def portions() -> Iterator[list[Array]]:
        parts: list[Table] = []
        seconds = 0.0
        for stretch in kept:
            before = seconds
            for events in store.each_event(run, stretch.attempt):
                parts.append(later(stretch.rows(Digest.of(events, whole=True).tables["step"]), before))
                seconds = last_time(parts[-1], seconds)
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
