"""The tight Bayesian ε of a known law lies between its bounds, which other ways of computing it confirm."""

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import dpviz
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.gradients.families import FAMILIES, law
from dpviz.gradients.law_tight import bayesian_law_tight
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.pair import gaussian_log_delta
from tests.gradients.population import simulated_losses

GIVEN: dict[str, Any] = {"noise_multiplier": 4.0, "sample_rate": 0.01, "delta_mu": 1e-5}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("quantile", [0.05, 0.7, 0.9999])
def test_between_0_and_the_tight_dp_value_and_rising_with_steps(family: str, quantile: float) -> None:
    steps = np.array([[0, 1, 3], [3000, 200, 10]])
    found = bayesian_law_tight(family, shape=0.8, quantile=quantile, steps=steps, cells=10, **GIVEN)
    dp = tight_epsilon(SampledGaussian(4.0, 0.01), steps, 1e-5)
    assert found.lower.shape == found.upper.shape == steps.shape
    assert (found.lower >= 0.0).all()
    assert (found.lower <= found.upper).all()
    assert (found.upper <= dp.upper).all()
    order = np.argsort(steps, axis=None)
    for side in (found.lower, found.upper):
        assert (np.diff(side.ravel()[order]) >= 0.0).all()
    assert found.upper.flat[0] == 0.0


@pytest.mark.parametrize("shape", [0.5, 2.0])
@pytest.mark.parametrize("quantile", [0.25, 0.95])
def test_below_the_bound_for_ranks_that_depend_on_each_other_in_any_way(shape: float, quantile: float) -> None:
    asked: dict[str, Any] = {"shape": shape, "quantile": quantile, "steps": [100, 1000], **GIVEN}
    assert (bayesian_law_tight("weibull", **asked).upper < dpviz.bayesian_law_epsilon("weibull", **asked)).all()


def test_falls_with_the_quantile() -> None:
    found = [
        bayesian_law_tight("weibull", shape=0.5, quantile=p, steps=2000, **GIVEN) for p in (1e-6, 0.3, 0.6, 0.9, 0.99)
    ]
    assert all(b.upper < a.lower for a, b in zip(found, found[1:], strict=False))
    dp = tight_epsilon(SampledGaussian(4.0, 0.01), 2000, 1e-5)
    assert found[0].upper >= dp.lower
    assert found[0].lower > 0.998 * dp.lower


@pytest.mark.parametrize(("rate", "steps"), [(1.0, 7), (0.2, 1)])
def test_a_quadrature_of_the_closed_form(rate: float, steps: int) -> None:
    """T Gaussian steps without sampling, and one step with it: δ = q δ_Gauss(ln(1 + (e^ε − 1)/q))."""
    found = bayesian_law_tight(
        "lognormal", shape=1.0, quantile=0.8, noise_multiplier=2.0, sample_rate=rate, steps=steps, delta_mu=1e-4
    )
    known = law("lognormal", 1.0, 1.0)

    def delta(share: float, epsilon: float) -> float:
        ratio = max(known.ppf(min(share, 0.8)) / known.ppf(0.8), 1e-9)
        inner = math.log1p(math.expm1(epsilon) / rate)
        return rate * math.exp(float(gaussian_log_delta(2.0 / ratio / math.sqrt(steps), inner)))

    for epsilon, sign in ((float(found.lower), 1.0), (float(found.upper), -1.0)):
        mean = integrate.quad(delta, 0.0, 0.8, args=(epsilon,), epsabs=1e-12)[0] + 0.2 * delta(0.8, epsilon)
        assert sign * (mean - 1e-4) > -1e-10
        assert mean == pytest.approx(1e-4, rel=0.02)


def test_a_quadrature_of_tight_curves() -> None:
    given: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": 0.05}
    found = bayesian_law_tight("halfnormal", quantile=0.9, steps=50, delta_mu=1e-4, **given)
    known = law("halfnormal", 1.0, 1.0)
    nodes, weights = np.polynomial.legendre.leggauss(12)
    ratios = np.append(known.ppf(0.45 * (1.0 + nodes)) / known.ppf(0.9), 1.0)
    shares = np.append(0.45 * weights, 0.1)
    for epsilon, side in ((float(found.lower), "upper"), (float(found.upper), "lower")):
        curves = [tight_delta(SampledGaussian(1.0 / r, 0.05), 50, epsilon) for r in ratios]
        mean = sum(share * float(getattr(curve, side)) for share, curve in zip(shares, curves, strict=True))
        assert mean >= 1e-4 * (1 - 1e-3) if side == "upper" else mean <= 1e-4 * (1 + 1e-3)
        assert mean == pytest.approx(1e-4, rel=0.1)


def test_a_simulation_of_the_joint_hockey_stick() -> None:
    """Outcomes and other examples drawn: E[(1 − e^(ε − L))₊] = δ_μ, each example with its own rank in all steps."""
    sigma, rate, steps, draws = 1.0, 0.3, 4, 400_000
    found = bayesian_law_tight(
        "weibull", quantile=0.8, noise_multiplier=sigma, sample_rate=rate, steps=steps, delta_mu=0.02
    )
    loss = simulated_losses(1.0, 0.8, sigma, rate, steps, draws)
    for epsilon, sign in ((float(found.lower), 1.0), (float(found.upper), -1.0)):
        excess = -np.expm1(np.minimum(epsilon - loss, 0.0))
        error = float(excess.std()) / math.sqrt(draws)
        assert sign * (float(excess.mean()) - 0.02) > -4.0 * error
        assert abs(float(excess.mean()) - 0.02) < 6.0 * error


def test_more_cells_are_nested_about_the_same_value() -> None:
    few, many = (bayesian_law_tight("weibull", shape=0.5, quantile=0.99, steps=500, cells=n, **GIVEN) for n in (4, 60))
    assert few.lower < many.lower <= many.upper < few.upper


def test_little_memory_where_grids_are_long() -> None:
    """Once these took 800 MB, and 9 GB at σ = 200 after 10⁶ steps."""
    tracemalloc.start()
    try:
        bayesian_law_tight("weibull", shape=0.5, quantile=0.9999, steps=np.arange(1_000, 10_001, 500), **GIVEN)
        assert tracemalloc.get_traced_memory()[1] < 150e6
    finally:
        tracemalloc.stop()
