"""The engine when nothing goes wrong: submit, watch, hold, stop, queue, from any thread."""

import asyncio
import gc
import http.client
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from dpviz.runs.engine import Engine
from dpviz.runs.store.records import StoreError
from dpviz.runs.waiting import keep
from dpviz.training.settings import RunSettings
from tests.runs.conftest import LONG, PLAIN, at_once, gone, processes_of, running, short_run, until


def test_a_run_from_submit_to_done(engine: Engine) -> None:
    run = engine.submit({"steps": 20}, target=PLAIN, name="twenty", options={"file": "at/{run}.pt"})
    record = engine.wait(run, 60.0)
    assert (record.state, record.steps, record.attempt, record.title) == ("done", 20, 1, "twenty")
    assert record.summary["test_accuracy"] == 0.5
    assert record.started is not None
    assert record.ended is not None
    assert record.created <= record.started <= record.ended
    events = engine.store.events(run)
    assert [event.seq for event in events] == list(range(22))
    assert events[0].data["settings"] == {"steps": 20}
    assert events[0].data["options"] == {"file": f"at/{run}.pt"}
    assert engine.look(run).steps["loss"].tolist() == [1.0 / step for step in range(1, 21)]
    assert engine.problem == ""
    assert until(lambda: engine.ready), "a short run may be done before the worker is looked at"


def test_events_travel_soon(engine: Engine) -> None:
    """A step is in the store a second and a half after it was taken at the latest."""
    short_run(engine)
    asked = time.time()
    run = engine.submit({"steps": 20, "pause": 0.05}, target=PLAIN)
    until(lambda: engine.store.events(run))
    assert time.time() - asked < 1.5
    late, seen = [], -1
    while not engine.run(run).over:
        news = [event for event in engine.store.events(run) if event.seq > seen]
        late += [time.time() - event.data["sent"] for event in news if "sent" in event.data]
        seen = news[-1].seq if news else seen
        time.sleep(0.01)
    assert late
    assert max(late) < 1.5


def test_stop_from_another_thread(engine: Engine) -> None:
    """As another session does; seen by everybody within two seconds."""
    run = running(engine)
    assert at_once(lambda: engine.stop(run)) == []
    until(lambda: engine.run(run).state == "stopped", 2.0)
    record = engine.run(run)
    assert record.reason == f"Stopped after step {record.steps}."
    assert engine.store.events(run)[-1].kind == "stopped"
    assert engine.resume(run).state == "stopped"
    assert engine.stop(run).state == "stopped"


def test_pause_single_steps_and_resume(engine: Engine) -> None:
    run = running(engine)
    engine.pause(run)
    until(lambda: engine.run(run).state == "paused", 2.0)
    held = until(lambda: engine.run(run)).steps
    engine.step(run)
    until(lambda: engine.run(run).steps == held + 1, 2.0)
    engine.step(run, 3)
    until(lambda: engine.run(run).steps == held + 4, 3.0)
    time.sleep(0.3)
    assert engine.run(run).steps == held + 4
    assert engine.run(run).state == "paused"
    engine.resume(run)
    until(lambda: engine.run(run).state == "running", 2.0)
    until(lambda: engine.run(run).steps > held + 5, 2.0)
    engine.pause(run)
    engine.stop(run)
    assert engine.wait(run, 2.0).state == "stopped"
    with pytest.raises(ValueError, match="count=0"):
        engine.step(run, 0)


def test_queue_beyond_the_limit(engine: Engine) -> None:
    first = running(engine)
    second, third = (engine.submit({"steps": 2}, target=PLAIN) for _ in range(2))
    time.sleep(0.5)
    assert [engine.run(run).state for run in (second, third)] == ["queued", "queued"]
    record = engine.stop(second)
    assert (record.state, record.reason) == ("stopped", "stopped before it started")
    engine.stop(first)
    assert engine.wait(third, 60.0).state == "done"
    assert engine.store.events(second) == []


def test_a_run_that_was_asked_to_go_on_and_stopped_does_not_begin(engine: Engine) -> None:
    run = running(engine)
    engine.stop(run)
    engine.wait(run, LONG)
    keep(engine.checkpoint(run), b"a checkpoint")
    first = running(engine)
    assert engine.go_on(run).state == "queued"
    time.sleep(0.5)  # it waits in the scheduler
    assert engine.stop(run).state == "stopped"
    engine.stop(first)
    assert short_run(engine).state == "done"
    assert engine.run(run).attempt == 1


def test_submitted_by_threads_that_end(engine: Engine) -> None:
    """As Streamlit's script threads do, several at once; of many events all arrive."""
    runs: list[str] = []
    assert at_once(*[lambda: runs.append(engine.submit({"steps": 5_000}, target=PLAIN))] * 4) == []
    for record in [engine.wait(run, 60.0) for run in runs]:
        assert (record.state, record.steps) == ("done", 5_000)
        steps = [event.step for event in engine.store.events(record.id) if event.kind == "step"]
        assert steps == list(range(1, 5_001))


def test_only_this_machine_can_connect(engine: Engine) -> None:
    until(lambda: engine.ready, 60.0)
    processes = [process for process in processes_of(engine) if not gone([process])]
    listening = [
        connection.laddr
        for process in processes
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert {address.ip for address in listening} == {"127.0.0.1"}
    assert len(listening) == len(processes)  # one for Dask itself each, none for web pages
    # A process without the certificate gets nowhere, at the scheduler as at the workers.
    for port in {address.port for address in listening}:
        for protocol in ("tcp", "tls"):
            assert refused_by(f"{protocol}://127.0.0.1:{port}")
        assert http_status(port) is None


def refused_by(address: str) -> bool:
    """Whether a plain Dask client cannot connect, and a request without the certificate is not answered."""
    from distributed import Client, rpc
    from distributed.security import Security

    make: Any = Client
    refusals = (OSError, TimeoutError, TypeError, RuntimeError)
    with suppress(*refusals):
        make(address, set_as_default=False, timeout=0.5).close()
        return False
    gc.collect()  # a half-made client that is collected while the next one starts waits for it, and it for the client

    async def ask() -> None:
        async with rpc(address, timeout=0.5, connection_args=Security().get_connection_args("client")) as there:
            await asyncio.wait_for(there.identity(), 1.0)

    with suppress(*refusals):
        asyncio.run(ask())
        return False
    return True


def http_status(port: int) -> int | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1.0)
    with closing(connection), suppress(OSError, http.client.HTTPException):
        connection.request("GET", "/status")
        return connection.getresponse().status
    return None


def test_settings_are_checked_before_anything_starts(tmp_path: Path) -> None:
    engine = Engine(tmp_path, preload=False)
    with pytest.raises(ValueError, match="Expected steps=0"):
        engine.submit(RunSettings(steps=0))
    with pytest.raises(ValueError, match="Expected target='nothing'"):
        engine.submit({}, target="nothing")
    with pytest.raises(KeyError, match="no run 'x'"):
        engine.stop("x")
    assert engine.runs() == []
    assert engine._dispatcher is None
    engine.shutdown()
    with pytest.raises(RuntimeError, match="shut down"):
        engine.submit({})


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="DPVIZ_HOME") as refused:
        Engine(tmp_path / "file" / "runs")
    assert str(tmp_path / "file" / "runs") in str(refused.value)
