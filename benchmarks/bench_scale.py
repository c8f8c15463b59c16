"""The goals for large stores, long runs and many viewers, as one table: ``make bench-scale``.

Each row is one function of `ROWS`. Times are processor seconds, which others on the machine change little.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from dpviz.runs.processes import this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.events import add_all
from dpviz.runs.store.file import insert
from dpviz.runs.store.records import Delivery, Event, EventRow
from dpviz.runs.store.store import Store
from dpviz.training.settings import RunSettings

RUNS, STEPS, STRETCH, VIEWERS = 10_000, 1_000_000, 100, 100
SETTINGS = RunSettings(steps=STEPS, noise_multiplier=4.0, batch_size=100)


class Row(NamedTuple):
    """One goal: what is measured, what is wanted, what was found, and whether that is enough."""

    what: str
    goal: str
    found: str
    met: bool


def many_runs(folder: Path) -> None:
    """A store of runs with the columns, settings and summaries of real ones."""
    with closing(Store(folder / "runs.sqlite")) as store:
        first = store.create(target="m:f", settings=SETTINGS.to_json(), options={}, name="", owner="")
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


def begun(store: Store) -> str:
    """A run that has started."""
    run = store.create(target="m:f", settings=SETTINGS.to_json(), options={}, name="", owner="me").id
    store.heartbeat("me", this_process())
    store.claim("me", None, 9)
    tell(store, run, 0, [])
    return run


def tell(store: Store, run: str, first: int, events: list[dict[str, Any]]) -> None:
    rows = [
        EventRow(s, e["kind"], e["step"], e.get("time", 0.0), jsontext.write(e)) for s, e in enumerate(events, first)
    ]
    store.record([Delivery(run, "one", this_process().to_json(), tuple(rows), time.time())])


def long_run(folder: Path) -> str:
    """A store with one run of `STEPS` steps under way, and its id."""
    with closing(Store(folder / "runs.sqlite")) as store:
        run = begun(store)
        started = {"kind": "started", "step": 0, "time": 0.0, "settings": SETTINGS.to_json(), "examples": 10_000}
        told = enumerate(chain([started], map(stretch, range(1, STEPS, STRETCH))))
        with store.file.connection(write=True) as db:
            add_all(db, run, 1, (Event(1, seq, one["kind"], one["step"], one["time"], one) for seq, one in told))
            db.execute("UPDATE runs SET steps = ?", (STEPS,))
    return run


def elsewhere(folder: Path, program: str) -> Any:
    """What a program in a process of its own prints as JSON; `resident()` there is its memory in MB."""
    head = "import json, os, time\ndef resident():\n    return int(open('/proc/self/statm').read().split()[1]) / 256\n"
    env = os.environ | {"DPVIZ_HOME": str(folder), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run([sys.executable, "-c", head + program], env=env, check=True, capture_output=True, text=True)
    return json.loads(ran.stdout.splitlines()[-1])


LIST = """
from tests.ui.driver import open_app
at = open_app("runs")
begun = time.process_time()
at.run()
took = time.process_time() - begun
def size(block):
    own = getattr(block, "proto", None)
    inner = getattr(block, "children", None)
    return sum(map(size, inner.values())) if inner else own.ByteSize() if own is not None else 0
print(json.dumps([took, size(at.main)]))
"""

SCREEN = """
from dpviz.runs.engine import Engine
from dpviz.runs.store.folders import home
from dpviz.ui.train.live import screen, tight_waiting
engine = Engine(preload=())
(run,) = engine.store.runs()
small = engine.store.create(target="a:b", settings={}, options={}, name="", owner="").id
screen(engine, small, ("epsilon", "loss"))
before, begun = resident(), time.process_time()
screen(engine, run.id, ("epsilon", "loss"))
print(json.dumps([time.process_time() - begun, resident() - before]))
os._exit(0)
"""

VIEW = f"""
from benchmarks.bench_scale import stretch, tell
from dpviz.runs.engine import Engine
from dpviz.ui.train.live import screen
engine = Engine(preload=())
run = engine.store.runs()[-1]
last = engine.store.news(run.id).last
engine.live.max_age = 0.0
screen(engine, run.id, ("epsilon", "loss"))
tell(engine.store, run.id, last + 1, [stretch({STEPS} + 1, 100)])
engine.live.max_age = 60.0
engine.live._readers.clear()
begun = time.process_time()
for viewer in range({VIEWERS}):
    screen(engine, run.id, ("epsilon", "loss"))
print(json.dumps(time.process_time() - begun))
os._exit(0)
"""


def runs_listed() -> list[Row]:
    """The page of all runs."""
    with tempfile.TemporaryDirectory() as name:
        many_runs(Path(name))
        seconds, size = elsewhere(Path(name), LIST)
    return [
        Row(f"Runs page, {RUNS:,} runs", "≤ 150 ms", f"{1e3 * seconds:.0f} ms", seconds <= 0.15),
        Row(f"Runs page, {RUNS:,} runs, sent", "≤ 50 KB", f"{size / 1e3:.0f} KB", size <= 50_000),
    ]


def run_watched() -> list[Row]:
    """One long run, opened by an app that has not seen it, and then watched by many."""
    with tempfile.TemporaryDirectory() as name:
        long_run(Path(name))
        size = (Path(name) / "runs.sqlite").stat().st_size
        seconds, memory = elsewhere(Path(name), SCREEN)
        each = elsewhere(Path(name), VIEW) / VIEWERS
    return [
        Row(f"run of {STEPS:,} steps on screen", "≤ 1 s", f"{seconds:.2f} s", seconds <= 1.0),
        Row(f"run of {STEPS:,} steps, memory of the app", "≤ 50 MB", f"{memory:.0f} MB", memory <= 50.0),
        Row(f"run of {STEPS:,} steps on the disk", "–", f"{size / 1e6:.0f} MB", True),
        Row(f"drawing of one update, a viewer of {VIEWERS}", "≤ 10 ms", f"{1e3 * each:.1f} ms", each <= 0.01),
    ]


ROWS: tuple[Callable[[], list[Row]], ...] = (runs_listed, run_watched)


def main() -> None:
    print("| what | goal | found | met |\n|---|---|---|---|")
    for rows in ROWS:
        for row in rows():
            print(f"| {row.what} | {row.goal} | {row.found} | {'yes' if row.met else 'no'} |", flush=True)


if __name__ == "__main__":
    main()
