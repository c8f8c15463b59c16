"""ε and δ at the best of FINE_ORDERS, for rows of what was spent, capped by what total variation implies.

The cap: δ(ε) ≤ δ(0) ≤ TV for every ε ≥ 0, so ε = 0 holds wherever δ ≥ TV (`total_variation`). An example that is never
drawn leaves no trace, so δ ≥ 1 − (1 − q)^T needs no noise at all: an order, whose ε cannot be below ln(1/δ)/(α − 1) or
so, would not say it. With ε(δ) = 0 from TV on, the least δ with ε(δ) ≤ ε is the smaller of TV and what the orders say:
the two stay each other's inverse.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array, ArrayLike, Bools, Index
from dpviz._remember import remembered
from dpviz.accounting.accountant import Composition, GaussianSteps, gaussian_steps
from dpviz.accounting.bound import Bound
from dpviz.accounting.renyi.conversion import epsilon_per_order, log_delta_per_order
from dpviz.accounting.renyi.newton import newton_orders
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.search import Divergences, lowest, remembered_divergences
from dpviz.accounting.renyi.total_variation import total_variation

TOGETHER = 2**14  # rows of many settings that are in memory at once


@dataclass(frozen=True, eq=False, slots=True)
class TotalDivergences:
    """Rows of what was spent, and the divergences of one step of each of their mechanisms."""

    divergences: Divergences
    rows: Composition

    def total(self, rows: Index, places: Index) -> Array:
        """R(α) of all steps together: rows (k, 1) at places (k, m) give (k, m)."""
        member, count = self.rows.member[rows[:, 0]], self.rows.count[rows[:, 0]]
        step = self.divergences.at(member[:, :, None], places[:, None, :])
        with np.errstate(invalid="ignore", over="ignore"):
            spent = count[:, :, None] * step
        # No steps cost nothing even where one step costs infinitely much.
        return np.asarray(np.where(count[:, :, None] == 0.0, 0.0, spent).sum(axis=1))

    @property
    def settings(self) -> tuple[Array, Array, Array] | None:
        """σ, q and T of each row, (rows,), where each is of one sampled Gaussian step; else None."""
        mechanisms, member = self.divergences.mechanisms, self.rows.member
        if not isinstance(mechanisms, GaussianSteps) or member.shape[1] != 1:
            return None
        which = member[:, 0]
        return mechanisms.noise_multiplier[which], mechanisms.sample_rate[which], self.rows.count[:, 0]

    def total_variation(self, rows: Index) -> Array:
        """An upper bound on δ(0) of these rows."""
        divergence = self.total(rows[:, None], np.zeros((rows.size, 1), dtype=np.intp))[:, 0]
        return total_variation(self.divergences.variation[self.rows.member[rows]], self.rows.count[rows], divergence)

    def hidden(self, delta: Array) -> Bools:
        """Whether δ is at least that bound, (rows,).

        A sampled Gaussian step has KL ≥ 2 TV² (Pinsker): where δ is below what that gives, no divergence is needed.
        """
        hidden = np.ones(delta.size, dtype=np.bool_)
        if self.settings is not None:
            one, count = self.divergences.variation[self.rows.member], self.rows.count
            hidden = delta >= total_variation(one, count, 2.0 * (count * one * one).sum(axis=1)) * (1.0 - 1e-6)
        rows = np.flatnonzero(hidden)
        hidden[rows] = delta[rows] >= self.total_variation(rows)
        return hidden


def parts(rows: Composition) -> Iterator[tuple[slice, TotalDivergences]]:
    """The rows with the divergences of their mechanisms, of many settings some at a time, for which there is memory.

    Where mechanisms are few their divergences are remembered, as live runs ask again.
    """
    steps = rows.mechanisms
    if not isinstance(steps, GaussianSteps):
        yield slice(None), TotalDivergences(remembered_divergences(steps), rows)
        return
    for start in range(0, rows.count.shape[0], TOGETHER):
        part = slice(start, start + TOGETHER)
        used, member = np.unique(rows.member[part], return_inverse=True)
        own = GaussianSteps(steps.noise_multiplier[used], steps.sample_rate[used])
        yield part, TotalDivergences(Divergences(own), Composition(own, member.reshape(-1, 1), rows.count[part]))


def best_epsilon(
    spent: TotalDivergences, delta: Array, conversion: str, guess: int | None = None, *, capped: bool = True
) -> tuple[Array, Index]:
    """ε of each row at its δ, (rows,), and the place of the order that decided; −1 where none did.

    Where it is `capped`, 0 where δ is at least the total variation.
    """
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return epsilon_per_order(spent.total(rows, places), orders[places], delta[rows[:, 0]], conversion)

    some = spent.rows.releases
    if capped:
        some &= ~spent.hidden(delta)
    place, value = np.full(delta.size, -1, dtype=np.intp), np.full(delta.size, np.inf)
    if (
        orders is FINE_ORDERS and (settings := spent.settings) is not None
    ):  # in a fifth of the time, whatever is guessed
        asked = np.flatnonzero(some)
        sigma, rate, steps = (each[asked] for each in settings)
        place[asked], value[asked] = newton_orders(sigma, rate, steps, delta[asked], conversion)
    left = np.flatnonzero(some & (place < 0))
    if left.size:
        place[left], value[left] = lowest(lambda rows, at: values(left[rows], at), left.size, orders.size, guess)
    return np.where(some, np.maximum(value, 0.0), 0.0), np.where(some & np.isfinite(value), place, -1)


def capped_bound(rows: Composition, delta: Array, conversion: str) -> Bound:
    """`best_epsilon` with what decided it; `delta` (rows,)."""
    bounds = [_bound(spent, delta[part], conversion) for part, spent in parts(rows)]
    return Bound(
        epsilon=np.concatenate([bound.epsilon for bound in bounds]),
        order=np.concatenate([bound.order for bound in bounds]),
        at_grid_end=np.concatenate([bound.at_grid_end for bound in bounds]),
        floor=np.concatenate([bound.floor for bound in bounds]),
    )


def _bound(spent: TotalDivergences, delta: Array, conversion: str) -> Bound:
    epsilon, place = best_epsilon(spent, delta, conversion)
    decided = place >= 0
    last = epsilon_per_order(np.zeros((delta.size, 1)), FINE_ORDERS[-1:], delta, conversion)[:, 0]
    return Bound(
        epsilon=epsilon,
        order=np.where(decided, FINE_ORDERS[place], np.nan),
        at_grid_end=decided & (epsilon > 0.0) & ((place == 0) | (place == FINE_ORDERS.size - 1)),
        floor=np.where(delta >= 1.0, 0.0, np.maximum(last, 0.0)),
    )


def capped_delta(rows: Composition, epsilon: Array, conversion: str) -> Array:
    """The least δ of each row at its ε, (rows,): over orders, and total variation's; at most 1."""
    return np.concatenate([_delta(spent, epsilon[part], conversion) for part, spent in parts(rows)])


def _delta(spent: TotalDivergences, epsilon: Array, conversion: str) -> Array:
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return log_delta_per_order(spent.total(rows, places), orders[places], epsilon[rows[:, 0]], conversion)

    _, log_delta = lowest(values, epsilon.size, orders.size)
    delta = np.minimum(np.exp(np.minimum(log_delta, 0.0)), spent.total_variation(np.arange(epsilon.size)))
    # Whatever was spent leaves some δ: 0 from underflow would promise pure differential privacy.
    return np.where(spent.rows.releases, np.maximum(delta, np.finfo(np.float64).tiny), 0.0)


class OrderSearch(Divergences):
    """ε along many settings (σ, q), which broadcast, for one T and δ after the other; divergences are kept."""

    def __init__(self, sigma: ArrayLike, rate: ArrayLike, orders: ArrayLike | None = None) -> None:
        """The orders are FINE_ORDERS, with the cap, where none are named."""
        self._capped = orders is None
        settings = np.broadcast_arrays(np.atleast_1d(sigma), rate)
        steps = GaussianSteps(*(values.astype(np.float64) for values in settings))
        super().__init__(steps, FINE_ORDERS if orders is None else np.asarray(orders))

    def epsilon(self, steps: float, delta: float, conversion: str, near: float | None = None) -> tuple[Array, Array]:
        """ε after `steps` steps at `delta`, and the order that decided (NaN: none); shape (n,) each.

        Args:
            steps: T ≥ 0.
            delta: δ in (0, 1).
            conversion: "improved" or "classic".
            near: an order that is known to decide close by; None or NaN for none.
        """
        guess = None if near is None or math.isnan(near) else int(np.searchsorted(self.orders, near))
        n = gaussian_steps(self.mechanisms).sample_rate.size
        rows = Composition(self.mechanisms, np.arange(n)[:, None], np.full((n, 1), steps))
        epsilon, place = best_epsilon(
            TotalDivergences(self, rows), np.full(n, delta), conversion, guess, capped=self._capped
        )
        return epsilon, np.where(place >= 0, self.orders[place], np.nan)


@remembered
def order_search(sigma: bytes, rate: float) -> OrderSearch:
    """Along these σ, float64s as bytes: its divergences serve every T and δ."""
    return OrderSearch(np.frombuffer(sigma), rate)
