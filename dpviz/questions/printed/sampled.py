"""Mironov, Talwar, Zhang 2019: no ε is printed; its theorem and its comparison are."""

import math

import numpy as np
from scipy.special import binom, erfc

from dpviz import library as dpviz
from dpviz.questions.printed.claim import Recomputed

ORDERS = np.geomspace(1.01, 500.0, 400)


def theorem_11() -> Recomputed:
    """The closed form ÷ the exact divergence where the theorem's conditions hold."""
    least, most = np.inf, 0.0
    for sigma in (4.0, 8.0, 20.0):
        for rate in (0.001, 0.01, 0.1, 0.2):
            closed = dpviz.closed_form_divergence(noise_multiplier=sigma, sample_rate=rate, orders=ORDERS)
            ratio = closed / np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=ORDERS))
            if np.isfinite(ratio).any():
                least, most = min(least, float(np.nanmin(ratio))), max(most, float(np.nanmax(ratio)))
    return Recomputed(
        np.nan, least, most, "closed form ÷ exact, for σ from 4 to 20, q from 0.001 to 0.2, all α covered"
    )


def theorem_5() -> Recomputed:
    """The largest ln B_α − ln A_α over a grid, by quadrature: no more than 0."""
    worst = -np.inf
    for sigma in (0.7, 1.0, 4.0):
        z = np.linspace(-40.0 * sigma, 40.0 * sigma + 1.0, 20_001)
        log_base = -0.5 * (z / sigma) ** 2
        for rate in (0.01, 0.2, 0.7):
            loss = np.log1p(rate * np.expm1(np.minimum((2.0 * z - 1.0) / (2.0 * sigma**2), 600.0)))
            for order in (1.5, 2.0, 8.0):
                a, b = (np.logaddexp.reduce(log_base + power * loss) for power in (order, 1.0 - order))
                worst = max(worst, float(b - a))
    return Recomputed(worst, note="largest value of ln B_α − ln A_α")


def plateau() -> Recomputed:
    """R(α)/α at α = 200 ÷ at α = 2, for σ = 4 and q = 0.01: ρ-zCDP would keep it."""
    divergence = np.asarray(dpviz.renyi_divergence(noise_multiplier=4.0, sample_rate=0.01, orders=[2.0, 200.0]))
    return Recomputed(float(divergence[1] / 200.0 / (divergence[0] / 2.0)), note="R(α)/α at α = 200 ÷ R(α)/α at α = 2")


def series(sigma: float = 5.0, rate: float = 0.2, order: float = 1.1, terms: int = 400) -> Recomputed:
    """R(α) by the series of Section 3.3, with signs; beside it the sum of absolute terms, and the integral."""
    split = 0.5 + sigma**2 * math.log(1.0 / rate - 1.0)
    total, absolute = 0.0, 0.0
    for k in range(terms):
        rest, coefficient = order - k, float(binom(order, k))
        for power, beyond in ((k, (k - split)), (rest, (split - rest))):
            log = power * math.log(rate) + (order - power) * math.log1p(-rate) + (power**2 - power) / (2.0 * sigma**2)
            tail = 0.5 * float(erfc(beyond / (math.sqrt(2.0) * sigma)))
            part = coefficient * math.exp(log) * tail if tail > 0.0 and log < 700.0 else 0.0
            total, absolute = total + part, absolute + abs(part)
    signed, wrong = (math.log(one) / (order - 1.0) for one in (total, absolute))
    exact = np.asarray(dpviz.renyi_divergence(noise_multiplier=sigma, sample_rate=rate, orders=[order]))[0]
    return Recomputed(signed, note=f"by integration {exact:.3g}; with absolute terms {wrong:.3g}")
