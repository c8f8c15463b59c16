"""A number published with noise by its smooth sensitivity: its cost by quadrature, and on which side its limit errs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpviz.accounting.pate.release import SmoothRelease, most_smoothness


def release(**changed: float) -> SmoothRelease:
    known = {"order": 6.0, "smoothness": 0.03, "noise": 4.0, "log_noise": 5.0, "chance": 0.01}
    return SmoothRelease(**(known | changed))


def divergence(order: float, apart: float, ratio: float) -> float:
    """D_α(N(0, 1) ‖ N(apart, ratio²)) by quadrature."""

    def log_each(x: float) -> float:
        other = -0.5 * ((x - apart) / ratio) ** 2 - math.log(ratio)
        return -0.5 * order * x * x + (1.0 - order) * other

    # The integrand is a Gaussian of this centre and width.
    width = 1.0 / math.sqrt(order + (1.0 - order) / ratio**2)
    centre = (1.0 - order) * apart / ratio**2 * width**2
    top = log_each(centre)
    whole = quad(lambda x: math.exp(log_each(x) - top), centre - 12 * width, centre + 12 * width, limit=200)[0]
    return (top + math.log(whole / math.sqrt(2.0 * math.pi))) / (order - 1.0)


@pytest.mark.parametrize("order", [1.5, 4.0, 20.0])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
@pytest.mark.parametrize("noise", [1.5, 6.0])
def test_its_cost_is_the_largest_divergence_of_any_neighbours_and_is_reached(
    order: float, share: float, noise: float
) -> None:
    beta = share * most_smoothness(order)
    how = release(order=order, smoothness=beta, noise=noise)
    worst = max(
        divergence(order, move * min(1.0, ratio) / noise, ratio)
        for ratio in np.exp(np.linspace(-beta, beta, 9))
        for move in (0.0, 0.5, 1.0)
    )
    # ln S moves by β at most under a Gaussian of standard deviation β τ.
    assert how.cost == pytest.approx(worst + divergence(order, 1.0 / how.log_noise, 1.0), rel=1e-7)


def test_the_printed_closed_form_is_less_than_what_two_gaussians_differ() -> None:
    """Papernot et al. 2018, Theorem 23, at α = 10, β = 0.049: why it is not used."""
    order, beta, noise = 10.0, 0.049, 5.0
    printed = order * math.exp(2 * beta) / noise**2 + (beta * order - 0.5 * math.log(1 - 2 * order * beta)) / (
        order - 1
    )
    assert printed == pytest.approx(0.713, abs=1e-3)
    assert divergence(order, math.exp(-beta) / noise, math.exp(-beta)) == pytest.approx(2.823, abs=1e-3)
    assert release(order=order, smoothness=beta, noise=noise).cost > 2.823


@pytest.mark.parametrize("chance", [0.2, 0.01])
@pytest.mark.parametrize("log_noise", [2.0, 40.0, 300.0])
def test_the_limit_is_below_the_number_no_more_often_than_said(chance: float, log_noise: float) -> None:
    how, value, smooth = release(chance=chance, log_noise=log_noise), np.array(3.0), np.array(0.7)
    draws = np.random.default_rng(5).normal(size=(40_000, 2))
    below = np.mean([how.limit(value, smooth, (a, b)) < value for a, b in draws])
    assert below == pytest.approx(chance, abs=4.0 * math.sqrt(chance / 40_000))
    assert release(chance=0.6).limit(value, smooth, (0.0, 0.0)) == value
    # The noise that just hides how much is added for it.
    assert how.limit(value, smooth, (0.0, -how.factor)) == pytest.approx(float(value), rel=1e-12)


def test_more_noise_costs_less_and_shows_less() -> None:
    little, much = release(noise=2.0), release(noise=20.0)
    assert much.cost < little.cost
    value, smooth = np.array(1.0), np.array(0.1)
    assert much.limit(value, smooth, (0.0, 0.0)) > little.limit(value, smooth, (0.0, 0.0)) > value
    assert release(log_noise=50.0).cost < release().cost < release(smoothness=0.09).cost
