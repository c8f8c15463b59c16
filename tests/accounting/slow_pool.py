"""`bayesian_pool` written out, threshold by threshold: what its tests and those of runs compare with."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpviz.accounting.bayesian.costs import step_costs

ORDERS = np.arange(1, 33)


def slow_pool_cost(steps: Sequence[Any], scale: float, rate: float, total_steps: int, failure: float) -> Any:
    """Σ of the costs of all steps, (32,), from their distances as parts of d_max; scale is (d_max/σ)²."""
    ends = [0.01 * 25 ** (i / 63) for i in range(64)] + [0.25 + 0.75 * i / 128 for i in range(1, 129)]
    worst = total_steps * step_costs(np.array([scale]), ORDERS, rate)[0]
    known = [list(found) for found in steps if len(found)]
    if not known:
        return len(steps) * worst / total_steps
    everything = sorted(value for found in known for value in found)
    number = len(everything)
    each = failure / (len(ends) - 1)
    above, last = [], 1.0
    for end in ends[:-1]:
        many = sum(value > end for value in everything)
        bounds = [1.0 - (each / 2) ** (1 / number)] if many == 0 else []
        for place in range(9):
            tilt = 6.0 / 2**place
            doubt = math.log(2 * 9 / each)
            bounds.append((1 - math.exp(-(tilt * many + doubt) / number)) / (1 - math.exp(-tilt)))
        last = min(last, *bounds)
        above.append(last)
    masses = np.array([1.0, *above]) - np.array([*above, 0.0])
    grown = total_steps * step_costs(scale * np.array(ends) ** 2, ORDERS, rate)
    means = grown[-1] + np.log(masses @ np.exp(grown - grown[-1]))
    near_one = np.log1p(masses @ np.expm1(np.minimum(grown, 1.0)))
    means = np.where(grown[-1] <= 1.0, near_one, means)
    uneven = math.log(number / len(known)) - sum(math.log(len(found)) for found in known) / len(known)
    bound = len(known) * (means + uneven) + (len(steps) - len(known)) * worst
    return np.minimum(bound, len(steps) * worst) / total_steps
