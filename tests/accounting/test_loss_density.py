"""The privacy loss itself: against quadrature, closed forms and the tight accountant."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad, trapezoid
from scipy.stats import norm

from dpviz.accounting.pld.bounds import tight_delta
from dpviz.accounting.pld.loss_density import loss_density
from dpviz.mechanisms import SampledGaussian


@pytest.mark.parametrize(("sigma", "rate", "epsilon"), [(4.0, 0.01, 0.002), (0.7, 0.2, 1.0), (1.0, 1.0, 0.5)])
@pytest.mark.parametrize("direction", ["remove", "add"])
def test_one_step_is_what_quadrature_over_outputs_gives(
    sigma: float, rate: float, epsilon: float, direction: str
) -> None:
    def p(z: float) -> float:
        return float((1 - rate) * norm.pdf(z, 0, sigma) + rate * norm.pdf(z, 1, sigma))

    def q(z: float) -> float:
        return float(norm.pdf(z, 0, sigma))

    top, bottom = (p, q) if direction == "remove" else (q, p)
    # ln(P/Q) = ε at one output, the loss exceeds ε on one side of it
    edge = math.exp(epsilon if direction == "remove" else -epsilon)
    inside = (edge - 1 + rate) / rate
    cut = 0.5 + sigma**2 * math.log(inside) if inside > 0 else -20 * sigma
    ends = (cut, 1 + 20 * sigma) if direction == "remove" else (-20 * sigma, cut)
    beyond = quad(top, *ends, epsabs=0, limit=200)[0]
    delta = quad(lambda z: top(z) - math.exp(epsilon) * bottom(z), *ends, epsabs=0, limit=200)[0]
    mean = quad(lambda z: top(z) * math.log(top(z) / bottom(z)), -9 * sigma, 1 + 9 * sigma, limit=200)[0]
    found = loss_density(SampledGaussian(sigma, rate), steps=1, epsilon=epsilon, direction=direction)
    assert found.exact
    assert found.beyond == pytest.approx(beyond, rel=1e-8)
    assert found.delta == pytest.approx(delta, rel=1e-7)
    assert found.mean == pytest.approx(mean, rel=1e-6)
    assert trapezoid(found.density, found.loss) == pytest.approx(1.0, abs=2e-3)


def test_unsampled_steps_have_a_gaussian_loss() -> None:
    found = loss_density(SampledGaussian(5.0), steps=50, epsilon=2.0)
    mean, std = 50 / (2 * 25), math.sqrt(50 / 25)
    assert found.density == pytest.approx(norm.pdf(found.loss, mean, std), rel=1e-9, abs=1e-30)
    assert found.beyond == pytest.approx(norm.sf(2.0, mean, std), rel=1e-12)
    assert found.mean == pytest.approx(mean, rel=1e-9)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps", "epsilon"),
    [(4.0, 0.01, 10_000, 0.5), (1.0, 0.01, 1000, 2.0), (0.8, 0.3, 3, 2.0), (200.0, 0.01, 10_000, 0.01)],
)
def test_the_worse_direction_is_the_tight_delta(sigma: float, rate: float, steps: int, epsilon: float) -> None:
    step = SampledGaussian(sigma, rate)
    both = [loss_density(step, steps=steps, epsilon=epsilon, direction=way) for way in ("remove", "add")]
    tight = tight_delta(step, steps, epsilon)
    worst = max(each.delta for each in both)
    assert float(tight.lower) <= worst <= float(tight.upper) * 1.002
    for each in both:
        assert each.delta <= each.beyond
        assert trapezoid(each.density, each.loss) == pytest.approx(1.0, abs=2e-3)
        assert each.mean == pytest.approx(steps * loss_density(step, steps=1, epsilon=0.0).mean, rel=0.5)


def test_hardly_any_noise_has_two_kinds_of_output() -> None:
    """Used, with probability q, or not: the mean loss is q times the Gaussian's and what ln q takes off."""
    found = loss_density(SampledGaussian(0.02, 0.25), steps=1, epsilon=1.0)
    used, unused = 1 / (2 * 0.02**2) + math.log(0.25), math.log(0.75)
    assert found.mean == pytest.approx(0.25 * used + 0.75 * unused, rel=1e-6)
    assert found.beyond == pytest.approx(0.25, rel=1e-9)
    assert found.delta == pytest.approx(0.25, rel=1e-6)
    unsampled = loss_density(SampledGaussian(1e-6), steps=1, epsilon=1.0)
    assert trapezoid(unsampled.density, unsampled.loss) == pytest.approx(1.0, abs=1e-3)


def test_rare_large_losses_fit_the_grid() -> None:
    """q = 1e-4: nearly all the mass is an atom beside 0, and δ is that of few large losses."""
    step = SampledGaussian(0.5, 1e-4)
    found = loss_density(step, steps=100, epsilon=1.0)
    tight = tight_delta(step, 100, 1.0)
    assert float(tight.lower) <= found.delta <= float(tight.upper) * 1.01


def test_two_steps_are_two_outputs_enumerated() -> None:
    """All pairs of outputs on a grid."""
    sigma, rate, epsilon = 1.0, 0.3, 0.4
    z = np.linspace(-9, 10, 2401)
    q = norm.pdf(z) * (z[1] - z[0])
    p = (1 - rate) * q + rate * norm.pdf(z, 1) * (z[1] - z[0])
    loss = np.log(p / q)
    total = loss[:, None] + loss
    weight = p[:, None] * p
    over = total > epsilon
    found = loss_density(SampledGaussian(sigma, rate), steps=2, epsilon=epsilon)
    assert found.beyond == pytest.approx(float(weight[over].sum()), rel=5e-3)
    assert found.delta == pytest.approx(float((weight * -np.expm1(epsilon - total))[over].sum()), rel=2e-3)
