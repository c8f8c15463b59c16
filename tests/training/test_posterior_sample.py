"""Logistic regression on signed rows: its gradients, and the exact sampler's draws against quadrature."""

import numpy as np
import pytest
import torch
from scipy import stats

from dpviz.training import posterior_sample
from dpviz.training.posterior_accuracy import LogisticEngine
from dpviz.training.posterior_sample import (
    LogisticPosterior,
    chord_curvature,
    sigmoid,
    signed,
    softplus,
    unit_rows,
    with_one,
)

REACH = 4.0


def make_rows(count=300, seed=0):
    """Signed rows in the plane that say one thing about nine times of ten."""
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(count, 2))
    x /= np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1.0) * (1 + 1e-12)
    sign = np.where(x @ [2.0, 1.0] + 0.4 * draw.normal(size=count) > 0.0, 1.0, -1.0)
    return x * sign[:, None]


def test_the_chord_curvature_is_the_largest_that_stays_below():
    w = np.linspace(-REACH, REACH, 2001)
    for u in (-REACH, -3.9995, -2.0, -0.3, 0.0, 1.0, 3.0, REACH):
        c = float(chord_curvature(np.array([u]), REACH)[0])
        gap = softplus(w) - softplus(np.array(u)) - sigmoid(np.array(u)) * (w - u)
        apart = np.abs(w - u) > 1e-2
        least = float((2.0 * gap[apart] / (w[apart] - u) ** 2).min())
        assert 0.0 < c <= least * (1 + 1e-9)
        assert c >= 0.5 * least


@pytest.mark.parametrize(("radius", "power", "prior_std"), [(4.0, 0.2, 0.8), (1.0, 1.0, 2.0), (2.0, 0.1, 5.0)])
def test_draws_have_the_posterior_s_distribution(radius, power, prior_std):
    """Both coordinates and the norm, against sums over a fine grid; the ball cuts the second and third."""
    rows = make_rows()
    posterior = LogisticPosterior(rows, power=power, radius=radius, prior_std=prior_std)
    assert (posterior.tilt > 0.0) == (radius < 4.0)
    random = np.random.default_rng(1)
    draws = np.stack([posterior.draw(random) for _ in range(700)])
    assert float(np.linalg.norm(draws, axis=1).max()) <= radius
    axis = np.linspace(-radius, radius, 301)
    grid = np.stack(np.meshgrid(axis, axis)).reshape(2, -1)
    grid = grid[:, (grid**2).sum(axis=0) <= radius**2]
    energy = posterior.energy(grid)
    weight = np.exp(energy.min() - energy)
    weight /= weight.sum()
    for sample, values in ((draws[:, 0], grid[0]), (draws[:, 1], grid[1]), (draws @ [1.0, -2.0], [1.0, -2.0] @ grid)):
        order = np.argsort(values)
        at, below = values[order], np.cumsum(weight[order])
        assert stats.kstest(sample, lambda v, at=at, below=below: np.interp(v, at, below)).pvalue > 1e-4


def test_energy_is_the_negative_log_posterior():
    rows = make_rows(20)
    posterior = LogisticPosterior(rows, power=0.5, radius=3.0, prior_std=2.0)
    theta = np.array([0.3, -1.2])
    by_hand = -0.5 * np.log(sigmoid(rows @ theta)).sum() - stats.norm(scale=2.0).logpdf(theta).sum()
    at_zero = -0.5 * np.log(sigmoid(rows @ np.zeros(2))).sum() - 2 * stats.norm(scale=2.0).logpdf(0.0)
    found = posterior.energy(np.stack([theta, np.zeros(2)], axis=1))
    assert found[0] - found[1] == pytest.approx(by_hand - at_zero)


@pytest.mark.parametrize(
    ("shift", "words"), [(5.0, "envelope lies above the posterior by"), (-1e4, "None of 64 draws could be kept")]
)
def test_an_envelope_that_is_none_or_far_below_releases_nothing(monkeypatch, shift, words):
    posterior = LogisticPosterior(make_rows(), power=0.2, radius=4.0, prior_std=0.8)
    posterior._least += shift
    monkeypatch.setattr(posterior_sample, "MOST_DRAWS", 64)
    with pytest.raises(RuntimeError, match=words):
        posterior.draw(np.random.default_rng(0))


def test_rows_hold_a_one_and_the_label_and_are_never_longer_than_one():
    x = np.random.default_rng(0).normal(0.0, 10.0, (500, 7)).astype(np.float32)
    rows = unit_rows(x)
    lengths = np.linalg.norm(rows, axis=1)
    assert rows.shape == (500, 8)
    assert 1.0 - 1e-11 < lengths.min() <= lengths.max() <= 1.0
    np.testing.assert_allclose(rows[:, :7] / rows[:, 7:], x, rtol=1e-6)
    flipped = signed(rows[:2], np.array([0, 1]))
    np.testing.assert_array_equal(flipped, [-rows[0], rows[1]])


@pytest.mark.parametrize("bound", [0.5, 1.0, 1e9])
def test_clipped_sums_are_those_by_hand(bound):
    draw = torch.Generator().manual_seed(0)
    theta = torch.randn(6, generator=draw, dtype=torch.float64)
    rows = torch.from_numpy(with_one(torch.randn(40, 5, generator=draw).numpy()))
    gradients = torch.autograd.functional.jacobian(lambda at: -torch.nn.functional.logsigmoid(rows @ at), theta)
    norms, clipped = gradients.norm(dim=1), LogisticEngine(theta).clipped(rows, torch.zeros(40), max_grad_norm=bound)
    assert clipped.losses.tolist() == pytest.approx((-torch.nn.functional.logsigmoid(rows @ theta)).tolist(), rel=1e-9)
    assert clipped.norms.tolist() == pytest.approx(norms.tolist(), rel=1e-9)
    total = ((bound / norms).clamp(max=1.0)[:, None] * gradients).sum(0)
    torch.testing.assert_close(clipped.total, total, rtol=1e-9, atol=1e-9)
    alone = LogisticEngine(theta).clipped(rows[:1], torch.zeros(1), max_grad_norm=bound).total
    assert float(alone.norm()) <= bound
