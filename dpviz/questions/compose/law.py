"""Bayesian DP of a known distribution of norms, clipped at its quantile: no sample, no γ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from dpviz._remember import remembered
from dpviz.gradients.law_bound import LawBound, law_bound, threshold_over_median
from dpviz.questions.compose.bayesian import Array, failure_of
from dpviz.questions.gradients import Law
from dpviz.questions.methods import marked_steps
from dpviz.questions.source import origin

ONE_IN = 4  # of the other curves' points has a value: this curve costs more


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


def law_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The page's known distribution, mechanism and δ_μ as the library's keywords."""
    known = origin(given["gradients"])
    assert isinstance(known, Law)
    return known.clip(given["quantile"]) | asdict(given["mechanism"]) | {"delta_mu": failure_of(given)}


@remembered
def law_cost(known: Law, quantile: float, grid: tuple[float, ...], order: int | None, **asked: Any) -> LawCost:
    """The cost along some of the steps, those of the table among them; other keywords as in `LawPlan`.

    Raises:
        ValueError: there is no such quantile to clip at.
    """
    if quantile in (0.0, 1.0):
        end = "the least norm is 0" if quantile == 0.0 else "its norms have no largest"
        raise ValueError(f"{end}: a known distribution has no quantile {quantile:.0f} to clip at. Choose one between.")
    every = np.array(grid)
    spread = (every.size - 1) * np.linspace(0.0, 1.0, max(every.size // ONE_IN, 16)) ** 1.5
    listed = np.abs(every[:, None] - np.array(marked_steps(int(every[-1])))).argmin(axis=0)
    steps = every[np.union1d(spread.round().astype(int), listed)]
    orders = None if order is None else (order + 1.0,)
    bound = law_bound(**known.clip(quantile), steps=steps, orders=orders, **asked)
    return LawCost(steps, bound, threshold_over_median(known.family, known.shape, quantile))
