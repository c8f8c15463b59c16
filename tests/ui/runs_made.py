"""Real, tiny runs as records in a store of their own, without any worker."""

import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dpviz.runs.engine import Engine, engine
from dpviz.runs.processes import this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import TRAINING, Delivery, Event, EventRow, RunRecord
from dpviz.runs.store.spool import Spool
from dpviz.training.settings import RunSettings

TINY = RunSettings(
    data="abalone", model="logistic", batch_size=64, steps=6, learning_rate=0.1, evaluation_every=2, threads=1
)


def events_of(settings: RunSettings) -> list[Event]:
    """What training with `settings` tells, numbered."""
    from dpviz.training.loop import FreeRun, run

    content: list[dict[str, Any]] = []
    run(settings, content.append, FreeRun())
    return [Event(1, seq, data["kind"], data["step"], data["time"], data) for seq, data in enumerate(content)]


def record(engine: Engine, settings: RunSettings, events: list[Event], **changed: Any) -> RunRecord:
    """The run in the engine's store; `changed` replaces parts of its record."""
    last = events[-1].data
    moments = dict.fromkeys(("created", "started", "ended"), time.time())
    values = {"settings": settings.to_json(), "state": last["kind"], "steps": last["step"], "summary": last}
    made = RunRecord("", target=TRAINING, attempt=1, **moments, **values | changed)
    attempt = {"attempt": 1, "execution": "x", "worker": {}, "started": 0.0, "ended": 1.0, "outcome": last["kind"]}
    with closing(Spool()) as spool:
        spool.add(events)
        return engine.store.insert(made, [attempt], spool)


def finished(
    engine: Engine, settings: RunSettings, weights: Path, *attempts: list[Event], name: str = "", target: str = TRAINING
) -> RunRecord:
    """The run as the engine's own workers leave it: not from a file, and with weights of its size in their place.

    `attempts`: the events of each; what training tells if none are given.
    """
    if not attempts:
        attempts = (events_of(settings if settings.start_from is None else settings.with_(start_from=str(weights))),)
    store, process = engine.store, this_process()
    run = store.create(target=target, settings=settings.to_json(), options={}, name=name).id
    store.begin(run)
    for events in attempts:
        rows = tuple(EventRow(e.seq, e.kind, e.step, e.time, jsontext.write(e.data)) for e in events)
        store.record([Delivery(run, uuid.uuid4().hex, process.to_json(), rows, time.time())])
    shutil.copy(weights, engine.weights(run))
    return store.run(run)


def fresh_engine(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine on an empty folder whose workers are never started."""
    patch.setenv("DPVIZ_HOME", str(folder))
    patch.setattr("dpviz.ui.engine.warmed", lambda _: "")
    patch.setattr(Engine, "_has_work", lambda _: False)
    made = engine()
    yield made
    made.shutdown()
