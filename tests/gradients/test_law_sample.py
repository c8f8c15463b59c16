"""A sample of a known law: counts drawn exactly, the estimate and the bound of such a sample, how many are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dpviz.accounting.bayesian.accountant import bayesian_bound
from dpviz.accounting.bayesian.costs import lower_band
from dpviz.gradients import law_sample as law_sample_module
from dpviz.gradients.law_bound import clipped_law, law_bound, law_cells
from dpviz.gradients.law_sample import _counts, law_sample

LAW: dict[str, Any] = {"family": "weibull", "shape": 0.5, "quantile": 0.95}
KNOWN: dict[str, Any] = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}
STEPS = np.array([100, 3000, 10_000])


def test_counts_are_multinomial() -> None:
    masses = np.array([0.3, 0.0, 0.45, 0.05, 0.2])
    drawn = np.array([_counts(masses, 50, seed) for seed in range(1000)])
    assert (drawn.sum(axis=1) == 50).all()
    assert (drawn >= 0).all()
    assert drawn.mean(axis=0) == pytest.approx(50 * masses, abs=0.5)
    expected = 50 * (np.diag(masses) - np.outer(masses, masses))
    assert np.cov(drawn.T) == pytest.approx(expected, abs=1.6)


@pytest.mark.parametrize("failure", [1e-15, 1e-7])
def test_both_numbers_are_those_of_the_sample_itself(failure: float) -> None:
    """The distances that the counts stand for, given to the accountant of measured distances."""
    cells = law_cells(clipped_law(**LAW))
    distances = np.repeat(np.sqrt(cells.upper), _counts(cells.upper_mass, 1500, 3).astype(int))
    sample = law_sample(**LAW, **KNOWN, steps=STEPS, samples=1500, failure=failure, seed=3, definition=1)
    known = {"noise_std": 4.0, "sample_rate": 0.01, "steps": STEPS, "delta_mu": 1e-5, "estimator_failure": failure}
    assert sample.estimate == pytest.approx(bayesian_bound(distances, **known).epsilon, rel=1e-9)
    certified = bayesian_bound(distances, largest_distance=1.0, **known)
    assert not certified.worst_case.any()
    assert sample.certified == pytest.approx(certified.epsilon, rel=1e-9)


def test_the_bound_is_too_low_no_more_often_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """One norm in fifty at C: 36 % of samples of 50 have none. With four times its γ the bound believes them."""
    law = {"family": "weibull", "shape": 0.5, "quantile": 0.98, "noise_multiplier": 0.7, "sample_rate": 0.05}
    law |= {"steps": 200, "delta_mu": 0.999, "definition": 1, "orders": (10.0,)}
    truth = law_bound(**law).lower

    def too_low(name: str) -> float:
        found = [getattr(law_sample(**law, samples=50, failure=0.3, seed=seed), name) for seed in range(300)]
        return float(np.mean(np.array(found) < truth))

    assert too_low("certified") <= 0.3
    assert too_low("estimate") > 0.3
    monkeypatch.setattr(law_sample_module, "lower_band", lambda ranks, size, _: lower_band(ranks, size, 0.999))
    assert too_low("certified") > 0.3


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
    (1, 1e-15, 0.5): (1, 562, 10_000),
    (1, 1e-15, 1.0): (1, 421, 7_498),
    (1, 1e-15, 2.0): (1, 316, 4_216),
    (1, 1e-6, 0.5): (1, 316, 5_623),
    (1, 1e-6, 1.0): (1, 316, 5_623),
    (1, 1e-6, 2.0): (1, 237, 3_162),
    (2, 1e-15, 0.5): (1, 1_333, 17_782),
    (2, 1e-15, 1.0): (1, 1_000, 13_335),
    (2, 1e-15, 2.0): (1, 749, 7_498),
    (2, 1e-6, 0.5): (1, 1_000, 17_782),
    (2, 1e-6, 1.0): (1, 749, 13_335),
    (2, 1e-6, 2.0): (1, 562, 5_623),
}


@pytest.mark.parametrize("case", NEEDED)
def test_so_many_samples_come_near_the_cost(case: tuple[int, float, float]) -> None:
    definition, failure, shape = case
    for quantile, size in zip((0.5, 0.9, 0.99), NEEDED[case], strict=True):
        asked = {"shape": shape, "quantile": quantile, "steps": 10_000, "definition": definition, **KNOWN}
        exact = law_bound("weibull", **asked).upper
        assert law_sample("weibull", samples=2 * size, failure=failure, **asked).certified <= 1.08 * exact
