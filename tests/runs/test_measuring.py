"""Measurements as tasks of the cluster: results, progress, sharing, giving up, waiting in words, bad ends."""

import time
from pathlib import Path
from typing import Any

import pytest

from dpviz.runs.cluster import connection, local
from dpviz.runs.engine import Engine
from dpviz.runs.measuring import measurement as measuring
from dpviz.runs.measuring.measurement import DIED, Measurement, Request
from tests.runs.conftest import LONG, PLAIN, Makes, gone, kill, processes_of, running, short_run, until, workers_of


def counted(key: object, count: int = 5, pause: float = 0.0, note: Path | str = "") -> Request:
    return Request(key, "fake_training:counted", {"count": count, "pause": pause, "note": str(note)})


def over(engine: Engine, asked: Request) -> Measurement:
    """The measurement once it is over; looked at all the time."""

    def look() -> Measurement | None:
        measurement = engine.measure(asked)
        return measurement if measurement.over else None

    found: Measurement = until(look)
    return found


def under_way(engine: Engine, asked: Request) -> Measurement:
    """The measurement once a worker counts."""
    until(lambda: engine.measure(asked).share)
    return engine.measure(asked)


def test_a_result_comes_once_for_all_who_ask(engine: Engine, tmp_path: Path) -> None:
    """With its progress in words; afterwards it is kept by its value."""
    runs = engine.runs()
    asked = counted("shared", 40, 0.02, tmp_path / "note")
    first = under_way(engine, asked)
    assert engine.waits_to_measure(first) == ""
    assert first.words.startswith("Counting: ")
    until(lambda: engine.measure(asked).words.endswith(" left."))
    assert engine.measure(counted("shared", 40, 0.02, tmp_path / "note")) is first
    assert over(engine, asked).result["count"] == 40
    assert engine.measure(asked) is first
    assert engine.measured("shared") is first
    assert (tmp_path / "note").read_text().split() == [str(number) for number in range(40)]
    assert engine.runs() == runs, "it is no run"


def test_a_file_is_read_where_it_lies(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.write_text("of the app")
    read = Request("a file", "fake_training:content", {"path": path})
    assert over(engine, read).result == ("of the app", str(path))


@pytest.mark.parametrize(
    ("target", "arguments", "words"),
    [
        ("fake_training:not_counted", {"kind": "value"}, "out of luck"),
        ("fake_training:not_counted", {"kind": "other"}, "RuntimeError: out of luck"),
        ("fake_training:nothing", {}, "has no attribute 'nothing'"),
        ("not_there_at_all:nothing", {}, "This needs not_there_at_all, which is not installed"),
    ],
)
def test_what_goes_wrong_is_said_and_can_be_tried_again(
    engine: Engine, target: str, arguments: Any, words: str
) -> None:
    asked = Request((target, *arguments.values()), target, arguments)
    failed = over(engine, asked)
    assert words in failed.problem
    assert failed.result is None
    assert engine.measure(asked) is failed, "it is not tried again by itself"
    engine.measure_again(asked.key)
    assert engine.measured(asked.key) is None
    assert over(engine, asked) is not failed
    measured = over(engine, counted("afterwards"))
    engine.measure_again("afterwards")
    assert engine.measured("afterwards") is measured, "it did not fail"


def test_what_nobody_waits_for_is_given_up_and_its_worker_is_free(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "FORGOTTEN", 0.5)
    note = tmp_path / "note"
    asked = counted("forgotten", 100_000, 0.01, note)
    first = under_way(engine, asked)
    until(lambda: engine.measured("forgotten") is None, 5.0)
    assert over(engine, counted("next")).result["count"] == 5
    last = note.read_text()
    time.sleep(0.3)
    assert note.read_text() == last
    assert engine.measure(asked) is not first


def test_it_waits_for_a_run_in_words_and_goes_before_runs_that_wait(engine: Engine) -> None:
    run = running(engine)
    queued = engine.submit({"steps": 50, "pause": 0.02}, target=PLAIN)
    asked = counted("behind a run", 50, 0.02)
    title = engine.run(run).title
    until(lambda: f"it waits for a free worker; one is busy with {title}." == waits(engine, asked))
    engine.stop(run)
    under_way(engine, asked)
    until(lambda: waits(engine, asked) == "" and engine.measured(asked.key))
    assert engine.run(queued).state == "queued"
    assert over(engine, asked).result["count"] == 50
    assert engine.wait(queued, LONG).state == "done"


def test_a_run_says_that_it_waits_for_a_measurement(engine: Engine) -> None:
    asked = counted("before a run", 300, 0.02)
    under_way(engine, asked)
    run = engine.submit({"steps": 2}, target=PLAIN)
    until(lambda: engine.measure(asked) and "one is busy with a measurement" in engine.waits(engine.run(run)))
    assert over(engine, asked).result is not None
    assert engine.wait(run, LONG).state == "done"


def waits(engine: Engine, asked: Request) -> str:
    return engine.waits_to_measure(engine.measure(asked))


def test_results_are_kept_up_to_a_size(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was asked for longest ago goes first."""
    sizes = [over(engine, counted(("kept", number))).size for number in range(2)]
    monkeypatch.setattr(measuring, "MOST_KEPT", sum(sizes) + 1)
    assert engine.measured(("kept", 0)) is not None
    engine.measure(counted(("kept", 0)))
    over(engine, counted(("kept", 2)))
    assert [engine.measured(("kept", number)) is not None for number in range(3)] == [True, False, True]


def test_without_the_extra_the_one_command_is_said(make_engine: Makes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "NEEDED", ("not_there_at_all",))
    engine = make_engine()
    measurement = engine.measure(counted("never"))
    assert "not_there_at_all, which is not installed here: pip install 'dpviz[train]'" in measurement.problem
    time.sleep(0.5)
    assert local.find(engine.folder) is None


@pytest.mark.sweep
def test_a_worker_that_is_killed_is_replaced_and_at_the_second_time_it_is_said(engine: Engine, tmp_path: Path) -> None:
    note = tmp_path / "note"
    asked = counted("killed", 100_000, 0.01, note)
    for _ in range(2):
        until(lambda: engine.measure(asked).problem or note.exists())
        [worker] = workers_of(engine)
        kill(worker)
        note.unlink()
    failed = over(engine, asked)
    assert DIED in failed.problem
    assert over(engine, counted("after the kills")).result["count"] == 5


@pytest.mark.sweep
def test_whose_cluster_ends_says_so_and_the_next_one_measures(make_engine: Makes) -> None:
    engine = make_engine()
    asked = counted("ended", 100_000, 0.01)
    assert "The workers are starting" in until(lambda: waits(engine, asked))
    under_way(engine, asked)
    assert local.stop(engine.folder)
    assert "the workers have gone, and the measurement with them" in over(engine, asked).problem
    engine.measure_again(asked.key)
    assert under_way(engine, asked).problem == ""


@pytest.mark.sweep
def test_with_its_app_a_measurement_ends_and_the_cluster_stays(make_engine: Makes, tmp_path: Path) -> None:
    first, note = make_engine(), tmp_path / "note"
    asked = counted("of the first app", 100_000, 0.01, note)
    measurement = under_way(first, asked)
    host = processes_of(first)
    first.shutdown()
    assert "about to end" in measurement.problem
    second = make_engine()
    assert over(second, counted("of the second")).result["count"] == 5, "the worker is free"
    last = note.read_text()
    time.sleep(0.3)
    assert note.read_text() == last
    assert not gone(host[:1])
    assert short_run(second).state == "done"


@pytest.mark.sweep
def test_a_cluster_of_another_version_measures_nothing_and_is_replaced(
    make_engine: Makes, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(local, "HOST_MODULE", "old_host")
        first = make_engine()
        run = running(first)
        host = processes_of(first)[0].pid
        first.shutdown()
    second = make_engine()
    asked = counted("by this version")
    until(lambda: "with another version of dpviz" in waits(second, asked))
    second.stop(run)
    assert over(second, asked).result["count"] == 5
    assert processes_of(second)[0].pid != host


@pytest.mark.sweep
def test_no_scheduler_at_the_address_is_said_while_it_waits(
    make_engine: Makes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
    monkeypatch.setattr(connection, "CONNECT_LIMIT", 0.3)
    engine = make_engine()
    asked = counted("nowhere")
    until(lambda: "No Dask scheduler answers at tcp://127.0.0.1:9" in waits(engine, asked))
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS")
    assert over(engine, asked).result["count"] == 5
