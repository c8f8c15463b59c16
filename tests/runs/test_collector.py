"""The collector while the store, or Dask, is in trouble."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from dpviz.runs import collector
from dpviz.runs.collector import Collector, EndedFuture
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import Delivery
from dpviz.runs.store.store import Store
from tests.runs.conftest import FullDisk, until
from tests.runs.test_store import batch, started, steps


def text(one: Delivery) -> str:
    return jsontext.write(
        {"run": one.run, "execution": one.execution, "worker": one.worker, "begun": one.begun, "rows": one.rows}
    )


class Future:
    """As much of Dask's as the collector uses."""

    def __init__(self, status: str, result: Any = None, error: Exception | None = None) -> None:
        self.status, self._result, self._error, self.released = status, result, error, False

    def result(self, timeout: float) -> Any:
        return self._result

    def exception(self, timeout: float) -> Any:
        return self._error

    def release(self) -> None:
        self.released = True


class Heard:
    def __init__(self) -> None:
        self.batches: list[Delivery] = []
        self.ends: list[str] = []
        self.troubles: list[str] = []


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def writing(store: Store, heard: Heard) -> Iterator[Collector]:
    made = Collector(
        store, on_batch=heard.batches.append, on_end=heard.ends.append, on_trouble=heard.troubles.append
    )  # fmt: skip
    yield made
    made.close()


def test_gaps_are_filled_from_the_result(store: Store, writing: Collector, heard: Heard) -> None:
    """What has no place is not told: whoever waits to hear of it must not go on."""
    run = started(store)
    whole = batch(run, *steps(10), {"kind": "done", "step": 10})
    for one in (batch("gone", *steps(3)), batch(run, *steps(3)), batch(run, {"kind": "done", "step": 10}, first=10)):
        writing.put(text(one))
    future = Future("finished", zlib.compress(text(whole).encode()))
    writing.put(EndedFuture(run, future))
    until(lambda: heard.ends == [run])
    assert [event.seq for event in store.events(run)] == list(range(11))
    assert store.run(run).state == "done"
    assert future.released
    assert [one.run for one in heard.batches] == [run, run]


def test_a_task_that_dask_gave_up(store: Store, writing: Collector, heard: Heard) -> None:
    class KilledWorker(Exception):
        pass

    runs = [started(store) for _ in range(4)]
    store.record([batch(runs[3], *steps(2))])
    writing.put(EndedFuture(runs[0], Future("error", error=KilledWorker())))
    writing.put(EndedFuture(runs[1], Future("error", error=OSError("no"))))
    writing.put(EndedFuture(runs[2], Future("cancelled")))  # it had not begun: it waits for other workers
    writing.put(EndedFuture(runs[3], Future("cancelled")))
    until(lambda: heard.ends == runs)
    records = [store.run(run) for run in runs]
    assert [record.state for record in records] == ["failed", "failed", "queued", "lost"]
    assert "died twice" in records[0].reason
    assert records[1].reason == "OSError: no"


def test_nothing_is_thrown_away_while_the_disk_is_full(
    store: Store, writing: Collector, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "RETRY", 0.02)
    monkeypatch.setattr(collector, "PATIENCE", 0.1)
    run, disk = started(store), FullDisk(monkeypatch)
    for i in range(5):
        writing.put(text(batch(run, *steps(10, 1 + 10 * i), first=10 * i)))
    ending = Collector(store, on_batch=heard.batches.append, on_end=heard.ends.append, on_trouble=lambda _: None)
    ending.put(text(batch(run, *steps(10))))
    until(lambda: ending.trouble)
    ending.close()
    assert not ending._thread.is_alive(), "it ends also while nothing can be written"
    until(lambda: heard.troubles == ["the disk is full"])
    until(lambda: writing.trouble == f"the disk is full {collector.HELD}")
    assert store.run(run).steps == 0
    time.sleep(0.1)
    disk.free()
    until(lambda: store.run(run).steps == 50)
    until(lambda: heard.troubles == ["the disk is full", ""])
    assert writing.trouble == ""
    assert [event.seq for event in store.events(run)] == list(range(50))


def test_a_failure_is_written_once_there_is_room(
    store: Store, writing: Collector, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "RETRY", 0.02)
    run, disk = started(store), FullDisk(monkeypatch, "change_state")
    writing.put(EndedFuture(run, Future("error", error=OSError("no"))))
    until(lambda: disk.calls > 2)
    assert heard.ends == []
    disk.free()
    until(lambda: heard.ends == [run])
    assert (store.run(run).state, store.run(run).reason) == ("failed", "OSError: no")
