"""Runs whose engine or host is gone are found out by whoever looks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

from dpviz.runs import truth
from dpviz.runs.processes import Process, process_of, this_process
from dpviz.runs.sqlite_store import SqliteStore


def dead() -> Process:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = process_of(child.pid)
    child.communicate()
    return process


def run_of(store: SqliteStore, owner: str, *, host: Process | None = None, queued: bool = False) -> str:
    run = store.create(target="m:f", settings={}, options={}, name="", owner=owner).id
    if not queued:
        assert store.claim(owner, host, 100) is not None
    return run


def test_of_living_engines_nothing_changes(store: SqliteStore) -> None:
    store.beat("me", this_process())
    runs = [run_of(store, "me"), run_of(store, "me", host=this_process()), run_of(store, "me", queued=True)]
    assert truth.settle(store) == []
    assert [store.run(run).state for run in runs] == ["running", "running", "queued"]


def test_of_a_dead_engine_all_are_lost(store: SqliteStore) -> None:
    store.beat("gone", dead())
    running, queued = run_of(store, "gone", host=this_process()), run_of(store, "gone", queued=True)
    assert sorted(truth.settle(store)) == sorted([running, queued])
    assert store.run(running).reason == "the app that ran it has ended"
    assert store.run(queued).reason == "the app that queued it has ended"
    assert store.run(queued).state == "lost"
    assert truth.settle(store) == []


def test_of_a_dead_host_what_ran_there_is_lost(store: SqliteStore) -> None:
    store.beat("me", this_process())
    running = run_of(store, "me", host=dead())
    queued = run_of(store, "me", queued=True)
    assert truth.settle(store) == [running]
    assert store.run(queued).state == "queued"


def test_of_nobody(store: SqliteStore) -> None:
    assert truth.settle(store) == []
    run = run_of(store, "never seen")
    assert truth.settle(store) == [run]


def test_on_another_machine_the_heartbeat_decides(store: SqliteStore, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    store.beat("far", replace(this_process(), machine="far/boot/space"))
    run = run_of(store, "far", host=replace(this_process(), machine="far/boot/space", mark="other"))
    assert truth.settle(store) == []
    monkeypatch.setattr(truth, "HEARTBEAT_LASTS", -1.0)
    assert truth.settle(store) == [run]


def test_costs_one_query_where_all_has_ended(store: SqliteStore) -> None:
    store.change_state(run_of(store, "x"), "stopped", only=("running",))
    before = store.file.queries
    truth.settle(store)
    assert store.file.queries == before + 1
