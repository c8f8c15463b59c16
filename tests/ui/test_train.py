"""The Train page: the form says what a plan costs and what cannot work; a recorded run shows its own numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.experiments.experiment import Experiment
from dpviz.experiments.inference import ABALONE, ADULT
from dpviz.experiments.reached import CIFAR, REACHED, WHOLE
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.layout import Reader
from dpviz.questions.presets import Preset
from dpviz.questions.printed import CLAIMS, rows
from dpviz.questions.printed.rows import BY_KEY
from dpviz.runs.claims import last_reading
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import DesiredState, Event, StoreError
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.counting import baseline
from dpviz.training.accounts.live import LiveAccounts, promised
from dpviz.training.data import DATA_SETS
from dpviz.training.loop import FreeRun, Order
from dpviz.training.loop import run as train
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import suits
from dpviz.training.settings import RunSettings
from dpviz.ui import state
from dpviz.ui.train import form_state as form
from dpviz.ui.train import live, script, watch
from dpviz.ui.train.facts import missing, unsuited
from dpviz.ui.train.fields import BAYESIAN, CONTROL_OF, DELTA_MU, FIELDS, reads
from dpviz.ui.train.live import draw, take
from dpviz.ui.train.plan import plan
from dpviz.ui.train.solving import solved_noise
from dpviz.ui.train.tight import charged
from dpviz.ui.train.watch_settings import CHARTS
from dpviz.ui.train.words import Look, _bayesian_beside, evaluation_steps, headline, notes
from tests.ui.driver import charts, controls, open_app, said
from tests.ui.runs_made import TINY, events_of, fresh_engine, record


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def events() -> list[Any]:
    return events_of(TINY)


# --- what the form knows ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", DATA_SETS)
def test_what_is_said_of_a_model_that_cannot_read_the_data(data: str) -> None:
    for key, model in MODELS.items():
        if key in DATA_SETS[data].parameters:
            assert unsuited(data, key) == ""
        else:
            with pytest.raises(ValueError, match="Expected model"):
                suits(key, DATA_SETS[data])
            assert model.title in unsuited(data, key)


def test_missing_files_are_said_with_the_place_to_put_them(tmp_path: Path) -> None:
    assert missing("mnist-10k") == ""
    assert str(tmp_path) in missing("cifar10", str(tmp_path))
    (tmp_path / "cifar-10-python.tar.gz").write_bytes(b"")
    assert missing("cifar10", str(tmp_path)) == ""


def test_the_default_form_asks_for_a_tight_epsilon_of_three() -> None:
    found = form.read(state.reader(""))
    rate = found.settings.sample_rate(10_000)
    cost = tight_epsilon(SampledGaussian(found.settings.noise_multiplier, rate), found.settings.steps, 1e-5)
    assert 2.98 < float(cost.upper) <= 3.0
    assert found.settings.with_(noise_multiplier=2.0) == RunSettings(bayesian=True)  # it costs little: on the page


@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("method", ["renyi", "tight"])
def test_a_delta_that_needs_no_noise_is_refused(method: str, counts: int) -> None:
    with pytest.raises(ValueError, match=r"Expected delta=0\.5 < 0\.0956 = .*no noise is needed"):
        solved_noise(3.0, method, 0.01, 10, 0.5, counts=counts, count_noise=1e6)


@pytest.mark.parametrize(
    "settings",
    [
        RunSettings(),
        RunSettings(method="dp_sgld", learning_rate=1.0, max_grad_norm=5.0, prior_std=2.0, burn_in=10),
        RunSettings(method="sgd", data="adult", model="mlp", optimiser="adam"),
        RunSettings(policy="adaptive_noise", filter_epsilon=2.0, target_accuracy=0.9, target_measure="private"),
        RunSettings(policy="adaptive_batch", margin_epochs=7, count_every=3),
        RunSettings(method="dpvi", data="adult", model="logistic", prior_std=0.5, optimiser="adam", bayesian=True),
        RunSettings(model="bayesian-logistic", prior_std=0.5, past_plan="replan", most_steps=400, bayesian=True),
    ],
)
def test_a_cloned_run_fills_the_form_with_the_same_settings(settings: RunSettings) -> None:
    texts = form.texts_of(settings)
    query = "&".join(f"{key}={text}" for key, text in texts.items())
    back = form.read(state.reader(query)).settings
    if not settings.private:
        back = back.with_(noise_multiplier=settings.noise_multiplier)
    assert back == settings


@pytest.mark.parametrize("policy", ["adaptive_noise", "adaptive_batch", "fine_tuning"])
@pytest.mark.parametrize("more", ["", "&t_past=replan&t_most=400", "&t_cevery=100", "&t_solver=moments"])
def test_a_target_under_an_adaptive_policy_is_its_promise_and_holds_the_plan(policy: str, more: str) -> None:
    settings = form.read(state.reader(f"t_policy={policy}&t_eps=3{more}")).settings
    assert promised(settings, 10_000) == settings.filter_epsilon == 3.0
    budget = LiveAccounts(settings, examples=10_000).budget
    assert budget is not None
    for mechanism, count in baseline(settings, 10_000):
        budget.spend(mechanism, count)
    assert 2.999 < budget.epsilon() <= 3.0
    assert settings.steps == 150


def test_a_budget_set_beside_a_target_is_the_promise() -> None:
    settings = form.read(state.reader("t_policy=adaptive_noise&t_eps=3&t_bud=1&t_budget=2")).settings
    assert settings.filter_epsilon == 2.0
    by_hand = form.read(state.reader("t_policy=adaptive_noise&t_by=sigma&t_sigma=2")).settings
    assert by_hand.filter_epsilon is None
    assert promised(by_hand, 10_000) == pytest.approx(3.2, abs=0.3)
    assert form.read(state.reader("t_policy=fixed&t_eps=3")).settings.filter_epsilon is None


def test_the_plan_is_what_the_library_says_to_the_last_digit() -> None:
    settings = RunSettings(noise_multiplier=1.7, steps=90)
    found = plan(settings, 10_000)
    for method in ("moments", "renyi", "odometer"):
        expected = (
            dpviz.epsilon(method, noise_multiplier=1.7, sample_rate=0.1024, steps=found.steps, delta=1e-5)
            if method != "odometer"
            else dpviz.odometer_epsilon(noise_multiplier=1.7, sample_rate=0.1024, steps=found.steps, delta=1e-5)
        )
        np.testing.assert_array_equal(found.epsilon[method], expected)


# --- the form ---------------------------------------------------------------------------------------------------------


def test_the_form_opens_and_says_the_plan(engine: Engine) -> None:
    at = open_app("train")
    assert "150" in said(at, "headline")[0]
    assert "ε ≤ 3.00" in said(at, "headline")[0]
    assert not at.button(key="t.start").disabled
    assert said(at, "problem") == []


@pytest.mark.parametrize("method", list(METHODS))
def test_every_group_opens_for_every_method_with_the_controls_that_act(engine: Engine, method: str) -> None:
    at = open_app("train", f"t_method={method}&t_bdp=1&t_bud=1&t_goal=1&t_past=replan")
    reads, shown = METHODS[method].reads | MODELS["cnn"].reads, set()
    for group in ("Data", "Noise", "Steps", "Stop", "More"):
        at.session_state["t.group"] = group
        at.run()
        assert not at.exception
        shown |= {str(element.key).rpartition(".")[2] for element in at.main if element.key}
    some = {"policy", "learning_rate_end", "optimiser", "momentum", "step_exponent", "friction", "prior_std", "burn_in"}
    assert {name for name in some if CONTROL_OF[name].key in shown} == some & reads


@pytest.mark.parametrize(
    ("policy", "margin"), [("fixed", False), ("adaptive_noise", True), ("adaptive_batch", True), ("fine_tuning", False)]
)
def test_the_margin_is_asked_for_where_it_counts(engine: Engine, policy: str, margin: bool) -> None:
    at = open_app("train", f"t_policy={policy}")
    at.session_state["t.group"] = "Stop"
    at.run()
    assert not at.exception
    assert any(one["label"] == "Epochs that must be left" for one in controls(at).values()) == margin
    held = any("A filter holds the run to its promise" in text for text in said(at, "note"))
    assert held == (policy != "fixed")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("t_batch=20000", "Expected batch_size=20000"),
        ("t_data=adult&t_model=cnn", "is not made of those"),
        ("t_bud=1&t_budget=0.01&t_by=sigma&t_sigma=0.3", "filter_epsilon"),
        ("t_past=replan&t_most=10", "most_steps"),
        ("t_method=dp_sgld&t_lr=1&t_clip=5&t_burn=500", "burn_in"),
        ("t_eps=0.01&t_solver=moments", "target_epsilon"),
    ],
)
def test_what_can_not_work_is_said_at_once_and_can_not_be_started(engine: Engine, query: str, words: str) -> None:
    at = open_app("train", query)
    assert any(words in text for text in said(at, "problem"))
    assert at.button(key="t.start").disabled
    assert engine.runs() == []


def test_other_data_bring_a_model_that_reads_them_and_usual_values(engine: Engine) -> None:
    at = open_app("train")
    at.selectbox(key="slider.t_data").set_value("abalone").run()
    assert not at.exception
    assert at.session_state["value.t_model"] == "mlp"
    assert at.session_state["value.t_batch"] == 256
    assert not at.button(key="t.start").disabled


@pytest.mark.parametrize(("row", "recorded", "arm"), [
    ("trbdpabalone", ABALONE, "noise_1"), ("trbdpadult", ADULT, "noise_4"),
])  # fmt: skip
def test_a_recorded_row_fills_the_form_with_what_was_recorded(row: str, recorded: Experiment, arm: str) -> None:
    usual = RunSettings()
    same = ("secure_noise", "device", "threads", "evaluation_every", "histogram_every")
    ran = RunSettings.from_json(dict(recorded.arms[arm])).with_(**{name: getattr(usual, name) for name in same})
    query = "&".join(f"{key}={text}" for key, text in BY_KEY[row].values.items())
    assert form.read(state.reader(query)).settings == ran


@pytest.mark.parametrize(("row", "recorded", "arm"), [
    ("trreached", REACHED, "whitened_3"), ("trreachedmnist", WHOLE, "whitened_3"),
    ("trreachedcifar", CIFAR, "scattering_3"),
])  # fmt: skip
def test_what_was_reached_is_what_its_row_trains(row: str, recorded: Experiment, arm: str) -> None:
    found, ran = form.read(of_row(BY_KEY[row])).settings, RunSettings.from_json(dict(recorded.arms[arm]))
    assert found.noise_multiplier == pytest.approx(ran.noise_multiplier, rel=1e-3)
    steps = ("batch_size", "steps", "learning_rate", "learning_rate_end", "momentum", "max_grad_norm")
    for name in ("data", "model", "method", "delta", *steps):
        assert getattr(found, name) == getattr(ran, name), name


def test_views_are_offered_where_images_are_read_as_they_are(engine: Engine) -> None:
    for query, offered in (("t_model=cnn", True), ("t_model=whitened", False), ("t_data=adult&t_model=mlp", False)):
        found = form.read(state.reader(f"{query}&t_views=8"))
        assert found.settings.views == (8 if offered else 1)
        assert (form.texts_of(found.settings)["t_views"] == "8") == offered
        assert ("views" in reads(state.reader(query))) == offered


def test_start_submits_exactly_what_the_form_says(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def submit(settings: RunSettings, *, options: dict[str, Any], run: str) -> str:
        asked.append((settings, options))
        assert run
        raise ValueError("Expected nothing in particular.")

    monkeypatch.setattr(engine, "submit", submit)
    at = open_app("train", "t_model=logistic&t_by=sigma&t_sigma=1.5&t_slow=1&v=2")
    at.button(key="t.start").click().run()
    assert asked == [(RunSettings(model="logistic", noise_multiplier=1.5, bayesian=True), {"slow": 1.0})]
    assert "Expected nothing in particular." in said(at, "problem")[0]  # refused: the form is as it was
    assert at.session_state["value.t_sigma"] == 1.5


@pytest.mark.parametrize(("query", "chosen", "delta_mu"), [
    ("v=2", "auto", math.inf), ("run=none", "auto", math.inf), ("t_model=logistic&v=1", "0", 1e-10),
    ("t_model=logistic&t_bdp=1&v=1", "1", 1e-10), ("t_model=logistic&v=2", "auto", math.inf),
])  # fmt: skip
def test_links_of_before_mean_the_bayesian_account_of_before(
    engine: Engine, query: str, chosen: str, delta_mu: float
) -> None:
    at = open_app("train", query)
    for field, wanted in ((BAYESIAN, chosen), (DELTA_MU, delta_mu)):
        known = f"value.{field.key}" in at.session_state
        assert (at.session_state[f"value.{field.key}"] if known else field.default) == wanted


@pytest.mark.parametrize(("query", "on"), [
    ("", True), ("t_bdp=0", False), ("t_method=sgd", False), ("t_method=sgd&t_bdp=1", False),
    ("t_method=dp_sgld", False), ("t_method=dp_sgld&t_bdp=1", True), ("t_method=dp_sgld&t_exp=fixed", True),
    ("t_delta=1e-15", False), ("t_delta=1e-15&t_dmu=1e-9", True),
])  # fmt: skip
def test_bayesian_dp_is_on_where_it_costs_little_and_can_be(query: str, on: bool) -> None:
    assert form.read(state.reader(query)).settings.bayesian is on


def test_what_was_refused_is_said_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may go well the next time; and the engine's own trouble is not said a second time beside it."""
    trouble = "The disk is full."

    def submit(*_: Any, **__: Any) -> None:
        raise StoreError(trouble)

    monkeypatch.setattr(engine, "submit", submit)
    at = open_app("train", "t_model=logistic&t_by=sigma")
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
    monkeypatch.setattr("dpviz.ui.train.form.graphics_card", lambda: False)
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    at = open_app("train", "t_data=cifar10&t_model=logistic&t_by=sigma&t_dev=cuda")
    at.session_state["t.group"] = group
    at.session_state["t.folder"] = str(tmp_path)
    at.run()
    notes = said(at, "caution")
    assert sum("No GPU was found" in note for note in notes) == 1
    assert sum("is not on this machine" in note for note in notes) == 1


def test_a_run_that_re_plans_is_planned_to_its_cap() -> None:
    """The target holds for all steps that it may take, not for those of its first plan."""
    query = "t_data=abalone&t_model=logistic&t_batch=64&t_steps=20&t_eps=1&t_past=replan&t_most=50"
    found = form.read(state.reader(query))
    cost = tight_epsilon(SampledGaussian(found.settings.noise_multiplier, 64 / 3133), 50, 1e-5)
    assert 0.98 < float(cost.upper) <= 1.0
    ahead = plan(found.settings, 3133)
    assert ahead.steps[-1] == 50
    assert ahead.claim.epsilon == float(cost.upper)
    assert ahead.tight is not None
    assert ahead.tight.upper[-1] == ahead.claim.epsilon


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
    assert at.session_state["value.t_batch"] == 64
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


def test_scripts_find_the_recorded_epsilon(events: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    summary = events[-1].data
    exec(script.accounting(summary["mechanisms"], 1e-5), {})
    told = dict(line.split() for line in capsys.readouterr().out.splitlines())
    for method in ("moments", "renyi", "odometer", "tight"):
        assert float(told[method]) == pytest.approx(summary["epsilon"][method], rel=1e-9)
    compile(script.training(TINY), "script", "exec")
    scope: dict[str, Any] = {}
    exec(script.training(TINY).split("summary =")[0].replace("from dpviz.training.loop import FreeRun, run", ""), scope)
    assert scope["settings"] == TINY


def test_a_target_is_met_with_the_private_counts_that_are_planned() -> None:
    asked = form.read(state.reader("t_goal=1&t_acc=0.9&t_measure=private&t_cnoise=20&t_eps=3"))
    found = plan(asked.settings, asked.examples)
    assert found.claim.counts > 0
    assert 2.5 < found.claim.epsilon <= 3.0
    with pytest.raises(ValueError, match="private counts with noise 1 cost"):
        form.read(state.reader("t_goal=1&t_acc=0.9&t_measure=private&t_cnoise=1&t_eps=3"))


# --- secret noise -----------------------------------------------------------------------------------------------------


def test_noise_is_secret_unless_a_demonstration_is_chosen(engine: Engine) -> None:
    assert form.read(state.reader("")).settings.secure_noise
    at = open_app("train", "t_secure=0")
    said_first = said(at, "headline")[0]
    assert said_first.startswith("Demonstration: its noise can be replayed")
    assert "With secret noise" in said_first
    assert "ε ≤ 3.00" in said_first


@pytest.mark.parametrize(
    ("query", "secret"),
    [
        ("", True),
        ("t_sigma=2", True),
        ("t_secure=1&t_seed=7", True),
        ("t_secure=0", False),
        ("t_secure=0&t_seed=7", False),
        ("t_seed=7&v=1", False),  # from before noise was secret unless said otherwise
        ("t_seed=7&v=2", True),
    ],
)
def test_a_link_opens_the_run_that_it_was(engine: Engine, query: str, secret: bool) -> None:
    at = open_app("train", query)
    demonstration = said(at, "headline")[0].startswith("Demonstration")
    assert demonstration is not secret
    # What is changed by hand afterwards is not undone by the link.
    at.session_state["value.t_secure"] = not secret
    at.run()
    assert said(at, "headline")[0].startswith("Demonstration") is secret


def of_row(row: Preset, **more: str) -> Reader:
    texts = row.values | more
    return lambda field: field.parse(texts[field.key]) if field.key in texts else field.default


@pytest.mark.parametrize("row", BY_KEY.values(), ids=lambda row: row.key)
def test_a_papers_row_fills_the_form_with_a_run_that_can_be_started(row: Preset) -> None:
    assert set(row.values) <= {field.key for field in FIELDS}
    found = form.read(of_row(row))
    assert not unsuited(found.settings.data, found.settings.model)
    written = form.texts_of(found.settings)
    by_key = {field.key: field for field in FIELDS}
    for key, text in row.values.items():
        if key not in ("t_by", "t_eps"):
            assert by_key[key].parse(written[key]) == by_key[key].parse(text), f"{key} has no effect"
    if "t_eps" in row.values:
        claim = planned_claim(found.settings, found.examples)
        assert claim.epsilon == pytest.approx(float(row.values["t_eps"]), rel=1e-3)


def test_a_papers_row_is_chosen_in_the_sidebar(engine: Engine) -> None:
    at = open_app("train")
    at.selectbox(key="t.row").set_value("trsgfig3").run()
    assert not at.exception
    assert at.session_state["value.t_data"] == "adult"
    assert at.session_state["value.t_lr"] == 0.1
    assert at.session_state["value.t_batch"] == 180, "not the usual one of the data"
    next(button for button in at.button if button.label == "Reset the form").click().run()
    assert at.session_state["value.t_data"] == "mnist-10k"
    assert at.selectbox(key="t.row").value == ""


def test_claims_of_trained_accuracies_link_to_their_rows() -> None:
    links = [claim.link for claim in CLAIMS if claim.link.startswith("train?")]
    for row in BY_KEY.values():
        printed = row.name.endswith(" %")
        assert not printed or any(link.startswith(rows.train(row.key)) for link in links), "its accuracy is a claim"
    known = {field.key: field for field in FIELDS}
    for link in links:
        for key, text in parse_qsl(link.partition("?")[2]):
            known[key].parse(text)


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
