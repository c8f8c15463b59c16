"""The claim of a recorded run where it is made: attempts, starts from other runs, early ends."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dpviz.accounting.adaptive.fully_adaptive import MixtureOdometer
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.runs import claims
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.disputes import disputes_of
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.exchange.recheck import NOT_AS_PLANNED
from dpviz.runs.store.digest import Digest
from dpviz.runs.store.records import Event, RunRecord
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.origins import spent_before
from dpviz.training.data.catalogue import load
from dpviz.training.loop import FreeRun, run
from dpviz.training.session import Session
from dpviz.training.settings import RunSettings
from dpviz.training.values import Origin
from dpviz.training.weights import stored_parameters
from dpviz.ui.runs.report import html_report
from tests.runs.exported import closed, opened
from tests.ui.runs_made import TINY, events_of, finished, fresh_engine

N = 3133  # of Abalone
LOUD = TINY.with_(noise_multiplier=0.5)
FIRST = Origin(run="r1", name="First try", data="abalone", mechanisms=((0.6, 64 / N, 6),), epsilon=2.0)
RESTARTED = LOUD.with_(start_from="a file", origins=(FIRST,))
COUNTED = TINY.with_(
    batch_size=1000, steps=4, target_accuracy=0.99, target_measure="private", count_every=1, count_noise=0.8
)


both_starts = pytest.mark.parametrize("settings", [LOUD, RESTARTED], ids=["from random weights", "from another run"])


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "tiny.pt"
    run(TINY, lambda event: None, FreeRun(), weights_to=path)
    return path


def trained(settings: RunSettings, weights: Path) -> list[Event]:
    """What training tells, with the start named as in the settings."""
    events = events_of(settings if settings.start_from is None else settings.with_(start_from=str(weights)))
    return changed(events, "started", settings=settings.to_json())


def changed(events: list[Event], kind: str, **content: Any) -> list[Event]:
    """The events with other content in those of one kind."""
    return [e._replace(data=e.data | content) if e.kind == kind else e for e in events]


def ending(events: list[Event], kind: str, **content: Any) -> list[Event]:
    """The events with another end."""
    return [*events[:-1], events[-1]._replace(kind=kind, data=events[-1].data | {"kind": kind} | content)]


def without_claims(events: list[Event]) -> list[Event]:
    """As of a run that does not say what it claims."""
    return [e._replace(data={name: v for name, v in e.data.items() if name != "claim"}) for e in events]


@pytest.mark.parametrize(
    ("settings", "broken_off"), [(LOUD, 1), (LOUD, 2), (RESTARTED, 1), (COUNTED, 1)], ids=lambda value: ""
)
def test_every_attempt_and_what_led_to_the_start_is_charged(
    engine: Engine, weights: Path, settings: RunSettings, broken_off: int
) -> None:
    events = trained(settings, weights)
    record = finished(engine, settings, weights, *[events[:-1]] * broken_off, events)
    everything = merge_events((*spent_before(settings), *claims.mechanisms(Digest.of(events)) * (broken_off + 1)))
    interval = tight_epsilon_of_events(everything, settings.delta)
    claim = claims.claim_of_record(record, engine.store)
    assert (claim.lower, claim.epsilon) == (float(interval.lower), float(interval.upper))
    assert claim.guess == claim.pair
    assert claims.claim_of_view(engine.look(record.id), engine.store) == claim
    copy = import_run(engine.store, export_run(engine.store, record.id))
    assert claims.claim_of_record(copy, engine.store).epsilon == pytest.approx(claim.epsilon, rel=1e-9)
    assert disputes_of(copy, engine.store) == ()


@pytest.mark.parametrize(
    ("settings", "last", "reason"),
    [
        (LOUD, {"mechanisms": [[0.3, 64 / N, 1]]}, "left its plan"),
        (LOUD, {"reason": "not finite"}, "left its plan"),
        (LOUD.with_(policy="adaptive_noise", filter_epsilon=60.0), {}, "its earlier spending is not in its budget"),
    ],
)
def test_what_no_account_holds_together_claims_nothing(
    engine: Engine, weights: Path, settings: RunSettings, last: dict[str, Any], reason: str
) -> None:
    events = trained(LOUD, weights)
    kind = "step" if "mechanisms" in last else "done"
    record = finished(engine, settings, weights, events[:-1], changed(events, kind, **last))
    claim = claims.claim_of_record(record, engine.store)
    assert not claim.holds
    assert reason in claim.reason


@both_starts
def test_an_early_end_is_read_by_the_odometer_of_all_that_was_spent(
    engine: Engine, weights: Path, settings: RunSettings
) -> None:
    long = settings.with_(steps=5000)
    events = changed(without_claims(trained(settings.with_(steps=1), weights)), "started", settings=long.to_json())
    everything = (*spent_before(settings), (SampledGaussian(0.5, 64 / N), 1))
    claim = claims.claim_of_record(finished(engine, long, weights, ending(events, "stopped")), engine.store)
    assert claim.covers == "any_end"
    assert claim.epsilon == float(MixtureOdometer().of_events(merge_events(everything), long.delta).epsilon)


def test_a_file_s_claims_are_worked_out_again(engine: Engine, weights: Path) -> None:
    record = finished(engine, RESTARTED, weights, trained(RESTARTED, weights))
    honest, lie = record.summary["claim"], record.summary["claim"] | {"lower": 0.0}
    lie["epsilon"] *= 0.999
    content = opened(export_run(engine.store, record.id))
    for holder in (content["run"]["summary"], *(event["data"] for event in content["events"])):
        holder |= {"claim": lie} if "claim" in holder else {}
    copy = import_run(engine.store, closed(content))
    kept = [event.data["claim"] for event in engine.store.events(copy.id) if "claim" in event.data]
    assert [claim["epsilon"] for claim in (*kept, copy.summary["claim"])] == [pytest.approx(honest["epsilon"])] * 3
    assert len(disputes_of(copy, engine.store)) == 2


def test_a_file_that_left_its_plan_says_so_and_counts_have_the_noise_of_the_settings(
    engine: Engine, weights: Path
) -> None:
    content = {
        settings: opened(export_run(engine.store, finished(engine, settings, weights).id))
        for settings in (LOUD, COUNTED)
    }
    for kind, settings in (("step", LOUD), ("count", COUNTED)):
        for event in content[settings]["events"]:
            if event["kind"] == kind:
                mechanism = event["data"]["mechanism"] if kind == "count" else event["data"]["mechanisms"][0]
                mechanism[0] *= 0.9
    copy = import_run(engine.store, closed(content[LOUD]))
    assert copy.summary["reason"] == NOT_AS_PLANNED
    assert claims.claim_of_record(copy, engine.store).covers == "any_end"
    with pytest.raises(NotARun, match="count_noise=0.8, found 0.72"):
        import_run(engine.store, closed(content[COUNTED]))


@both_starts
def test_no_shorter_plan_and_no_moment_claims_less_than_it_spent(
    engine: Engine, weights: Path, settings: RunSettings
) -> None:
    view = engine.look(finished(engine, settings, weights, trained(settings, weights)).id)
    claim, at = claims.claim_of_view(view, engine.store), np.arange(7.0)
    found = claims.claims_of_shorter_plans(view, claim, at)
    assert found[0] == float(tight_epsilon_of_events(spent_before(settings), settings.delta).upper)
    for step, epsilon in zip(at[1:], found[1:], strict=True):
        assert epsilon >= planned_claim(settings.with_(steps=int(step)), N).lower
    assert claims.claims_along(view, claim)[-1] == found[-1] == claim.epsilon


def test_a_plan_that_ends_inside_an_epoch_pays_for_that_whole_epoch(engine: Engine, weights: Path) -> None:
    settings = TINY.with_(sampler="allocation", batch_size=1000, steps=6)  # 4 steps an epoch
    view = engine.look(finished(engine, settings, weights, trained(settings, weights)).id)
    claim = claims.claim_of_view(view, engine.store)
    found = claims.claims_of_shorter_plans(view, claim, np.array([0.0, 1.0, 3.0, 4.0, 5.0, 6.0]))
    one, two = (planned_claim(settings.with_(steps=steps), N).epsilon for steps in (4, 8))
    assert 0.0 < one < two == claim.epsilon
    assert found.tolist() == [0.0, one, one, one, two, two]


def test_the_claim_that_a_file_states_is_not_believed_while_its_run_goes_on(engine: Engine, weights: Path) -> None:
    long = LOUD.with_(steps=5000)
    lie = planned_claim(LOUD, N)
    honest = planned_claim(long, N)
    assert lie.epsilon < honest.epsilon
    events = changed(trained(LOUD, weights), "started", claim=lie.to_json(), settings=long.to_json())
    view = engine.look(finished(engine, long, weights, events[:-1]).id)
    copy = replace(view, record=replace(view.record, imported=True))
    assert claims.claim_ahead(copy.record, long, copy.started).epsilon == honest.epsilon
    claim = claims.claim_of_view(copy, engine.store)
    assert claim.epsilon > lie.epsilon
    along = claims.claims_along(copy, claim)
    np.testing.assert_array_equal(along, np.fmin(copy.steps["epsilon.mixture"], honest.epsilon))
    assert along[-1] > lie.epsilon


def test_a_report_rounds_what_it_promises_up(engine: Engine, weights: Path) -> None:
    view = engine.look(finished(engine, LOUD, weights, trained(LOUD, weights)).id)
    shown = replace(claims.claim_of_view(view, engine.store), epsilon=1.0000001, success=0.5000001)
    assert {"ε ≤ 1.00001", "at most 0.500001"} <= set(re.findall(r"(?:ε ≤|at most) [\d.]+", html_report(view, shown)))


def test_a_count_after_the_last_step_is_in_the_last_reading(engine: Engine, weights: Path) -> None:
    events = trained(COUNTED, weights)
    view = engine.look(finished(engine, COUNTED, weights, events[:-1]).id)
    assert events[-1].step == next(e.step for e in reversed(events) if e.kind == "count")
    wanted = float(MixtureOdometer().of_events(claims.mechanisms(Digest.of(events)), COUNTED.delta).epsilon)
    assert claims.last_reading(view, "mixture") == pytest.approx(wanted, rel=1e-12)


def test_a_run_on_a_gpu_says_so_in_its_claim_whoever_makes_it(engine: Engine, weights: Path) -> None:
    def clipping(claim: Claim) -> bool:
        return any("clipping was not tested on a GPU" in condition for condition in claim.conditions)

    for device, said in (("CPU", False), ("NVIDIA H100 80GB HBM3", True), ("cuda:0", True), ("cpu", False)):
        events = changed(without_claims(trained(LOUD, weights)), "started", device=device)
        ended = finished(engine, LOUD, weights, events[:-1], events)
        running = finished(engine, LOUD, weights, events[:-1])
        assert clipping(claims.claim_of_record(ended, engine.store)) == said
        assert clipping(claims.claim_of_view(engine.look(running.id), engine.store)) == said
        copy = import_run(engine.store, export_run(engine.store, ended.id))
        assert clipping(claims.claim_of_record(copy, engine.store)) == said


# Which runs another may start from, and what the store says that they cost.


def test_a_run_starts_at_the_weights_of_another_and_adds_its_cost(engine: Engine, weights: Path) -> None:
    first = finished(engine, TINY, weights, name="First")
    start = claims.start_of(first.id, engine.store, engine.weights)
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
    start = claims.start_of(first.id, engine.store, engine.weights)
    again = TINY.with_(noise_multiplier=3.0, start_from=start.weights, origins=start.origins)
    second = finished(engine, again, weights)
    third = TINY.with_(origins=claims.start_of(second.id, engine.store, engine.weights).origins, start_from="x")
    assert [origin.run for origin in third.origins] == [second.id, first.id]
    assert dict(spent_before(third)) == {SampledGaussian(3.0, 64 / N): 6, SampledGaussian(2.0, 64 / N): 6}


def stopped_early(events: list[Event]) -> list[Event]:
    return [events[0], *ending(events_of(TINY.with_(steps=3)), "stopped", reason="stopped")[1:]]


@pytest.mark.parametrize(
    ("attempts", "steps", "unbounded"),
    [
        (lambda events: [stopped_early(events)], 6, ""),  # the whole plan
        (lambda events: [events[:-1], events], 12, ""),
        (lambda events: [changed(events, "done", mechanisms=[[1.0, 64 / N, 6]])], 0, "differs from its plan"),
    ],
)
def test_what_a_start_costs(engine: Engine, weights: Path, attempts: Any, steps: int, unbounded: str) -> None:
    first = finished(engine, TINY, weights, *attempts(events_of(TINY)))
    (origin,) = claims.start_of(first.id, engine.store, engine.weights).origins
    assert origin.mechanisms == (((2.0, 64 / N, steps),) if steps else ())
    assert unbounded in origin.unbounded
    assert bool(unbounded) == bool(origin.unbounded)


ADAPTIVE = TINY.with_(
    policy="adaptive_noise", filter_epsilon=3.0, target_accuracy=0.99, target_measure="private", batch_size=1000
)


LANGEVIN = TINY.with_(method="dp_sgld", learning_rate=0.1, max_grad_norm=1.0, steps=70, evaluation_every=0)


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (TINY.with_(method="sgd"), "it was trained without noise"),
        (ADAPTIVE, "its policy chose its steps from intermediate results"),
        (LANGEVIN, "70 steps with different noise"),
    ],
)
def test_what_cannot_be_added_up_says_why(engine: Engine, weights: Path, settings: RunSettings, why: str) -> None:
    first = finished(engine, settings, weights)
    start = claims.start_of(first.id, engine.store, engine.weights)
    assert why in start.origins[0].unbounded
    assert start.origins[0].mechanisms == ()
    with pytest.raises(ValueError, match="used the same data"):
        TINY.with_(start_from=start.weights, origins=start.origins).check()
    TINY.with_(data="adult", start_from=start.weights, origins=start.origins).check()


def test_a_demonstration_is_known_as_one(engine: Engine, weights: Path) -> None:
    first = finished(engine, TINY.with_(secure_noise=False), weights)
    (origin,) = claims.start_of(first.id, engine.store, engine.weights).origins
    assert origin.replayable
    assert origin.mechanisms


def test_what_cannot_be_started_from_is_refused(engine: Engine, weights: Path) -> None:
    events = events_of(TINY)

    def refused(words: str, run: RunRecord | str) -> None:
        with pytest.raises(ValueError, match=words):
            claims.start_of(run if isinstance(run, str) else run.id, engine.store, engine.weights)

    refused("start_from='nobody' to be a run that is kept here", "nobody")
    refused("that is running", finished(engine, TINY, weights, events[:-1]))
    refused("that is failed", finished(engine, TINY, weights, ending(events, "failed")))
    refused("whose weights are not kept", finished(engine, TINY, weights, events, target="some:thing"))
    refused("whose training data are unknown", finished(engine, TINY.with_(start_from="some.pt"), weights, events))
    run = finished(engine, TINY, weights, events)
    refused("whose weights are not kept here", import_run(engine.store, export_run(engine.store, run.id)))
    engine.store.delete(run.id)
    refused("whose weights are not kept here", run)
    engine.store.undelete(run.id)
    engine.weights(run.id).unlink()
    refused("whose weights are not kept here", run)
