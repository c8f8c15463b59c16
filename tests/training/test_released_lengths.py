"""What one example adds to a clipped sum, measured in double precision, is never longer than C."""

import pytest
import torch
from torch import nn

from dpviz.training.engine.per_example import PerExample, clip_factors
from dpviz.training.engine.products import Dense, Factored, Outer, Rows
from dpviz.training.engine.rounding import BLOCK, MOST_ROWS, certified_bound, sum_allowance
from dpviz.training.engine.vectors import BlockSums
from tests.training.small import Applied

# Small beside every gradient: all are clipped.
BOUND = 1e-3
EXACTLY = 1.0 + 1e-6


def uses(layer):
    """One layer at two inputs; the outputs are subtracted, so that contributions of equal inputs cancel."""
    return Applied(lambda module, x: module.layer(x[:, 0]) - module.layer(x[:, 1]), layer=layer)


def along(layer, width, signs):
    """Outputs of a sequence added up with signs, so that what all tokens share, or one token twice, cancels."""

    def apply(module, x):
        outputs = module.layer(x)
        return module.head((outputs * signs(outputs.shape[1])[:, None]).sum(1))

    return Applied(apply, layer=layer, head=nn.Linear(width, 3))


def differences(layer):
    return along(layer, 4, lambda length: 1.0 - 2.0 * (torch.arange(length) % 2))


def slopes():
    return Applied(lambda module, x: x * module.slope, slope=nn.Parameter(torch.linspace(-1.0, 1.0, 6)))


def near_pairs(shape, scale, draw):
    """Two inputs at a common offset, apart by 1e-6 to 1 of it."""
    offset = scale * torch.randn(24, 1, *shape, generator=draw)
    apart = scale * 10.0 ** torch.linspace(-6.0, 0.0, 24).view(-1, *[1] * (len(shape) + 1))
    return torch.cat((offset, offset + apart * torch.randn(24, 1, *shape, generator=draw)), dim=1)


def tokens(shape, scale, draw):
    return scale * (1.0 + 0.01 * torch.randn(24, *shape, generator=draw))


def plain(shape, scale, draw):
    return scale * (torch.randn(24, *shape, generator=draw) + 1.0)


def indices(shape, scale, draw):
    return torch.randint(0, 5, (24, *shape), generator=draw)


NETWORKS = {
    "linear": (lambda: nn.Linear(20, 3), plain, (20,)),
    "linear on nearly equal inputs": (lambda: uses(nn.Linear(30, 5)), near_pairs, (30,)),
    "convolution on nearly equal inputs": (
        lambda: nn.Sequential(uses(nn.Conv2d(1, 4, 3)), nn.Flatten(), nn.Linear(64, 3)), near_pairs, (1, 6, 6),
    ),
    "deep convolution on nearly equal inputs": (
        lambda: nn.Sequential(uses(nn.Conv2d(16, 24, 3)), nn.Flatten(), nn.Linear(96, 3)), near_pairs, (16, 4, 4),
    ),
    "norm on nearly equal inputs": (
        lambda: nn.Sequential(uses(nn.Sequential(nn.Linear(6, 6), nn.LayerNorm(6)))), near_pairs, (6,),
    ),
    "tokens with an offset": (lambda: differences(nn.Linear(12, 4)), tokens, (6, 12)),
    "few tokens of many numbers": (lambda: differences(nn.Linear(64, 4)), tokens, (2, 64)),
    "only a bias": (lambda: differences(nn.Linear(12, 4).requires_grad_(False)), tokens, (7, 12)),
    "lookups": (lambda: along(nn.Embedding(5, 8), 8, lambda length: torch.linspace(-1.0, 1.0, length)), indices, (9,)),
    "group norm": (lambda: nn.Sequential(nn.Conv2d(2, 4, 3), nn.GroupNorm(2, 4), nn.Flatten()), plain, (2, 6, 6)),
    "unknown layer on nearly equal inputs": (lambda: uses(slopes()), near_pairs, (6,)),
}  # fmt: skip


def strong(outputs, targets):
    """A loss whose gradients are far above C at any scale of the data."""
    return 10.0 * (outputs - targets).flatten(1).abs().sum(1)


def sums(engine, x, y, bound=BOUND):
    return engine.clipped(x, y, max_grad_norm=bound).total.double()


class Opposed:
    """Views that nearly cancel: an example, and the same again with the other sign of what it adds, but for a part."""

    def __init__(self, count):
        self.count = count

    def __call__(self, x):
        views = x[:, None].expand(-1, self.count, *x.shape[1:]).clone()
        if x.is_floating_point():
            views[:, 1::2] *= -1.0 + 1e-4
        return views.flatten(0, 1)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("count", [2, 5])
@pytest.mark.one_of(6)
def test_no_example_adds_more_than_the_bound_by_its_views(name, scale, count):
    released(name, scale, Opposed(count))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 10.0, 1e3])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.one_of(3)
def test_no_example_adds_more_than_the_bound(name, scale):
    alone = released(name, scale, None)
    # It is not safe because little is left: an example that is not hidden by cancellation fills the bound.
    assert alone > 0.98 * BOUND


def released(name, scale, views):
    """The most that one example adds alone; it, and what each adds to a whole batch, is held against the bound."""
    make, data, shape = NETWORKS[name]
    draw = torch.Generator().manual_seed(11)
    with torch.random.fork_rng():
        torch.manual_seed(7)
        engine = PerExample(make(), strong, views=views)
    x = data(shape, scale, draw)
    with torch.no_grad():
        y = torch.full_like(engine.network(x), -1e6)
    whole = sums(engine, x, y)
    alone, within = [], []
    for i in range(len(x)):
        alone.append(float(sums(engine, x[i : i + 1], y[i : i + 1]).norm()))
        keep = torch.arange(len(x)) != i
        within.append(float((whole - sums(engine, x[keep], y[keep])).norm()))
    assert max(alone) <= BOUND * EXACTLY
    assert max(within) <= BOUND * EXACTLY
    return max(alone)


def random_factors(draw, positions, spread):
    """Factors whose products cancel to about `spread` of themselves."""
    inputs = torch.randn(12, 1, 40, generator=draw) + spread * torch.randn(12, positions, 40, generator=draw)
    outputs = torch.randn(12, positions, 9, generator=draw)
    return 1e3 * inputs, outputs - outputs.mean(1, keepdim=True)


@pytest.mark.parametrize("spread", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize("positions", [2, 3, 16])
def test_upper_ends_are_above_the_exact_norms_however_much_cancels(positions, spread):
    draw = torch.Generator().manual_seed(positions)
    inputs, outputs = random_factors(draw, positions, spread)
    exact = torch.einsum("bto,btk->bok", outputs.double(), inputs.double()).flatten(1)
    exact = torch.cat((exact, outputs.double().sum(1)), dim=1).norm(dim=1)
    found = Factored(inputs, outputs).lengths()
    upper = found.norms * (1.0 + found.relative)
    assert (upper >= exact * (1.0 - 1e-9)).all()
    # Of the size of the terms, no more is lost than double precision loses.
    terms = (inputs.double().norm(dim=2) * outputs.double().norm(dim=2)).sum(1)
    assert (upper <= exact * 1.0001 + 1e-6 * terms).all()


def test_upper_ends_of_the_other_forms():
    draw = torch.Generator().manual_seed(0)
    inputs, outputs = torch.randn(50, 3000, generator=draw), torch.randn(50, 9, generator=draw)
    exact = outputs.double().norm(dim=1) * (inputs.double().square().sum(1) + 1.0).sqrt()
    table = torch.randint(0, 4, (50, 6), generator=draw)
    at = torch.randn(50, 6, 5, generator=draw)
    dense = torch.zeros(50, 4, 5).index_put_((torch.arange(50)[:, None], table), at, accumulate=True).flatten(1)
    for products, wanted in (
        (Outer(inputs, outputs), exact),
        (Dense(inputs, outputs), torch.cat((inputs, outputs), dim=1).double().norm(dim=1)),
        (Rows.of(table, at, size=4), dense.double().norm(dim=1)),
    ):
        found = products.lengths()
        assert 0.0 < found.relative < 1e-3
        assert (found.norms.double() * (1.0 + found.relative) >= wanted * (1.0 - 1e-9)).all()
        torch.testing.assert_close(found.norms.double(), wanted, rtol=found.relative, atol=0)


def test_examples_are_scaled_by_the_upper_end_of_their_norm():
    draw = torch.Generator().manual_seed(4)
    engine = PerExample(nn.Linear(3000, 3), strong)
    x, y = torch.randn(1, 3000, generator=draw), torch.full((1, 3), -1e6)
    record = engine.gradients(x, y)
    shrunk = certified_bound(BOUND, torch.float32) * float(record.norms[0]) / float(record.lengths[0])
    assert shrunk < certified_bound(BOUND, torch.float32) * (1.0 - 1e-5)
    assert float(sums(engine, x, y).norm()) == pytest.approx(shrunk, rel=3e-6)


def test_squares_that_vanish_are_not_forgotten():
    """Each square of the factor is below the least number of single precision; the gradient is not."""
    inputs, outputs = torch.full((1, 1, 4), 1e18), torch.full((1, 1, 4), 1e-24)
    found = Outer(inputs[:, 0], outputs[:, 0], bias=False).lengths()
    assert float(found.norms) * (1.0 + found.relative) >= 4e-6


def test_rows_used_again_are_written_out_before_their_norm_is_taken():
    """Uses that cancel: what the sum adds is the written row, whose norm is told."""
    draw = torch.Generator().manual_seed(3)
    at = 1e4 * torch.randn(20, 1, 6, generator=draw) * torch.tensor([1.0, -1.0, 1.0, -1.0])[:, None]
    at = at + 1e-3 * torch.randn(20, 4, 6, generator=draw)
    rows = Rows.of(torch.tensor([[2, 2, 2, 2]]).expand(20, 4), at, size=3)
    found = rows.lengths()
    factors = clip_factors(found.norms.double() * (1.0 + found.relative), BOUND, torch.float32)
    for i in range(20):
        alone = rows.part(slice(i, i + 1)).weighted_sum(factors[i : i + 1])[0]
        assert float(alone.double().norm()) <= BOUND * EXACTLY


def test_the_bound_of_sums_holds_where_all_gradients_are_alike():
    """Rounding grows with what is added up: three blocks of one direction, with and without an example."""
    draw = torch.Generator().manual_seed(2)
    direction = torch.rand(1, 50, generator=draw) + 1.0
    network = nn.Linear(50, 1, bias=False)
    engine = PerExample(network, lambda outputs, targets: 1e3 * outputs[:, 0])
    x = direction * (1.0 + 1e-3 * torch.rand(2 * BLOCK + 40, 1, generator=draw))
    y = torch.zeros(len(x))
    bound = 0.1
    whole = sums(engine, x, y, bound)
    for out in (0, BLOCK - 1, BLOCK + 5, len(x) - 1):
        # The last example takes the place of the one left out, as in a batch that comes in random order.
        other = torch.cat((x[:out], x[-1:], x[out + 1 : -1])) if out < len(x) - 1 else x[:-1]
        assert float((whole - sums(engine, other, y[1:], bound)).norm()) <= bound * EXACTLY
    exact = certified_bound(bound, torch.float32) * len(x)
    assert abs(float(whole.norm()) / exact - 1.0) < sum_allowance(torch.float32) / 4.0


def test_blocks_that_did_not_change_round_alike():
    """Their rounding cancels between neighbouring batches: the same numbers are added up in the same order."""
    draw = torch.Generator().manual_seed(5)
    network = nn.Linear(30, 4)
    engine = PerExample(network, lambda outputs, targets: outputs.square().sum(1))
    x, y = torch.randn(3 * BLOCK, 30, generator=draw), torch.zeros(3 * BLOCK)
    blocks = [sums(engine, x[start : start + BLOCK], y[:BLOCK]) for start in range(0, len(x), BLOCK)]
    whole = sums(engine, x, y)
    assert torch.equal(whole.float(), (blocks[0] + blocks[1] + blocks[2]).float())


def test_many_examples_are_handed_over_in_double_precision():
    network = nn.Linear(3, 2)
    engine = PerExample(network, lambda outputs, targets: outputs.sum(1))
    for rows, dtype in ((MOST_ROWS, torch.float32), (MOST_ROWS + 1, torch.float64)):
        found = engine.clipped(torch.randn(rows, 3), torch.zeros(rows), max_grad_norm=1.0)
        assert found.total.dtype == dtype
        assert found.total.shape == (8,)


def test_a_sum_that_broke_off_leaves_nothing_behind():
    parameters = (nn.Parameter(torch.zeros(3)),)
    blocks = BlockSums(parameters)
    for values in ((1.0,), (1.0, 2.0), (1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0), ()):
        for value in values:
            blocks.next()[0].fill_(value)
        assert blocks.take(len(values)).tolist() == [sum(values)] * 3
    blocks.next()[0].fill_(5.0)
    blocks.clear()
    blocks.next()[0].fill_(1.0)
    assert blocks.take(1).tolist() == [1.0] * 3


def test_what_is_told_of_changes_and_distances_is_never_above_what_the_mechanism_allows():
    draw = torch.Generator().manual_seed(1)
    engine = PerExample(nn.Linear(20, 3), strong)
    x = 10.0 * torch.randn(40, 20, generator=draw)
    x[::2] *= -1.0
    y = torch.full((40, 3), -1e6)
    y[::2] *= -1.0
    found = engine.clipped(x, y, max_grad_norm=BOUND, pairs=20)
    assert (found.changes <= BOUND).all()
    assert (found.changes >= BOUND * (1.0 - 1e-4)).all()
    assert (found.distances <= 2.0 * BOUND).all()
    # Above what is measured, one example in another's place.
    for pair in range(3):
        one = torch.arange(40) != 2 * pair
        other = torch.arange(40) != 2 * pair + 1
        apart = (sums(engine, x[one], y[one]) - sums(engine, x[other], y[other])).norm()
        assert float(apart) <= float(found.distances[pair])
