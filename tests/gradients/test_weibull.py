"""Weibull vectors against the plain draw they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from dpviz.gradients import sample as sampling
from dpviz.gradients.sample import weibull_vectors


def clip(vectors: np.ndarray, limit: float) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors * np.minimum(1.0, limit / norms)


@pytest.mark.parametrize("pairing", ["disjoint", "all"])
def test_clipped_distances_of_the_drawn_vectors(pairing: str) -> None:
    sample = weibull_vectors(vectors=21, dimensions=300, shape=0.5, seed=7, pairing=pairing)
    drawn = np.random.default_rng(7).weibull(0.5, (21, 300))
    assert sample.norms == pytest.approx(np.linalg.norm(drawn, axis=1), rel=1e-14)
    first, second = (np.arange(0, 20, 2), np.arange(1, 20, 2)) if pairing == "disjoint" else np.triu_indices(21, 1)
    for quantile in (0.05, 0.5, 0.95):
        limit = sample.threshold(quantile)
        kept = clip(drawn, limit)
        expected = np.linalg.norm(kept[first] - kept[second], axis=1)
        assert sample.distances(limit) == pytest.approx(expected, rel=1e-13)
    assert sample.distances() == pytest.approx(np.linalg.norm(drawn[first] - drawn[second], axis=1), rel=1e-13)


def test_blocks_do_not_change_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = weibull_vectors(vectors=37, dimensions=50, shape=0.5, seed=1)
    monkeypatch.setattr(sampling, "_BLOCK", 400)
    parts = weibull_vectors(vectors=37, dimensions=50, shape=0.5, seed=1)
    assert (whole.norms == parts.norms).all()
    assert parts.distances(3.0) == pytest.approx(whole.distances(3.0), rel=1e-14)
    assert weibull_vectors(vectors=9, dimensions=1, shape=0.5, seed=1, pairing="all").size == 36


def test_figure_1_setting_of_the_paper() -> None:
    sample = weibull_vectors(vectors=50, dimensions=1000, shape=0.5, seed=0, pairing="all")
    assert sample.size == 1225
    assert not sample.independent
    assert "1,225 pairs" in sample.description
    assert "not independent" in sample.description
    assert sample.sensitivity(3.0) == 6.0
    # E x² = Γ(1 + 2/shape) = 24 for shape ½, so that norms are near √24000
    assert sample.norms.mean() == pytest.approx(24_000**0.5, rel=0.1)


def test_disjoint_is_the_default_and_independent() -> None:
    sample, again = (
        weibull_vectors(vectors=1001, dimensions=3, shape=1.5, seed=seed) for seed in (np.random.default_rng(2), 2)
    )
    assert (sample.size, sample.norms.size, sample.independent) == (500, 1001, True)
    assert "independent distances" in sample.description
    assert (again.distances() == sample.distances()).all()


@pytest.mark.parametrize("pairing", ["disjoint", "all"])
def test_one_dimension_has_one_direction(pairing: str) -> None:
    sample = weibull_vectors(vectors=30, dimensions=1, shape=0.3, seed=5, pairing=pairing)
    limit = sample.threshold(0.5)
    both = np.flatnonzero(np.minimum(sample.pairs.left, sample.pairs.right) > limit)
    assert both.size
    assert (sample.distances(limit)[both] == 0.0).all()


@pytest.mark.parametrize("shape", [0.05, 50.0])
def test_extreme_shapes_stay_finite(shape: float) -> None:
    sample = weibull_vectors(vectors=40, dimensions=20, shape=shape, seed=5)
    assert np.isfinite(sample.distances()).all()
    assert (sample.distances(sample.threshold(0.5)) <= 2 * sample.threshold(0.5)).all()
