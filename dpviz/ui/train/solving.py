"""The noise that a target ε needs, kept by value: some 0.1 s the first time."""

from __future__ import annotations

import math
from functools import lru_cache

from dpviz.accounting.boundary import boundary, bracket
from dpviz.accounting.mechanism import Run, SampledGaussian
from dpviz.accounting.no_noise import no_noise_needed
from dpviz.accounting.renyi import Renyi
from dpviz.accounting.solve import TOLERANCE, solve

_MOST_LOG = 100.0


@lru_cache(maxsize=512)
def solved_noise(
    target: float, method: str, rate: float, steps: int, delta: float, *, counts: int = 0, count_noise: float = 0.0
) -> float:
    """σ, the least with which `steps` steps and `counts` private counts cost at most `target`.

    Args:
        target: ε > 0.
        method: "renyi" or "tight"; with counts it is Rényi, as the plan that the page shows.
        rate, steps, delta: q, T and δ.
        counts, count_noise: releases beside the steps, and their noise multiplier.

    Raises:
        ValueError: where no noise does, naming target_epsilon; where none is needed, naming delta.
    """
    try:
        if counts:
            found = _beside_counts(target, rate, steps, delta, (SampledGaussian(count_noise, 1.0), counts))
        else:
            found = solve(
                "noise_multiplier", target_epsilon=target, method=method, sample_rate=rate, steps=steps, delta=delta
            )
    except ValueError as problem:
        raise ValueError(f"Expected target_epsilon={target:.12g} to be reachable: {problem}") from None
    if found == 0.0:
        raise ValueError(no_noise_needed(delta, rate, steps))
    return found


def _beside_counts(target: float, rate: float, steps: int, delta: float, counts: Run) -> float:
    accountant = Renyi()
    alone = float(accountant.of_runs([counts], delta).epsilon)
    if alone >= target:
        raise ValueError(
            f"{counts[1]} private counts with noise {counts[0].noise_multiplier:g} cost {alone:.4g} by themselves. "
            "Give the counts more noise, or take them less often."
        )

    def gap(log_sigma: float) -> float:
        mechanism = SampledGaussian(math.exp(log_sigma), rate)
        spent = float(accountant.of_runs([(mechanism, steps), counts], delta).epsilon)
        return math.log(spent / target) if math.isfinite(spent) and spent > 0.0 else spent - target

    found = bracket(gap, 0.0, 1.0, _MOST_LOG)
    if found is None:
        raise ValueError("no noise is enough beside the private counts.")
    if math.isinf(found[1]):
        return 0.0
    return math.exp(boundary(gap, *found, TOLERANCE))
