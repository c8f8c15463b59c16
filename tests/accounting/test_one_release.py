"""Laws of one release against closed forms, integrals, enumeration and their own draws."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

from dpviz.accounting.attack.one_release import MOST_STEPS, NoiseLaws, StepLaws, answers, chosen
from dpviz.accounting.pld.bounds import tight_delta
from dpviz.mechanisms import Laplace, RandomisedResponse, SampledGaussian

NOISE = [NoiseLaws(Laplace(2.0 / 3.0), 3.0), NoiseLaws(SampledGaussian(0.5), 3.0), NoiseLaws(Laplace(10.0), 0.1)]
FEW = [answers(RandomisedResponse(0.7), 3), chosen(np.array([0.0, -1.0, -3.0]), scale=1.0, change=0.5)]
FEW += [NOISE[0].rounded(0.5), NOISE[1].rounded(2.0)]


@pytest.mark.parametrize("laws", NOISE)
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 1.5])
def test_delta_of_noise_is_its_closed_form(laws: NoiseLaws, epsilon: float) -> None:
    ratio = laws.shift / laws.scale
    if laws.laplace:
        exact = max(0.0, -math.expm1((epsilon - ratio) / 2.0))
    else:
        here, there = ratio / 2.0 - epsilon / ratio, -ratio / 2.0 - epsilon / ratio
        exact = norm.cdf(here) - math.exp(epsilon) * norm.cdf(there)
    assert exact * (1 - 1e-12) <= laws.delta(epsilon) <= exact * (1 + 1e-8)


@pytest.mark.parametrize("laws", NOISE)
def test_delta_is_the_area_above_the_band(laws: NoiseLaws) -> None:
    x, without, present = laws.curves
    above = np.maximum(present - math.exp(0.5) * without, 0.0)
    assert float(np.trapezoid(above, x)) == pytest.approx(laws.delta(0.5), abs=3e-3)


@pytest.mark.parametrize("laws", [*NOISE, *FEW])
def test_probabilities_above_a_threshold_are_integrals_of_the_curves(laws: NoiseLaws | StepLaws) -> None:
    low, high = laws.extent
    x, without, present = laws.curves
    for threshold in np.linspace(low, high, 4)[1:3].tolist():
        if isinstance(laws, StepLaws):
            threshold = float(laws.edges[np.searchsorted(laws.edges, threshold)])
        first = int(np.searchsorted(x, threshold, side="right")) - 1
        for side, chance in zip((without, present), laws.above(threshold), strict=True):
            assert chance == pytest.approx(float(np.trapezoid(side[first:], x[first:])), abs=0.02)


@pytest.mark.parametrize("laws", [*NOISE, *FEW])
@pytest.mark.parametrize("present", [False, True])
def test_draws_follow_their_law(laws: NoiseLaws | StepLaws, present: bool) -> None:
    n = 20_000
    uniform = (np.arange(n) + 0.5) / n
    outputs = laws.draw(uniform, np.full(n, present))
    for threshold in np.linspace(*laws.extent, 7)[1:-1].tolist():
        assert float((outputs > threshold).mean()) == pytest.approx(laws.above(threshold)[present], abs=2e-4)


@pytest.mark.parametrize("step", [0.3, 1.0, 7.0])
@pytest.mark.parametrize("laws", NOISE)
def test_rounding_never_costs_privacy(laws: NoiseLaws, step: float) -> None:
    rounded = laws.rounded(step)
    assert float(rounded.without.sum()) == pytest.approx(1.0, abs=1e-12)
    assert float(rounded.present.sum()) == pytest.approx(1.0, abs=1e-12)
    for epsilon in (0.0, 0.2, 1.0, 2.0):
        assert rounded.delta(epsilon) <= laws.delta(epsilon) + 1e-11
    assert rounded.delta(0.0) < laws.delta(0.0) or step == 0.3


def test_rounding_that_is_too_fine_says_what_would_do() -> None:
    with pytest.raises(ValueError, match=f"more than {MOST_STEPS:,d}: round to 0.011 or more, or to 0"):
        NOISE[2].rounded(1e-4)


@pytest.mark.parametrize("people", [1, 2, 7])
def test_a_count_of_answers_tells_what_the_answers_tell(people: int) -> None:
    coin = RandomisedResponse(0.8)
    laws = answers(coin, people)
    assert laws.epsilon == pytest.approx(people * coin.epsilon, rel=1e-12)
    for epsilon in (0.0, 0.9, 0.6 * people * coin.epsilon):
        found = tight_delta(coin, people, epsilon)
        assert float(found.lower) * (1 - 1e-9) <= laws.delta(epsilon) <= float(found.upper) + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_worst_neighbour_of_scores_is_the_one_of_a_search(seed: int) -> None:
    """Over a grid of moves, not their ends alone; and as the closed form says."""
    rng = np.random.default_rng(seed)
    scores, scale, change = rng.normal(0.0, 2.0, 3), float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.1, 1.5))
    laws = chosen(scores, scale=scale, change=change)
    law = np.exp(scores / scale) / np.exp(scores / scale).sum()
    assert laws.present == pytest.approx(law)
    largest = 0.0
    for move in itertools.product(np.linspace(-change, change, 5), repeat=3):
        other = np.exp((scores + move) / scale)
        largest = max(largest, float(np.abs(np.log(law) - np.log(other / other.sum())).max()))
    assert laws.epsilon == pytest.approx(largest, rel=1e-12)
    stated = 2.0 * change / scale
    assert laws.epsilon == pytest.approx(math.log(((1.0 - law) * math.exp(stated) + law).max()), rel=1e-12)
    assert laws.epsilon < stated


@pytest.mark.parametrize("scores", [np.zeros(1), np.zeros(13)])
def test_scores_that_are_no_handful_are_refused(scores: np.ndarray) -> None:
    with pytest.raises(ValueError, match="Expected scores of 2 to 12 candidates"):
        chosen(scores, scale=1.0, change=1.0)
