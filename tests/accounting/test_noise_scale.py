"""What the scale of noise reveals, beside 40-digit arithmetic, Gaussian DP, and values of real trainings."""

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import norm

import dpviz
from dpviz.accounting.noise_scale import DOUBT, noise_scale_delta, noise_scale_epsilon


def exact(epsilon: float, n: int, ratio: float) -> mp.mpf:
    """δ(ε) of both directions by the distribution of χ² and its tail."""
    with mp.workdps(40):
        r, half = mp.mpf(ratio), mp.mpf(n) / 2
        slope, rate = mp.log(r), (1 - r**-2) / 2
        left, right = (n * slope - epsilon) / rate, (n * slope + epsilon) / rate

        def below(s: mp.mpf) -> mp.mpf:
            return mp.gammainc(half, 0, s / 2, regularized=True) if s > 0 else mp.mpf(0)

        def above(s: mp.mpf) -> mp.mpf:
            return mp.gammainc(half, s / 2, mp.inf, regularized=True)

        grown = mp.e**epsilon
        return max(below(left) - grown * below(left / r**2), above(right / r**2) - grown * above(right))


@pytest.mark.parametrize(
    ("n", "ratio", "epsilon"),
    [
        (1, 2.0, 0.3),
        (1, 1.01, 0.01),
        (2, 3.0, 1.0),
        (5, 1.5, 2.0),
        (50, 1.1, 0.5),
        (1_000, 1.01, 0.3),
        (1_000, 1.3, 20.0),
        (10_000, 1.001, 0.0),
        (10_000, 1.02, 5.0),
        (200_000, 1.001, 1.0),
    ],
)
def test_delta_is_that_of_the_chi_squared_law_and_rounded_up(n: int, ratio: float, epsilon: float) -> None:
    delta = float(noise_scale_delta(epsilon, dimension=n, ratio=ratio))
    assert 0.0 < delta / float(exact(epsilon, n, ratio)) - 1.0 < 2.0 * DOUBT


@pytest.mark.parametrize(
    ("n", "ratio", "mu", "epsilon"),
    [
        (26_010 * 150, 10_000 / 9_999, 0.279, 1.05),
        (26_010 * 150, 1_024 / 1_023, 2.73, 14.8),
        (26_010 * 1_500, 600 / 599, 14.7, 171.0),
        (7_850 * 100, 10_000 / 9_999, 0.125, 0.44),
    ],
)
def test_values_of_real_trainings(n: int, ratio: float, mu: float, epsilon: float) -> None:
    assert math.sqrt(2 * n) * math.log(ratio) == pytest.approx(mu, rel=3e-3)
    assert dpviz.noise_scale_epsilon(dimension=n, ratio=ratio, delta=1e-5) == pytest.approx(epsilon, rel=9e-3)


@pytest.mark.parametrize("n", [10**8, 14 * 10**9, 10**13])
@pytest.mark.parametrize("mu", [0.1, 1.0, 5.0])
def test_many_dimensions_are_gaussian_dp(n: int, mu: float) -> None:
    epsilon = float(noise_scale_epsilon(dimension=n, ratio=math.exp(mu / math.sqrt(2 * n)), delta=1e-5))
    gaussian = norm.cdf(0.5 * mu - epsilon / mu) - math.exp(epsilon) * norm.cdf(-0.5 * mu - epsilon / mu)
    assert gaussian == pytest.approx(1e-5, rel=(50.0 + 4.0 * mu**3) / math.sqrt(n) + 1e-8)


@pytest.mark.parametrize("n", [1, 7, 300, 4_000_000])
def test_epsilon_inverts_delta_and_both_directions_are_alike(n: int) -> None:
    deltas = np.array([1e-12, 1e-5, 0.01])
    ratio = 1.0 + 3.0 / math.sqrt(2 * n)
    epsilon = noise_scale_epsilon(dimension=n, ratio=ratio, delta=deltas)
    assert (noise_scale_delta(epsilon, dimension=n, ratio=ratio) <= deltas).all()
    assert (noise_scale_delta(epsilon * (1 - 1e-9), dimension=n, ratio=ratio) > deltas).all()
    other = noise_scale_epsilon(dimension=n, ratio=1.0 / ratio, delta=deltas)
    assert other == pytest.approx(epsilon, rel=1e-9)


def test_equal_scales_reveal_nothing_and_a_large_delta_needs_no_epsilon() -> None:
    assert noise_scale_epsilon(dimension=10**9, ratio=1.0, delta=1e-5) == 0.0
    assert noise_scale_epsilon(dimension=4, ratio=1.001, delta=0.5) == 0.0


def test_more_steps_and_parameters_never_cost_less() -> None:
    epsilon = noise_scale_epsilon(dimension=np.arange(1.0, 60.0), ratio=1.2, delta=1e-6)
    assert (np.diff(epsilon) > 0.0).all()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"dimension": 0}, "dimension=0"),
        ({"dimension": 2.5}, "dimension=2.5"),
        ({"ratio": 0.0}, "ratio=0"),
        ({"delta": 0.0}, "delta=0"),
    ],
)
def test_wrong_values_are_named(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        noise_scale_epsilon(**{"dimension": 10, "ratio": 1.1, "delta": 1e-5, **values})
