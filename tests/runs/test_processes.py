"""Processes told apart, the dead from the living, and what is said while they start."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from dpviz.runs.child import Child
from dpviz.runs.cluster.launch import Start
from dpviz.runs.processes import (
    Process,
    is_alive,
    process_of,
    start_mark,
    this_machine,
    this_process,
)


@pytest.fixture
def child() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_this_one_lives() -> None:
    me = this_process()
    assert me.pid == os.getpid()
    assert is_alive(me)
    assert Process.from_json(me.to_json()) == me


def test_a_child_lives_until_killed(child: subprocess.Popen[bytes]) -> None:
    process = process_of(child.pid)
    assert is_alive(process)
    assert process.mark != this_process().mark or child.pid != os.getpid()
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


def test_the_same_number_used_again_is_another_process() -> None:
    assert is_alive(replace(this_process(), mark="1")) is False


def test_other_machines_and_other_boots() -> None:
    name, boot, space = this_machine().split("/", 2)
    me = this_process()
    assert is_alive(replace(me, machine=f"{name}-2/{boot}/{space}")) is None
    assert is_alive(replace(me, machine=f"{name}/another-boot/{space}")) is False
    assert is_alive(replace(me, machine=f"{name}/{boot}/another")) is None
    assert is_alive(replace(me, machine="garbage")) is None


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
