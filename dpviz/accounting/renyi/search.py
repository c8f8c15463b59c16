"""ε and δ at the best of FINE_ORDERS, for rows of what was spent, capped by what total variation implies.

The cap: δ(ε) ≤ δ(0) ≤ TV for every ε ≥ 0, so ε = 0 holds wherever δ ≥ TV (`total_variation`). An example that is never
drawn leaves no trace, so δ ≥ 1 − (1 − q)^T needs no noise at all: an order, whose ε cannot be below ln(1/δ)/(α − 1) or
so, would not say it. With ε(δ) = 0 from TV on, the least δ with ε(δ) ≤ ε is the smaller of TV and what the orders say:
the two stay each other's inverse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array, ArrayLike, Bools, Index
from dpviz.accounting.accountant import Composition
from dpviz.accounting.bound import Bound
from dpviz.accounting.renyi.conversion import epsilon_per_order, log_delta_per_order
from dpviz.accounting.renyi.order_search import Divergences, divergences_of, lowest
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.total_variation import total_variation


@dataclass(frozen=True, eq=False, slots=True)
class Spent:
    """Rows of what was spent.

    Attributes:
        divergences: of one step of each setting (σ, q).
        member: which settings, shape (rows, mechanisms).
        count: how many steps of each, shape (rows, mechanisms).
    """

    divergences: Divergences
    member: Index
    count: Array

    @property
    def something(self) -> Bools:
        """Whether a row released anything, shape (rows,)."""
        return np.asarray(((self.count > 0.0) & self.divergences.releases[self.member]).any(axis=-1))

    def total(self, rows: Index, places: Index) -> Array:
        """R(α) of all steps together: rows (k, 1) at places (k, m) give (k, m)."""
        member, count = self.member[rows[:, 0]], self.count[rows[:, 0]]
        step = self.divergences.at(member[:, :, None], places[:, None, :])
        with np.errstate(invalid="ignore", over="ignore"):
            spent = count[:, :, None] * step
        # No steps cost nothing even where one step costs infinitely much.
        return np.asarray(np.where(count[:, :, None] == 0.0, 0.0, spent).sum(axis=1))

    def total_variation(self) -> Array:
        """An upper bound on δ(0), shape (rows,)."""
        first = np.zeros((self.count.shape[0], 1), dtype=np.intp)
        divergence = self.total(np.arange(self.count.shape[0])[:, None], first)[:, 0]
        return total_variation(self.divergences.variation[self.member], self.count, divergence)


def spent(rows: Composition) -> Spent:
    """The rows with the divergences of their mechanisms, which are remembered where these are few."""
    return Spent(divergences_of(rows.mechanisms), rows.member, rows.count)


def best_epsilon(spent: Spent, delta: Array, conversion: str, guess: int | None = None) -> tuple[Array, Index]:
    """ε of each row at its δ, (rows,), and the place of the order that decided; −1 where none did."""
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return epsilon_per_order(spent.total(rows, places), orders[places], delta[rows[:, 0]], conversion)

    place, value = lowest(values, delta.size, orders.size, guess)
    epsilon = np.where(spent.something, np.maximum(value, 0.0), 0.0)
    return epsilon, np.where(spent.something & np.isfinite(value), place, -1)


def capped_epsilon(spent: Spent, delta: Array, conversion: str, guess: int | None = None) -> tuple[Array, Index]:
    """`best_epsilon`, and 0 where δ is at least the total variation."""
    epsilon, place = best_epsilon(spent, delta, conversion, guess)
    free = delta >= spent.total_variation()
    return np.where(free, 0.0, epsilon), np.where(free, -1, place)


def capped_bound(spent: Spent, delta: Array, conversion: str) -> Bound:
    """`capped_epsilon` with what decided it; `delta` (rows,)."""
    epsilon, place = capped_epsilon(spent, delta, conversion)
    decided = place >= 0
    last = epsilon_per_order(np.zeros((delta.size, 1)), FINE_ORDERS[-1:], delta, conversion)[:, 0]
    return Bound(
        epsilon=epsilon,
        order=np.where(decided, FINE_ORDERS[place], np.nan),
        at_grid_end=decided & (epsilon > 0.0) & ((place == 0) | (place == FINE_ORDERS.size - 1)),
        floor=np.where(delta >= 1.0, 0.0, np.maximum(last, 0.0)),
    )


def capped_delta(spent: Spent, epsilon: Array, conversion: str) -> Array:
    """The least δ of each row at its ε, (rows,): over orders, and total variation's; at most 1."""
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return log_delta_per_order(spent.total(rows, places), orders[places], epsilon[rows[:, 0]], conversion)

    _, log_delta = lowest(values, epsilon.size, orders.size)
    delta = np.minimum(np.exp(np.minimum(log_delta, 0.0)), spent.total_variation())
    # Whatever was spent leaves some δ: 0 from underflow would promise pure differential privacy.
    return np.where(spent.something, np.maximum(delta, np.finfo(np.float64).tiny), 0.0)


class OrderSearch:
    """ε along many settings (σ, q), for one T and δ after the other; divergences are kept from call to call.

    Attributes:
        sigma, rate: the settings, shape (n,) each.
        orders: the grid, increasing, shape (orders,); FINE_ORDERS, with the cap, where none was named.
    """

    def __init__(self, sigma: ArrayLike, rate: ArrayLike, orders: ArrayLike | None = None) -> None:
        self.capped = orders is None
        self.divergences = Divergences(sigma, rate, FINE_ORDERS if orders is None else np.asarray(orders))
        self.sigma, self.rate = self.divergences.sigma, self.divergences.rate
        self.orders = self.divergences.orders

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return self.divergences.nbytes

    def epsilon(self, steps: float, delta: float, conversion: str, near: float | None = None) -> tuple[Array, Array]:
        """ε after `steps` steps at `delta`, and the order that decided (NaN: none); shape (n,) each.

        Args:
            steps: T ≥ 0.
            delta: δ in (0, 1).
            conversion: "improved" or "classic".
            near: an order that is known to decide close by.
        """
        guess = None if near is None else int(np.searchsorted(self.orders, near))
        n = self.sigma.size
        spent = Spent(self.divergences, np.arange(n)[:, None], np.full((n, 1), steps))
        search = capped_epsilon if self.capped else best_epsilon
        epsilon, place = search(spent, np.full(n, delta), conversion, guess)
        return epsilon, np.where(place >= 0, self.orders[place], np.nan)
