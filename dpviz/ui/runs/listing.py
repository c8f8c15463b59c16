"""The runs as a table: filtered, with their final numbers."""

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from dpviz.accounting.bayesian.accountant import NAME as BAYESIAN_NAME
from dpviz.accounting.claims import SHORT, rounded_up
from dpviz.questions.layout import Reader
from dpviz.runs.claims import claim_of_record, settings_of
from dpviz.runs.exchange.disputes import MISMATCH, disputes_of
from dpviz.runs.store.records import Chosen, RunRecord, State
from dpviz.runs.store.store import Store
from dpviz.runs.told.settings import MARK
from dpviz.training.accounts.origins import start_words
from dpviz.training.covered import NOT_COVERED, heading
from dpviz.training.data import DATA_SETS
from dpviz.training.data.own.place import data_of, is_own
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.ui.runs import fields as f
from dpviz.ui.train.words import in_words

BAYESIAN, SECONDS = f"ε_μ Bayesian [{NOT_COVERED}]", heading("done", "seconds")
NAMES: dict[str, Mapping[str, str]] = {
    "data": {key: data.title for key, data in DATA_SETS.items()},
    "model": {key: model.title for key, model in MODELS.items()},
    "method": {key: method.label for key, method in METHODS.items()},
}


def chosen(get: Reader) -> Chosen:
    """Which runs every filter lets through."""
    data, method = (() if (value := get(field)) == "all" else (value,) for field in (f.DATA_FILTER, f.METHOD_FILTER))
    return Chosen(get(f.TEXT).strip(), get(f.STATE), data, method)


def places(states: Mapping[str, State]) -> dict[str, int]:
    """Place in the queue, from 1, of every run that waits; `states` by id, oldest first."""
    waiting = (run for run, state in states.items() if state == "queued")
    return {run: place for place, run in enumerate(waiting, start=1)}


def state_words(record: RunRecord, place: int | None) -> str:
    """The state as the table says it."""
    if place is not None:
        return f"waiting, no. {place}"
    words = f.STATE_WORDS[record.state].lower()
    if record.restarts and record.state != "restarted":
        words += f" (attempt {record.attempt})"
    return f"{words}: {record.reason}" if record.state in ("failed", "lost") and record.reason else words


def _number(value: Any) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def bayesian_epsilon(record: RunRecord) -> float:
    """The last ε_μ; NaN where there is none, where noise can be replayed, or an earlier attempt spent as well."""
    readings = record.summary.get("epsilon")
    replayable = MARK not in record.settings and not record.settings.get("secure_noise")
    if record.restarts or replayable or not isinstance(readings, dict):
        return math.nan
    return _number(readings.get(BAYESIAN_NAME))


def _title(record: RunRecord, setting: str) -> str:
    """What data, model or method is called; of another version or a stranger's file, its key."""
    if MARK in record.settings:
        return "told by a program" if setting == "method" else "–"
    key = record.settings.get(setting)
    if setting == "data" and isinstance(key, str) and is_own(key):
        return data_of(key).title
    return "–" if key is None else NAMES[setting].get(str(key), f"{str(key)[:60]} (unknown)")


def start(record: RunRecord) -> str:
    """What its ε has to say of the weights that it started from (`origins.start_words`)."""
    settings = settings_of(record)
    return "" if settings is None or not settings.private else start_words(settings)


def _claimed(record: RunRecord, store: Store) -> dict[str, Any]:
    """What may be claimed of a run that has ended, and whether it recorded another ε than it spent."""
    warning = f"{MISMATCH}; " if disputes_of(record, store) else ""
    claim = claim_of_record(record, store) if record.over else None
    if claim is None or not claim.holds:
        words = "" if claim is None else in_words(claim) + (start(record) if claim.shown.holds else "")
        return {"ε claimed": math.nan, "δ": math.nan, "by": warning + words}
    by = f"{warning}{claim.name}, {SHORT[claim.covers]}{start(record)}"
    return {"ε claimed": rounded_up(claim.epsilon), "δ": claim.delta, "by": by}


def table(records: Sequence[RunRecord], queue: Mapping[str, int], store: Store) -> pd.DataFrame:
    """One row a run, in the order given; NaN where a number did not come.

    Args:
        records: the runs.
        queue: place of each that waits.
        store: theirs.
    """
    rows = [
        {
            "run": "★ " * record.baseline + record.title,
            "state": state_words(record, queue.get(record.id)),
            "accuracy": _number(record.summary.get("test_accuracy")),
            **_claimed(record, store),
            "steps": record.steps,
            **{setting: _title(record, setting) for setting in NAMES},
            "created": time.strftime("%Y-%m-%d %H:%M", time.localtime(record.created)),
            BAYESIAN: rounded_up(bayesian_epsilon(record)),
            SECONDS: _number(record.summary.get("seconds")),
            "note": record.note,
        }
        for record in records
    ]
    return pd.DataFrame(rows)
