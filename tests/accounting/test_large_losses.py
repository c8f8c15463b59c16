"""Steps whose rare losses are large, against a composition of their own: each loss rounded up, and down, to a grid."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import log_ndtr, logsumexp
from scipy.stats import binom

from dpviz.accounting.pld.bounds import tight_epsilon, tight_profile
from dpviz.accounting.pld.privacy_loss import discretise
from dpviz.mechanisms import Mechanism, PersonRows, ReplaceOneGaussian, SampledGaussian, WithReplacement

Array = npt.NDArray[np.float64]
DELTA = 1e-5


def removal(rows: int, rate: float, sigma: float) -> tuple[Array, Array, float]:
    """The losses at the ends of fine cells of outputs, and P's masses: P = Σ Bin(rows, rate)(j) N(j, σ²), Q = N(0, σ²).

    Returns:
        Losses (n + 1,), masses (n,), and what lies outside.
    """
    j = np.arange(min(rows, 40) + 1.0)
    weight = binom.pmf(j, rows, rate)
    j, weight = j[weight > 1e-17], weight[weight > 1e-17]
    z = np.linspace(-9.0 * sigma, j[-1] + 9.0 * sigma, 120_001)
    loss = np.concatenate(
        [logsumexp((part[:, None] * j - 0.5 * j**2) / sigma**2, b=weight, axis=1) for part in np.array_split(z, 60)]
    )
    tails = [np.exp(log_ndtr(sign * (z[:, None] - j) / sigma)) @ weight for sign in (1.0, -1.0)]
    mass = np.where(z[1:] < 0.5, np.diff(tails[0]), -np.diff(tails[1]))
    return loss, mass, 1.0 - float(weight.sum()) + float(tails[0][0] + tails[1][-1])


def composed(rows: int, rate: float, sigma: float, steps: int, interval: float) -> tuple[float, float]:
    """ε at DELTA of removal, from below and above, without a tilt: right where DELTA is far above rounding."""
    loss, mass, outside = removal(rows, rate, sigma)
    ends = []
    for index, missing in ((np.floor(loss[:-1] / interval), 0.0), (np.ceil(loss[1:] / interval), steps * outside)):
        first = int(index.min())
        one = np.bincount((index - first).astype(int), mass)
        own = (first + np.arange(one.size)) * interval
        mean, spread = float(one @ own), math.sqrt(steps * float(one @ (own - float(one @ own)) ** 2))
        size = next_fast_len(math.ceil((24.0 * spread + 8.0 * own[-1]) / interval) + one.size, real=True)
        start = round((steps * mean - 12.0 * spread) / interval) - one.size // 4
        total = np.roll(irfft(rfft(one, size) ** steps, size), -((start - steps * first) % size))
        at = (start + np.arange(size)) * interval
        low, high = 0.0, float(at[-1])
        for _ in range(60):
            middle = 0.5 * (low + high)
            delta = float(total @ -np.expm1(np.minimum(middle - at, 0.0))) + missing
            low, high = (middle, high) if delta > DELTA else (low, middle)
        ends.append(high)
    return ends[0], ends[1]


# (mechanism, T, ε by an independent composition, rows, rate and σ in units of a row)
SETTINGS: list[tuple[Mechanism, int, float, tuple[int, float, float]]] = [
    (WithReplacement(0.8, 60_000, 256), 3510, 28.59, (256, 1 / 60_000, 0.4)),
    (WithReplacement(0.7, 60_000, 1000), 900, 71.95, (1000, 1 / 60_000, 0.35)),
    (WithReplacement(1.1, 10_000, 256), 1000, 28.23, (256, 1e-4, 0.55)),
    (WithReplacement(1.1, 1000, 50), 100, 22.27, (50, 1e-3, 0.55)),
    (WithReplacement(1.1, 100, 10), 100, 37.62, (10, 0.01, 0.55)),
    (PersonRows(0.6, 0.1, 10), 50, 262.4, (10, 0.1, 0.6)),
    (PersonRows(1.1, 0.01, 100), 100, 127.96, (100, 0.01, 1.1)),
    (PersonRows(1.1, 0.001, 1000), 1000, 745.9, (1000, 0.001, 1.1)),
    (SampledGaussian(0.07, 0.01), 100, 742.1, (1, 0.01, 0.07)),
    (SampledGaussian(0.02, 0.01), 100, 8968.0, (1, 0.01, 0.02)),
]


# Batches of hundreds with replacement take up to a minute.
CASES = [pytest.param(*each, marks=pytest.mark.sweep) if each[3][0] >= 256 else each for each in SETTINGS]


@pytest.mark.parametrize(("mechanism", "steps", "truth", "law"), CASES, ids=lambda each: getattr(each, "text", ""))
@pytest.mark.one_of(2)
def test_rare_large_losses_are_pinched(
    mechanism: Mechanism, steps: int, truth: float, law: tuple[int, float, float]
) -> None:
    low, high = composed(*law, steps, 0.01 * truth / steps)
    found = tight_epsilon(mechanism, steps, DELTA)
    assert low <= truth <= high <= 1.011 * low
    assert low <= float(found.upper)
    assert float(found.lower) <= high
    assert float(found.upper) - float(found.lower) <= 0.012 * float(found.lower)


def test_profiles_of_rare_large_losses_are_pinched() -> None:
    """Also where one is replaced: adding is removing then."""
    for mechanism in (SampledGaussian(0.07, 0.01), ReplaceOneGaussian(0.07, 0.01)):
        found = tight_profile(mechanism, 100, points=6)
        assert found.epsilon[-1] > 1000.0
        assert (found.lower <= found.upper).all()
        assert (found.upper[:-1] <= 1.04 * found.lower[:-1]).all(), mechanism


def test_a_fallback_has_its_own_name_and_reason() -> None:
    """Of less noise than a grid can hold, and of losses that none can."""
    for mechanism in (SampledGaussian(1e-4, 0.01), SampledGaussian(2e-3, 0.01)):
        found = tight_epsilon(mechanism, 100, DELTA)
        assert found.reason.startswith("No grid holds so large a loss: the upper end is the Rényi bound (RDP), ")
    unsampled = tight_epsilon(WithReplacement(1e-4, 1, 3), 100, DELTA)
    assert unsampled.reason == ""  # in closed form


@pytest.mark.parametrize("mechanism", [SampledGaussian(0.1, 0.01), WithReplacement(1.1, 1000, 50)], ids=str)
@pytest.mark.parametrize("tail", [2.0, 4.0])
def test_what_the_reach_leaves_out_counts_as_infinite_loss_above_and_not_at_all_below(
    mechanism: Mechanism, tail: float
) -> None:
    found = discretise(mechanism, 0.05, tail)
    above, below = found.remove_above, found.remove_below
    assert above.infinite > 1e-8
    # What is infinite may be counted at the last grid point too: that only makes the upper bound larger.
    assert 1.0 - 1e-12 <= above.mass.sum() + above.infinite <= 1.0 + above.infinite + 1e-12
    assert below.infinite == 0.0
    assert 1.0 - below.mass.sum() == pytest.approx(above.infinite, rel=0.1)
