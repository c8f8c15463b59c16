"""A cluster that Dask's own commands started, whose workers do not see the store: as on other machines."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest

from dpviz.runs import dispatch
from dpviz.runs.cluster import local
from dpviz.runs.engine import Engine
from dpviz.runs.measuring.measurement import Request
from dpviz.runs.store.records import ACTIVE, UNREAD
from dpviz.runs.store.store import Store
from dpviz.runs.waiting import FOLDER, Place
from tests.runs.conftest import HERE, LONG, PLAIN, kill, until
from tests.runs.test_measuring import counted, over

pytestmark = pytest.mark.sweep


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A scheduler and two workers; the folder of dpviz on their machine."""
    file, far, processes = tmp_path / "scheduler.json", tmp_path / "far", []
    known = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(HERE.parents[1]), str(HERE)]),
        "DPVIZ_HOME": str(far),
        "DASK_TEMPORARY_DIRECTORY": str(tmp_path),
    }
    try:
        for words in (["scheduler", "--port", "0"], *[["worker", "--nthreads", "1"]] * 2):
            everywhere = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
            command = [sys.executable, "-m", "dask", *words, *everywhere]
            processes.append(subprocess.Popen(command, env=known, cwd=tmp_path, stderr=subprocess.DEVNULL))
        until(lambda: file.exists() and file.read_text())
        # Workers call it 127.0.0.1, as those behind a tunnel have another name for it than the app.
        address = json.loads(file.read_text())["address"].replace("127.0.0.1", "localhost")
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", address)
        nowhere = Place(str(tmp_path / "on another machine"), "a-store")
        monkeypatch.setattr(dispatch.Place, "of", lambda _: nowhere)
        yield far
    finally:
        for process in processes:
            for one in psutil.Process(process.pid).children(recursive=True):
                one.kill()
            process.kill()
            process.wait()


def test_a_worker_is_killed_and_the_app_closed_and_opened_again(cluster: Path, tmp_path: Path) -> None:
    """The run starts again at once on a worker that is there, goes on without an app, and every event is recorded."""
    folder = tmp_path / "store"
    first = Engine(folder, workers=1, preload=False)
    run = first.submit({"steps": 600, "pause": 0.01}, target=PLAIN)
    until(lambda: first.run(run).steps >= 3 or first.problem or first.run(run).over)
    assert (first.problem, first.run(run).reason) == ("", "")
    before = first.store.events(run)
    kill(first.store.attempts(run)[-1]["worker"]["pid"])
    until(lambda: first.run(run).attempt == 2)
    until(lambda: first.run(run).steps >= 3)
    assert first.run(run).state == "restarted"
    assert first.store.events(run, 1)[: len(before)] == before
    first.shutdown()
    waiting = cluster / FOLDER / "a-store"
    until(lambda: any('"done"' in file.read_text() for file in waiting.glob(f"{run}-*")))
    second = Engine(folder, workers=1, preload=False)
    record = second.wait(run, LONG)
    assert (record.state, record.attempt, record.steps) == ("done", 2, 600)
    assert [event.seq for event in second.store.events(run)] == list(range(602))
    paused = second.submit({"steps": 10_000, "pause": 0.01}, target=PLAIN)
    until(lambda: second.run(paused).steps >= 3)
    second.pause(paused)
    until(lambda: second.run(paused).state == "paused")
    second.hard_stop(paused)
    until(lambda: second.run(paused).state == "stopped")
    until(lambda: not [file for file in waiting.iterdir() if run in file.name])
    second.shutdown()
    assert local.find(folder) is None


def test_a_measurement_is_made_there(cluster: Path, tmp_path: Path) -> None:
    with closing_engine(tmp_path / "store") as engine:
        measurement = over(engine, counted("far", 60, 0.02))
        (tmp_path / "mine").write_text("of the app")
        read = Request("file", "fake_training:content", {"path": tmp_path / "mine"})
        text, path = over(engine, read).result
        assert (text, Path(path).name) == ("of the app", "mine")
        assert path != str(tmp_path / "mine")
        assert not Path(path).exists()
        lost = Request("lost", "fake_training:content", {"path": tmp_path / "not there"})
        assert "not there" in over(engine, lost).problem
        assert measurement.heard
        assert measurement.result["count"] == 60
        assert measurement.result["pid"] not in {p.pid for p in psutil.Process().children()}
        assert local.find(engine.folder) is None


@pytest.mark.parametrize("seen", [True, False])
def test_an_app_that_runs_nothing_reads_what_was_not_read(
    cluster: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen: bool
) -> None:
    """A run that was given up, or stopped before its app had heard of its start, while it went on over there."""
    folder = tmp_path / "store"
    with closing_engine(folder) as first, monkeypatch.context() as deaf:
        if not seen:
            deaf.setattr(dispatch.Dispatcher, "collect_from", lambda *_: None)
        run = first.submit({"steps": 100_000, "pause": 0.01}, target=PLAIN)
        until(lambda: any('"step"' in file.read_text() for file in (cluster / FOLDER / "a-store").glob(f"{run}-*")))
        if seen:
            until(lambda: first.run(run).steps >= 3)
    with closing(Store(folder / "runs.sqlite")) as store:
        if seen:
            store.change_state(run, "lost", "gone", only=ACTIVE)
            assert [attempt["outcome"] for attempt in store.attempts(run)] == [UNREAD]
        else:
            assert store.set_desired(run, "stop").state == "stopped"
            assert store.attempts(run) == []
    with closing_engine(folder) as second:
        until(lambda: second.run(run) and [event for event in second.store.events(run) if event.kind == "stopped"])
        outcome = second.run(run).state
        until(lambda: [attempt["outcome"] for attempt in second.store.attempts(run)] == [outcome])
        assert second.run(run).steps >= 3
        until(lambda: not list((folder / dispatch.SENT).iterdir()))
        until(lambda: not list((cluster / FOLDER / "a-store").iterdir()))


@contextmanager
def closing_engine(folder: Path) -> Iterator[Engine]:
    engine = Engine(folder, workers=1, preload=False)
    try:
        yield engine
    finally:
        engine.shutdown()
