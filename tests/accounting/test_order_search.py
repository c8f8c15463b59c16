"""Walking downhill finds the lowest place of every row, and looks at few."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.accountant import GaussianSteps
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.search import Divergences, lowest
from dpviz.mechanisms.log_moments import renyi_divergence

PLACES = FINE_ORDERS.size


@settings(max_examples=40, deadline=None)
@given(
    bottoms=st.lists(st.integers(0, PLACES - 1), min_size=1, max_size=5),
    steepness=st.sampled_from([(1.0, 1.0), (1.0, 50.0), (50.0, 1.0)]),
    power=st.sampled_from([1.0, 2.0]),
    hole=st.integers(0, 3000),
    guess=st.one_of(st.none(), st.integers(-5, PLACES + 5)),
)
def test_the_bottom_of_any_valley(
    bottoms: list[int], steepness: tuple[float, float], power: float, hole: int, guess: int | None
) -> None:
    """Kinks, lopsided ones, and values that are infinite from some place on."""
    at = np.array(bottoms)
    seen = []

    def values(rows: np.ndarray, places: np.ndarray) -> np.ndarray:
        seen.append(places.size)
        away = places - at[rows]
        height = np.where(away < 0, steepness[0] * -away, steepness[1] * away) ** power
        return np.where(away > 2000 + hole, np.inf, height)

    place, value = lowest(values, at.size, PLACES, guess)
    assert place.tolist() == bottoms
    assert value.tolist() == [0.0] * at.size
    assert guess is not None or sum(seen) < 260 * at.size


def test_nothing_finite_is_told_as_infinite() -> None:
    place, value = lowest(lambda rows, places: np.full(np.broadcast_shapes(rows.shape, places.shape), np.inf), 2, 40)
    assert np.isinf(value).all()
    assert place.shape == (2,)


def test_each_divergence_is_computed_once_and_right() -> None:
    steps = GaussianSteps(np.array([1.0, 4.0]), np.array([0.1, 0.01]))
    divergences = Divergences(steps)
    which, places = np.array([[0], [1]]), np.array([[5, 9000, 5], [9000, 7, 5]])
    for _ in range(2):
        values = divergences.at(which, places)
        assert divergences.nbytes == 5 * 16
    sigma, rate = steps.noise_multiplier[:, None], steps.sample_rate[:, None]
    np.testing.assert_allclose(values, renyi_divergence(sigma, rate, FINE_ORDERS[places]), rtol=1e-13)
