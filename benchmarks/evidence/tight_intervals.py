"""Tight intervals over random settings: their widths, their inverses, and the truth where it is known.

python -c "from benchmarks.evidence.tight_intervals import table; print(table())"
"""

from __future__ import annotations

import math

import numpy as np

from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon
from dpviz.accounting.pld.grid import _epsilon_of_group
from dpviz.accounting.pld.plan import promised
from dpviz.accounting.pld.single_step import gaussian_epsilon
from dpviz.mechanisms import SampledGaussian

SEED = 20
SETTINGS = 120
INVERSES = 40  # of the settings; each asks for several intervals
EXACT = 40
LARGEST_EPSILON = 50.0  # up to which a width is promised


def _setting(generator: np.random.Generator) -> tuple[SampledGaussian, float, float]:
    """σ in [0.4, 60], q in [1e-6, 0.5], T in [2, 10⁸], δ in [1e-40, 1e-3]: a third of them below 1e-12."""
    sigma, q = np.exp(generator.uniform(np.log([0.4, 1e-6]), np.log([60.0, 0.5]))).tolist()
    steps = float(round(10 ** generator.uniform(math.log10(2.0), 8.0)))
    low, high = (-40.0, -12.0) if generator.random() < 1 / 3 else (-12.0, -3.0)
    return SampledGaussian(sigma, q), steps, float(10 ** generator.uniform(low, high))


def _widths(settings: list[tuple[SampledGaussian, float, float]]) -> tuple[list[float], list[float], int]:
    """Width ÷ promise for δ ≥ 1e-12 and below it, and how many settings lie beyond what is promised."""
    usual, tiny, beyond = [], [], 0
    for mechanism, steps, delta in settings:
        found = tight_epsilon(mechanism, [steps], delta)
        lower, upper = float(found.lower[0]), float(found.upper[0])
        if lower > LARGEST_EPSILON:
            beyond += 1
        else:
            (usual if delta >= 1e-12 else tiny).append((upper - lower) / promised(lower))
    return usual, tiny, beyond


def _inverse_failures(settings: list[tuple[SampledGaussian, float, float]]) -> tuple[int, int]:
    """How often ε(δ(ε)) exceeds ε, and how often δ(ε(δ)) is further than 1 % from δ, of upper bounds above 0."""
    above = apart = 0
    for mechanism, steps, delta in settings:
        epsilon = float(tight_epsilon(mechanism, [steps], delta).upper[0])
        if epsilon == 0.0 or math.isinf(epsilon):
            continue
        again = float(tight_delta(mechanism, [steps], epsilon).upper[0])
        above += float(tight_epsilon(mechanism, [steps], again).upper[0]) > epsilon
        apart += abs(again / delta - 1.0) > 0.01
    return above, apart


def _missed(generator: np.random.Generator) -> int:
    """How often the grid's interval does not contain the closed form at q = 1 (the closed form itself not used)."""
    missed = 0
    for _ in range(EXACT):
        _, _, delta = _setting(generator)
        steps = float(round(10 ** generator.uniform(0.3, 8.0)))
        sigma = math.sqrt(steps) / math.exp(generator.uniform(math.log(0.01), math.log(4.0)))
        ((lower, upper),) = _epsilon_of_group([SampledGaussian(sigma, 1.0)], np.array([[steps]]), delta)
        low, high = gaussian_epsilon(sigma / math.sqrt(steps), delta)
        missed += not (lower <= high and low <= upper)
    return missed


def table() -> str:
    generator = np.random.default_rng(SEED)
    settings = [_setting(generator) for _ in range(SETTINGS)]
    usual, tiny, beyond = _widths(settings)
    above, apart = _inverse_failures(settings[:INVERSES])
    missed = _missed(generator)
    return f"""## PLD intervals

{SETTINGS} random settings (seed {SEED}; σ 0.4 to 60, q 1e-6 to 0.5, T 2 to 10⁸, δ 1e-40 to 1e-3, {len(tiny)} of them
below 1e-12; {beyond} with ε > {LARGEST_EPSILON:g}, where no width is promised). The promised width is the
larger of 1 % of ε and 0.005; widths are given relative to it.

| quantity | value |
|---|---|
| worst width ÷ promise, δ ≥ 1e-12 | {max(usual):.2f} |
| worst width ÷ promise, δ < 1e-12 | {max(tiny):.2f} |
| wider than promised | {sum(width > 1.0 for width in usual + tiny)} of {len(usual) + len(tiny)} |
| ε(δ(ε)) > ε, upper bounds | {above} of {INVERSES} |
| δ(ε(δ)) more than 1 % from δ, upper bounds | {apart} of {INVERSES} |
| intervals without the closed form (q = 1, on the grid) | {missed} of {EXACT} |
"""
