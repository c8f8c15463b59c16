"""Every place that shows the ε of a run shows the same: page, table, frontier, Leakage, report, file and back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon, tight_epsilon_of_events
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.leakage.stored import of_run
from dpviz.runs.claims import claim_of_record, claim_of_view, claims_along, claims_of_shorter_plans
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.files import export_json, import_json
from dpviz.training.accounts.claims import everything_planned, planned_claim
from dpviz.training.accounts.origins import Origin
from dpviz.training.loop import FreeRun
from dpviz.training.loop import run as train
from dpviz.training.settings import RunSettings
from dpviz.ui.runs import listing
from dpviz.ui.runs.overlay import overlay
from dpviz.ui.runs.report import html_report
from dpviz.ui.train.live import epsilons, frontier, take
from dpviz.ui.train.words import as_planned, figures, headline, notes
from tests.ui.driver import open_app, said
from tests.ui.runs_made import TINY, events_of, fresh_engine, record

N = 3133  # of Abalone
LOUD = TINY.with_(noise_multiplier=0.5)
EARLIER = Origin(run="r1", name="First try", data="abalone", mechanisms=((0.6, 64 / N, 6),), epsilon=2.0)
KINDS: dict[str, RunSettings] = {
    "as planned": LOUD,
    "quiet": TINY,
    "seeded": TINY.with_(secure_noise=False),
    "private counts": TINY.with_(
        batch_size=1000, steps=8, target_accuracy=0.99, target_measure="private", count_every=1, count_noise=20.0
    ),
    "budget": LOUD.with_(filter_epsilon=6.0, steps=40),
    "re-planned": TINY.with_(past_plan="replan", most_steps=9, steps=4),
    "langevin": RunSettings(
        data="abalone", model="logistic", method="dp_sgld", batch_size=64, steps=6, learning_rate=0.1, threads=1
    ),
    "bayesian": TINY.with_(bayesian=True, pairs=8),
    "after another": LOUD.with_(start_from="a file", origins=(EARLIER,)),
    "after another, seeded": LOUD.with_(start_from="a file", origins=(EARLIER,), secure_noise=False),
    "after another, budget": LOUD.with_(start_from="a file", origins=(EARLIER,), filter_epsilon=9.0, steps=40),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    weights = str(tmp_path_factory.mktemp("earlier") / "weights.pt")
    train(TINY, lambda event: None, FreeRun(), weights_to=weights)

    def events(settings: RunSettings) -> list[Any]:
        found = events_of(settings if settings.start_from is None else settings.with_(start_from=weights))
        found[0].data["settings"]["start_from"] = settings.start_from
        return found

    return {kind: events(settings) for kind, settings in KINDS.items()}


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


def stopped_early(events: list[Any]) -> list[Any]:
    last = {**events[-1].data, "reason": "stopped", "kind": "stopped"}
    return [*events[:-1], events[-1]._replace(kind="stopped", data=last)]


@pytest.mark.parametrize("kind", [*KINDS, "stopped early"])
def test_one_run_has_one_epsilon(engine: Engine, told: dict[str, list[Any]], kind: str) -> None:
    settings = KINDS.get(kind, LOUD)
    events = told[kind] if kind in told else stopped_early(told["as planned"])
    run = record(engine, settings, events, state=events[-1].kind)
    claim = Claim.from_json(run.summary["claim"])
    assert claim.shown.holds
    assert claim.demonstration == (not settings.secure_noise)
    said = claim.shown
    shown = f"ε ≤ {numbers.epsilon(said.epsilon, up=True)}"

    look = take(engine, run.id)
    assert look.claim == claim
    assert shown in headline(look)
    assert headline(look).startswith("<b>Demonstration: its noise can be replayed.</b>") == claim.demonstration
    assert shown in f"{figures(look)[0].value} {figures(look)[0].note}"
    assert (figures(look)[0].value == "none") == claim.demonstration

    row = listing.table([run], {}, engine.store).iloc[0]
    if claim.demonstration:
        assert math.isnan(row["ε claimed"])
        assert f"replayed; with secret noise {shown}" in row["by"]
    else:
        assert numbers.epsilon(row["ε claimed"]) == numbers.epsilon(said.epsilon, up=True)
        assert row["by"].startswith(said.name)

    view = engine.look(run.id)
    assert claims_along(view, claim)[-1] == said.epsilon or said.counts
    ((called, curve),) = frontier(view, claim).items()
    assert curve[0][-1] == said.epsilon or said.counts
    assert called.startswith("with secret noise") == claim.demonstration
    chart, lines = overlay([view], [claim], "frontier", "claim")
    assert ("(demonstration)" in lines[0].name) == claim.demonstration
    assert any("is a demonstration" in text for text in chart.notes) == claim.demonstration

    subject = of_run(run)
    assert subject.claim == claim
    assert subject.claimed is not None
    assert subject.claimed.epsilon == said.epsilon
    assert ("with secret noise" in subject.claimed.name) == claim.demonstration
    text = html_report(view, claim_of_view(view, engine.store))
    told_epsilon = float(re.search(r"ε ≤ ([\d.]+) at δ", text).group(1))  # type: ignore[union-attr]
    assert said.epsilon <= told_epsilon <= said.epsilon * (1 + 1e-5)
    assert ("Demonstration: its noise can be replayed" in text) == claim.demonstration
    assert ("<th scope='row'>claim</th><td>no ε" in text) == claim.demonstration

    exported = export_json(engine.store, run.id)
    assert Claim.from_json(json.loads(exported)["run"]["summary"]["claim"]) == claim
    copy = import_json(engine.store, exported)
    assert engine.look(copy.id).disputes == ()
    back = claim_of_record(copy, engine.store)
    assert back.holds == claim.holds
    assert back.shown.epsilon == pytest.approx(said.epsilon, rel=1e-9)
    assert (back.shown.accountant, back.shown.covers) == (said.accountant, said.covers)
    everywhere = (headline(look), row["by"], text, " ".join(note.text for note in notes(look, "")))
    assert all(("First try" in told_there) == bool(settings.origins) for told_there in everywhere)
    if settings.origins:
        assert "with what First try may have spent" in headline(look)
        alone = planned_claim(settings.with_(origins=(), start_from=None), N).shown.epsilon
        earlier = float(tight_epsilon_of_events(EARLIER.events, 1e-5).lower)
        together = tight_epsilon_of_events((*EARLIER.events, *everything_planned(settings, N)), 1e-5)
        assert said.epsilon >= max(float(together.lower), earlier) > earlier
        assert curve[0].min() >= earlier
        assert said.epsilon > alone or settings.filter_epsilon
        assert all(values[0] > earlier for values in epsilons(view).values())


def test_a_seeded_run_of_an_earlier_version_claims_nothing_any_more(engine: Engine, told: dict[str, list[Any]]) -> None:
    """It was recorded, and exported, with an ε that held as long as nobody learnt the seed."""
    settings = KINDS["seeded"]
    events = [
        event._replace(data=event.data | {"claim": event.data["claim"]["with_secret_noise"]})
        if "claim" in event.data
        else event
        for event in told["seeded"]
    ]
    run = record(engine, settings, events)
    kept = {name: value for name, value in settings.to_json().items() if name != "secure_noise"}
    before = replace(run, settings=kept, imported=False)  # from before one could choose
    for old in (replace(run, imported=False), before):
        found = claim_of_record(old, engine.store)
        assert found.demonstration
        assert not found.holds
        assert found.shown.holds
    copy = import_json(engine.store, export_json(engine.store, run.id))
    assert claim_of_record(copy, engine.store).demonstration
    assert engine.look(copy.id).disputes == ()


def test_the_pages_say_it(engine: Engine, told: dict[str, list[Any]]) -> None:
    run = record(engine, LOUD, told["as planned"])
    shown = f"ε ≤ {numbers.epsilon(Claim.from_json(run.summary['claim']).epsilon, up=True)}"
    assert shown in said(open_app("train", f"run={run.id}"), "headline")[0]
    assert shown in said(open_app("runs"), "headline")[0]


def test_it_never_rises_above_the_plan_on_the_way(engine: Engine, told: dict[str, list[Any]]) -> None:
    """What the page would have said after each step of a run that is followed live."""
    ahead = planned_claim(LOUD, N)
    events = told["as planned"]
    run = record(engine, LOUD, events[:-1], state="lost", summary={})
    view = engine.look(run.id)
    said_so_far = []
    for step in range(1, 7):
        at = {name: values[:step] for name, values in view.steps.items()}
        now = replace(view, steps=at, record=replace(view.record, state="running", steps=step))
        said_so_far.append(claim_of_view(now, engine.store).epsilon)
    assert said_so_far == sorted(said_so_far)
    assert said_so_far[-1] <= ahead.epsilon
    assert claims_along(view, ahead).tolist() == said_so_far


def test_the_frontier_is_of_shorter_plans(engine: Engine, told: dict[str, list[Any]]) -> None:
    run = record(engine, LOUD, told["as planned"])
    claim = Claim.from_json(run.summary["claim"])
    at = np.array([0.0, 2.0, 4.0, 6.0])
    found = claims_of_shorter_plans(engine.look(run.id), claim, at)
    for step, epsilon in zip(at[1:], found[1:], strict=True):
        assert epsilon == pytest.approx(planned_claim(LOUD.with_(steps=int(step)), N).epsilon, rel=0.01)
    assert found[0] == 0.0
    assert found[-1] == claim.epsilon


def test_an_imported_claim_is_not_believed(engine: Engine, told: dict[str, list[Any]]) -> None:
    run = record(engine, LOUD, told["as planned"])
    honest = Claim.from_json(run.summary["claim"])
    content = json.loads(export_json(engine.store, run.id))
    lie = replace(honest, epsilon=0.01).to_json()
    content["run"]["summary"]["claim"] = lie
    for event in content["events"]:
        if "claim" in event["data"]:
            event["data"]["claim"] = lie
    copy = import_json(engine.store, json.dumps(content).encode())
    for found in (claim_of_record(copy, engine.store), take(engine, copy.id).claim, of_run(copy).claim):
        assert found is not None
        assert found.epsilon == pytest.approx(honest.epsilon, rel=1e-9)
    assert claims_along(engine.look(copy.id), honest).min() > 0.01


def test_a_run_with_less_noise_than_it_says_is_not_claimed_as_planned(
    engine: Engine, told: dict[str, list[Any]]
) -> None:
    run = record(engine, LOUD, told["as planned"])
    honest = Claim.from_json(run.summary["claim"])
    content = json.loads(export_json(engine.store, run.id))
    for event in content["events"]:
        if event["kind"] == "step":
            event["data"]["mechanisms"] = [[0.3, q, n] for _, q, n in event["data"]["mechanisms"]]
    copy = import_json(engine.store, json.dumps(content).encode())
    found = claim_of_record(copy, engine.store)
    assert found.covers == "any_end"
    assert found.epsilon > honest.epsilon
    # What was planned is not drawn as if it were what was done.
    assert as_planned(take(engine, run.id))
    assert not as_planned(take(engine, copy.id))


def test_a_count_has_the_noise_that_the_settings_say(engine: Engine, told: dict[str, list[Any]]) -> None:
    """The tight reading takes it from there."""
    run = record(engine, KINDS["private counts"], told["private counts"])
    content = json.loads(export_json(engine.store, run.id))
    for event in content["events"]:
        if event["kind"] == "count":
            event["data"]["mechanism"][0] = 1.0
    with pytest.raises(NotARun, match="count_noise=20, found 1"):
        import_json(engine.store, json.dumps(content).encode())


def test_a_run_of_an_earlier_version_has_its_claim_made(engine: Engine, told: dict[str, list[Any]]) -> None:
    events = told["as planned"]
    run = record(engine, LOUD, events)
    old = [e._replace(data={k: v for k, v in e.data.items() if k != "claim"}) for e in events]
    earlier = record(engine, LOUD, old)
    assert claim_of_record(earlier, engine.store).epsilon == Claim.from_json(run.summary["claim"]).epsilon


def test_all_attempts_with_secret_noise_are_charged(engine: Engine, told: dict[str, list[Any]]) -> None:
    events = told["as planned"]
    first = [e for e in events if e.kind in ("started", "step")]
    again = [e._replace(attempt=2) for e in events]
    once = record(engine, LOUD, events)
    attempts = [
        {"attempt": n, "execution": f"x{n}", "worker": {}, "started": 0.0, "ended": 1.0, "outcome": "done"}
        for n in (1, 2)
    ]
    twice = engine.store.insert(replace(once, attempt=2), attempts, [*first, *again])
    found, alone = claim_of_record(twice, engine.store), claim_of_record(once, engine.store)
    assert found.epsilon > alone.epsilon
    both = tight_epsilon(SampledGaussian(0.5, 64 / N), 12, 1e-5)
    assert found.epsilon == pytest.approx(float(both.upper), rel=1e-9)
    assert of_run(twice).claim == found
    assert take(engine, twice.id).claim == found
    # From a seed that is kept the second attempt repeats the first, and nobody learns more.
    seeded = replace(once, settings=KINDS["seeded"].to_json(), attempt=2)
    same = engine.store.insert(seeded, attempts, [*first, *again])
    # σ 0.5 was charged where 2.0 was planned
    assert claim_of_record(same, engine.store).shown.covers == "any_end"


@pytest.mark.parametrize("fault", ["less noise than planned", "ended by its losses"])
def test_a_run_that_began_again_and_left_its_plan_claims_nothing(
    engine: Engine, told: dict[str, list[Any]], fault: str
) -> None:
    """What all attempts were planned to cost says nothing of an attempt that did otherwise."""
    events = told["as planned"]
    again = [e._replace(attempt=2) for e in events]
    if fault == "less noise than planned":
        again = [
            e._replace(data=e.data | {"mechanisms": [[0.3, q, n] for _, q, n in e.data["mechanisms"]]})
            if e.kind == "step"
            else e
            for e in again
        ]
    else:
        again[-1] = again[-1]._replace(data=again[-1].data | {"reason": "not finite"})
    attempts = [
        {"attempt": n, "execution": f"z{n}", "worker": {}, "started": 0.0, "ended": 1.0, "outcome": "done"}
        for n in (1, 2)
    ]
    once = record(engine, LOUD, events)
    first = [e for e in events if e.kind in ("started", "step")]
    summary = again[-1].data
    twice = engine.store.insert(replace(once, attempt=2, summary=summary), attempts, [*first, *again])
    found = claim_of_record(twice, engine.store)
    assert not found.holds
    assert "all attempts" in found.reason


def test_an_adaptive_run_that_began_again_claims_nothing(engine: Engine, told: dict[str, list[Any]]) -> None:
    settings = LOUD.with_(policy="adaptive_noise", filter_epsilon=6.0)
    events = told["as planned"]
    attempts = [
        {"attempt": n, "execution": f"y{n}", "worker": {}, "started": 0.0, "ended": 1.0, "outcome": "done"}
        for n in (1, 2)
    ]
    once = record(engine, settings, events)
    both = [e for e in events if e.kind in ("started", "step")] + [e._replace(attempt=2) for e in events]
    twice = engine.store.insert(replace(once, attempt=2), attempts, both)
    found = claim_of_record(twice, engine.store)
    assert not found.holds
    assert "started again" in found.reason
    assert "No ε can be claimed" in headline(take(engine, twice.id))
