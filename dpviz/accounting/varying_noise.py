"""Rényi divergences of many sampled Gaussian steps whose noise varies, at the price of a few dozen.

Let u = 1/σ². With x ~ N(0, 1), A_α(u) = E[f(M_u)], M_u = exp(√u x − u/2), f(m) = (1 − q + q m)^α. M is geometric
Brownian motion in the "time" u, so dA/du = ½ E[M² f″(M)], and m² f″(m) = α(α−1) q² m² (1 − q + q m)^(α−2) is convex
for every α > 1: hence A_α is CONVEX in u. For whole α even ln A_α is, for A_α is a sum of exponentials of u.
So between two tabulated values the chord lies above the truth, and by Jensen a group of n steps costs at most
n ln(chord at their mean u): an upper bound, exact to second order in the width of a cell. At u = 0 A_α = 1.

>>> steps = PowerSchedule(first=1 / 16, exponent=0.0, steps=10_000)   # u = 1/σ² of each step: σ = 4
>>> round(float(composed_divergence(steps, sample_rate=0.01, orders=(20.0,))[0]), 6)
0.652631
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.log_moments import log_moment
from dpviz.accounting.schedules import PowerSchedule, Schedule, Split, cell_edges, largest_step, split, total_steps

Array = npt.NDArray[np.float64]


def _some_orders() -> tuple[float, ...]:
    # Little noise at a tiny q has a sharp knee, below α = 16 or further up as the noise goes: close spacing there.
    fractional = 1.0 + np.concatenate(
        [np.geomspace(0.005, 0.5, 12, endpoint=False), np.geomspace(0.5, 15.0, 59, endpoint=False)]
    )
    whole = np.concatenate([np.geomspace(16.0, 512.0, 84), np.geomspace(512.0, 1e6, 26)])
    return tuple(np.concatenate([fractional, np.unique(np.round(whole))]).tolist())


# Fewer than the Rényi accountant's, mostly whole from 16 on, whose sums are quicker.
VARYING_ORDERS = _some_orders()
# λ + 1 for whole λ: the moments accountant's.
WHOLE_ORDERS = tuple(float(a) for a in range(2, 33)) + tuple(a for a in VARYING_ORDERS if a > 32.0)
# Beyond, 1/σ² is so large that a step proves nothing in doubles.
LARGEST_INVERSE_VARIANCE = 1e12
_EXACT_PARTS = 8
_MOST_ROWS = 4000


class MomentTable:
    """ln A_α at cell edges for one sampling rate, remembered edge by edge. Values do not depend on who asked first."""

    def __init__(self, rate: float, orders: tuple[float, ...]) -> None:
        self.rate = rate
        self.orders = np.array(orders)
        self._rows: dict[float, Array] = {}
        self._lock = threading.Lock()

    def rows(self, inverse_variances: Array) -> Array:
        """ln A_α at each u ≥ 0, shape (u, orders); inf beyond LARGEST_INVERSE_VARIANCE."""
        with self._lock:  # pages ask from several threads
            return self._found(inverse_variances)

    def _found(self, inverse_variances: Array) -> Array:
        if len(self._rows) > _MOST_ROWS:
            self._rows.clear()
        new = [u for u in np.unique(inverse_variances).tolist() if u not in self._rows]
        for u in new:
            if u == 0.0:
                self._rows[u] = np.zeros(self.orders.size)
            elif u > LARGEST_INVERSE_VARIANCE:
                self._rows[u] = np.full(self.orders.size, 0.0 if self.rate == 0.0 else np.inf)
        ordinary = np.array([u for u in new if u not in self._rows])
        if ordinary.size:
            # One part in 10^10 above its own rounding, so that chords stay above the truth.
            found = log_moment((1.0 / np.sqrt(ordinary))[:, None], self.rate, self.orders) * (1.0 + 1e-10)
            self._rows.update(zip(ordinary.tolist(), found, strict=True))
        return np.stack([self._rows[u] for u in inverse_variances.tolist()])


@lru_cache(maxsize=64)
def moment_table(rate: float, orders: tuple[float, ...]) -> MomentTable:
    return MomentTable(rate, orders)


def composed_divergence(
    inverse_variances: Schedule,
    *,
    sample_rate: float,
    orders: Sequence[float] = VARYING_ORDERS,
    marks: Sequence[float] | Array | None = None,
) -> Array:
    """Σ R(α) of the steps up to each mark, never too small.

    Args:
        inverse_variances: u_t = 1/σ_t² as a schedule (a power law, or a list of one number a step), ≥ 0.
        sample_rate: q in [0, 1].
        orders: α > 1.
        marks: step counts, increasing; without them all steps, and the answer has no leading axis.

    Returns:
        Shape (marks, orders), or (orders,).
    """
    alpha = tuple(float(a) for a in orders)
    ends = np.array([float(total_steps(inverse_variances))]) if marks is None else np.asarray(marks, dtype=np.float64)
    top = largest_step(inverse_variances)
    if top == 0.0 or sample_rate == 0.0:
        totals = np.zeros((ends.size, len(alpha)))
        return totals[0] if marks is None else totals
    # Coarser than doubles can say, 1/σ² counts as the least that they can: an upper bound still.
    edges = cell_edges(max(top, 1e-290))
    parts = split(inverse_variances, ends, edges)
    per_part = _cost_of_parts(parts, edges, moment_table(float(sample_rate), alpha))
    totals = np.zeros((ends.size, len(alpha)))
    np.add.at(totals, parts.mark, per_part)
    totals = np.cumsum(totals, axis=0) / (np.array(alpha) - 1.0)
    return totals[0] if marks is None else totals


def _cost_of_parts(parts: Split, edges: Array, table: MomentTable) -> Array:
    """Upper bounds on Σ ln A over the steps of each part, shape (parts, orders)."""
    if table.rate == 1.0:  # ln A is proportional to u
        return (parts.count * parts.mean)[:, None] * (table.orders * (table.orders - 1.0) / 2.0)
    chord = _chords(parts, edges, table)
    # Where noise is scarce the first steps decide, and there a chord is at its worst: these are looked up themselves.
    alike = np.flatnonzero(parts.mean == parts.largest)
    exact = alike[np.argsort(-parts.mean[alike])][:_EXACT_PARTS]
    if exact.size:
        chord[exact] = np.minimum(chord[exact], table.rows(parts.mean[exact]))
    return parts.count[:, None] * chord


def _chords(parts: Split, edges: Array, table: MomentTable) -> Array:
    """Chords of ln A (whole α) and of A (other α) at the mean u of each part, shape (parts, orders)."""
    right = np.minimum(np.maximum(np.searchsorted(edges, parts.mean, side="left"), 1), edges.size - 1)
    a, b = edges[right - 1], edges[right]
    w = np.clip((parts.mean - a) / (b - a), 0.0, 1.0)[:, None]
    low, high = table.rows(a), table.rows(b)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        linear = np.where(w == 0.0, low, low + w * (high - low))
        # ln of the chord of A: through A − 1, which may be tiny, or in logs, where A overflows.
        small = np.log1p((1.0 - w) * np.expm1(np.minimum(low, 30.0)) + w * np.expm1(np.minimum(high, 30.0)))
        large = np.logaddexp(np.log1p(-w) + low, np.log(w) + high)
    whole = (table.orders == np.floor(table.orders))[None, :]
    chord = np.where(whole, linear, np.where(high < 30.0, small, large))
    return np.where(np.isnan(chord), np.inf, chord)


__all__ = ["VARYING_ORDERS", "WHOLE_ORDERS", "PowerSchedule", "composed_divergence", "moment_table"]
