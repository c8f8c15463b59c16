import numpy as np
import pytest
import torch
from scipy import stats

from dpviz.mechanisms import SampledGaussian
from dpviz.training.engine.per_example import PerExample
from dpviz.training.samplers import poisson_indices
from dpviz.training.sampling import IGNORED, Batches, loss_per_example, padded_size
from tests.training.small import small


def test_sizes_are_binomial():
    draw, examples, rate, rounds = np.random.default_rng(0), 40, 0.2, 20_000
    sizes = np.array([poisson_indices(draw, examples, rate).size for _ in range(rounds)])
    seen = np.bincount(sizes, minlength=examples + 1)[:17]
    expected = stats.binom.pmf(np.arange(17), examples, rate)
    expected[-1] = stats.binom.sf(15, examples, rate)
    seen[-1] = rounds - seen[:-1].sum()
    assert stats.chisquare(seen, expected / expected.sum() * rounds).pvalue > 1e-6


def test_every_example_joins_with_probability_q_on_its_own():
    draw, examples, rate, rounds = np.random.default_rng(1), 12, 0.3, 20_000
    joined = np.zeros((rounds, examples))
    for row in joined:
        chosen = poisson_indices(draw, examples, rate)
        assert len(set(chosen.tolist())) == chosen.size
        row[chosen] = 1.0
    deviation = np.sqrt(rate * (1 - rate) / rounds)
    np.testing.assert_allclose(joined.mean(axis=0), rate, atol=5 * deviation)
    # A subset of fixed size would be negatively correlated, by 1/(examples − 1).
    correlation = np.corrcoef(joined.T)[np.triu_indices(examples, 1)]
    assert np.abs(correlation).max() < 5 / np.sqrt(rounds)


def test_the_order_is_random():
    """Neighbours of a batch are its pairs, so no place may belong to any example."""
    draw = np.random.default_rng(2)
    first = [poisson_indices(draw, 6, 1.0)[0] for _ in range(6000)]
    assert stats.chisquare(np.bincount(first, minlength=6)).pvalue > 1e-6


def test_edges_of_the_rate():
    draw = np.random.default_rng(3)
    assert poisson_indices(draw, 5, 0.0).size == 0
    assert sorted(poisson_indices(draw, 5, 1.0).tolist()) == [0, 1, 2, 3, 4]
    x = torch.arange(5.0)
    for pad in (False, True):
        batch = Batches(x, x.long(), np.random.default_rng(0), pad=pad).draw(5)
        assert torch.equal(batch.x[: batch.size].sort().values, x)
        assert torch.equal(batch.y[: batch.size], batch.x[: batch.size].long())  # each with its own label
        assert (batch.size, batch.expected) == (5, 5.0)


def data(examples=300):
    draw = torch.Generator().manual_seed(0)
    return torch.randn(examples, 1, 28, 28, generator=draw), torch.randint(0, 10, (examples,), generator=draw)


def test_batches_are_as_likely_as_the_rate_they_report():
    x, y = data()
    for pad in (False, True):
        batches = Batches(x[:, :, :1, :1], y, np.random.default_rng(6), pad=pad)
        drawn = [batches.draw(90) for _ in range(400)]
        mean = np.mean([batch.size for batch in drawn])
        assert {batch.unit_noise for batch in drawn} == {SampledGaussian(1.0, 0.3)}
        assert abs(mean - 90.0) < 5 * np.sqrt(300 * 0.3 * 0.7 / 400)


def test_padding_keeps_the_shape_and_adds_nothing():
    x, y = data()
    plain = Batches(x, y, np.random.default_rng(5))
    padded = Batches(x, y, np.random.default_rng(5), pad=True)
    engine = PerExample(small("logistic", seed=0), loss_per_example)
    shapes = set()
    for _ in range(20):
        one, other = plain.draw(100), padded.draw(100)
        shapes.add(tuple(other.x.shape))
        assert other.size == one.size
        assert (other.y[other.size :] == IGNORED).all()
        torch.testing.assert_close(other.x[: one.size], one.x)
        found, wanted = (engine.clipped(b.x, b.y, max_grad_norm=0.5) for b in (other, one))
        torch.testing.assert_close(found.total, wanted.total, atol=1e-5, rtol=1e-5)
        assert (found.norms[one.size :] < 1e-12).all()  # as short as squares can tell
        assert (found.losses[one.size :] == 0.0).all()
    assert len(shapes) == 1


@pytest.mark.parametrize(
    ("batch", "examples", "size"), [(256, 10_000, 256), (256, 10_000, 700), (10, 20, 20), (1, 5, 0)]
)
def test_padded_sizes_hold_the_batch(batch, examples, size):
    capacity = padded_size(batch, examples, size)
    assert size <= capacity
    assert stats.binom.sf(padded_size(batch, examples, 0), examples, batch / examples) < 1e-8
