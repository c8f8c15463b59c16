"""Whatever is killed: nothing recorded is lost, the state is true, and no process stays behind."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpviz.runs import collector
from dpviz.runs.claims import mechanisms
from dpviz.runs.cluster.scheduler import Scheduler
from dpviz.runs.engine import Engine
from dpviz.runs.processes import Process, is_alive
from dpviz.runs.store.file import SqliteFile
from dpviz.runs.store.records import RunRecord, StoreError
from tests.runs.conftest import (
    ENDLESS,
    HERE,
    PLAIN,
    FullDisk,
    Makes,
    family,
    gone,
    kill,
    processes_of,
    running,
    short_run,
    until,
)

pytestmark = pytest.mark.sweep

LOOK = 3.0  # seconds in which a look must show the truth


def worker_of(engine: Engine, run: str) -> int:
    return int(engine.store.attempts(run)[-1]["worker"]["pid"])


def test_a_killed_worker(engine: Engine) -> None:
    """Said at once, run again from the first step, earlier events kept; killed once more, it has failed."""
    run = running(engine)
    before = engine.store.events(run)
    kill(worker_of(engine, run))
    until(lambda: engine.run(run).state == "restarted", LOOK)
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
    record = engine.wait(run, 60.0)
    assert record.state == "failed"
    assert "ended twice" in record.reason
    # Another run is not to blame.
    assert short_run(engine).state == "done"


def test_parameters_wait_for_their_charge(engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No file of a worker before the store has what it costs; killed right after that it still has."""
    weights = tmp_path / "weights"
    with monkeypatch.context() as patch:
        disk = FullDisk(
            patch, when=lambda _, batches: any(row.kind == "charged" for one in batches for row in one.rows)
        )
        options = {"weights_to": str(weights)}
        run = engine.submit({"pause": 60.0}, target="fake_training:releasing", options=options)
        until(lambda: disk.failures > 2)
        assert not weights.exists()
    until(weights.exists)
    kill(worker_of(engine, run))
    assert [count for _, count in mechanisms(engine.store.events(run, 1))] == [9]
    until(lambda: engine.run(run).state == "restarted", LOOK)
    engine.hard_stop(run)


def test_a_killed_host(engine: Engine) -> None:
    """What ran is lost, what waited gets a new host, and the workers are gone."""
    run = running(engine)
    waiting = engine.submit({"steps": 2}, target=PLAIN)
    recorded = engine.store.events(run)
    processes = processes_of(engine)
    assert len(processes) >= 2
    kill(processes[0].pid)
    until(lambda: engine.run(run).state == "lost", LOOK)
    until(lambda: gone(processes), LOOK)
    assert "host" in engine.run(run).reason
    assert engine.store.events(run)[: len(recorded)] == recorded
    assert engine.wait(waiting, 60.0).state == "done"
    assert engine.run(run).state == "lost"


APP = """
import sys, time
from pathlib import Path
sys.path.append({here!r})
from dpviz.runs.engine import Engine
engine = Engine(Path({folder!r}), workers=1, preload=())
run = engine.submit({settings!r}, target={target!r})
queued = engine.submit({settings!r}, target={target!r})
while engine.run(run).steps < 3:
    time.sleep(0.02)
print(run, queued, engine._scheduler.connection.host.pid, flush=True)
time.sleep({sleep})
"""


@contextmanager
def app(folder: Path, sleep: float = 60.0) -> Iterator[tuple[subprocess.Popen[str], str, str, list[psutil.Process]]]:
    """An app of its own with a run under way and one that waits, and the processes of its host."""
    script = APP.format(here=str(HERE), folder=str(folder), settings=ENDLESS, target=PLAIN, sleep=sleep)
    command, pipe = [sys.executable, "-c", script], subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=HERE.parents[1]) as process:
        assert process.stdout is not None
        run, queued, host = process.stdout.readline().split()
        try:
            yield process, run, queued, family(int(host)) if psutil.pid_exists(int(host)) else []
        finally:
            process.kill()


def test_a_killed_app(tmp_path: Path, make_engine: Makes) -> None:
    """Another app that opens the store sees the truth and runs what waited; host and workers end by themselves."""
    with app(tmp_path) as (process, run, queued, processes):
        engine = make_engine()
        # While the first app lives: its run is seen, held and not taken for lost.
        assert engine.run(run).state == "running"
        engine.pause(run)
        until(lambda: engine.run(run).state == "paused", 2.0)
        engine.resume(run)
        until(lambda: engine.run(run).state == "running", 2.0)
        recorded = engine.store.events(run)
        process.kill()
        until(lambda: engine.run(run).state == "lost", LOOK)
        until(lambda: gone(processes), LOOK)
        assert engine.store.events(run)[: len(recorded)] == recorded
        # What waited is taken over, though this app was never asked to run anything.
        until(lambda: engine.run(queued).steps >= 2)
        assert engine.run(queued).owner == engine.id


def test_an_app_that_ends_by_itself(tmp_path: Path, make_engine: Makes) -> None:
    """It stops what runs, leaves no process behind, and what waited to the next app; without a word of alarm."""
    with app(tmp_path, sleep=0.0) as (process, run, queued, processes):
        _, told = process.communicate(timeout=20.0)
    assert process.returncode == 0
    assert "Traceback" not in told
    until(lambda: gone(processes), LOOK)
    engine = make_engine()
    assert engine.run(run).state == "stopped"
    until(lambda: engine.run(queued).steps >= 2)


def test_hard_stop(engine: Engine) -> None:
    """A training that does not listen is ended with its worker; it does not start again, the next one can."""
    run = engine.submit({}, target="fake_training:deaf")
    until(lambda: engine.store.events_since(run).events)
    pid = worker_of(engine, run)
    engine.stop(run)
    engine.hard_stop(run)
    record = engine.wait(run, LOOK)
    assert (record.state, record.reason[:9]) == ("stopped", "hard stop")
    until(lambda: not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, LOOK)
    assert short_run(engine).state == "done"
    assert (engine.run(run).attempt, engine.run(run).state) == (1, "stopped")


@pytest.mark.parametrize("trouble", ["No Dask scheduler answers at tcp://127.0.0.1:9", "workers.log"])
def test_no_cluster(make_engine: Makes, monkeypatch: pytest.MonkeyPatch, trouble: str) -> None:
    """Said at once; what waits stays queued, can be stopped, and runs as soon as there is a cluster."""
    with monkeypatch.context() as broken:
        if trouble == "workers.log":
            broken.setattr("dpviz.runs.cluster.launch.HOST_MODULE", "dpviz.runs.nothing")
        else:
            broken.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
            broken.setattr("dpviz.runs.cluster.launch.CONNECT_LIMIT", 0.3)
        engine = make_engine()
        run, other = (engine.submit({"steps": 2}, target=PLAIN) for _ in range(2))
        until(lambda: trouble in engine.problem)
        assert "stay queued" in engine.problem
        assert engine.stop(other).state == "stopped"
        assert engine.run(run).state == "queued"
    assert engine.wait(run, 60.0).state == "done"
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


@pytest.mark.parametrize("moment", ["at once", "with the scheduler up"])
def test_a_host_killed_while_it_starts(make_engine: Makes, moment: str) -> None:
    """What waited waits on, and runs with the next host."""
    engine = make_engine()
    run = engine.submit({"steps": 2}, target=PLAIN)
    host = until(lambda: engine._scheduler.connection._host)
    if moment == "with the scheduler up":
        until(lambda: host._place)
    kill(host._child.pid)
    assert engine.wait(run, 60.0).state == "done"
    assert engine.run(run).attempt == 1


def test_a_host_killed_between_claim_and_sending(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run was taken from the queue and had not begun: it goes back, whatever sending says or does not say."""
    engine = make_engine()
    assert short_run(engine).state == "done"
    sending = Scheduler._send
    killed: list[int] = []

    def send(self: Scheduler, record: RunRecord) -> None:
        if not killed:
            killed.append(self.connection.host.pid if self.connection.host else 0)
            kill(killed[0])
        sending(self, record)

    monkeypatch.setattr(Scheduler, "_send", send)
    runs = [engine.submit({"steps": 2}, target=PLAIN) for _ in range(2)]
    assert [engine.wait(run, 60.0).state for run in runs] == ["done", "done"]
    assert killed


def test_a_worker_that_keeps_much_memory_is_replaced(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two runs, whose results stay: neither is run again, and none is lost."""
    engine = make_engine()
    pids = []
    for most in (10**15, 1, 1):
        monkeypatch.setattr("dpviz.runs.cluster.memory.MOST_MEMORY", most)
        record = short_run(engine)
        assert (record.state, record.attempt) == ("done", 1)
        pids.append(worker_of(engine, record.id))
        if most == 1:
            worker = Process.from_json(engine.store.attempts(record.id)[0]["worker"])
            until(lambda worker=worker: not is_alive(worker))
    assert pids[0] == pids[1] != pids[2]
    assert [record.attempt for record in engine.runs()] == [1, 1, 1]
    assert engine.problem == ""


def test_ready_at_the_first_worker(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of three workers never come up: the first runs what waits, and until then it is said what is waited for."""
    monkeypatch.setattr("dpviz.runs.cluster.launch.HOST_MODULE", "slow_host")
    engine = make_engine(workers=3)
    runs = [engine.submit({"steps": 2}, target=PLAIN) for _ in range(3)]
    assert "The workers are starting, 0 s so far" in until(lambda: engine.starting)
    assert not engine.ready
    assert [engine.wait(run, 60.0).state for run in runs] == ["done"] * 3
    assert engine.ready
    assert engine.starting == ""
    pids = {engine.store.attempts(run)[0]["worker"]["pid"] for run in runs}
    assert len(pids) == 1


def test_a_full_disk_holds_the_run_until_there_is_room(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    """It pauses instead of doing more than can be recorded, goes on by itself, and no event is missing."""
    monkeypatch.setattr(collector, "RETRY", 0.05)
    monkeypatch.setattr(collector, "PATIENCE", 0.1)
    engine = make_engine()
    run = running(engine)
    works = SqliteFile.connection

    def full(self: SqliteFile, *, write: bool = False) -> Any:
        if write:
            raise StoreError("the disk is full")
        return works(self)

    monkeypatch.setattr(SqliteFile, "connection", full)
    until(lambda: engine.problem == f"the disk is full {collector.HELD}")
    assert engine._scheduler is not None
    until(lambda: engine._scheduler._sent[run].passed_on[0] == "pause")
    gathered = engine._scheduler.collector._incoming.qsize

    def nothing_more() -> bool:
        """The run sends ten batches a second; held, it sends none."""
        before = gathered()
        time.sleep(0.6)
        return before > 0 and gathered() == before

    until(nothing_more)
    with pytest.raises(StoreError, match="disk is full"):
        engine.stop(run)
    monkeypatch.setattr(SqliteFile, "connection", works)

    def told() -> list[str]:
        return [event.data["state"] for event in engine.store.events(run, kinds=("control",))]

    until(lambda: told() == ["paused", "running"])
    until(lambda: engine.problem == "")
    recorded = engine.run(run)
    assert recorded.state == "running"
    until(lambda: engine.run(run).steps > recorded.steps)
    events = engine.store.events(run)
    assert [event.seq for event in events] == list(range(len(events)))
    engine.stop(run)
    assert engine.wait(run, 60.0).state == "stopped"
