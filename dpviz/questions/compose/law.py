"""Bayesian DP of a known distribution of norms, clipped at its quantile: no sample, no γ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz._remember import remembered
from dpviz.accounting.bayesian import ORDERS
from dpviz.gradients.families import law
from dpviz.gradients.truth import true_norms_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.compose.bayesian import Array
from dpviz.questions.gradients import Law


@dataclass(frozen=True, eq=False)
class LawCost:
    """ε_μ along the steps, shape (n,): of the distribution itself, between sums from below and from above.

    Attributes:
        upper: what is shown.
        lower: at most so much less would be true at these orders.
        order: α that decides; at_grid_end: whether there is none beyond; floor: what ε cannot fall below for that.
        over_median: C ÷ the median norm; times σ, the noise that every step gets.
    """

    upper: Array
    lower: Array
    order: Array
    at_grid_end: npt.NDArray[np.bool_]
    floor: Array
    over_median: float


def over_median(family: str, shape: float, quantile: float) -> float:
    norms = law(family, shape, 1.0)
    return float(norms.ppf(quantile) / norms.median())


@remembered
def law_cost(
    known: Law, steps: tuple[float, ...], mechanism: SampledGaussian, quantile: float, delta: float, definition: str,
    order: int | None, reading: str,
) -> LawCost:  # fmt: skip
    """The cost at a clipping quantile in (0, 1).

    Raises:
        ValueError: there is no such quantile.
    """
    if quantile in (0.0, 1.0):
        end = "the least norm is 0" if quantile == 0.0 else "its norms have no largest"
        raise ValueError(f"{end}: a known distribution has no quantile {quantile:.0f} to clip at. Choose one between.")
    norms = law(known.family, known.shape, 1.0)
    threshold = float(norms.ppf(quantile))
    found = true_norms_epsilon(
        known.family, shape=known.shape, threshold=threshold, noise_std=mechanism.noise_multiplier * threshold,
        sample_rate=mechanism.sample_rate, steps=steps, delta_mu=delta, reading=reading,
        orders=ORDERS if order is None else (order,),
    )  # fmt: skip
    none = np.full(len(steps), np.nan)
    return LawCost(found.upper, found.lower, none, none > 0, none, threshold / float(norms.median()))
