"""A recorded run shows its own numbers, says how it ended, and whose it is."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.tight_band import TightBand
from dpviz.questions.train.plan import plan
from dpviz.runs.claims import claim_of_view
from dpviz.runs.cluster.connection import not_equipped
from dpviz.runs.engine import Engine
from dpviz.runs.recorded import recorded
from dpviz.runs.store import jsontext
from dpviz.runs.store.records import TRAINING, Delivery, Event, EventRow
from dpviz.runs.waiting import keep
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.settings import RunSettings
from dpviz.ui.runs.charts import draw
from dpviz.ui.runs.fields import CHARTS
from dpviz.ui.train import watch
from dpviz.ui.train.live import screen, take
from dpviz.ui.train.look import Look
from dpviz.ui.train.words import figures, headline, notes, setting_line
from tests.runs.test_recorded import training
from tests.ui.driver import charts, html_of, open_app, press, put, said
from tests.ui.runs_made import TINY, events_of, finished, record


def opened(run: str, **query: str) -> AppTest:
    return open_app("train", "&".join([f"run={run}", *(f"{key}={text}" for key, text in query.items())]))


def test_a_run_shows_the_epsilon_that_the_library_computes(engine: Engine, events: list[Event]) -> None:
    run = record(engine, TINY, events)
    at = opened(run.id)
    text = said(at, "headline")[0]
    assert text.startswith("Done")
    shown = float(re.search(r"ε ≤ ([\d.]+)", text).group(1))  # type: ignore[union-attr]
    cost = tight_epsilon(SampledGaussian(2.0, 64 / 3133), 6, 1e-5)
    assert float(cost.upper) <= shown <= 1.01 * float(cost.upper)
    assert "tested after steps 0, 2, 4, 6" in said(at, "quiet")[0], "not every point of the line was measured"
    view = engine.look(run.id)
    renyi = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=64 / 3133, steps=np.arange(1, 7), delta=1e-5)
    np.testing.assert_array_equal(view.steps["epsilon.renyi"], renyi)
    np.testing.assert_array_equal(plan(TINY, 3133).epsilon["renyi"], renyi)
    for detail in ("Table", "Settings", "Assumptions", "Python", "Share", "Downloads"):
        put(at, "t.details", detail)
    ids = [one.proto.id for one in at.get("download_button") if "file." in one.proto.id]
    kinds = [one.split("file.")[1].removesuffix(f".{run.id}") for one in ids]
    assert kinds == ["csv", "parquet", "jsonl.gz", "html", "md", "card.json", "zip"]


def test_a_run_of_ones_own_program_shows_its_claim_and_whose_it_is(engine: Engine) -> None:
    mine = training()
    for _ in recorded(mine, name="Mine", folder=engine.folder):
        pass
    (run,) = engine.runs()
    at = opened(run.id)
    assert numbers.epsilon(mine.claim.epsilon, up=True) in said(at, "headline")[0]
    assert any("network of your own program" in text for text in said(at, "quiet"))
    assert len(charts(at)) >= 2
    assert open_app("runs", f"runs={run.id}").button(key=f"clone.{run.id}").disabled


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_draws(engine: Engine, events: list[Event], chart: str) -> None:
    part = [event for event in events if event.kind != "evaluation" or event.step == 2]
    run = record(engine, TINY, part)
    assert len(charts(opened(run.id, t_chart=chart, t_second="none"))) == 1
    look = take(engine, run.id)
    last_test = "at the last test, step 2" if chart in ("accuracy", "loss", "frontier") else ""
    assert last_test in draw(look, chart, 300).alt
    assert setting_line(look).endswith("tested after step 2")


# --- what is said of its state ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"state": "failed", "reason": "No loss of step 3 is finite."}, r"Failed</b> after 4 steps: No loss"),
        ({"state": "lost", "reason": "the app that ran it has ended"}, r"Lost</b> .*the app that ran it has ended\."),
        ({"state": "restarted", "reason": "from its first step", "attempt": 1}, r"first step\. .*<b>\d"),
        ({"state": "restarted", "reason": "from its first step", "attempt": 2}, r"first step\. Step <b>4 of 6</b>"),
        ({"state": "running", "desired": "pause"}, "^<b>Pausing</b> at step <b>4 of 6</b>"),
        ({"state": "running", "desired": "stop"}, "^<b>Stopping</b> at step <b>4 of 6</b>"),
        ({"state": "running"}, "^Step <b>4 of 6</b>"),
        ({"state": "running"}, "No ε can be claimed: it was started again"),
    ],
)
def test_how_far_it_is_and_what_was_asked_of_it(
    engine: Engine, events: list[Event], changed: dict[str, Any], words: str
) -> None:
    run = record(engine, TINY, [event for event in events if event.step <= 4], state="lost", steps=4)
    view = engine.look(run.id)
    look = Look(replace(view, record=replace(run, **changed)), TINY, None, None, Claim.nothing("it was started again"))
    assert re.search(words, headline(look))


def test_the_headline_never_says_more_than_the_whole_plan_and_says_of_which_step_its_accuracy_is(
    engine: Engine,
) -> None:
    """The odometer's ε alone lets an attacker be right in more cases after 20 steps than the whole plan does."""
    settings = TINY.with_(batch_size=256, steps=400, evaluation_every=300)
    events, planned = events_of(settings), planned_claim(settings, 3133)
    said_of: dict[int, float] = {}
    ends = sorted({event.step for event in events if event.kind == "step"})
    for last in ends[:: len(ends) // 10] + ends[-1:]:
        part = [event for event in events if event.step <= last and event.kind not in ("done", "charged")]
        run = record(engine, settings, part, state="lost", steps=last)
        view = replace(engine.look(run.id), record=replace(run, state="running"))
        text = headline(Look(view, settings, None, None, claim_of_view(view, engine.store)))
        said_of[last] = float(re.search(r"right more than <b>([\d.]+) %", text).group(1))  # type: ignore[union-attr]
        assert f" on test shells, at step {0 if last < 300 else 300 if last < 400 else 400}." in text
        assert ". So far no guess at" in text
        so_far = claim_of_view(view, engine.store).covers == "any_end"
        assert ("</b> so far at δ" in text) == so_far, "the plan's ε is that of its end"
        again = headline(Look(replace(view, record=replace(run, state="restarted")), settings, None, None, planned))
        assert "</b> so far at δ" in again, "it takes steps again beside its plan"
    whole = float(numbers.probability(planned.guess, up=True).removesuffix(" %"))
    assert [*said_of.values()] == sorted(said_of.values())
    assert said_of[400] == whole
    assert dpviz.attack_success(claim_of_view(view, engine.store).epsilon, delta=1e-5) > 1.4 * planned.guess


def test_a_run_that_began_again_shows_one_interval_that_of_its_claim(engine: Engine, events: list[Event]) -> None:
    """Before it the claim covered both attempts and the interval beside it one plan."""
    weights = Path(__file__)
    once, twice = finished(engine, TINY, weights, events), finished(engine, TINY, weights, events[:-1], events)
    shown = {}
    for name, run in (("once", once), ("twice", twice)):
        look = take(engine, run.id)
        interval = look.interval
        assert interval is not None
        assert (interval.lower[-1], interval.upper[-1]) == (look.claim.lower, look.claim.epsilon)
        (tile,) = [metric for metric in figures(look) if metric.name.startswith("PLD")]
        shown[name] = tile
    assert shown["once"].note == "for the whole plan"
    assert shown["twice"].note == "of all attempts, as the claim"
    assert shown["twice"].value != shown["once"].value
    unknown = replace(take(engine, twice.id), claim=Claim.nothing("it left its plan"))
    (tile,) = [metric for metric in figures(unknown) if metric.name.startswith("PLD")]
    assert (tile.value, tile.note) == ("–", "")


def test_the_pld_interval_of_a_run_under_way_is_that_of_its_steps_so_far(engine: Engine, events: list[Event]) -> None:
    """Before it stood still at the whole plan's from the first step on."""
    run = record(engine, TINY, [event for event in events if event.step <= 4], state="lost", steps=4)
    view = engine.look(run.id)
    view = replace(view, record=replace(run, state="running"))
    step = SampledGaussian(TINY.noise_multiplier, 64 / 3133)
    found = tight_epsilon(step, np.array([2.0, 4.0]), TINY.delta)
    so_far = TightBand(np.array([2.0, 4.0]), found.lower, found.upper)
    claim, planned = claim_of_view(view, engine.store), plan(TINY, 3133)
    (tile,) = [one for one in figures(Look(view, TINY, planned, so_far, claim)) if one.name.startswith("PLD")]
    assert tile.value.replace("\u2060", "") == so_far.last.replace(" – ", "–")
    assert planned.tight is not None
    assert tile.note == f"if step 4 had been planned as its end; whole plan: {planned.tight.last}"
    (tile,) = [one for one in figures(Look(view, TINY, planned, None, claim)) if one.name.startswith("PLD")]
    assert (tile.value, tile.note) == ("–", "none yet"), "not the plan's, which means something else"


def test_a_finished_run_says_what_its_claim_covers_and_offers_its_card(engine: Engine, events: list[Event]) -> None:
    look = take(engine, record(engine, TINY, events).id)
    claim, accuracy, _, _ = figures(look)
    assert (accuracy.name, accuracy.value) == ("Test accuracy", numbers.tenths(look.test))
    assert (claim.name, claim.value) == ("Claim", f"ε ≤ {numbers.up(look.claim.epsilon)}")
    assert claim.note == "PLD, whole plan; covers all 6 steps and models, add or remove one example"
    going = replace(look, view=replace(look.view, record=replace(look.record, state="running")))
    assert "covers" not in figures(going)[0].note, "its last step is yet to come"
    cards = [one for one in opened(look.record.id).get("download_button") if "t.card" in one.proto.id]
    assert len(cards) == 1, "one click away, where the run ends"


def test_a_run_s_accuracy_is_drawn_on_a_whole_axis_from_its_first_step_on(engine: Engine, events: list[Event]) -> None:
    """An axis that follows the values jumps at each test."""
    for last in (0, 2, 6):
        part = [event for event in events if event.step <= last]
        look = take(engine, record(engine, TINY, part, state="lost", steps=last).id)
        for chart in ("accuracy", "frontier"):
            layout = draw(look, chart, 300).figure["layout"]
            assert layout["yaxis"]["range"] == pytest.approx([0.0, 1.0], abs=0.03)
    assert look.plan is not None
    assert layout["xaxis"]["range"] == pytest.approx([0.0, look.plan.claim.epsilon], rel=0.05), "up to the plan's ε"


@pytest.mark.parametrize("reason", ["The data are not here.", "It is long: " + "very " * 60])
def test_a_run_that_failed_before_it_began_says_why_and_draws_nothing(engine: Engine, reason: str) -> None:
    failed = [Event(1, 0, "failed", 0, 0.0, {"kind": "failed", "step": 0, "time": 0.0, "text": reason})]
    at = opened(record(engine, TINY, failed, state="failed", reason=reason, name="<b>x</b>").id)
    assert charts(at) == []
    text = said(at, "headline")[0]
    assert "before its first step" in text
    assert (reason in text) != (reason.strip() in "".join(said(at, "problem")))
    assert "&lt;b&gt;x&lt;/b&gt;" in html_of(at), "a name is text"
    assert "no such run" in said(opened("0123"), "headline")[0]


@pytest.mark.parametrize(("changed", "bounded"), [
    ({}, True), ({"bayesian_distances": "pairs"}, False), ({"delta_mu": 1e-9}, False),
])  # fmt: skip
def test_a_lower_claim_of_dp_is_said_to_bound_bayesian_dp_too(
    engine: Engine, events: list[Event], changed: dict[str, Any], bounded: bool
) -> None:
    settings = RunSettings(bayesian=True, **changed)
    claim = planned_claim(settings, 10_000)
    view = engine.look(record(engine, TINY, events).id)
    for times, more in ((2.0, bounded), (0.5, False)):
        steps = view.steps | {"epsilon.bayesian": np.array([times * claim.epsilon])}
        look = Look(replace(view, bayesian_text="Said.", steps=steps), settings, None, None, claim)
        (text,) = [note.text for note in notes(look) if note.text.startswith("Said.")]
        assert ("also bounds Bayesian DP" in text, text == "Said.") == (more, not more)


# --- what holds it ----------------------------------------------------------------------------------------------------


def test_what_a_run_waits_for_is_its_headline(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that lack dpviz, or a cluster that does not answer, once; else the runs ahead of it."""
    create, lacking = engine.store.create, not_equipped("worker at tls://<a>")
    first, run = (create(target="a:b", settings=TINY.to_json(), options={}, name="").id for _ in range(2))
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    monkeypatch.setattr(Engine, "problem", lacking)
    shown = screen(engine, run, ())
    assert shown.headline == f"<b>Waiting</b>: {lacking}".replace("<a>", "&lt;a&gt;")
    assert "imported" not in shown.below
    monkeypatch.setattr(Engine, "problem", "")
    assert screen(engine, run, ()).headline == "<b>Waiting</b>: 1 other run ahead of it."
    assert screen(engine, first, ()).headline == "<b>Waiting</b>: no other runs ahead of it."
    assert engine.store.change_state(run, "running", only=("queued",))
    engine.live = type(engine.live)(engine.store)
    monkeypatch.setattr(Engine, "problem", lacking)
    shown = screen(engine, run, ())
    assert shown.headline.endswith(lacking.replace("<a>", "&lt;a&gt;")), "what is wrong is said all the same"
    assert "imported" not in shown.below


def test_a_run_does_not_wait_for_itself(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = engine.store.create(target="a:b", settings=TINY.to_json(), options={}, name="").id
    # Nobody runs it here: without this it would be lost at the first look.
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    seen = engine.look(run)
    assert engine.store.change_state(run, "running", only=("queued",))
    monkeypatch.setattr(engine, "look", lambda _: seen)
    assert take(engine, run).ahead == 0


@pytest.mark.parametrize(("page", "button"), [("runs", "Clone settings"), ("train", "Same settings again")])
def test_the_same_settings_again_fill_the_form(engine: Engine, events: list[Event], page: str, button: str) -> None:
    run = record(engine, TINY, events).id
    at = open_app(page, f"run={run}&runs={run}")
    press(at, button)
    state = {name: at.session_state[f"value.{name}"] for name in ("t_data", "t_batch_size", "t_steps", "run")}
    assert state == {"t_data": "abalone", "t_batch_size": 64, "t_steps": 6, "run": ""}


@pytest.fixture
def stopped(engine: Engine, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> str:
    """A run that was stopped after step 4, and that nobody computes when it is asked to go on."""
    monkeypatch.setattr("dpviz.runs.engine.Dispatcher", Mock(return_value=Mock(problem="", waits=lambda _: "")))
    end = events[-1]._replace(kind="stopped", step=4, data=events[-1].data | {"kind": "stopped", "reason": "stopped"})
    part = [*(event for event in events[:-1] if event.step <= 4), end]
    rows = tuple(EventRow(at, e.kind, e.step, e.time, jsontext.write(e.data)) for at, e in enumerate(part))
    run = engine.store.create(target=TRAINING, settings=TINY.to_json(), options={}).id
    engine.store.record([Delivery(run, "one", {"cluster": ""}, rows, 0.0)])
    return run


def test_continue_queues_another_attempt_of_the_run(engine: Engine, stopped: str) -> None:
    keep(engine.checkpoint(stopped), b"a checkpoint")
    at = opened(stopped)
    assert "Stopped  after 4 steps" in said(at, "headline")[0]
    press(at, "Continue")
    assert (engine.run(stopped).state, engine.run(stopped).attempt) == ("queued", 1)
    assert said(at, "headline")[0].startswith("Waiting")
    press(at, "Stop")
    assert engine.run(stopped).state == "stopped"
    assert "Stopped  after 4 steps" in said(at, "headline")[0]
    press(at, "Continue")
    assert engine.run(stopped).state == "queued"


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ("", r"No checkpoint of it is in .*weights\. It ended before its first one, .*or that folder was left behind"),
        ("tls://far:8786", r"at tls://far:8786, does not see that folder: .*have that folder under the same path\."),
    ],
)
def test_a_run_that_cannot_go_on_says_why(engine: Engine, stopped: str, cluster: str, why: str) -> None:
    with engine.store.file.connection(write=True) as db:
        db.execute("UPDATE attempts SET worker = ? WHERE run = ?", (json.dumps({"cluster": cluster}), stopped))
    (button,) = [one for one in opened(stopped).button if one.label == "Continue"]
    assert button.disabled
    assert re.search(why, button.help)


def test_a_run_that_is_done_has_no_continue(engine: Engine, events: list[Event]) -> None:
    run = record(engine, TINY, events)
    assert "Continue" not in [one.label for one in opened(run.id).button]


def test_trouble_is_said_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = "The disk is full. What runs waits."
    run = engine.store.create(target="a:b", settings=TINY.to_json(), options={}, name="").id
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    monkeypatch.setattr(Engine, "problem", trouble)
    monkeypatch.setattr("dpviz.ui.engine.warmed", lambda engine: engine.problem)
    assert said(open_app("runs"), "problem") == [trouble]
    at = opened(run)
    for click in ("", "The disk is full."):  # what a click met
        put(at, watch.FAILED, click)
        [headline] = said(at, "headline")
        assert headline.count(trouble) == 1, "a run that waits says in its headline for what"
        assert said(at, "problem") == []


def test_a_presented_run_is_its_charts_and_one_line(engine: Engine, events: list[Event]) -> None:
    run = record(engine, TINY, events)
    whole = said(opened(run.id), "headline")[0]
    at = opened(run.id, present="1")
    assert len(charts(at)) == 2
    line = said(at, "headline")[0]
    assert whole.startswith(line)
    assert len(line) <= 110
    assert [button.label for button in at.button if button.label] == []
    assert "Present" in [button.label for button in opened(run.id).sidebar.button]
