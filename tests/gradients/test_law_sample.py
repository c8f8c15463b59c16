"""A sample of a known law: counts, estimate, bound, how many are needed; and the true cost, known or simulated."""

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from dpviz.accounting.bayesian.accountant import ORDERS, bayesian_bound, bayesian_cost
from dpviz.gradients import law_truth
from dpviz.gradients.clipped_law import LawCells, clipped_law, law_cells
from dpviz.gradients.families import FAMILIES
from dpviz.gradients.law_bound import law_bound
from dpviz.gradients.law_sample import drawn_counts, law_sample
from dpviz.gradients.law_truth import true_norms_epsilon, true_vectors_epsilon
from dpviz.gradients.weibull_vectors import weibull_vectors
from tests.gradients.population import population_cost

LAW: dict[str, Any] = {"family": "weibull", "shape": 0.5, "quantile": 0.95}
KNOWN: dict[str, Any] = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}
MECHANISM: dict[str, Any] = {"noise_std": 2.0, "sample_rate": 0.02}  # of distances
STEPS = np.array([100, 3000, 10_000])


def test_counts_are_multinomial() -> None:
    masses = np.array([0.3, 0.0, 0.45, 0.05, 0.2])
    drawn = np.array([drawn_counts(masses, 50, seed) for seed in range(1000)])
    assert (drawn.sum(axis=1) == 50).all()
    assert (drawn >= 0).all()
    assert drawn.mean(axis=0) == pytest.approx(50 * masses, abs=0.5)
    expected = 50 * (np.diag(masses) - np.outer(masses, masses))
    assert np.cov(drawn.T) == pytest.approx(expected, abs=1.6)


@pytest.mark.parametrize("failure", [1e-15, 1e-7])
def test_both_numbers_are_those_of_the_sample_itself(failure: float) -> None:
    """The distances that the counts stand for, given to the accountant of measured distances."""
    cells = law_cells(clipped_law(**LAW))
    distances = np.repeat(np.sqrt(cells.upper), drawn_counts(cells.upper_mass, 1500, 3).astype(int))
    sample = law_sample(**LAW, **KNOWN, steps=STEPS, samples=1500, failure=failure, seed=3, definition=1)
    known = {"noise_std": 4.0, "sample_rate": 0.01, "steps": STEPS, "delta_mu": 1e-5, "estimator_failure": failure}
    assert sample.estimate == pytest.approx(bayesian_bound(distances, **known).epsilon, rel=1e-9)
    certified = bayesian_bound(distances, largest_distance=1.0, **known)
    assert not certified.worst_case.any()
    assert sample.certified == pytest.approx(certified.epsilon, rel=1e-9)


@pytest.mark.parametrize("definition", [1, 2])
def test_more_samples_come_nearer_and_luck_stays(definition: int) -> None:
    exact = law_bound(**LAW, **KNOWN, steps=STEPS, definition=definition).upper
    found = [
        law_sample(**LAW, **KNOWN, steps=STEPS, samples=10**k, failure=1e-15, definition=definition)
        for k in (2, 3, 4, 5, 6)
    ]
    bounds = np.array([sample.certified for sample in found])
    assert (np.diff(bounds, axis=0) < 0).all()
    assert (bounds > exact).all()
    assert bounds[-1] == pytest.approx(exact, rel=6e-3)  # 1.1 % with ranks in ratios of 1.25
    known = {**KNOWN, "steps": 10_000, "failure": 1e-15, "definition": definition}
    moved = [
        float(law_sample(**(LAW | {"quantile": quantile}), **known, samples=size).certified)
        for quantile, size in ((0.95, 10_000), (0.951, 10_000), (0.95, 10_100))
    ]
    assert moved[1:] == pytest.approx([moved[0]] * 2, rel=5e-3)


# m at which the bound is within 5 % of the exact cost, for quantiles .5, .9, .99; σ = 4, q = 0.01, T = 10⁴, δ_μ = 1e-5.
NEEDED = {
    (1, 1e-15): {0.5: (1, 562, 10_000), 1.0: (1, 421, 7_498), 2.0: (1, 316, 4_216)},
    (1, 1e-6): {0.5: (1, 316, 5_623), 1.0: (1, 316, 5_623), 2.0: (1, 237, 3_162)},
    (2, 1e-15): {0.5: (1, 1_333, 17_782), 1.0: (1, 1_000, 13_335), 2.0: (1, 749, 7_498)},
    (2, 1e-6): {0.5: (1, 1_000, 17_782), 1.0: (1, 749, 13_335), 2.0: (1, 562, 5_623)},
}


@pytest.mark.parametrize(("definition", "failure"), NEEDED)
@pytest.mark.parametrize("shape", [0.5, 1.0, 2.0])
def test_so_many_samples_come_near_the_cost(definition: int, failure: float, shape: float) -> None:
    for quantile, size in zip((0.5, 0.9, 0.99), NEEDED[definition, failure][shape], strict=True):
        asked = {"shape": shape, "quantile": quantile, "steps": 10_000, "definition": definition, **KNOWN}
        exact = law_bound("weibull", **asked).upper
        assert law_sample("weibull", samples=2 * size, failure=failure, **asked).certified <= 1.08 * exact


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("steps", [1, 300, 10**6])
@pytest.mark.parametrize("shape", [0.5, 2.0])
@pytest.mark.one_of(3)
def test_the_interval_holds_the_quadrature_s_value_and_is_narrow(family: str, steps: int, shape: float) -> None:
    """`population_cost` integrates the density; the interval sums the distribution function."""
    asked: dict[str, Any] = {"shape": shape, "threshold": 1.2, **MECHANISM}
    found = true_norms_epsilon(family, steps=[steps], delta_mu=1e-5, **asked)
    cost = [population_cost(family, total_steps=steps, order=order, **asked) for order in ORDERS]
    truth = min((steps * c + math.log(1e5)) / order for order, c in zip(ORDERS, cost, strict=True))
    assert found.lower[0] * (1 - 1e-9) <= truth <= found.upper[0] * (1 + 1e-9)
    assert found.upper[0] < found.lower[0] * 1.001


def test_running_and_one_order() -> None:
    options: dict[str, Any] = {"shape": 1.0, "threshold": 1.0, "delta_mu": 1e-5, "orders": [5], **MECHANISM}
    planned = true_norms_epsilon("weibull", steps=[100, 3000], **options)
    running = true_norms_epsilon("weibull", steps=[100, 3000], reading="running", **options)
    assert running.upper[1] == planned.upper[1]
    assert running.upper[0] > planned.upper[0]
    cost = population_cost("weibull", threshold=1.0, total_steps=3000, order=5, shape=1.0, **MECHANISM)
    assert running.upper[0] == pytest.approx((100 * cost + math.log(1e5)) / 5, rel=1e-3)


def test_a_simulated_interval_holds_what_other_draws_average() -> None:
    """50-dimensional vectors; T small enough that another simulation's mean is a good guess of the truth."""
    limit, steps = 7.0, 20
    known: dict[str, Any] = {"noise_std": 42.0, "sample_rate": 0.05, "steps": [steps], "delta_mu": 1e-5}
    found = true_vectors_epsilon(dimensions=50, shape=0.5, threshold=limit, **known)
    other = weibull_vectors(vectors=60_000, dimensions=50, shape=0.5, seed=12)
    del known["steps"], known["delta_mu"]
    cost = bayesian_cost(other.distances(limit), estimator_failure=0.5, total_steps=steps, orders=ORDERS, **known)
    guess = ((steps * cost + math.log(1e5)) / np.array(ORDERS)).min()
    assert found.lower[0] < guess < found.upper[0]
    assert found.upper[0] < 1.05 * found.lower[0]
    assert "fresh pairs" in found.how


@pytest.mark.parametrize("hits", [2.0, 4.0, 998.0, 996.0])
def test_each_end_of_a_simulated_interval_misses_the_truth_with_probability_half_a_percent(
    hits: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Distances of two values, the larger one `hits` times in 1,000 on average: all samples, by their probabilities."""
    size, values = 1000, np.array([0.2, 2.0])
    known: dict[str, Any] = {"noise_std": 4.0, "sample_rate": 0.05, "steps": [3000], "delta_mu": 1e-5}
    law = (values / values[1]) ** 2, np.array([1.0 - hits / size, hits / size])
    truth = law_truth.truth_of_cells(LawCells(*law, *law), values[1], "", **known)
    missed = np.zeros(2)
    for larger in range(size + 1):
        probability = float(binom.pmf(larger, size, hits / size))
        if probability < 1e-6:
            continue
        distances = np.repeat(values, [size - larger, larger])
        drawn = SimpleNamespace(distances=lambda _, found=distances: found, sensitivity=lambda _: values[1])
        monkeypatch.setattr(law_truth, "_fresh", lambda *_, found=drawn: found)
        found = true_vectors_epsilon(dimensions=2, shape=1.0, threshold=1.0, **known)
        above, below = found.lower[0] > truth.upper[0], found.upper[0] < truth.lower[0]
        missed += probability * np.array([above, below])
    assert (missed <= law_truth.DOUBT / 2.0).all()
