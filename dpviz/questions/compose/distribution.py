"""Bayesian DP of a known distribution of norms: its cost along the steps, an integral without γ, and a sample's."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.gradients.clipped_law import threshold_over_median
from dpviz.gradients.law_bound import LawBound, law_bound
from dpviz.gradients.law_sample import LawSample
from dpviz.questions.gradients import Law
from dpviz.questions.methods import coarse, marked_steps

ONE_IN, LEAST = 4, 16  # of the other curves' points has a value: this curve costs more


@dataclass(frozen=True, eq=False)
class LawCost:
    """ε_μ at `steps`, shape (n,).

    Attributes:
        bound: of the distribution itself; `order` is α.
        over_median: C ÷ the median norm: times σ, the noise that every step gets.
    """

    steps: Array
    bound: LawBound
    over_median: float

    @property
    def last(self) -> float:
        """The bound after all steps."""
        return float(self.bound.upper[-1])

    @property
    def floor(self) -> float | None:
        """What the last order charges for nothing, where that is most of ε_μ."""
        if not bool(self.bound.at_grid_end[-1]):
            return None
        floor = float(self.bound.floor[-1])
        return floor if floor > 0.5 * self.last else None


@dataclass(frozen=True, eq=False)
class SampledCost:
    """What a sample of the known distribution says at `steps`, shape (n,): the bound, and the estimate as printed."""

    steps: Array
    cost: LawSample


def law_steps(grid: Array) -> Array:
    """Some of the steps of the other curves, those of the table among them where there is one."""
    share = np.linspace(0.0, 1.0, max(grid.size // ONE_IN, LEAST)) ** (1.0 if coarse() else 1.5)
    listed = [] if coarse() else marked_steps(int(grid[-1]))
    places = [np.abs(grid - one).argmin() for one in listed]
    chosen: Array = grid[np.union1d(((grid.size - 1) * share).round(), places).astype(int)]
    return chosen


@remembered
def law_cost(
    law: Law, quantile: float, steps: tuple[float, ...], orders: tuple[float, ...] | None, **asked: Any
) -> LawCost:
    """The cost along these steps; other keywords as in `law_bound`.

    Raises:
        ValueError: there is no such quantile to clip at.
    """
    if quantile in (0.0, 1.0):
        end = "the least norm is 0" if quantile == 0.0 else "its norms have no largest"
        raise ValueError(f"{end}: a known distribution has no quantile {quantile:.0f} to clip at. Choose one between.")
    bound = law_bound(law.family, shape=law.shape, quantile=quantile, steps=steps, orders=orders, **asked)
    return LawCost(np.array(steps), bound, threshold_over_median(law.family, law.shape, quantile))
