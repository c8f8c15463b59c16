"""From the worker to the store: events numbered and sent, desired states obeyed, one final event; all are collected."""

import dataclasses
import itertools
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from dpviz.runs import work
from dpviz.runs.dispatch import Dispatcher
from dpviz.runs.processes import Process, this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import EventRow, StoreError
from dpviz.runs.store.store import Store
from dpviz.runs.waiting import EventFile, Place, pieces
from dpviz.runs.work import AskedControl, NotRecorded, Sender, Wanted, call
from tests.runs.conftest import HERE, FullDisk, new, rows, steps

MISSING = "Expected target='fake_training:missing' to be the name of a function, as in 'module:function'."


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(work, "PAUSED_POLL_INTERVAL", 0.0)


class TestSender:
    def test_all_in_order_and_in_few_batches(self) -> None:
        """Soon, without further events; step and time are filled in, and a copy is taken."""
        sent: list[list[EventRow]] = []
        arrived = threading.Event()
        sender = Sender(lambda rows: (sent.append(rows), arrived.set()))  # type: ignore[func-returns-value]
        event = {"kind": "step", "step": 0, "loss": [1.0]}
        sender.emit(event)
        event["loss"] = None
        assert arrived.wait(5.0)
        for step in range(1, 2000):
            sender.emit({"kind": "step", "step": step, "time": 0.5})
        sender.emit({"kind": "note"})
        sender.close()
        rows = [row for batch in sent for row in batch]
        assert [row.seq for row in rows] == list(range(2001))
        assert rows == sender.rows
        assert len(sent) < 100
        assert rows[-1].step == 1999
        assert rows[-1].time >= rows[0].time >= 0.0
        assert jsontext.read(rows[0].text)["loss"] == [1.0]

    def test_what_cannot_be_passed_on_is_passed_on_later_and_what_comes_meanwhile_too(self) -> None:
        sent: list[EventRow] = []
        failures = iter([OSError("no route")] * 3)

        def send(rows: list[EventRow]) -> None:
            for error in failures:
                raise error
            sent.extend(rows)
            if len(sender.rows) < 5:
                sender.emit({"kind": "step", "step": len(sender.rows)})

        sender = Sender(send)
        for step in range(3):
            sender.emit({"kind": "step", "step": step})
            time.sleep(0.03)
        for _ in range(10):
            sender.insist()
        sender.close()
        assert [row.seq for row in sent] == list(range(5))

    def test_one_that_is_never_recorded_is_raised(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(work, "RETRY", 0.01)

        def fails(_: object) -> None:
            raise OSError("no route to it")

        sender = Sender(fails, patience=0.05)
        with pytest.raises(NotRecorded, match="could not be recorded for 0.05 s, so it was stopped. no route to it"):
            sender.emit({"kind": "charged", "through": 3, "mechanisms": []})
        with pytest.raises(NotRecorded):
            sender.check()
        sender.rows.clear()  # its thread may end
        sender.close()

    def test_what_the_run_does_about_it_is_sent_at_once(self) -> None:
        """Not with the next events: a paused run has none."""
        sent: list[EventRow] = []
        sender = Sender(sent.extend)
        sender._over = True  # its own thread sends nothing more
        control = AskedControl(lambda: ("pause", 0), sender.emit, sender.flush)
        assert control.poll() == "pause"
        assert [row.kind for row in sent] == ["control"]
        sender.close()


@pytest.mark.usefixtures("quick")
class TestControl:
    @pytest.mark.parametrize(
        ("moves", "said"),
        [
            # desired state and single steps granted, then what the next polls say
            ([(("go", 0), "go"), (("stop", 0), "stop")], ""),
            ([(("pause", 0), "pause pause pause"), (("go", 0), "go")], "paused running"),
            # each granted step once
            (
                [(("pause", 0), ""), (("pause", 3), "step step step pause pause"), (("pause", 4), "step pause")],
                "paused",
            ),
            # those granted to an earlier attempt, or to a run that went on meanwhile, do not count
            ([(("pause", 5), "pause"), (("go", 7), "go"), (("pause", 7), "pause")], "paused running paused"),
            # an answer that does not come changes nothing
            ([(("go", 0), "go"), (OSError("connection lost"), "go go")], ""),
        ],
    )
    def test_what_it_says(self, moves: list[tuple[Any, str]], said: str) -> None:
        states: list[str] = []
        scheduler = Mock(return_value=moves[0][0])
        control = AskedControl(scheduler, lambda event: states.append(event["state"]))
        for now, answers in moves:
            scheduler.side_effect = itertools.repeat(now)
            assert [control.poll() for _ in answers.split()] == answers.split()
        assert states == said.split()


class TestCall:
    def run(self, target: str, **options: Any) -> list[dict[str, Any]]:
        sender = Sender(lambda rows: None)
        call(target, {"steps": 2}, options, sender, AskedControl(lambda: ("go", 0), sender.emit))
        sender.close()
        return [jsontext.read(row.text) for row in sender.rows]

    @pytest.mark.parametrize(
        ("target", "kind", "text"),
        [
            ("plain", "done", "All steps done."),
            ("refusing", "failed", "Expected steps=2 to be something else."),
            ("breaking", "failed", "RuntimeError: out of luck"),
            ("silent", "done", ""),
            ("failing_in_words", "failed", "in its own words"),
            ("missing", "failed", MISSING),
            ("plain.__name__", "failed", MISSING.replace("missing", "plain.__name__")),
            ("unavailable", "failed", "The digits are not here."),  # our own errors speak without their type's name
        ],
    )
    def test_one_final_event_each(self, target: str, kind: str, text: str) -> None:
        events = self.run(f"fake_training:{target}")
        assert [event["kind"] for event in events if event["kind"] in ("done", "failed", "stopped")] == [kind]
        assert (events[-1]["kind"], events[-1]["text"]) == (kind, text)


def test_importing_the_worker_loads_neither_torch_nor_streamlit() -> None:
    script = (
        "import sys, dpviz.runs.engine, dpviz.runs.cluster.host, dpviz.runs.cluster.worker, dpviz.runs.exchange.files;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'torch', 'streamlit', 'plotly', 'distributed'}))"
    )
    loaded = subprocess.run([sys.executable, "-c", script], cwd=HERE.parents[1], capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]", loaded.stderr


# Files in which events wait.


@pytest.fixture
def place(store: Store, tmp_path: Path) -> Place:
    """Beside the store."""
    return Place.of(tmp_path)


def file_of(place: Place, run: str, *, execution: str = "one", process: Process | None = None) -> EventFile:
    worker = (process or this_process()).to_json()
    return EventFile(place, {"run": run, "execution": execution, "worker": worker, "begun": time.time()})


def names(place: Place) -> list[str]:
    return [path.name for path in place.folder.iterdir()]


@pytest.fixture
def dispatcher(store: Store, tmp_path: Path) -> Dispatcher:
    """One whose thread has ended."""
    made = Dispatcher(store, tmp_path, workers=1, preload=False)
    made.close()
    return made


def test_every_event_is_recorded_once_and_in_order(store: Store, place: Place, dispatcher: Dispatcher) -> None:
    """By two apps, of which one begins late; a line that is not whole waits for the rest."""
    run = new(store).id
    file = file_of(place, run)
    other = Dispatcher(store, Path(place.store), workers=1, preload=False)
    other.close()
    for first in (0, 10):
        file.append(rows(steps(10, 1 + first), first))
        dispatcher.collect()
    os.write(file._file, b'[20,"st')
    other.collect()
    assert [event.seq for event in store.events(run)] == list(range(20))
    os.ftruncate(file._file, file._size)
    file.append(rows([{"kind": "done", "step": 20}], 20))
    file.close()
    for one in (other, dispatcher):
        one.collect()
    assert [event.seq for event in store.events(run)] == list(range(21))
    assert (store.run(run).state, store.run(run).attempt) == ("done", 1)
    assert names(place) == []


def test_a_file_stays_while_somebody_may_write_more(store: Store, place: Place, dispatcher: Dispatcher) -> None:
    """Of a run that was given up: what it had charged still comes. One whose writer has ended is removed."""
    run, killed = new(store).id, new(store).id
    file = file_of(place, run)
    file_of(place, killed, process=dataclasses.replace(this_process(), mark="1")).append(rows(steps(3)))
    dispatcher.collect()
    for one in (run, killed):
        store.change_state(one, "stopped", "hard stop", only=("running",))
    dispatcher.collect()
    assert names(place) == [f"{run}-one.jsonl"]
    file.append(rows(steps(2)))
    dispatcher.collect()
    assert [store.run(one).steps for one in (run, killed)] == [2, 3]
    assert (place.folder.stat().st_mode & 0o777, next(place.folder.iterdir()).stat().st_mode & 0o777) == (0o700, 0o600)


def test_what_cannot_be_recorded_is_read_again(
    store: Store, place: Place, dispatcher: Dispatcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = new(store).id
    file = file_of(place, run)
    disk = FullDisk(monkeypatch)
    for first in (0, 1):
        file.append(rows(steps(1, 1 + first), first))
        with pytest.raises(StoreError, match="disk is full"):
            dispatcher.collect()
    disk.free()
    dispatcher.collect()
    assert [event.seq for event in store.events(run)] == [0, 1]


def test_events_that_find_no_room_on_the_disk_leave_no_half_line(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    file = file_of(place, "run")
    file.append(rows(steps(1)))
    write = os.write
    monkeypatch.setattr(os, "write", lambda to, what: write(to, bytes(what)[:3]) if len(what) > 9 else full())

    def full() -> int:
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        file.append(rows([{"kind": "x"}], 1))
    monkeypatch.undo()
    file.append(rows(steps(1, 2), 1))
    [piece] = pieces(place, {})
    assert [line[:3] for line in piece.lines.splitlines()[1:]] == [b"[0,", b"[1,"]


def test_an_execution_begins_however_long_a_busy_scheduler_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, also where its answer was lost; and not where nobody wants it any more."""
    monkeypatch.setattr(work, "RETRY", 0.0)
    answers: list[Any] = [TimeoutError, OSError, ["one"], ["one", "two"]]
    begun = Mock(get=Mock(side_effect=answers), set=Mock(side_effect=[TimeoutError, None]))
    assert work.add_begun(begun, "two", lambda: True) == ["one"]
    assert [call.args for call in begun.set.call_args_list] == [(["one", "two"],), (["one", "two"],)]
    with pytest.raises(TimeoutError):
        work.add_begun(Mock(get=Mock(side_effect=TimeoutError)), "two", lambda: False)


def test_a_task_that_nobody_wants_is_told(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """By Dask, which gave it up for another attempt, or by the folder, which holds no store any more."""
    worker = Mock(**{"status.name": "running", "state.tasks": {"key": Mock(state="executing")}})
    assert Wanted(worker, "key", place).why_not() == ""
    for state in ({"key": Mock(state="cancelled")}, {}):
        other = Mock(**{"status.name": "running", "state.tasks": state})
        assert "another attempt has begun" in Wanted(other, "key", place).why_not()
    assert "its cluster has ended" in Wanted(Mock(**{"status.name": "closing"}), "key", place).why_not()
    wanted, now = Wanted(worker, "key", place), time.monotonic()
    Path(place.store, "runs.sqlite").unlink()
    assert wanted.why_not() == ""
    monkeypatch.setattr(time, "monotonic", lambda: now + 2 * work.STORE_GONE)
    assert place.store in wanted.why_not()
