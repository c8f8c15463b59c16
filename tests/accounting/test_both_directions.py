"""A_α and B_α against integrals of densities, and what Theorem 5 of Mironov, Talwar, Zhang 2019 says of them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

from dpviz.accounting.renyi.both_directions import both_directions
from dpviz.mechanisms import Laplace, SampledGaussian

ORDERS = np.array([1.05, 2.0, 3.5, 16.0])


@pytest.mark.parametrize(
    "mechanism",
    [SampledGaussian(0.8, 0.3), SampledGaussian(3.0, 0.05), SampledGaussian(1.0, 0.999), Laplace(0.7, 0.2)],
    ids=lambda m: m.text,
)
def test_both_are_what_quadrature_gives(mechanism: SampledGaussian | Laplace) -> None:
    if isinstance(mechanism, Laplace):
        noise, width, breaks = laplace(scale=mechanism.scale), 60.0 * mechanism.scale, (0.0, 1.0)
    else:
        noise, width, breaks = norm(scale=mechanism.noise_multiplier), 35.0 * mechanism.noise_multiplier, (0.0, 1.0)
    rate = mechanism.sample_rate

    def moment(power: float, over: int) -> float:
        """∫ top^power bottom^(1 − power), the ratio of logs first: nothing overflows."""

        def value(z: float) -> float:
            without = float(noise.logpdf(z))
            mixed = float(np.logaddexp(math.log1p(-rate) + without, math.log(rate) + noise.logpdf(z - 1)))
            top, bottom = (mixed, without) if over else (without, mixed)
            return math.exp(power * top + (1 - power) * bottom)

        return float(quad(value, -width, 1 + width, points=breaks, limit=600, epsabs=0, epsrel=1e-11)[0])

    removed, added = both_directions(mechanism, ORDERS)
    for i, order in enumerate(ORDERS):
        assert removed[i] == pytest.approx(math.log(moment(order, 1)) / (order - 1), rel=1e-6)
        assert added[i] == pytest.approx(math.log(moment(order, 0)) / (order - 1), rel=1e-6)


@pytest.mark.parametrize("rate", [1e-6, 0.01, 0.5, 0.99, 1.0])
@pytest.mark.parametrize("scale", [0.05, 0.5, 2.0, 40.0])
def test_removing_never_costs_less(scale: float, rate: float) -> None:
    orders = np.geomspace(1.01, 64.0, 15)
    for mechanism in (SampledGaussian(scale, rate), Laplace(scale, rate)):
        removed, added = both_directions(mechanism, orders)
        assert (removed >= added * (1 - 1e-9)).all()
        if rate == 1.0:
            assert added == pytest.approx(removed)


def test_hardly_any_noise() -> None:
    """Added: Q lies where P has half its mass, at every order."""
    _, added = both_directions(SampledGaussian(1e-3, 0.5), ORDERS)
    assert added == pytest.approx(math.log(2.0))
