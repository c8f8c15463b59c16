"""The noise that a target ε needs, kept by value: some 0.1 s the first time."""

import math
from collections.abc import Callable, Sequence

from dpviz._remember import remembered
from dpviz.accounting.adaptive.one_order import planned_epsilon
from dpviz.accounting.boundary import boundary, bracket
from dpviz.accounting.calibration import TOLERANCE
from dpviz.accounting.methods import Renyi, accountant
from dpviz.accounting.no_noise import no_noise_needed
from dpviz.accounting.solve import solve
from dpviz.fields import numbers
from dpviz.mechanisms import Event, Mechanism, SampledGaussian
from dpviz.questions.kinds import with_noise

_MOST_LOG = 100.0


@remembered
def solved_noise(
    target: float,
    method: str,
    step: Mechanism,
    steps: int,
    delta: float,
    *,
    counts: int = 0,
    count_noise: float = 0.0,
    before: tuple[Event, ...] = (),
    named: str = "",
    batch_size: int = 1,
    adaptive: bool = False,
) -> float:
    """σ, the least with which `before`, `steps` steps and `counts` private counts cost at most `target`.

    Args:
        target: ε > 0.
        method: of `methods.METHODS`; with counts it is Rényi, as the plan that the page shows.
        step, steps, delta: what is noised, with any noise; how many there are; and δ.
        counts, count_noise: releases beside the steps, and their noise multiplier.
        before, named: what earlier runs may have spent on the same data, and what they are called.
        batch_size: expected; after an earlier run, noise that could hide a whole batch (σ above it) is refused: each
            step would replace what that run learned by noise.
        adaptive: whether a filter with the budget `target` will hold the run: then its accounting decides, so that it
            lets the whole plan pass.

    Raises:
        ValueError: where no noise does, naming target_epsilon; where none is needed, naming delta.
    """
    try:
        if counts or adaptive or before:
            cost = planned_epsilon if adaptive else _cost(Renyi.name if counts else method)
            spent = cost(before, delta) if before else 0.0
            spent_words = f"{named} may have spent {numbers.epsilon(spent, digits=4, up=True)} of it on the same data."
            if before and spent >= target:
                raise ValueError(f"{spent_words} Ask for more, or start from random weights.")
            beside = (*before, *(((SampledGaussian(count_noise), counts),) if counts else ()))
            noise = _proved(target, step, steps, delta, beside, cost)
            if before and noise > batch_size:
                least = cost([(with_noise(step, float(batch_size)), steps), *beside], delta)
                left = numbers.down(target - spent)
                raise ValueError(
                    f"{spent_words} What is left, {left}, needs noise σ = {noise:.2g} at each step. This is more than "
                    f"the largest possible sum of {batch_size} clipped gradients and would destroy what the network "
                    f"has learned. Ask for at least {numbers.epsilon(least, digits=4, up=True)}, or start from random "
                    "weights."
                )
        else:
            noise = solve(
                "noise_multiplier", target_epsilon=target, method=method, mechanism=step, steps=steps, delta=delta
            )
    except ValueError as problem:
        raise ValueError(f"Expected target_epsilon={target:.12g} to be reachable: {problem}") from None
    if noise == 0.0:
        raise ValueError(no_noise_needed(delta, getattr(step, "sample_rate", 1.0), steps))
    return noise


def _cost(method: str) -> Callable[[Sequence[Event], float], float]:
    return lambda runs, delta: float(accountant(method).of_events(runs, delta).epsilon)


def _proved(
    target: float,
    step: Mechanism,
    steps: int,
    delta: float,
    beside: tuple[Event, ...],
    cost: Callable[[Sequence[Event], float], float],
) -> float:
    alone = cost(beside, delta) if beside else 0.0
    if alone >= target:
        counted, count = beside[-1]
        raise ValueError(
            f"{count} private counts with noise {getattr(counted, counted.noise):g} cost {alone:.4g} "
            f"{'by themselves' if len(beside) == 1 else 'with what was spent before'}. "
            "Give the counts more noise, or take them less often."
        )

    def gap(log_sigma: float) -> float:
        spent = cost([(with_noise(step, math.exp(log_sigma)), steps), *beside], delta)
        return math.log(spent / target) if math.isfinite(spent) and spent > 0.0 else spent - target

    ends = bracket(gap, 0.0, 1.0, _MOST_LOG)
    if ends is None:
        raise ValueError("no noise is enough" + (" beside the private counts." if beside else "."))
    if math.isinf(ends[1]):
        return 0.0
    return math.exp(boundary(gap, *ends, TOLERANCE))
