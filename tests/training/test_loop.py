"""Whole runs on Abalone, which take a fraction of a second each."""

import itertools
import json
import math
import re

import numpy as np
import pytest
import torch

import dpviz
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.claims import Claim
from dpviz.mechanisms import SampledGaussian
from dpviz.training import loop
from dpviz.training import session as session_module
from dpviz.training.accounts.claims import planned_claim
from dpviz.training.accounts.live import CHANGING_ORDERS, decoded, recompute
from dpviz.training.data import DATA_SETS
from dpviz.training.data.base import DataUnavailable
from dpviz.training.data.catalogue import load
from dpviz.training.evaluation import Schedule
from dpviz.training.events import KINDS
from dpviz.training.loop import FreeRun, run
from dpviz.training.models import MODELS
from dpviz.training.networks import scattering
from dpviz.training.networks.by_name import freeze
from dpviz.training.session import stored_parameters
from dpviz.training.settings import RunSettings
from tests.accounting.slow_pool import slow_pool_cost
from tests.training.small import ABALONE

LANGEVIN = {"learning_rate": 0.3, "max_grad_norm": 1.0, "prior_std": 1.0, "burn_in": 5}


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


def told(events):
    """(step, {accountant: ε}) as the events say."""
    return [
        (event["first"] + at, {name: row[at] for name, row in event["epsilon"].items()})
        for event in of_kind(events, "step")
        for at in range(event["count"])
    ]


CASES = {
    "dp_sgd": {},
    "adam": {"optimiser": "adam", "learning_rate": 0.05},
    "dp_sgld": {"method": "dp_sgld", **LANGEVIN},
    "dp_sgld fixed step": {"method": "dp_sgld", **LANGEVIN, "step_exponent": 0.0},
    "dp_sghmc": {"method": "dp_sghmc", **LANGEVIN},
    "adaptive_noise": {"policy": "adaptive_noise", "count_every": 1, "count_noise": 20.0, "steps": 60},
    "adaptive_batch": {
        "policy": "adaptive_batch", "count_every": 1, "count_noise": 20.0, "steps": 40, "batch_size": 512,
    },
    "fine_tuning": {"policy": "fine_tuning", "count_noise": 200.0, "steps": 60},
    "filter": {"filter_epsilon": 0.75},
    "adaptive filter": {"policy": "adaptive_noise", "count_every": 1, "filter_epsilon": 4.0, "steps": 60},
    "private target": {
        "target_accuracy": 0.7, "target_measure": "private", "count_every": 1, "count_noise": 30.0, "steps": 60,
    },
    "bayesian": {"bayesian": True, "pairs": 8},
    "bayesian, definition 1": {"bayesian": True, "pairs": 8, "definition": 1, "delta_mu": 1e-10},
    "bayesian by pairs": {"bayesian": True, "bayesian_distances": "pairs", "pairs": 8},
    "bayesian re-planned": {"bayesian": True, "pairs": 8, "past_plan": "replan", "most_steps": 50},
    "bayesian, adaptive": {
        "bayesian": True, "pairs": 8, "policy": "adaptive_noise", "count_every": 1, "steps": 40,
    },
    "bayesian dp_sgld": {"method": "dp_sgld", **LANGEVIN, "bayesian": True, "pairs": 8},
}  # fmt: skip


def charged_until(events, step):
    """Every mechanism charged up to and with `step`: what came before its event, and the event's own part."""
    found = []
    for event in events:
        if event["kind"] == "count" and event["step"] < step:
            found.append(SampledGaussian(*event["mechanism"][:2]))
        if event["kind"] == "step":
            found.extend(decoded(event["mechanisms"])[: max(0, step - event["first"] + 1)])
    return [(mechanism, len(list(group))) for mechanism, group in itertools.groupby(found)]


def bayesian_by_hand(settings, events, step):
    """ε_μ from the recorded distances, every mechanism's steps together, written out."""
    total = settings.steps
    for event in of_kind(events, "replanned"):
        if event["step"] < step:
            total = event["total_steps"]
    farthest = 1.0 if settings.bayesian_distances == "norms" else 2.0
    orders, pools, done = np.arange(1, 33), {}, 0
    costs, worst = np.zeros(32), np.zeros(32)
    for event in events:
        if event["kind"] == "count" and event["step"] < step:
            costs += orders * (orders + 1) / (2.0 * event["mechanism"][0] ** 2)
            worst += orders * (orders + 1) / (2.0 * event["mechanism"][0] ** 2)
        if event["kind"] == "step":
            for mechanism, distances in zip(decoded(event["mechanisms"]), event["distances"], strict=True):
                done += 1
                if done > step:
                    break
                sigma = mechanism.noise_multiplier
                near = (mechanism.sample_rate, math.floor(math.log(sigma) / 0.02))
                lowest, steps = pools.get(near, (sigma, []))
                part = np.minimum(np.array(distances) / (farthest * settings.max_grad_norm), 1.0)
                pools[near] = min(lowest, sigma), [*steps, part]
                worst += step_costs(np.array([(farthest / sigma) ** 2]), orders, mechanism.sample_rate)[0]
    for place, ((rate, _), (sigma, steps)) in enumerate(pools.items(), 1):
        failure = settings.estimator_failure / (place * (place + 1))
        costs += slow_pool_cost(steps, (farthest / sigma) ** 2, rate, total, failure)
    epsilons = []
    for cost, delta in (
        (costs, settings.bayesian_delta - settings.estimator_failure),
        (worst, settings.bayesian_delta),
    ):
        per_order = (cost - math.log(delta)) / orders
        if settings.definition == 2:  # as Rényi of order λ + 1
            per_order = per_order - np.log((orders + 1) / orders) - np.log(orders + 1) / orders
        epsilons.append(per_order.min())
    return min(epsilons)


@pytest.mark.parametrize("case", CASES)
def test_every_recorded_epsilon_follows_from_the_recorded_mechanisms(case):
    settings = ABALONE.with_(**CASES[case])
    summary, events = recorded(settings)
    assert summary["state"] == "done", summary["text"]
    rows = told(events)
    assert [step for step, _ in rows] == list(range(1, summary["steps"] + 1))
    again = recompute(events)
    assert len(again) == len(rows)
    for (step, epsilons), (other, others) in zip(rows, again, strict=True):
        assert step == other
        assert epsilons == pytest.approx(others, rel=1e-9, abs=1e-12)
    changing = settings.changing
    accountants = {
        "moments": dpviz.accountant("moments"),
        "renyi": dpviz.accountant("renyi", **({"orders": CHANGING_ORDERS} if changing else {})),
        "odometer": dpviz.accountant("odometer"),
    }
    near = 1e-4 if changing else 1e-9  # noise that always changes is bounded between tabulated levels
    for step, epsilons in rows[:: max(1, len(rows) // 7)] + rows[-1:]:
        charged = charged_until(events, step)
        for name, accountant in accountants.items():
            expected = float(accountant.of_events(charged, settings.delta).epsilon)
            assert expected * (1 - 1e-9) <= epsilons[name] <= expected * (1 + near), (name, step)
        if settings.bayesian:
            wanted = bayesian_by_hand(settings, events, step)
            if settings.bayesian_distances == "norms" and settings.delta_mu is None and settings.definition == 2:
                wanted = min(wanted, epsilons["renyi"])
            assert epsilons["bayesian"] == pytest.approx(wanted, rel=1e-9), step
    # The summary's list is everything, counts included.
    everything = [(SampledGaussian(s, q), n) for s, q, n in summary["mechanisms"]]
    assert sum(n for _, n in everything) == summary["steps"] + len(of_kind(events, "count"))
    for name, accountant in accountants.items():
        expected = float(accountant.of_events(everything, settings.delta).epsilon)
        assert expected * (1 - 1e-9) <= summary["epsilon"][name] <= expected * (1 + near)
    tight = dpviz.accountant("tight").of_events(everything, settings.delta)
    assert summary["epsilon"]["tight"] == pytest.approx(float(tight.epsilon), rel=1e-9)


def test_events_say_what_they_should():
    summary, events = recorded(ABALONE.with_(bayesian=True, bayesian_distances="pairs", pairs=4))
    assert {event["kind"] for event in events} <= set(KINDS)
    assert [event["step"] for event in events] == sorted(event["step"] for event in events)
    assert [event["time"] for event in events] == sorted(event["time"] for event in events)
    started, last = events[0], events[-1]
    assert (started["kind"], last["kind"]) == ("started", "done")
    assert (started["examples"], started["test_examples"], started["classes"]) == (3133, 1044, 2)
    assert started["parameters"] == 22
    assert started["sample_rate"] == 256 / 3133
    assert started["noise_source"].startswith("seed 0")
    ((sigma, rate, count),) = started["plan"]["mechanisms"]
    for name in ("moments", "renyi", "odometer"):
        planned = dpviz.epsilon(name, noise_multiplier=sigma, sample_rate=rate, steps=count, delta=1e-5)
        assert summary["epsilon"][name] == pytest.approx(planned, rel=1e-12)
    assert "not covered by ε" in started["unprotected"]
    assert RunSettings.from_json(started["settings"]) == ABALONE.with_(
        bayesian=True, bayesian_distances="pairs", pairs=4
    )
    assert {key: value for key, value in last.items() if key not in ("kind", "step", "time")} == summary
    steps = of_kind(events, "step")
    assert sum(event["count"] for event in steps) == 20
    for event in steps:
        for name in ("batch_size", "expected_batch_size", "loss", "clipped", "non_finite", "learning_rate", "seconds"):
            assert len(event[name]) == event["count"]
        assert all(len(row) == 4 for row in event["distances"])
        assert all(0.0 <= share <= 1.0 for share in event["clipped"])
        assert all(distance <= 2 * ABALONE.max_grad_norm for row in event["distances"] for distance in row)
    histograms = [event["norms"] for event in steps if event["norms"]]
    sizes = dict(itertools.chain.from_iterable(
        zip(range(event["first"], event["first"] + event["count"]), event["batch_size"], strict=True) for event in steps
    ))  # fmt: skip
    assert histograms
    for norms in histograms:
        assert len(norms["edges"]) == len(norms["counts"]) + 1
        assert sum(norms["counts"]) == sizes[norms["step"]]
    evaluations = of_kind(events, "evaluation")
    assert [event["step"] for event in evaluations] == [0, 10, 20]
    assert summary["test_accuracy"] == evaluations[-1]["test_accuracy"] > 0.65


def without_times(events):
    def clean(event):
        return {key: value for key, value in event.items() if key not in ("time", "seconds", "count", "first", "norms")}

    losses = [loss for event in of_kind(events, "step") for loss in event["loss"]]
    return told(events), losses, [clean(event) for event in events if event["kind"] in ("evaluation", "count")]


@pytest.mark.parametrize("case", ["dp_sgd", "dp_sgld", "adaptive_noise", "bayesian"])
def test_the_same_seed_gives_the_same_run(case):
    settings = ABALONE.with_(**CASES[case])
    first, again = (without_times(recorded(settings)[1]) for _ in range(2))
    assert first == again
    assert without_times(recorded(settings.with_(seed=1))[1])[1] != first[1]


def test_a_cryptographic_seed_is_never_the_same_and_said():
    settings = ABALONE.with_(secure_noise=True, steps=3)
    (_, one), (_, other) = recorded(settings), recorded(settings)
    assert "cryptographic source, not kept" in one[0]["noise_source"]
    assert without_times(one)[1] != without_times(other)[1]
    # The start of the parameters is no secret.
    assert of_kind(one, "evaluation")[0]["test_loss"] == of_kind(other, "evaluation")[0]["test_loss"]


def test_plain_training_claims_nothing():
    summary, events = recorded(ABALONE.with_(method="sgd"))
    assert (summary["epsilon"], summary["mechanisms"]) == ({}, [])
    assert summary["claim"]["epsilon"] is None
    assert "without noise" in summary["claim"]["reason"]
    assert all(event["epsilon"] == {} and event["mechanisms"] == [] for event in of_kind(events, "step"))
    assert all(share is None for event in of_kind(events, "step") for share in event["clipped"])
    assert summary["test_accuracy"] > 0.65


def test_a_network_that_is_no_better_than_the_largest_class_is_said_in_the_summary():
    """Noise is all that is left of it, at a seed where chance does not help."""
    useless, _ = recorded(ABALONE.with_(noise_multiplier=1e4, seed=2))
    trained, events = recorded(ABALONE.with_(method="sgd"))
    [start] = of_kind(events, "started")
    assert useless["majority"] == trained["majority"] == start["majority"]
    assert useless["test_accuracy"] <= useless["majority"] < trained["test_accuracy"]
    words = "no more than always answering with their most frequent class"
    assert words in useless["text"]
    assert words not in trained["text"]


def test_posterior_samples_are_averaged_after_burn_in():
    settings = ABALONE.with_(method="dp_sgld", **LANGEVIN, sample_every=4, evaluation_every=1)
    _, events = recorded(settings)
    samples = {event["step"]: event["samples"] for event in of_kind(events, "evaluation")}
    assert [samples[step] for step in (5, 8, 9, 12, 13, 17, 20)] == [0, 0, 1, 1, 2, 3, 4]
    accuracies = {event["step"]: event["posterior_accuracy"] for event in of_kind(events, "evaluation")}
    assert accuracies[8] is None
    # One sample predicts as its network does.
    single = {event["step"]: event["test_accuracy"] for event in of_kind(events, "evaluation")}
    assert accuracies[9] == single[9]


def test_a_budget_ends_the_run_before_the_step_that_would_exceed_it():
    settings = ABALONE.with_(filter_epsilon=0.75)
    summary, _ = recorded(settings)
    assert summary["reason"] == "budget"
    assert summary["epsilon"]["renyi"] <= 0.75
    ((sigma, rate, count),) = summary["mechanisms"]
    more = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, steps=count + 1, delta=settings.delta)
    assert more > 0.75
    assert Claim.from_json(summary["claim"]).shown.epsilon <= 0.75


@pytest.mark.parametrize(("changed", "reason", "words"), [
    ({"target_accuracy": 0.7}, "target", "public test data"),
    ({"target_accuracy": 0.6, "target_measure": "private", "count_every": 1, "count_noise": 30.0}, "goal",
     "private count"),
    ({"policy": "fine_tuning", "target_accuracy": 0.6, "target_measure": "private", "count_noise": 30.0}, "goal",
     "private count"),
])  # fmt: skip
def test_a_target_ends_the_run_and_says_how_it_was_measured(changed, reason, words):
    settings = ABALONE.with_(steps=100, **changed)
    summary, events = recorded(settings)
    assert (summary["state"], summary["reason"]) == ("done", reason)
    assert words in summary["text"]
    assert summary["steps"] < 100
    claim = Claim.from_json(summary["claim"])
    assert claim.demonstration
    assert claim.shown.epsilon == min(planned_claim(settings, 3133).shown.epsilon, summary["epsilon"]["odometer"])
    if reason == "goal":
        assert of_kind(events, "count")[-1]["accuracy"] >= 0.6


def test_a_new_plan_is_said_and_the_costs_are_those_of_the_whole():
    _, events = recorded(ABALONE.with_(**CASES["bayesian re-planned"]))
    assert [(event["step"], event["total_steps"]) for event in of_kind(events, "replanned")] == [(20, 40), (40, 50)]
    assert "computed again" in of_kind(events, "replanned")[0]["text"]


class Script:
    """Answers in order, then "go"; remembers how many steps had been told about when it was asked."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), 0

    def poll(self):
        self.asked += 1
        return self.answers.pop(0) if self.answers else "go"


def test_stop_ends_the_run_with_its_record():
    summary, events = recorded(ABALONE.with_(steps=10_000), Script("go", "stop"))
    assert (summary["state"], events[-1]["kind"]) == ("stopped", "stopped")
    assert 0 < summary["steps"] < 10_000
    assert summary["steps"] == sum(event["count"] for event in of_kind(events, "step"))
    assert events[-1]["test_accuracy"] == of_kind(events, "evaluation")[-1]["test_accuracy"]
    assert Claim.from_json(summary["claim"]).shown.epsilon <= summary["epsilon"]["odometer"]


def test_stop_before_the_first_step():
    summary, _ = recorded(ABALONE, Script("stop"))
    assert (summary["state"], summary["steps"], summary["mechanisms"]) == ("stopped", 0, [])
    assert summary["epsilon"] == {"moments": 0.0, "renyi": 0.0, "odometer": 0.0}


def test_pause_waits_and_single_steps_tell_how_much_noise_came(monkeypatch):
    waited = []
    monkeypatch.setattr(loop.time, "sleep", waited.append)
    control = Script("pause", "pause", "step", "pause", "step", "stop")
    summary, events = recorded(ABALONE, control)
    assert summary["steps"] == 2
    assert len(waited) == 3
    singles = of_kind(events, "step")
    assert [event["count"] for event in singles] == [1, 1]
    for event in singles:
        length = ABALONE.noise_multiplier * ABALONE.max_grad_norm * math.sqrt(22)
        assert 0.4 * length < event["noise"]["noise"] < 1.8 * length
        assert 0.0 < event["noise"]["signal"] <= event["batch_size"][0] * ABALONE.max_grad_norm


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.now = 0.0

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
    summary, events = recorded(ABALONE.with_(learning_rate=1e37, max_grad_norm=1e3, steps=50))
    assert (summary["state"], summary["reason"], events[-1]["kind"]) == ("failed", "not finite", "failed")
    assert "Lower the learning rate" in summary["text"]
    rows = told(events)
    assert len(rows) == summary["steps"] >= 1
    assert rows == recompute(events)
    assert summary["epsilon"]["renyi"] == rows[-1][1]["renyi"]


def test_examples_that_are_no_numbers_are_counted(monkeypatch):
    data = load("abalone")
    x = data.train_x.clone()
    x[::100] = float("nan")
    monkeypatch.setattr(loop, "load", lambda name, folder: data._replace(train_x=x))
    summary, events = recorded(ABALONE)
    assert summary["state"] == "done"
    assert sum(count for event in of_kind(events, "step") for count in event["non_finite"]) > 0
    assert summary["test_accuracy"] > 0.65


def test_an_error_in_the_middle_is_told_and_raised(monkeypatch):
    def broken(*args):
        raise RuntimeError("out of memory")

    events = []
    monkeypatch.setattr(session_module, "correct_predictions", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        run(ABALONE.with_(**CASES["adaptive_noise"]), events.append, FreeRun())
    assert (events[-1]["kind"], events[-1]["reason"]) == ("failed", "error")
    assert "out of memory" in events[-1]["text"]
    assert events[-1]["steps"] == 13  # the first epoch: the count was due then
    # It was charged before it was taken.
    assert events[-1]["mechanisms"][-1] == [20.0, 1.0, 1]


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

    class Held:
        orders = iter(["pause", "go", "stop"])

        def poll(self):
            return next(self.orders)

    events = []
    summary = run(few_digits, events.append, Held())
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
    with pytest.raises(ValueError, match="parameters of model 'mlp', found 'logistic'"):
        run(ABALONE.with_(model="mlp", start_from=str(path)), print, FreeRun())
    with pytest.raises(ValueError, match="of this model, found 22: it is from another model or data set"):
        run(ABALONE.with_(data="mnist-10k", start_from=str(path)), print, FreeRun())


@pytest.mark.parametrize("method", ["dp_sgd", "dp_adam", "dp_sgld", "sgd"])
def test_the_last_layer_alone_is_trained(tmp_path, method):
    """All other parameters stay as they were, to the last bit, and are kept with those that were trained."""
    digits = ABALONE.with_(data="mnist-10k", model="mlp", steps=2, evaluation_every=0)
    start = tmp_path / "start.pt"
    run(digits, print, FreeRun(), weights_to=start)
    before = stored_parameters(start)["parameters"]
    found = {}
    for trained in ("all", "last"):
        path = tmp_path / f"{trained}.pt"
        settings = digits.with_(method=method, learning_rate=0.01, start_from=str(start), trained=trained)
        _, events = recorded(settings, weights_to=path)
        found[trained] = stored_parameters(path)["parameters"]
        assert events[0]["parameters"] == (MODELS["mlp"].last(10) if trained == "last" else before.numel())
    last = MODELS["mlp"].last(10)
    assert torch.equal(found["last"][:-last], before[:-last])
    assert (found["last"][-last:] != before[-last:]).float().mean() > 0.9
    assert (found["all"][:-last] != before[:-last]).float().mean() > (0.9 if settings.private else 0.1)


@pytest.mark.parametrize("model", MODELS)
def test_how_many_parameters_the_last_layer_has(model):
    data = DATA_SETS["mnist-10k"]
    shape = MODELS[model].transformed(data.shape)
    network = MODELS[model].make(shape, data.classes)
    kept = freeze(network)
    trained = sum(p.numel() for p in network.parameters() if p.requires_grad)
    assert kept + trained == data.parameters[model]
    assert trained == (data.parameters[model] if MODELS[model].last_inputs is None else MODELS[model].last(10))


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


class TestEvaluatedAsTimeAllows:
    """How fast a machine is decides where a run is evaluated, and nothing else of it."""

    DEMONSTRATION = ABALONE.with_(evaluation_every=None, steps=60)

    def run_at(self, settings, seconds, monkeypatch):
        """The summary and events where an evaluation takes `seconds` and a step 1."""
        with monkeypatch.context() as patch:
            patch.setattr(
                Schedule, "stepped", lambda schedule, _: setattr(schedule, "_stepping", schedule._stepping + 1)
            )
            evaluated = Schedule.evaluated
            patch.setattr(Schedule, "evaluated", lambda schedule, _: evaluated(schedule, seconds))
            return recorded(settings)

    def test_the_same_run_with_fewer_evaluations(self, monkeypatch):
        fast, events = self.run_at(self.DEMONSTRATION, 0.0, monkeypatch)
        slow, fewer = self.run_at(self.DEMONSTRATION, 1.5, monkeypatch)
        names = ("step", "test_accuracy", "train_accuracy", "test_loss")
        all_points, points = (
            [tuple(event[name] for name in names) for event in of_kind(found, "evaluation")]
            for found in (events, fewer)
        )
        assert [point[0] for point in all_points] == [0, 10, 20, 30, 40, 50, 60]
        assert [point[0] for point in points] == [0, 30, 50, 60]
        assert set(points) < set(all_points)
        steps = [[e["loss"] for e in of_kind(found, "step")] for found in (events, fewer)]
        assert list(itertools.chain(*steps[0])) == list(itertools.chain(*steps[1]))
        timeless = [{k: v for k, v in found.items() if k not in ("seconds", "weights")} for found in (fast, slow)]
        assert timeless[0] == timeless[1]

    def test_a_target_on_test_data_ends_it_at_the_same_step(self, monkeypatch):
        settings = self.DEMONSTRATION.with_(target_accuracy=0.2, target_measure="test")
        ends = [self.run_at(settings, seconds, monkeypatch)[0] for seconds in (0.0, 1e6)]
        assert [end["reason"] for end in ends] == ["target"] * 2
        assert ends[0]["steps"] == ends[1]["steps"] == 10
