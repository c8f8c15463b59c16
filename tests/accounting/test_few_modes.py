"""The modes of a power that are loud: all of them found, and computed as a whole transform would."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.pld import loss_transform
from dpviz.accounting.pld.composed_loss import LOG_SILENT
from dpviz.accounting.pld.loss_transform import loud_modes, transform_at
from dpviz.accounting.pld.privacy_loss import LossDistribution, discretise
from dpviz.mechanisms import SampledGaussian


def tilted(sigma: float, q: float, interval: float, tilt: float):  # type: ignore[no-untyped-def]
    return loss_transform._tilt(discretise(SampledGaussian(sigma, q), interval, 9.0).remove_above, tilt)


@settings(max_examples=25, deadline=None)
@given(
    st.integers(1, 300), st.integers(-5000, 5000), st.integers(1, 40), st.integers(600, 10**12), st.integers(0, 2**31)
)
def test_a_transform_at_few_modes_is_the_sum_it_stands_for(
    n: int, start: int, count: int, size: int, seed: int
) -> None:
    mass = np.random.default_rng(seed).random(n)
    found, unit = transform_at(mass, start, count, size)
    index = np.arange(start, start + n)
    angle = 2 * math.pi * ((np.arange(count)[:, None] * (index % size)) % size) / size
    exact = [
        complex(math.fsum(mass * cosine), -math.fsum(mass * sine))
        for cosine, sine in zip(np.cos(angle), np.sin(angle), strict=True)
    ]
    assert np.abs(found - np.array(exact)).max() <= unit * mass.sum()


@pytest.mark.parametrize(
    ("sigma", "q", "interval", "tilt"), [(4.0, 0.01, 2e-3, 5.0), (2.0, 0.1, 0.01, 1.0), (30.0, 0.3, 1e-3, 40.0)]
)
@pytest.mark.parametrize("steps", [2000.0, 100_000.0])
def test_all_modes_that_are_left_out_are_silent(
    sigma: float, q: float, interval: float, tilt: float, steps: float
) -> None:
    pld = tilted(sigma, q, interval, tilt)
    size = 2 ** math.ceil(math.log2(20.0 * pld.spread * math.sqrt(steps)))
    loud = loud_modes(pld, steps, size)
    assert loud is not None
    modulus = np.abs(np.fft.rfft(pld.mass, size))
    assert (steps * np.log(modulus[loud:]) <= LOG_SILENT + 1e-6).all()
    assert steps * math.log(modulus[loud // 3]) > LOG_SILENT  # and not many too many


def test_a_loss_on_every_other_point_is_refused() -> None:
    """Its transform is as loud at the highest frequency as at 0."""
    pld = LossDistribution(0.0, 1e-3, -10, np.array([0.25, 0.0, 0.5, 0.0, 0.25]), np.zeros(5), np.zeros(5), 0.0)
    assert loud_modes(loss_transform._tilt(pld, 0.0), 1e6, 2**20) is None


def test_rare_losses_are_refused() -> None:
    """After few steps of a distribution that shows something once in a million nearly all modes are loud."""
    assert loud_modes(tilted(1.5, 1e-4, 1e-6, 1.0), 10.0, 2**20) is None
    assert loss_transform.MOST_MODES == 1024
