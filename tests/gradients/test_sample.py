"""Distances of clipped gradients against the clipped vectors themselves."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.gradients.sample import GradientSample, Pairs, pairs_from_distances


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


def test_zero_and_parallel_gradients() -> None:
    pairs = pairs_from_distances([0.0, 3.0, 2.0], [5.0, 6.0, 2.0], [5.0, 3.0, 4.0])
    assert pairs.distances(4.0) == pytest.approx([4.0, 1.0, 4.0])
    assert pairs.distances(np.inf) == pytest.approx([5.0, 3.0, 4.0])
    assert pairs_from_distances([0.0, 3.0], [5.0, 3.0], [5.0, 0.0]).turn.tolist() == [0.0, 0.0]


def test_plain_source() -> None:
    sample = GradientSample(np.array([0.0, 1.0, 2.0, 5.0]), "four numbers")
    assert sample.size == 4
    assert sample.distances().tolist() == [0, 1, 2, 5]
    assert sample.distances(2.0).tolist() == [0, 1, 2, 2]
    assert sample.sensitivity(2.0) == 2.0
    assert sample.threshold(0.5) == 1.5
    assert sample.threshold(1.0) == 5.0
