"""A worker's run that is given up claims its whole plan until everything that it wrote was read."""

import dataclasses
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from dpviz.accounting.claims import Claim
from dpviz.mechanisms import merge_events
from dpviz.runs import claims, waiting
from dpviz.runs.dispatch import SENT, Dispatcher, key_of, unread
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.checksums import with_checksums
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.processes import Process, this_process
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import ACTIVE, TRAINING, UNREAD, Delivery, Event, EventRow
from dpviz.runs.store.store import Store
from dpviz.runs.waiting import EventFile, Place
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.settings import RunSettings
from tests.ui.runs_made import TINY, events_of, fresh_engine

N = 3133  # of Abalone
PLAN = TINY.with_(noise_multiplier=0.5, steps=2000)
ELSEWHERE = dataclasses.replace(this_process(), machine="another/one/far")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture
def store(engine: Engine) -> Store:
    return engine.store


@pytest.fixture(scope="module")
def told() -> list[Event]:
    """What the first six steps of the plan told, and an end."""
    events = [
        event._replace(data={name: value for name, value in event.data.items() if name != "claim"})
        for event in events_of(PLAN.with_(steps=6))
    ]
    events[-1] = events[-1]._replace(kind="stopped", data=events[-1].data | {"kind": "stopped", "reason": "stopped"})
    return list(
        with_checksums(
            event._replace(data=event.data | {"settings": PLAN.to_json()}) if event.kind == "started" else event
            for event in events
        )
    )


def rows(events: list[Event]) -> tuple[EventRow, ...]:
    return tuple(EventRow(e.seq, e.kind, e.step, e.time, jsontext.write(e.data)) for e in events)


def delivery(run: str, events: list[Event], execution: str = "one", **more: Any) -> Delivery:
    return Delivery(run, execution, ELSEWHERE.to_json(), rows(events), time.time(), **more)


def begun(store: Store, settings: RunSettings = PLAN) -> str:
    run = store.create(target=TRAINING, settings=settings.to_json(), options={}).id
    store.begin(run)
    return run


def claim_of(store: Store, run: str) -> Claim:
    return claims.claim_of_record(store.run(run), store)


def charged_before(store: Store, run: str) -> Any:
    return claims.charged_before(store.run(run), PLAN, N, store).mechanisms


def exact(told: list[Event], times: int = 1) -> float:
    return claims.odometer_of(PLAN, merge_events(claims.mechanisms(claims.Digest.of(told)) * times))


def given_up(store: Store, told: list[Event], state: Any = "lost") -> str:
    run = begun(store)
    store.record([delivery(run, told)])
    store.change_state(run, state, "gone", only=ACTIVE)
    return run


@pytest.mark.parametrize("state", ["lost", "stopped", "failed"])
def test_a_run_given_up_claims_its_plan_and_then_what_was_read(store: Store, told: list[Event], state: str) -> None:
    run, planned = given_up(store, told[:3], state), planned_claim(PLAN, N).epsilon
    claim = claim_of(store, run)
    assert (claim.epsilon, claim.conditions[-1]) == (planned, claims.GIVEN_UP)
    store.record([delivery(run, told[3:-1])])
    assert claim_of(store, run).epsilon == planned
    assert store.all_recorded(run, "one")
    assert claim_of(store, run).epsilon == exact(told[:-1]) < planned
    assert claims.GIVEN_UP not in claim_of(store, run).conditions


def test_its_last_event_makes_the_claim_exact(store: Store, told: list[Event]) -> None:
    run = given_up(store, told[:3])
    store.record([delivery(run, told[3:])])
    assert (store.run(run).state, claim_of(store, run).epsilon) == ("stopped", exact(told))


def test_a_plan_without_an_end_claims_nothing(store: Store, told: list[Event]) -> None:
    adaptive = PLAN.with_(policy="adaptive_noise", batch_size=1000)
    run = begun(store, adaptive)
    nothing = told[0].data | {"claim": Claim.nothing("it had no budget").to_json()}
    store.record([delivery(run, [told[0]._replace(data=nothing), *told[1:3]])])
    store.change_state(run, "lost", only=ACTIVE)
    assert not claim_of(store, run).holds
    empty = begun(store)
    store.record([delivery(empty, [])])
    store.change_state(empty, "lost", only=ACTIVE)
    assert claim_of(store, empty).reason == claims.NO_BEGINNING


@pytest.mark.parametrize("seen", [True, False])
def test_an_attempt_that_was_given_up_for_another_is_charged_whole(store: Store, told: list[Event], seen: bool) -> None:
    """Also one of which only its scheduler knows."""
    run, plan = begun(store), claims.everything_planned(PLAN, N)
    if seen:
        store.record([delivery(run, told[:3], "first")])
    store.record([delivery(run, told, "second", earlier=("first",))])
    assert (store.run(run).attempt, store.run(run).state) == (2, "stopped")
    assert charged_before(store, run) == plan
    both = claims.claim_of_plan(merge_events((*plan, *plan)), PLAN, N, 2000).epsilon
    assert claim_of(store, run).epsilon == both
    store.record([delivery(run, told[3 if seen else 0 :], "first")])
    assert store.run(run).attempt == 2
    assert charged_before(store, run) == claims.mechanisms(claims.Digest.of(told))
    assert claim_of(store, run).epsilon < both


def test_an_execution_heard_of_after_the_end_is_charged(store: Store, told: list[Event]) -> None:
    """It goes before the one that ended the run."""
    run = begun(store)
    store.record([delivery(run, told, "known")])
    before = store.events(run)
    store.record([delivery(run, told[:4], "late")])
    assert (store.run(run).attempt, store.run(run).state, store.run(run).steps) == (2, "stopped", 6)
    assert [event[1:] for event in store.events(run)] == [event[1:] for event in before]
    assert [attempt["execution"] for attempt in store.attempts(run)] == ["late", "known"]
    assert charged_before(store, run) == claims.everything_planned(PLAN, N)
    never = store.create(target=TRAINING, settings=PLAN.to_json(), options={}).id
    store.set_desired(never, "stop")
    store.record([delivery(never, told[:4])])
    assert claim_of(store, never).epsilon == planned_claim(PLAN, N).epsilon


def test_an_execution_that_only_its_scheduler_knows_is_charged(store: Store, told: list[Event]) -> None:
    run = begun(store)
    store.record([delivery(run, told, "known")])
    store.expect(run, ["known", "unseen"], {})
    assert charged_before(store, run) == claims.everything_planned(PLAN, N)
    store.expect(run, ["known", "unseen"], {})
    assert store.run(run).attempt == 2


def test_a_copy_in_a_file_claims_the_same(store: Store, told: list[Event]) -> None:
    for state in ("lost", "running"):
        run = begun(store) if state == "running" else given_up(store, told[:3])
        store.record([delivery(run, told[:3])])
        copy = import_run(store, export_run(store, run))
        assert claim_of(store, copy.id).epsilon == planned_claim(PLAN, N).epsilon


# Files in which events wait.


@pytest.fixture
def dispatcher(store: Store, tmp_path: Path) -> Dispatcher:
    """One whose thread has ended."""
    made = Dispatcher(store, tmp_path, workers=1, preload=False)
    made.close()
    return made


def test_a_run_whose_scheduler_is_gone_claims_nothing_and_is_not_sent_again(
    store: Store, dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may have begun on another machine, whose files nobody reads; its next scheduler knows nothing of it."""
    run = store.create(target=TRAINING, settings=PLAN.to_json(), options={}).id

    def asked(scheduler: str) -> bool:
        client = Mock(scheduler_info=lambda n_workers: {"id": scheduler})
        away = Mock(local=False, address="tls://far:8786", client=client)
        monkeypatch.setattr(dispatcher, "connection", away)
        return dispatcher.began_unseen(run)

    assert [asked("Scheduler-1"), asked("Scheduler-1")] == [False, False]
    assert store.run(run).attempt == 0
    assert asked("Scheduler-2")
    assert store.run(run).attempt == 1
    store.change_state(run, "lost", only=("running",))
    assert not claim_of(store, run).holds, "nothing says how many examples it had"
    assert (tmp_path / SENT / run).exists()


@pytest.mark.parametrize("attempts", [0, 1])
@pytest.mark.parametrize(("scheduler", "charged"), [("Scheduler-1", []), ("Scheduler-2", [UNREAD])])
def test_a_run_that_was_stopped_before_anybody_heard_of_its_start_may_have_begun(
    store: Store,
    dispatcher: Dispatcher,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    scheduler: str,
    charged: list[str],
    attempts: int,
    told: list[Event],
) -> None:
    """Its scheduler knows whether it did; another one does not. The same of a run that was asked to go on."""
    run = store.create(target=TRAINING, settings=PLAN.to_json(), options={}).id
    if attempts:
        store.record([delivery(run, told)])
        assert store.begin_again(run)
    note = tmp_path / SENT / run
    note.parent.mkdir()
    note.write_text(f'["tls://far:8786", "Scheduler-1", {attempts}]')
    monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", "tls://far:8786")
    assert unread(store, tmp_path)
    client = Mock(scheduler_info=lambda n_workers: {"id": scheduler})
    away = Mock(local=False, address="tls://far:8786", client=client, working={})
    monkeypatch.setattr(dispatcher, "connection", away)
    monkeypatch.setattr("dpviz.runs.dispatch.begun_executions", lambda *_: Mock(get=lambda timeout: []))
    monkeypatch.setattr("dpviz.runs.dispatch.desired_state", Mock())
    dispatcher.call_off()
    assert note.exists(), "it waits"
    store.set_desired(run, "stop")
    dispatcher.call_off()
    assert sorted(attempt["outcome"] for attempt in store.attempts(run)) == ["stopped"] * attempts + charged
    assert not note.exists()
    assert unread(store, tmp_path) == bool(charged)
    monkeypatch.delenv("DASK_SCHEDULER_ADDRESS")
    assert not unread(store, tmp_path)


@pytest.mark.parametrize("begun", [[], ["two"]])
def test_a_run_that_was_stopped_before_it_goes_on_is_taken_back_unless_it_began(
    store: Store, dispatcher: Dispatcher, told: list[Event], monkeypatch: pytest.MonkeyPatch, begun: list[str]
) -> None:
    run = given_up(store, told)
    assert store.begin_again(run)
    cancelled: list[str] = []
    monkeypatch.setattr(dispatcher, "connection", Mock(working={"tcp://one": (key_of(run),)}))
    monkeypatch.setattr(dispatcher, "_cancel", cancelled.append)
    monkeypatch.setattr("dpviz.runs.dispatch.begun_executions", lambda *_: Mock(get=lambda timeout: begun))
    monkeypatch.setattr("dpviz.runs.dispatch.desired_state", Mock())
    dispatcher.call_off()
    assert cancelled == [], "it waits"
    store.set_desired(run, "stop")
    dispatcher.call_off()
    assert cancelled == ([] if begun else [run])


def test_half_of_a_note_says_that_nothing_was_sent(
    store: Store, dispatcher: Dispatcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.create(target=TRAINING, settings=PLAN.to_json(), options={}).id
    (tmp_path / SENT).mkdir()
    (tmp_path / SENT / run).write_text('["tls://fa')
    client = Mock(scheduler_info=lambda n_workers: {"id": "Scheduler-1"})
    monkeypatch.setattr(dispatcher, "connection", Mock(local=False, address="tls://far:8786", client=client))
    assert not dispatcher.began_unseen(run)
    assert store.run(run).attempt == 0


def test_a_line_longer_than_one_look_is_read(
    store: Store, dispatcher: Dispatcher, told: list[Event], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MOST", 10)
    run = begun(store)
    file_of(tmp_path, run).append(rows(told))
    dispatcher.collect()
    assert len(store.events(run)) == len(told)


def file_of(tmp_path: Path, run: str, process: Process | None = None) -> EventFile:
    worker = (process or this_process()).to_json()
    head = {"run": run, "execution": "one", "worker": worker, "begun": time.time(), "earlier": []}
    return EventFile(Place.of(tmp_path), head)


def test_a_file_counts_as_read_once_its_writer_has_ended(
    store: Store, dispatcher: Dispatcher, told: list[Event], tmp_path: Path
) -> None:
    """And only where it was read to its end: a machine that does not answer says nothing."""
    run = begun(store)
    file_of(tmp_path, run, dataclasses.replace(this_process(), mark="1")).append(rows(told[:5]))
    dispatcher.collect_from(lambda act, *values: [])
    assert store.run(run).attempt == 0
    dispatcher.collect()
    store.change_state(run, "lost", only=ACTIVE)
    dispatcher.collect_from(lambda act, *values: [])
    assert claim_of(store, run).epsilon == planned_claim(PLAN, N).epsilon
    dispatcher.collect()
    assert claim_of(store, run).epsilon == exact(told[:5])


def test_a_file_whose_writer_may_live_elsewhere_needs_its_last_event(
    store: Store, dispatcher: Dispatcher, told: list[Event], tmp_path: Path
) -> None:
    run = begun(store)
    file = file_of(tmp_path, run, ELSEWHERE)
    file.append(rows(told[:5]))
    dispatcher.collect()
    store.change_state(run, "lost", only=ACTIVE)
    dispatcher.collect()
    assert claim_of(store, run).epsilon == planned_claim(PLAN, N).epsilon
    file.append(rows(told[5:]))
    dispatcher.collect()
    assert claim_of(store, run).epsilon == exact(told)


@pytest.mark.parametrize("where", ["its head", "a line", "a number", "its end"])
def test_a_damaged_file_holds_up_no_other_and_its_run_claims_its_plan(
    store: Store, dispatcher: Dispatcher, told: list[Event], tmp_path: Path, where: str
) -> None:
    run, other = begun(store), begun(store)
    ended = dataclasses.replace(this_process(), mark="1")
    for one in (run, other):
        file_of(tmp_path, one, ended).append(rows(told[:5]))
    [path] = Path(tmp_path, "runs-waiting").glob(f"{run}-*")
    lines = path.read_bytes().splitlines(keepends=True)
    if where == "a number":
        lines[3] = lines[3].replace(b"0.5", b"5.0")
    else:
        lines[{"its head": 0, "a line": 3, "its end": -1}[where]] = b'\x00\xff[3,"st\n'
    path.write_bytes(b"".join(lines))
    dispatcher.collect()
    assert store.run(other).steps == told[4].step
    assert path.name in dispatcher.waits(store.run(run))
    assert dispatcher.waits(store.run(other)) == ""
    for one in (run, other):
        store.change_state(one, "lost", only=ACTIVE)
    dispatcher.collect()
    assert claim_of(store, other).epsilon == exact(told[:5])
    assert claim_of(store, run).epsilon == planned_claim(PLAN, N).epsilon
    assert [path.name for path in path.parent.iterdir()] == [path.name]
    assert os.path.getsize(path) == sum(map(len, lines))
