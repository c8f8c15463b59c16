"""The parts of a rarely sampled step: probabilities, domination on the way to the coarse grid, masses of powers."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import binom

from dpviz.accounting.pld import two_grids as two_scales
from dpviz.accounting.pld.loss_transform import masses_of
from dpviz.accounting.pld.privacy_loss import LossDistribution
from dpviz.mechanisms import SampledGaussian

STEP = SampledGaussian(noise_multiplier=0.7, sample_rate=1e-4)


def curve(pld: LossDistribution, epsilon: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    loss = pld.loss()[None, :]
    ahead = np.where(loss > epsilon[:, None], -np.expm1(np.minimum(epsilon[:, None] - loss, 0.0)), 0.0)
    return np.asarray(ahead @ pld.mass + pld.infinite)


def test_split_agrees_with_high_precision() -> None:
    split = two_scales.split_of(STEP, 10_000.0)
    with mpmath.workdps(40):
        sigma, q, z = (mpmath.mpf(x) for x in (STEP.noise_multiplier, STEP.sample_rate, split.threshold))
        large_q = mpmath.ncdf(-z / sigma)
        large = (1 - q) * large_q + q * mpmath.ncdf((1 - z) / sigma)
        assert split.large == pytest.approx(float(large), rel=1e-12)
        assert split.quiet == pytest.approx(float(mpmath.log((1 - large) / (1 - large_q))), rel=1e-12)


@pytest.mark.parametrize("steps", [3.0, 1000.0, 1e6])
def test_few_enough_are_left_out(steps: float) -> None:
    split = two_scales.split_of(STEP, steps)
    most, missed = two_scales.most_large(split, steps, 1e-16)
    assert missed <= 1e-16
    assert most == steps or binom.sf(most, steps, split.large) <= missed


@pytest.mark.parametrize("ratio", [2, 10, 64])
@pytest.mark.parametrize("scale", [1e-3, 0.1])
def test_coarse_distributions_lie_above_and_below_the_fine_one(ratio: int, scale: float) -> None:
    interval = scale / 40.0
    x = np.arange(-200.0, 240.0) * interval
    mass = np.exp(-0.5 * ((x - 0.5 * scale**2) / scale) ** 2)
    fine = LossDistribution(x[0], interval, 0, mass / mass.sum(), np.zeros(x.size), np.zeros(x.size), 0.0)
    above = two_scales.coarsened_above(float(x[0]), interval, fine.mass, 0.0, ratio)
    below = two_scales.coarsened_below(float(x[0]), interval, fine.mass, ratio)
    epsilon = np.linspace(x[0] - 2 * ratio * interval, x[-1] + ratio * interval, 997)
    truth = curve(fine, epsilon)
    assert (curve(above, epsilon) >= truth * (1 - 1e-12) - 1e-16).all()
    assert (curve(below, epsilon) <= truth * (1 + 1e-12) + 1e-16).all()
    assert curve(below, np.zeros(1))[0] > 0.5 * truth[np.abs(epsilon).argmin()] or ratio == 64


def test_masses_of_powers_bracket_direct_convolution() -> None:
    pld = two_scales.small_part(STEP, two_scales.split_of(STEP, 8.0), 1e-3, 8.0, "remove_above")
    direct = np.ones(1)
    for _ in range(8):
        direct = np.convolve(direct, pld.mass)
    start, upper, lower, beyond = masses_of(pld, 8.0, (0.0, 200.0, 500.0))
    first = round((start - 8.0 * (pld.anchor + pld.start * pld.interval)) / pld.interval)
    assert start == pytest.approx(8.0 * (pld.anchor + pld.start * pld.interval) + first * pld.interval, abs=1e-12)
    inside = [
        (direct[i], lower[i - first], upper[i - first])
        for i in range(max(first, 0), min(direct.size, first + upper.size))
    ]
    truth, low, high = np.array(inside).T
    assert (low <= truth * (1 + 1e-12)).all()
    assert (truth * (1 - 1e-12) <= high).all()
    assert high.sum() - low.sum() < 1e-9
    assert direct[max(first + upper.size, 0) :].sum() <= beyond
    assert math.fsum(direct) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("side", ["remove", "add"])
@pytest.mark.parametrize("part", [two_scales.small_part, two_scales.large_part])
def test_parts_add_up_to_one_and_keep_their_order(part: object, side: str) -> None:
    split = two_scales.split_of(STEP, 1000.0)
    above, below = (part(STEP, split, 1e-3, 9.0, f"{side}_{end}") for end in ("above", "below"))  # type: ignore[operator]
    assert above.mass.sum() + above.infinite == pytest.approx(1.0, rel=1e-9)
    epsilon = np.linspace(-0.05, 0.3, 501)
    assert (curve(below, epsilon) <= curve(above, epsilon) * (1 + 1e-9) + 1e-13).all()
