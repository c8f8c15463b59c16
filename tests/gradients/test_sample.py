"""Samples of gradients: distances against the clipped vectors themselves, Weibull vectors, and the scalar families."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from dpviz.gradients import weibull_vectors as sampling
from dpviz.gradients.families import FAMILIES, draw_norms
from dpviz.gradients.sample import GradientSample, Pairs, pairs_from_distances
from dpviz.gradients.weibull_vectors import weibull_vectors


def clipped_apart(first: np.ndarray, second: np.ndarray, limit: float) -> float:
    """‖clip(g) − clip(g′)‖ at 50 digits."""
    with mpmath.workdps(50):
        vectors = [[mpmath.mpf(float(x)) for x in vector] for vector in (first, second)]
        kept = []
        for vector in vectors:
            norm = mpmath.sqrt(mpmath.fsum(x * x for x in vector))
            kept.append([x * min(1, limit / norm) if norm else x for x in vector])
        return float(mpmath.sqrt(mpmath.fsum((a - b) ** 2 for a, b in zip(*kept, strict=True))))


@given(
    seed=st.integers(0, 10**6),
    closeness=st.sampled_from([1.0, 1e-3, 1e-9]),
    stretch=st.floats(0.2, 5),
    limit=st.floats(0.05, 20),
)
@settings(max_examples=80, deadline=None)
def test_clipped_distances_keep_their_digits(seed: int, closeness: float, stretch: float, limit: float) -> None:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=6)
    second = stretch * (first + closeness * rng.normal(size=6))
    norms = [float(np.linalg.norm(v)) for v in (first, second)]
    unit = first / norms[0] - second / norms[1]
    pairs = Pairs(np.array(norms[:1]), np.array(norms[1:]), np.array([unit @ unit]))
    truth = clipped_apart(first, second, limit)
    assert pairs.distances(limit)[0] == pytest.approx(truth, rel=1e-14 / closeness + 1e-13)
    assert pairs.distances(np.inf)[0] == pytest.approx(float(np.linalg.norm(first - second)), rel=1e-6)

    measured = pairs_from_distances(norms[:1], norms[1:], [float(np.linalg.norm(first - second))])
    assert measured.distances(np.inf)[0] == pytest.approx(float(np.linalg.norm(first - second)), rel=1e-12)


@given(norms=st.tuples(*[st.floats(0, 1e12)] * 2), turn=st.floats(0, 4), limit=st.floats(1e-9, 1e9))
@settings(max_examples=200, deadline=None)
def test_within_the_sensitivity(norms: tuple[float, float], turn: float, limit: float) -> None:
    pairs = Pairs(*(np.full(2, value) for value in (*norms, turn)))
    sample = GradientSample(np.array(norms), "two", pairs=pairs)
    distances = sample.distances(limit)
    assert (distances >= 0).all()
    assert (distances <= sample.sensitivity(limit)).all()
    assert distances[0] >= abs(min(norms[0], limit) - min(norms[1], limit)) * (1 - 1e-15)


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


LAWS = {
    "weibull": stats.weibull_min(0.5, scale=2.0),
    "lognormal": stats.lognorm(0.5, scale=2.0),
    "halfnormal": stats.halfnorm(scale=2.0),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_draws_follow_the_law(family: str) -> None:
    sample = draw_norms(family, count=20_000, seed=11, shape=0.5, scale=2.0)
    assert stats.kstest(sample.norms, LAWS[family].cdf).pvalue > 1e-3
    assert sample.independent
    assert "seed 11" in sample.description
    assert (draw_norms(family, count=20_000, seed=11, shape=0.5, scale=2.0).norms == sample.norms).all()
