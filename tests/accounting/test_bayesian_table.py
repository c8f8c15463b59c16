"""The table against the direct evaluation: never below it, at most 0.1 % of ε above."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from dpviz.accounting.bayesian.accountant import bayesian_bound, bayesian_cost, bayesian_epsilon
from dpviz.accounting.bayesian.costs import Estimator, make_bins, step_costs
from tests.accounting.references import sample_moments as direct

Array = npt.NDArray[np.float64]


def draw(family: str, size: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return {
        "weibull": lambda: rng.weibull(0.5, size),
        "clipped": lambda: np.minimum(rng.weibull(0.5, size), 0.7),
        "half-normal": lambda: np.abs(rng.normal(size=size)),
        "uniform": lambda: rng.random(size),
        "far from zero": lambda: 5 + rng.normal(size=size) / 10,
        "nearly equal": lambda: 1 + 1e-9 * rng.random(size),
        "two humps": lambda: rng.beta(0.05, 0.05, size),
        "mostly zero": lambda: np.where(rng.random(size) < 0.9, 0.0, rng.random(size)),
        "one far out": lambda: np.append(rng.random(size - 1), 3.0),
    }[family]()


FAMILIES = (
    "weibull",
    "clipped",
    "half-normal",
    "uniform",
    "far from zero",
    "nearly equal",
    "two humps",
    "mostly zero",
    "one far out",
)


@given(
    family=st.sampled_from(FAMILIES),
    seed=st.integers(0, 2**31),
    size=st.integers(2001, 6000),
    std=st.floats(-2, 3).map(lambda x: 10.0**x),
    rate=st.floats(-9, 0).map(lambda x: 10.0**x),
    steps=st.floats(0, 9).map(lambda x: round(10.0**x)),
    delta=st.sampled_from([0.99, 0.1, 1e-5, 1e-12]),
    failure=st.sampled_from([1e-15, 1e-3, 0.5]),
)
@settings(max_examples=100, deadline=None)
def test_never_below_and_within_a_thousandth(
    family: str, seed: int, size: int, std: float, rate: float, steps: int, delta: float, failure: float
) -> None:
    if delta <= failure:
        failure = 1e-15
    distances = draw(family, size, seed)
    orders = np.array([1.0, 2, 5, 16, 32])
    moments = direct(distances, std, rate, steps, orders, failure)
    truth = ((moments - math.log(delta - failure)) / orders).min()
    common = {"noise_std": std, "sample_rate": rate, "estimator_failure": failure, "orders": orders}
    found = bayesian_epsilon(distances, steps=steps, delta_mu=delta, **common)
    assert truth * (1 - 1e-12) <= found <= truth * 1.001
    cost = bayesian_cost(distances, total_steps=steps, **common)
    # below 1e-300 costs are subnormal numbers, which hold no twelve digits
    assert (cost >= moments / steps * (1 - 1e-11) - 1e-300).all()
    assert (cost <= moments / steps * (1.001 + 1e-11) + 1e-300).all()


def test_large_sample_over_all_steps() -> None:
    steps = np.geomspace(1, 1e9, 7).round()
    orders = np.array([1.0, 4, 16, 32])
    for family in ("clipped", "two humps", "uniform"):
        distances = draw(family, 50_000, 3)
        found = bayesian_epsilon(distances, noise_std=4.0, sample_rate=0.01, steps=steps, delta_mu=1e-5, orders=orders)
        for one, epsilon in zip(steps, found, strict=True):
            truth = ((direct(distances, 4.0, 0.01, one, orders, 1e-15) - math.log(1e-5 - 1e-15)) / orders).min()
            assert truth * (1 - 1e-12) <= epsilon <= truth * 1.001


@given(
    family=st.sampled_from(FAMILIES),
    seed=st.integers(0, 2**31),
    steps=st.floats(0, 9).map(lambda x: round(10.0**x)),
    order=st.integers(1, 64),
)
@settings(max_examples=60, deadline=None)
def test_every_level_bounds_the_truth_from_both_sides(family: str, seed: int, steps: int, order: int) -> None:
    distances = draw(family, 3000, seed)
    tau = float(student.isf(1e-15, 2999)) / math.sqrt(2999)
    estimator = Estimator((distances / 2.0) ** 2, np.array([order]), 0.05, tau, "left")
    (truth,) = direct(distances, 2.0, 0.05, steps, np.array([float(order)]), 1e-15)
    assert estimator.counts == (64, 512, None)
    for level in range(estimator.last + 1):
        (found,) = estimator.log_means(np.array([float(steps)]), np.array([0]), level)
        slack = 1e-11 * truth
        assert found.lower[0] - slack <= truth <= found.upper[0] + slack
    assert found.lower[0] == found.upper[0] == pytest.approx(truth, rel=1e-11)


def test_bins_hold_every_sample_once() -> None:
    ordered = np.sort(draw("clipped", 5000, 0))
    for count in (64, 512, None):
        bins = make_bins(ordered, count)
        assert bins.share.sum() == pytest.approx(1.0, rel=1e-14)
        assert (bins.low <= bins.mean).all()
        assert (bins.mean <= bins.high).all()
        assert (bins.high[:-1] < bins.low[1:]).all()
        assert bins.share @ bins.mean == pytest.approx(ordered.mean(), rel=1e-12)
        assert bins.low[-1] == bins.high[-1] == 0.7  # the clipped ones are one exact bin
        assert bins.share[-1] == pytest.approx(np.mean(ordered == 0.7), rel=1e-14)
    assert bins.exact
    assert bins.low.size == np.unique(ordered).size


@pytest.mark.parametrize("size", [500, 20_000])
@pytest.mark.parametrize("steps", [10, 1000, 100_000])
def test_tail_against_its_definition(size: int, steps: int) -> None:
    distances = draw("uniform", size, 5)
    bound = bayesian_bound(distances, noise_std=2.0, sample_rate=0.05, steps=steps, delta_mu=1e-5, orders=[4])
    grown = steps * step_costs((distances / 2.0) ** 2, np.array([4]), 0.05)[:, 0]
    x = np.exp(grown - grown.max())
    assert bound.largest_share == pytest.approx(x.max() / x.sum(), rel=2e-2)
    assert bound.effective_size == pytest.approx(x.sum() ** 2 / (x**2).sum(), rel=2e-2)
    assert bool(bound.tail_dominated) == bool(x.max() / x.sum() > 0.5)


def test_tail_dominated_by_one_sample() -> None:
    heavy = bayesian_bound(
        draw("weibull", 10_000, 1), noise_std=1.0, sample_rate=0.1, steps=[1, 1000], delta_mu=1e-5, orders=[8]
    )
    assert heavy.tail_dominated.all()
    assert heavy.effective_size == pytest.approx([1.0, 1.0])


def test_array_of_steps_equals_one_by_one() -> None:
    distances = draw("half-normal", 5000, 9)
    steps = np.array([1, 17, 1000, 10**6])
    common = {"noise_std": 3.0, "sample_rate": 0.02, "delta_mu": 1e-6}
    together = bayesian_epsilon(distances, steps=steps, **common)
    assert together == pytest.approx([bayesian_epsilon(distances, steps=t, **common) for t in steps], rel=1e-13)


def test_order_of_samples_does_not_matter() -> None:
    distances = draw("clipped", 4000, 2)
    common = {"noise_std": 3.0, "sample_rate": 0.02, "delta_mu": 1e-6, "steps": 500}
    assert bayesian_epsilon(distances, **common) == bayesian_epsilon(distances[::-1], **common)
