"""Runs whose engine or host is gone are found out by whoever looks."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import replace

import pytest

from dpviz.runs import reconcile
from dpviz.runs.processes import Process, process_of, this_process
from dpviz.runs.store.records import Delivery
from dpviz.runs.store.store import Store


def dead() -> Process:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = process_of(child.pid)
    child.communicate()
    return process


def run_of(store: Store, owner: str, *, host: Process | None = None, queued: bool = False) -> str:
    run = store.create(target="m:f", settings={}, options={}, name="", owner=owner).id
    if not queued:
        assert store.claim(owner, host, 100) is not None
    return run


def begin(store: Store, run: str) -> str:
    """Let it begin, so that it cannot be sent again as if nothing had been."""
    store.record([Delivery(run, "one", this_process().to_json(), (), time.time())])
    return run


def test_of_a_dead_engine_what_ran_is_lost_and_what_waited_waits(store: Store) -> None:
    store.heartbeat("gone", dead())
    running = begin(store, run_of(store, "gone", host=this_process()))
    sent, queued = run_of(store, "gone", host=this_process()), run_of(store, "gone", queued=True)
    assert sorted(reconcile.reconcile(store)) == sorted([running, sent])
    assert (store.run(running).state, store.run(running).reason) == ("lost", "the app that ran it has ended")
    assert [store.run(run).state for run in (sent, queued)] == ["queued", "queued"]
    assert store.run(sent).started is None
    assert store.host_of(sent) is None
    assert reconcile.reconcile(store) == []


def test_what_waits_of_a_dead_engine_is_taken_over_once(store: Store) -> None:
    store.heartbeat("gone", dead())
    store.heartbeat("me", this_process())
    first, second, mine = (run_of(store, owner, queued=True) for owner in ("gone", "gone", "me"))
    assert [record.id for record in reconcile.orphans(store)] == [first, second]
    assert reconcile.adopt(store, "me") == [first, second]
    assert reconcile.adopt(store, "other") == []
    assert {store.run(run).owner for run in (first, second, mine)} == {"me"}
    assert not store.adopt(first, "gone", "other")
    claimed = store.claim("me", None, 9)
    assert claimed is not None
    assert claimed.id == first
    assert not store.adopt(first, "me", "other")


def test_of_a_dead_host_what_ran_there_is_lost(store: Store) -> None:
    """Of living ones nothing changes; a run of an engine that nobody knows is lost too."""
    store.heartbeat("me", this_process())
    running, lives = begin(store, run_of(store, "me", host=dead())), run_of(store, "me", host=this_process())
    sent, unknown = run_of(store, "me", host=dead()), begin(store, run_of(store, "never seen"))
    queued = run_of(store, "me", queued=True)
    assert sorted(reconcile.reconcile(store)) == sorted([running, sent, unknown])
    states = ["lost", "running", "queued", "lost", "queued"]
    assert [store.run(run).state for run in (running, lives, sent, unknown, queued)] == states


def test_on_another_machine_the_heartbeat_decides(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.heartbeat("far", replace(this_process(), machine="far/boot/space"))
    run = begin(store, run_of(store, "far", host=replace(this_process(), machine="far/boot/space", mark="other")))
    assert reconcile.reconcile(store) == []
    monkeypatch.setattr(reconcile, "HEARTBEAT_LASTS", -1.0)
    assert reconcile.reconcile(store) == [run]


def test_costs_one_query_where_all_has_ended(store: Store, reads: list[int]) -> None:
    store.change_state(run_of(store, "x"), "stopped", only=("running",))
    reads.clear()
    reconcile.reconcile(store)
    assert len(reads) == 1


def test_a_host_that_is_still_ending_is_waited_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its connections go before it does: on a busy machine the run was said to have lost its workers instead."""
    assert reconcile.why_gone(store, run_of(store, "me", host=dead())) == reconcile.HOST_DIED
    run = run_of(store, "me", host=this_process())
    looks = iter([True, True, False])
    monkeypatch.setattr(reconcile, "is_alive", lambda _: next(looks))
    assert reconcile.why_gone(store, run) == reconcile.HOST_DIED
    monkeypatch.setattr(reconcile, "ENDING_TAKES", 0.1)
    for alive in (True, None):  # None: on another machine
        monkeypatch.setattr(reconcile, "is_alive", lambda _, alive=alive: alive)
        assert reconcile.why_gone(store, run) == reconcile.GONE
