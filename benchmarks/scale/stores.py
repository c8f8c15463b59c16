"""Stores as large as the goals name, made without training anything."""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

from dpviz.runs.processes import this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.events import add_all
from dpviz.runs.store.file import insert
from dpviz.runs.store.records import Delivery, Event, EventRow
from dpviz.runs.store.store import Store
from dpviz.training.settings import RunSettings

RUNS, STEPS, STRETCH = 10_000, 1_000_000, 100
SETTINGS = RunSettings(steps=STEPS, noise_multiplier=4.0, batch_size=100)
OWNER, TARGET = "bench", "m:f"


def many_runs(folder: Path) -> None:
    """A store of `RUNS` runs with the columns, settings and summaries of real ones."""
    with closing(Store(folder / "runs.sqlite")) as store:
        first = store.create(target=TARGET, settings=SETTINGS.to_json(), options={})
        summary = {"kind": "done", "state": "done", "test_accuracy": 0.5, "seconds": 9.0, "text": "x" * 300}
        with store.file.connection(write=True) as db:
            names = [row[1] for row in db.execute("PRAGMA table_info(runs)") if row[1] not in ("number", "checksum")]
            row = dict(zip(names, db.execute(f"SELECT {', '.join(names)} FROM runs").fetchone(), strict=True))
            for number in range(1, RUNS):
                done = summary | {"test_accuracy": 0.5 + number / 1e5}
                more = {"id": f"{number:016x}", "state": "done", "ended": 1.0, "summary": jsontext.write(done)}
                insert(db, "runs", row | more)
        store.change_state(first.id, "stopped", only=("queued",))


def stretch(first: int, count: int = STRETCH) -> dict[str, Any]:
    """An event of so many steps, with what a real one has."""
    steps = range(first, first + count)
    return {
        "kind": "step", "step": steps[-1], "time": 1e-3 * steps[-1], "first": first, "count": count,
        "mechanisms": [[4.0, 0.01, count]], "distances": None, "norms": None, "noise": None, "bayesian_text": "",
        "batch_size": [hash(step) % 97 for step in steps], "expected_batch_size": [100.0] * count,
        "loss": [1.0 / (1 + hash((step, 1)) % 1009) for step in steps], "clipped": [0.5] * count,
        "non_finite": [0] * count, "learning_rate": [0.1] * count, "seconds": [1e-3] * count,
        "epsilon": {name: [1e-3 * step**0.5 for step in steps] for name in ("moments", "renyi", "mixture")},
    }  # fmt: skip


def events(steps: int) -> Iterator[dict[str, Any]]:
    """All that a run of so many steps has told so far."""
    started = {"kind": "started", "step": 0, "time": 0.0, "settings": SETTINGS.to_json(), "examples": 10_000}
    return chain([started], (stretch(first) for first in range(1, steps, STRETCH)))


def tell(store: Store, run: str, first: int, told: list[dict[str, Any]]) -> None:
    """Record events, the first of which has number `first`."""
    rows = [
        EventRow(seq, one["kind"], one["step"], one["time"], jsontext.write(one)) for seq, one in enumerate(told, first)
    ]
    store.record([Delivery(run, "one", this_process().to_json(), tuple(rows), time.time())])


def under_way(folder: Path, steps: int) -> str:
    """A store with one run, of this process, that has taken so many steps and goes on; its id."""
    with closing(Store(folder / "runs.sqlite")) as store:
        run = store.create(target=TARGET, settings=SETTINGS.to_json(), options={}).id
        store.heartbeat(OWNER, this_process())
        store.begin(run, OWNER)
        tell(store, run, 0, [])
        with store.file.connection(write=True) as db:
            told = enumerate(events(steps))
            add_all(db, run, 1, (Event(1, seq, one["kind"], one["step"], one["time"], one) for seq, one in told))
            db.execute("UPDATE runs SET steps = ?", (steps,))
    return run


def last(store: Store, run: str) -> int:
    """The number of the run's latest event."""
    return store.snapshot(run).last


def printed(value: object) -> None:
    """What a process of its own says, as its last line."""
    print(json.dumps(value), flush=True)
