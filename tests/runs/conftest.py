"""Engines on temporary folders with torch-free training; waiting is always bounded and never by guess."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
from dpviz.runs.processes import this_process
from dpviz.runs.store import events, jsontext
from dpviz.runs.store.file import SqliteFile
from dpviz.runs.store.records import OPEN, Delivery, EventRow, RunRecord, StoreError
from dpviz.runs.store.store import Store

HERE = Path(__file__).parent
PLAIN = "fake_training:plain"
OWNER = "me"
LONG = 300.0  # seconds that a busy machine may take for anything
ENDLESS = {"steps": 100_000, "pause": 0.01}
SETTINGS = {"a": [1, 2.5, None]}
Opens = Callable[[Path], Store]
Makes = Callable[..., Engine]


@pytest.fixture(autouse=True)
def _can_import_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get the import path of the process that starts them."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(HERE)])
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)


@pytest.fixture
def opens() -> Iterator[Opens]:
    """Opens stores that are closed afterwards."""
    with ExitStack() as stack:
        yield lambda path: stack.enter_context(closing(Store(path)))


@pytest.fixture
def store(tmp_path: Path, opens: Opens) -> Store:
    return opens(tmp_path / "runs.sqlite")


@pytest.fixture
def run(store: Store) -> str:
    """The id of one that was started."""
    return started(store)


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[Makes]:
    """Engines that are shut down afterwards with their cluster, whatever was killed meanwhile."""
    with ExitStack() as stack:

        def make(**options: Any) -> Engine:
            engine = Engine(tmp_path, **{"workers": 1, "preload": False, **options})
            stack.callback(ended, engine)
            return engine

        yield make


def ended(engine: Engine) -> None:
    """Shut down, with the cluster of its store."""
    engine.shutdown()
    local.stop(engine.folder)


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for all tests that leave it able to run: starting workers takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(HERE)])
        engine = Engine(tmp_path_factory.mktemp("shared"), workers=1, preload=False)
        engine.warm()
        yield engine
        ended(engine)


@pytest.fixture
def engine(shared_engine: Engine) -> Iterator[Engine]:
    yield shared_engine
    for record in shared_engine.runs(states=OPEN):
        shared_engine.stop(record.id)
    for record in shared_engine.runs(states=OPEN):
        if not shared_engine.wait(record.id, 5.0).over:
            shared_engine.hard_stop(record.id)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each reading statement gave since."""
    counts: list[int] = []
    fetch, rows_after = SqliteFile.fetch, events.rows_after

    def counted(file: SqliteFile, statement: str, *values: object) -> list[tuple[Any, ...]]:
        rows = fetch(file, statement, *values)
        counts.append(len(rows))
        return rows

    def counted_rows(*values: Any) -> list[events.Row]:
        rows = rows_after(*values)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(SqliteFile, "fetch", counted)
    monkeypatch.setattr(events, "rows_after", counted_rows)
    return counts


def new(store: Store, name: str = "") -> RunRecord:
    return store.create(target="m:f", settings=SETTINGS, options={}, name=name)


def started(store: Store, name: str = "", settings: Any = None, options: Any = None) -> str:
    chosen = {"settings": settings or SETTINGS, "options": options or {}}
    run = store.create(target="m:f", **chosen, name=name).id
    assert store.begin(run, OWNER)
    return run


def rows(told: Sequence[dict[str, Any]], first: int = 0) -> tuple[EventRow, ...]:
    return tuple(
        EventRow(seq, e["kind"], e.get("step", 0), e.get("time", 0.0), jsontext.write(e))
        for seq, e in enumerate(told, first)
    )


def batch(run: str, *told: dict[str, Any], first: int = 0, execution: str = "one") -> Delivery:
    return Delivery(run, execution, this_process().to_json(), rows(told, first), time.time())


def steps(count: int, start: int = 1) -> list[dict[str, Any]]:
    return [{"kind": "step", "step": start + i, "loss": float(i)} for i in range(count)]


def at_once(*acts: Callable[[], object]) -> list[BaseException]:
    """Each in a thread of its own; what they raised."""
    with ThreadPoolExecutor(len(acts)) as pool:
        ends = [pool.submit(act).exception for act in acts]
        return [error for end in ends if (error := end(120.0)) is not None]


def until(question: Callable[[], Any], limit: float = LONG) -> Any:
    """Its answer once that is true; fails after `limit` seconds."""
    end = time.monotonic() + limit
    while not (answer := question()):
        if time.monotonic() > end:
            pytest.fail(f"Not within {limit} s; last answer {answer!r}.")
        time.sleep(0.02)
    return answer


def family(pid: int) -> list[psutil.Process]:
    """A process and all below it."""
    parent = psutil.Process(pid)
    return [parent, *parent.children(recursive=True)]


def processes_of(engine: Engine) -> list[psutil.Process]:
    """The host of the workers first."""
    cluster = local.find(engine.folder)
    assert cluster is not None
    return family(cluster.process.pid)


def workers_of(engine: Engine) -> list[int]:
    """Those that live, or are being started."""
    return [process.pid for process in processes_of(engine)[1:] if not gone([process])]


def running(engine: Engine, steps: int = 3) -> str:
    """A run without end that took some steps."""
    run = engine.submit(ENDLESS, target=PLAIN)
    until(lambda: engine.run(run).steps >= steps)
    return run


def short_run(engine: Engine) -> RunRecord:
    """A short run, once it is over."""
    return engine.wait(engine.submit({"steps": 2}, target=PLAIN), LONG)


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def gone(processes: list[psutil.Process]) -> bool:
    """Whether none of them runs; one that ended and was not collected yet does not."""
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)


class FullDisk:
    """Calls of a method of all stores that fail as on a full disk, until there is room again.

    Args:
        method: Its name.
        when: Whether a call fails, by its number and its arguments.
    """

    def __init__(
        self, patch: pytest.MonkeyPatch, method: str = "record", when: Callable[..., bool] = lambda number, *_: True
    ) -> None:
        self.calls = self.failures = 0
        self.when = when
        works = getattr(Store, method)

        def call(store: Store, *values: Any, **named: Any) -> Any:
            self.calls += 1
            if self.when(self.calls - 1, *values):
                self.failures += 1
                raise StoreError("the disk is full")
            return works(store, *values, **named)

        patch.setattr(Store, method, call)

    def free(self) -> None:
        self.when = lambda *_: False
