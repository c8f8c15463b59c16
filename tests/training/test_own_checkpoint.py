"""A training of one's own that goes on in another program, or goes back: every step that was ever taken is paid."""

import io
import math
from functools import partial

import pytest
import torch

import dpviz
from dpviz.mechanisms import merge_events
from dpviz.training import PrivateTraining
from dpviz.training.accounts import earlier
from dpviz.training.accounts.origins import lost, spent_before
from tests.training.steps import OWN, make_network, own_data, own_training, weights_of

T = 12


def training(**changed):
    network = make_network()
    given = {"steps": T, "max_grad_norm": 0.3, "noise_multiplier": 1.5, "batch_size": 20} | changed
    data = given.pop("data", None)
    return own_training(data, network, partial(torch.optim.Adam, lr=0.1), **given), network


def take(found, steps):
    for _ in range(steps):
        next(found)


def stored(state):
    """Through a file, as PyTorch reads it without running anything."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


def epsilon(steps):
    return dpviz.epsilon("tight", noise_multiplier=1.5, sample_rate=20 / OWN, steps=steps, delta=1e-5)


CASES = [
    {},
    {"sampler": "allocation"},
    {"sampler": "shuffled"},
    {"sampler": "order"},
    {"sampler": "order", "noise_decay": 0.9},
    {"sampler": "order", "noise_band": 3},
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("at", [0, 5])
def test_a_seeded_training_goes_on_bit_for_bit_in_another_program(case, at):
    whole, expected = training(seed=7, **case)
    take(whole, T)
    first, _ = training(seed=7, **case)
    take(first, at)
    state = stored(first.state_dict())
    take(first, 2)
    later, network = training(seed=7, **case)
    later.load_state_dict(state)
    assert later.done == later.loaded == at
    numbers = [step.number for step in later]
    assert numbers == list(range(at + 1, T + 1))
    assert torch.equal(weights_of(network), weights_of(expected))


def test_an_interrupted_program_pays_for_the_steps_it_lost_and_not_for_a_second_plan(monkeypatch):
    first, _ = training()
    take(first, 5)
    state = first.state_dict()
    take(first, 2)
    monkeypatch.setattr(earlier, "ledger", [])  # another program
    later, _ = training()
    later.load_state_dict(state, taken=7)
    assert later.claim.holds
    assert later.planned.epsilon == pytest.approx(epsilon(T + 2), rel=1e-9)
    assert any("this ε covers 2 lost steps" in condition for condition in later.claim.conditions)
    take(later, T - 5)
    assert later.claim.epsilon == later.planned.epsilon < epsilon(2 * T)


def test_each_program_that_went_on_from_one_state_pays_for_its_lost_steps(monkeypatch):
    first, _ = training()
    take(first, 5)
    state = first.state_dict()
    monkeypatch.setattr(earlier, "ledger", [])
    later, _ = training()
    later.load_state_dict(state, taken=[7, 6])
    assert sum(count for _, count in lost(later.settings)) == 2 + 1
    assert later.planned.epsilon == pytest.approx(epsilon(T + 3), rel=1e-9)


def test_lost_steps_that_nobody_counted_are_the_whole_plan(monkeypatch):
    first, _ = training()
    take(first, 5)
    state = first.state_dict()
    monkeypatch.setattr(earlier, "ledger", [])
    later, _ = training()
    later.load_state_dict(state)
    assert later.planned.epsilon == pytest.approx(epsilon(T + T - 5), rel=1e-9)
    for taken in (4, T + 1):
        with pytest.raises(ValueError, match=f"taken={taken} to be a step from 5"):
            training()[0].load_state_dict(state, taken=taken)


def test_a_training_that_goes_back_keeps_its_claim_and_pays_for_all_steps():
    found, network = training()
    take(found, 4)
    state, weights = found.state_dict(), weights_of(network).clone()
    take(found, 3)
    found.load_state_dict(state)
    assert torch.equal(weights_of(network), weights)
    assert found.done == 4
    assert found.claim.holds
    assert sum(count for _, count in merge_events((*spent_before(found.settings),))) == 3
    assert found.planned.epsilon == pytest.approx(epsilon(T + 3), rel=1e-9)
    take(found, 1)
    late = found.state_dict()
    found.load_state_dict(state)
    found.load_state_dict(late)
    assert sum(count for _, count in lost(found.settings)) == 4
    assert len(list(found)) == T - 5
    assert found.claim.epsilon == pytest.approx(epsilon(T + 4), rel=1e-9)
    other, _ = training()
    assert other.planned.epsilon == pytest.approx(epsilon(2 * T + 4), rel=1e-9)


@pytest.mark.parametrize("sampler", ["allocation", "shuffled", "order"])
@pytest.mark.parametrize(("at", "through"), [(5, 5), (5, 7), (15, 16), (3, 17), (16, 16)])
@pytest.mark.one_of(3)
def test_an_epoch_that_is_begun_again_costs_a_whole_one(sampler, at, through, monkeypatch):
    """Of fifteen batches; the plan is of two epochs, the second of which is not gone through."""
    each, plan = 15, 2
    first, _ = training(sampler=sampler, steps=24)
    take(first, at)
    state = first.state_dict()
    monkeypatch.setattr(earlier, "ledger", [])
    later, _ = training(sampler=sampler, steps=24)
    later.load_state_dict(state, taken=through)
    list(later)
    ((_, mine),) = lost(later.settings) or ((None, 0),)
    after = plan - at // each if sampler == "order" else math.ceil((24 - at) / each)
    nothing_again = sampler == "order" and through == at
    assert mine + plan >= (plan if nothing_again else math.ceil(through / each) + after)
    assert later.claim.holds


def test_no_state_holds_a_secret_generator(monkeypatch):
    found, _ = training()
    take(found, 2)
    one, other = (training() for _ in range(2))
    for each, _ in (one, other):
        each.load_state_dict(found.state_dict(), taken=2)
        take(each, 1)
    assert not torch.equal(weights_of(one[1]), weights_of(other[1]))
    monkeypatch.setattr(earlier, "ledger", [])
    for case in ({"noise_decay": 0.5}, {"noise_band": 3}):
        with pytest.raises(ValueError, match="which no file may hold"):
            training(sampler="order", **case)[0].state_dict()


def test_what_something_else_changed_is_not_saved():
    found, network = training()
    take(found, 2)
    network[0].bias.data.add_(1.0)
    with pytest.raises(ValueError, match="as step 2 left it"):
        found.state_dict()


def test_the_state_of_another_plan_or_of_other_data_is_refused(monkeypatch):
    found, _ = training()
    take(found, 2)
    state = found.state_dict()
    monkeypatch.setattr(earlier, "ledger", [])
    x, y = own_data()
    for changed, words in [
        ({"steps": T + 1}, f"steps={T + 1}, found {T}"),
        ({"noise_multiplier": 1.0}, "noise_multiplier=1.0, found 1.5"),
        ({"data": (x[1:], y[1:])}, f"examples={OWN - 1}, found {OWN}"),
        ({"sampler": "fixed"}, "sampler='fixed', found 'poisson'"),
    ]:
        with pytest.raises(ValueError, match=words):
            training(**changed)[0].load_state_dict(state, taken=2)
    under_way, _ = training()
    take(under_way, 1)
    with pytest.raises(ValueError, match="a training before its first step"):
        under_way.load_state_dict(state, taken=2)
    damaged = state["checkpoint"].clone()
    damaged[len(damaged) // 2] ^= 1
    with pytest.raises(ValueError, match="its checksum is another one"):
        training()[0].load_state_dict({"checkpoint": damaged}, taken=2)


def test_a_state_of_another_network_is_refused():
    found, _ = training()
    take(found, 2)
    network = torch.nn.Sequential(torch.nn.Linear(own_data()[0].shape[1], 3))
    later = PrivateTraining(
        network, own_data(), torch.optim.Adam(network.parameters()), steps=T, batch_size=20, noise_multiplier=1.5,
        max_grad_norm=0.3,
    )  # fmt: skip
    with pytest.raises(ValueError, match="Expected a checkpoint as it was saved"):
        later.load_state_dict(found.state_dict(), taken=2)
