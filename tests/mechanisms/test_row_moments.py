"""Divergences of rows of a person: against 20 digits, against another quadrature, together and one by one."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpviz.mechanisms import PersonRows
from dpviz.mechanisms.divergences import mixture_divergence
from dpviz.mechanisms.mixture_pair import MixturePair
from dpviz.mechanisms.person_rows import binomial
from dpviz.mechanisms.row_moments import RowsCurve, divergences, row_variation


def drawn(seed: int, most: tuple[int, ...]) -> tuple[PersonRows, float]:
    rng = np.random.default_rng(seed)
    rate = float(10 ** rng.uniform(-6.0, -0.01)) if rng.random() < 0.9 else float(1.0 - 10 ** rng.uniform(-6.0, -1.0))
    step = PersonRows(float(10 ** rng.uniform(-1.0, 2.0)), rate, int(rng.choice(most)))
    return step, float(1.0 + 10 ** rng.uniform(-3.0, 2.5))


@pytest.mark.parametrize("seed", range(5))
def test_never_below_the_truth(seed: int) -> None:
    step, order = drawn(seed, (2, 3, 8))
    order = min(order, 1.0 + 60.0 * step.noise_multiplier / step.rows)
    weights = [(j, mpmath.mpf(w)) for j, w in binomial(step.rows, Fraction(step.sample_rate))]
    with mpmath.workdps(20):
        sigma, alpha = mpmath.mpf(step.noise_multiplier), mpmath.mpf(order)

        def excess(x: mpmath.mpf) -> mpmath.mpf:
            ratio = mpmath.fsum(w * mpmath.exp(j * x / sigma - (j / sigma) ** 2 / 2) for j, w in weights)
            return mpmath.npdf(x) * (ratio**alpha - 1 - alpha * (ratio - 1))

        # In pieces of two deviations: a peak is no narrower than one.
        end = order * step.rows / step.noise_multiplier + 12.0
        pieces = mpmath.linspace(-12, end, int(end + 12) // 2)
        truth = float(mpmath.log1p(mpmath.quad(excess, pieces, method="gauss-legendre", maxdegree=5)) / (alpha - 1))
    curve = step.renyi()(np.array(order))
    most = 0.5 * order * (step.rows / step.noise_multiplier) ** 2
    assert min(truth, most) * (1.0 - 1e-14) <= float(curve) <= min(truth * (1.0 + 1e-9), most * (1.0 + 1e-14))


@pytest.mark.parametrize("seed", range(40))
def test_it_is_what_halving_finds_in_both_directions(seed: int) -> None:
    """`mixture_divergence` looks at P and Q exchanged too, and takes every output."""
    step, order = drawn(100 + seed, (2, 3, 10, 60, 300))
    orders = np.array([order, 1.0 + 0.2 * (order - 1.0), 4.0 * order])
    theirs = mixture_divergence(step.pair(), orders)
    ours = step.renyi()(orders)
    assert (ours <= theirs * (1.0 + 3e-9)).all()
    resolved = theirs < 0.5 * orders * (step.rows / step.noise_multiplier) ** 2 * (1.0 - 1e-12)
    assert ours[resolved] == pytest.approx(theirs[resolved], rel=3e-9)


def test_together_as_one_by_one() -> None:
    orders = np.array([1.001, 1.7, 12.0, 900.0])
    for rows in (2, 90):
        weights = binomial(rows, Fraction(0.02))
        curves = [RowsCurve(sigma, weights) for sigma in (1e-4, 0.3, 2.0, 70.0)]
        which = np.repeat(np.arange(4), 4)
        together = divergences(curves, which, np.tile(orders, 4)).reshape(4, 4)
        assert together == pytest.approx(np.array([curve(orders) for curve in curves]), rel=1e-12)
        others = [*curves, PersonRows(2.0, 0.1, 3).renyi()]
        mixed = divergences(others, np.array([1, 4]), orders[1:3])
        assert mixed == pytest.approx([float(curves[1](orders[1])), float(others[4](orders[2]))], rel=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(20))
def test_total_variation_is_rounded_up(seed: int) -> None:
    step, _ = drawn(seed, (1, 2, 10, 200))
    truth = min(math.exp(step.pair().log_delta(0.0)), 1.0)
    assert truth * (1.0 - 1e-11) <= step.total_variation <= truth * (1.0 + 1e-9)
    assert row_variation(step.pair().p, 1e-200) >= truth
    assert PersonRows(2.0, 0.0, 3).total_variation == 0.0


def test_binomial_probabilities_are_exact_to_a_double() -> None:
    for trials, rate in ((3, 1e-200), (40, 0.3), (1000, 1.0 - 2.0**-50), (5, 0.0), (5, 1.0)):
        share = Fraction(rate)
        for j, weight in binomial(trials, share):
            truth = math.comb(trials, int(j)) * share ** int(j) * (1 - share) ** (trials - int(j))
            assert weight < 1e-300 or abs(Fraction(weight) - truth) <= truth * Fraction(2) ** -52
        assert sum(weight for _, weight in binomial(trials, share)) == pytest.approx(1.0, abs=1e-14)


def test_two_sided_mixtures_are_not_taken_for_rows() -> None:
    """P against several centres: only halving knows them."""
    pair = MixturePair(2.0, ((0.0, 0.9), (1.0, 0.1)), ((-1.0, 0.1), (0.0, 0.9)))
    assert float(mixture_divergence(pair, 3.0)) > float(RowsCurve(2.0, pair.p)(np.array(3.0)))
