"""Bayesian DP: ψ against 60 digits, ε_μ against direct sums, the certified bound at any m, pools, solver and sweep."""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betainc
from scipy.stats import t as student

import dpviz
from dpviz.accounting.bayesian.accountant import (
    ORDERS,
    bayesian_bound,
    bayesian_cost,
    bayesian_epsilon,
    student_margin,
)
from dpviz.accounting.bayesian.consequences import binary_estimator
from dpviz.accounting.bayesian.costs import FIRST_ORDERS, psi, step_costs
from dpviz.accounting.bayesian.envelope import envelope, lower_band
from dpviz.accounting.bayesian.estimator import Estimator
from dpviz.accounting.bayesian.pool import _ENDS, Pool
from dpviz.accounting.bayesian.sample_size import bayesian_samples
from dpviz.accounting.bayesian.sweep import BayesianSweep
from tests.accounting.references import geometric, sample_moments, step_moment
from tests.accounting.slow_pool import slow_pool_cost

PLAIN: dict[str, Any] = {"noise_std": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}


@pytest.mark.parametrize("size", [2, 3, 11, 40])
@pytest.mark.parametrize("failure", [1e-15, 0.01])
def test_few_distances_to_eleven_digits(size: int, failure: float) -> None:
    """And Student's quantile in it is one."""
    distances, orders = np.random.default_rng(size).weibull(0.7, size), np.array([1.0, 16.0])
    margin = student_margin(size, failure) * math.sqrt(size - 1)
    assert student.sf(margin, size - 1) == pytest.approx(failure, rel=1e-10)
    for steps in (1, 1000, 10**6):
        known = {"noise_std": 3.0, "sample_rate": 0.02, "total_steps": steps, "estimator_failure": failure}
        truth = sample_moments(distances, 3.0, 0.02, steps, orders, failure) / steps
        assert bayesian_cost(distances, orders=orders, **known) == pytest.approx(truth, rel=1e-11)


def test_epsilon_from_its_formula() -> None:
    distances = np.random.default_rng(8).random(30)
    known = {"noise_std": 2.0, "sample_rate": 0.1, "estimator_failure": 1e-10}
    cost = bayesian_cost(distances, total_steps=500, orders=range(1, 33), **known)
    by_hand = min((500 * c - math.log(1e-6 - 7e-10)) / order for order, c in enumerate(cost, start=1))
    assert bayesian_epsilon(distances, steps=500, delta_mu=1e-6, estimates=7, **known) == pytest.approx(
        by_hand, rel=1e-13
    )


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


def test_another_person_in_each_step_costs_t_times_the_cost_of_one_planned_step() -> None:
    distances, steps = np.minimum(np.random.default_rng(4).weibull(0.5, 10_000), 1.0), np.array([1, 300, 10_000])
    another = bayesian_epsilon(distances, steps=steps, reading="another", **PLAIN)
    cost = bayesian_cost(distances, noise_std=4.0, sample_rate=0.01, total_steps=1, orders=range(1, 33))
    by_hand = ((steps[:, None] * cost - math.log(1e-5 - 1e-15)) / np.arange(1, 33)).min(axis=1)
    assert another == pytest.approx(by_hand, rel=1e-3)
    assert (another >= by_hand * (1 - 1e-3)).all()
    assert another[-1] < 0.9 * bayesian_epsilon(distances, steps=10_000, **PLAIN)


def test_orders_floor_and_grid_end() -> None:
    free = bayesian_bound(np.zeros(9), steps=10**9, **PLAIN)
    assert free.epsilon == free.floor == pytest.approx(math.log(1 / (1e-5 - 1e-15)) / 32, rel=1e-12)
    assert free.order == 33
    assert free.at_grid_end
    fixed = bayesian_bound(np.ones(9), steps=[10, 10_000], orders=[16], **PLAIN)
    assert (fixed.order == 17).all()
    mixed = bayesian_cost(np.ones(9), noise_std=4.0, sample_rate=0.01, total_steps=10, orders=[7, 2, 7])
    assert mixed[0] == mixed[2] > mixed[1]


def psi_of(u: float, order: int, rate: float, divergence: str = "left") -> float:
    return float(step_costs(np.array([u]), np.array([order]), rate, divergence)[0, 0])


@pytest.mark.parametrize("u", [1e-14, 1e-6, 1 / 16, 1.0, 40.0, 1e5, 1e12])
@pytest.mark.parametrize("rate", [1e-9, 1e-3, 0.01, 0.5, 1 - 1e-9])
@pytest.mark.parametrize("order", [1, 2, 19, 32, 255])
def test_both_divergences_to_twelve_digits(u: float, rate: float, order: int) -> None:
    with mpmath.workdps(60):
        left, right = (mpmath.log(step_moment(u, order, rate, side)) for side in ("left", "right"))
    assert psi_of(u, order, rate) == pytest.approx(float(left), rel=1e-12)
    assert psi_of(u, order, rate, "printed") == pytest.approx(float(max(left, right)), rel=1e-12)


def test_edges() -> None:
    orders = np.array([1, 7, 32])
    u = np.array([0.0, 0.25, 9.0])
    assert not step_costs(u, orders, 0.0).any()
    assert step_costs(u, orders, 1.0) == pytest.approx(u[:, None] * orders * (orders + 1) / 2, rel=1e-14)
    assert not step_costs(np.zeros(3), orders, 0.3, "printed").any()
    assert step_costs(np.zeros(0), orders, 0.3).shape == (0, 3)


def test_many_rows_are_the_same_as_one_by_one() -> None:
    u = np.random.default_rng(1).random(40_000)  # more than one block of work
    orders = np.array([3, 32])
    together = step_costs(u, orders, 0.02)
    for i in (0, 31_774, 31_775, 39_999):
        assert together[i] == pytest.approx([psi_of(u[i], 3, 0.02), psi_of(u[i], 32, 0.02)], rel=1e-14)


three = st.lists(st.floats(0, 100), min_size=3, max_size=3, unique=True)


@given(three, st.integers(1, 40), st.floats(0, 1), st.sampled_from(["left", "printed"]))
@settings(max_examples=200, deadline=None)
def test_increasing_and_convex_in_u(u: list[float], order: int, rate: float, divergence: str) -> None:
    a, b, c = sorted(u)
    low, middle, high = step_costs(np.array([a, b, c]), np.array([order]), rate, divergence)[:, 0]
    slack = 1e-13 * high
    assert low <= middle + slack <= high + 2 * slack
    assert middle <= low + (high - low) * ((b - a) / (c - a)) + slack


Array = npt.NDArray[np.float64]


FAMILIES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "weibull": lambda rng, size: rng.weibull(0.5, size),
    "clipped": lambda rng, size: np.minimum(rng.weibull(0.5, size), 0.7),
    "light": lambda rng, size: rng.weibull(3.0, size),
    "half-normal": lambda rng, size: np.abs(rng.normal(size=size)),
    "uniform": lambda rng, size: rng.random(size),
    "far from zero": lambda rng, size: 5 + rng.normal(size=size) / 10,
    "nearly equal": lambda rng, size: 1 + 1e-9 * rng.random(size),
    "two humps": lambda rng, size: rng.beta(0.05, 0.05, size),
    "mostly zero": lambda rng, size: np.where(rng.random(size) < 0.9, 0.0, rng.random(size)),
    "one far out": lambda rng, size: np.append(rng.random(size - 1), 3.0),
}


def draw(family: str, size: int, seed: int) -> Array:
    return FAMILIES[family](np.random.default_rng(seed), size)


def samples(least: int, most: int) -> st.SearchStrategy[Array]:
    return st.builds(draw, st.sampled_from(sorted(FAMILIES)), st.integers(least, most), st.integers(0, 2**31))


run_lengths = geometric(1.0, 1e9).map(round)
failures_and_deltas = st.sampled_from(
    [(failure, delta) for failure in (1e-15, 1e-3, 0.5) for delta in (0.99, 0.1, 1e-5, 1e-12) if delta > failure]
)


@given(samples(2001, 6000), geometric(0.01, 1000.0), geometric(1e-9, 1.0), run_lengths, failures_and_deltas)
@settings(max_examples=100, deadline=None)
def test_never_below_and_within_a_thousandth(
    distances: Array, std: float, rate: float, steps: int, both: tuple[float, float]
) -> None:
    failure, delta = both
    orders = np.array([1.0, 2, 5, 16, 32])
    moments = sample_moments(distances, std, rate, steps, orders, failure)
    truth = ((moments - math.log(delta - failure)) / orders).min()
    common = {"noise_std": std, "sample_rate": rate, "estimator_failure": failure, "orders": orders}
    found = bayesian_epsilon(distances, steps=[1, steps], delta_mu=delta, **common)[1]
    assert truth * (1 - 1e-12) <= found <= truth * 1.001
    cost = bayesian_cost(distances, total_steps=steps, **common)
    # below 1e-300 costs are subnormal numbers, which hold no twelve digits
    assert (cost >= moments / steps * (1 - 1e-11) - 1e-300).all()
    assert (cost <= moments / steps * (1.001 + 1e-11) + 1e-300).all()


@given(samples(3000, 3000), run_lengths, st.integers(1, 64))
@settings(max_examples=60, deadline=None)
def test_every_level_bounds_the_truth_from_both_sides(distances: Array, steps: int, order: int) -> None:
    tau = float(student.isf(1e-15, 2999)) / math.sqrt(2999)
    estimator = Estimator((distances / 2.0) ** 2, np.array([order]), 0.05, tau, "left")
    (truth,) = sample_moments(distances, 2.0, 0.05, steps, np.array([float(order)]), 1e-15)
    assert estimator.counts == (64, 512, None)
    for level in range(estimator.last + 1):
        found = estimator.log_means(np.array([float(steps)]), np.array([0]), level)
        slack = 1e-11 * truth
        assert found.lower[0] - slack <= truth <= found.upper[0] + slack
    assert found.lower[0] == found.upper[0] == pytest.approx(truth, rel=1e-11)


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


# Where the printed estimate was first seen to fail: P(d = C) = 1e-3.
SETTING: dict[str, Any] = {"noise_std": 1.0, "sample_rate": 0.05, "total_steps": 200, "orders": (1, 2, 3, 5, 8)}


# A band of one side fears the coin most: an atom at zero of about the mass that m draws cannot exclude.
DISTRIBUTIONS: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "two points": lambda rng, size: (rng.random(size) < 1e-3).astype(float),
    "clipped Weibull": lambda rng, size: np.minimum(rng.weibull(0.5, size) / 8.0, 1.0),
    "uniform": FAMILIES["uniform"],
    "point": lambda rng, size: np.full(size, 0.3),
    "coin": lambda rng, size: (rng.random(size) < 0.05).astype(float),
}
ATOMS = {"two points": 1e-3, "coin": 0.05}  # P(d = 1), else d = 0


def true_cost(name: str) -> Array:
    """T·c(λ, T) = ln E exp(Tψ(λ, d)), exactly or from quantiles of two million draws, of which it is a lower bound."""
    if name in ATOMS:
        values, masses = np.array([0.0, 1.0]), np.array([1.0 - ATOMS[name], ATOMS[name]])
    else:
        values = np.quantile(DISTRIBUTIONS[name](np.random.default_rng(99), 2_000_000), np.arange(4000) / 4000)
        masses = np.full(values.size, 1.0 / values.size)
    grown = 200 * step_costs(values**2, np.array(SETTING["orders"]), 0.05)
    return np.asarray(grown[-1] + np.log(masses @ np.exp(grown - grown[-1])))


def failures(name: str, size: int, failure: float, trials: int, **option: float) -> float:
    """Share of samples that give a cost below the true one at any order."""
    least, rng = true_cost(name) * (1 - 1e-9) / 200, np.random.default_rng(size)
    known = SETTING | option | {"estimator_failure": failure}
    below = [(bayesian_cost(DISTRIBUTIONS[name](rng, size), **known) < least).any() for _ in range(trials)]
    return float(np.mean(below))


@pytest.mark.parametrize(("size", "wrong"), [(100, 0.85), (1000, 0.25)])
def test_the_printed_estimate_is_too_low_far_more_often_than_it_says(size: int, wrong: float) -> None:
    """Why there is another bound: P(d = C) = 1e-3, γ = 0.01."""
    assert failures("two points", size, 0.01, 60) > wrong
    assert failures("two points", size, 0.01, 60, largest_distance=1.0) == 0.0


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [20, 50, 1000])
@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
@pytest.mark.one_of(5)
def test_the_certified_bound_is_too_low_no_more_often_than_it_says(name: str, size: int, failure: float) -> None:
    allowed = failure + 3.5 * math.sqrt(failure * (1 - failure) / 60)
    assert failures(name, size, failure, 60, largest_distance=1.0) <= allowed


@pytest.mark.parametrize("failure", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("size", [1, 2, 20, 100, 2000])
def test_the_band_is_left_with_probability_gamma(size: int, failure: float) -> None:
    """Sorted uniform numbers are F(d_(i)) of any continuous F; all ranks together."""
    trials = 4000 if size <= 100 else 1000
    rng = np.random.default_rng(size)
    drawn = np.sort(rng.random((trials, size)), axis=1)
    left = float((drawn < lower_band(np.arange(1, size + 1), size, failure)).any(axis=1).mean())
    assert left <= failure + 3.5 * math.sqrt(failure / trials)
    assert left >= 0.2 * failure - 3.5 * math.sqrt(failure / trials)  # and γ is not given away


@pytest.mark.parametrize("failure", [0.3, 1e-6, 1e-15, 1e-300])
@pytest.mark.parametrize("size", [1, 5, 100, 100_000, 10**9])
def test_the_band_by_its_definitions(size: int, failure: float) -> None:
    """Each rank's bound is met with the probability that the exact tails say; their sum is γ."""
    ranks = np.unique(np.round(np.geomspace(1, size, 40)))
    band = lower_band(ranks, size, failure)
    massart = ranks / size - math.sqrt(math.log(4.0 / failure) / (2 * size))
    exact = band > massart + 1e-12
    assert (np.diff(band) >= 0).all()
    assert (band >= 0).all()
    assert (band < 1).all()
    inner = exact & (ranks < size)
    assert (betainc(ranks[inner], size - ranks[inner] + 1, band[inner]) <= failure / 4).all()
    assert band[-1] ** size <= failure / 2 * (1 + 1e-6) or not exact[-1]
    assert lower_band(0, size, failure) == 0.0


@pytest.mark.parametrize("size", [2, 64, 500, 3000])
@pytest.mark.parametrize("steps", [1, 200, 10**6])
@pytest.mark.parametrize("reading", ["planned", "running"])
def test_between_the_sample_s_own_mean_and_the_worst_case(size: int, steps: int, reading: str) -> None:
    distances = DISTRIBUTIONS["clipped Weibull"](np.random.default_rng(size), size)
    known = {"noise_std": 2.0, "sample_rate": 0.02, "steps": [1, steps], "delta_mu": 1e-5, "reading": reading}
    bound = bayesian_bound(distances, largest_distance=1.0, **known)
    worst = bayesian_bound([1.0, 1.0], **(known | {"estimator_failure": 1e-300}))
    grown = steps * step_costs((distances / 2.0) ** 2, np.array(ORDERS), 0.02)
    mean = grown.max(axis=0) + np.log(np.exp(grown - grown.max(axis=0)).mean(axis=0))
    plain = max(float(((mean + math.log(1e5)) / np.array(ORDERS)).min()), 0.0)
    assert bound.certified
    assert not worst.certified
    assert plain * (1 - 1e-9) <= bound.epsilon[-1]
    assert (bound.epsilon <= worst.epsilon * (1 + 1e-12)).all()
    assert bound.ceiling == pytest.approx(worst.epsilon, rel=1e-12)
    assert np.isnan(bound.effective_size).all()
    assert ((bound.largest_share > 0) & (bound.largest_share <= 1)).all()


def test_the_direct_sum_over_the_envelope() -> None:
    """ε_μ and ĉ are those of the envelope's mean; the table of many distances is never below it."""
    for size in (50, 5000):
        distances = draw("uniform", size, 1)
        values, masses = envelope(distances, 1.5, 1e-4)
        grown = 300 * step_costs((values / 2.0) ** 2, np.array(ORDERS), 0.1)
        moments = grown[-1] + np.log(masses @ np.exp(grown - grown[-1]))
        known = {"noise_std": 2.0, "sample_rate": 0.1, "estimator_failure": 1e-4, "largest_distance": 1.5}
        cost = bayesian_cost(distances, total_steps=300, orders=ORDERS, **known)
        assert (cost * 300 >= moments * (1 - 1e-11)).all()
        assert cost * 300 == pytest.approx(moments, rel=1e-3)
        epsilon = bayesian_epsilon(distances, steps=300, delta_mu=1e-3, estimates=3, **known)
        by_hand = ((moments - math.log(1e-3 - 3e-4)) / np.array(ORDERS)).min()
        assert epsilon == pytest.approx(by_hand, rel=1e-3 if size > 2000 else 1e-12)
        sweep = BayesianSweep(distances, **(known | {"noise_std": [2.0]})).bound(steps=300, delta_mu=1e-3)
        alone = bayesian_bound(distances, steps=300, delta_mu=1e-3, **known)
        assert sweep.epsilon[0] == pytest.approx(float(alone.epsilon), rel=1e-3)
        assert sweep.largest_share[0] == pytest.approx(float(alone.largest_share), rel=1e-2)
        assert sweep.certified


def test_a_hundred_zeros_say_little() -> None:
    """The estimate of 0.72 for a hundred zeros; behind such samples the truth can be 7.75."""
    known = {"noise_std": 1.0, "sample_rate": 0.05, "steps": 200, "delta_mu": 1e-10}
    zeros = np.zeros(100)
    assert bayesian_epsilon(zeros, **known) == pytest.approx(0.7196, abs=1e-4)
    bound = bayesian_bound(zeros, largest_distance=1.0, **known)
    assert 7.75 < bound.epsilon < bayesian_epsilon(np.ones(2), **known)
    assert bound.tail_dominated


def test_d_max_throughout_decides_where_the_sample_cannot_help() -> None:
    """All at d_max: no sample does better, and without a sample γ is not paid."""
    plan = {"steps": 200, "delta_mu": 1e-3}
    known = {"noise_std": [1.0], "sample_rate": 0.05, "estimator_failure": 9e-4, "largest_distance": 1.0}
    alone = bayesian_bound(np.ones(1000), **(known | {"noise_std": 1.0}), **plan)
    free = bayesian_epsilon(np.ones(2), noise_std=1.0, sample_rate=0.05, estimator_failure=1e-300, **plan)
    for bound in (alone, BayesianSweep(np.ones(1000), **known).bound(**plan)):
        assert np.all(bound.worst_case)
        assert bound.epsilon == pytest.approx(free, rel=1e-12)


def test_nothing_finite_is_claimed_where_numbers_end() -> None:
    known: dict[str, Any] = {"sample_rate": 0.5, "largest_distance": 1e200}
    assert np.isinf(bayesian_epsilon([0.0, 1.0], noise_std=1e-9, steps=3, delta_mu=1e-5, **known))
    assert np.isinf(bayesian_cost([0.0, 1.0], noise_std=1e-9, total_steps=3, orders=[1], **known)).all()
    sweep = BayesianSweep([0.0, 1.0], noise_std=[1e-9, 1e201], **known)
    assert np.isinf(sweep.bound(steps=3, delta_mu=1e-5).epsilon).tolist() == [True, False]


def test_samples_needed_are_what_the_bound_needs() -> None:
    """With m draws laid out as the few were, the bound is at the target; with a tenth fewer above it."""
    few = np.linspace(0.0, 0.5, 20)
    known = {"noise_std": 1.0, "sample_rate": 0.05, "steps": 200, "delta_mu": 1e-5, "largest_distance": 1.0}
    target = 0.75 * bayesian_epsilon(np.ones(2), **(known | {"largest_distance": None}))
    size = bayesian_samples(few, target_epsilon=target, **known)
    assert size > 1000
    for factor, above in ((1.0, False), (0.9, True)):
        count = int(size * factor / 20)
        many = np.repeat(few, count + 1)
        assert (bayesian_epsilon(many, **known) > target) is above
    assert math.isinf(bayesian_samples(np.ones(20), target_epsilon=target, **known))


POOL_ORDERS = (1, 2, 4, 8)


@pytest.mark.parametrize("rate", [0.0, 1e-300, 1e-6, 0.01, 0.3, 0.999, 1.0])
@given(st.lists(st.floats(0.0, 50.0), min_size=1, max_size=6).map(np.array))
@settings(max_examples=30)
def test_the_quick_psi_is_psi(rate: float, scaled: Array) -> None:
    np.testing.assert_allclose(psi(scaled, rate), step_costs(scaled, FIRST_ORDERS, rate), rtol=1e-11, atol=1e-300)


def batches(seed: int, steps: int, most: int) -> list[Array]:
    """Distances of each step, as parts of d_max; some steps have none."""
    rng = np.random.default_rng(seed)
    return [np.minimum(rng.weibull(0.7, rng.integers(0, most + 1)) * 0.3, 1.0) for _ in range(steps)]


courses = st.builds(batches, st.integers(0, 999), st.integers(1, 12), st.integers(0, 40))


@given(courses, st.floats(1e-4, 4.0), st.sampled_from([12, 200, 5000]), st.sampled_from([0.5, 1e-3, 1e-15]))
@settings(max_examples=12, deadline=None)
def test_the_formula_written_out(drawn: list[Array], scale: float, total_steps: int, failure: float) -> None:
    pool = Pool(rate=0.05, total_steps=total_steps, failure=failure)
    course = pool.add(scale, drawn)
    for at in range(len(drawn)):
        slow = slow_pool_cost(drawn[: at + 1], scale, 0.05, total_steps, failure)
        np.testing.assert_allclose(course[at], slow, rtol=1e-9, atol=1e-15)


def test_one_by_one_or_together_to_the_last_digit() -> None:
    drawn = batches(4, 40, 69)
    whole = Pool(rate=0.02, total_steps=40, failure=1e-12).add(0.5, drawn)
    for chunk in (1, 7):
        pool = Pool(rate=0.02, total_steps=40, failure=1e-12)
        parts = [pool.add(0.5, drawn[start : start + chunk]) for start in range(0, 40, chunk)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_more_noise_in_the_same_pool_costs_no_more_and_less_noise_costs_all_steps() -> None:
    drawn = [np.full(30, 0.5)]
    one, other = (Pool(rate=0.1, total_steps=10, failure=1e-9) for _ in range(2))
    one.add(1.0, drawn)
    other.add(0.9, drawn)
    np.testing.assert_array_equal(one.add(0.9, drawn), other.add(1.0, drawn))


# P(d = d_max) at a step; the last one reacts to what was seen: large distances as long as none came, none afterwards.
SHARES: dict[str, Callable[[int, bool], float]] = {
    "still": lambda step, seen: 0.02,
    "drifting": lambda step, seen: 0.001 + 0.004 * step,
    "contrary": lambda step, seen: 0.0 if seen else 0.05,
}


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("failure", [0.5, 0.01])
@pytest.mark.one_of(2)
def test_too_low_at_any_step_no_more_often_than_gamma(share: str, failure: float) -> None:
    """P(d = d_max) of each step may depend on all that came before; batches of uneven sizes."""
    trials, total, scale, rate = 100, 10, 1.0, 0.2
    low, high = total * step_costs(np.array([scale * 0.2**2, scale]), np.array(POOL_ORDERS), rate)
    columns, rng, wrong = np.array(POOL_ORDERS) - 1, np.random.default_rng(7), 0
    for _ in range(trials):
        pool, seen, truth, below = Pool(rate=rate, total_steps=total, failure=failure), False, 0.0, False
        for step in range(total):
            p = SHARES[share](step, seen)
            drawn = np.where(rng.random(1 + rng.poisson(9)) < p, 1.0, 0.2)
            seen = seen or bool((drawn == 1.0).any())
            truth = truth + np.log((1 - p) * np.exp(low) + p * np.exp(high)) / total
            below |= bool((pool.add(scale, [drawn])[-1][columns] < truth * (1 - 1e-12)).any())
        wrong += below
    assert wrong / trials <= failure + 3.5 * math.sqrt(failure * (1 - failure) / trials)


def test_what_the_paper_estimates_from_each_step_alone() -> None:
    """Eq. 14 written out: ln[M + τ S]/T, at the cells' upper ends; a step with one distance costs what d_max costs."""
    drawn = [np.random.default_rng(step).uniform(0.0, 1.0, 40) for step in range(3)]
    pool = Pool(rate=0.05, total_steps=20, failure=1e-6)
    pool.add(0.01, [*drawn, np.array([0.2])])
    wanted = psi(np.array([0.01]), 0.05)[0]
    for part in drawn:
        ends = _ENDS[np.searchsorted(_ENDS, part)]
        x = np.exp(20 * psi(0.01 * ends**2, 0.05))
        wanted = wanted + np.log(x.mean(axis=0) + student_margin(40, 1e-6) * x.std(axis=0)) / 20
    np.testing.assert_allclose(pool.printed, wanted, rtol=1e-9)


DISTANCES = np.minimum(np.random.default_rng(3).weibull(0.5, 500), 1.0)
PLAN: dict[str, Any] = {"noise_std": 4.0, "sample_rate": 0.01, "steps": 1000, "delta_mu": 1e-5}


@pytest.mark.parametrize("largest", [None, 1.0])
@pytest.mark.parametrize("target", [0.6, 3.0])
@pytest.mark.parametrize("unknown", ["noise_std", "steps", "sample_rate", "delta_mu"])
def test_the_answer_holds_and_nothing_better_does(unknown: str, target: float, largest: float | None) -> None:
    """By all orders, of which the search looks at few."""
    known = {name: value for name, value in PLAN.items() if name != unknown} | {"largest_distance": largest}
    answer = dpviz.bayesian.solve_bayesian(unknown, DISTANCES, target_epsilon=target, **known)
    assert type(answer) is (int if unknown == "steps" else float)
    assert dpviz.bayesian_epsilon(DISTANCES, **known, **{unknown: answer}) <= target
    beyond = {
        "noise_std": answer * (1 - 1e-6),
        "steps": answer + 1,
        "sample_rate": answer * (1 + 1e-6),
        "delta_mu": 1e-15 + (answer - 1e-15) * (1 - 1e-3),
    }[unknown]
    if unknown != "delta_mu" or answer > 1.001e-15:
        assert dpviz.bayesian_epsilon(DISTANCES, **known, **{unknown: beyond}) > target


class TestSweep:
    NOISE = np.geomspace(0.3, 40.0, 23)

    @pytest.mark.parametrize("steps", [1, 100, 10_000])
    def test_few_distances_equal_the_direct_evaluation(self, steps: int) -> None:
        found = BayesianSweep(DISTANCES[:150], noise_std=self.NOISE, sample_rate=0.01).bound(steps=steps, delta_mu=1e-5)
        direct = [
            dpviz.bayesian_epsilon(DISTANCES[:150], noise_std=s, sample_rate=0.01, steps=steps, delta_mu=1e-5)
            for s in self.NOISE
        ]
        np.testing.assert_allclose(found.epsilon, direct, rtol=1e-12)

    @pytest.mark.parametrize("family", ["weibull", "clipped", "light"])
    def test_many_distances_are_bounded_from_above(self, family: str) -> None:
        """Grouped distances never read below Eq. 14 evaluated sample by sample, and little above."""
        distances, noise, orders = draw(family, 3000, 7), self.NOISE[6::4], np.array([2, 8, 32])
        sweep = BayesianSweep(distances, noise_std=noise, sample_rate=0.02, orders=orders)
        found = sweep.bound(steps=300, delta_mu=1e-5)
        for sigma, epsilon in zip(noise.tolist(), found.epsilon.tolist(), strict=True):
            moments = sample_moments(distances, sigma, 0.02, 300, orders, 1e-15)
            direct = ((moments - math.log(1e-5 - 1e-15)) / orders).min()
            assert direct * (1 - 1e-12) <= epsilon <= direct * 1.002


@pytest.mark.parametrize(("zeros", "ones"), [(0, 0), (100, 0), (990, 10), (10**6, 3), (5, 10**4)])
@pytest.mark.parametrize("failure", [0.5, 0.01, 1e-15])
def test_quantile_of_the_posterior(zeros: int, ones: int, failure: float) -> None:
    found = binary_estimator(zeros=zeros, ones=ones, estimator_failure=failure)
    with mpmath.workdps(60):
        # P(Beta > ρ) = P(Binomial(N₀ + N₁ + 1, ρ) ≤ N₁)
        trials, rho = zeros + ones + 1, mpmath.mpf(found)
        few = range(ones + 1) if ones <= zeros else range(ones + 1, trials + 1)
        tail = mpmath.fsum(mpmath.binomial(trials, k) * rho**k * (1 - rho) ** (trials - k) for k in few)
        tail = tail if ones <= zeros else 1 - tail
    assert float(tail) == pytest.approx(failure, rel=1e-9)
