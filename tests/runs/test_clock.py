"""Durations are true whatever the clock is set to meanwhile."""

from __future__ import annotations

import json
import time

import pytest

from dpviz.runs.store.records import ACTIVE
from dpviz.runs.store.store import Store, moment
from tests.runs.test_store import OWNER, batch, new, steps

real = time.time


@pytest.mark.parametrize("shift", [-3600.0, 3600.0, -1e9])
@pytest.mark.parametrize("end", ["by its last event", "lost", "stopped before it started"])
def test_a_clock_that_is_set(store: Store, monkeypatch: pytest.MonkeyPatch, shift: float, end: str) -> None:
    begun = time.monotonic()
    run = new(store).id
    if end == "stopped before it started":
        monkeypatch.setattr(time, "time", lambda: real() + shift)
        store.set_desired(run, "stop")
    else:
        assert store.claim(OWNER, None, 9) is not None
        store.record([batch(run, *steps(1))])
        monkeypatch.setattr(time, "time", lambda: real() + shift)
        if end == "lost":
            store.change_state(run, "lost", only=ACTIVE)
        else:
            store.record([batch(run, {"kind": "done", "step": 1}, first=1)])
    record = store.run(run)
    assert record.ended is not None
    since = record.started if record.started is not None else record.created
    assert 0.0 <= record.ended - since <= time.monotonic() - begun
    for attempt in store.attempts(run):
        assert since <= attempt["started"] <= attempt["ended"] <= record.ended


def test_a_worker_whose_clock_was_set(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run = new(store).id
    assert store.claim(OWNER, None, 9) is not None
    for shift, execution in ((-3600.0, "one"), (3600.0, "two")):
        monkeypatch.setattr(time, "time", lambda shift=shift: real() + shift)
        late = batch(run, *steps(1), execution=execution)
        monkeypatch.setattr(time, "time", real)
        store.record([late])
    moments = [attempt["started"] for attempt in store.attempts(run)]
    assert store.run(run).started <= moments[0] <= moments[1] <= real()  # type: ignore[operator]


def test_another_machine_or_another_boot_goes_by_the_wall_but_never_back(monkeypatch: pytest.MonkeyPatch) -> None:
    far = json.dumps({"machine": "far", "offset": 5.0})
    monkeypatch.setattr(time, "time", lambda: 100.0)
    assert [moment(text, 0.0) for text in (far, "")] == [100.0, 100.0]
    assert moment(far, 250.0) == 250.0


def test_a_store_of_the_format_before(store: Store) -> None:
    """It gets the column, and keeps what it holds."""
    run = new(store, "kept").id
    with store.file.connection() as db:
        db.execute("ALTER TABLE runs DROP COLUMN anchor")
        db.execute("PRAGMA user_version = 1")
    store.close()
    later = Store(store.file.path)
    assert [record.name for record in later.runs()] == ["kept"]
    assert later.set_desired(run, "stop").ended is not None
    assert later.notice == ""
    later.close()
