"""Whole runs on Abalone, which take a fraction of a second each."""

import itertools
import json
import math
import re
import threading

import pytest
import torch

import dpviz
from dpviz.accounting.claims import Claim
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS
from dpviz.mechanisms import SampledGaussian
from dpviz.training import loop, unmoved
from dpviz.training import session as session_module
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.stepwise import decoded
from dpviz.training.covered import covered_part
from dpviz.training.data.base import DataUnavailable
from dpviz.training.data.catalogue import load
from dpviz.training.engine.per_example import PerExample
from dpviz.training.evaluation import Schedule
from dpviz.training.events import KINDS
from dpviz.training.loop import FreeRun, run
from dpviz.training.models import MODELS
from dpviz.training.networks import scattering
from dpviz.training.settings import RunSettings
from dpviz.training.weights import stored_parameters
from tests.training.small import ABALONE, told, told_anew

LANGEVIN = {"learning_rate": 0.3, "max_grad_norm": 1.0, "prior_std": 1.0, "burn_in": 5}
NOISE = {"policy": "adaptive_noise", "count_every": 1}
PRIVATE_GOAL = {"target_measure": "private", "count_every": 1, "count_noise": 30.0}


def recorded(settings, control=None, **options):
    """The summary and the events, as they come back from JSON text."""
    events = []
    summary = run(
        settings, lambda event: events.append(json.loads(json.dumps(event, allow_nan=False))), control or FreeRun(),
        **options,
    )  # fmt: skip
    return summary, events


def of_kind(events, kind):
    return [event for event in events if event["kind"] == kind]


CASES = {
    "dp_sgd": {},
    "adam": {"optimiser": "adam", "learning_rate": 0.05},
    "dp_sgld": {"method": "dp_sgld", **LANGEVIN},
    "dp_sgld fixed step": {"method": "dp_sgld", **LANGEVIN, "step_exponent": 0.0},
    "dp_sghmc": {"method": "dp_sghmc", **LANGEVIN},
    "adaptive_noise": NOISE | {"count_noise": 20.0, "steps": 60},
    "adaptive_batch": {
        "policy": "adaptive_batch", "count_every": 1, "count_noise": 20.0, "steps": 40, "batch_size": 512,
    },
    "fine_tuning": {"policy": "fine_tuning", "count_noise": 200.0, "steps": 60},
    "filter": {"filter_epsilon": 0.75},
    "adaptive filter": NOISE | {"filter_epsilon": 4.0, "steps": 60},
    "private target": PRIVATE_GOAL | {"target_accuracy": 0.7, "steps": 60},
    "bayesian": {"bayesian": True, "pairs": 8},
    "bayesian, definition 1": {"bayesian": True, "pairs": 8, "definition": 1, "delta_mu": 1e-10},
    "bayesian by pairs": {"bayesian": True, "bayesian_distances": "pairs", "pairs": 8},
    "bayesian re-planned": {"bayesian": True, "pairs": 8, "past_plan": "replan", "most_steps": 50},
    "bayesian, adaptive": NOISE | {"bayesian": True, "pairs": 8, "steps": 40},
    "bayesian dp_sgld": {"method": "dp_sgld", **LANGEVIN, "bayesian": True, "pairs": 8},
}  # fmt: skip


def charged_until(events, step):
    """Every mechanism charged up to and with `step`: what came before its event, and the event's own part."""
    charged = []
    for event in events:
        if event["kind"] == "count" and event["step"] < step:
            charged.append(SampledGaussian(*event["mechanism"][:2]))
        if event["kind"] == "step":
            charged.extend(decoded(event["mechanisms"])[: max(0, step - event["first"] + 1)])
    return [(mechanism, len(list(group))) for mechanism, group in itertools.groupby(charged)]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.one_of(2)
def test_every_recorded_epsilon_follows_from_the_recorded_mechanisms(case):
    settings = ABALONE.with_(**CASES[case])
    summary, events = recorded(settings)
    assert summary["state"] == "done", summary["text"]
    rows, again = told(events), told_anew(events)
    assert [step for step, _ in rows] == [step for step, _ in again] == list(range(1, summary["steps"] + 1))
    for (_, epsilons), (_, others) in zip(rows, again, strict=True):
        assert epsilons == pytest.approx(others, rel=1e-9, abs=1e-12)
        assert ("bayesian" in epsilons) == settings.bayesian
    options = {"renyi": {"orders": VARYING_ORDERS} if settings.changing else {}}
    near = 1e-4 if settings.changing else 1e-9  # noise that always changes is bounded between tabulated levels
    # The summary's list is everything, counts included.
    everything = [(SampledGaussian(s, q), n) for s, q, n in summary["mechanisms"]]
    assert sum(n for _, n in everything) == summary["steps"] + len(of_kind(events, "count"))
    some = rows[:: max(1, len(rows) // 7)] + rows[-1:]
    for epsilons, charged in [
        *((epsilons, charged_until(events, step)) for step, epsilons in some),
        (summary["epsilon"], everything),
    ]:
        for name in ("moments", "renyi", "mixture"):
            accountant = dpviz.accountant(name, **options.get(name, {}))
            expected = float(accountant.of_events(charged, settings.delta).epsilon)
            assert expected * (1 - 1e-9) <= epsilons[name] <= expected * (1 + near), name
    tight = dpviz.accountant("tight").of_events(everything, settings.delta)
    assert summary["epsilon"]["tight"] == pytest.approx(float(tight.epsilon), rel=1e-9)


def test_events_say_what_they_should():
    settings = ABALONE.with_(bayesian=True, bayesian_distances="pairs", pairs=4)
    summary, events = recorded(settings)
    assert {event["kind"] for event in events} <= set(KINDS)
    for name in ("step", "time"):
        assert [event[name] for event in events] == sorted(event[name] for event in events)
    started, last = events[0], events[-1]
    assert (started["kind"], last["kind"]) == ("started", "done")
    wanted = {"examples": 3133, "test_examples": 1044, "classes": 2, "parameters": 22, "sample_rate": 256 / 3133}
    assert {name: started[name] for name in wanted} == wanted
    assert started["noise_source"].startswith("seed 0")
    assert started["majority"] == summary["majority"] < summary["test_accuracy"]
    assert started["plan"]["mechanisms"] == summary["mechanisms"]
    assert "ε does not cover" in started["unprotected"]
    assert RunSettings.from_json(started["settings"]) == settings
    assert {key: value for key, value in last.items() if key not in ("kind", "step", "time")} == summary
    steps = of_kind(events, "step")
    assert sum(event["count"] for event in steps) == 20
    sizes = {}
    for event in steps:
        for name in ("batch_size", "expected_batch_size", "loss", "clipped", "non_finite", "learning_rate", "seconds"):
            assert len(event[name]) == event["count"]
        sizes |= dict(enumerate(event["batch_size"], event["first"]))
        assert all(0.0 <= share <= 1.0 for share in event["clipped"])
        assert all(len(row) == 4 and max(row) <= 2 * settings.max_grad_norm for row in event["distances"])
    norms = next(event["norms"] for event in steps if event["norms"])
    assert sum(norms["counts"]) == sizes[norms["step"]]
    evaluations = of_kind(events, "evaluation")
    assert [event["step"] for event in evaluations] == [0, 10, 20]
    assert summary["test_accuracy"] == evaluations[-1]["test_accuracy"] > 0.65


def without_times(events):
    losses = [loss for event in of_kind(events, "step") for loss in event["loss"]]
    others = [event for event in events if event["kind"] in ("evaluation", "count")]
    return told(events), losses, [{key: value for key, value in one.items() if key != "time"} for one in others]


def test_a_seed_decides_a_run_and_a_secret_one_never_comes_again():
    settings = ABALONE.with_(**CASES["adaptive_noise"])
    first, again, other = (without_times(recorded(settings.with_(seed=seed))[1]) for seed in (0, 0, 1))
    assert first == again
    assert other[1] != first[1]
    one, other = (recorded(ABALONE.with_(secure_noise=True, steps=3))[1] for _ in range(2))
    assert "cryptographic source, which is not kept" in one[0]["noise_source"]
    assert without_times(one)[1] != without_times(other)[1]
    # The start of the parameters is no secret.
    assert of_kind(one, "evaluation")[0]["test_loss"] == of_kind(other, "evaluation")[0]["test_loss"]


def test_plain_training_claims_nothing():
    summary, events = recorded(ABALONE.with_(method="sgd"))
    assert (summary["epsilon"], summary["mechanisms"], summary["claim"]["epsilon"]) == ({}, [], None)
    assert "without noise" in summary["claim"]["reason"]
    assert not Claim.from_json(summary["claim"]).demonstration
    assert all(event["epsilon"] == {} and event["mechanisms"] == [] for event in of_kind(events, "step"))
    assert all(share is None for event in of_kind(events, "step") for share in event["clipped"])
    assert summary["test_accuracy"] > 0.65


def test_posterior_samples_are_averaged_after_burn_in():
    _, events = recorded(ABALONE.with_(method="dp_sgld", **LANGEVIN, sample_every=4, evaluation_every=1))
    evaluations = {event["step"]: event for event in of_kind(events, "evaluation")}
    assert [evaluations[step]["samples"] for step in (5, 8, 9, 12, 13, 17, 20)] == [0, 0, 1, 1, 2, 3, 4]
    assert evaluations[8]["posterior_accuracy"] is None
    # One sample predicts as its network does.
    assert evaluations[9]["posterior_accuracy"] == evaluations[9]["test_accuracy"]


def test_a_budget_ends_the_run_before_the_step_that_would_exceed_it():
    summary, _ = recorded(ABALONE.with_(filter_epsilon=0.75))
    assert summary["reason"] == "budget"
    ((sigma, rate, count),) = summary["mechanisms"]
    more = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, steps=count + 1, delta=ABALONE.delta)
    assert summary["epsilon"]["renyi"] <= 0.75 < more
    assert Claim.from_json(summary["claim"]).shown.epsilon <= 0.75


@pytest.mark.parametrize(("changed", "reason", "words"), [
    ({"target_accuracy": 0.7}, "target", "public test data"),
    (PRIVATE_GOAL | {"target_accuracy": 0.6}, "goal", "private count"),
    (PRIVATE_GOAL | {"target_accuracy": 0.6, "policy": "fine_tuning"}, "goal", "private count"),
])  # fmt: skip
def test_a_target_ends_the_run_and_says_how_it_was_measured(changed, reason, words):
    settings = ABALONE.with_(steps=100, **changed)
    summary, events = recorded(settings)
    assert (summary["state"], summary["reason"], summary["steps"] < 100) == ("done", reason, True)
    assert words in summary["text"]
    claim = Claim.from_json(summary["claim"])
    assert claim.demonstration
    assert claim.shown.epsilon == min(planned_claim(settings, 3133).shown.epsilon, summary["epsilon"]["mixture"])
    assert reason == "target" or of_kind(events, "count")[-1]["accuracy"] >= 0.6


class Script:
    """Answers in order, then "go"; remembers how often it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def poll(self):
        self.asked += 1
        return self.answers.pop(0) if self.answers else "go"


def test_stop_ends_the_run_with_its_record():
    summary, events = recorded(ABALONE.with_(steps=10_000), Script("go", "stop"))
    assert (summary["state"], events[-1]["kind"]) == ("stopped", "stopped")
    assert 0 < summary["steps"] == sum(event["count"] for event in of_kind(events, "step")) < 10_000
    assert events[-1]["test_accuracy"] == of_kind(events, "evaluation")[-1]["test_accuracy"]
    assert Claim.from_json(summary["claim"]).shown.epsilon <= summary["epsilon"]["mixture"]
    summary, _ = recorded(ABALONE, Script("stop"))
    assert (summary["state"], summary["steps"], summary["mechanisms"]) == ("stopped", 0, [])
    assert summary["epsilon"] == {"moments": 0.0, "renyi": 0.0, "mixture": 0.0}


def test_pause_waits_and_single_steps_tell_how_much_noise_came(monkeypatch):
    waited = []
    own = threading.get_ident()
    monkeypatch.setattr(loop.time, "sleep", lambda s: waited.append(s) if threading.get_ident() == own else None)
    summary, events = recorded(ABALONE, Script("pause", "pause", "step", "pause", "step", "stop"))
    singles = of_kind(events, "step")
    assert (summary["steps"], len(waited), [event["count"] for event in singles]) == (2, 3, [1, 1])
    for event in singles:
        length = ABALONE.noise_multiplier * ABALONE.max_grad_norm * math.sqrt(22)
        assert 0.4 * length < event["noise"]["noise"] < 1.8 * length
        assert 0.0 < event["noise"]["signal"] <= event["batch_size"][0] * ABALONE.max_grad_norm


class Clock:
    """Time that passes only while somebody sleeps."""

    now = 0.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_slow_motion_asks_at_every_step_and_tells_each(monkeypatch):
    control, clock = Script(), Clock()
    monkeypatch.setattr(loop, "time", clock)
    _, events = recorded(ABALONE.with_(steps=5), control, slow=0.6)
    assert [event["count"] for event in of_kind(events, "step")] == [1] * 5
    assert all(event["noise"] is not None for event in of_kind(events, "step"))
    # No wait before the first step, one after each; asked four times a second meanwhile.
    assert clock.now == pytest.approx(5 * 0.6)
    assert 5 * 3 <= control.asked <= 5 * 4 + 1


def test_a_running_control_is_asked_four_times_a_second_at_most():
    control = Script()
    summary, _ = recorded(ABALONE.with_(steps=400, evaluation_every=0), control)
    assert control.asked <= 4 * summary["seconds"] + 2


def test_a_diverging_run_fails_and_keeps_its_record():
    summary, events = recorded(ABALONE.with_(learning_rate=1e40, max_grad_norm=1e3, steps=50))
    assert (summary["state"], summary["reason"], events[-1]["kind"]) == ("failed", "not finite", "failed")
    assert "Lower the learning rate" in summary["text"]
    rows = told(events)
    assert len(rows) == summary["steps"] >= 1
    assert rows == told_anew(events)
    assert summary["epsilon"]["renyi"] == rows[-1][1]["renyi"]


def test_an_error_in_the_middle_is_told_and_raised(monkeypatch):
    def broken(*args):
        raise RuntimeError("out of memory")

    events = []
    monkeypatch.setattr(session_module, "correct_predictions", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        run(ABALONE.with_(**CASES["adaptive_noise"]), events.append, FreeRun())
    last = events[-1]
    assert (last["kind"], last["reason"], last["steps"]) == ("failed", "error", 13)  # a count was due after the epoch
    assert "out of memory" in last["text"]
    assert last["mechanisms"][-1] == [20.0, 1.0, 1]  # charged before it was taken


def test_too_little_memory_is_said_in_words(monkeypatch):
    def full(*args):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a capacity of …")

    events = []
    monkeypatch.setattr(session_module, "correct_predictions", full)
    with pytest.raises(torch.OutOfMemoryError):
        run(ABALONE.with_(**CASES["adaptive_noise"]), events.append, FreeRun())
    last = events[-1]
    assert (last["kind"], last["reason"]) == ("failed", "memory")
    assert last["text"].startswith("A step of this run needs more memory than there is: CUDA out of memory. Take a ")


@pytest.mark.parametrize(("changed", "words"), [
    ({"batch_size": 4000}, "batch_size=4000 <= 3133"),
    ({"model": "cnn"}, "model='cnn' with images"),
    ({"device": "cuda"}, "no GPU|found none"),
    ({"filter_epsilon": 0.01}, "filter_epsilon=0.01 to allow one step"),
    ({"start_from": "/nowhere/at.pt"}, "to hold the parameters of a run"),
    ({"data": "cifar10", "model": "cnn"}, "cifar10 is not here.*DPVIZ_DATA"),
])  # fmt: skip
def test_what_cannot_work_is_refused_before_any_event(tmp_path, monkeypatch, changed, words):
    if changed.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a GPU")
    monkeypatch.setattr("urllib.request.urlopen", lambda *a, **k: (_ for _ in ()).throw(OSError("offline")))
    events = []
    with pytest.raises((ValueError, DataUnavailable), match=words):
        run(ABALONE.with_(**changed, data_folder=str(tmp_path)), events.append, FreeRun())
    assert events == []


@pytest.fixture
def few_digits(tmp_path, monkeypatch):
    """Three hundred digits, whose features nobody has computed yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    data = load("mnist-10k")
    few = data._replace(train_x=data.train_x[:300], train_y=data.train_y[:300], test_x=data.test_x[:100],
                        test_y=data.test_y[:100])  # fmt: skip
    monkeypatch.setattr(loop, "load", lambda name, folder: few)
    monkeypatch.setattr(loop, "TELL_EVERY", 0.0)
    monkeypatch.setattr(scattering, "_BLOCK", 100)
    return RunSettings(model="scattering", batch_size=100, steps=5, evaluation_every=0, secure_noise=False)


def test_features_are_announced_once_with_their_progress(few_digits):
    (_, first), (_, again) = recorded(few_digits), recorded(few_digits)
    assert "features of 400 images" in first[0]["text"]
    assert [event["kind"] for event in first][:7] == ["note", *["progress"] * 5, "started"]
    assert [(event["done"], event["total"]) for event in first[1:6]] == [(i, 400) for i in range(0, 401, 100)]
    assert "100 of 400 images" in first[2]["text"]
    assert first[4]["left"] is None or first[4]["left"] >= 0.0
    assert again[0]["kind"] == "started"
    assert without_times(first)[:2] == without_times(again)[:2]


def test_stopped_while_features_are_computed(few_digits):
    """It ends there, has released nothing, and is paused there too."""
    summary, events = recorded(few_digits, Script("pause", "go", "stop"))
    assert [event["kind"] for event in events] == ["note", "progress", "progress", "stopped"]
    assert (summary["state"], summary["steps"], summary["mechanisms"]) == ("stopped", 0, [])
    assert not Claim.from_json(summary["claim"]).holds
    assert events[-1]["text"] == "Stopped before the first step."


def test_parameters_are_saved_and_started_from(tmp_path):
    path = tmp_path / "deep" / "weights.pt"
    summary, _ = recorded(ABALONE, weights_to=path)
    assert summary["weights"] == str(path)
    assert stored_parameters(path)["parameters"].shape == (22,)
    _, events = recorded(ABALONE.with_(start_from=str(path), steps=1))
    assert of_kind(events, "evaluation")[0]["test_accuracy"] == summary["test_accuracy"]
    for changed, words in (
        ({"model": "mlp"}, "parameters of model 'mlp', found 'logistic'"),
        ({"data": "mnist-10k"}, "of this model, found 22: it is from another model or data set"),
    ):
        with pytest.raises(ValueError, match=words):
            run(ABALONE.with_(start_from=str(path), **changed), print, FreeRun())


@pytest.mark.parametrize("method", ["dp_sgd", "dp_adam", "dp_sgld", "sgd"])
def test_the_last_layer_alone_is_trained(tmp_path, method):
    """All other parameters stay as they were, to the last bit, and are kept with those that were trained."""
    settings, last = ABALONE.with_(data="mnist-10k", model="mlp", steps=2, evaluation_every=0), MODELS["mlp"].last(10)
    weights = {}
    for trained in ("start", "all", "last"):
        path = tmp_path / f"{trained}.pt"
        _, events = recorded(settings, weights_to=path)
        weights[trained] = stored_parameters(path)["parameters"]
        assert events[0]["parameters"] == (last if trained == "last" else weights[trained].numel())
        coming = "last" if trained == "all" else "all"
        settings = settings.with_(
            method=method, learning_rate=0.01, start_from=str(tmp_path / "start.pt"), trained=coming
        )
    before, whole, part = weights.values()
    assert torch.equal(part[:-last], before[:-last])
    assert (part[-last:] != before[-last:]).float().mean() > 0.9
    assert (whole[:-last] != before[:-last]).float().mean() > (0.9 if settings.private else 0.1)


def test_parameters_are_charged_before_they_are_saved(tmp_path):
    path, events = tmp_path / "weights.pt", []

    def emit(event):
        events.append(event)
        assert path.exists() == (event["kind"] == "done")

    run(ABALONE, emit, FreeRun(), weights_to=path)
    assert [event["kind"] for event in events[-2:]] == ["charged", "done"]
    assert events[-2]["through"] == 20
    assert events[-2]["mechanisms"] == events[-1]["mechanisms"]


@pytest.mark.parametrize("full", ["the record", "the disk of the file"])
def test_parameters_that_cannot_be_charged_or_written_are_not_saved(tmp_path, monkeypatch, full):
    def fail(*args):
        raise OSError(28, "No space left on device")

    def emit(event):
        if full == "the record" and event["kind"] == "charged":
            fail()

    if full == "the disk of the file":
        monkeypatch.setattr("os.replace", fail)
    summary = run(ABALONE, emit, FreeRun(), weights_to=tmp_path / "weights.pt")
    assert (summary["state"], summary["weights"]) == ("done", None)
    assert re.search("could not be saved: .*No space left", summary["text"])
    assert list(tmp_path.iterdir()) == []


def test_how_fast_a_machine_is_decides_where_a_run_is_evaluated_and_nothing_else(monkeypatch):
    original, taken = Schedule.evaluated, {}
    monkeypatch.setattr(Schedule, "stepped", lambda self, _: setattr(self, "_stepping", self._stepping + 1))
    monkeypatch.setattr(Schedule, "evaluated", lambda self, _: original(self, taken["seconds"]))
    settings, summaries, points, losses = ABALONE.with_(evaluation_every=None, steps=60), [], [], []
    for taken["seconds"] in (0.0, 1.5):  # of an evaluation, where a step takes 1
        summary, events = recorded(settings)
        summaries.append({key: value for key, value in summary.items() if key != "seconds"})
        names = ("step", "test_accuracy", "train_accuracy", "test_loss")
        points.append([tuple(event[name] for name in names) for event in of_kind(events, "evaluation")])
        losses.append(without_times(events)[1])
    assert [[point[0] for point in one] for one in points] == [[0, 1, 2, 5, *range(10, 70, 10)], [0, 30, 50, 60]]
    assert set(points[1]) < set(points[0])
    assert losses[0] == losses[1]
    assert summaries[0] == summaries[1]
    for taken["seconds"] in (0.0, 1e6):  # a target on test data ends it at the same step
        summary, _ = recorded(settings.with_(target_accuracy=0.2, target_measure="test"))
        assert (summary["reason"], summary["steps"]) == ("target", 10)


def test_a_run_whose_gradients_have_no_length_says_so_once(monkeypatch):
    """In an event that is not covered by ε; a run that learns says nothing."""
    assert not of_kind(recorded(ABALONE)[1], "notice")
    monkeypatch.setattr(unmoved, "NO_LENGTH", 1e9)
    (notice,) = of_kind(recorded(ABALONE)[1], "notice")
    assert notice["step"] == 10
    assert notice["text"].startswith("In the first 10 steps no example had")
    assert covered_part(notice) == {"kind": "notice", "step": 10}


@pytest.mark.parametrize(("chunk_size", "rows"), [(None, 240), (64, 64), (95, 80), (1, 16)])
def test_a_run_works_in_microbatches_of_the_size_that_was_set(chunk_size, rows, monkeypatch):
    """Of one size, here a multiple of 16, which changes neither what is charged nor how many examples a step has."""
    sizes, original = set(), PerExample._pass

    def seen(self, x, *rest, **named):
        if self._usual_batch is not None:
            sizes.add(len(x))
        return original(self, x, *rest, **named)

    monkeypatch.setattr(PerExample, "_pass", seen)
    settings = ABALONE.with_(batch_size=200, steps=4, chunk_size=chunk_size)
    summary, events = recorded(settings)
    assert sizes - {2} == {rows}  # two to see how parameters are used
    monkeypatch.undo()
    usual, others = recorded(settings.with_(chunk_size=None))
    assert summary["claim"]["epsilon"] == usual["claim"]["epsilon"]

    def batches(events):
        return [size for event in events if event["kind"] == "step" for size in event["batch_size"]]

    assert batches(events) == batches(others)
