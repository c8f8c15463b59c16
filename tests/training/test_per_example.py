"""The engine against plain autograd, one example at a time, for every layer it knows and for networks of them."""

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

from dpviz.training.engine.per_example import PerExample, cross_entropy
from dpviz.training.engine.record import rounding_of_sums
from dpviz.training.engine.rounding import BLOCK, certified_bound
from dpviz.training.models import SMALL
from tests.training.small import Applied, digits, small
from tests.training.steps import gradients_by_hand

BOUND = 0.7


def clipped(gradients, bound, dtype=None):
    factors = (certified_bound(bound, dtype or gradients.dtype) / gradients.norm(dim=1)).clamp(max=1.0)
    return gradients * factors[:, None]


def apart(gradients, bound, dtype=None):
    """What is told of neighbours: the distance of the clipped gradients and what rounding may add to the sums'."""
    short = clipped(gradients, bound, dtype)
    return (short[::2] - short[1::2]).norm(dim=1).double() + rounding_of_sums(bound, dtype or gradients.dtype)


def flat(tensors):
    return torch.cat([tensor.flatten() for tensor in tensors])


def square_loss(outputs, targets):
    """Reaches every output of any shape, and is not linear in it."""
    return (outputs - targets).square().flatten(1).sum(1)


def branches():
    """A residual network: one layer's output goes two ways and an activation works in place."""

    def apply(module, x):
        hidden = F.relu_(module.first(x))
        return module.head(hidden + torch.tanh(module.second(hidden)))

    return Applied(apply, first=nn.Linear(6, 5), second=nn.Linear(5, 5), head=nn.Linear(5, 3))


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


def frozen(network, *names):
    for name, parameter in network.named_parameters():
        parameter.requires_grad_(name not in names)
    return network


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
        lambda: nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(1, 2), dilation=(1, 2)),
        (2, 9, 8),
    ),
    "convolution in groups": (lambda: nn.Conv2d(4, 6, 3, groups=2, padding=1), (4, 5, 6)),
    "convolution of each channel": (lambda: nn.Conv2d(4, 4, 3, groups=4), (4, 5, 5)),
    "convolution on few positions": (lambda: nn.Conv2d(16, 24, 3), (16, 4, 4)),
    "convolution, weight frozen": (lambda: frozen(nn.Conv2d(2, 3, 3), "weight"), (2, 5, 5)),
    "convolution, bias frozen": (lambda: frozen(nn.Conv2d(16, 24, 3), "bias"), (16, 4, 4)),
    "group norm": (lambda: nn.GroupNorm(2, 6), (6, 3, 4)),
    "group norm of vectors": (lambda: nn.GroupNorm(3, 6), (6,)),
    "group norm, bias frozen": (lambda: frozen(nn.GroupNorm(2, 4), "bias"), (4, 5)),
    "layer norm": (lambda: nn.LayerNorm(6), (6,)),
    "layer norm of pictures": (lambda: nn.LayerNorm((3, 4)), (2, 3, 4)),
    "layer norm without bias": (lambda: nn.LayerNorm(6, bias=False), (5, 6)),
}

FALLBACKS = {
    "unknown layer": (scaled, (6,)),
    "one-dimensional convolution": (lambda: nn.Conv1d(2, 3, 3), (2, 8)),
    "transposed convolution": (lambda: nn.ConvTranspose2d(2, 3, 3), (2, 4, 4)),
    "convolution with mirrored edges": (lambda: nn.Conv2d(2, 3, 3, padding=1, padding_mode="reflect"), (2, 5, 5)),
    "convolution with padding by name": (lambda: nn.Conv2d(2, 3, 3, padding="same"), (2, 5, 5)),
    "leaky slope": (lambda: nn.PReLU(3), (3, 4)),
}

# What stands before a layer decides whether a gradient towards its input is needed.
NETWORKS = {
    "residual, in place": (branches, (6,)),
    "linear twice": (lambda: twice(nn.Linear(6, 6)), (6,)),
    "convolution twice": (lambda: twice(nn.Conv2d(3, 3, 3, padding=1)), (3, 4, 4)),
    "unused layer": (
        lambda: Applied(lambda module, x: module.used(x), used=nn.Linear(6, 2), unused=nn.Linear(6, 2)),
        (6,),
    ),
    "one module under two names": (lambda: nn.Sequential(layer := nn.Linear(6, 6), nn.Tanh(), layer), (6,)),
    "frozen layer between": (
        lambda: frozen(
            nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.Linear(4, 3)), "2.weight", "2.bias"
        ),
        (6,),
    ),
    # The engine works with channels last on a CPU; what follows a convolution meets that layout both ways.
    "convolution, group norm, pooling": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 6, 2),
            nn.GroupNorm(3, 6),
            nn.Tanh(),
            nn.MaxPool2d(2, stride=1),
            nn.Conv2d(6, 4, 2),
            nn.GroupNorm(2, 4),
            nn.Flatten(),
            nn.Linear(16, 3),
        ),
        (2, 5, 5),
    ),
    "examples merged with positions": (
        lambda: Applied(
            lambda module, x: torch.tanh(module.layer(x.reshape(-1, 3))).reshape(len(x), -1), layer=nn.Linear(3, 2)
        ),
        (6,),
    ),
    "weight used outside its layer": (
        lambda: Applied(lambda module, x: module.layer(x) @ module.layer.weight, layer=nn.Linear(6, 6)),
        (6,),
    ),
    "one weight of two layers": (tied, (6,)),
    "a scalar parameter": (
        lambda: Applied(
            lambda module, x: module.layer(x) * module.temperature,
            layer=nn.Linear(6, 3),
            temperature=nn.Parameter(torch.tensor(1.5)),
        ),
        (6,),
    ),
    "in place after a convolution": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, 2),
            Applied(lambda module, x: module.inner(x), inner=nn.ReLU(inplace=True)),
            nn.Flatten(),
            nn.Linear(12, 2),
        ),
        (2, 3, 3),
    ),
    "batch norm at rest": (
        lambda: nn.Sequential(nn.Linear(6, 6), nn.BatchNorm1d(6).eval(), nn.Tanh(), nn.Linear(6, 2)),
        (6,),
    ),
}


def behind_others(make, shape):
    """The layer after a trained elementwise one and before another, so that gradients pass through it both ways."""
    return nn.Sequential(nn.LayerNorm(shape), nn.Tanh(), make(), nn.Tanh())


def compare(network, x, y, loss, tolerance, least=0.0):
    """Norms, sums and distances, clipped and not, all at once and in chunks; `least` for gradients that vanish."""
    network = network.to(next((part.dtype for part in (x, y) if part.is_floating_point()), torch.float32))
    engine = PerExample(network, loss)
    record = engine.gradients(x, y)
    wanted = gradients_by_hand(network, x, y, loss)
    torch.testing.assert_close(record.norms, wanted.norm(dim=1), rtol=tolerance, atol=least)
    scale = float(wanted.norm())
    weights = torch.linspace(-1, 2, len(x), dtype=wanted.dtype)
    found = flat(record.weighted_sum(weights))
    torch.testing.assert_close(found, weights @ wanted, rtol=tolerance, atol=tolerance * scale / 10 + least)
    pairs = min(2, len(x) // 2)
    neighbours = wanted[: 2 * pairs]
    differences = (neighbours[::2] - neighbours[1::2]).norm(dim=1).double()
    torch.testing.assert_close(record.neighbours_apart()[:pairs], differences, rtol=5 * tolerance, atol=least)
    for bound in (0.05, BOUND, 1e6):
        short, room = clipped(wanted, bound), tolerance * min(bound, scale) + least
        shorter = (short[: 2 * pairs : 2] - short[1 : 2 * pairs : 2]).norm(dim=1).double()
        torch.testing.assert_close(record.neighbours_apart(bound)[:pairs], shorter, rtol=5 * tolerance, atol=5 * room)
        # Chunk by chunk, in memory that is used again.
        step = PerExample(network, loss, chunk_size=2).clipped(x, y, max_grad_norm=bound, pairs=pairs)
        torch.testing.assert_close(flat(step.sums), short.sum(0), rtol=tolerance, atol=3 * room)
        distances = apart(neighbours, bound)
        torch.testing.assert_close(step.distances, distances, rtol=5 * tolerance, atol=5 * room)
    return engine, record, wanted


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["single", "double"])
@pytest.mark.parametrize("first", [True, False], ids=["first", "inside"])
@pytest.mark.parametrize("name", [*LAYERS, *FALLBACKS])
def test_each_layer_against_autograd(name, first, dtype):
    make, shape = (LAYERS | FALLBACKS)[name]
    torch.manual_seed(3)
    network = make() if first else behind_others(make, shape)
    x = torch.randn(5, *shape, dtype=dtype)
    y = torch.randn_like(network.to(dtype)(x)).detach()
    engine, _, _ = compare(network, x, y, square_loss, 1e-5 if dtype == torch.float32 else 1e-12)
    assert bool(engine.fallback_layers) == (name in FALLBACKS)


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_that_are_no_chain(name):
    make, shape = NETWORKS[name]
    torch.manual_seed(4)
    network = make().double()
    x = torch.randn(5, *shape, dtype=torch.float64)
    compare(network, x, torch.randn_like(network(x)).detach(), square_loss, 1e-12)


@pytest.mark.parametrize("options", [{}, {"padding_idx": 2}], ids=["plain", "padding"])
def test_embedding(options):
    torch.manual_seed(5)
    network = nn.Sequential(nn.Embedding(7, 4, **options), nn.Flatten(), nn.Linear(24, 3)).double()
    x = torch.tensor([[0, 1, 1, 2, 6, 6], [2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 5], [6, 6, 6, 6, 6, 6]])
    engine, _, _ = compare(network, x, torch.randn(4, 3, dtype=torch.float64), square_loss, 1e-12)
    assert engine.fallback_layers == ()


@pytest.mark.parametrize("count", [1, 12])
@pytest.mark.parametrize("name", SMALL)
def test_models_on_digits_against_autograd_and_vmap(name, count):
    data, network = digits(), small(name, seed=1)
    x, y = data.train_x[:count], data.train_y[:count]
    engine, record, wanted = compare(network, x, y, cross_entropy, 1e-5)
    assert engine.fallback_layers == ()

    def loss(parameters, image, label):
        return F.cross_entropy(functional_call(network, parameters, (image[None],)), label[None])

    parameters = {key: p.detach() for key, p in network.named_parameters()}
    rows = vmap(grad(loss), (None, 0, 0))(parameters, x, y)
    other = torch.cat([row.flatten(1) for row in rows.values()], dim=1)
    torch.testing.assert_close(record.norms, other.norm(dim=1), rtol=1e-5, atol=0)
    torch.testing.assert_close(flat(record.clipped_sum(BOUND)), clipped(wanted, BOUND).sum(0), rtol=1e-4, atol=1e-6)
    torch.testing.assert_close(record.losses, cross_entropy(network(x), y).detach())
    torch.testing.assert_close(record.outputs, network(x).detach())


def test_equal_and_nearly_equal_gradients_keep_their_distance():
    """In single precision ‖g_i‖² + ‖g_j‖² − 2⟨g_i, g_j⟩ is lost below 3e-4 of the norm; here, 1e-5."""
    network = small("mlp", seed=2).double()
    data = digits()
    image = data.train_x[:1].double()
    x = torch.cat((image, image, image, image + 1e-5 * torch.randn(1, 1, 28, 28, dtype=torch.float64)))
    y = data.train_y[:1].expand(4)
    record, wanted = PerExample(network).gradients(x, y), gradients_by_hand(network, x, y)
    same, near = record.neighbours_apart()
    assert float(same) <= 1e-6 * float(record.norms[0])  # what rounding in double precision leaves open
    assert float(near) < 3e-5 * float(record.norms[0])
    assert float(near) == pytest.approx(float((wanted[2] - wanted[3]).norm()), rel=5e-3)
    # Equal rows stay at distance 0 in single precision too.
    single = PerExample(small("mlp", seed=2)).gradients(x.float(), y)
    assert float(single.neighbours_apart(1.0)[0]) <= 1e-6 * float(single.norms[0])


@pytest.mark.parametrize("name", SMALL)
def test_a_distance_far_below_the_bound_is_right_in_single_precision(name):
    """Two pictures 1e-4 apart: ‖g_i‖² + ‖g_j‖² − 2⟨g_i, g_j⟩ in single precision would know no digit of it."""
    data, exact = digits(), small(name, seed=2).double()
    torch.manual_seed(0)
    x = data.train_x[:8].repeat_interleave(2, dim=0)
    x[1::2] += 1e-4 * torch.randn(8, 1, 28, 28)
    x, y = torch.cat((x, x[:1], x[:1])), data.train_y[:9].repeat_interleave(2)
    y[16:] = y[0]
    short = clipped(gradients_by_hand(exact, x.double(), y), 0.3, torch.float32)
    wanted = (short[::2] - short[1::2]).norm(dim=1)
    assert float(wanted.median()) < 1e-3 * 0.3  # a picture may sit at a kink
    found = PerExample(small(name, seed=2)).clipped(x, y, max_grad_norm=0.3, pairs=9).distances
    found = found - rounding_of_sums(0.3, torch.float32)
    torch.testing.assert_close(found, wanted, rtol=1e-2, atol=1e-6 * 0.3)
    assert float(found[8]) <= 1e-6 * 0.3


@pytest.mark.parametrize("name", SMALL)
def test_an_empty_batch_is_a_real_batch(name):
    network = small(name, seed=0)
    engine = PerExample(network)
    x, y = torch.zeros(0, 1, 28, 28), torch.zeros(0, dtype=torch.int64)
    record = engine.gradients(x, y)
    step = engine.clipped(x, y, max_grad_norm=1.0, pairs=0)
    for sums in (record.clipped_sum(1.0), step.sums):
        assert [part.shape for part in sums] == [p.shape for p in network.parameters()]
        assert all((part == 0).all() for part in sums)
    assert record.norms.shape == step.norms.shape == step.losses.shape == (0,)
    assert len(record) == 0
    assert step.distances is not None
    assert step.distances.shape == record.neighbours_apart().shape == (0,)
    assert int(step.non_finite) == 0


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_chunks_change_nothing(name, size):
    data, network = digits(), small(name, seed=6).double()
    x, y = data.train_x[:11].double(), data.train_y[:11]
    whole, parts = PerExample(network), PerExample(network, chunk_size=size)
    one, all_at_once = whole.clipped(x, y, max_grad_norm=BOUND, pairs=5), whole.gradients(x, y)
    for pairs in (0, 1, 5):
        step = parts.clipped(x, y, max_grad_norm=BOUND, pairs=pairs)
        torch.testing.assert_close(step.norms, one.norms)
        torch.testing.assert_close(flat(step.sums), flat(one.sums))
        torch.testing.assert_close(step.distances, one.distances[:pairs])
    record = parts.gradients(x, y)
    torch.testing.assert_close(record.norms, one.norms)
    torch.testing.assert_close(flat(record.clipped_sum(BOUND)), flat(one.sums))
    if size % 2 == 0:  # no pair is torn
        torch.testing.assert_close(record.neighbours_apart(), all_at_once.neighbours_apart())


def test_chunks_are_of_one_size_and_never_above_the_limit(monkeypatch):
    """Of a size that does not depend on the batch: with one example fewer the others stay in their blocks."""
    sizes = []

    def counted(outputs, targets):
        sizes.append(len(outputs))
        return square_loss(outputs, targets)

    monkeypatch.setattr("dpviz.training.engine.per_example.LISTED_LOSSES", (counted,))
    network = nn.Sequential(nn.Linear(3, 2))
    for limit, examples, wanted, even in (
        (8, 8, [8], [8]), (8, 9, [8, 1], [8, 1]), (8, 24, [8, 8, 8], [8, 8, 8]), (7, 15, [7, 7, 1], [6, 6, 3]),
        (1, 3, [1, 1, 1], [2, 1]), (8, 2, [2], [2]), (8, 1, [1], [1]), (8, 0, [], []),
        (BLOCK, BLOCK + 1, [BLOCK, 1], [BLOCK, 1]), (2 * BLOCK + 9, 2 * BLOCK + 9, [2 * BLOCK, 9], [2 * BLOCK, 9]),
    ):  # fmt: skip
        engine = PerExample(network, counted, chunk_size=limit)
        # With distances of pairs, chunks hold whole pairs.
        for pairs, expected in ((None, wanted), (examples // 2, even if examples > 1 else wanted)):
            sizes.clear()
            step = engine.clipped(torch.randn(examples, 3), torch.randn(examples, 2), max_grad_norm=1.0, pairs=pairs)
            assert sizes == [size for size in expected if size]
            assert step.distances is None if pairs is None else step.distances.shape == (pairs,)


def test_sums_are_one_vector_in_the_order_of_the_parameters():
    data, network = digits(), small("cnn", seed=0)
    step = PerExample(network).clipped(data.train_x[:5], data.train_y[:5], max_grad_norm=1.0)
    assert [part.shape for part in step.sums] == [parameter.shape for parameter in network.parameters()]
    assert torch.equal(step.total, flat(step.sums))
    assert float(step.total.norm()) > 0.0
    step.total.zero_()
    assert not any(part.any() for part in step.sums)


def test_a_record_keeps_its_gradients_while_the_engine_goes_on():
    data = digits()
    engine = PerExample(small("cnn", seed=0), chunk_size=4)
    record = engine.gradients(data.train_x[:10], data.train_y[:10])
    before, pairs = flat(record.clipped_sum(BOUND)), record.neighbours_apart()
    engine.clipped(data.train_x[20:30], data.train_y[20:30], max_grad_norm=BOUND, pairs=1)
    engine.gradients(data.train_x[30:40], data.train_y[30:40])
    assert torch.equal(flat(record.clipped_sum(BOUND)), before)
    assert torch.equal(record.neighbours_apart(), pairs)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_an_example_that_is_not_finite_counts_as_nothing(bad):
    data = digits()
    for name in SMALL:
        engine = PerExample(small(name, seed=0))
        x, y = data.train_x[:6].clone(), data.train_y[:6]
        x[2, 0, 9, 9] = bad
        before = x.clone()
        good = torch.tensor([0, 1, 3, 4, 5])
        step = engine.clipped(x, y, max_grad_norm=1.0, pairs=1)
        without = engine.clipped(x[good], y[good], max_grad_norm=1.0)
        assert int(step.non_finite) == 1
        assert not torch.isfinite(step.norms[2])
        torch.testing.assert_close(flat(step.sums), flat(without.sums))
        assert torch.isfinite(step.distances).all()
        torch.testing.assert_close(x, before, equal_nan=True)  # the caller's data


def test_the_network_is_left_as_it_was_also_after_an_error():
    network = small("cnn", seed=0)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    data = digits()
    PerExample(network).clipped(data.train_x[:4], data.train_y[:4], max_grad_norm=1.0)
    with pytest.raises(RuntimeError):
        PerExample(network).gradients(torch.zeros(2, 3, 28, 28), torch.zeros(2, dtype=torch.int64))
    assert all("forward" not in vars(module) for module in network.modules())
    assert all(p.grad is None for p in network.parameters())
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())


def test_dropout_between_layers_is_part_of_the_example():
    """With the same random numbers the sum of the gradients is the gradient of the sum."""
    network = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
    x, y = torch.randn(5, 6, dtype=torch.float64), torch.tensor([0, 1, 2, 0, 1])
    torch.manual_seed(1)
    found = PerExample(network).clipped(x, y, max_grad_norm=1e9).sums
    torch.manual_seed(1)
    plain = torch.autograd.grad(F.cross_entropy(network(x), y, reduction="sum"), list(network.parameters()))
    torch.testing.assert_close(flat(found), flat(plain))


def test_fallback_layers_are_named():
    network = nn.Sequential(nn.Linear(6, 6), scaled(), nn.Linear(6, 2))
    assert PerExample(network).fallback_layers == ("1 (Applied)",)
    assert PerExample(scaled()).fallback_layers == ("network (Applied)",)


@pytest.mark.parametrize("precision", ["high", "medium"])
def test_rounded_matrix_products_are_refused(precision):
    engine = PerExample(small("logistic", seed=0))
    x, y = torch.zeros(2, 1, 28, 28), torch.zeros(2, dtype=torch.int64)
    torch.set_float32_matmul_precision(precision)
    try:
        with pytest.raises(ValueError, match=r"full single precision.*'highest'"):
            engine.clipped(x, y, max_grad_norm=1.0)
    finally:
        torch.set_float32_matmul_precision("highest")
    engine.clipped(x, y, max_grad_norm=1.0)
