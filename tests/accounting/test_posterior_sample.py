"""One posterior sample: its ε against densities on a grid."""

import itertools

import numpy as np
import pytest

from dpviz.accounting.langevin.posterior_sample import PosteriorSample, logistic_spread, printed_epsilon

RADIUS = 3.0
GRID = np.linspace(-RADIUS, RADIUS, 601)


def log_density(rows, power, prior_std=1.0):
    """Of the posterior of one parameter, at GRID, with its sum taken for the integral."""
    energy = power * np.logaddexp(0.0, -np.outer(rows, GRID)).sum(axis=0) + GRID**2 / (2 * prior_std**2)
    return -energy - np.logaddexp.reduce(-energy)


def loss(rows, others, power):
    return float(np.abs(log_density(rows, power) - log_density(others, power)).max())


@pytest.mark.parametrize("power", [0.05, 0.4, 1.0])
def test_no_neighbours_are_told_apart_by_more_than_epsilon(power):
    spread = logistic_spread(feature_norm=1.0, parameter_norm=RADIUS)
    replaced, added = (PosteriorSample(spread, way).epsilon(power) for way in ("replace_one", "add_remove"))
    assert (replaced, added) == (2 * power * RADIUS, power * RADIUS)
    for rest in itertools.product((-1.0, -0.3, 1.0), repeat=2):
        for one, other in itertools.product((-1.0, 0.2, 1.0), repeat=2):
            assert loss((*rest, one), (*rest, other), power) <= replaced * (1 + 1e-12)
            assert loss((*rest, one), rest, power) <= added * (1 + 1e-12)


def test_there_are_neighbours_that_nearly_reach_it():
    """Where all others pull one way, the normaliser sees that end alone."""
    rest, release = np.full(400, 1.0), PosteriorSample(RADIUS)
    assert loss(np.append(rest, 1.0), np.append(rest, -1.0), 0.5) > 0.9 * release.epsilon(0.5)
    added = PosteriorSample(RADIUS, "add_remove")
    assert loss(np.append(rest, -1.0), rest, 0.5) > 0.9 * added.epsilon(0.5)


def test_the_printed_rule_is_valid_and_costs_more_than_twice_as_much():
    """|ln p| ≤ B = ln(1 + e^R): the range of ln p is R, less than B."""
    for spread in (0.1, 3.0, 8.0, 800.0):
        printed = printed_epsilon(0.25, spread)
        assert printed == pytest.approx(np.logaddexp(0.0, spread), rel=1e-12)
        assert printed >= 2 * PosteriorSample(spread).epsilon(0.25)
    values = np.logaddexp(0.0, np.linspace(-RADIUS, RADIUS, 7))
    assert values[-1] - values[0] == pytest.approx(logistic_spread(feature_norm=1.0, parameter_norm=RADIUS))


def test_the_power_for_an_epsilon_never_costs_more():
    draw = np.random.default_rng(0)
    for spread, epsilon in zip(10.0 ** draw.uniform(-2, 2, 300), 10.0 ** draw.uniform(-3, 3, 300), strict=True):
        release = PosteriorSample(spread)
        power = release.power(epsilon)
        assert 0.0 < power <= 1.0
        assert release.epsilon(power) <= epsilon
        assert power == 1.0 or release.epsilon(power) == pytest.approx(epsilon)
