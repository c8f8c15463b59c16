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

MISSING = "Expected target='fake_training:missing' to be the name of a function, as in 'module:function'."


class DesiredStates:
    """Stands for the scheduler."""

    def __init__(self, desired: str = "go", granted: int = 0) -> None:
        self.now: Any = (desired, granted)
        self.asked = 0

    def __call__(self) -> tuple[str, int]:
        self.asked += 1
        if isinstance(self.now, Exception):
            raise self.now
        return self.now


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
        with pytest.raises(NotRecorded, match="could not be recorded for 0.05 s: it does not go on. no route to it"):
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
        control = AskedControl(DesiredStates("pause"), sender.emit, sender.flush)
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
        desired_states, states = DesiredStates(*moves[0][0]), []
        control = AskedControl(desired_states, lambda event: states.append(event["state"]))
        for now, answers in moves:
            desired_states.now = now
            assert [control.poll() for _ in answers.split()] == answers.split()
        assert states == said.split()


class TestCall:
    def run(self, target: str, **options: Any) -> list[dict[str, Any]]:
        sender = Sender(lambda rows: None)
        call(target, {"steps": 2}, options, sender, AskedControl(DesiredStates(), sender.emit))
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
            (
                "missing",
                "failed",
                "Expected target='fake_training:missing' to be the name of a function, as in 'module:function'.",
            ),
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
