"""The Train page: the form says what a plan costs and what cannot work; a recorded run shows its own numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.train.plan import plan
from dpviz.runs.claims import last_reading
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import DesiredState, Event, StoreError
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.loop import FreeRun, Order
from dpviz.training.loop import run as train
from dpviz.training.settings import GROUPS, RunSettings
from dpviz.ui.train import live, watch
from dpviz.ui.train.live import draw, take
from dpviz.ui.train.tight import charged
from dpviz.ui.train.watch_settings import CHARTS
from dpviz.ui.train.words import Look, _bayesian_beside, evaluation_steps, headline, notes
from tests.ui.driver import charts, open_app, open_part, said
from tests.ui.runs_made import TINY, events_of, fresh_engine, record


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def events() -> list[Any]:
    return events_of(TINY)


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_other_data_bring_a_model_that_reads_them_and_usual_values(engine: Engine) -> None:
    at = open_app("train")
    at.selectbox(key="slider.t_data").set_value("abalone").run()
    assert not at.exception
    assert at.session_state["value.t_model"] == "mlp"
    assert at.session_state["value.t_batch_size"] == 256
    assert not at.button(key="t.start").disabled


def test_start_submits_exactly_what_the_form_says(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def submit(settings: RunSettings, *, options: dict[str, Any], run: str) -> str:
        asked.append((settings, options))
        assert run
        raise ValueError("Expected nothing in particular.")

    monkeypatch.setattr(engine, "submit", submit)
    at = open_app("train", "t_model=logistic&t_noise_by=sigma&t_noise_multiplier=1.5&t_slow=1")
    at.button(key="t.start").click().run()
    assert asked == [(RunSettings(model="logistic", noise_multiplier=1.5, bayesian=True), {"slow": 1.0})]
    assert "Expected nothing in particular." in said(at, "problem")[0]  # refused: the form is as it was
    assert at.session_state["value.t_noise_multiplier"] == 1.5


def test_what_was_refused_is_said_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may go well the next time; and the engine's own trouble is not said a second time beside it."""
    trouble = "The disk is full."

    def submit(*_: Any, **__: Any) -> None:
        raise StoreError(trouble)

    monkeypatch.setattr(engine, "submit", submit)
    at = open_app("train", "t_model=logistic&t_noise_by=sigma")
    at.button(key="t.start").click().run()
    assert said(at, "problem") == [trouble]
    at.run()
    assert said(at, "problem") == []
    monkeypatch.setattr(Engine, "problem", trouble)
    monkeypatch.setattr("dpviz.ui.engine.warmed", lambda engine: engine.problem)
    at.button(key="t.start").click().run()
    assert said(at, "problem") == [trouble]


@pytest.mark.parametrize("group", ["Data", "Steps", "More"])
def test_what_will_fail_is_said_whatever_controls_are_open(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, group: str
) -> None:
    monkeypatch.setattr("dpviz.ui.train.plan.graphics_card", lambda: False)
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    at = open_app("train", "t_data=cifar10&t_model=logistic&t_noise_by=sigma&t_device=cuda")
    at.session_state["t.folder"] = str(tmp_path)
    open_part(at, "train.group", tuple(dict.fromkeys(GROUPS.values())), group)
    notes = said(at, "caution")
    assert sum("No GPU was found" in note for note in notes) == 1
    assert sum("is not on this machine" in note for note in notes) == 1


def test_a_run_whose_start_was_cut_short_is_found_by_the_next_move(engine: Engine) -> None:
    at = open_app("train")
    ticket = at.session_state["t.ticket"]
    engine.store.create(target="m:f", settings={}, options={}, name="", owner="me", run=ticket)
    at.run()
    assert at.session_state["value.run"] == ticket
    assert "t.ticket" not in at.session_state


# --- a recorded run ---------------------------------------------------------------------------------------------------


def opened(run: str, **query: str) -> AppTest:
    return open_app("train", "&".join([f"run={run}", *(f"{key}={text}" for key, text in query.items())]))


def test_a_run_shows_the_epsilon_that_the_library_computes(engine: Engine, events: list[Any]) -> None:
    run = record(engine, TINY, events)
    at = opened(run.id)
    text = said(at, "headline")[0]
    assert text.startswith("Done")
    shown = float(re.search(r"ε ≤ ([\d.]+)", text).group(1))  # type: ignore[union-attr]
    cost = tight_epsilon(SampledGaussian(2.0, 64 / 3133), 6, 1e-5)
    assert float(cost.upper) <= shown <= 1.01 * float(cost.upper)
    view = engine.look(run.id)
    renyi = dpviz.epsilon("renyi", noise_multiplier=2.0, sample_rate=64 / 3133, steps=np.arange(1, 7), delta=1e-5)
    np.testing.assert_array_equal(view.steps["epsilon.renyi"], renyi)
    np.testing.assert_array_equal(plan(TINY, 3133).epsilon["renyi"], renyi)


def test_a_run_says_after_which_steps_it_was_tested(engine: Engine, events: list[Any]) -> None:
    """As often as the time allows: not every point of the chart's line was measured."""
    assert "tested after steps 0, 2, 4, 6" in said(opened(record(engine, TINY, events).id), "quiet")[0]
    part = [event for event in events if event.kind != "evaluation" or event.step == 2]
    look = take(engine, record(engine, TINY, part, name="part").id)
    assert "at the last test, step 2" in draw(look, "accuracy", 300).alt
    assert evaluation_steps(look) == "tested after step 2"


@pytest.mark.parametrize("chart", CHARTS)
def test_every_chart_draws(engine: Engine, events: list[Any], chart: str) -> None:
    run = record(engine, TINY, events)
    at = opened(run.id, t_chart=chart, t_second="none")
    assert not at.exception
    assert len(charts(at)) == 1
    look = take(engine, run.id)
    assert live.draw(look, chart, 300).alt


@pytest.mark.parametrize("detail", ["Table", "Settings", "Assumptions", "Python", "Link and files"])
def test_every_detail_opens(engine: Engine, events: list[Any], detail: str) -> None:
    run = record(engine, TINY, events)
    at = opened(run.id)
    at.session_state["t.details"] = detail
    at.run()
    assert not at.exception


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"state": "failed", "reason": "No loss in the batch of step 3 is finite."}, "No loss in the batch"),
        ({"state": "lost", "reason": "the app that ran it has ended"}, "the app that ran it has ended"),
    ],
)
def test_failed_and_lost_runs_say_why_and_keep_their_charts(
    engine: Engine, events: list[Any], changed: dict[str, Any], words: str
) -> None:
    run = record(engine, TINY, events[:-1], **changed, summary={})
    at = opened(run.id)
    assert words in said(at, "headline")[0]
    assert len(charts(at)) == 2


@pytest.mark.parametrize(
    ("attempt", "words"),
    [(1, r"first step\. <b>\d"), (2, r"first step\. Step <b>4 of 6</b>")],
)
def test_a_restarted_run_says_how_far_it_has_come_again(
    engine: Engine, events: list[Any], attempt: int, words: str
) -> None:
    part = [event for event in events if event.step <= 4]
    view = engine.look(record(engine, TINY, part, state="lost", steps=4).id)
    known = replace(view.record, state="restarted", reason="from its first step", attempt=attempt)
    look = Look(replace(view, record=known), TINY, None, None, Claim.nothing(""))
    assert re.search(words, headline(look))


def test_a_run_does_not_wait_for_itself(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = engine.store.create(target="a:b", settings=TINY.to_json(), options={}, name="", owner="x").id
    # Nobody runs it here: without this it would be lost at the first look.
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    seen = engine.look(run)
    assert engine.store.change_state(run, "running", only=("queued",))
    monkeypatch.setattr(engine, "look", lambda _: seen)
    assert take(engine, run).ahead == 0


def test_a_name_is_text_and_an_unknown_run_is_said(engine: Engine, events: list[Any]) -> None:
    run = record(engine, TINY, events, name="<b>x</b>")
    bodies = [element.proto.body for element in opened(run.id).get("html")]
    assert any("&lt;b&gt;x&lt;/b&gt;" in body for body in bodies)
    assert "no such run" in said(opened("0123"), "headline")[0]


def test_same_settings_again_fill_the_form(engine: Engine, events: list[Any]) -> None:
    run = record(engine, TINY, events)
    at = opened(run.id)
    at.button[[button.label for button in at.button].index("Same settings again")].click().run()
    assert not at.exception
    assert at.session_state["value.t_batch_size"] == 64
    assert at.session_state["value.run"] == ""
    assert "6" in said(at, "headline")[0]


def test_a_run_that_was_stopped_claims_no_less_than_the_odometer_or_its_whole_plan(engine: Engine) -> None:
    class Stop(FreeRun):
        def poll(self) -> Order:
            return "stop" if told and told[-1].get("step", 0) >= 3 else "step"

    told: list[dict[str, Any]] = []
    settings = TINY.with_(noise_multiplier=0.4, steps=600)
    last = train(settings, told.append, Stop())
    events = [Event(1, seq, data["kind"], data["step"], data["time"], data) for seq, data in enumerate(told)]
    look = take(engine, record(engine, settings, events, state="stopped").id)
    assert look.record.steps < 10
    assert look.claim.epsilon == min(planned_claim(settings, 3133).epsilon, last["epsilon"]["odometer"])
    assert look.claim.covers == "any_end"
    assert look.claim.epsilon > last["epsilon"]["renyi"]
    assert "for whatever reason the run ended" in notes(look, "")[-1].text


def test_a_run_that_re_planned_claims_what_all_its_steps_would_cost(engine: Engine) -> None:
    settings = TINY.with_(past_plan="replan", most_steps=9, steps=4)
    run = record(engine, settings, events_of(settings))
    look = take(engine, run.id)
    assert look.record.steps == 9
    at_cap = tight_epsilon(SampledGaussian(2.0, 64 / 3133), 9, 1e-5)
    assert float(at_cap.lower) <= look.claim.epsilon <= look.view.final["epsilon"]["odometer"]
    assert look.claim.epsilon == pytest.approx(float(at_cap.upper), rel=1e-3)
    assert look.claim.steps == 9


def test_private_counts_are_part_of_the_plan(engine: Engine) -> None:
    """Batches, steps and counts as planned: the plan's ε is the one that the run records, to the last digit."""
    settings = TINY.with_(
        batch_size=1000, steps=8, target_accuracy=0.99, target_measure="private", count_every=1, count_noise=20.0
    )
    events = events_of(settings)
    counted = sum(event.kind == "count" for event in events)
    assert counted == 2
    ahead = plan(settings, 3133)
    assert ahead.claim.counts == counted
    assert ahead.claim.epsilon == events[-1].data["epsilon"]["tight"]
    without = plan(settings.with_(target_accuracy=None, target_measure="test"), 3133)
    assert ahead.claim.epsilon > without.claim.epsilon

    # Right after a count, before the next step: what it cost is in what is said.
    last = max(i for i, event in enumerate(events) if event.kind == "count")
    part = record(engine, settings, events[: last + 1], state="lost", summary={})
    view = engine.look(part.id)
    assert view.steps["epsilon.renyi"][-1] < last_reading(view, "renyi") == events[last].data["epsilon"]["renyi"]


@pytest.mark.parametrize("reason", ["The data are not here.", "It is long: " + "very " * 60])
def test_a_run_that_failed_before_it_began_says_why_and_draws_nothing(engine: Engine, reason: str) -> None:
    events = [Event(1, 0, "failed", 0, 0.0, {"kind": "failed", "step": 0, "time": 0.0, "text": reason})]
    run = record(engine, TINY, events, state="failed", reason=reason)
    at = opened(run.id)
    assert not at.exception
    assert charts(at) == []
    text = said(at, "headline")[0]
    assert "before its first step" in text
    assert (reason in text) != (reason.strip() in "".join(said(at, "problem")))


@pytest.mark.parametrize(
    ("desired", "words"), [("pause", "<b>Pausing</b>"), ("stop", "<b>Stopping</b>"), ("go", "Step <b>4")]
)
def test_what_was_asked_for_is_said_before_it_is_done(
    engine: Engine, events: list[Any], desired: DesiredState, words: str
) -> None:
    part = [event for event in events if event.step <= 4]
    view = engine.look(record(engine, TINY, part, state="lost", steps=4).id)
    known = replace(view.record, state="running", desired=desired)
    assert headline(Look(replace(view, record=known), TINY, None, None, Claim.nothing(""))).startswith(words)


def test_the_page_is_drawn_again_once_the_run_did_what_was_asked(
    engine: Engine, events: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Again(Exception):
        pass

    class Page:
        """As much of Streamlit as waiting uses."""

        session_state = {watch.SEEN: ("running", "pause")}  # noqa: RUF012

        @staticmethod
        def rerun() -> None:
            raise Again

    part = [event for event in events if event.step <= 4]
    known = replace(record(engine, TINY, part, state="lost"), state="running", desired="pause")
    states = iter(["running", "running", "paused"])
    monkeypatch.setattr(engine, "run", lambda _: replace(known, state=next(states)))
    monkeypatch.setattr(watch, "st", Page)
    monkeypatch.setattr(watch, "SOON", 60.0)
    with pytest.raises(Again):
        watch._await_change(engine, known.id)
    assert next(states, None) is None
    monkeypatch.setattr(engine, "run", lambda _: known)
    monkeypatch.setattr(watch, "SOON", 0.1)
    watch._await_change(engine, known.id)  # gives up: the browser's timer looks on


def test_trouble_is_said_once_beside_a_run(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    trouble = "The disk is full. What runs waits."
    run = engine.store.create(target="a:b", settings=TINY.to_json(), options={}, name="", owner="x").id
    monkeypatch.setattr(engine, "_reconcile", lambda: None)
    monkeypatch.setattr(Engine, "problem", trouble)
    monkeypatch.setattr("dpviz.ui.engine.warmed", lambda engine: engine.problem)
    at = opened(run)
    assert said(at, "problem") == [trouble]
    at.session_state[watch.FAILED] = "The disk is full."  # what a click met
    at.run()
    assert said(at, "problem") == [trouble]


def test_everything_charged_counts_included() -> None:
    at = np.arange(1.0, 6.0)
    runs = charged(4, at, np.full(5, 2.0), np.full(5, 0.1), np.array([2.0, 5.0]), 100.0)
    assert set(runs) == {(SampledGaussian(2.0, 0.1), 4), (SampledGaussian(100.0, 1.0), 1)}


@pytest.mark.parametrize(("changed", "bounded"), [
    ({}, True), ({"bayesian_distances": "pairs"}, False), ({"delta_mu": 1e-9}, False),
])  # fmt: skip
def test_a_lower_claim_of_dp_is_said_to_bound_bayesian_dp_too(changed: dict[str, Any], bounded: bool) -> None:
    settings = RunSettings(bayesian=True, **changed)
    claim = planned_claim(settings, 10_000)
    view = SimpleNamespace(
        bayesian_text="Said.", counts={}, steps={"epsilon.bayesian": np.array([2.0 * claim.epsilon])}
    )
    look = SimpleNamespace(settings=settings, view=view, claim=claim)
    assert ("bounds Bayesian DP too" in _bayesian_beside(cast(Any, look))) is bounded
    view.steps["epsilon.bayesian"] = np.array([0.5 * claim.epsilon])
    assert _bayesian_beside(cast(Any, look)) == "Said."
