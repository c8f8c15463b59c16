"""Rényi divergences of many sampled Gaussian steps whose noise varies, at the price of a few dozen.

Let u = 1/σ². A_α is convex in u, for whole α even ln A_α is (docs/work/proofs.md, "Moments are convex in 1/σ²"):
between two tabulated values the chord lies above the truth, and a group of n steps costs at most
n ln(chord at their mean u), exact to second order in the width of a cell.
Single steps are bounded by parabolas, to third order. Where one example is
replaced moments only rise with u, and every step costs at most what the next edge above it costs.

>>> steps = PowerSchedule(first=1 / 16, exponent=0.0, steps=10_000)   # u = 1/σ² of each step: σ = 4
>>> round(float(composed_divergence(steps, sample_rate=0.01, orders=(20.0,))[0]), 6)
0.652631

A divergence of ever new σ costs milliseconds a step. Between tabulated 1/σ² it is bounded from above, from a table that
depends on q and the orders alone: whoever reads the same steps, live, ahead or again later, reads the same numbers.

>>> exact = tabulated_divergence(np.array([4.0]), np.array([0.01]), (2.0, 8.0), frozenset({4.0}))
>>> [f"{r:.8f}" for r in exact[0]]
['0.00000645', '0.00002590']
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from copy import copy

import numpy as np

from dpviz._arrays import Array, ArrayLike, Index
from dpviz._remember import remembered
from dpviz.accounting.schedules import Grouped, PowerSchedule, Schedule, cell_edges, largest_step, split, total_steps
from dpviz.mechanisms.divergences import replaced_divergence
from dpviz.mechanisms.log_moments import log_moment


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
# So many first steps are bounded one by one: as a live run bounds them.
ONE_BY_ONE = 1024
EDGES_PER_DOUBLING = 16
_LEAST_CURVED_ORDER = 1.32  # A‴ ≥ 0 from here on


class MomentTable:
    """ln A_α at cell edges for one sampling rate, each remembered. Values do not depend on who asked first."""

    def __init__(self, rate: float, orders: tuple[float, ...], replaced: bool = False) -> None:
        self.rate = rate
        self.orders = np.array(orders)
        self.replaced = replaced
        self._width, self._kept = self.orders.size, np.arange(self.orders.size)
        self._rows: dict[float, Array] = {}
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return (len(self._rows) + 1) * self.orders.nbytes

    def of(self, kept: Index) -> MomentTable:
        """The same at some of the orders, by their places: what either computes both know."""
        some = copy(self)
        some.orders, some._kept = self.orders[kept], kept
        return some

    def rows(self, inverse_variances: Array) -> Array:
        """ln A_α at each u ≥ 0, shape (u, orders); inf beyond LARGEST_INVERSE_VARIANCE."""
        with self._lock:  # pages ask from several threads
            return self._found(inverse_variances)

    def _found(self, inverse_variances: Array) -> Array:
        if len(self._rows) > _MOST_ROWS:
            self._rows.clear()
        each, where = np.unique(inverse_variances, return_inverse=True)
        for u in each.tolist():
            if u not in self._rows:
                beyond = 0.0 if u == 0.0 or self.rate == 0.0 else math.inf
                limit = u == 0.0 or u > LARGEST_INVERSE_VARIANCE
                self._rows[u] = np.full(self._width, beyond if limit else math.nan)
        rows = np.array([self._rows[u][self._kept] for u in each.tolist()])
        new, order = np.nonzero(np.isnan(rows))
        if new.size:
            # One part in 10^10 above its own rounding, so that chords stay above the truth.
            rows[new, order] = self._log_moments(1.0 / np.sqrt(each[new]), self.orders[order]) * (1.0 + 1e-10)
            for i in np.unique(new).tolist():
                self._rows[float(each[i])][self._kept] = rows[i]
        return rows[where]

    def _log_moments(self, sigmas: Array, orders: Array) -> Array:
        if not self.replaced:
            return np.asarray(log_moment(sigmas, self.rate, orders))
        moments = np.empty(orders.size)
        for sigma in np.unique(sigmas).tolist():
            here = sigmas == sigma
            moments[here] = replaced_divergence(sigma, self.rate, orders[here]) * (orders[here] - 1.0)
        return moments

    def bounds(self, inverse_variances: Array, nodes: Array) -> Array:
        """Upper bounds on ln A_α at each u ≥ 0, shape (u, orders); from edges 2^(k/16) and `nodes`, increasing."""
        u = np.minimum(np.maximum(inverse_variances, 1e-290), 2.0 * LARGEST_INVERSE_VARIANCE)
        left, a, b = _edges_around(u, nodes)
        bounded = np.empty((u.size, self.orders.size))
        edge = u == a
        bounded[edge] = self.rows(u[edge]) if edge.any() else 0.0
        if not edge.all():
            bounded[~edge] = self._between(u[~edge], left[~edge], a[~edge], b[~edge])
        return bounded

    def _between(self, u: Array, left: Array, a: Array, b: Array) -> Array:
        """The least of the chord and the parabola over [a, b], shape (u, orders)."""
        _, first, cell = np.unique(a, return_index=True, return_inverse=True)  # many u lie in few cells
        left, a, b = left[first], a[first], b[first]
        before, low, high = self.rows(np.concatenate([left, a, b])).reshape(3, a.size, self.orders.size)
        w = np.clip((u - a[cell]) / (b - a)[cell], 0.0, 1.0)[:, None]
        left, a, b = (part[:, None] for part in (left, a, b))
        with np.errstate(invalid="ignore", over="ignore", divide="ignore", under="ignore"):
            # In units of A(b), or as A − 1 where that is small: no digits are lost and nothing overflows.
            small = high < 1.0
            start, edge, end = (
                np.where(small, np.expm1(np.minimum(part, 1.0)), np.exp(part - high)) for part in (before, low, high)
            )
            slope = (end - edge) / (b - a)
            bend = np.maximum((slope - (edge - start) / (a - left)) / (b - left), 0.0)
            # Rows are right to 2 in 10^10 of ln A; what that makes of a second difference is left out of the bend.
            noise = 4e-10 * (high + 1.0) * (np.where(small, high, 1.0)) / ((b - a) * (a - left))
            bend = np.where(self.orders >= _LEAST_CURVED_ORDER, np.maximum(bend - noise, 0.0), 0.0)
            rise, bend, width = (high - low)[cell], bend[cell], ((b - a) ** 2)[cell]
            low, high, edge, end = low[cell], high[cell], edge[cell], end[cell]
            curved = edge + w * (end - edge) - bend * (width * w * (1.0 - w))
            curved = np.where(small[cell], np.log1p(curved), np.log(curved) + high)
            whole = np.flatnonzero(self.orders == np.floor(self.orders))
            curved[:, whole] = np.fmin(low[:, whole] + w * rise[:, whole], curved[:, whole])
        return np.where(np.isnan(curved), np.inf, np.maximum(curved, low))


def _edges_around(u: Array, nodes: Array) -> tuple[Array, Array, Array]:
    """For each u the edge below the one at or below it, that one, and the next above it."""

    def at(k: Array) -> Array:
        return np.asarray(np.exp2(k / EDGES_PER_DOUBLING))

    k = np.floor(EDGES_PER_DOUBLING * np.log2(u))
    k = np.where(at(k) > u, k - 1.0, k)
    k = np.where(at(k + 1.0) <= u, k + 1.0, k)
    low, high = at(k), at(k + 1.0)
    place = np.searchsorted(nodes, u, side="right")
    some = np.concatenate([[-np.inf, -np.inf], nodes, [np.inf]])
    node, before, after = some[place + 1], some[place], some[place + 2]
    from_node = node > low
    left = np.where(from_node, np.maximum(low, before), np.where(node == low, before, node))
    left = np.maximum(left, np.where(from_node, low, at(k - 1.0)))
    return left, np.where(from_node, node, low), np.minimum(high, after)


@remembered
def moment_table(rate: float, orders: tuple[float, ...], replaced: bool = False) -> MomentTable:
    return MomentTable(rate, orders, replaced)


def node_steps(exponent: float) -> tuple[int, ...]:
    """The steps of η₁ t^(−exponent) whose own 1/σ² are edges too.

    The first steps may decide alone, at high orders where wide cells are loosest; where step sizes hardly fall, all do.
    """
    return (1, 2, 3) if exponent >= 0.2 else (1, 2, 3, *(round(2 ** (k / 2)) for k in range(4, 47)))


def nodes_of(inverse_variances: ArrayLike) -> Array:
    """Edges for `MomentTable.bounds` from 1/σ² at the steps NODES."""
    edges = np.unique(np.asarray(inverse_variances, dtype=np.float64))
    return edges[(edges > 0.0) & (edges < LARGEST_INVERSE_VARIANCE)]


def composed_divergence(
    inverse_variances: Schedule,
    *,
    sample_rate: float,
    orders: Sequence[float] = VARYING_ORDERS,
    marks: Sequence[float] | Array | None = None,
    replaced: bool = False,
    kept: Index | None = None,
) -> Array:
    """Σ R(α) of the steps up to each mark, never too small.

    Args:
        inverse_variances: u_t = 1/σ_t² as a schedule (a power law, or a list of one number a step), ≥ 0.
        sample_rate: q in [0, 1].
        orders: α > 1.
        marks: step counts, increasing; without them all steps, and the answer has no leading axis.
        replaced: whether one example is replaced, not added or removed; steps are then taken at the next edge, whose
            1/σ² is up to 4.5 % larger.
        kept: which of the orders, by their places; all where None.

    Returns:
        Shape (marks, orders), or (orders,).
    """
    alpha = tuple(float(a) for a in orders)
    every = np.arange(len(alpha)) if kept is None else kept
    ends = np.array([float(total_steps(inverse_variances))]) if marks is None else np.asarray(marks, dtype=np.float64)
    top = largest_step(inverse_variances)
    if top == 0.0 or sample_rate == 0.0:
        totals = np.zeros((ends.size, every.size))
        return totals[0] if marks is None else totals
    table = moment_table(float(sample_rate), alpha, replaced).of(every)
    totals = np.zeros((ends.size, every.size))
    first = 0
    one_by_one = sample_rate < 1.0 and not replaced
    if one_by_one and isinstance(inverse_variances, PowerSchedule) and inverse_variances.exponent > 0.0:
        first = int(min(ONE_BY_ONE, ends[-1]))
        t = np.arange(1.0, first + 1.0)
        nodes = nodes_of(inverse_variances.at(node_steps(inverse_variances.exponent)))
        np.add.at(totals, np.searchsorted(ends, t), table.bounds(inverse_variances.at(t), nodes))
    if first < ends[-1]:
        # Coarser than doubles can say, 1/σ² counts as the least that they can: an upper bound still.
        edges = cell_edges(max(top, 1e-290), even=replaced)
        stops = np.unique(np.append(ends, float(first))) if first else ends
        parts = split(inverse_variances, stops, edges)
        parts = parts.of(stops[parts.mark] > first)
        np.add.at(totals, np.searchsorted(ends, stops[parts.mark]), _cost_of_parts(parts, edges, table))
    totals = np.cumsum(totals, axis=0) / (table.orders - 1.0)
    return totals[0] if marks is None else totals


def _cost_of_parts(parts: Grouped, edges: Array, table: MomentTable) -> Array:
    """Upper bounds on Σ ln A over the steps of each part, shape (parts, orders)."""
    if table.rate == 1.0:  # ln A is proportional to u
        change = 2.0 if table.replaced else 1.0  # of the sum, in units of the clipping norm
        return (parts.count * parts.mean)[:, None] * (change**2 * table.orders * (table.orders - 1.0) / 2.0)
    if table.replaced:  # at the edge above the largest u of each part
        chord = table.rows(edges[np.minimum(np.searchsorted(edges, parts.largest), edges.size - 1)])
    else:
        chord = _chords(parts, edges, table)
    # Where noise is scarce the first steps decide, and there a chord is at its worst: these are looked up themselves.
    uniform = np.flatnonzero(parts.mean == parts.largest)
    exact = uniform[np.argsort(-parts.mean[uniform])][:_EXACT_PARTS]
    if exact.size:
        chord[exact] = np.minimum(chord[exact], table.rows(parts.mean[exact]))
    return parts.count[:, None] * chord


def _chords(parts: Grouped, edges: Array, table: MomentTable) -> Array:
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


def tabulated_divergence(sigma: Array, rate: Array, orders: tuple[float, ...], nodes: frozenset[float]) -> Array:
    """R(α) of one step at σ and q of one shape, then (orders,), from tables that have `nodes` too: on it or above.

    Args:
        sigma, rate: the steps.
        orders: α > 1.
        nodes: noise multipliers that are tabulated themselves, beside the levels that every table has; those of a
            run's first steps, say, which may decide alone.
    """
    divergence = np.empty((sigma.size, len(orders)))
    for q in np.unique(rate):
        chosen = rate.ravel() == q
        bounds = moment_table(float(q), orders).bounds(inverse_variance(sigma.ravel()[chosen]), _nodes(nodes))
        divergence[chosen] = bounds / (np.array(orders) - 1.0)
    return divergence.reshape((*sigma.shape, len(orders)))


def inverse_variance(noise_multiplier: Array) -> Array:
    """1/σ², rounded up."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray((1.0 / noise_multiplier) ** 2 * (1.0 + 4e-16))


@remembered
def _nodes(noise_multipliers: frozenset[float]) -> Array:
    return nodes_of(inverse_variance(np.array(sorted(noise_multipliers))))
