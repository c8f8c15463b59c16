"""Deleted runs and their weights are freed in the end, and the file shrinks."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dpviz.runs.engine import Engine
from dpviz.runs.store.store import KEPT, Store
from tests.runs.test_store import batch, started, steps


def test_after_a_week_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path / "runs.sqlite")
    (tmp_path / "weights").mkdir()
    runs = []
    for execution in ("a", "b", "c"):
        run = started(store)
        long = [{**step, "text": "secret" * 50} for step in steps(400)]
        store.record([batch(run, *long, {"kind": "done", "step": 400}, execution=execution)])
        (tmp_path / "weights" / f"{run}.pt").write_text("weights")
        runs.append(run)
    kept, fresh, old = runs
    store.delete(fresh)
    with monkeypatch.context() as earlier:
        long_ago = time.time() - KEPT - 60.0
        earlier.setattr(time, "time", lambda: long_ago)
        store.delete(old)
    store.close()
    size = (tmp_path / "runs.sqlite").stat().st_size

    engine = Engine(tmp_path, preload=())
    assert [record.id for record in engine.store.runs()] == [kept]
    assert [record.id for record in engine.store.runs(deleted=True)] == [fresh]
    assert engine.weights(fresh).exists()
    assert not engine.weights(old).exists()
    engine.shutdown()
    assert (tmp_path / "runs.sqlite").stat().st_size < 0.75 * size
