"""The Train page: the form says what a plan costs and what cannot work, also of one that starts from another run."""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.accounting.adaptive.fully_adaptive import MixtureOdometer
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.questions.train.facts import trained_parameters
from dpviz.questions.train.plan import plan
from dpviz.questions.train.question import TRAIN
from dpviz.questions.train.settings import run_settings, texts_of
from dpviz.runs.claims import start_of
from dpviz.runs.cluster.connection import lacking
from dpviz.runs.engine import Engine
from dpviz.runs.store.records import Event, RunRecord, StoreError
from dpviz.training.accounts.claims import everything_planned
from dpviz.training.accounts.origins import spent_before
from dpviz.training.accounts.stepwise import encoded_events
from dpviz.training.models import MODELS
from dpviz.training.settings import GROUPS, RunSettings
from dpviz.training.values import Origin
from dpviz.ui import state
from dpviz.ui.train import live
from tests.ui.driver import enter, open_app, open_part, press, put, said
from tests.ui.runs_made import TINY, finished

N = 3133  # of Abalone
FORM = "t_data=abalone&t_model=logistic&t_batch_size=64&t_steps=6&t_learning_rate=0.1&t_learning_rate_end=0.2"
PARTS = tuple(dict.fromkeys(GROUPS.values()))
MLP = TINY.with_(model="mlp")
SIGMA = "t_model=logistic&t_noise_by=sigma"
Finish = Callable[..., RunRecord]
Submitted = list[tuple[RunSettings, dict[str, Any]]]


def start(at: AppTest, submitted: Submitted) -> RunSettings:
    """What Start would train."""
    at.button(key="t.start").click().run()
    return submitted[-1][0]


@pytest.fixture
def finish(engine: Engine, weights: Path, events: list[Event]) -> Finish:
    """Leaves a run behind that ended, as `finished` does; what TINY tells is known."""

    def ended(settings: RunSettings, *attempts: list[Event], **names: str) -> RunRecord:
        like_tiny = settings.with_(data=TINY.data, bayesian=False) == TINY
        return finished(engine, settings, weights, *(attempts or [events] * like_tiny), **names)

    return ended


def started(settings: RunSettings, run: RunRecord, engine: Engine) -> RunSettings:
    begun = start_of(run.id, engine.store, engine.weights)
    return settings.with_(start_from=begun.weights, origins=begun.origins)


def joint(settings: RunSettings) -> float:
    runs = merge_events((*spent_before(settings), *everything_planned(settings, N)))
    return float(tight_epsilon_of_events(runs, settings.delta).upper)


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_start_submits_exactly_what_the_form_says(submitted: Submitted) -> None:
    at = open_app("train", f"{SIGMA}&t_noise_multiplier=1.5&t_slow=1")
    start(at, submitted)
    assert submitted == [
        (
            RunSettings(
                **{**MODELS["scattering"].usual, "model": "logistic"}, noise_multiplier=1.5, bayesian=True, followed=32
            ),
            {"slow": 1.0},
        )
    ]
    assert "Enough." in said(at, "problem")[0]  # refused: the form is as it was
    assert at.session_state["value.t_noise_multiplier"] == 1.5


def test_what_was_refused_is_said_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may go well the next time; and the engine's own trouble is not said a second time beside it."""
    trouble = "The disk is full."
    monkeypatch.setattr(engine, "submit", Mock(side_effect=StoreError(trouble)))
    at = open_app("train", SIGMA)
    at.button(key="t.start").click().run()
    assert said(at, "problem") == [trouble]
    at.run()
    assert said(at, "problem") == []
    monkeypatch.setattr(Engine, "problem", trouble)
    monkeypatch.setattr("dpviz.ui.engine.warmed", lambda engine: engine.problem)
    at.button(key="t.start").click().run()
    assert said(at, "problem") == [trouble]


def test_nothing_is_queued_where_pytorch_is_not_installed(
    submitted: Submitted, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One note has the command that adds it; the plan's ε stands as ever."""
    monkeypatch.setattr("dpviz.runs.cluster.connection.WORKERS_NEED", ("no_torch_here",))
    monkeypatch.setattr(Engine, "problem", lacking())
    at = open_app("train", SIGMA)
    assert at.button(key="t.start").disabled
    (note,) = said(at, "problem")
    assert note == (
        "Training and measuring need no_torch_here, which is not installed here: pip install 'dpviz[train]'."
    )
    assert "ε ≤" in said(at, "headline")[0]
    assert submitted == []


def test_what_will_fail_is_said_whatever_controls_are_open(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("dpviz.ui.train.plan.graphics_card", lambda: False)
    monkeypatch.setenv("DPVIZ_DATA", str(tmp_path))
    at = open_app("train", f"t_data=cifar10&{SIGMA}&t_device=cuda")
    at.session_state["t.folder"] = str(tmp_path)
    for group in ("Data", "Steps", "More"):
        open_part(at, "train.group", PARTS, group)
        for words in ("No GPU was found", "is not on this machine"):
            assert sum(words in note for note in said(at, "caution")) == 1


def test_a_run_whose_start_was_cut_short_is_found_by_the_next_move(engine: Engine) -> None:
    at = open_app("train")
    ticket = at.session_state["t.ticket"]
    engine.store.create(target="m:f", settings={}, options={}, name="", run=ticket)
    at.run()
    assert at.session_state["value.run"] == ticket
    assert "t.ticket" not in at.session_state


# --- a plan that starts from another run ------------------------------------------------------------------------------


def test_finished_runs_of_the_same_network_are_offered(finish: Finish, events: list[Event]) -> None:
    first = finish(TINY, name="First *try*")
    finish(MLP, name="Other network")
    finish(TINY, events[:-1], name="Not over")
    finish(TINY.with_(data="adult"), name="Other sizes")
    at = open_app("train", FORM)
    offered = at.selectbox(key="slider.t_start_from")
    assert offered.value == ""
    claimed = numbers.epsilon(first.summary["claim"]["epsilon"], up=True)
    accuracy = f"{100 * first.summary['test_accuracy']:.1f}\N{NO-BREAK SPACE}%"
    assert offered.options == ["random weights", f"First *try* · {accuracy} · ε ≤ {claimed}"]
    assert not said(at, "caution")


def test_the_form_adds_up_what_was_spent_and_starts_there(engine: Engine, finish: Finish, submitted: Submitted) -> None:
    first = finish(TINY, name="First <b>")
    at = open_app("train", f"{FORM}&t_noise_by=sigma&t_noise_multiplier=1")
    before = said(at, "headline")[0]
    at.selectbox(key="slider.t_start_from").set_value(first.id).run()
    assert not at.exception
    page = {"threads": 0, "evaluation_every": None, "followed": 32}
    wanted = started(TINY.with_(noise_multiplier=1.0, **page), first, engine)
    shown = f"ε ≤ {numbers.epsilon(joint(wanted), up=True)} "
    headline = said(at, "headline")[0]
    assert (shown in headline, shown in before) == (True, False)
    assert "with what First <b> may have spent on the same data" in headline
    assert any("the start from First <b>, whose cost" in text for text in said(at, "caution"))
    assert not [button for button in at.button if button.label == "Open this plan in Compose"]
    assert start(at, submitted) == wanted


def test_a_target_holds_both_runs(finish: Finish, submitted: Submitted) -> None:
    first = finish(TINY)
    spent = first.summary["claim"]["epsilon"]
    for solver in ("renyi", "moments", "tight"):
        at = open_app("train", f"{FORM}&t_start_from={first.id}&t_target_epsilon=2&t_solver={solver}")
        assert (1.99 if solver == "tight" else 0.5) < joint(start(at, submitted)) <= 2.0
    open_part(at, "train.group", PARTS, "Noise")
    left = numbers.epsilon(numbers.rounded_down(2.0 - spent))
    words = f"may have spent {numbers.epsilon(spent, up=True)} of it on the same data; {left} is left for this run"
    assert any(words in text for text in said(at, "note"))
    enter(at, "t_target_epsilon", repr(spent * (1 + 1e-9)))
    problem = next(text for text in said(at, "problem") if "Expected target_epsilon" in text)
    least = re.search(r"clipped gradients and would destroy what .* Ask for at least ([\d.]+), or start", problem)
    assert least is not None
    assert at.button(key="t.start").disabled
    enter(at, "t_target_epsilon", least[1])
    assert not at.button(key="t.start").disabled
    assert 8 < start(at, submitted).noise_multiplier <= 64  # of a batch of 64
    enter(at, "t_target_epsilon", repr(0.9 * spent))
    assert any("Expected target_epsilon" in text and "on the same data" in text for text in said(at, "problem"))
    assert at.button(key="t.start").disabled


def test_the_last_layer_alone(finish: Finish, submitted: Submitted) -> None:
    run = finish(MLP)
    query = FORM.replace("logistic", "mlp")
    for more, offered, trained in (
        ("t_trained=last", False, "all"),  # random layers are not left as they are
        (f"t_start_from={run.id}&t_trained=last&t_method=dpvi", False, "all"),
        (f"t_start_from={run.id}&t_trained=last", True, "last"),
    ):
        at = open_app("train", f"{query}&{more}")
        assert any(one.key == "slider.t_trained" for one in at.main) == offered
        settings = start(at, submitted)
        assert settings.trained == trained
    assert trained_parameters(settings) == 129 * 2
    assert "258 parameters of the last layer" in " ".join(" ".join(said(at, "strip")).split()).replace("\u202f", "")


@pytest.mark.parametrize(
    ("settings", "query", "words"),
    [
        (MLP, "", "start_from='Run 1' to be of the same network, found MLP"),
        (TINY.with_(method="sgd"), "", "same data, and it was trained without noise"),
        (TINY.with_(secure_noise=False), "", "and its noise can be replayed"),
        (TINY, "&t_filter_epsilon=0.2&t_noise_by=sigma", "more than what Run 1 may have spent"),
    ],
)
def test_what_cannot_be_added_up_cannot_be_started(
    finish: Finish, settings: RunSettings, query: str, words: str
) -> None:
    run = finish(settings)
    at = open_app("train", f"{FORM}&t_start_from={run.id}{query}")
    assert any(words in text for text in said(at, "problem"))
    assert at.button(key="t.start").disabled


def test_a_start_on_other_data_leaves_epsilon_as_it_is_and_says_so(finish: Finish, submitted: Submitted) -> None:
    digits = TINY.with_(data="mnist-10k", evaluation_every=0)
    private = finish(digits, name="Digits")
    plain = finish(digits.with_(method="sgd"), name="Plain")
    form = "t_data=fashion-mnist&t_model=logistic&t_batch_size=64&t_steps=6&t_noise_by=sigma"
    alone = re.search(r"ε ≤ [\d.]+", said(open_app("train", form), "headline")[0])
    assert alone is not None
    public = "MNIST, 10k digits, the data of Plain without an ε, so those data must be public"
    learned = f"the data of Digits with its own ε ≤ {private.summary['claim']['epsilon']:.2}"
    for run, words in ((private, learned), (plain, public)):
        at = open_app("train", f"{form}&t_start_from={run.id}")
        assert f"{alone.group()} " in said(at, "headline")[0]
        assert "for these data only" in said(at, "headline")[0]
        assert any(words in " ".join(text.split()) for text in said(at, "caution"))
        options = at.selectbox(key="slider.t_start_from").options
        assert any(one.startswith(f"{run.title} · MNIST, 10k digits · ") for one in options)
        assert start(at, submitted).origins[0].run == run.id
    digits_again = open_app("train", f"{form.replace('fashion-mnist', 'mnist')}&t_start_from={private.id}")
    assert "with what Digits may have spent on the same data" in said(digits_again, "headline")[0]
    at = open_app("train", f"{FORM.replace('abalone', 'mnist')}&t_method=sgd&t_start_from={plain.id}")
    assert "nothing bounds" in " ".join(said(at, "headline")[0].split()), "plain training may start anywhere"
    assert start(at, submitted).origins[0].run == plain.id


def test_a_start_that_is_gone_is_said(engine: Engine, finish: Finish) -> None:
    run = finish(TINY, name="Mine")
    engine.store.delete(run.id)
    for asked_for, title in ((run.id, "Mine"), ("nobody", "run nobody")):
        at = open_app("train", f"{FORM}&t_start_from={asked_for}")
        assert at.selectbox(key="slider.t_start_from").options[-1] == f"{title} (cannot be started from)"
        assert any("start_from" in text for text in said(at, "problem"))
        at.selectbox(key="slider.t_start_from").set_value("").run()
        assert not at.button(key="t.start").disabled


def test_a_finished_run_goes_on_from_its_weights(engine: Engine, finish: Finish, submitted: Submitted) -> None:
    """Without live Bayesian DP, which knows nothing of the first run's gradients; the form says so. A clone starts
    where the run did."""
    run = finish(TINY.with_(bayesian=True))
    at = open_app("train", f"run={run.id}")
    press(at, "Go on from its weights")
    assert not said(at, "problem")
    open_part(at, "train.group", PARTS, "Noise")
    assert any(f"those of {run.title} were not kept" in text for text in said(at, "note"))
    settings = start(at, submitted)
    assert settings == started(TINY.with_(threads=0, histogram_every=5), run, engine)
    query = "&".join(f"{key}={text}" for key, text in texts_of(settings).items())
    assert f"t_start_from={run.id}" in query
    assert run_settings(TRAIN.read(state.reader(query))) == settings
    engine.weights(run.id).unlink()
    again = open_app("train", f"run={run.id}")
    assert not [one for one in again.button if one.label == "Go on from its weights"]


def test_curves_of_the_plan_begin_with_what_was_spent() -> None:
    origin = Origin(run="a", name="Run 1", data="abalone", mechanisms=((1.0, 0.03, 500),), epsilon=3.0)
    settings = TINY.with_(start_from="x", origins=(origin,), steps=300)
    ahead, mine = plan(settings, N), SampledGaussian(2.0, 64 / N)
    for name, accountant in (("moments", Moments()), ("renyi", Renyi()), ("mixture", MixtureOdometer())):
        for at in (0, -1):
            runs = (*origin.events, (mine, int(ahead.steps[at])))
            wanted = float(accountant.of_events(runs, 1e-5).epsilon)  # type: ignore[attr-defined]
            assert ahead.epsilon[name][at] == pytest.approx(wanted, rel=1e-12)
    assert ahead.tight is not None
    assert ahead.tight.upper[-1] == ahead.claim.epsilon == joint(settings)


def test_the_interval_of_a_run_under_way_holds_all_that_was_charged() -> None:
    """What was spent before, the steps so far, and private counts taken by then."""
    before = ((SampledGaussian(1.0, 0.03), 500),)
    mine, counted = SampledGaussian(2.0, 64 / N), SampledGaussian(100.0, 1.0)
    steps = {"step": np.arange(1.0, 7.0), "noise_multiplier": np.full(6, 2.0), "sample_rate": np.full(6, 64 / N)}
    spent = encoded_events(((mine, 6),))
    view: Any = SimpleNamespace(steps=steps, counts={"step": np.array([2.0, 5.0])}, spent=spent)
    assert set(live.charged(4, view, 100.0)) == {(mine, 4), (counted, 1)}
    points, _ = live.look([2, 6], view, 100.0, 1e-5, before)
    for (step, (low, high)), counts in zip(points.items(), (1, 2), strict=True):
        wanted = tight_epsilon_of_events((*before, (mine, step), (counted, counts)), 1e-5)
        assert (low, high) == (float(wanted.lower), float(wanted.upper))


def test_python_finds_the_whole_epsilon_again(engine: Engine, finish: Finish) -> None:
    first = finish(TINY)
    second = finish(started(TINY.with_(noise_multiplier=1.5), first, engine))
    at = open_app("train", f"run={second.id}")
    put(at, "t.details", "Python")
    *_, training, accounting = at.code
    scope: dict[str, Any] = {}
    exec(training.value.split("summary =")[0].replace("from dpviz.training.loop import FreeRun, run", ""), scope)
    assert replace(scope["settings"], start_from=None) == RunSettings.from_json(second.settings).with_(start_from=None)
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(accounting.value, {})
    readings = dict(line.split() for line in printed.getvalue().splitlines())
    for name, epsilon in second.summary["epsilon"].items():
        assert float(readings[name]) == pytest.approx(epsilon, rel=1e-9)
