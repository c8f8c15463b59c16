"""What pages have measured in the process beside the app: progress, sharing, a stop, bad ends, and no PyTorch here."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.testing.v1 import AppTest

from dpviz.runs.engine import engine
from dpviz.runs.measuring.measurement import Measurements
from dpviz.ui import measuring
from tests.ui.driver import open_app, press, put, said

ROOT = Path(__file__).parents[2]
QUICK = "lkrun=small&model=logistic&lksteps=20&lkexamples=60"
ENDLESS = "lkrun=small&model=mlp&lksteps=20000&lkexamples=60"
During = Callable[[Callable[[], None]], list[str]]
WAYS_ON = {"Try again", "Measure"}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measurements]:
    """One process for all tests that leave it able to measure: starting it takes seconds."""
    made = Measurements(tmp_path_factory.mktemp("logs") / "logs" / "measurements.log")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def own(shared: Measurements, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Measurements]:
    """A store of one's own, and those measurements."""
    monkeypatch.setenv("DPVIZ_HOME", str(tmp_path))
    monkeypatch.setattr(measuring, "measurements", lambda: shared)
    yield shared
    engine().shutdown()


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> During:
    """Calls what it is given at each glance of a waiting page; returns what the page said of its measurement."""

    def watch(act: Callable[[], None]) -> list[str]:
        told: list[str] = []
        look_around, follow = measuring.disturbed, measuring.follow_progress

        def following(measurement: Any, bar: Any) -> bool:
            def progress(share: float, text: str) -> None:
                told.append(text)
                bar.progress(share, text=text)

            return follow(measurement, SimpleNamespace(progress=progress))

        def acting() -> bool:
            act()
            return look_around()

        monkeypatch.setattr(measuring, "follow_progress", following)
        monkeypatch.setattr(measuring, "disturbed", acting)
        return told

    return watch


def ways_on(at: AppTest) -> list[str]:
    return [button.label for button in at.button if button.label in WAYS_ON]


def test_progress_is_said_and_sessions_share(
    own: Measurements, during: During, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept alive by being looked at, also while the process loads; a cluster elsewhere has no part in it."""
    monkeypatch.setattr("dpviz.runs.measuring.measurement.FORGOTTEN", 0.7)
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tcp://127.0.0.1:9")
    told = during(lambda: None)
    at = open_app("leakage", QUICK.replace("lksteps=20", "lksteps=2000"))
    assert told[0].startswith("The measuring process starts, 0 s so far")
    assert any(text.startswith("Training the network: ") and text.endswith(" left.") for text in told)
    assert "gradient distances of training" in said(at, "headline")[0]
    assert not any(button.label == "Stop" for button in at.button)
    before, child = len(told), own.worker
    open_app("leakage", QUICK.replace("lksteps=20", "lksteps=2000&lkview=attack"))
    assert (len(told), own.worker) == (before, child)


@pytest.mark.sweep
def test_bad_ends_are_said_with_a_way_on(own: Measurements, during: During, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed while it measures; then no process to be had; then tried again with one."""
    killed: list[int] = []

    def kill() -> None:
        if not killed and told and told[-1].startswith("Training") and own.worker is not None:
            killed.append(own.worker)
            os.kill(own.worker, signal.SIGKILL)

    told = during(kill)
    at = open_app("leakage", QUICK.replace("lksteps=20", "lksteps=1500"))
    assert "was killed (signal 9)" in said(at, "problem")[0]
    assert "measurements.log" in said(at, "problem")[0]
    with monkeypatch.context() as broken:
        broken.setattr("dpviz.runs.measuring.measurement.MODULE", "dpviz.runs.nothing")
        press(at, "Try again")
        assert "ended by itself (code 1)" in said(at, "problem")[0]
        at.run()
        assert ways_on(at) == ["Try again"]
    press(at, "Try again")
    assert "gradient distances of training" in said(at, "headline")[0]
    assert not said(at, "problem")
    assert ways_on(at) == []


def test_stopped_by_hand_and_given_up(own: Measurements, during: During, monkeypatch: pytest.MonkeyPatch) -> None:
    """The button ends the wait; what nobody waits for ends too, and the process goes on to the next."""
    monkeypatch.setattr("dpviz.runs.measuring.measurement.FORGOTTEN", 0.3)
    stopped: list[bool] = []

    def stop() -> None:
        if not stopped and told and told[-1].startswith("Training"):
            import streamlit as st

            stopped.append(True)
            measuring.stop([asked.key for asked in measuring.asked_now()])
            st.rerun()  # as a click does

    told = during(stop)
    at = open_app("leakage", ENDLESS)
    assert said(at, "problem") == [measuring.STOPPED]
    assert ways_on(at) == ["Measure"]
    child = own.worker
    put(at, "value.lksteps", 20.0)
    assert "gradient distances of training" in said(at, "headline")[0]
    assert own.worker == child


WALK = """
import json, sys
from dpviz.ui.page import places
from tests.ui.driver import go_to, open_app, press, said
query = "source=measured&model=logistic&trained=3&examples=60&curves=bayesian.moments&lkrun=small"
at = open_app("home", query + "&model=logistic&lksteps=5&lkexamples=40")
told = {}
for page in list(places())[1:]:
    go_to(at, page).run()
    told[page] = [[one.message for one in at.exception], said(at, "problem"), "torch" in sys.modules]
print(json.dumps(told))
"""


@pytest.mark.sweep
def test_no_page_loads_torch(tmp_path: Path) -> None:
    """Every page, Leakage and the measured gradients too, which have what they show measured elsewhere."""
    environment = {**os.environ, "DPVIZ_HOME": str(tmp_path), "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, "-c", WALK], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert {"compose", "noise", "leakage", "train", "runs"} <= told.keys()
    assert {page: found for page, found in told.items() if found != [[], [], False]} == {}


def test_a_move_within_the_fragment_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though Streamlit interrupts no script for it."""
    requests = ScriptRequests()
    monkeypatch.setattr(measuring, "get_script_run_ctx", lambda **_: SimpleNamespace(script_requests=requests))
    assert not measuring.disturbed()
    requests.request_rerun(RerunData(fragment_id="body", fragment_id_queue=["body"]))
    assert requests.on_scriptrunner_yield() is None
    assert measuring.disturbed()
