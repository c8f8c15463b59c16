"""Samplers of training: what they draw, and that a run is charged for it, by the epoch where its account goes so."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import FixedSize, RandomAllocation, SampledGaussian, Shuffled
from dpviz.questions.train.plan import plan
from dpviz.runs.claims import claim_of_record
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.recorded import recorded
from dpviz.runs.store.store import open_store
from dpviz.training import loop
from dpviz.training.accounts.claims import assumptions, planned_claim
from dpviz.training.accounts.live import LiveAccounts, check_run
from dpviz.training.loop import FreeRun, run
from dpviz.training.plan import planned_events
from dpviz.training.samplers import SAMPLERS, Allocation, read, steps_of, stored
from dpviz.training.values import Origin
from tests.training.small import ABALONE, told, told_anew
from tests.training.steps import OWN, own_training

N, BATCH = 3133, 700  # 5 batches to an epoch
SETTINGS = ABALONE.with_(sampler="allocation", batch_size=BATCH, steps=12, noise_multiplier=1.5, evaluation_every=0)
EPOCH = RandomAllocation(1.5, 5)


class StopsAt(FreeRun):
    def __init__(self, step):
        self.left = step

    def poll(self):
        self.left -= 1
        return "step" if self.left >= 0 else "stop"


def epsilon(epochs):
    return float(tight_epsilon(EPOCH, [epochs], SETTINGS.delta).upper[0])


def test_each_example_joins_one_batch_of_an_epoch_drawn_uniformly_and_independently():
    sampler, batches, rounds = Allocation(np.random.default_rng(4), 30), 5, 4000
    places = np.empty((rounds, 30), dtype=int)
    for epoch in range(rounds):
        drawn = [sampler.draw(6) for _ in range(batches)]
        assert sorted(np.concatenate(drawn).tolist()) == list(range(30))
        for place, members in enumerate(drawn):
            places[epoch, members] = place
    single = np.array([np.bincount(column, minlength=batches) for column in places.T])
    assert stats.chisquare(single, axis=1).pvalue.min() > 1e-5
    pairs = np.bincount(places[:, 0] * batches + places[:, 7], minlength=batches**2)
    after = np.bincount(places[:-1, 0] * batches + places[1:, 0], minlength=batches**2)
    sizes = np.bincount((places == 2).sum(axis=1), minlength=31)
    assert stats.chisquare(pairs).pvalue > 1e-4
    assert stats.chisquare(after).pvalue > 1e-4
    wanted = rounds * stats.binom.pmf(np.arange(3, 10), 30, 1 / batches)
    assert (np.abs(sizes[3:10] - wanted) < 5 * np.sqrt(wanted)).all()


def test_shuffled_epochs_are_new_orders_cut_into_batches_of_one_size():
    sampler, places = SAMPLERS["shuffled"](np.random.default_rng(4), 30), []
    for _ in range(4000):
        drawn = [sampler.draw(6) for _ in range(5)]
        assert sorted(np.concatenate(drawn).tolist()) == list(range(30))
        assert {len(members) for members in drawn} == {6}
        places.append([next(place for place, members in enumerate(drawn) if one in members) for one in (0, 7)])
    one, other = np.array(places).T
    together = 4000 * (5 / 29)
    assert stats.chisquare(np.bincount(one, minlength=5)).pvalue > 1e-4
    assert stats.chisquare(np.bincount(one[:-1] * 5 + one[1:], minlength=25)).pvalue > 1e-4
    assert abs(np.count_nonzero(one == other) - together) < 5 * np.sqrt(together)


def test_batches_of_a_fixed_size_are_uniform_sets_drawn_anew():
    sampler = SAMPLERS["fixed"](np.random.default_rng(4), 6)
    drawn = [sampler.draw(3) for _ in range(8000)]
    assert {len(set(batch.tolist())) for batch in drawn} == {3}
    sets = [sum(2**place for place in batch) for batch in drawn]
    counts = np.bincount(sets, minlength=64)
    assert stats.chisquare(counts[counts > 0]).pvalue > 1e-4
    assert np.count_nonzero(counts) == 20
    again = sum(one == other for one, other in zip(sets, sets[1:], strict=False))
    assert abs(again - 400) < 5 * 20


@pytest.mark.parametrize("key", ["allocation", "shuffled", "fixed"])
def test_the_order_in_a_batch_tells_nothing(key):
    sampler = SAMPLERS[key](np.random.default_rng(4), 6)
    first = [batch[0] for _ in range(4000) if (batch := sampler.draw(3)).size]
    assert stats.chisquare(np.bincount(first, minlength=6)).pvalue > 1e-4


def test_an_epoch_is_charged_at_its_first_step():
    events = told_of(SETTINGS)
    steps = [event for event in events if event["kind"] == "step"]
    charged = {event["first"]: event["mechanisms"] for event in steps if event["mechanisms"]}
    assert sum(one[-1] for each in charged.values() for one in each) == events[-1]["mechanisms"][0][-1] == 3
    assert events[-1]["mechanisms"] == events[0]["plan"]["mechanisms"] == [["allocation", 1.5, 5, 3]]
    readings = [value for event in steps for value in event["epsilon"]["tight"]]
    assert readings == pytest.approx([epsilon(1)] * 5 + [epsilon(2)] * 5 + [epsilon(3)] * 2)
    assert events[-1]["epsilon"].keys() == {"tight"}
    assert {event["expected_batch_size"][0] for event in steps} == {N / 5}


def told_of(settings, control=None):
    events = []
    run(settings, events.append, control or FreeRun())
    return events


@pytest.mark.parametrize(("step", "epochs"), [(1, 1), (4, 1), (5, 1), (6, 2)])
def test_a_run_that_stops_inside_an_epoch_has_paid_for_all_of_it(step, epochs):
    events = told_of(SETTINGS, StopsAt(step))
    assert events[-1]["steps"] == step
    assert events[-1]["mechanisms"] == [["allocation", 1.5, 5, epochs]]
    assert events[-1]["epsilon"]["tight"] == pytest.approx(epsilon(epochs))


class Pauses(FreeRun):
    asked = 0

    def poll(self):
        self.asked += 1
        return "pause" if self.asked % 2 else "step"


def test_a_pause_keeps_the_epoch_that_is_under_way(monkeypatch):
    """The batches of an epoch are dealt once, however long the run waits between two of its steps."""
    dealt, original = [], Allocation._deal
    monkeypatch.setattr(Allocation, "_deal", lambda self, batches: dealt.append(batches) or original(self, batches))
    monkeypatch.setattr(loop.time, "sleep", lambda seconds: None)
    events = told_of(SETTINGS, Pauses())
    assert events[-1]["steps"] == 12
    assert dealt == [5, 5, 5]


def test_the_claim_is_the_mechanism_s():
    claim = planned_claim(SETTINGS, N).with_secret_noise
    assert planned_events(SETTINGS, N) == ((EPOCH, 3),)
    assert (claim.accountant, claim.covers, claim.steps) == ("tight", "plan", 12)
    assert claim.epsilon == pytest.approx(epsilon(3), rel=1e-3)
    assert claim.lower == pytest.approx(float(tight_epsilon(EPOCH, [3], SETTINGS.delta).lower[0]), rel=1e-3)
    poisson = planned_claim(SETTINGS.with_(sampler="poisson"), N).with_secret_noise
    assert claim.epsilon != pytest.approx(poisson.epsilon, rel=0.02)
    assert "one random batch an epoch" in assumptions(SETTINGS)[0]


def test_the_plan_s_curve_charges_an_epoch_at_its_first_step():
    band = plan(SETTINGS, N).tight
    assert band.x.tolist() == [1, 5, 6, 10, 11, 12]
    assert band.upper[[0, 1, 4, 5]] == pytest.approx([epsilon(1), epsilon(1), epsilon(3), epsilon(3)], rel=1e-2)
    assert band.upper[-1] == planned_claim(SETTINGS, N).shown.epsilon


def test_a_record_is_checked_anew_and_a_forgotten_epoch_is_seen():
    events = told_of(SETTINGS)
    assert told_anew(events) == told(events)
    for event in events:
        if event["kind"] == "step" and event["mechanisms"]:
            event["mechanisms"] = []
            break
    with pytest.raises(NotARun, match="every epoch"):
        told_anew(events)


@pytest.mark.parametrize("mechanism", [SampledGaussian(1.5, 0.25), EPOCH])
def test_mechanisms_are_stored_and_read(mechanism):
    assert read(stored(mechanism, 7)) == (mechanism, 7)
    origin = Origin(run="a", name="b", data="abalone", mechanisms=(tuple(stored(mechanism, 7)),))
    assert Origin.from_json(origin.to_json()) == origin
    assert origin.events == ((mechanism, 7),)


@pytest.mark.parametrize(
    "values", [["shuffled?", 1.0, 5, 1], ["allocation", 1.0, 1], ["allocation", 1.0, 5, 1.5], ["gaussian", 1.0, 0.1, 3]]
)
def test_an_unknown_mechanism_is_never_read_as_another(values):
    with pytest.raises(ValueError, match="Expected"):
        read(values)


@pytest.mark.parametrize(
    "changed",
    [
        {"method": "dp_sgld", "prior_std": 1.0}, {"filter_epsilon": 3.0}, {"policy": "adaptive_noise"},
        {"bayesian": True},
        {"target_measure": "private", "target_accuracy": 0.9}, {"sampler": "balls"},
    ],
)  # fmt: skip
def test_what_a_sampler_does_not_cover_is_refused_by_name(changed):
    with pytest.raises(ValueError, match=r"sampler="):
        SETTINGS.with_(**changed).check()


def test_the_accounts_refuse_another_mechanism_inside_an_epoch():
    accounts = LiveAccounts(SETTINGS, examples=N)
    assert [accounts.step(EPOCH, None) for _ in range(6)] == [True, False, False, False, False, True]
    with pytest.raises(ValueError, match="to go on"):
        accounts.step(RandomAllocation(3.0, 5), None)


@pytest.mark.parametrize("key", [key for key in SAMPLERS if key != "poisson"])
def test_a_program_s_training_claims_the_epochs_that_it_began(key):
    training = own_training(sampler=key, disjoint_data=True)
    together = steps_of(training.mechanism)
    for step in training:
        began = math.ceil(step.number / together)
        least = float(tight_epsilon(training.mechanism, [began], 1e-5).lower[0])
        assert least < step.claim.epsilon <= training.planned.epsilon
    exact = tight_epsilon(training.mechanism, [math.ceil(len(training) / together)], 1e-5).upper[0]
    assert training.claim.epsilon == pytest.approx(float(exact), rel=1e-3)


def test_a_program_s_training_draws_as_it_says():
    x = torch.arange(float(OWN))[:, None].expand(OWN, 6).contiguous()
    training = own_training(data=(x, torch.zeros(OWN, dtype=torch.int64)), sampler="allocation", disjoint_data=True)
    step, seen = training._method.step, []
    training._method.step = lambda state, batch: (seen.append(batch), step(state, batch))[1]
    for _ in range(10):
        next(training)
    assert sorted(torch.cat([batch.x[:, 0] for batch in seen]).tolist()) == list(range(OWN))
    assert {batch.expected for batch in seen} == {OWN / 10}
    assert {batch.mechanism(2.0) for batch in seen} == {RandomAllocation(2.0, 10)}


@pytest.mark.parametrize(
    ("key", "changed", "mechanism", "times"),
    [
        ("shuffled", {"batch_size": 241}, Shuffled(1.5, 13), 1),
        ("shuffled", {"batch_size": 241, "steps": 14}, Shuffled(1.5, 13), 2),
        ("fixed", {}, FixedSize(1.5, N, BATCH), 12),
    ],
)
def test_runs_of_other_samplers_claim_what_theirs_cost(key, changed, mechanism, times):
    settings = SETTINGS.with_(sampler=key, **changed)
    events = told_of(settings)
    exact = tight_epsilon(mechanism, [times], SETTINGS.delta)
    claim = planned_claim(settings, N).shown
    assert events[-1]["mechanisms"] == events[0]["plan"]["mechanisms"] == [stored(mechanism, times)]
    assert claim.epsilon == pytest.approx(float(exact.upper[0]), rel=1e-3)
    assert claim.lower == pytest.approx(float(exact.lower[0]), rel=1e-3)
    assert told_anew(events) == told(events)
    assert mechanism.adjacency.name in assumptions(settings)[0]


def test_a_shuffled_pass_needs_batches_of_one_size():
    with pytest.raises(ValueError, match=r"batch_size=700 .* try 241"):
        check_run(SETTINGS.with_(sampler="shuffled"), N)


def test_costs_for_different_neighbours_are_not_added_up():
    made = [own_training(sampler=key) for key in ("fixed", "poisson")]
    next(made[0])
    with pytest.raises(ValueError, match="neighbours"):
        next(made[1])
    assert made[1].done == 0


def test_readings_of_a_long_run_stand_at_marks_and_err_above():
    settings = SETTINGS.with_(steps=500, batch_size=3000, sampler="allocation")
    accounts = LiveAccounts(settings, examples=N)
    mechanism = RandomAllocation(1.5, 2)
    for _ in range(50):
        accounts.step(mechanism, None)
    readings = accounts.readings()["tight"]
    exact = tight_epsilon(mechanism, np.arange(1, 26), settings.delta).upper.repeat(2)
    assert (np.diff(readings) >= 0).all()
    assert (np.array(readings) >= exact * (1 - 1e-3)).all()
    assert len(set(readings)) == 7  # 250 epochs, every fourth of them


@pytest.mark.parametrize("changed", [{"sampler": key} for key in SAMPLERS] + [{"persons": np.arange(OWN) % 100}])
def test_a_file_of_a_run_claims_what_the_run_did(changed, tmp_path):
    training = own_training(disjoint_data=True, steps=13, **changed)
    list(recorded(training, folder=tmp_path / "here"))
    here, there = open_store(tmp_path / "here"), open_store(tmp_path / "there")
    (run,) = here.runs()
    copy = import_run(there, export_run(here, run.id))
    claim = claim_of_record(copy, there)
    assert claim.epsilon == pytest.approx(claim_of_record(run, here).epsilon, rel=1e-9)
    assert claim.unit == training.settings.unit
