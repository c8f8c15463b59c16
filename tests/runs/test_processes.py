"""Processes told apart, the dead from the living; runs whose process is gone; what is said while they start."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from dpviz.runs import reconcile
from dpviz.runs.child import Child
from dpviz.runs.cluster.launch import Start
from dpviz.runs.processes import Process, is_alive, process_of, start_mark, this_machine, this_process
from dpviz.runs.store.records import Delivery
from dpviz.runs.store.store import Store


def waiting() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_a_child_lives_until_killed() -> None:
    child = waiting()
    process = process_of(child.pid)
    assert is_alive(process)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    # Not collected yet, so its number still exists; it is dead all the same.
    assert os.path.exists(f"/proc/{child.pid}") or sys.platform != "linux"
    assert is_alive(process) is False
    child.communicate()
    assert is_alive(process) is False
    assert start_mark(child.pid) is None
    assert process_of(child.pid).mark == ""
    assert is_alive(process_of(child.pid)) is False


def test_this_one_lives_and_others_of_its_number_do_not() -> None:
    """Whether one of another machine lives is not known."""
    (name, boot, space), me = this_machine().split("/", 2), this_process()
    assert (me.pid, is_alive(me), Process.from_json(me.to_json())) == (os.getpid(), True, me)
    assert is_alive(replace(me, mark="1")) is False
    assert is_alive(replace(me, machine=f"{name}/another-boot/{space}")) is False
    for elsewhere in (f"{name}-2/{boot}/{space}", f"{name}/{boot}/another", "garbage"):
        assert is_alive(replace(me, machine=elsewhere)) is None


def test_names_with_brackets_and_spaces() -> None:
    """The name stands in brackets before the fields and may hold both."""
    found = subprocess.run(
        [sys.executable, "-c", "import ctypes, os; ctypes.CDLL(None).prctl(15, b') x (Z 1');"
         "from dpviz.runs.processes import is_alive, this_process; print(is_alive(this_process()))"],
        capture_output=True, text=True, cwd=os.getcwd(),
    )  # fmt: skip
    assert found.stdout.strip() == "True"


@pytest.mark.parametrize(("source", "code"), [("input(); sys.exit(3)", 1), ("time.sleep(60)", -9)])
def test_a_child_ends_with_its_input_or_by_force(tmp_path: Path, source: str, code: int) -> None:
    """An end of input ends the first one in its own way, at once; the second one does not listen."""
    log = tmp_path / "logs" / "child.log"
    made = Child(["-c", f"import sys, time; {source}"], log, {"PATH": ""})
    made.close(30.0 if code > 0 else 0.2)
    made.output.close()
    assert made.code == code
    assert made._input.closed
    assert log.stat().st_mode & 0o077 == 0
    assert ("EOFError" in log.read_text()) == (code > 0)


def test_what_a_start_waits_for() -> None:
    """From nothing to the first that is up; one that ended is told of and waited for anew."""
    start, moment = Start(workers=3, begun=10.0), 12.4
    assert start.words(moment) == "The workers are starting, 2 s so far: loading Dask (stage 1 of 4)."
    start.scheduler = True
    for worker, phase, words in (
        (0, "", "Python starts (stage 2 of 4)."),
        (1, "loading", "1 of 3 loading PyTorch (stage 3 of 4)."),
        (2, "loading", "2 of 3 loading PyTorch (stage 3 of 4)."),
        (1, "connecting", "1 of 3 loading PyTorch, 1 of 3 connecting (stage 4 of 4)."),
        (1, "up", ""),
        (1, "ended", "0 s so far: 1 of 3 loading PyTorch (stage 3 of 4). 1 ended and was started again."),
        (2, "up", ""),
        (2, "replaced", "0 s so far: Python starts (stage 2 of 4). 1 ended and was started again."),
    ):
        moment += 1.0
        start.changed(worker, phase, moment)
        assert start.words(moment).endswith(words)
        assert bool(words) == bool(start.words(moment))


# Runs whose engine or host is gone are found out by whoever looks.


def dead() -> Process:
    child = waiting()
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
