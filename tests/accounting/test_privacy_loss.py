"""Loss distributions of one step lie above and below the privacy curve everywhere, also outside their corners."""

from __future__ import annotations

import mpmath
import numpy as np
import numpy.typing as npt
import pytest

from dpviz.accounting.pld.privacy_loss import LossDistribution, discretise
from dpviz.mechanisms import SampledGaussian

TAIL = 9.0


def privacy_curve(sigma: float, q: float, epsilon: float) -> float:
    """E_Q[(P/Q − e^ε)₊], 40 digits."""
    with mpmath.workdps(40):
        s, rate, k = mpmath.mpf(sigma), mpmath.mpf(q), mpmath.exp(mpmath.mpf(epsilon))
        if k <= 1 - rate:
            return float(1 - k)
        z = s**2 * mpmath.log((k - 1 + rate) / rate) + mpmath.mpf(1) / 2
        return float((1 - rate - k) * mpmath.ncdf(-z / s) + rate * mpmath.ncdf((1 - z) / s))


def curve_of(pld: LossDistribution, epsilon: float) -> float:
    loss = pld.loss()
    return float(np.where(loss > epsilon, -pld.mass * np.expm1(np.minimum(epsilon - loss, 0.0)), 0.0).sum())


def places(pld: LossDistribution) -> npt.NDArray[np.float64]:
    """Around and inside the first cells, and in all of the grid."""
    first, last = pld.loss()[[0, -1]]
    near = first + pld.interval * np.linspace(-1.0, 4.0, 24)
    return np.concatenate([near, first + np.geomspace(1e-6, 1.0, 16) * (last - first)])


def assert_brackets(sigma: float, q: float, interval: float) -> None:
    plds = discretise(SampledGaussian(sigma, q), interval, TAIL)
    for epsilon in places(plds.remove_below).tolist():
        truth = privacy_curve(sigma, q, epsilon)
        assert curve_of(plds.remove_below, epsilon) <= truth * (1 + 1e-9) + 1e-15, (sigma, q, interval, epsilon)
        above = curve_of(plds.remove_above, epsilon) + plds.remove_above.infinite
        assert truth * (1 - 1e-9) - 1e-15 <= above, (sigma, q, interval, epsilon)


def test_grids_bracket_the_privacy_curve() -> None:
    generator = np.random.default_rng(5)
    for _ in range(60):
        sigma, q = np.exp(generator.uniform(np.log([0.4, 1e-6]), np.log([30.0, 1.0]))).tolist()
        assert_brackets(sigma, q if generator.random() < 0.9 else 1.0, 10 ** generator.uniform(-4.0, -0.5))


@pytest.mark.parametrize(
    ("sigma", "q", "interval"),
    [
        (
            0.6266,
            4.12e-6,
            5.5e-3,
        ),  # interval far wider than the bulk: the first tangent would meet 0 before the next corner
        (16.7, 4.8e-4, 1.6e-4),  # interval about as wide as the bulk: the first corner is not on the hull
        (12.2, 1.0, 0.16),
        (22.29, 1.31e-3, 1.453e-4),
    ],
)
def test_intervals_wider_than_the_bulk_of_the_loss(sigma: float, q: float, interval: float) -> None:
    assert_brackets(sigma, q, interval)
