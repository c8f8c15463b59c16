"""A budget for steps that depend on what was seen: a filter at one Rényi order, fixed before the first step.

Let each step be chosen from all that was released before it, and let the filter at order α see to it that the
divergences R_t(α) add up to at most ρ in every outcome. For neighbouring data, p_t and p′_t being what step t does to
either of them after the same past, E[(p_t/p′_t)^α | past] ≤ exp((α − 1) R_t(α)): so the product over t of
(p_t/p′_t)^α · exp(−(α − 1) R_t(α)) is a supermartingale that starts at 1, and the whole run has a divergence of at
most ρ at α, wherever it ends: steps that are not taken cost nothing (Feldman & Zrnic 2021, Theorem 3.1; Lécuyer 2021,
Theorem 1). Converted at that α, ρ is (ε, δ), as if all had been planned: adaptivity has no price, and nothing is
shared out over orders. Both directions of adding and removing are covered, since R is the larger of the two.

The order must not depend on the data. It is taken from a baseline plan: the one at which the budget holds it the most
times over. The plan's own ε, which its best order decides, is a budget that it just fits.

>>> from dpviz.mechanisms import SampledGaussian
>>> plan = [(SampledGaussian(2.0, 0.1), 150), (SampledGaussian(100.0), 15)]
>>> budget = one_order_filter(plan, target_epsilon=planned_epsilon(plan, 1e-5), delta=1e-5)
>>> [budget.spend(*part) for part in plan], round(budget.target_epsilon, 6)
([None, None], 3.174496)
>>> budget.allows(plan[0][0])
False
"""

from collections.abc import Sequence

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, Index
from dpviz._remember import remembered
from dpviz.accounting.adaptive.filter import Filter
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.additive import times
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.search import Divergences, lowest
from dpviz.mechanisms import Event, merge_events

_CONVERSION = "improved"
_ALL = Renyi(_CONVERSION)
# Divergences are added in another order along a run than here: room for the last digits.
_ROUNDING = 1e-9


def planned_epsilon(events: Sequence[Event], delta: float) -> float:
    """The least budget that all of `events` fit, in whatever order they come: ε of the plan at its best order.

    Infinite where no order has a finite divergence.
    """
    return _planned(merge_events(events), delta)


def one_order_filter(
    events: Sequence[Event], *, target_epsilon: float, delta: float, conversion: str = _CONVERSION
) -> Filter:
    """A filter at the order at which the budget holds the plan `events` the most times over."""
    target = _validate.number(target_epsilon=target_epsilon)
    order = _best_order(merge_events(events), target, _validate.number(delta=delta), conversion)
    return Filter(target_epsilon=target_epsilon, delta=delta, orders=[order], conversion=conversion)


@remembered
def _planned(events: tuple[Event, ...], delta: float) -> float:
    least = float(np.nanmin(_tails(delta) + _ALL.total(events)))
    return max(least, 0.0) * (1.0 + _ROUNDING) + _ROUNDING


@remembered
def _best_order(events: tuple[Event, ...], target_epsilon: float, delta: float, conversion: str) -> float:
    """The order at which the budget holds them the most times over.

    With s = α − 1 that is εs − s·tail, which is concave (`search`), ÷ the convex log moment: where it is positive it
    has one hill, and few orders are looked at. Where it is nowhere positive, or infinite, all are.
    """
    kept = Divergences(tuple(mechanism for mechanism, _ in events), _ALL.orders)
    count, spare = np.array([float(t) for _, t in events]), target_epsilon - _tails(delta, conversion)

    def fewest(_: Index, places: Index) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            spent = times(kept.at(np.arange(count.size)[:, None, None], places), count[:, None]).sum(axis=0)
            return np.asarray(np.nan_to_num(-spare[places] / spent, nan=np.inf, posinf=np.inf, neginf=-np.inf))

    every = np.arange(_ALL.orders.size)
    place, value = lowest(fewest, 1, every.size)
    if not -np.inf < value[0] < 0.0:
        place = fewest(every, every[None]).argmin(axis=1)
    return float(_ALL.orders[place[0]])


def _tails(delta: float, conversion: str = _CONVERSION) -> Array:
    """What the conversion adds to the divergence at each order, (orders,)."""
    orders = _ALL.orders
    return epsilon_per_order(np.zeros(orders.size), orders, np.asarray(delta), conversion)
