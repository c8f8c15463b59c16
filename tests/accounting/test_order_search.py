"""Walking downhill finds the lowest place of every row, and looks at few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.search import Divergences, divergences_of, lowest
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


class TestDivergences:
    def test_each_is_computed_once_and_right(self) -> None:
        known = Divergences([1.0, 4.0], [0.1, 0.01])
        settings_, places = np.array([[0], [1]]), np.array([[5, 9000, 5], [9000, 7, 5]])
        for _ in range(2):
            found = known.at(settings_, places)
            assert known.looked_up == 5
        sigma, rate = np.array([[1.0], [4.0]]), np.array([[0.1], [0.01]])
        np.testing.assert_allclose(found, renyi_divergence(sigma, rate, FINE_ORDERS[places]), rtol=1e-13)
        np.testing.assert_allclose(known.at(np.array([1]), np.array([6])), renyi_divergence(4.0, 0.01, FINE_ORDERS[6]))
        assert known.looked_up == 6

    def test_settings_are_remembered_by_value(self) -> None:
        assert divergences_of(((4.0, 0.01),)) is divergences_of(((4.0, 0.01),))

    def test_orders_are_the_callers(self) -> None:
        known = Divergences(4.0, 1.0, np.array([2.0, 3.0]))
        assert known.at(np.array([0, 0]), np.array([0, 1])).tolist() == pytest.approx([2 / 32, 3 / 32], rel=1e-14)
