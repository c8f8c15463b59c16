"""A real local cluster whose workers train: one is killed, and the run goes on from its checkpoint."""

import time

import pytest

from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import merge_events
from dpviz.runs.claims import claim_of_record, claim_of_view
from dpviz.runs.engine import Engine
from dpviz.training.samplers import read
from tests.runs.conftest import LONG, Makes, kill, until
from tests.ui.runs_made import TINY

pytestmark = pytest.mark.sweep

SETTINGS = TINY.with_(steps=300, noise_multiplier=0.8)


def taken(engine: Engine, run: str) -> int:
    """Steps of all attempts, each event of them one by one."""
    events = [event for a in engine.store.attempts(run) for event in engine.store.events(run, a["attempt"])]
    return sum(event.data["count"] for event in events if event.kind == "step")


def least(engine: Engine, run: str) -> float:
    """The ε of every step that was ever taken, composed from their events."""
    events = [event for a in engine.store.attempts(run) for event in engine.store.events(run, a["attempt"])]
    charged = merge_events(read(one) for event in events if event.kind == "step" for one in event.data["mechanisms"])
    return float(tight_epsilon_of_events(charged, SETTINGS.delta).upper)


def test_a_worker_is_killed_and_the_run_goes_on_and_then_once_more_when_asked(make_engine: Makes) -> None:
    engine = make_engine(workers=2, preload=True)
    run = engine.submit(SETTINGS, options={"slow": 0.02})
    until(lambda: engine.run(run).steps >= 5 or engine.run(run).over)
    assert engine.run(run).reason == ""
    engine.pause(run)
    until(lambda: engine.run(run).state == "paused" and engine.checkpoint(run).is_file())
    at = engine.run(run).steps
    engine.resume(run)
    until(lambda: engine.run(run).steps >= at + 5)
    worker = engine.store.attempts(run)[-1]["worker"]["pid"]
    kill(worker)
    died = time.monotonic()
    until(lambda: engine.run(run).attempt == 2 and engine.run(run).steps > at)
    print(f"It took its next step {time.monotonic() - died:.2f} s after its worker was killed.")
    record = engine.run(run)
    assert record.state == "restarted"
    assert f"after step {at} " in record.reason
    view = engine.look(run)
    assert list(view.steps["step"]) == list(range(1, view.steps["step"].size + 1)), "and shows those before, each once"
    assert claim_of_view(view, engine.store).epsilon >= least(engine, run)

    engine.stop(run)
    record = engine.wait(run, LONG)
    assert (record.state, engine.can_go_on(record)) == ("stopped", True)
    assert claim_of_record(record, engine.store).epsilon >= least(engine, run)
    assert engine.go_on(run).state == "queued"
    record = engine.wait(run, LONG, ("done", "failed", "lost"))
    assert (record.state, record.steps, record.attempt) == ("done", 300, 3)
    assert list(engine.look(run).steps["step"]) == list(range(1, 301))
    assert claim_of_record(record, engine.store).epsilon == least(engine, run)
    lost = taken(engine, run) - 300
    assert lost >= 5 - 1
    assert not engine.checkpoint(run).exists()
    until(lambda: not list((engine.folder / "runs-waiting").glob(f"{run}-*")))
