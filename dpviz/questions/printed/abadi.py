"""Abadi et al. 2016, and a lecture's slides about it."""

import math

import numpy as np
from scipy.integrate import trapezoid
from scipy.optimize import minimize_scalar

from dpviz import library as dpviz
from dpviz.accounting.methods import Moments, Renyi, Strong
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.printed.claim import Recomputed, tight

SIGMA, RATE, DELTA = 4.0, 0.01, 1e-5


def moments(steps: int) -> Recomputed:
    """The moments accountant, the same with λ that need not be whole, and the tight interval."""
    interval = tight_epsilon(SampledGaussian(SIGMA, RATE), steps, DELTA)
    between = dpviz.epsilon(
        Renyi.name,
        noise_multiplier=SIGMA,
        sample_rate=RATE,
        steps=steps,
        delta=DELTA,
        conversion="classic",
        orders=np.arange(1.05, 33.0, 0.01),
    )
    whole = dpviz.epsilon(Moments.name, noise_multiplier=SIGMA, sample_rate=RATE, steps=steps, delta=DELTA)
    note = f"with fractional λ: {float(between):.5g}"
    return tight((interval.lower, interval.upper), float(whole), note)


def strong(steps: int) -> Recomputed:
    """Strong composition with one step's ε₀ scaled by q."""
    linear, exact = (
        dpviz.epsilon(
            Strong.name, noise_multiplier=SIGMA, sample_rate=RATE, steps=steps, delta=DELTA, amplification=rule
        )
        for rule in ("linear", "exact")
    )
    squared = strong_squared(steps)
    return Recomputed(linear, note=f"with Tε² instead of Tε(e^ε − 1): {squared:.5g}; with the exact rule: {exact:.4g}")


def strong_squared(steps: int) -> float:
    """ε√(2T ln(1/δ′)) + Tε² with ε = qε₀ and the best split of δ."""
    sigma, rate = SIGMA, RATE

    def epsilon(share: float) -> float:
        one = rate * math.sqrt(2.0 * math.log(1.25 * steps * rate / (share * DELTA))) / sigma
        return float(one * math.sqrt(-2.0 * steps * math.log((1.0 - share) * DELTA)) + steps * one**2)

    return float(minimize_scalar(epsilon, bounds=(1e-4, 1.0 - 1e-4), method="bounded").fun)


def growth() -> Recomputed:
    """The power of T with which ε grows from 10 000 to 40 000 steps."""
    few, many = (moments(steps).value for steps in (10_000, 40_000))
    return Recomputed(math.log(many / few) / math.log(4.0), note="ε grows like T to this power")


def accountants() -> Recomputed:
    """Strong composition ÷ the moments accountant, of the same clipped steps."""
    return Recomputed(strong(10_000).value / moments(10_000).value, note="strong ÷ moments, at equal clipping")


def clip_first(batch: int = 600) -> Recomputed:
    """How much further one example moves a mean that is clipped as a whole, in units of what it moves one by one.

    The others' gradients all have length 2C; the example's own is as long as turns their mean around.
    """
    others = np.full(batch - 1, -2.0)
    one = np.append(others, 4.0 * batch)
    first = abs(np.clip(one, -1.0, 1.0).sum() - np.clip(others, -1.0, 1.0).sum()) / batch
    after = abs(np.clip(one.sum() / batch, -1.0, 1.0) - np.clip(others.sum() / batch, -1.0, 1.0))
    return Recomputed(float(after / first), note=f"batch L = {batch}, with and without the example")


def amplification() -> Recomputed:
    """ln(1 + q(e^ε₀ − 1)) beside qε₀, at the ε₀ of one step of Fig. 2 after 10 000 steps."""
    each = DELTA / (2.0 * 10_000 * RATE)
    one = math.sqrt(2.0 * math.log(1.25 / each)) / SIGMA
    exact = math.log1p(RATE * math.expm1(one))
    least = float(tight_delta(SampledGaussian(SIGMA, RATE), 1, RATE * one).lower)
    low = numbers.plain(numbers.rounded_down(least, 2))
    note = f"times qε₀, at ε₀ = {one:.3g}; at qε₀ one sampled step has δ ≥ {low}, "
    return Recomputed(exact / (RATE * one), note=f"{note}and qδ₀ is {RATE * each:.2g}")


def first_moment() -> Recomputed:
    """ln E[ℓ] of one step, what the slide's formula says for every λ."""
    sigma, rate = SIGMA, RATE
    z = np.linspace(-12.0 * sigma, 12.0 * sigma + 1.0, 40_001)
    base = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi))
    loss = np.log1p(rate * np.expm1((2.0 * z - 1.0) / (2.0 * sigma**2)))
    mean = float(trapezoid(base * np.exp(loss) * loss, z))
    return Recomputed(math.log(mean), note="ln E ℓ at every λ; a log moment cannot be below 0")
