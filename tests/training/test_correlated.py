"""Training in a fixed order with correlated noise: what is added, and what is charged for it."""

import numpy as np
import pytest
import torch
from torch import nn

import dpviz
from dpviz.mechanisms import BandedNoise, CorrelatedEpoch, CorrelatedNoise
from dpviz.questions.train.plan import plan
from dpviz.questions.train.settings import texts_of
from dpviz.runs.claims import claim_of_record
from dpviz.runs.exchange.checks import NotARun
from dpviz.runs.exchange.files import export_run
from dpviz.runs.exchange.import_run import import_run
from dpviz.runs.recorded import recorded
from dpviz.runs.store.store import open_store
from dpviz.training.accounts.claims import assumptions, planned_claim
from dpviz.training.accounts.live import check_run
from dpviz.training.defaults import least_noise
from dpviz.training.loop import FreeRun, run
from dpviz.training.plan import planned_events
from dpviz.training.samplers import SAMPLERS, InOrder, correlated, steps_of
from tests.training.small import ABALONE, told, told_anew
from tests.training.steps import BOUND, EXAMPLES, EXPECTED, make, make_batch, own_data, own_training

N, BATCH = 3133, 700  # 5 batches to an epoch
PLAIN = ABALONE.with_(sampler="order", batch_size=BATCH, steps=12, noise_multiplier=9.0, evaluation_every=0)
WAYS = {"decay": {"noise_decay": 0.8}, "banded": {"noise_band": 4}, "independent": {}}
WHOLE = {
    "decay": lambda epochs: CorrelatedNoise(9.0, 0.8, 5, epochs),
    "banded": lambda epochs: BandedNoise(9.0, 4, 5, epochs),
    "independent": lambda epochs: CorrelatedNoise(9.0, 0.0, 5, epochs),
}


def told_of(settings):
    events = []
    run(settings, events.append, FreeRun())
    return events


def epsilon(way, epochs, bound="upper", method="tight"):
    given = {} if method != "tight" else {"bound": bound}
    return dpviz.epsilon(method, mechanism=WHOLE[way](epochs), steps=1, delta=PLAIN.delta, **given)


def batches():
    """Batches whose examples have no gradient that counts, as `InOrder` says that they are."""
    batch = make_batch(size=1)
    whole = InOrder.mechanism(1.0, examples=EXAMPLES, batch_size=EXPECTED)
    return batch._replace(x=torch.full_like(batch.x, torch.nan), unit_noise=whole)


def added(seed, network=None, **changed):
    """The noise of eight steps (8, p), as it moves the parameters."""
    settings = {"sampler": "order", "learning_rate": 1.0, "learning_rate_end": 1.0, "momentum": 0.0}
    method, state, _ = make("dp_sgd", network, seed=seed, **settings, **changed)
    rows = []
    for _ in range(8):
        before = state.parameters.clone()
        state, _ = method.step(state, batches())
        rows.append((before - state.parameters) * EXPECTED * BOUND)
    return torch.stack(rows).double().numpy()


@pytest.mark.parametrize(
    ("run_", "changed"), [(CorrelatedNoise(1.3, 0.8), WAYS["decay"]), (BandedNoise(1.3, 4), WAYS["banded"])]
)
def test_the_noise_is_that_of_the_strategy(run_, changed):
    """C times it is independent, with the standard deviation that is charged: 20,003 entries."""
    column = run_.column(8)
    strategy = np.array([[column[i - j] if i >= j else 0.0 for j in range(8)] for i in range(8)])
    wide = nn.Sequential(nn.Linear(6, 2000), nn.Linear(2000, 3))
    fresh = strategy @ added(4, wide, **changed) / (1.3 * BOUND)
    covariance = fresh @ fresh.T / fresh.shape[1]
    error = np.sqrt((1.0 + np.eye(8)) / fresh.shape[1])
    assert (abs(covariance - np.eye(8)) < 5.0 * error).all()


def test_a_step_takes_back_the_noise_before_it():
    """The same draws, once independent and once correlated."""
    fresh, taken, again = added(3), added(3, noise_decay=0.8), added(3, noise_decay=0.8)
    expected = fresh - 0.8 * np.concatenate([np.zeros((1, fresh.shape[1])), fresh[:-1]])
    assert taken == pytest.approx(expected, abs=1e-4)
    assert (taken == again).all()
    banded, shares = added(3, noise_band=3), BandedNoise(1.0, 3).column(3)
    assert shares.tolist() == [1.0, 0.5, 0.375]
    assert banded[2] + 0.5 * banded[1] + 0.375 * banded[0] == pytest.approx(fresh[2], abs=1e-4)
    assert banded[5] + 0.5 * banded[4] + 0.375 * banded[3] == pytest.approx(fresh[5], abs=1e-4)


def test_every_epoch_has_the_same_batches_and_every_example_one():
    sampler = InOrder(np.random.default_rng(0), 23)
    epochs = [[sampler.draw(5).tolist() for _ in range(5)] for _ in range(2)]
    assert epochs[0] == epochs[1]
    assert sorted(i for batch in epochs[0] for i in batch) == list(range(23))
    assert steps_of(InOrder.mechanism(1.0, examples=23, batch_size=5)) == 5


@pytest.mark.parametrize("way", WAYS)
def test_a_run_claims_what_its_mechanism_costs_at_every_step(way):
    settings = PLAIN.with_(**WAYS[way])
    events = told_of(settings)
    claim = planned_claim(settings, N).with_secret_noise
    assert claim.epsilon == pytest.approx(epsilon(way, 3), rel=1e-9)
    assert claim.lower == pytest.approx(epsilon(way, 3, "lower"), rel=1e-6)
    readings = [value for event in events if event["kind"] == "step" for value in event["epsilon"]["renyi"]]
    expected = [epsilon(way, 1 + step // 5, method="renyi") for step in range(12)]
    assert readings == pytest.approx(expected, rel=2e-3)
    assert all(one >= epsilon(way, 1 + step // 5) for step, one in enumerate(readings))
    assert events[-1]["mechanisms"] == events[0]["plan"]["mechanisms"]
    assert told_anew(events) == told(events)
    assert "zero-out" in planned_events(settings, N)[0][0].adjacency.neighbours
    assert "the same batches in every epoch" in assumptions(settings)[0]
    assert ("Gaussian noise on the sum" in assumptions(settings)[0]) == (way == "independent")
    band = plan(settings, N).tight
    assert band.x.tolist() == [1, 5, 6, 10, 11, 12]
    assert band.upper == pytest.approx([epsilon(way, k) for k in (1, 1, 2, 2, 3, 3)], rel=1e-6)


@pytest.mark.parametrize(
    "change",
    [
        lambda runs, at: runs.pop(at),
        lambda runs, at: runs[at].__setitem__(1, 99.0),
        lambda runs, at: runs[at].__setitem__(4, 1),
    ],
    ids=["forgotten", "more noise", "the first once more"],
)
def test_a_record_with_a_cheaper_epoch_is_seen(change):
    events = told_of(PLAIN.with_(noise_decay=0.8))
    for event in events:
        if event["kind"] == "step":
            for at in [at for at, one in enumerate(event["mechanisms"]) if one[4] == 2]:
                change(event["mechanisms"], at)
    with pytest.raises(NotARun, match="every epoch"):
        told_anew(events)


@pytest.mark.parametrize("way", WAYS)
def test_noise_is_solved_for_the_whole_run(way):
    settings = PLAIN.with_(**WAYS[way])
    sigma = least_noise(settings, N, 3.0)
    found = planned_claim(settings.with_(noise_multiplier=sigma), N).with_secret_noise.epsilon
    assert 2.99 < found <= 3.0
    texts = texts_of(settings)
    assert ("t_noise_decay" in texts) == ("t_noise_band" in texts) == True  # noqa: E712


@pytest.mark.parametrize("sampler", [key for key in SAMPLERS if key != "order"])
@pytest.mark.parametrize("changed", [WAYS["decay"], WAYS["banded"]])
def test_other_samplers_are_refused_by_name(sampler, changed):
    with pytest.raises(ValueError, match=r"sampler='order' .*found\s+'" + sampler):
        PLAIN.with_(sampler=sampler, **changed).check()
    with pytest.raises(ValueError, match="sampler='order'"):
        own_training(sampler=sampler, batch_size=30, **changed)
    mechanism = SAMPLERS[sampler].mechanism(1.0, examples=20, batch_size=5)
    with pytest.raises(ValueError, match="whole epochs apart"):
        correlated(mechanism, 1, decay=0.5, band=1)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"noise_decay": 0.5, "noise_band": 2}, "one of two ways"),
        ({"noise_decay": 0.5, "method": "dp_adam"}, "noise_decay=0 .* with method='dp_adam'"),
        ({"noise_decay": 1.0}, "noise_decay=1 "),
        ({"noise_band": 6}, "band=6 <= batches=5"),
        ({"noise_decay": 0.5, "policy": "adaptive_noise"}, "policy"),
        ({"noise_decay": 0.5, "filter_epsilon": 3.0}, "filter_epsilon"),
    ],
)
def test_what_is_not_covered_is_refused(changed, words):
    with pytest.raises(ValueError, match=words):
        check_run(PLAIN.with_(**changed), N)


@pytest.mark.parametrize("changed", [WAYS["decay"], WAYS["banded"]])
def test_a_program_s_training_claims_the_epochs_that_it_began(changed, tmp_path):
    training = own_training(sampler="order", disjoint_data=True, **changed)
    kind = CorrelatedNoise(1.5, 0.8, 10, 2) if "noise_decay" in changed else BandedNoise(1.5, 4, 10, 2)
    steps = list(recorded(training, folder=tmp_path / "here"))
    whole = dpviz.epsilon("tight", mechanism=kind, steps=1, delta=1e-5)
    assert training.claim.epsilon == pytest.approx(whole, rel=1e-9)
    assert steps[9].claim.epsilon <= training.claim.epsilon
    here, there = open_store(tmp_path / "here"), open_store(tmp_path / "there")
    copy = import_run(there, export_run(here, here.runs()[0].id))
    assert claim_of_record(copy, there).epsilon == pytest.approx(whole, rel=1e-9)


def test_a_second_training_pays_for_the_whole_plan_of_the_first():
    data = own_data(seed=77)
    first, second = (own_training(data=data, sampler="order", noise_decay=0.8) for _ in range(2))
    next(first)
    list(second)
    both = dpviz.epsilon("tight", mechanism=CorrelatedNoise(1.5, 0.8, 10, 2), steps=2, delta=1e-5)
    assert second.claim.epsilon == pytest.approx(both, rel=1e-9)


def test_late_epochs_are_charged_as_one():
    settings = PLAIN.with_(steps=5000, noise_decay=0.8)
    runs = planned_events(settings, N)
    assert sum(count for _, count in runs) == 1000
    assert len(runs) < 40
    assert isinstance(runs[-1][0], CorrelatedEpoch)
