"""What pages have measured by workers: progress, sharing, a stop, bad ends, and no PyTorch here."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.scriptrunner_utils.script_requests import RerunData, ScriptRequests
from streamlit.testing.v1 import AppTest

from dpviz.runs.engine import Engine
from dpviz.ui import measuring
from tests.runs.conftest import kill, until, workers_of
from tests.ui.driver import open_app, press, put, said

TESTED = re.compile(r"\bp ([=<]|&lt;) \d")  # the answer: what a test of two samples found

ROOT = Path(__file__).parents[2]
QUICK = "lkrun=small&model=logistic&lksteps=20&lkexamples=60"
ENDLESS = "lkrun=small&model=mlp&lksteps=20000&lkexamples=60"
During = Callable[[Callable[[], None]], list[str]]
WAYS_ON = {"Try again", "Measure"}


@pytest.fixture
def during(monkeypatch: pytest.MonkeyPatch) -> During:
    """Calls what it is given at each glance of a waiting page; returns what the page said of its measurement."""

    def watch(act: Callable[[], None]) -> list[str]:
        told: list[str] = []
        look_around, follow = measuring.disturbed, measuring.follow_progress

        def following(engine: Engine, measurement: Any, bar: Any) -> bool:
            def progress(share: float, text: str) -> None:
                told.append(text)
                bar.progress(share, text=text)

            return follow(engine, measurement, SimpleNamespace(progress=progress))

        def acting() -> bool:
            act()
            return look_around()

        monkeypatch.setattr(measuring, "follow_progress", following)
        monkeypatch.setattr(measuring, "disturbed", acting)
        return told

    return watch


def ways_on(at: AppTest) -> list[str]:
    return [button.label for button in at.button if button.label in WAYS_ON]


def test_progress_is_said_and_sessions_share(measurer: Engine, during: During, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept alive by being looked at, also while the workers load."""
    monkeypatch.setattr("dpviz.runs.measuring.measurement.FORGOTTEN", 0.7)
    told = during(lambda: None)
    at = open_app("leakage", QUICK.replace("lksteps=20", "lksteps=2000"))
    assert any(text.startswith("Training the network: ") and text.endswith(" left.") for text in told)
    assert TESTED.search(said(at, "headline")[0])
    assert not any(button.label == "Stop" for button in at.button)
    before = len(told)
    open_app("leakage", QUICK.replace("lksteps=20", "lksteps=2000&lkview=attack"))
    assert len(told) == before


@pytest.mark.sweep
def test_bad_ends_are_said_with_a_way_on(measurer: Engine, during: During, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra; then killed twice; then tried again."""
    killed: list[int] = []  # how much had been said then

    def kill_it() -> None:
        since = told[killed[-1] :] if killed else told
        again = not killed or any(not text.startswith("Training") for text in since)
        if len(killed) < 2 and again and since and since[-1].startswith("Training"):
            for pid in workers_of(measurer):  # none while the next one is being started
                killed.append(len(told))
                kill(pid)

    told = during(kill_it)
    with monkeypatch.context() as broken:
        broken.setattr("dpviz.runs.cluster.connection.NEEDED", ("not_there_at_all",))
        at = open_app("leakage", ENDLESS.replace("20000", "19000"))
        assert "pip install 'dpviz[train]'" in said(at, "problem")[0]
        at.run()
        assert ways_on(at) == ["Try again"]
    press(at, "Try again")
    assert "ended, one after the other" in said(at, "problem")[0]
    put(at, "value.lksteps", 20.0)
    assert TESTED.search(said(at, "headline")[0])
    assert not said(at, "problem")
    assert ways_on(at) == []


def test_a_page_that_waits_for_a_run_says_so(measurer: Engine, during: During) -> None:
    """The name of the run is shown as it was written."""
    patient = {"steps": 100_000, "pause": 0.01}
    run = measurer.submit(patient, target="tests.runs.fake_training:plain", name="*My* run")
    until(lambda: measurer.run(run).steps)

    def stop() -> None:
        if any("busy" in text for text in told):
            measurer.stop(run)

    told = during(stop)
    at = open_app("leakage", QUICK.replace("lksteps=20", "lksteps=30"))
    assert r"It waits for a free worker; one is busy with \*My\* run." in told
    assert TESTED.search(said(at, "headline")[0])


def test_without_a_store_a_page_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "engines", SimpleNamespace(current=lambda: (None, "no room")))
    at = open_app("leakage", QUICK.replace("lksteps=20", "lksteps=40"))
    assert said(at, "problem")[0] == "Nothing could be measured: no room"
    assert ways_on(at) == ["Try again"]
    press(at, "Try again")
    assert ways_on(at) == ["Try again"]


def test_stopped_by_hand_and_given_up(measurer: Engine, during: During, monkeypatch: pytest.MonkeyPatch) -> None:
    """The button ends the wait; what nobody waits for ends too, and the worker goes on to the next."""
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
    before = workers_of(measurer)
    put(at, "value.lksteps", 20.0)
    assert TESTED.search(said(at, "headline")[0])
    assert workers_of(measurer) == before


WALK = """
import json, sys
from dpviz.runs.engine import engine
from dpviz.ui.page import places
from tests.ui.driver import go_to, open_app, press, said
query = "source=measured&model=logistic&trained=3&examples=60&curves=bayesian.moments&lkrun=small"
few = "&ppaper=filters"  # of printed values: to compute all of them takes half the time
at = open_app("home", query + "&model=logistic&lksteps=5&lkexamples=40" + few)
told = {}
for page in list(places())[1:]:
    go_to(at, page).run()
    told[page] = [[one.message for one in at.exception], said(at, "problem"), "torch" in sys.modules]
engine().end_workers()
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
