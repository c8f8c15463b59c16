"""The exact sampler: its draws against quadrature, and what it must refuse."""

import numpy as np
import pytest
from scipy import stats

from dpviz.training import posterior_sample
from dpviz.training.posterior_sample import LogisticPosterior, chord_curvature, sigmoid, softplus

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


def test_an_envelope_that_is_none_is_noticed():
    posterior = LogisticPosterior(make_rows(), power=0.2, radius=4.0, prior_std=0.8)
    posterior._least += 5.0
    with pytest.raises(RuntimeError, match="envelope lies above the posterior by"):
        posterior.draw(np.random.default_rng(0))


def test_where_nothing_is_kept_nothing_is_returned(monkeypatch):
    posterior = LogisticPosterior(make_rows(), power=0.2, radius=4.0, prior_std=0.8)
    posterior._least -= 1e4  # an envelope far below: valid, and of no use
    monkeypatch.setattr(posterior_sample, "MOST_DRAWS", 64)
    with pytest.raises(RuntimeError, match="None of 64 draws could be kept"):
        posterior.draw(np.random.default_rng(0))
