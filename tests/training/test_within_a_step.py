"""Code that runs during a step, and what it may not do: write what the step trains, or take another step."""

import copy
import os
import pickle
import re
import threading
from collections import OrderedDict

import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.optim import SGD
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils.data import DataLoader, Dataset, default_collate

from dpviz.training import PrivateTraining
from dpviz.training.engine import binding
from tests.training.steps import weights_of

N = 60
DRAW = torch.Generator().manual_seed(1)
X, Y = torch.randn(N, 6, generator=DRAW), torch.randint(0, 3, (N,), generator=DRAW)


class Calls:
    """What is called once during the third step, by whoever carries it."""

    def __init__(self):
        self.armed, self.write = False, lambda: None

    def __call__(self):
        if self.armed:
            self.armed = False
            self.write()


class Optimiser(SGD):
    """Counts its steps; an optimiser reads no data."""

    moved = 0

    def step(self, closure=None):
        self.moved += 1
        return super().step(closure)


class Network(nn.Module):
    """Linear layers with a frozen one, a buffer, and code of its own in the forward pass."""

    def __init__(self, call=lambda: None):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second, self.last = nn.Linear(6, 5), nn.Linear(5, 4).requires_grad_(False), nn.Linear(4, 3)
        self.register_buffer("scale", torch.ones(3))
        self.kept = [self.scale]  # by whom a write goes around the copies that a pass works on
        self._call = call

    @property
    def gain(self):
        self._call()
        return 1.0

    def forward(self, x):
        return self.gain * self.last(torch.tanh(self.second(torch.tanh(self.first(x))))) * self.scale


class Rows(Dataset):
    def __init__(self, call):
        self.call = call

    def __len__(self):
        return N

    def __getitem__(self, row):
        self.call()
        return X[row], int(Y[row])


def _collate(call):
    def collate(rows):
        call()
        return default_collate(rows)

    return DataLoader(Rows(lambda: None), batch_size=20, collate_fn=collate)


def _loss(call):
    def loss(outputs, targets):
        call()
        return nn.functional.cross_entropy(outputs, targets, reduction="none")

    return loss


def _hooked(call):
    network = Network()
    network.last.register_forward_pre_hook(lambda *_: call())
    return network


def _kept(call):
    """A closure that an earlier step left behind, which another one calls."""
    kept = []

    def loss(outputs, targets):
        for each in kept:
            each()
        kept.append(call)
        return nn.functional.cross_entropy(outputs, targets, reduction="none")

    return loss


def _other_thread(call):
    def loss(outputs, targets):
        thread = threading.Thread(target=call)
        thread.start()
        thread.join()
        return nn.functional.cross_entropy(outputs, targets, reduction="none")

    return loss


# Who runs code during a step: arguments of the training, from what is to be called.
CARRIERS = {
    "loss": lambda call: {"loss": _loss(call)},
    "property in the forward pass": lambda call: {"network": Network(call)},
    "forward hook": lambda call: {"network": _hooked(call)},
    "__getitem__": lambda call: {"data": Rows(call)},
    "collate_fn": lambda call: {"data": _collate(call)},
    "record": lambda call: {"record": call},
    "closure of an earlier step": lambda call: {"loss": _kept(call)},
    "another thread": lambda call: {"loss": _other_thread(call)},
}


def _weights(network, _):
    network.first.weight.data[0] = X.mean(0)


def _bias(network, _):
    network.last.bias.detach().numpy()[:] = X[0, :3].numpy()


def _frozen(network, _):
    network.second.weight.data[0, 0] = X[0, 0]


def _momentum(network, optimiser):
    optimiser.state[network.first.weight]["momentum_buffer"][0] = X.mean(0)


def _plain_number(network, optimiser):
    optimiser.state[network.first.weight]["seen"] = float(X[0, 0])


def _global_state(_, optimiser):
    optimiser.state["seen"] = X[0].clone()


def _learning_rate(_, optimiser):
    optimiser.param_groups[0]["lr"] = float(X[0, 0])


def _decay(_, optimiser):
    optimiser.param_groups[0]["weight_decay"] = X[0, 0].abs()


def _constant(module):
    class Constant(nn.Module):
        def forward(self, weight):
            return weight + X.mean()

    parametrize.register_parametrization(module, "weight", Constant())


# What they do to (network, optimiser), and the words of the refusal.
DEEDS = {
    "the mean of the data into a row of weights": (_weights, "parameter 'first.weight' as step 2 left it"),
    "a row into a bias, by NumPy": (_bias, "parameter 'last.bias' as step 2 left it"),
    "a number into frozen weights": (_frozen, "parameter 'second.weight' as step 2 left it"),
    "a number into a buffer": (lambda network, _: network.kept[0].data.fill_(X[0, 0]), "buffer 'scale'"),
    "another buffer": (lambda network, _: network.register_buffer("more", X[0].clone()), "buffer 'more'"),
    "another parameter": (
        lambda network, _: network.register_parameter("more", nn.Parameter(X[0].clone())),
        "parameter 'more'",
    ),
    "momentum": (_momentum, "momentum_buffer of its parameter 0 as step 2 left it"),
    "a number in the optimiser's state": (_plain_number, "seen of its parameter 0 as step 2 left it"),
    "the optimiser's state of no parameter": (_global_state, "of its parameter 'seen' as step 2 left it"),
    "the learning rate": (_learning_rate, "lr of group 0 as it was when the step began"),
    "the weight decay": (_decay, "weight_decay of group 0 as it was when the step began"),
    "a hook before the optimiser": (lambda _, o: o.register_step_pre_hook(lambda *_: None), "without hooks"),
    "a hook after the optimiser": (lambda _, o: o.register_step_post_hook(lambda *_: None), "without hooks"),
    "a hook on all optimisers": (lambda *_: register_optimizer_step_pre_hook(lambda *_: None), "without hooks"),
    "another group": (lambda _, o: o.add_param_group({"params": [nn.Parameter(X[0].clone())]}), "same parameters"),
    "a parametrization": (lambda network, _: _constant(network.last), "the same modules"),
    "unfrozen weights": (lambda network, _: network.second.requires_grad_(True), "frozen or unfrozen"),
}


def make(carrier="loss", call=lambda: None, **changed):
    given = {"network": Network(), "data": (X, Y), "batch_size": 20, "steps": 5, "noise_multiplier": 1.5}
    given |= CARRIERS[carrier](call) | changed
    network, data, record = given.pop("network"), given.pop("data"), given.pop("record", None)
    optimiser = Optimiser(network.parameters(), lr=0.1, momentum=0.9)
    training = PrivateTraining(network, data, optimiser, **given)
    if record is not None:
        training.charge_ahead(record)
    return training, network, optimiser


def two_steps(carrier, deed=None):
    """A training in whose third step something is done, from outside but for `deed`."""
    call = Calls()
    training, network, optimiser = make(carrier, call)
    next(training), next(training)
    call.armed = True
    call.write = (lambda: DEEDS[deed][0](network, optimiser)) if deed else call.write
    return training, network, optimiser, call


# Under vmap nothing can be unfrozen.
BOTH = [(carrier, deed) for carrier in ("loss", "__getitem__") for deed in DEEDS]


@pytest.mark.parametrize(("carrier", "deed"), [both for both in BOTH if both != ("loss", "unfrozen weights")])
def test_what_a_step_trains_is_not_written_while_it_runs(carrier, deed, monkeypatch):
    monkeypatch.setattr(binding.optimizer, "_global_optimizer_pre_hooks", OrderedDict())
    training, network, optimiser, _ = two_steps(carrier, deed)
    with pytest.raises((ValueError, RuntimeError)) as first:  # a layer without its own weights fails by itself
        next(training)
    assert optimiser.moved == 2
    with pytest.raises(ValueError, match=DEEDS[deed][1]):  # also later, until it is put back
        next(training)
    assert deed in ("a parametrization", "unfrozen weights") or re.search(DEEDS[deed][1], str(first.value))
    assert optimiser.moved == 2
    assert all(parameter.grad is None for parameter in network.parameters())


@pytest.mark.parametrize("carrier", CARRIERS)
def test_nobody_who_runs_during_a_step_writes_weights(carrier):
    training, _, optimiser, call = two_steps(carrier, "the mean of the data into a row of weights")
    with pytest.raises(ValueError, match="parameter 'first.weight' as step 2 left it"):
        next(training)
    assert not call.armed
    assert optimiser.moved == 2
    assert not training.claim.holds
    assert "after step 2 " in training.claim.reason


@pytest.mark.parametrize("carrier", [name for name in CARRIERS if name != "another thread"])
def test_a_step_whose_code_fails_after_a_write_is_followed_by_none(carrier):
    training, network, optimiser, call = two_steps(carrier)

    def write():
        network.first.weight.data[0] = X.mean(0)
        raise KeyError("of the user's")

    call.write = write
    with pytest.raises(KeyError):
        next(training)
    with pytest.raises(ValueError, match="parameter 'first.weight' as step 2 left it"):
        next(training)
    assert optimiser.moved == 2


def test_a_learning_rate_that_was_set_during_a_step_is_put_back_first():
    training, _, optimiser, _ = two_steps("__getitem__", "the learning rate")
    for _ in range(2):
        with pytest.raises(ValueError, match="lr of group 0"):
            next(training)
    optimiser.param_groups[0]["lr"] = 0.1
    assert next(training).number == 4
    optimiser.param_groups[0]["lr"] = 0.05  # between two steps
    assert next(training).number == 5


@pytest.mark.parametrize("carrier", CARRIERS)
def test_no_step_begins_within_a_step(carrier):
    training, _, optimiser, call = two_steps(carrier)
    refused = []

    def write():
        with pytest.raises(ValueError, match="a step of this training is under way"):
            next(training)
        refused.append(True)

    call.write = write
    assert next(training).number == 3
    assert refused
    assert (training.done, optimiser.moved) == (3, 3)


READ_ONLY = ("settings", "examples", "done", "noise_source", "device", "mechanism", "before_step", "claim", "planned")


@pytest.mark.parametrize("name", READ_ONLY)
def test_nothing_of_a_training_is_set_from_outside(name):
    training, *_ = make()
    with pytest.raises(AttributeError):
        setattr(training, name, getattr(training, name, None))
    with pytest.raises(AttributeError):
        object.__setattr__(training, name, getattr(training, name, None))
    with pytest.raises(AttributeError):
        training.__dict__[name] = 0
    with pytest.raises(AttributeError):
        training.settings.steps = 100


def test_a_plan_takes_no_step_more_than_it_has():
    training, _, optimiser = make()
    assert sum(1 for _ in training) == 5
    with pytest.raises(AttributeError):
        training.done = 0
    assert next(training, None) is None
    assert optimiser.moved == 5


def test_one_record_before_the_first_step():
    training, *_ = make("record")
    with pytest.raises(ValueError, match="without a record"):
        training.charge_ahead(lambda: None)
    begun, *_ = make()
    next(begun)
    with pytest.raises(ValueError, match="before its first step"):
        begun.charge_ahead(lambda: None)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_training_is_not_copied(copied):
    training, *_ = make()
    with pytest.raises(TypeError, match="cannot be copied"):
        copied(training)


def _in_a_child(function):
    """What a copy of this process makes of `function`, as text."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = function()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        os.write(writes, text.encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork")
def test_a_copy_of_the_process_takes_no_step_with_the_same_noise():
    training, network, optimiser = make()
    next(training)
    left = weights_of(network).clone()

    def child():
        words = []
        for _ in range(2):
            try:
                next(training)
            except ValueError as error:
                words.append(str(error))
        assert torch.equal(weights_of(network), left)
        assert optimiser.moved == 1
        assert training.done == 1
        return " ".join(words)

    for _ in range(2):
        assert _in_a_child(child).count("in the process that made this training, found another") == 2
    assert next(training).number == 2


@pytest.mark.parametrize("correlated", [{"noise_decay": 0.9}, {"noise_band": 3}])
def test_correlated_noise_does_not_go_on_after_a_step_that_failed(correlated):
    call = Calls()
    training, _, optimiser = make("loss", call, sampler="order", **correlated)
    next(training), next(training)

    def fail():
        raise KeyError("of the user's")

    call.write, call.armed = fail, True
    with pytest.raises(KeyError):
        next(training)
    for _ in range(2):
        with pytest.raises(ValueError, match="found that step 3 failed"):
            next(training)
    assert (training.done, optimiser.moved) == (3, 2)


def test_independent_noise_goes_on_after_a_step_that_failed():
    call = Calls()
    training, _, optimiser = make("loss", call)

    def fail():
        raise KeyError("of the user's")

    call.write, call.armed = fail, True
    with pytest.raises(KeyError):
        next(training)
    assert [step.number for step in training] == [2, 3, 4, 5]
    assert optimiser.moved == 4
