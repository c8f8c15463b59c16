"""What one example adds depends on that example alone, whatever the network: it cannot be otherwise, or is refused."""

import copy
import dataclasses
import functools

import pytest
import torch
import torch.ao.quantization
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint

from dpviz.training import PrivateTraining
from dpviz.training.data import DATA_SETS
from dpviz.training.engine.accepted import full_precision
from dpviz.training.engine.per_example import PerExample
from dpviz.training.engine.vectors import flatten_parameters
from dpviz.training.methods import METHODS
from dpviz.training.models import MODELS
from dpviz.training.networks.by_name import build, freeze
from dpviz.training.networks.residual import Residual
from dpviz.training.samplers import Poisson
from dpviz.training.sampling import loss_per_example, usual_batch
from tests.training.small import Applied
from tests.training.test_per_example import FOLLOWED, LABELS, SEQUENCE, between, examples, with_


class Keeps(nn.Module):
    """Does what it is told with its input before it returns it."""

    def __init__(self, keep):
        super().__init__()
        self.keep, self.log, self.content = keep, [], {}
        self.register_buffer("seen", torch.zeros(6))
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.keep(self, x)
        return x


def checkpointed(reentrant):
    return with_(Applied(lambda module, x: checkpoint(module.inner, x, use_reentrant=reentrant), inner=nn.Linear(6, 6)))


def autocast():
    def apply(module, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return module.layer(x)

    return Applied(apply, layer=nn.Linear(6, 3))


def complex_weights():
    weight = nn.Parameter(torch.ones(6, 3, dtype=torch.complex64))
    return Applied(lambda module, x: (x.to(torch.complex64) @ module.weight).abs(), weight=weight)


def pruned():
    network = with_(nn.Tanh())
    prune.random_unstructured(network.first, "weight", amount=0.5)
    return network


def stand_in_hook():
    """A pre-hook that computes the weight from another parameter."""
    network = with_(nn.Tanh())
    weight = network.first.weight
    del network.first.weight
    network.first.register_parameter("raw", weight)
    network.first.register_forward_pre_hook(lambda m, _: setattr(m, "weight", 2.0 * torch.tanh(m.raw)))
    return network


def backward_hook():
    network = with_(nn.Tanh())
    network.between.register_full_backward_hook(lambda _, inner, __: (inner[0] - inner[0].mean(0),))
    return network


def keeping(keep):
    return lambda: with_(Keeps(keep))


REFUSED = {
    "observer": (
        lambda: with_(torch.ao.quantization.MinMaxObserver()), "'between' .MinMaxObserver.*writes information",
    ),
    "written buffer": (keeping(lambda m, x: m.seen.copy_(x.detach().mean(0))), "'between' .*writes information"),
    "buffer written past autograd": (keeping(lambda m, x: m.seen.data.copy_(x[0])), "'between' .Keeps"),
    "assigned buffer": (keeping(lambda m, x: setattr(m, "seen", x.detach())), "buffer 'seen' of layer 'between'"),
    "counter": (keeping(lambda m, x: m.calls.add_(1)), "buffer 'calls' of layer 'between'"),
    "attribute": (keeping(lambda m, x: setattr(m, "last", x)), "attribute 'last' of layer 'between'"),
    "list": (keeping(lambda m, x: m.log.append(x.detach())), "attribute 'log' of layer 'between'"),
    "dictionary": (keeping(lambda m, x: m.content.update(a=(x, 1))), "attribute 'content' of layer 'between'"),
    "number taken out": (keeping(lambda m, x: setattr(m, "last", x.max().item())), r"'between'.*item.*keep them"),
    "array taken out": (keeping(lambda m, x: setattr(m, "last", x.detach().numpy())), "'between' .Keeps"),
    "branch": (between(lambda x: 2 * x if x.sum() > 0 else x), r"'between' .Applied.*torch.where"),
    "values decide shapes": (between(lambda x: x * len(x.nonzero())), "'between'.*use masks"),
    "gradient hook": (keeping(lambda m, x: x.register_hook(lambda g: g - g.mean(0))), "Hooks on gradients"),
    "backward hook": (backward_hook, "backward hooks.*'between'"),
    "checkpointing": (lambda: checkpointed(False), "'between' .Applied.*checkpointing"),
    "reentrant checkpointing": (lambda: checkpointed(True), "'between' .Applied.*checkpointing"),
    "batch norm": (lambda: with_(nn.BatchNorm1d(6)), "mixes examples.*group norm"),
    "spectral norm in training": (
        lambda: with_(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6))), "_SpectralNorm.*eval"
    ),
    "tuple": (lambda: nn.LSTM(6, 3), "logits, found tuple. Pass output="),
    "bfloat16": (lambda: with_(nn.Tanh()).bfloat16(), "'first.weight' in bfloat16.*network.float"),
    "one half layer": (lambda: nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 3).bfloat16()), "'1.weight' in bfloat16"),
    "two precisions": (lambda: nn.Sequential(nn.Linear(6, 3), nn.Linear(3, 3).double()), "one precision.*'1.weight'"),
    "autocast": (autocast, "layer 'layer'.*bfloat16.*autocast"),
    "complex": (complex_weights, "'weight' in complex64.*view_as_real"),
    "old spectral norm": (
        lambda: nn.Sequential(nn.utils.spectral_norm(nn.Linear(6, 6)), nn.Linear(6, 3)),
        "weight of layer '0'.*a hook computes it.*remove_spectral_norm",
    ),
    "pruned": (pruned, "weight of layer 'first'.*prune.remove"),
    "layer inside a transform": (
        lambda: with_(Applied(lambda m, x: torch.func.vmap(m.inner)(x), inner=nn.Linear(6, 6))),
        "layer 'between.inner'.*without torch.func",
    ),
    "weight from a hook": (stand_in_hook, "attribute 'weight' of layer 'first'"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:.*spectral_norm.*deprecated", "ignore:.*torch.ao.quantization", "ignore:.*deprecat")
@pytest.mark.parametrize("name", REFUSED)
def test_what_would_carry_examples_out_is_refused_and_leaves_nothing(name):
    make, words = REFUSED[name]
    network = make()
    before = copy.deepcopy(network.state_dict())
    x = examples(6).to(torch.bfloat16) if name == "bfloat16" else examples(6)
    with pytest.raises(ValueError, match=f"(?s){words}"):
        PerExample(network).clipped(x, LABELS, max_grad_norm=1.0)
    after = network.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
    for module in network.modules():
        kept = [value for key, value in vars(module).items() if not key.startswith("_")]
        assert not any(torch._C._functorch.is_functorch_wrapped_tensor(v) for v in kept if torch.is_tensor(v))
        assert not any(value for value in kept if isinstance(value, (list, dict)))
        assert "forward" not in vars(module)


def test_a_module_that_keeps_something_only_later_is_refused_then():
    """No check before the first step would see it."""

    def later(module, x):
        module.count = getattr(module, "count", 0) + 1
        if module.count > 4:
            module.last = x

    engine = PerExample(with_(Keeps(later)))
    engine.check(examples(6), LABELS)
    engine.clipped(examples(6), LABELS, max_grad_norm=1.0)
    with pytest.raises(ValueError, match="attribute 'last'"):
        engine.clipped(examples(6), LABELS, max_grad_norm=1.0)
    assert not hasattr(engine.network.between, "last")


def chaotic(width, activation=nn.Tanh):
    """Multiplies every rounding by some fifty in each of twelve layers."""
    layers = []
    for depth in range(12):
        layers += [nn.Linear(width if depth else 6, width), activation()]
        with torch.no_grad():
            layers[-2].weight.mul_(50.0)
    return nn.Sequential(*layers, nn.Linear(width, 3))


NEIGHBOURS = {
    **{f"chaotic, {width} wide": (functools.partial(chaotic, width), (6,)) for width in (5, 20, 33)},
    "chaotic sigmoids, 33 wide": (functools.partial(chaotic, 33, nn.Sigmoid), (6,)),  # whose rest is rounded otherwise
    "lstm": (FOLLOWED["lstm"], SEQUENCE),
    "transformer": (FOLLOWED["transformer"], SEQUENCE),
    "attention": (FOLLOWED["attention, time first"], SEQUENCE),
    "convolution": (
        lambda: nn.Sequential(nn.Conv2d(1, 5, 3), nn.GroupNorm(1, 5), nn.SiLU(), nn.Flatten(), nn.Linear(45, 3)),
        (1, 5, 5),
    ),
    "residual chain": (
        lambda: nn.Sequential(Residual(1, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 3)), (1, 7, 7),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_example_adds_the_same_digits_whatever_stands_beside_it(name):
    """In another place of a batch, in a smaller batch, alone: to the last bit, also where rounding would explode."""
    make, shape = NEIGHBOURS[name]
    torch.manual_seed(5)
    engine = PerExample(make(), usual_batch=usual_batch(24, 60_000, Poisson))
    x, y = torch.randn(50, *shape), torch.arange(50) % 3  # two chunks of 48, or one of 64

    def gradients(rows):
        record, each = engine.gradients(x[rows], y[rows]), torch.eye(len(rows))
        return {int(row): record.weighted_sum(each[at]) for at, row in enumerate(rows)}

    whole = gradients(torch.arange(50))
    for rows in (
        torch.randperm(50),
        torch.arange(49),
        torch.arange(33),
        torch.arange(17),
        torch.tensor([7, 3]),
        torch.tensor([3]),
    ):
        for row, gradient in gradients(rows).items():
            assert torch.equal(gradient, whole[row])
    bound = 1e-4
    total = engine.clipped(x, y, max_grad_norm=bound).total.double()
    for row in (0, 20, 48):
        last = torch.cat((torch.arange(row), torch.tensor([49]), torch.arange(row + 1, 49)))
        other = engine.clipped(x[last], y[last], max_grad_norm=bound).total.double()
        assert 0.9 * bound < float((total - other).norm()) <= bound


@pytest.mark.parametrize(
    ("sampler", "chunk_size", "width", "rows"),
    [("poisson", None, 33, 64), ("poisson", 63, 33, 32), ("poisson", 1, 33, 32), ("poisson", 64, 33, 64),
     ("poisson", None, 20, 48), ("poisson", 47, 20, 32), ("poisson", 1, 20, 16), ("poisson", None, 18, 64),
     ("allocation", None, 33, 64), ("shuffled", None, 33, 32), ("fixed", None, 33, 32), ("order", None, 33, 32)],
)  # fmt: skip
def test_trainings_fill_their_batches_up(sampler, chunk_size, width, rows, monkeypatch):
    """To one size, which leaves room above the expected batch only where some batches need it.

    A multiple of 16 where layers' widths leave no rest in a vectorised function, else of 32.
    """
    sizes, original = set(), PerExample._pass

    def seen(self, x, *rest, **named):
        sizes.add(len(x))
        return original(self, x, *rest, **named)

    monkeypatch.setattr(PerExample, "_pass", seen)
    network = chaotic(width)
    x, y = torch.randn(416, 6), torch.arange(416) % 3
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1)
    training = PrivateTraining(
        network, (x, y), optimiser, batch_size=32, steps=12, noise_multiplier=1.0, chunk_size=chunk_size,
        sampler=sampler,
    )  # fmt: skip
    sizes.clear()
    examples = {step.examples for step in training}
    assert (len(examples) > 1) == (sampler in ("poisson", "allocation"))
    assert sizes - {2} == {rows}  # two to see how parameters are used


@pytest.mark.parametrize("method", {kind.partly: name for name, kind in METHODS.items()}.values())
@pytest.mark.parametrize("model", MODELS)
def test_models_that_are_shipped_have_forms_of_their_own(model, method):
    """Of all layers, all trained or the last one alone; so nothing slows them down."""
    known = DATA_SETS["mnist-10k"]
    shape = MODELS[model].transformed(known.shape)
    network = build(model, dataclasses.replace(known, shape=shape), seed=0)
    x, y = torch.randn(3, *shape, generator=torch.Generator().manual_seed(0)), torch.arange(3)
    for part in ("all", "last"):
        if part == "last":
            kept, last = freeze(network), MODELS[model].last_inputs and MODELS[model].last(10)
            assert known.parameters[model] - kept == (last or known.parameters[model])
        trained = METHODS[method].prepare(copy.deepcopy(network))
        engine = PerExample(trained, loss_per_example)
        assert METHODS[method].partly != bool(engine.fallback_layers)  # another network has a form of its own
        torch.testing.assert_close(engine.gradients(x, y).outputs, trained(x).detach(), rtol=1e-4, atol=1e-5)
        assert not engine._written


def test_looking_at_an_example_leaves_the_run_as_it_was():
    network = with_(nn.Dropout(0.5))
    vector = flatten_parameters(network)
    torch.manual_seed(3)
    wanted = torch.rand(4)
    torch.manual_seed(3)
    x = examples(6)
    x[0, 2] = float("nan")  # a broken example is no reason to refuse
    PerExample(network).check(x, LABELS)
    PerExample(network).check(x[:0], LABELS[:0])
    assert torch.equal(torch.rand(4), wanted)
    assert all(p.grad is None for p in network.parameters())
    vector.zero_()  # still the network's own memory
    assert not any(p.any() for p in network.parameters())


def test_convolutions_of_cudnn_are_in_full_precision_meanwhile():
    conv = torch.backends.cudnn.conv
    assert conv.fp32_precision == "tf32"
    with full_precision(torch.device("cuda")):
        assert conv.fp32_precision == torch.backends.cudnn.rnn.fp32_precision == "ieee"
    assert conv.fp32_precision == "tf32"
