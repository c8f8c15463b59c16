"""The worker's side without a worker: events numbered and sent, desired states obeyed, one final event."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from typing import Any

import pytest

from dpviz.runs import work
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import EventRow
from dpviz.runs.work import AskedControl, NotRecorded, Sender, call
from tests.runs.conftest import HERE


class DesiredStates:
    """Stands for the scheduler."""

    def __init__(self, desired: str = "go", granted: int = 0) -> None:
        self.now = (desired, granted)
        self.asked = 0

    def __call__(self) -> tuple[str, int]:
        self.asked += 1
        return self.now


@pytest.fixture
def said() -> list[dict[str, Any]]:
    return []


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "POLL_INTERVAL", 0.0)
    monkeypatch.setattr(work, "PAUSED_POLL_INTERVAL", 0.0)


class TestSender:
    def test_all_in_order_and_in_few_batches(self) -> None:
        sent: list[list[EventRow]] = []
        sender = Sender(sent.append)
        for step in range(2000):
            sender.emit({"kind": "step", "step": step, "time": 0.5})
        sender.close()
        rows = [row for batch in sent for row in batch]
        assert [row.seq for row in rows] == list(range(2000))
        assert rows == sender.rows
        assert len(sent) < 100

    def test_sent_soon_without_further_events(self) -> None:
        arrived = threading.Event()
        sender = Sender(lambda rows: arrived.set())
        sender.emit({"kind": "note", "text": "now"})
        assert arrived.wait(5.0)
        sender.close()

    def test_what_cannot_be_passed_on_is_passed_on_later(self) -> None:
        sent: list[EventRow] = []
        failures = iter([OSError("no route")] * 3)

        def send(rows: list[EventRow]) -> None:
            for error in failures:
                raise error
            sent.extend(rows)

        sender = Sender(send)
        for step in range(5):
            sender.emit({"kind": "step", "step": step})
            time.sleep(0.03)
        sender.insist()
        sender.close()
        assert [row.seq for row in sent] == list(range(5))

    def test_what_comes_while_others_are_passed_on_is_not_left_out(self) -> None:
        sent: list[EventRow] = []

        def send(rows: list[EventRow]) -> None:
            sent.extend(rows)
            if len(sender.rows) < 5:
                sender.emit({"kind": "step", "step": len(sender.rows)})

        sender = Sender(send)
        sender.emit({"kind": "started"})
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

        ways = {"send": (fails, lambda charge: None), "confirm": (lambda rows: None, fails)}
        send, confirm = ways[broken]
        sender = Sender(send, confirm=confirm, patience=0.05)
        with pytest.raises(NotRecorded, match="could not be recorded for 0.05 s: it does not go on. no route to it"):
            sender.emit({"kind": "charged", "through": 3, "mechanisms": []})
        if broken == "send":
            with pytest.raises(NotRecorded):
                sender.check()
        sender.rows.clear()  # its thread may end
        sender.close()

    def test_step_and_time_are_filled_in(self) -> None:
        sender = Sender(lambda rows: None)
        sender.emit({"kind": "step", "step": 7})
        sender.emit({"kind": "note"})
        sender.close()
        assert [row.step for row in sender.rows] == [7, 7]
        assert sender.rows[1].time >= sender.rows[0].time >= 0.0

    def test_what_the_run_does_about_it_is_sent_at_once(self, said: list[dict[str, Any]]) -> None:
        """Not with the next events: a paused run has none."""
        sent: list[list[EventRow]] = []
        sender = Sender(sent.append)
        sender._over = True  # its own thread sends nothing more
        control = AskedControl(DesiredStates("pause"), sender.emit, sender.flush)
        assert control.poll() == "pause"
        assert [row.kind for batch in sent for row in batch] == ["control"]
        sender.close()

    def test_a_copy_is_taken(self) -> None:
        sender = Sender(lambda rows: None)
        event = {"kind": "step", "step": 1, "loss": [1.0]}
        sender.emit(event)
        event["loss"] = None
        sender.close()
        assert jsontext.read(sender.rows[0].text)["loss"] == [1.0]


@pytest.mark.usefixtures("quick")
class TestControl:
    def test_go_and_stop(self, said: list[dict[str, Any]]) -> None:
        desired_states = DesiredStates()
        control = AskedControl(desired_states, said.append)
        assert control.poll() == "go"
        desired_states.now = ("stop", 0)
        assert control.poll() == "stop"
        assert said == []

    def test_pause_and_on(self, said: list[dict[str, Any]]) -> None:
        desired_states = DesiredStates("pause")
        control = AskedControl(desired_states, said.append)
        assert [control.poll() for _ in range(3)] == ["pause"] * 3
        desired_states.now = ("go", 0)
        assert control.poll() == "go"
        assert [event["state"] for event in said] == ["paused", "running"]

    def test_each_granted_step_once(self, said: list[dict[str, Any]]) -> None:
        desired_states = DesiredStates("pause")
        control = AskedControl(desired_states, said.append)
        desired_states.now = ("pause", 3)
        assert [control.poll() for _ in range(5)] == ["step"] * 3 + ["pause"] * 2
        desired_states.now = ("pause", 4)
        assert [control.poll() for _ in range(2)] == ["step", "pause"]

    def test_steps_granted_before_do_not_count(self, said: list[dict[str, Any]]) -> None:
        """To an earlier attempt, or to a run that went on meanwhile."""
        desired_states = DesiredStates("pause", 5)
        control = AskedControl(desired_states, said.append)
        assert control.poll() == "pause"
        desired_states.now = ("go", 7)
        assert control.poll() == "go"
        desired_states.now = ("pause", 7)
        assert control.poll() == "pause"

    def test_a_scheduler_that_does_not_answer(self, said: list[dict[str, Any]]) -> None:
        desired_states = DesiredStates()

        def ask() -> tuple[str, int]:
            if desired_states.asked:
                raise OSError("connection lost")
            return desired_states()

        control = AskedControl(ask, said.append)
        assert [control.poll() for _ in range(3)] == ["go"] * 3


def test_a_running_loop_asks_four_times_a_second_at_most(said: list[dict[str, Any]]) -> None:
    desired_states = DesiredStates()
    control = AskedControl(desired_states, said.append)
    end = time.monotonic() + 0.6
    while time.monotonic() < end:
        control.poll()
    assert 2 <= desired_states.asked <= 4


class TestCall:
    def run(self, target: str, **options: Any) -> list[dict[str, Any]]:
        sender = Sender(lambda rows: None)
        call(target, {"steps": 2}, options, sender, AskedControl(DesiredStates(), sender.emit))
        sender.close()
        return [jsontext.read(row.text) for row in sender.rows]

    def test_one_final_event_each(self) -> None:
        for target, kind in (("plain", "done"), ("refusing", "failed"), ("breaking", "failed"), ("silent", "done")):
            events = self.run(f"fake_training:{target}")
            finals = [event["kind"] for event in events if event["kind"] in ("done", "failed", "stopped")]
            assert finals == [kind]
            assert events[-1]["kind"] == kind

    def test_failed_after_it_said_so_itself(self) -> None:
        events = self.run("fake_training:failing_in_words")
        assert [event["kind"] for event in events] == ["failed"]
        assert events[0]["text"] == "in its own words"

    def test_our_own_errors_speak_without_the_name_of_their_type(self) -> None:
        """Found by the package that they are of: workers import no more than they need to say so."""

        class Unavailable(RuntimeError):
            pass

        Unavailable.__module__ = "dpviz.training.data.sources"
        sender = Sender(lambda rows: None)

        def missing(*_: Any, **__: Any) -> None:
            raise Unavailable("The digits are not here.")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(work, "_resolve", lambda target: missing)
            call("m:f", {}, {}, sender, AskedControl(DesiredStates(), sender.emit))
        sender.close()
        assert jsontext.read(sender.rows[-1].text)["text"] == "The digits are not here."

    def test_unknown_options_fail_the_run(self) -> None:
        assert "unexpected keyword" in self.run("fake_training:refusing", speed=2)[-1]["text"]


def test_importing_the_worker_loads_neither_torch_nor_streamlit() -> None:
    script = (
        "import sys, dpviz.runs.engine, dpviz.runs.cluster.host, dpviz.runs.cluster.worker, dpviz.runs.exchange.files;"
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'torch', 'streamlit', 'plotly', 'distributed'}))"
    )
    found = subprocess.run([sys.executable, "-c", script], cwd=HERE.parents[1], capture_output=True, text=True)
    assert found.stdout.strip() == "[]", found.stderr
