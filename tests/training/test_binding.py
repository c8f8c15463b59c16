"""What else changes a network between two steps of its training is seen, before anything more is drawn."""

from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

from dpviz.training import PrivateTraining
from dpviz.training.engine import binding, snapshot

N = 60
DRAW = torch.Generator().manual_seed(1)
X, Y = torch.randn(N, 6, generator=DRAW), torch.randint(0, 3, (N,), generator=DRAW)


def make(optimiser=None, **changed):
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(6, 5), nn.GroupNorm(1, 5), nn.Tanh(), nn.Linear(5, 3))
    network.register_buffer("scale", torch.ones(3))
    network[0].bias.requires_grad_(False)
    made = (optimiser or _momentum)(network.parameters())
    given = {"batch_size": 20, "steps": 5, "noise_multiplier": 1.5} | changed
    return PrivateTraining(network, (X, Y), made, **given), network, made


def _momentum(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)


def _loss(network):
    return nn.functional.cross_entropy(network(X), Y)


def plain_step(network, optimiser):
    _loss(network).backward()
    optimiser.step()


def plain_momentum(network, optimiser):
    """Parameters stay, and the momentum is that of plain gradients."""
    optimiser.param_groups[0]["lr"] = 0.0
    plain_step(network, optimiser)
    optimiser.param_groups[0]["lr"] = 0.1


def other_memory(network, optimiser):
    (gradient,) = torch.autograd.grad(_loss(network), [network[3].weight])
    optimiser.state[network[3].weight]["exp_avg"] = gradient


def replaced_parameter(network, optimiser):
    network[3].weight = nn.Parameter(network[3].weight.detach().clone())


def through_numpy(network, optimiser):
    network[3].weight.detach().numpy()[0] += float(X[0, 0])


def swapped_data(network, optimiser):
    network[3].bias.data = X[0, :3].clone()


def swapped_layers(network, optimiser):
    network[1], network[2] = network[2], network[1]


# What somebody does between two steps to (network, optimiser), and the refusal.
WRITES = {
    "plain step": (plain_step, "parameter '0.weight' as step 2 left it"),
    "added layer": (lambda network, _: network.append(nn.Linear(3, 3)), "the same modules"),
    "moved frozen": (lambda network, _: network[0].bias.data.add_(X.mean()), "parameter '0.bias' as step 2 left it"),
    "through NumPy": (through_numpy, "parameter '3.weight' as step 2 left it"),
    "written": (lambda network, _: network[3].bias.detach().copy_(X[0, :3]), "parameter '3.bias' as step 2 left it"),
    "swapped data": (swapped_data, "parameter '3.bias' as step 2 left it"),
    "written buffer": (lambda network, _: network.scale.mul_(X.max()), "buffer 'scale' as step 2 left it"),
}
OTHERS = WRITES | {
    "plain momentum": (plain_momentum, "momentum_buffer of its parameter 0 as step 2 left it"),
    "other memory": (other_memory, "exp_avg of its parameter"),
    "added group": (
        lambda _, optimiser: optimiser.add_param_group({"params": [nn.Parameter(torch.zeros(3))]}),
        "the optimiser to hold the same parameters",
    ),
    "replaced parameter": (replaced_parameter, "parameter '3.weight' as it was .* replaced"),
    "replaced layer": (lambda network, _: setattr(network, "2", nn.ReLU()), "the same modules"),
    "swapped layers": (swapped_layers, "the same modules"),
    "unfrozen": (lambda network, _: network[0].bias.requires_grad_(True), "parameter '0.bias' as it was .* unfrozen"),
    "frozen": (lambda network, _: network[3].weight.requires_grad_(False), "parameter '3.weight' as it was .* frozen"),
    "hook before": (lambda _, optimiser: optimiser.register_step_pre_hook(lambda *_: None), "without hooks"),
    "hook after": (lambda _, optimiser: optimiser.register_step_post_hook(lambda *_: None), "without hooks"),
    "hook on all": (lambda *_: register_optimizer_step_post_hook(lambda *_: None), "without hooks"),
}


# Their words name what was changed; all else is seen before a step begins.
NUMBERS = (*WRITES, "plain momentum", "other memory")


@pytest.mark.parametrize("name", OTHERS)
def test_the_next_step_is_refused_and_releases_nothing(name, monkeypatch):
    """Other parts before anything is drawn; other numbers before the optimiser moves, at the price of a step."""
    monkeypatch.setattr(binding.optimizer, "_global_optimizer_post_hooks", OrderedDict())
    (other, words), (training, network, optimiser) = OTHERS[name], make()
    next(training), next(training)
    drawn = training._sampler._random.bit_generator.state
    other(network, optimiser)
    left = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    monkeypatch.setattr(optimiser, "step", lambda: pytest.fail("the optimiser moved"))
    for _ in range(2):
        with pytest.raises(ValueError, match=words):
            next(training)
    torch.testing.assert_close(network.state_dict(), left, atol=0, rtol=0)
    if name not in NUMBERS:
        assert training.done == 2
        assert training._sampler._random.bit_generator.state == drawn


@pytest.mark.parametrize("name", WRITES)
def test_a_step_that_was_refused_leaves_the_steps_before_it_without_a_claim_too(name):
    training, network, optimiser = make()
    first, last = next(training), next(training)
    WRITES[name][0](network, optimiser)
    with pytest.raises(ValueError, match=WRITES[name][1]):
        next(training)
    assert first.claim.holds
    for claim in (last.claim, training.claim):
        assert "after step 2 " in claim.reason
        assert not claim.holds


@pytest.mark.parametrize("name", WRITES)
def test_what_was_changed_after_a_step_has_no_claim(name):
    training, network, optimiser = make()
    *_, last = training
    replaced_parameter(network, optimiser)  # with equal numbers
    assert training.claim == last.claim
    assert training.claim.holds
    WRITES[name][0](network, optimiser)
    assert not training.claim.holds
    assert "after step 5 " in training.claim.reason
    assert last.claim == training.claim
    assert training.claim_after(3).holds


# Changes of bits alone: whatever else is changed is seen at once on every device.
BITS = tuple(name for name in NUMBERS if name not in ("added layer", "other memory"))


@pytest.fixture
def read_later(monkeypatch):
    """Numbers of the CPU are read as those of an accelerator are: many steps together."""
    monkeypatch.setattr(snapshot, "READ_AT_ONCE", frozenset())


@pytest.mark.parametrize("name", BITS)
def test_steps_after_a_change_that_is_read_later_have_no_claim_and_are_followed_by_none(name, read_later):
    training, network, optimiser = make(steps=40)
    first, second = next(training), next(training)
    left = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    OTHERS[name][0](network, optimiser)
    third, fourth = next(training), next(training)
    assert "after step 2 " in third.claim.reason
    assert first.claim.holds
    assert second.claim.holds
    network.load_state_dict(left)
    for claim in (third.claim, fourth.claim, training.claim):
        assert not claim.holds
        assert "after step 2 " in claim.reason
    done = training.done
    for call in (training.__next__, training.state_dict):
        with pytest.raises(ValueError, match="after step 2 has a claim"):
            call()
    assert training.done == done


@pytest.mark.parametrize("steps", [5, 40])
@pytest.mark.parametrize("name", BITS)
def test_a_change_is_found_within_ten_steps_and_at_the_end_of_the_plan(name, steps, read_later):
    training, network, optimiser = make(steps=steps)
    next(training), next(training)
    OTHERS[name][0](network, optimiser)
    with pytest.raises(ValueError, match="as step 2 left them"):
        list(training)
    assert training.done <= min(steps, binding.READ_EVERY)


def test_a_step_that_is_recorded_is_looked_at_before_it_is_given(read_later):
    training, network, _ = make(steps=40)
    training.charge_ahead(lambda: None)
    next(training)
    network.scale.mul_(2.0)
    with pytest.raises(ValueError, match="as step 1 left them"):
        next(training)


def test_a_change_before_a_step_that_failed_is_not_forgotten(read_later, monkeypatch):
    training, network, optimiser = make(steps=40)
    next(training)
    network.scale.mul_(2.0)
    moves = optimiser.step
    monkeypatch.setattr(optimiser, "step", lambda: (moves(), 1 / 0))
    with pytest.raises(ZeroDivisionError):
        next(training)
    assert not training.claim.holds
    assert not training.claim_after(1).holds


def test_numbers_that_nobody_changed_are_claimed_alike_however_they_are_read(read_later):
    training, network, _ = make(steps=25, noise_multiplier=1.5)
    next(training)
    left = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    *_, last = training
    assert last.claim.holds
    network.load_state_dict(left)
    assert training.claim == last.claim
    assert training.claim.holds
    network[3].bias.data += 1.0
    assert not training.claim.holds


@pytest.mark.parametrize("optimiser", [_momentum, lambda p: torch.optim.Adam(p, lr=0.1), torch.optim.Adafactor])
def test_schedulers_evaluation_unused_gradients_and_what_was_put_back_are_allowed(optimiser):
    training, network, made = make(optimiser=optimiser)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(made, 0.5, 5, cycle_momentum=False)
    for _ in training:
        _loss(network).backward()  # and never used: see the next test
        network.eval()
        network(X)
        assert training.claim.holds
        network.train()
        before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
        network[3].bias.data.zero_()
        network.load_state_dict(before)
        scheduler.step()
        made.param_groups[0]["weight_decay"] = 0.01
    assert training.done == 5
    assert training.claim.holds


def test_a_gradient_that_was_left_is_not_trained_on():
    """Neither on a trained parameter nor on a frozen one."""
    ends = []
    for left in (False, True):
        training, network, _ = make(seed=3)
        for _ in training:
            if left:
                for parameter in network.parameters():
                    parameter.grad = torch.full_like(parameter, 100.0)
        ends.append(nn.utils.parameters_to_vector(network.parameters()))
    torch.testing.assert_close(*ends)


def test_a_training_that_diverged_goes_on():
    training, network, _ = make(optimiser=lambda p: torch.optim.SGD(p, lr=1e38))
    with torch.no_grad():
        network[3].weight.fill_(float("nan"))
    assert sum(1 for _ in training) == 5


def test_a_step_whose_optimiser_fails_left_what_it_left(monkeypatch):
    training, network, optimiser = make()
    with monkeypatch.context() as patched:
        patched.setattr(optimiser, "step", lambda: (network[3].bias.data.add_(1.0), 1 / 0))
        with pytest.raises(ZeroDivisionError):
            next(training)
    assert (training.done, next(training).number) == (1, 2)
