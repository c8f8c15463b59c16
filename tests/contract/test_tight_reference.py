"""No valid bound may fall below the tight lower curve, and the tight interval keeps the contract within its width."""

import numpy as np
import pytest

from dpviz.accounting.bound import Kind
from dpviz.accounting.methods import accountant, every_choice
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian

UPPER, LOWER = accountant("tight"), accountant("tight", bound="lower")
BOUNDS = [
    method
    for method in (accountant(name, **options) for name, options in every_choice())
    if method.name != "tight" and method.kind is Kind.UPPER
]
STEPS = np.unique(np.round(np.geomspace(1, 1e5, 6)))
HUNTED = [  # (σ, q, δ): little noise (where the textbook formula fails), large δ₀, and common settings
    *((0.2, 0.3, 0.4), (0.3, 0.01, 1e-3), (0.3, 0.01, 0.05), (0.3, 0.5, 0.5), (0.3, 1.0, 0.1), (0.5, 1e-3, 1e-5)),
    *((0.7, 0.1, 0.01), (0.9, 1.0, 0.3), (2.0, 0.05, 1e-6), (10.0, 0.5, 0.02), (15.0, 1e-3, 1e-5)),
]


def random_settings(count: int, seed: int) -> list[tuple[float, float, float]]:
    rng = np.random.default_rng(seed)
    spans = ((0.3, 100.0), (1e-4, 0.99), (1e-12, 1e-2))
    return [tuple(float(np.exp(rng.uniform(*np.log(span)))) for span in spans) for _ in range(count)]


@pytest.mark.parametrize(("sigma", "rate", "delta"), [*HUNTED, *random_settings(30, seed=20260101)])
@pytest.mark.one_of(3)
def test_no_bound_below_the_truth(sigma: float, rate: float, delta: float) -> None:
    truth = tight_epsilon(SampledGaussian(sigma, rate), STEPS, delta)
    assert (truth.lower <= truth.upper).all()
    for method in BOUNDS:
        bound = method.evaluate(noise_multiplier=sigma, sample_rate=rate, steps=STEPS, delta=delta).epsilon
        assert (np.isnan(bound) | (bound >= truth.lower)).all(), (method, bound, truth.lower)


@pytest.mark.parametrize("sigma", [1e-200, 1e-6, 1e-3, 1e-2, 1e6])
def test_extreme_noise_gives_an_interval_without_warnings(sigma: float) -> None:
    found = tight_epsilon(SampledGaussian(sigma, 0.1), [1, 10], 1e-5)
    assert (found.lower <= found.upper).all()
    assert (found.upper > 1e3).all() if sigma < 0.01 else np.isfinite(found.upper).all()
    delta = float(UPPER.delta(noise_multiplier=sigma, sample_rate=0.1, steps=10, epsilon=1.0))
    assert 0.0 <= delta <= 1.0
