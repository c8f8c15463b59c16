"""ε of many settings at their best Rényi orders, computing the divergence only at orders that may decide.

ε(α) = R(α) + tail(α) is quasi-convex in s = α − 1: s·R is the convex log moment, and s·tail is −ln δ for the classic
conversion and s ln s − (s + 1) ln(s + 1) − ln δ, of second derivative 1/s − 1/(s + 1) > 0, for the improved one; a
convex function divided by s > 0 has one valley. So the best order of a grid is found by walking downhill, first in
large strides, and some twenty divergences a setting do the work of four hundred. Whatever orders were looked at, the
answer is an upper bound: every order gives one.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dpviz.accounting.conversion import epsilon_per_order
from dpviz.accounting.log_moments import renyi_divergence
from dpviz.accounting.orders import DEFAULT_ORDERS

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.intp]

_STRIDES = (64, 16, 4, 1)


class OrderSearch:
    """Divergences of one step at settings (σ, q), kept from call to call.

    Attributes:
        sigma, rate: the settings, shape (n,) each.
        orders: the grid, increasing, shape (orders,).
    """

    def __init__(self, sigma: npt.ArrayLike, rate: npt.ArrayLike, orders: tuple[float, ...] = DEFAULT_ORDERS) -> None:
        given = np.broadcast_arrays(np.asarray(sigma, dtype=np.float64), np.asarray(rate, dtype=np.float64))
        self.sigma, self.rate = (np.atleast_1d(values).astype(np.float64) for values in given)
        self.orders = np.array(orders)
        self._found = np.full((self.sigma.size, self.orders.size), np.nan)

    def epsilon(self, steps: float, delta: float, conversion: str, guess: int | None = None) -> tuple[Array, Index]:
        """ε after `steps` steps at `delta`, and the index of the order that decided; shape (n,) each.

        Args:
            steps: T ≥ 0.
            delta: δ in (0, 1).
            conversion: "improved" or "classic".
            guess: index of an order to start from, when one is known to be near.
        """
        tail = epsilon_per_order(np.zeros_like(self.orders), self.orders, np.asarray(delta), conversion)
        last = self.orders.size - 1
        if guess is None:
            coarse = np.unique(np.append(np.arange(0, last + 1, _STRIDES[0]), last))
            self._fill(np.arange(self.sigma.size)[:, None], coarse[None, :])
            best = self._best(steps, tail)
        else:
            best = np.full(self.sigma.size, min(max(guess, 0), last), dtype=np.intp)
        for stride in _STRIDES[1:] if guess is None else _STRIDES[2:]:
            best = self._downhill(best, stride, steps, tail)
        rows = np.arange(self.sigma.size)
        with np.errstate(invalid="ignore", over="ignore"):
            total = steps * self._found[rows, best]
        value = np.maximum(total + tail[best], 0.0)
        return np.where((self.rate > 0.0) & (steps > 0.0), value, 0.0), best

    def _best(self, steps: float, tail: Array) -> Index:
        with np.errstate(invalid="ignore", over="ignore"):
            values = steps * self._found + tail
        return np.asarray(np.where(np.isnan(values), np.inf, values).argmin(axis=1))

    def _downhill(self, best: Index, stride: int, steps: float, tail: Array) -> Index:
        """Walk in strides until no setting's neighbours are lower."""
        rows = np.arange(best.size)
        near = stride * np.arange(-1, 2)
        while rows.size:
            wanted = np.clip(best[rows, None] + near, 0, self.orders.size - 1)
            self._fill(rows[:, None], wanted)
            found = self._best(steps, tail)[rows]
            moved = found != best[rows]
            best[rows] = found
            rows = rows[moved]
        return best

    def _fill(self, rows: Index, columns: Index) -> None:
        """Compute what is missing of self._found[rows, columns]."""
        row, column = (part.ravel() for part in np.broadcast_arrays(rows, columns))
        missing = np.unique((row * self.orders.size + column)[np.isnan(self._found[row, column])])
        if missing.size:
            row, column = np.divmod(missing, self.orders.size)
            self._found[row, column] = renyi_divergence(self.sigma[row], self.rate[row], self.orders[column])
