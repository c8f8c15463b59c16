"""Every place that shows the ε of a run shows the same: page, table, frontier, Leakage, report, file and back."""

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.leakage.stored import of_run
from dpviz.runs.claims import claim_of_record, claim_of_view, claims_along, claims_of_shorter_plans
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.store.records import Event
from dpviz.training.accounts.claims import everything_planned, planned_claim
from dpviz.training.settings import RunSettings
from dpviz.training.values import Origin
from dpviz.ui.runs import listing
from dpviz.ui.runs.charts import epsilons, frontier, overlay
from dpviz.ui.runs.report import html_report
from dpviz.ui.train.live import take
from dpviz.ui.train.words import figures, headline, notes
from tests.runs.exported import opened
from tests.ui.runs_made import TINY, events_of, record

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
def told(weights: Path) -> dict[str, list[Event]]:
    """What training of every kind tells."""
    every = {
        kind: events_of(settings if settings.start_from is None else settings.with_(start_from=str(weights)))
        for kind, settings in KINDS.items()
    }
    for kind, settings in KINDS.items():
        every[kind][0].data["settings"]["start_from"] = settings.start_from
    return every


def stopped_early(events: list[Event]) -> list[Event]:
    last = {**events[-1].data, "reason": "stopped", "kind": "stopped"}
    return [*events[:-1], events[-1]._replace(kind="stopped", data=last)]


@pytest.mark.parametrize("kind", [*KINDS, "stopped early"])
@pytest.mark.one_of(3)
def test_one_run_has_one_epsilon(engine: Engine, told: dict[str, list[Event]], kind: str) -> None:
    settings = KINDS.get(kind, LOUD)
    events = told[kind] if kind in told else stopped_early(told["as planned"])
    run = record(engine, settings, events, state=events[-1].kind)
    claim = Claim.from_json(run.summary["claim"])
    assert claim.shown.holds
    assert claim.demonstration == (not settings.secure_noise)
    said = claim.shown
    if kind == "re-planned":  # it claims its cap, to the last digit
        cap = tight_epsilon_of_events(((SampledGaussian(2.0, 64 / N), 9),), 1e-5)
        assert (run.steps, claim.steps, claim.epsilon) == (9, 9, pytest.approx(float(cap.upper)))
    if kind == "private counts":
        ahead = planned_claim(settings, N)
        assert ahead.counts == sum(event.kind == "count" for event in events) == 2
        assert ahead.epsilon == events[-1].data["epsilon"]["tight"]
    shown = f"ε ≤ {numbers.epsilon(said.epsilon, up=True)}"

    look = take(engine, run.id)
    assert look.claim == claim
    # What was planned is not drawn as if it were what was done.
    assert look.as_planned == (events[-1].data["reason"] == "plan" and kind != "re-planned")
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
    assert ("with secret noise" in called) == claim.demonstration
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
    assert ("<b>No ε for one example: its noise" in text) == claim.demonstration

    exported = export_run(engine.store, run.id)
    assert Claim.from_json(opened(exported)["run"]["summary"]["claim"]) == claim
    copy = import_run(engine.store, exported)
    assert engine.look(copy.id).disputes == ()
    back = claim_of_record(copy, engine.store)
    assert back.holds == claim.holds
    assert back.shown.epsilon == pytest.approx(said.epsilon, rel=1e-9)
    assert (back.shown.accountant, back.shown.covers) == (said.accountant, said.covers)
    everywhere = (headline(look), row["by"], text, " ".join(note.text for note in notes(look)))
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


def test_it_never_rises_above_the_plan_on_the_way(engine: Engine, told: dict[str, list[Event]]) -> None:
    """What the page would have said after each step of a run that is followed live; frontiers are of shorter plans."""
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
    ends = np.array([0.0, 2.0, 4.0, 6.0])
    shorter = claims_of_shorter_plans(view, ahead, ends)
    for step, epsilon in zip(ends[1:], shorter[1:], strict=True):
        assert epsilon == pytest.approx(planned_claim(LOUD.with_(steps=int(step)), N).epsilon, rel=0.01)
    assert (shorter[0], shorter[-1]) == (0.0, ahead.epsilon)
