"""Names at line ends never cover one another."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from dpviz.charts.labels import pushed_apart, shortened, text_width

positions = st.lists(st.floats(-1000, 1000), min_size=1, max_size=20)


@given(positions, st.floats(1, 30), st.floats(100, 800))
def test_labels_keep_apart_order_and_bounds(wanted: list[float], gap: float, height: float) -> None:
    placed = pushed_apart(wanted, gap=gap, low=0, high=height)
    fits = min(gap, height / max(len(wanted) - 1, 1))
    assert len(placed) == len(wanted)
    assert min(placed) >= -1e-9
    assert max(placed) <= height + 1e-6
    assert all(b - a >= fits - 1e-6 for a, b in zip(sorted(placed), sorted(placed)[1:], strict=False))
    for i, j in zip(*np.triu_indices(len(wanted), 1), strict=True):
        if wanted[i] < wanted[j]:
            assert placed[i] < placed[j]


@given(st.lists(st.floats(0, 300), min_size=1, max_size=12))
def test_labels_that_do_not_touch_stay(wanted: list[float]) -> None:
    spread = [200 * i + w / 3 for i, w in enumerate(wanted)]
    assert np.allclose(pushed_apart(spread, gap=15, low=-10, high=5000), spread)


def test_push_is_the_least_squares_answer() -> None:
    wanted = [10.0, 12.0, 13.0, 60.0, 61.0, 97.0]
    placed = np.array(pushed_apart(wanted, gap=12, low=0, high=100))
    constraints = [{"type": "ineq", "fun": lambda p, i=i: p[i + 1] - p[i] - 12} for i in range(5)]
    best = minimize(
        lambda p: ((p - wanted) ** 2).sum(), np.linspace(0, 100, 6), bounds=[(0, 100)] * 6, constraints=constraints
    )
    assert np.allclose(placed, best.x, atol=1e-3)


def test_width_grows_with_text_and_size() -> None:
    assert text_width("Rényi improved", 13) > text_width("Rényi", 13) > 0
    assert text_width("Moments", 26) == 2 * text_width("Moments", 13)


def test_shortened_keeps_short_names() -> None:
    assert shortened("Moments", 10) == "Moments"
    assert shortened("Rényi improved, σ = 2", 10) == "Rényi imp…"
    assert len(shortened("x" * 99, 28)) == 28
