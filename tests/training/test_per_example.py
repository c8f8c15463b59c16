"""The engine against plain autograd, one example at a time, for every layer it knows and for networks of any kind."""

import functools
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from dpviz.training.data import DATA_SETS
from dpviz.training.engine.passes import is_rowwise
from dpviz.training.engine.per_example import PerExample, cross_entropy, rounding_of_sums
from dpviz.training.engine.rounding import BLOCK, certified_bound
from dpviz.training.models import SMALL
from dpviz.training.networks.by_name import build
from dpviz.training.networks.residual import Residual
from tests.training.small import Applied, digits, small
from tests.training.steps import gradients_by_hand

BOUND = 0.7
# Networks of `test_networks_against_autograd` read this many examples.
EXAMPLES = 12
LABELS = torch.arange(EXAMPLES) % 3


def clipped(gradients, bound, dtype=None):
    factors = (certified_bound(bound, dtype or gradients.dtype) / gradients.norm(dim=1)).clamp(max=1.0)
    return gradients * factors[:, None]


def distances(gradients):
    return (gradients[::2] - gradients[1::2]).norm(dim=1).double()


def square_loss(outputs, targets):
    """Reaches every output of any shape, and is not linear in it."""
    return (outputs - targets).square().flatten(1).sum(1)


def examples(*shape):
    return torch.randn(EXAMPLES, *shape, generator=torch.Generator().manual_seed(1)) + 0.3


def frozen(network, *names):
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(name not in names)
    return network


def twice(layer):
    """One layer used at two places, as in a recurrent network."""
    return Applied(lambda module, x: module.layer(torch.tanh(module.layer(x))), layer=layer)


def scaled():
    """A layer that the engine does not know, with a layer inside."""
    factor = nn.Parameter(torch.linspace(0.5, 1.5, 6))
    return Applied(lambda module, x: torch.tanh(module.inner(x)) * module.factor, factor=factor, inner=nn.Linear(6, 6))


def tied():
    network = Applied(lambda module, x: module.second(module.first(x)), first=nn.Linear(6, 6), second=nn.Linear(6, 6))
    network.second.weight = network.first.weight
    return network


def with_(between):
    """Two layers and something between them."""
    layers = {"first": nn.Linear(6, 6), "between": between, "last": nn.Linear(6, 3)}
    return Applied(lambda module, x: module.last(module.between(module.first(x))), **layers)


def between(function):
    return lambda: with_(Applied(lambda _, x: function(x)))


def reads(make, pick, width):
    """A module of PyTorch with its output picked, and a last layer."""
    return lambda: Applied(lambda module, x: module.last(pick(module.inner, x)), inner=make(), last=nn.Linear(width, 3))


def turned(x):
    return x.transpose(0, 1)


def transformer(**options):
    return lambda: nn.TransformerEncoderLayer(4, 2, 8, batch_first=True, **options)


LAYERS = {
    "linear": (lambda: nn.Linear(6, 4), (6,)),
    "linear without bias": (lambda: nn.Linear(6, 4, bias=False), (6,)),
    "linear, weight frozen": (lambda: frozen(nn.Linear(6, 4), "weight"), (6,)),
    "linear, bias frozen": (lambda: frozen(nn.Linear(6, 4), "bias"), (6,)),
    "linear on a short sequence": (lambda: nn.Linear(30, 20), (3, 30)),
    "linear on a long sequence": (lambda: nn.Linear(3, 2), (5, 7, 3)),
    "linear on a sequence, weight frozen": (lambda: frozen(nn.Linear(3, 2), "weight"), (9, 3)),
    "convolution": (lambda: nn.Conv2d(3, 4, 3), (3, 8, 7)),
    "convolution without bias": (lambda: nn.Conv2d(2, 3, 2, bias=False), (2, 5, 5)),
    "convolution, stride, padding, dilation": (
        lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2)), (2, 9, 8)
    ),
    "convolution of single pixels": (lambda: nn.Conv2d(2, 3, 1, stride=2), (2, 5, 4)),
    "convolution on few positions": (lambda: nn.Conv2d(16, 24, 3), (16, 4, 4)),
    "convolution, weight frozen": (lambda: frozen(nn.Conv2d(2, 3, 3), "weight"), (2, 5, 5)),
    "convolution, bias frozen": (lambda: frozen(nn.Conv2d(16, 24, 3), "bias"), (16, 4, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 6), (6, 3, 4)),
    "group norm of vectors": (lambda: nn.GroupNorm(3, 6), (6,)),
    "group norm, bias frozen": (lambda: frozen(nn.GroupNorm(2, 4), "bias"), (4, 5)),
}  # fmt: skip

FALLBACKS = {
    "unknown layer": (scaled, (6,)),
    "one-dimensional convolution": (lambda: nn.Conv1d(2, 3, 3), (2, 8)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(2, 3, 3), (2, 4, 4)),
    "convolution with mirrored edges": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 5, 5)),
    "convolution with padding by name": (lambda: nn.Conv2d(2, 3, 3, padding="same"), (2, 5, 5)),
    "convolution in groups": (lambda: nn.Conv2d(4, 6, 3, groups=2, padding=1), (4, 5, 6)),
    "convolution of each channel": (lambda: nn.Conv2d(4, 4, 3, groups=4), (4, 5, 5)),
    "layer norm": (lambda: nn.LayerNorm(6), (6,)),
    "layer norm of pictures": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "layer norm without bias": (lambda: nn.LayerNorm(6, bias=False), (5, 6)),
    "leaky slope": (lambda: nn.PReLU(3), (3, 4)),
}

# What stands before a layer decides whether a gradient towards its input is needed.
CHAINS = {
    "residual, in place": (lambda: Applied(
        lambda m, x: m.head((hidden := F.relu_(m.first(x))) + torch.tanh(m.second(hidden))),
        first=nn.Linear(6, 5), second=nn.Linear(5, 5), head=nn.Linear(5, 3),
    ), (6,)),
    "linear twice": (lambda: twice(nn.Linear(6, 6)), (6,)),
    "convolution twice": (lambda: twice(nn.Conv2d(3, 3, 3, padding=1)), (3, 4, 4)),
    "unused layer": (lambda: Applied(lambda m, x: m.used(x), used=nn.Linear(6, 2), unused=nn.Linear(6, 2)), (6,)),
    "one module under two names": (lambda: nn.Sequential(layer := nn.Linear(6, 6), nn.Tanh(), layer), (6,)),
    "frozen layer between": (lambda: frozen(
        nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 3)), "2.weight", "2.bias"
    ), (6,)),
    # The engine works with channels last on a CPU; what follows a convolution meets that layout both ways.
    "convolution, group norm, pooling": (lambda: nn.Sequential(
        nn.Conv2d(2, 6, 2), nn.GroupNorm(3, 6), nn.Tanh(), nn.MaxPool2d(2, stride=1), nn.Conv2d(6, 4, 2),
        nn.GroupNorm(2, 4), nn.Flatten(), nn.Linear(16, 3),
    ), (2, 5, 5)),
    "convolution of single pixels after group norm": (lambda: nn.Sequential(
        nn.Conv2d(2, 6, 3, padding=1), nn.GroupNorm(2, 6), nn.Conv2d(6, 4, 1, stride=(2, 1)), nn.Tanh(),
        nn.Conv2d(4, 4, 1, bias=False), nn.Flatten(), nn.Linear(48, 3),
    ), (2, 5, 4)),
    "examples merged with positions": (lambda: Applied(
        lambda m, x: torch.tanh(m.layer(x.reshape(-1, 3))).reshape(len(x), -1), layer=nn.Linear(3, 2)
    ), (6,)),
    "weight used outside its layer": (
        lambda: Applied(lambda m, x: m.layer(x) @ m.layer.weight, layer=nn.Linear(6, 6)), (6,)
    ),
    "one weight of two layers": (tied, (6,)),
    "a scalar parameter": (lambda: Applied(
        lambda m, x: m.layer(x) * m.temperature, layer=nn.Linear(6, 3), temperature=nn.Parameter(torch.tensor(1.5))
    ), (6,)),
    "in place after a convolution": (lambda: nn.Sequential(
        nn.Conv2d(2, 3, 2), Applied(lambda m, x: m.inner(x), inner=nn.ReLU(inplace=True)), nn.Flatten(),
        nn.Linear(12, 2),
    ), (2, 3, 3)),
    "batch norm at rest": (
        lambda: nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6).eval(), nn.Tanh(), nn.Linear(6, 2)), (6,)
    ),
}  # fmt: skip


def hooked(network):
    network[0].register_forward_hook(lambda _, __, output: output - 0.5 * output.mean(0))
    return network


def with_own_forward(network):
    network[0].forward = lambda x: F.linear(x - 0.5 * x.mean(0), network[0].weight, network[0].bias)
    return network


class Centred(nn.Linear):
    def forward(self, x):
        return super().forward(x - 0.5 * x.mean(0))


def logistic():
    return nn.Sequential(nn.Linear(6, 3))


def hardest_first(outputs, labels):
    losses = cross_entropy(outputs, labels)
    return losses * torch.softmax(losses.detach(), dim=0)


def words():
    """Tokens and their places, whose table is no example's, read by attention; the last layer is the first table."""

    def apply(module, x):
        read = module.attention(module.tokens(x) + module.places(torch.arange(x.shape[1])))
        return module.scale * module.last(read).mean(1)

    network = Applied(
        apply, tokens=nn.Embedding(9, 8), places=nn.Embedding(5, 8), scale=nn.Parameter(torch.tensor(0.7)),
        attention=nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True),
        last=nn.Linear(8, 9, bias=False),
    )  # fmt: skip
    network.last.weight = network.tokens.weight
    return network


# What would mix a batch, if it saw one: its gradients are those of one example alone.
MIXING = {
    "batch mean": between(lambda x: x - x.mean(0)),
    "batch mean of large batches": between(lambda x: x - x.mean(0) if len(x) > 5 else x),
    "top half of the batch": between(lambda x: x * (x[:, :1] >= x[:, :1].median())),
    "rank in the batch": between(lambda x: x.sort(0).values),
    "batch size": between(lambda x: x / len(x)),
    "hook": lambda: hooked(logistic()),
    "forward of an instance": lambda: with_own_forward(logistic()),
    "subclass": lambda: nn.Sequential(Centred(6, 3)),
}
MIXING_LOSSES = {
    "loss that weighs": hardest_first,
    "loss over the mean": lambda outputs, labels: cross_entropy(outputs - outputs.mean(0), labels),
}
SEQUENCE = (5, 4)
LATER, HIDDEN = torch.ones(5, 5, dtype=torch.bool).triu(1), {"need_weights": False}
FOLLOWED = {
    "own softmax": reads(lambda: nn.Linear(4, 4), lambda m, x: m(x).mean(1).softmax(1), 4),
    "weights of one's own": reads(
        lambda: nn.Linear(4, 4), lambda m, x: functional_call(m, {"weight": m.weight.tanh()}, (x,)).mean(1), 4
    ),
    "lstm": reads(lambda: nn.LSTM(4, 6, batch_first=True), lambda m, x: m(x)[0][:, -1], 6),
    "lstm, two ways, deep": reads(
        lambda: nn.LSTM(4, 3, num_layers=2, bidirectional=True), lambda m, x: m(turned(x))[0][-1], 6
    ),
    "gru": reads(lambda: nn.GRU(4, 6, batch_first=True), lambda m, x: m(x)[1][0], 6),
    "gru, time first": reads(lambda: nn.GRU(4, 6), lambda m, x: m(turned(x))[0].mean(0), 6),
    "rnn": reads(lambda: nn.RNN(4, 6, batch_first=True), lambda m, x: m(x)[0][:, -1], 6),
    "lstm cell": reads(lambda: nn.LSTMCell(4, 6), lambda m, x: m(x[:, 0])[0], 6),
    "gru cell": reads(lambda: nn.GRUCell(4, 6), lambda m, x: m(x[:, 0]), 6),
    "attention": reads(lambda: nn.MultiheadAttention(4, 2, batch_first=True), lambda m, x: m(x, x, x)[0].mean(1), 4),
    "attention, time first": reads(
        lambda: nn.MultiheadAttention(4, 2), lambda m, x: m(*[turned(x)] * 3, need_weights=False)[0][0], 4
    ),
    "attention of few weights": lambda: frozen(FOLLOWED["attention, time first"](), "inner.in_proj_weight"),
    "attention without bias": reads(
        lambda: nn.MultiheadAttention(4, 2, bias=False, batch_first=True),
        lambda m, x: m(x, x, x, need_weights=False)[0].mean(1),
        4,
    ),
    "attention to others": reads(
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        lambda m, x: m(x, 2.0 * x, x, need_weights=False)[0].mean(1),
        4,
    ),
    "attention to what came before": reads(
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        lambda m, x: m(x, x, x, need_weights=False, attn_mask=LATER)[0].mean(1),
        4,
    ),
    "attention with weights of its own": reads(
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        lambda m, x: functional_call(m, {"in_proj_weight": 2.0 * m.in_proj_weight}, (x, x, x), HIDDEN)[0].mean(1),
        4,
    ),
    "attention twice": reads(
        lambda: nn.MultiheadAttention(4, 2, batch_first=True),
        lambda m, x: m(*[m(x, x, x, need_weights=False)[0]] * 3, need_weights=False)[0].mean(1),
        4,
    ),
    "transformer": reads(transformer(dropout=0.0), lambda m, x: m(x).mean(1), 4),
    "transformer at rest": lambda: reads(transformer(), lambda m, x: m(x).mean(1), 4)().eval(),
    "frozen transformer": lambda: reads(
        lambda: transformer()().requires_grad_(False), lambda m, x: m(x).mean(1), 4
    )().eval(),
    "time first": reads(lambda: nn.Linear(4, 6), lambda m, x: torch.tanh(m(turned(x))).mean(0), 6),
}
VECTORS = MIXING | dict.fromkeys(MIXING_LOSSES, logistic) | {
    "chain": lambda: nn.Sequential(nn.Flatten(), nn.Linear(6, 20), nn.GELU(), nn.Linear(20, 3).requires_grad_(False)),
    "weight norm": lambda: with_(nn.utils.parametrizations.weight_norm(nn.Linear(6, 6))),
    "spectral norm at rest": lambda: with_(nn.utils.parametrizations.spectral_norm(nn.Linear(6, 6)).eval()),
    "hook on a module": lambda: hooked(nn.Sequential(nn.PReLU(6), nn.Linear(6, 3))),
    "fused attention": between(lambda x: F.scaled_dot_product_attention(*[x.view(-1, 3, 2)] * 3).flatten(1)),
}  # fmt: skip


def compare(network, x, y, loss, tolerance, least=0.0):
    """Norms, sums and distances, clipped and not, all at once and in chunks; `least` for gradients that vanish.

    The network is left as it was.
    """
    network = network.to(next((part.dtype for part in (x, y) if part.is_floating_point()), torch.float32))
    before = {key: value.clone() for key, value in network.state_dict().items()}
    engine, close = PerExample(network, loss), torch.testing.assert_close
    record, wanted = engine.gradients(x, y), gradients_by_hand(network, x, y, loss)
    scale, weights = float(wanted.norm()), torch.linspace(-1, 2, len(x), dtype=wanted.dtype)
    close(record.weighted_sum(weights), weights @ wanted, rtol=tolerance, atol=tolerance * scale / 10 + least)
    pairs = min(2, len(x) // 2)
    neighbours = wanted[: 2 * pairs]
    for one in (record, PerExample(network, loss, chunk_size=4).gradients(x, y)):
        close(one.norms, wanted.norm(dim=1), rtol=tolerance, atol=least)
        close(one.neighbours_apart()[:pairs], distances(neighbours), rtol=5 * tolerance, atol=least)
    for bound, chunk_size in ((0.05, 2), (BOUND, 3), (1e6, 1)):
        room = tolerance * min(bound, scale) + least
        # Chunk by chunk, in memory that is used again.
        step = PerExample(network, loss, chunk_size=chunk_size).clipped(x, y, max_grad_norm=bound, pairs=pairs)
        close(step.total, clipped(wanted, bound).sum(0), rtol=tolerance, atol=3 * room)
        apart = step.distances - rounding_of_sums(bound, wanted.dtype)
        close(apart, distances(clipped(neighbours, bound)), rtol=5 * tolerance, atol=5 * room)
    assert all(p.grad is None for p in network.parameters())
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    return engine, record


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "inside"])
@pytest.mark.parametrize("name", [*LAYERS, *FALLBACKS])
@pytest.mark.one_of(2)
def test_each_layer_against_autograd(name, first, dtype):
    """Alone, and after a trained elementwise layer and before another, so that gradients pass through it both ways."""
    make, shape = (LAYERS | FALLBACKS)[name]
    torch.manual_seed(3)
    network = make() if first else nn.Sequential(nn.GroupNorm(1, shape[0]), nn.Tanh(), make(), nn.Tanh())
    x = torch.randn(5, *shape, dtype=dtype)
    y = torch.randn_like(network.to(dtype)(x)).detach()
    engine, _ = compare(network, x, y, square_loss, 1e-5 if dtype == torch.float32 else 1e-12)
    assert bool(engine.fallback_layers) == (name in FALLBACKS)


@pytest.mark.parametrize("name", CHAINS)
def test_networks_that_are_no_chain(name):
    make, shape = CHAINS[name]
    torch.manual_seed(4)
    network = make().double()
    x = torch.randn(5, *shape, dtype=torch.float64)
    compare(network, x, torch.randn_like(network(x)).detach(), square_loss, 1e-12)


@pytest.mark.filterwarnings("ignore:There is a performance drop.*_weight_norm")
@pytest.mark.parametrize("name", [*VECTORS, *FOLLOWED, "words"])
@pytest.mark.one_of(2)
def test_networks_against_autograd(name):
    """Of any kind. The gradient of one beside eleven is that of one alone, whatever the network does with a batch."""
    torch.manual_seed(2)
    network = words() if name == "words" else (VECTORS | FOLLOWED)[name]()
    tokens = torch.randint(0, 9, (EXAMPLES, 5), generator=torch.Generator().manual_seed(1))
    x = tokens if name == "words" else examples(*(SEQUENCE if name in FOLLOWED else (6,)))
    compare(network, x, LABELS, MIXING_LOSSES.get(name, cross_entropy), 2e-5, least=1e-7)


def test_attention_of_a_sequence_to_itself_goes_by_its_layers():
    """Its weights are not written out for each example, which takes longer."""
    x = examples(*SEQUENCE)
    for name in ("attention, time first", "attention without bias", "attention twice", "transformer"):
        engine = PerExample(FOLLOWED[name]())
        engine.clipped(x, LABELS, max_grad_norm=BOUND)
        assert not any("Attention" in layer for layer in engine.fallback_layers)
    engine = PerExample(FOLLOWED["attention to others"]())
    engine.clipped(x, LABELS, max_grad_norm=BOUND)
    assert "inner (MultiheadAttention)" in engine.fallback_layers


def test_chains_alone_see_whole_batches():
    """Those that are shipped do, for the time it saves; nothing does that might mix rows."""
    shipped = {name: build(name, DATA_SETS["mnist-10k"], seed=0) for name in ("logistic", "mlp", "cnn", "resnet")}
    assert all(is_rowwise(network, 4) for network in shipped.values())
    assert not any(is_rowwise(make(), ndim) for make in MIXING.values() for ndim in (2, 4))
    hooked_inside = build("resnet", DATA_SETS["mnist-10k"], seed=0)
    hooked(next(module.body for module in hooked_inside if isinstance(module, Residual)))
    assert not is_rowwise(hooked_inside, 4)
    assert not is_rowwise(nn.Sequential(nn.Flatten(0), nn.Linear(6, 3)), 2)
    assert not is_rowwise(nn.Sequential(nn.Conv2d(12, 12, 1)), 3), "it would take the examples for channels"
    assert not is_rowwise(nn.Sequential(nn.Flatten(1, 2), nn.Conv2d(12, 12, 1)), 4)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}], ids=["plain", "padding"])
def test_embedding(options):
    torch.manual_seed(5)
    network = nn.Sequential(nn.Embedding(7, 4, **options), nn.Flatten(), nn.Linear(24, 3)).double()
    x = torch.tensor([[0, 1, 1, 2, 6, 6], [2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5], [6, 6, 6, 6, 6, 6]])
    engine, _ = compare(network, x, torch.randn(4, 3, dtype=torch.float64), square_loss, 1e-12)
    assert engine.fallback_layers == ()


@pytest.mark.parametrize(("name", "count"), [*itertools.product(SMALL, (1, 12)), ("resnet", 4)])
def test_models_on_digits_against_autograd(name, count):
    data, network = digits(), small(name, seed=1)
    x, y = data.train_x[:count], data.train_y[:count]
    engine, record = compare(network, x, y, cross_entropy, 1e-5)
    assert engine.fallback_layers == ()
    torch.testing.assert_close(record.losses, cross_entropy(network(x), y).detach())
    torch.testing.assert_close(record.outputs, network(x).detach())


@pytest.mark.parametrize("name", SMALL)
def test_a_distance_far_below_the_bound_is_right_in_single_precision(name):
    """Two pictures 1e-4 apart: ‖g_i‖² + ‖g_j‖² − 2⟨g_i, g_j⟩ in single precision would know no digit of it."""
    data, exact = digits(), small(name, seed=2).double()
    torch.manual_seed(0)
    x = data.train_x[:8].repeat_interleave(2, dim=0)
    x[1::2] += 1e-4 * torch.randn(8, 1, 28, 28)
    x, y = torch.cat((x, x[:1], x[:1])), data.train_y[:9].repeat_interleave(2)
    y[16:] = y[0]
    gradients = gradients_by_hand(exact, x.double(), y)
    engine = PerExample(small(name, seed=2))
    told = engine.clipped(x, y, max_grad_norm=0.3, pairs=9).distances - rounding_of_sums(0.3, torch.float32)
    wanted = distances(clipped(gradients, 0.3, torch.float32))
    assert float(wanted.median()) < 1e-3 * 0.3  # a picture may sit at a kink
    for apart, exactly, scale in (
        (told, wanted, 0.3),
        (engine.gradients(x, y).neighbours_apart(), distances(gradients), float(gradients.norm(dim=1).max())),
    ):
        torch.testing.assert_close(apart, exactly, rtol=1e-2, atol=1e-6 * scale)
        assert float(apart[8]) <= 1e-6 * scale  # equal ones


def test_an_empty_batch_is_a_real_batch():
    network = small("cnn", seed=0)
    x, y = torch.zeros(0, 1, 28, 28), torch.zeros(0, dtype=torch.int64)
    record, step = PerExample(network).gradients(x, y), PerExample(network).clipped(x, y, max_grad_norm=1.0, pairs=0)
    assert step.total.numel() == sum(p.numel() for p in network.parameters())
    assert not step.total.any()
    assert not record.weighted_sum(torch.zeros(0)).any()
    for empty in (record.norms, record.neighbours_apart(), step.norms, step.losses, step.distances):
        assert empty.shape == (0,)


def test_chunks_are_of_one_size_and_never_above_the_limit(monkeypatch):
    """Of a size that does not depend on the batch: with one example fewer the others stay in their blocks."""
    sizes, original = [], PerExample._chunk
    monkeypatch.setattr(PerExample, "_chunk", lambda self, x, *rest: sizes.append(len(x)) or original(self, x, *rest))
    for limit, count, wanted, even in (
        (8, 8, [8], [8]), (8, 9, [8, 1], [8, 1]), (8, 24, [8, 8, 8], [8, 8, 8]), (7, 15, [7, 7, 1], [6, 6, 3]),
        (1, 3, [1, 1, 1], [2, 1]), (8, 2, [2], [2]), (8, 1, [1], [1]), (8, 0, [], []),
        (BLOCK, BLOCK + 1, [BLOCK, 1], [BLOCK, 1]), (2 * BLOCK + 9, 2 * BLOCK + 9, [2 * BLOCK, 9], [2 * BLOCK, 9]),
    ):  # fmt: skip
        engine = PerExample(nn.Sequential(nn.Linear(3, 2)), square_loss, chunk_size=limit)
        # With distances of pairs, chunks hold whole pairs.
        for pairs, expected in ((None, wanted), (count // 2, even if count > 1 else wanted)):
            sizes.clear()
            step = engine.clipped(torch.randn(count, 3), torch.randn(count, 2), max_grad_norm=1.0, pairs=pairs)
            assert sizes == expected
            assert step.distances is None if pairs is None else step.distances.shape == (pairs,)


def test_a_record_keeps_its_gradients_while_the_engine_goes_on():
    data, ones = digits(), torch.ones(10)
    engine = PerExample(small("cnn", seed=0), chunk_size=4)
    record = engine.gradients(data.train_x[:10], data.train_y[:10])
    before, pairs = record.weighted_sum(ones), record.neighbours_apart()
    engine.clipped(data.train_x[20:30], data.train_y[20:30], max_grad_norm=BOUND, pairs=1).total.zero_()
    engine.gradients(data.train_x[30:40], data.train_y[30:40])
    assert torch.equal(record.weighted_sum(ones), before)
    assert torch.equal(record.neighbours_apart(), pairs)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
@pytest.mark.parametrize("name", SMALL)
def test_an_example_that_is_not_finite_counts_as_nothing(name, bad):
    data, engine = digits(), PerExample(small(name, seed=0))
    x, y, good = data.train_x[:6].clone(), data.train_y[:6], torch.tensor([0, 1, 3, 4, 5])
    x[2, 0, 9, 9] = bad
    before, step = x.clone(), engine.clipped(x, y, max_grad_norm=1.0, pairs=1)
    assert torch.isfinite(step.norms).tolist() == [True, True, False, True, True, True]
    torch.testing.assert_close(step.total, engine.clipped(x[good], y[good], max_grad_norm=1.0).total)
    assert torch.isfinite(step.distances).all()
    torch.testing.assert_close(x, before, equal_nan=True)  # the caller's data


def test_dropout_between_layers_draws_for_each_example():
    """What it left of each example is another part; at rest it does nothing."""
    network = nn.Sequential(nn.Dropout(0.5), nn.Linear(64, 1, bias=False))
    outputs = PerExample(network, square_loss).gradients(torch.ones(40, 64), torch.zeros(40, 1)).outputs
    assert len(set(outputs.flatten().tolist())) > 30
    record = PerExample(network.eval(), square_loss).gradients(torch.ones(40, 64), torch.zeros(40, 1))
    torch.testing.assert_close(record.outputs, network(torch.ones(40, 64)).detach())


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_rounded_matrix_products_are_refused(precision):
    step = functools.partial(PerExample(logistic()).clipped, examples(6), LABELS, max_grad_norm=1.0)
    torch.set_float32_matmul_precision(precision)
    try:
        with pytest.raises(ValueError, match=r"full single precision.*'highest'"):
            step()
    finally:
        torch.set_float32_matmul_precision("highest")
    step()
