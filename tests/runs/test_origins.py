"""Which runs another may start from, and what the store says that they cost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from dpviz.mechanisms import SampledGaussian
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_json, import_json
from dpviz.runs.origins import start_of
from dpviz.runs.store.records import RunRecord
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.origins import spent_before
from dpviz.training.data.catalogue import load
from dpviz.training.loop import FreeRun, run
from dpviz.training.session import Session, stored_parameters
from dpviz.training.settings import RunSettings
from tests.ui.runs_made import TINY, events_of, finished, fresh_engine

N = 3133  # of Abalone


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "tiny.pt"
    run(TINY, lambda event: None, FreeRun(), weights_to=path)
    return path


def test_a_run_starts_at_the_weights_of_another_and_adds_its_cost(engine: Engine, weights: Path) -> None:
    first = finished(engine, TINY, weights, name="First")
    start = start_of(first.id, engine.store, engine.weights)
    (origin,) = start.origins
    assert (origin.run, origin.name, origin.data) == (first.id, "First", "abalone")
    assert origin.mechanisms == ((2.0, 64 / N, 6),)
    assert origin.epsilon == first.summary["claim"]["epsilon"]

    second = TINY.with_(start_from=start.weights, origins=start.origins, steps=1)
    session = Session(second, load("abalone"), lambda event: None)
    assert torch.equal(session.parameters, stored_parameters(weights)["parameters"])
    assert not torch.equal(session.parameters, Session(TINY, load("abalone"), lambda event: None).parameters)
    ended = run(second, lambda event: None, FreeRun())
    assert ended["claim"]["epsilon"] == planned_claim(TINY.with_(steps=7), N).epsilon


def test_the_whole_way_back_counts(engine: Engine, weights: Path) -> None:
    first = finished(engine, TINY, weights)
    start = start_of(first.id, engine.store, engine.weights)
    again = TINY.with_(noise_multiplier=3.0, start_from=start.weights, origins=start.origins)
    second = finished(engine, again, weights)
    third = TINY.with_(origins=start_of(second.id, engine.store, engine.weights).origins, start_from="x")
    assert [origin.run for origin in third.origins] == [second.id, first.id]
    assert dict(spent_before(third)) == {SampledGaussian(3.0, 64 / N): 6, SampledGaussian(2.0, 64 / N): 6}


def test_of_a_run_that_was_stopped_the_whole_plan_counts(engine: Engine, weights: Path) -> None:
    events = [event for event in events_of(TINY.with_(steps=3)) if event.kind != "started"]
    last = {**events[-1].data, "kind": "stopped", "reason": "stopped"}
    started = events_of(TINY)[0]
    first = finished(engine, TINY, weights, [started, *events[:-1], events[-1]._replace(kind="stopped", data=last)])
    (origin,) = start_of(first.id, engine.store, engine.weights).origins
    assert first.steps == 3
    assert origin.mechanisms == ((2.0, 64 / N, 6),)


def test_every_attempt_counts(engine: Engine, weights: Path) -> None:
    once = events_of(TINY)
    again = finished(engine, TINY, weights, once[:-1], once)
    assert again.attempt == 2
    (origin,) = start_of(again.id, engine.store, engine.weights).origins
    assert origin.mechanisms == ((2.0, 64 / N, 12),)


ADAPTIVE = TINY.with_(
    policy="adaptive_noise", filter_epsilon=3.0, target_accuracy=0.99, target_measure="private", batch_size=1000
)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (TINY.with_(method="sgd"), "it was trained without noise"),
        (ADAPTIVE, "its policy chose its steps by what it saw"),
        (
            TINY.with_(method="dp_sgld", learning_rate=0.1, max_grad_norm=1.0, steps=70, evaluation_every=0),
            "70 steps with a noise of their own",
        ),
    ],
)
def test_what_cannot_be_added_up_says_why(engine: Engine, weights: Path, settings: RunSettings, why: str) -> None:
    first = finished(engine, settings, weights)
    start = start_of(first.id, engine.store, engine.weights)
    assert why in start.origins[0].unbounded
    assert start.origins[0].mechanisms == ()
    with pytest.raises(ValueError, match="learned from the same data"):
        TINY.with_(start_from=start.weights, origins=start.origins).check()
    TINY.with_(data="adult", start_from=start.weights, origins=start.origins).check()


def test_what_was_not_as_planned_bounds_nothing(engine: Engine, weights: Path) -> None:
    events = events_of(TINY)
    last = {**events[-1].data, "mechanisms": [[1.0, 64 / N, 6]]}
    first = finished(engine, TINY, weights, [*events[:-1], events[-1]._replace(data=last)])
    assert "not what was planned" in start_of(first.id, engine.store, engine.weights).origins[0].unbounded


def test_a_demonstration_is_known_as_one(engine: Engine, weights: Path) -> None:
    first = finished(engine, TINY.with_(secure_noise=False), weights)
    (origin,) = start_of(first.id, engine.store, engine.weights).origins
    assert origin.replayable
    assert origin.mechanisms


def test_what_cannot_be_started_from_is_refused(engine: Engine, weights: Path) -> None:
    events = events_of(TINY)

    def refused(words: str, run: RunRecord | str) -> None:
        with pytest.raises(ValueError, match=words):
            start_of(run if isinstance(run, str) else run.id, engine.store, engine.weights)

    refused("start_from='nobody' to be a run that is kept here", "nobody")
    refused("that is running", finished(engine, TINY, weights, events[:-1]))
    failed = events[-1]._replace(kind="failed", data={**events[-1].data, "kind": "failed"})
    refused("that is failed", finished(engine, TINY, weights, [*events[:-1], failed]))
    refused("whose weights are not kept", finished(engine, TINY, weights, events, target="some:thing"))
    refused("of which nobody knows", finished(engine, TINY.with_(start_from="some.pt"), weights, events))
    run = finished(engine, TINY, weights, events)
    refused("whose weights are not kept here", import_json(engine.store, export_json(engine.store, run.id)))
    engine.store.delete(run.id)
    refused("whose weights are not kept here", run)
    engine.store.undelete(run.id)
    engine.weights(run.id).unlink()
    refused("whose weights are not kept here", run)
