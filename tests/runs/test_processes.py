"""Processes told apart, the dead from the living; runs whose process is gone; what is said while they start."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpviz.runs import reconcile
from dpviz.runs.processes import Process, is_alive, process_of, start_mark, this_machine, this_process
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


def test_what_cannot_be_found_out_is_not_taken_for_dead(tmp_path: Path) -> None:
    """A program that has too many files open knows neither whether a process lives nor whether there is a cluster."""
    look = """
import errno, json, resource, sys
from pathlib import Path
from dpviz.runs import waiting
from dpviz.runs.cluster import local
from dpviz.runs.processes import is_alive, this_process

me, store = this_process(), Path(sys.argv[1])
folder = local.folder_of(store)
folder.mkdir()
(folder / local.PLACE).write_text(json.dumps({"address": "", "process": me.to_json()}))
head = json.dumps({"worker": me.to_json()}).encode()
looks = lambda: is_alive(me), lambda: local.find(store) is not None, lambda: not waiting._ended(head)
print([look() for look in looks])
resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
for look in looks:
    try:
        print(look())
    except OSError as error:
        print(error.errno == errno.EMFILE)
"""
    command = [sys.executable, "-c", look, str(tmp_path)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=os.getcwd())
    assert found.stdout.splitlines() == ["[True, True, True]", "True", "True", "True"], found.stderr


# Runs whose program is gone are found out by whoever looks.


def dead() -> Process:
    child = waiting()
    process = process_of(child.pid)
    child.communicate()
    return process


def run_of(store: Store, owner: str) -> str:
    run = store.create(target="m:f", settings={}, options={}).id
    assert store.begin(run, owner)
    return run


def test_of_a_program_that_has_ended_the_run_is_lost(store: Store) -> None:
    """One of a program that nobody knows too; what workers compute, and what waits for them, is theirs."""
    store.heartbeat("gone", dead())
    store.heartbeat("me", this_process())
    lost, unknown, mine, of_workers = (run_of(store, owner) for owner in ("gone", "never seen", "me", ""))
    queued = store.create(target="m:f", settings={}, options={}).id
    assert sorted(reconcile.reconcile(store)) == sorted([lost, unknown])
    states = {run: store.run(run).state for run in (lost, unknown, mine, of_workers, queued)}
    assert list(states.values()) == ["lost", "lost", "running", "running", "queued"]
    assert store.run(lost).reason == "the program that ran it has ended"
    assert reconcile.reconcile(store) == []


def test_on_another_machine_the_heartbeat_decides(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.heartbeat("far", replace(this_process(), machine="far/boot/space"))
    run = run_of(store, "far")
    assert reconcile.reconcile(store) == []
    monkeypatch.setattr(reconcile, "HEARTBEAT_LASTS", -1.0)
    assert reconcile.reconcile(store) == [run]


def test_costs_one_query_where_no_program_runs(store: Store, reads: list[int]) -> None:
    store.change_state(run_of(store, "x"), "stopped", only=("running",))
    reads.clear()
    reconcile.reconcile(store)
    assert len(reads) == 1
