"""From the worker to the store: events numbered and sent, desired states obeyed, one final event; all are collected."""

import itertools
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest

from dpviz.runs import collector, work
from dpviz.runs.collector import Collector, EndedFuture
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import Delivery, EventRow
from dpviz.runs.store.store import Store
from dpviz.runs.work import AskedControl, NotRecorded, Sender, call
from tests.runs.conftest import HERE, FullDisk, batch, started, steps, until

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

    def test_a_charge_returns_once_it_is_confirmed(self) -> None:
        sent: list[EventRow] = []
        asked: list[EventRow] = []

        def confirm(charge: EventRow) -> None:
            assert charge in sent
            asked.append(charge)
            if len(asked) < 3:
                raise TimeoutError("no answer")

        sender = Sender(sent.extend, confirm=confirm)
        sender.emit({"kind": "charged", "through": 3, "mechanisms": []})
        assert len(asked) == 3
        sender.close()

    @pytest.mark.parametrize("broken", ["send", "confirm"])
    def test_one_that_is_never_recorded_is_raised(self, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
        monkeypatch.setattr(work, "RETRY", 0.01)

        def fails(_: object) -> None:
            raise OSError("no route to it")

        ways: dict[str, Any] = {"send": lambda rows: None, "confirm": lambda charge: None} | {broken: fails}
        sender = Sender(**ways, patience=0.05)
        with pytest.raises(NotRecorded, match="could not be recorded for 0.05 s, so it was stopped. no route to it"):
            sender.emit({"kind": "charged", "through": 3, "mechanisms": []})
        if broken == "send":
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


# The collector while the store, or Dask, is in trouble.


Heard = dict[str, list[Any]]


def text(one: Delivery) -> str:
    return jsontext.write(
        {"run": one.run, "execution": one.execution, "worker": one.worker, "begun": one.begun, "rows": one.rows}
    )


def end_of(run: str, status: str, *, result: Any = None, error: Exception | None = None) -> EndedFuture:
    """With as much of Dask's future as the collector uses."""
    return EndedFuture(run, Mock(status=status, **{"result.return_value": result, "exception.return_value": error}))


@pytest.fixture
def heard() -> Heard:
    return {"on_batch": [], "on_end": [], "on_trouble": []}


@pytest.fixture
def writing(store: Store, heard: Heard) -> Iterator[Collector]:
    made = Collector(store, **{name: told.append for name, told in heard.items()})
    yield made
    made.close()


def test_gaps_are_filled_from_the_result(store: Store, run: str, writing: Collector, heard: Heard) -> None:
    """What has no place is not told: whoever waits to hear of it must not go on."""
    whole = batch(run, *steps(10), {"kind": "done", "step": 10})
    for one in (batch("gone", *steps(3)), batch(run, *steps(3)), batch(run, {"kind": "done", "step": 10}, first=10)):
        writing.put(text(one))
    end = end_of(run, "finished", result=zlib.compress(text(whole).encode()))
    writing.put(end)
    until(lambda: heard["on_end"] == [run])
    assert [event.seq for event in store.events(run)] == list(range(11))
    assert store.run(run).state == "done"
    end.future.release.assert_called()
    assert [one.run for one in heard["on_batch"]] == [run, run]


def test_a_task_that_dask_gave_up(
    store: Store, writing: Collector, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written as soon as there is room."""

    class KilledWorker(Exception):
        pass

    monkeypatch.setattr(collector, "RETRY", 0.02)
    runs, disk = [started(store) for _ in range(4)], FullDisk(monkeypatch, "change_state")
    store.record([batch(runs[3], *steps(2))])
    writing.put(end_of(runs[0], "error", error=KilledWorker()))
    writing.put(end_of(runs[1], "error", error=OSError("no")))
    for run in runs[2:]:  # the first had not begun: it waits for other workers
        writing.put(end_of(run, "cancelled"))
    until(lambda: disk.calls > 2)
    assert heard["on_end"] == []
    disk.free()
    until(lambda: heard["on_end"] == runs)
    records = [store.run(run) for run in runs]
    assert [record.state for record in records] == ["failed", "failed", "queued", "lost"]
    assert "ended twice" in records[0].reason
    assert records[1].reason == "OSError: no"


def test_nothing_is_thrown_away_while_the_disk_is_full(
    store: Store, writing: Collector, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "RETRY", 0.02)
    monkeypatch.setattr(collector, "PATIENCE", 0.1)
    run, disk = started(store), FullDisk(monkeypatch)
    for i in range(5):
        writing.put(text(batch(run, *steps(10, 1 + 10 * i), first=10 * i)))
    ending = Collector(store, **dict.fromkeys(heard, lambda _: None))
    ending.put(text(batch(run, *steps(10))))
    until(lambda: ending.trouble)
    ending.close()
    assert not ending._thread.is_alive(), "it ends also while nothing can be written"
    until(lambda: heard["on_trouble"] == ["the disk is full"])
    until(lambda: writing.trouble == f"the disk is full {collector.HELD}")
    assert store.run(run).steps == 0
    time.sleep(0.1)
    disk.free()
    until(lambda: store.run(run).steps == 50)
    until(lambda: heard["on_trouble"] == ["the disk is full", ""])
    assert writing.trouble == ""
    assert [event.seq for event in store.events(run)] == list(range(50))
