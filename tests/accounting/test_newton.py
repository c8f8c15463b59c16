"""Many Rényi settings at once: the same values as one by one, whatever they are, in bounded memory."""

import tracemalloc
from typing import Any

import numpy as np
import pytest

import dpviz
from dpviz._arrays import Array, Index
from dpviz.accounting.accountant import GaussianSteps
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.newton import newton_orders
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.search import Divergences, lowest


def settings(number: int, seed: int) -> tuple[Array, ...]:
    """σ, q, T and δ, (number,) each."""
    rng = np.random.default_rng(seed)
    ranges = [(0.3, 40.0), (1e-6, 0.999), (1.0, 1e7)]
    sigma, rate, steps = (np.exp(rng.uniform(*np.log(ends), number)) for ends in ranges)
    return sigma, rate, np.round(steps), 10.0 ** rng.uniform(-12.0, -1.0, number)


@pytest.mark.parametrize("conversion", ["improved", "classic"])
def test_newton_finds_the_order_that_a_search_of_the_whole_grid_finds(conversion: str) -> None:
    sigma, rate, steps, delta = settings(250, 3)
    place, value = newton_orders(sigma, rate, steps, delta, conversion)
    divergences = Divergences(GaussianSteps(sigma, rate))

    def values(rows: Index, places: Index) -> Array:
        total = steps[rows] * divergences.at(rows, places)
        return epsilon_per_order(total, FINE_ORDERS[places], delta[rows[:, 0]], conversion)

    best, least = lowest(values, sigma.size, FINE_ORDERS.size)
    found = place >= 0
    assert found.mean() > 0.85
    assert (np.abs(place - best)[found] <= 1).all()
    scale = np.abs(least[found]) + np.log(1.0 / delta[found]) / (FINE_ORDERS[best[found]] - 1.0)  # ε is a difference
    assert (np.abs(value - least)[found] <= 1e-12 * scale).all()
    named = values(np.flatnonzero(found)[:, None], place[found][:, None])[:, 0]
    assert (np.abs(value[found] - named) <= 1e-12 * scale).all()


@pytest.mark.parametrize("conversion", ["improved", "classic"])
def test_a_table_of_settings_is_what_each_of_them_costs_alone(conversion: str) -> None:
    sigma, rate = np.geomspace(0.05, 60.0, 9)[:, None], np.array([0.0, 1e-7, 1e-3, 0.2, 0.97, 1.0])
    for steps, delta in ((1, 1e-3), (10_000, 1e-5), (10**10, 1e-9)):
        asked: Any = {"steps": steps, "delta": delta, "conversion": conversion}
        together = dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, **asked)
        alone = [
            [dpviz.epsilon("renyi", noise_multiplier=float(s), sample_rate=float(q), **asked) for q in rate]
            for s in sigma[:, 0]
        ]
        assert together == pytest.approx(np.array(alone), rel=1e-12, abs=0.0)


def test_blocks_of_rows_leave_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    sigma, rate, steps, delta = settings(90, 5)
    asked: Any = {"noise_multiplier": sigma, "sample_rate": rate, "steps": steps}
    whole = dpviz.epsilon("renyi", delta=delta, **asked)
    least = dpviz.delta("renyi", epsilon=1.0, **asked)
    monkeypatch.setattr("dpviz.accounting.renyi.best_epsilon.TOGETHER", 7)
    assert dpviz.epsilon("renyi", delta=delta, **asked) == pytest.approx(whole, rel=1e-12, abs=0.0)
    assert dpviz.delta("renyi", epsilon=1.0, **asked) == pytest.approx(least, rel=1e-9, abs=0.0)


def test_two_hundred_by_two_hundred_settings_take_little_memory() -> None:
    sigma, rate = np.geomspace(0.6, 20.0, 200)[:, None], np.geomspace(1e-3, 0.3, 200)
    tracemalloc.start()
    dpviz.epsilon("renyi", noise_multiplier=sigma, sample_rate=rate, steps=1000, delta=1e-5)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100e6  # bytes; a million settings add their own inputs and results alone
