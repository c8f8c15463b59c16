"""Whatever is killed: nothing recorded is lost, the state is true, and no process stays behind."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from dpviz.runs.claims import mechanisms
from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
from dpviz.runs.processes import Process, is_alive
from dpviz.runs.waiting import FOLDER
from tests.runs.conftest import (
    HERE,
    LONG,
    PLAIN,
    FullDisk,
    Makes,
    gone,
    kill,
    processes_of,
    running,
    short_run,
    until,
)

pytestmark = pytest.mark.sweep


def worker_of(engine: Engine, run: str) -> int:
    return int(until(lambda: engine.store.attempts(run))[-1]["worker"]["pid"])


def test_a_killed_worker(engine: Engine) -> None:
    """Said at once, run again from the first step, earlier events kept; killed once more, it has failed."""
    run = running(engine)
    before = engine.store.events(run)
    kill(worker_of(engine, run))
    until(lambda: engine.run(run).state == "restarted")
    until(lambda: engine.run(run).attempt == 2)
    until(lambda: engine.run(run).steps >= 2)
    record = engine.run(run)
    assert (record.state, record.restarts) == ("restarted", 1)
    assert "runs again from its first step" in record.reason
    assert engine.store.events(run, 1)[: len(before)] == before
    assert [e.seq for e in engine.store.events(run)][:3] == [0, 1, 2]
    view = engine.look(run)
    assert view.steps["step"][0] == 1.0
    assert [a["outcome"] for a in engine.store.attempts(run)] == ["restarted", ""]

    kill(worker_of(engine, run))
    record = engine.wait(run, LONG)
    assert record.state == "failed"
    assert "ended twice" in record.reason
    # Another run is not to blame.
    assert short_run(engine).state == "done"


def test_a_worker_that_stands_still_for_a_while_goes_on(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine that is much too busy, where Dask would give it up."""
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL", "1s")
    engine = make_engine()
    run = running(engine)
    worker = worker_of(engine, run)
    os.kill(worker, signal.SIGSTOP)
    try:
        before = engine.run(run).steps
        time.sleep(12.0)
    finally:
        os.kill(worker, signal.SIGCONT)
    until(lambda: engine.run(run).steps > before + 20)
    record = engine.run(run)
    assert (record.state, record.attempt) == ("running", 1)


def test_parameters_wait_for_their_charge(engine: Engine, tmp_path: Path) -> None:
    """No file of a worker before its cost is on the disk; killed right after that the store has it."""
    weights = tmp_path / "weights"
    run = engine.submit(
        {"pause": 60.0},
        target="fake_training:releasing",
        options={"weights_to": str(weights), "waiting": str(engine.folder / FOLDER)},
    )
    until(weights.exists)
    kill(worker_of(engine, run))
    until(lambda: engine.run(run).state == "restarted")
    assert [count for _, count in mechanisms(engine.store.digest(run, 1))] == [9]
    engine.hard_stop(run)


def test_a_killed_host(engine: Engine) -> None:
    """What ran is lost, what waited gets a new host, and the workers are gone."""
    run = running(engine)
    waiting = engine.submit({"steps": 2}, target=PLAIN)
    recorded = engine.store.events(run)
    processes = processes_of(engine)
    assert len(processes) >= 2
    kill(processes[0].pid)
    until(lambda: engine.run(run).state == "lost")
    until(lambda: gone(processes))
    assert "its workers have gone" in engine.run(run).reason
    assert engine.store.events(run)[: len(recorded)] == recorded
    assert engine.wait(waiting, LONG).state == "done"
    assert engine.run(run).state == "lost"


APP = """
import sys, time
from pathlib import Path
sys.path.append({here!r})
from dpviz.runs.engine import Engine
engine = Engine(Path({folder!r}), workers=1, preload=False)
run = engine.submit({settings!r}, target={target!r})
queued = engine.submit({{"steps": 5}}, target={target!r})
while engine.run(run).steps < 3:
    time.sleep(0.02)
print(run, queued, flush=True)
time.sleep({sleep})
"""


@contextmanager
def app(folder: Path, sleep: float = 60.0) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """An app of its own with a run under way and one that waits."""
    script = APP.format(
        here=str(HERE), folder=str(folder), settings={"steps": 400, "pause": 0.01}, target=PLAIN, sleep=sleep
    )
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=HERE.parents[1]) as process:
        assert process.stdout is not None
        run, queued = process.stdout.readline().split()
        try:
            yield process, run, queued
        finally:
            process.kill()


@pytest.mark.parametrize("how", ["killed", "by itself"])
def test_runs_go_on_without_their_app(tmp_path: Path, make_engine: Makes, how: str) -> None:
    """What ran goes on and what waited begins while no app is there; the next one has every event once, in order."""
    with app(tmp_path, sleep=60.0 if how == "killed" else 0.0) as (process, run, queued):
        if how == "killed":
            process.kill()
        _, told = process.communicate(timeout=LONG)
    assert "Traceback" not in told
    waiting = tmp_path / FOLDER
    until(lambda: len(list(waiting.glob("*.jsonl"))) == 2)  # the second has begun
    until(lambda: '"done"' in next(waiting.glob(f"{queued}-*")).read_text())
    engine = make_engine()
    assert [engine.wait(one, LONG).state for one in (run, queued)] == ["done", "done"]
    for one, steps in ((run, 400), (queued, 5)):
        assert engine.run(one).attempt == 1
        assert engine.look(one).steps["step"].tolist() == list(range(1, steps + 1))
        assert [event.seq for event in engine.store.events(one)] == list(range(steps + 2))
    until(lambda: not list(waiting.iterdir()))


def test_two_apps_see_and_hold_the_same_run(tmp_path: Path, make_engine: Makes) -> None:
    first, second = make_engine(), make_engine()
    run = running(first)
    assert second.run(run).state == "running"
    second.pause(run)
    until(lambda: first.run(run).state == "paused")
    first.resume(run)
    until(lambda: second.run(run).state == "running")
    second.stop(run)
    assert first.wait(run, LONG).state == "stopped"
    runs = [one.submit({"steps": 2}, target=PLAIN) for one in (first, second, first)]
    assert [second.wait(one, LONG).state for one in runs] == ["done"] * 3
    assert {first.run(one).attempt for one in runs} == {1}


def test_the_workers_can_be_ended(make_engine: Makes) -> None:
    """At once, with a word; what waited waits on, and runs with the next cluster."""
    engine = make_engine()
    run, waiting = running(engine), engine.submit({"steps": 2}, target=PLAIN)
    processes = processes_of(engine)
    until(lambda: "waits for a free worker; one is busy with Run 1" in engine.waits(engine.run(waiting)))
    assert engine.end_workers()
    until(lambda: gone(processes))
    assert (engine.run(run).state, engine.run(run).reason[:22]) == ("stopped", "the workers were ended")
    assert engine.wait(waiting, LONG).state == "done"
    assert engine.run(run).attempt == 1


def test_a_cluster_with_nothing_to_do_ends(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while an app is open, whose next run starts another one."""
    monkeypatch.setattr(local, "HOST_MODULE", "short_host")
    engine = make_engine()
    assert short_run(engine).state == "done"
    processes = processes_of(engine)
    until(lambda: gone(processes))
    assert short_run(engine).state == "done"


def test_a_run_whose_store_is_gone_gives_its_place_free(tmp_path: Path, make_engine: Makes) -> None:
    engine = make_engine()
    run = running(engine)
    folder, process = tmp_path / FOLDER, worker_of(engine, run)
    engine.shutdown()
    [file] = folder.glob("*.jsonl")
    for path in tmp_path.glob("runs.sqlite*"):
        path.unlink()
    until(lambda: '"stopped"' in file.read_text())
    assert "Nobody waits for this run any more" in file.read_text()
    assert psutil.pid_exists(process)


def test_hard_stop(engine: Engine) -> None:
    """A training that does not listen is ended with its worker; it does not start again, the next one can."""
    run = engine.submit({}, target="fake_training:deaf")
    until(lambda: engine.store.events(run))
    pid = worker_of(engine, run)
    engine.stop(run)
    engine.hard_stop(run)
    record = engine.wait(run, LONG)
    assert (record.state, record.reason[:9]) == ("stopped", "hard stop")
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    assert short_run(engine).state == "done"
    assert (engine.run(run).attempt, engine.run(run).state) == (1, "stopped")


@pytest.mark.parametrize("trouble", ["No Dask scheduler answers at tcp://127.0.0.1:9", "workers.log"])
def test_no_cluster(make_engine: Makes, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    """Said at once; what waits stays queued, can be stopped, and runs as soon as there is a cluster."""
    with monkeypatch.context() as broken:
        if trouble == "workers.log":
            broken.setattr(local, "HOST_MODULE", "dpviz.runs.nothing")
        else:
            broken.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
            broken.setattr("dpviz.runs.cluster.connection.CONNECT_LIMIT", 0.3)
        engine = make_engine()
        run, other = (engine.submit({"steps": 2}, target=PLAIN) for _ in range(2))
        until(lambda: trouble in engine.problem)
        assert "stay queued" in engine.problem
        assert engine.stop(other).state == "stopped"
        assert engine.run(run).state == "queued"
    assert engine.wait(run, LONG).state == "done"
    assert engine.problem == ""


def test_a_cluster_without_dpviz(tmp_path: Path, make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Started by Dask's own commands: what lacks dpviz is named and sent nothing, until it is there."""
    place = tmp_path / "installed"
    place.mkdir()
    known = {**os.environ, "PYTHONPATH": str(place), "PYTHONSAFEPATH": "1", "OMP_NUM_THREADS": "1"}
    file = tmp_path / "scheduler.json"
    cluster = []
    try:
        for words in (["scheduler", "--port", "0"], ["worker", "--no-nanny", "--nthreads", "1"]):
            everywhere = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
            command = [sys.executable, "-m", "dask", *words, *everywhere]
            cluster.append(subprocess.Popen(command, env=known, cwd=tmp_path, stderr=subprocess.DEVNULL))
        until(file.exists)
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", json.loads(file.read_text())["address"])
        engine = make_engine()
        run = engine.submit({"steps": 2}, target=PLAIN)
        until(lambda: "dpviz cannot be imported by the Dask scheduler at" in engine.problem)
        until(lambda: "and the worker at" in engine.problem)
        assert engine.stop(run).state == "stopped", "it had not begun"
        engine.warm()
        (place / "dpviz").symlink_to(HERE.parents[1] / "dpviz")
        until(lambda: engine.problem == "")
    finally:
        for process in cluster:
            process.kill()
            process.wait()


def test_a_host_killed_while_it_starts(make_engine: Makes) -> None:
    """What waited waits on, and runs with the next host."""
    engine = make_engine()
    run = engine.submit({"steps": 2}, target=PLAIN)
    until(lambda: engine._dispatcher is not None and engine._dispatcher.connection._started)
    kill(local._started[-1].pid)
    assert engine.wait(run, LONG).state == "done"
    assert engine.run(run).attempt == 1


def test_a_worker_that_keeps_much_memory_is_replaced(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a run, whose results stay: neither it nor the next is run again, and none is lost."""
    monkeypatch.setattr(local, "HOST_MODULE", "grown_host")
    engine = make_engine()
    pids = []
    for _ in range(2):
        record = short_run(engine)
        assert (record.state, record.attempt) == ("done", 1)
        pids.append(worker_of(engine, record.id))
        worker = Process.from_json(engine.store.attempts(record.id)[0]["worker"])
        until(lambda worker=worker: not is_alive(worker))
    assert len(set(pids)) == 2
    assert [record.attempt for record in engine.runs()] == [1, 1]
    assert engine.problem == ""


def test_ready_at_the_first_worker(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three workers never come up: the first runs what waits, and until then it is said what is waited for."""
    monkeypatch.setattr(local, "HOST_MODULE", "slow_host")
    engine = make_engine(workers=3)
    runs = [engine.submit({"steps": 2}, target=PLAIN) for _ in range(3)]
    assert "The workers are starting, 0 s so far" in until(lambda: engine.starting)
    assert not engine.ready
    assert [engine.wait(run, LONG).state for run in runs] == ["done"] * 3
    assert engine.ready
    assert engine.starting == ""
    pids = {engine.store.attempts(run)[0]["worker"]["pid"] for run in runs}
    assert len(pids) == 1


def test_a_store_that_cannot_be_written_delays_events_and_loses_none(
    make_engine: Makes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They wait in their file, and the page says why."""
    engine = make_engine()
    run = running(engine)
    with monkeypatch.context() as patch:
        disk = FullDisk(patch)
        until(lambda: engine.problem == "the disk is full")
        assert engine.waits(engine.run(run)) == "the disk is full"
        until(lambda: disk.failures > 2)
        before = engine.run(run).steps
    until(lambda: engine.run(run).steps > before)
    until(lambda: engine.problem == "")
    events = engine.store.events(run)
    assert [event.seq for event in events] == list(range(len(events)))
    engine.stop(run)
    assert engine.wait(run, LONG).state == "stopped"


def test_a_cluster_of_another_version_is_sent_nothing_more(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it computes comes to its end; then another one is started, with this version."""
    with monkeypatch.context() as older:
        older.setattr(local, "HOST_MODULE", "old_host")
        first = make_engine()
        run = running(first)
        host = processes_of(first)[0].pid
        first.shutdown()
    second = make_engine()
    waiting = second.submit({"steps": 2}, target=PLAIN)
    until(lambda: "with another version of dpviz" in second.waits(second.run(waiting)))
    steps = second.run(run).steps
    until(lambda: second.run(run).steps > steps)
    second.stop(run)
    assert second.wait(waiting, LONG).state == "done"
    assert (second.run(run).state, second.run(run).attempt) == ("stopped", 1)
    assert processes_of(second)[0].pid != host
    assert second.run(waiting).attempt == 1
