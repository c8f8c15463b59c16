"""Engines on temporary folders with torch-free training; waiting is always bounded and never by guess."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpviz.runs.engine import Engine
from dpviz.runs.store.file import SqliteFile
from dpviz.runs.store.records import OPEN, StoreError
from dpviz.runs.store.store import Store

HERE = Path(__file__).parent
PLAIN = "fake_training:plain"


@pytest.fixture(autouse=True)
def _can_import_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers get the import path of the process that starts them."""
    monkeypatch.setattr(sys, "path", [*sys.path, str(HERE)])
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS", raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = Store(tmp_path / "runs.sqlite")
    yield made
    made.close()


@pytest.fixture
def make_engine(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Engines that are shut down afterwards, whatever was killed meanwhile."""
    made: list[Engine] = []

    def make(**options: Any) -> Engine:
        made.append(Engine(tmp_path, **{"workers": 1, "preload": (), **options}))
        return made[-1]

    yield make
    for engine in made:
        engine.shutdown(grace=0.5)


@pytest.fixture(scope="session")
def shared_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """One engine for all tests that leave it able to run: starting workers takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [*sys.path, str(HERE)])
        engine = Engine(tmp_path_factory.mktemp("shared"), workers=1, preload=())
        engine.warm()
        yield engine
        engine.shutdown(grace=0.5)


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
    fetch = SqliteFile.fetch

    def counted(file: SqliteFile, statement: str, *values: object) -> list[tuple[Any, ...]]:
        rows = fetch(file, statement, *values)
        counts.append(len(rows))
        return rows

    monkeypatch.setattr(SqliteFile, "fetch", counted)
    return counts


def until(question: Callable[[], Any], limit: float = 60.0) -> Any:
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
