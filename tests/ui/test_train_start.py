"""Train, "Start from": which runs are offered, what the form says of them, and what it asks for."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.questions.train import TRAIN, script
from dpviz.questions.train.facts import trained_parameters
from dpviz.questions.train.plan import plan
from dpviz.questions.train.settings import run_settings, texts_of
from dpviz.runs.claims import claim_of_record, start_of
from dpviz.runs.engine import Engine
from dpviz.runs.exchange.files import export_json, import_json
from dpviz.runs.store.records import Event, RunRecord
from dpviz.training import settings as declared
from dpviz.training.accounts.claims import everything_planned
from dpviz.training.accounts.origins import Origin, spent_before
from dpviz.training.loop import FreeRun
from dpviz.training.loop import run as train
from dpviz.training.settings import RunSettings
from dpviz.ui import state
from dpviz.ui.train import tight
from dpviz.ui.train.live import take
from tests.ui.driver import enter, open_app, open_part, said
from tests.ui.runs_made import TINY, events_of, finished, fresh_engine

N = 3133  # of Abalone
FORM = "t_data=abalone&t_model=logistic&t_batch_size=64&t_steps=6&t_learning_rate=1"
GROUPS = tuple(dict.fromkeys(declared.GROUPS.values()))
MLP = TINY.with_(model="mlp")


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    yield from fresh_engine(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("weights") / "tiny.pt"
    train(TINY, lambda event: None, FreeRun(), weights_to=path)
    return path


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return events_of(TINY)


def asked(engine: Engine, monkeypatch: pytest.MonkeyPatch, at: AppTest) -> RunSettings:
    """What Start would train."""
    found: list[RunSettings] = []

    def submit(settings: RunSettings, *, options: dict[str, Any], run: str) -> str:
        found.append(settings)
        raise ValueError("Enough.")

    monkeypatch.setattr(engine, "submit", submit)
    at.button(key="t.start").click().run()
    return found[0]


def started(settings: RunSettings, run: RunRecord, engine: Engine) -> RunSettings:
    start = start_of(run.id, engine.store, engine.weights)
    return settings.with_(start_from=start.weights, origins=start.origins)


def joint(settings: RunSettings) -> float:
    runs = merge_events((*spent_before(settings), *everything_planned(settings, N)))
    return float(tight_epsilon_of_events(runs, settings.delta).upper)


def test_finished_runs_of_the_same_network_are_offered(engine: Engine, weights: Path, events: list[Event]) -> None:
    first = finished(engine, TINY, weights, events, name="First *try*")
    finished(engine, MLP, weights, name="Other network")
    finished(engine, TINY, weights, events[:-1], name="Not over")
    finished(engine, TINY.with_(data="adult"), weights, events, name="Other sizes")
    at = open_app("train", FORM)
    found = at.selectbox(key="slider.t_start_from")
    assert found.value == ""
    claimed = numbers.epsilon(first.summary["claim"]["epsilon"], up=True)
    accuracy = f"{100 * first.summary['test_accuracy']:.1f} %"
    assert found.options == ["random weights", f"First *try* · {accuracy} · ε ≤ {claimed}"]
    assert not said(at, "caution")


def test_the_form_adds_up_what_was_spent_and_starts_there(
    engine: Engine, weights: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = finished(engine, TINY, weights, events, name="First <b>")
    at = open_app("train", f"{FORM}&t_noise_by=sigma&t_noise_multiplier=1")
    before = said(at, "headline")[0]
    at.selectbox(key="slider.t_start_from").set_value(first.id).run()
    assert not at.exception
    wanted = started(TINY.with_(noise_multiplier=1.0, threads=0, evaluation_every=None), first, engine)
    shown = numbers.epsilon(joint(wanted), up=True)
    headline = said(at, "headline")[0]
    assert f"ε ≤ {shown} " in headline
    assert f"ε ≤ {shown} " not in before
    assert "with what First <b> may have spent on the same data" in headline
    assert any("neither the start from First <b>" in text for text in said(at, "caution"))
    assert not [button for button in at.button if button.label == "Open this plan in Compose"]
    assert asked(engine, monkeypatch, at) == wanted


def test_a_target_holds_both_runs(
    engine: Engine, weights: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = finished(engine, TINY, weights, events)
    spent = first.summary["claim"]["epsilon"]
    for solver in ("renyi", "moments", "tight"):
        at = open_app("train", f"{FORM}&t_start_from={first.id}&t_target_epsilon=2&t_solver={solver}")
        found = asked(engine, monkeypatch, at)
        assert (1.99 if solver == "tight" else 0.5) < joint(found) <= 2.0
    open_part(at, "train.group", GROUPS, "Noise")
    left = numbers.epsilon(numbers.down(2.0 - spent))
    words = f"may have spent {numbers.epsilon(spent, up=True)} of it on the same data; {left} is left for this run"
    assert any(words in text for text in said(at, "note"))
    enter(at, "t_target_epsilon", repr(spent * (1 + 1e-9)))
    problem = next(text for text in said(at, "problem") if "Expected target_epsilon" in text)
    least = re.search(r"clipped gradients can have, and destroy what .* Ask for at least ([\d.]+), or start", problem)
    assert least is not None
    assert at.button(key="t.start").disabled
    enter(at, "t_target_epsilon", least[1])
    assert not at.button(key="t.start").disabled
    assert 8 < asked(engine, monkeypatch, at).noise_multiplier <= 64  # of a batch of 64
    enter(at, "t_target_epsilon", repr(0.9 * spent))
    assert any("Expected target_epsilon" in text and "on the same data" in text for text in said(at, "problem"))
    assert at.button(key="t.start").disabled


def test_the_last_layer_alone(engine: Engine, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished(engine, MLP, weights)
    query = FORM.replace("logistic", "mlp")
    at = open_app("train", query)
    assert not [one for one in at.main if one.key == "slider.t_trained"]  # random layers are not left as they are
    at = open_app("train", f"{query}&t_start_from={run.id}&t_trained=last")
    found = asked(engine, monkeypatch, at)
    assert (found.trained, trained_parameters(found)) == ("last", 129 * 2)
    assert "258 parameters of the last layer" in " ".join(" ".join(said(at, "strip")).split()).replace("\u202f", "")
    assert asked(engine, monkeypatch, open_app("train", f"{query}&t_trained=last")).trained == "all"
    dpvi = open_app("train", f"{query}&t_start_from={run.id}&t_trained=last&t_method=dpvi")
    assert not [one for one in dpvi.main if one.key == "slider.t_trained"]
    assert asked(engine, monkeypatch, dpvi).trained == "all"


@pytest.mark.parametrize(
    ("settings", "query", "words"),
    [
        (MLP, "", "start_from='Run 1' to be of the same network, found MLP"),
        (TINY.with_(method="sgd"), "", "learned from the same data, and it was trained without noise"),
        (TINY.with_(secure_noise=False), "", "and its noise can be replayed"),
        (TINY, "&t_filter_epsilon=0.2&t_noise_by=sigma", "more than what Run 1 may have spent"),
    ],
)
def test_what_cannot_be_added_up_cannot_be_started(
    engine: Engine, weights: Path, settings: RunSettings, query: str, words: str
) -> None:
    run = finished(engine, settings, weights)
    at = open_app("train", f"{FORM}&t_start_from={run.id}{query}")
    assert any(words in text for text in said(at, "problem"))
    assert at.button(key="t.start").disabled


def test_a_start_on_other_data_leaves_epsilon_as_it_is_and_says_so(
    engine: Engine, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digits = TINY.with_(data="mnist-10k", evaluation_every=0)
    private = finished(engine, digits, weights, name="Digits")
    plain = finished(engine, digits.with_(method="sgd"), weights, name="Plain")
    form = "t_data=fashion-mnist&t_model=logistic&t_batch_size=64&t_steps=6&t_noise_by=sigma"
    alone = re.search(r"ε ≤ [\d.]+", said(open_app("train", form), "headline")[0])
    assert alone is not None
    for run, words in (
        (private, f"from which its start Digits learned at ε ≤ {private.summary['claim']['epsilon']:.2}"),
        (
            plain,
            "MNIST, 10k digits, from which its start Plain learned without an ε, so that those data must be public",
        ),
    ):
        at = open_app("train", f"{form}&t_start_from={run.id}")
        assert f"{alone.group()} " in said(at, "headline")[0]
        assert "for these data only" in said(at, "headline")[0]
        assert any(words in text for text in said(at, "caution"))
        options = at.selectbox(key="slider.t_start_from").options
        assert any(one.startswith(f"{run.title} · MNIST, 10k digits · ") for one in options)
        assert asked(engine, monkeypatch, at).origins[0].run == run.id
    digits_again = open_app("train", f"{form.replace('fashion-mnist', 'mnist')}&t_start_from={private.id}")
    assert "with what Digits may have spent on the same data" in said(digits_again, "headline")[0]


def test_plain_training_may_start_anywhere(engine: Engine, weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = finished(engine, TINY.with_(method="sgd"), weights)
    at = open_app("train", f"{FORM}&t_method=sgd&t_start_from={run.id}")
    assert "nothing bounds" in " ".join(said(at, "headline")[0].split())
    assert asked(engine, monkeypatch, at).origins[0].run == run.id


def test_a_start_that_is_gone_is_said(engine: Engine, weights: Path, events: list[Event]) -> None:
    run = finished(engine, TINY, weights, events, name="Mine")
    engine.store.delete(run.id)
    for asked_for, title in ((run.id, "Mine"), ("nobody", "run nobody")):
        at = open_app("train", f"{FORM}&t_start_from={asked_for}")
        assert at.selectbox(key="slider.t_start_from").options[-1] == f"{title} (cannot be started from)"
        assert any("start_from" in text for text in said(at, "problem"))
        at.selectbox(key="slider.t_start_from").set_value("").run()
        assert not at.button(key="t.start").disabled


@pytest.mark.parametrize("bayesian", [False, True])
def test_a_finished_run_goes_on_from_its_weights(
    engine: Engine, weights: Path, events: list[Event], bayesian: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without live Bayesian DP, which knows nothing of the first run's gradients; the form says so."""
    run = finished(engine, TINY.with_(bayesian=bayesian), weights, events)
    at = open_app("train", f"run={run.id}")
    (button,) = [one for one in at.button if one.label == "Go on from its weights"]
    button.click().run()
    assert not said(at, "problem")
    open_part(at, "train.group", GROUPS, "Noise")
    assert any(f"those of {run.title} were not kept" in text for text in said(at, "note"))
    found = asked(engine, monkeypatch, at)
    assert found == started(TINY.with_(threads=0, histogram_every=5), run, engine)
    engine.weights(run.id).unlink()
    again = open_app("train", f"run={run.id}")
    assert not [one for one in again.button if one.label == "Go on from its weights"]


def test_a_clone_starts_where_the_run_did(engine: Engine, weights: Path, events: list[Event]) -> None:
    first = finished(engine, TINY, weights, events)
    start = start_of(first.id, engine.store, engine.weights)
    settings = TINY.with_(start_from=start.weights, origins=start.origins, threads=0)
    texts = texts_of(settings)
    assert texts["t_start_from"] == first.id
    query = "&".join(f"{key}={text}" for key, text in texts.items())
    assert run_settings(TRAIN.read(state.reader(query))) == settings


def test_curves_of_the_plan_begin_with_what_was_spent() -> None:
    origin = Origin(run="a", name="Run 1", data="abalone", mechanisms=((1.0, 0.03, 500),), epsilon=3.0)
    settings = TINY.with_(start_from="x", origins=(origin,), steps=300)
    found, mine = plan(settings, N), SampledGaussian(2.0, 64 / N)
    for name, accountant in (("moments", Moments()), ("renyi", Renyi()), ("odometer", OdometerAccountant())):
        for at in (0, -1):
            runs = (*origin.events, (mine, int(found.steps[at])))
            wanted = float(accountant.of_events(runs, 1e-5).epsilon)  # type: ignore[attr-defined]
            assert found.epsilon[name][at] == pytest.approx(wanted, rel=1e-12)
    assert found.tight is not None
    assert found.tight.upper[-1] == found.claim.epsilon == joint(settings)


def test_python_says_where_it_starts() -> None:
    origin = Origin(run="a", name="Run 1", data="abalone", mechanisms=((2.0, 0.02, 500),), epsilon=0.7)
    settings = TINY.with_(start_from="x", origins=(origin,), trained="last")
    scope: dict[str, Any] = {}
    exec(
        script.training(settings).split("summary =")[0].replace("from dpviz.training.loop import FreeRun, run", ""),
        scope,
    )
    assert scope["settings"] == settings


def test_the_interval_of_a_run_under_way_holds_what_was_spent() -> None:
    before = ((SampledGaussian(1.0, 0.03), 500),)
    at = np.arange(1.0, 7.0)
    points, _ = tight._look([2, 6], at, np.full(6, 2.0), np.full(6, 64 / N), np.empty(0), 100.0, 1e-5, before)
    for step, (low, high) in points.items():
        wanted = tight_epsilon_of_events((*before, (SampledGaussian(2.0, 64 / N), step)), 1e-5)
        assert (low, high) == (float(wanted.lower), float(wanted.upper))


def test_a_run_that_began_again_after_another_pays_for_all(engine: Engine, weights: Path, events: list[Event]) -> None:
    first = finished(engine, TINY, weights, events)
    settings = started(TINY.with_(noise_multiplier=1.5), first, engine)
    told = events_of(settings)
    again = finished(engine, settings, weights, told[:-1], told)
    claim = claim_of_record(again, engine.store)
    mine = SampledGaussian(1.5, 64 / N)
    runs = ((SampledGaussian(2.0, 64 / N), 6), (mine, 12))
    assert claim.epsilon == pytest.approx(float(tight_epsilon_of_events(runs, 1e-5).upper), rel=1e-9)


def test_python_finds_the_whole_epsilon_again(engine: Engine, weights: Path, events: list[Event]) -> None:
    first = finished(engine, TINY, weights, events)
    settings = started(TINY.with_(noise_multiplier=1.5), first, engine)
    second = finished(engine, settings, weights)
    at = open_app("train", f"run={second.id}")
    at.session_state["t.details"] = "Python"
    at.run()
    *_, code = at.code
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(code.value, {})
    found = dict(line.split() for line in printed.getvalue().splitlines())
    for name, epsilon in second.summary["epsilon"].items():
        assert float(found[name]) == pytest.approx(epsilon, rel=1e-9)


def test_a_run_that_was_stopped_after_another_reads_and_claims_both(
    engine: Engine, weights: Path, events: list[Event]
) -> None:
    """So long a plan that the odometer reads less, here and from a file."""
    first = finished(engine, TINY.with_(noise_multiplier=0.4), weights)
    settings = started(TINY.with_(noise_multiplier=0.5, steps=5_000), first, engine)
    told = events_of(settings.with_(steps=3))
    told[0].data["settings"]["steps"] = 5_000
    last = {**told[-1].data, "kind": "stopped", "reason": "stopped"}
    run = finished(engine, settings, weights, [*told[:-1], told[-1]._replace(kind="stopped", data=last)])
    runs = (*spent_before(settings), (SampledGaussian(0.5, 64 / N), 3))

    copy = import_json(engine.store, export_json(engine.store, run.id))
    claim = claim_of_record(copy, engine.store)
    assert claim.covers == "any_end"
    wanted, alone = (float(OdometerAccountant().of_events(told, 1e-5).epsilon) for told in (runs, runs[1:]))
    assert claim.epsilon == pytest.approx(wanted, rel=1e-9)
    assert wanted > alone

    until = time.monotonic() + 30.0
    while (look := take(engine, run.id)).tight is None and time.monotonic() < until:
        time.sleep(0.02)
    assert look.tight is not None
    assert look.tight.upper[-1] == pytest.approx(float(tight_epsilon_of_events(runs, 1e-5).upper), rel=1e-9)
