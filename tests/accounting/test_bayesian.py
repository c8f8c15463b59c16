"""ε_μ against 40-digit arithmetic, the moments accountant, and what must hold of any bound."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.bayesian.accountant import bayesian_bound, bayesian_cost, bayesian_epsilon
from tests.accounting.references import step_moment

PLAIN: dict[str, Any] = {"noise_std": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}


def mp_quantile(failure: float, freedom: int) -> mpmath.mpf:
    """t with P(Student > t) = failure, from the incomplete beta function."""

    def log_tail(t: mpmath.mpf) -> mpmath.mpf:
        x = freedom / (freedom + t * t)
        return mpmath.log(mpmath.betainc(mpmath.mpf(freedom) / 2, 0.5, 0, x, regularized=True) / 2)

    start = mpmath.mpf(failure) ** (mpmath.mpf(-1) / freedom)
    low, high = start / 64, start * 64
    for _ in range(200):
        middle = mpmath.sqrt(low * high)
        low, high = (middle, high) if log_tail(middle) > mpmath.log(failure) else (low, middle)
    return low


def mp_cost(distances: list[float], std: float, rate: float, steps: int, order: int, failure: float) -> mpmath.mpf:
    """Eq. 14 of Triastcyn & Faltings 2020."""
    size = len(distances)
    grown = [step_moment((mpmath.mpf(d) / mpmath.mpf(std)) ** 2, order, rate) ** steps for d in distances]
    mean = mpmath.fsum(grown) / size
    spread = mpmath.sqrt(mpmath.fsum((x - mean) ** 2 for x in grown) / size)
    return mpmath.log(mean + mp_quantile(failure, size - 1) * spread / mpmath.sqrt(size - 1)) / steps


@pytest.mark.parametrize("size", [2, 3, 11, 40])
@pytest.mark.parametrize("steps", [1, 1000, 10**6])
def test_estimator_to_eleven_digits(size: int, steps: int) -> None:
    distances = np.random.default_rng(size).weibull(0.7, size).tolist()
    with mpmath.workdps(60):
        for order in (1, 16):
            for failure in (1e-15, 0.01):
                truth = mp_cost(distances, 3.0, 0.02, steps, order, failure)
                (found,) = bayesian_cost(
                    distances,
                    noise_std=3.0,
                    sample_rate=0.02,
                    total_steps=steps,
                    orders=[order],
                    estimator_failure=failure,
                )
                assert found == pytest.approx(float(truth), rel=1e-11)


def test_epsilon_from_its_formula() -> None:
    distances = np.random.default_rng(8).random(30)
    cost = bayesian_cost(
        distances, noise_std=2.0, sample_rate=0.1, total_steps=500, orders=range(1, 33), estimator_failure=1e-10
    )
    by_hand = min((500 * c - math.log(1e-6 - 7e-10)) / order for order, c in enumerate(cost, start=1))
    found = bayesian_epsilon(
        distances,
        noise_std=2.0,
        sample_rate=0.1,
        steps=500,
        delta_mu=1e-6,
        estimator_failure=1e-10,
        estimates=7,
    )
    assert found == pytest.approx(by_hand, rel=1e-13)


@pytest.mark.parametrize(
    ("steps", "expected", "order"), [(10_000, 1.258574741, 20), (20_000, 1.795666812, 14), (40_000, 2.575872501, 10)]
)
@pytest.mark.parametrize("size", [2, 5, 100_000])
def test_equal_distances_are_the_moments_accountant(steps: int, expected: float, order: int, size: int) -> None:
    bound = bayesian_bound(np.ones(size), steps=steps, **PLAIN)
    assert bound.epsilon == pytest.approx(expected, abs=6e-10)
    assert bound.order == order
    assert bound.effective_size == pytest.approx(size, rel=1e-12)
    assert bound.largest_share == pytest.approx(1 / size, rel=1e-12)


@given(
    distance=st.floats(1e-3, 20),
    std=st.floats(0.1, 50),
    rate=st.floats(1e-6, 1),
    steps=st.integers(1, 10**9),
    order=st.integers(1, 64),
)
@settings(max_examples=60, deadline=None)
def test_equal_distances_cost_psi(distance: float, std: float, rate: float, steps: int, order: int) -> None:
    (found,) = bayesian_cost(np.full(7, distance), noise_std=std, sample_rate=rate, total_steps=steps, orders=[order])
    with mpmath.workdps(60):
        truth = float(mpmath.log(step_moment((mpmath.mpf(distance) / mpmath.mpf(std)) ** 2, order, rate)))
    assert found == pytest.approx(truth, rel=1e-12)


def test_the_printed_divergence_undoes_sampling() -> None:
    found = bayesian_epsilon(np.ones(4), steps=10_000, divergence="printed", **PLAIN)
    assert found == pytest.approx(7.71, abs=0.005)
    varied = np.random.default_rng(0).random(50)
    printed = bayesian_epsilon(varied, steps=[1, 100, 10**5], divergence="printed", **PLAIN)
    assert (printed > bayesian_epsilon(varied, steps=[1, 100, 10**5], **PLAIN)).all()


def test_both_readings() -> None:
    distances = np.minimum(np.random.default_rng(4).weibull(0.5, 10_000), 1.0)
    steps = np.array([1, 10, 300, 1000, 3000, 10_000])
    planned = bayesian_epsilon(distances, steps=steps, **PLAIN)
    running = bayesian_bound(distances, steps=steps, reading="running", **PLAIN)
    assert running.epsilon[-1] == pytest.approx(planned[-1], rel=1e-3)
    assert (planned <= running.epsilon * 1.001).all()  # Hölder: a longer plan costs more a step
    cost = bayesian_cost(distances, noise_std=4.0, sample_rate=0.01, total_steps=10_000, orders=range(1, 33))
    by_hand = ((steps[:, None] * cost - math.log(1e-5 - 1e-15)) / np.arange(1, 33)).min(axis=1)
    assert running.epsilon == pytest.approx(by_hand, rel=1e-3)
    assert (running.epsilon >= by_hand * (1 - 1e-3)).all()


def test_a_longer_plan_costs_more_a_step() -> None:
    distances = np.random.default_rng(4).random(2000)
    cost = bayesian_cost(distances, noise_std=1.0, sample_rate=0.1, total_steps=[1, 100, 10**4, 10**8], orders=[4, 9])
    assert cost.shape == (4, 2)
    assert (np.diff(cost, axis=0) > 0).all()
    worst = bayesian_cost([1.0, 1.0], noise_std=1.0, sample_rate=0.1, total_steps=1, orders=[4, 9])
    assert (cost < worst).all()


@given(
    seed=st.integers(0, 1000),
    size=st.integers(2, 200),
    std=st.floats(0.3, 30),
    rate=st.floats(1e-5, 0.9),
    steps=st.integers(1, 10**7),
    delta=st.floats(1e-12, 0.1),
    factor=st.floats(1, 10),
)
@settings(max_examples=50, deadline=None)
def test_monotone(seed: int, size: int, std: float, rate: float, steps: int, delta: float, factor: float) -> None:
    distances = np.random.default_rng(seed).weibull(1.0, size)

    def epsilon(**changed: Any) -> float:
        values = {"noise_std": std, "sample_rate": rate, "steps": steps, "delta_mu": delta, "distances": distances}
        return float(bayesian_epsilon(**{**values, **changed}))

    here, slack = epsilon(), 1 + 1e-11
    assert epsilon(steps=math.ceil(steps * factor)) * slack >= here
    assert epsilon(noise_std=std * factor) <= here * slack
    assert epsilon(delta_mu=delta * factor) <= here * slack if delta * factor < 1 else True
    assert epsilon(sample_rate=rate / factor) <= here * slack
    assert epsilon(distances=distances * factor) * slack >= here
    assert epsilon(orders=range(1, 65)) <= here * slack


def test_orders_floor_and_grid_end() -> None:
    free = bayesian_bound(np.zeros(9), steps=10**9, **PLAIN)
    assert free.epsilon == free.floor == pytest.approx(math.log(1 / (1e-5 - 1e-15)) / 32, rel=1e-12)
    assert free.order == 33
    assert free.at_grid_end
    fixed = bayesian_bound(np.ones(9), steps=[10, 10_000], orders=[16], **PLAIN)
    assert (fixed.order == 17).all()
    mixed = bayesian_cost(np.ones(9), noise_std=4.0, sample_rate=0.01, total_steps=10, orders=[7, 2, 7])
    assert mixed[0] == mixed[2] > mixed[1]


def test_shapes() -> None:
    distances = np.random.default_rng(0).random(20)
    assert isinstance(bayesian_epsilon(distances, steps=5, **PLAIN), float)
    assert bayesian_epsilon(distances, steps=[5], **PLAIN).shape == (1,)
    grid = bayesian_epsilon(distances, noise_std=4.0, sample_rate=0.01, steps=[[1, 2, 3]], delta_mu=[[1e-5], [1e-9]])
    assert grid.shape == (2, 3)
    assert grid[1, 2] == bayesian_epsilon(distances, noise_std=4.0, sample_rate=0.01, steps=3, delta_mu=1e-9)
    assert bayesian_cost(distances, noise_std=4.0, sample_rate=0.01, total_steps=3, orders=[1, 2]).shape == (2,)


@pytest.mark.parametrize("reading", ["planned", "running"])
def test_extreme_but_legal(reading: str) -> None:
    distances = np.random.default_rng(0).weibull(0.5, 3000)
    steps = [1, 10**9]
    quiet = bayesian_bound(distances, noise_std=1000.0, sample_rate=1e-9, steps=steps, delta_mu=0.5, reading=reading)
    assert np.isfinite(quiet.epsilon).all()
    tiny = bayesian_epsilon(
        distances,
        noise_std=1000.0,
        sample_rate=1e-9,
        steps=steps,
        delta_mu=1e-300,
        estimator_failure=1e-305,
        reading=reading,
    )
    assert tiny == pytest.approx(300 * math.log(10) / 32, rel=0.01)
    loud = bayesian_epsilon(
        distances * 1e200, noise_std=1e-9, sample_rate=0.5, steps=steps, delta_mu=1e-5, reading=reading
    )
    assert np.isinf(loud).all()
    assert bayesian_epsilon(
        distances * 1e200, noise_std=1e-9, sample_rate=0.0, steps=steps, delta_mu=1e-5, reading=reading
    ) == pytest.approx(math.log(1e5) / 32)
    large = bayesian_epsilon(distances, noise_std=1.0, sample_rate=1.0, steps=steps, delta_mu=1e-5, reading=reading)
    assert large[1] == pytest.approx(10**9 * distances.max() ** 2 / 2 * 2, rel=1e-6)  # λ = 1: ψ = u


def test_figure_1_setting() -> None:
    """50 vectors of 1000 Weibull(½) coordinates: BDP unclipped at the noise of DP's clipping at the 0.75 quantile."""
    from dpviz.gradients.sample import weibull_vectors

    sample = weibull_vectors(vectors=50, dimensions=1000, shape=0.5, seed=3, pairing="all")
    limit = sample.threshold(0.75)
    common: dict[str, Any] = {
        "noise_std": 1.0 * sample.sensitivity(limit),
        "sample_rate": 1e-3,
        "steps": [1, 10, 100],
        "delta_mu": 1e-5,
        "orders": [16],
    }
    clipped = bayesian_epsilon(sample.distances(limit), **common)
    worst = bayesian_epsilon([sample.sensitivity(limit)] * 2, **common)  # equal distances: the moments accountant
    assert (clipped < worst).all()
    assert (bayesian_epsilon(sample.distances(), **common) < worst).all()
