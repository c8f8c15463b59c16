"""The missing one of (σ, q, T, δ_μ) for a target ε_μ of a known law of norms, never on the unsafe side.

>>> known = dict(family="weibull", shape=0.5, quantile=0.95, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> round(solve_law("noise_multiplier", target_epsilon=1.0, **known), 3)
3.461
"""

import math
from typing import Any

from dpviz import _validate
from dpviz.accounting.bayesian.solve import dp_answer
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.accounting.solve import (
    LARGEST_STEPS,
    TOLERANCE,
    Fits,
    Gap,
    boundary,
    bracket,
    chance_of_being_drawn,
    largest_share,
    last_whole,
    no_answer,
    nudged,
    size_of_gap,
    smallest,
)
from dpviz.gradients.law_bound import law_bound

UNKNOWNS = ("noise_multiplier", "sample_rate", "steps", "delta_mu")
_STARTS = {"noise_multiplier": 1.0, "sample_rate": 0.01, "steps": 1000.0, "delta_mu": 1e-5}
_METHODS = {1: Moments.name, 2: Renyi.name}
_HARDLY_ANY_NOISE = 0.01


def solve_law(
    unknown: str,
    *,
    target_epsilon: Any,
    noise_multiplier: Any = None,
    sample_rate: Any = None,
    steps: Any = None,
    delta_mu: Any = None,
    definition: int = 2,
    **clipped: Any,
) -> float:
    """The missing one of (noise_multiplier, sample_rate, steps, delta_mu) at which ε_μ ≤ target_epsilon.

    Args:
        unknown: "noise_multiplier" (the smallest), "sample_rate" (the largest), "steps" (the longest plan) or
            "delta_mu" (the smallest): leave that argument out and give the three others.
        target_epsilon: ε_μ ≥ 0.
        noise_multiplier, sample_rate, steps, delta_mu, definition, and clipped (family, shape, quantile): as in
            `bayesian_law_epsilon`, whose upper bound is solved for.

    Returns:
        noise_multiplier and delta_mu rounded up, sample_rate down, within 2e-7; steps whole (at most 2^53; 0.0 where
        one step costs more). Where any value will do: 0.0 for noise_multiplier and delta_mu, 1.0 for sample_rate, inf
        for steps. bayesian_law_epsilon(…, answer) ≤ target_epsilon holds for the very float.

    Raises:
        ValueError: for a bad argument, and where no value will do, with the reason and the way out.
    """
    _validate.choice("unknown", unknown, UNKNOWNS)
    given = dict(zip(UNKNOWNS, (noise_multiplier, sample_rate, steps, delta_mu), strict=True))
    known: dict[str, Any] = dict(_validate.all_but_one(unknown, given, fewest_steps=1))
    target = _validate.number(target_epsilon=target_epsilon)

    def bound(value: float) -> Any:
        return law_bound(**clipped, definition=definition, **(known | {unknown: value}))

    floor = float(bound(_STARTS[unknown]).floor)  # checks all arguments, too
    if unknown != "delta_mu" and target < floor and known.get("sample_rate", 1.0) > 0.0:
        raise no_answer("law_floor", target=target, floor=floor)

    def gap(value: float) -> float:
        return size_of_gap(float(bound(value).upper), target)

    def fits(value: float) -> bool:
        return gap(value) <= 0.0

    start = dp_answer(unknown, target, _METHODS[definition], tuple(known.items()))
    start = start if 0.0 < start < math.inf else _STARTS[unknown]
    if known.get("sample_rate") == 0.0 and unknown != "noise_multiplier":
        return {"steps": math.inf, "delta_mu": 0.0}[unknown]
    if unknown == "steps":
        return last_whole(gap, start, LARGEST_STEPS)
    if unknown == "noise_multiplier":
        drawn = chance_of_being_drawn(known["sample_rate"], known["steps"])
        if drawn == 0.0 or (known["delta_mu"] >= drawn and fits(_HARDLY_ANY_NOISE)):
            return 0.0
        answer = smallest(gap, fits, start, TOLERANCE)
    elif unknown == "sample_rate":
        answer = largest_share(gap, fits, start, TOLERANCE)
    else:
        answer = _least_delta(gap, fits, start)
    if answer is None:
        raise no_answer("law_unreachable", target=target, unknown=unknown)
    return answer


def _least_delta(gap: Gap, fits: Fits, start: float) -> float | None:
    """The smallest δ_μ below 1, which promises nothing; None where none will do."""

    def at(log: float) -> float:
        return gap(math.exp(log)) if log < 0.0 else -log - 1.0

    ends = bracket(at, math.log(start), towards=1.0, limit=700.0)
    assert ends is not None  # δ_μ = 1 is within reach
    if math.isinf(ends[1]):
        return math.exp(ends[0])
    answer = math.exp(boundary(at, *ends, TOLERANCE))
    return None if answer >= 1.0 else nudged(answer, 1.0, lambda value: value >= 1.0 or fits(value))
