"""The best Rényi order of many sampled Gaussian settings, by Newton's method on nodes that all orders of one share.

With s = α − 1, Λ(s) = ln A_α of one step and C = −ln δ, s·ε(s) = TΛ(s) + C + k(s) is convex (`search`), so that ε is
least where P(s) = T(sΛ' − Λ) + s·k' − k = C; P rises, and ln P is nearly straight in ln s. k is 0 for the classic
conversion and s ln s − (s + 1) ln(s + 1) for the improved one, of which s·k' − k = ln(s + 1) is left.

A_α − 1 = E[g(u)] as in `log_moments`, by the same trapezoidal rule: its nodes depend on σ, q and the largest order
alone, and ln(1 + u) there serves every order, which costs one exponential a node. g is taken as (1 + u)^α − 1 − αu,
whose digits suffice where A_α − 1 is not tiny (`LEAST_EXCESS`).

What is found is the least over the same grid of orders as by `search.lowest`, which is asked where this cannot tell.
"""

from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array, Bools, Index, Whole
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.orders import FINE_ORDERS

TOGETHER = 512  # settings whose nodes are held at once
LEAST_NOISE = 0.1
LEAST_EXCESS = 1e-7  # relative digits that g loses beyond it: 1e-12
_REACH = 8.6  # deviations: e^-37 is left out
_NATS = 42.0  # below the bulk's part, from where on a node is left out
_LARGEST = 600.0  # exponent
_MOST_NODES = 1200.0  # of one setting
_ROUNDS, _STEPS, _NEAR = 3, 16, 1e-3  # ranges of orders; Newton's steps on one, and their size, in ln s, that suffices
_S = FINE_ORDERS - 1.0


def newton_orders(sigma: Array, rate: Array, steps: Array, delta: Array, conversion: str) -> tuple[Index, Array]:
    """The place among FINE_ORDERS of each setting's best order, and ε there, not clipped at 0; all of shape (n,).

    The place is −1 where other means are needed: q of 0 or 1, hardly any noise or cost, best orders at the grid's ends.
    """
    place, value = np.full(sigma.size, -1, dtype=np.intp), np.full(sigma.size, np.inf)
    some = (rate > 0.0) & (rate < 1.0) & (sigma >= LEAST_NOISE) & (sigma <= 1e6) & (steps > 0.0)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        spread = np.minimum(rate**2 * np.expm1(1.0 / np.maximum(sigma, LEAST_NOISE) ** 2), 1.0 / sigma**2)
        flat = np.sqrt(-2.0 * np.log(delta) / (steps * spread))  # where Λ grows like s²
        wall = -2.0 * sigma**2 * np.log(rate) + 0.2  # from about where it turns steep
        start = np.minimum(flat, wall)
    some &= (start > _S[0]) & (start < _S[-1])
    top = 1.2 * start
    for _ in range(_ROUNDS):
        rows = np.flatnonzero(some & (top + 2.0 * _REACH * sigma < _MOST_NODES * sigma * np.minimum(0.7, 0.5 * sigma)))
        rows = rows[np.lexsort((top[rows] / sigma[rows], flat[rows] > wall[rows]))]  # what takes as long together
        for first in range(0, rows.size, TOGETHER):
            part = rows[first : first + TOGETHER]
            problem = _Portion(sigma[part], rate[part], steps[part], delta[part], conversion, top[part])
            s, beyond = problem.solved(start[part])
            place[part], value[part] = problem.on_grid(s)
            some[part] = beyond
        top *= 4.0
    return place, value


@dataclass(frozen=True, eq=False, slots=True)
class _Nodes:
    """Nodes of several settings, laid end to end.

    Attributes:
        log_weight, weight, u, log_ratio: ln of the weight, the weight, u and ln(1 + u) at each, shape (nodes,).
        starts, counts: where each setting's begin, and how many it has, shape (settings,).
    """

    log_weight: Array
    weight: Array
    u: Array
    log_ratio: Array
    starts: Whole
    counts: Whole

    def each(self, values: Array) -> Array:
        """One value a setting at each of its nodes."""
        return np.repeat(values, self.counts)

    def of(self, kept: Bools) -> "_Nodes":
        """Those of the settings that are kept."""
        at, counts = np.repeat(kept, self.counts), self.counts[kept]
        return _Nodes(
            self.log_weight[at], self.weight[at], self.u[at], self.log_ratio[at], np.cumsum(counts) - counts, counts
        )

    def sums(self, values: Array) -> Array:
        return np.asarray(np.add.reduceat(values, self.starts))


def _nodes(sigma: Array, rate: Array, top: Array) -> _Nodes:
    """Those that count at any order up to 1 + top.

    Where u > 0, (1 + u)^α bounds g, and what a node adds falls with the order, as the bulk's part does.
    """
    spacing = np.minimum(0.7, 0.5 * sigma)  # both errors of the rule are below e^-39: of the Gaussian and of the knee
    counts = np.ceil((2.0 * _REACH + (top + 1.0) / sigma) / spacing).astype(np.int64) + 1
    starts = np.cumsum(counts) - counts
    x = np.arange(counts.sum()) - np.repeat(starts, counts)
    x = np.repeat(spacing, counts) * x - _REACH
    slope = np.repeat(1.0 / sigma, counts)
    u = np.repeat(rate, counts) * np.expm1(np.minimum(slope * (x - 0.5 * slope), _LARGEST))
    log_ratio, square = np.log1p(u), 0.5 * x * x
    with np.errstate(divide="ignore"):
        bulk = np.log(0.5 * top * (top + 1.0) * np.minimum(rate**2 * np.expm1(1.0 / sigma**2), 1.0))
    kept = np.repeat(top + 1.0, counts) * log_ratio - square >= np.repeat(bulk - _NATS, counts)
    kept |= x <= _REACH
    fewer = np.add.reduceat(kept, starts, dtype=np.int64)
    log_weight = np.repeat(np.log(spacing / np.sqrt(2.0 * np.pi)), fewer) - square[kept]
    return _Nodes(log_weight, np.exp(log_weight), u[kept], log_ratio[kept], np.cumsum(fewer) - fewer, fewer)


class _Portion:
    """Settings that are solved together, at orders up to 1 + top; all of shape (n,)."""

    def __init__(self, sigma: Array, rate: Array, steps: Array, delta: Array, conversion: str, top: Array) -> None:
        self.sigma, self.steps, self.delta, self.conversion, self.top = sigma, steps, delta, conversion, top
        self.nodes = _nodes(sigma, rate, 1.03 * top)

    def solved(self, start: Array) -> tuple[Array, Bools]:
        """s of the least ε, NaN where it was not found, and where it lies beyond `top`."""
        best_s, beyond = np.full(start.size, np.nan), np.zeros(start.size, dtype=np.bool_)
        log_c, last = np.log(-np.log(self.delta)), np.log(self.top)
        low, high, log_s = np.full(start.size, -np.inf), np.full(start.size, np.inf), np.minimum(np.log(start), last)
        rows, nodes = np.arange(start.size), self.nodes
        for _ in range(_STEPS):
            p, slope = self._turning(np.exp(log_s), rows, nodes)
            too_far = ~(np.log(p) <= log_c[rows])  # NaN too
            high, low = np.where(too_far, log_s, high), np.where(too_far, low, log_s)
            with np.errstate(invalid="ignore"):
                following = log_s - (np.log(p) - log_c[rows]) * p / slope
                middle = np.where(np.isneginf(low), high - 0.7, 0.5 * (low + np.minimum(high, last[rows])))
            near = np.abs(following - log_s) < _NEAR
            best_s[rows[near]] = np.exp(following[near])
            # Where Λ bends, Newton's method alone might leap to and fro.
            inside = (following > low) & (following < high)
            at_top = ~near & np.isposinf(high) & (log_s >= last[rows])
            beyond[rows[at_top]] = True
            log_s = np.minimum(np.where(inside, following, middle), last[rows])
            left = ~(near | at_top)
            if not left.any():
                break
            if left.mean() < 0.7:
                nodes = nodes.of(left)
                rows, low, high, log_s = rows[left], low[left], high[left], log_s[left]
        return best_s, beyond

    def _turning(self, s: Array, rows: Index, nodes: _Nodes) -> tuple[Array, Array]:
        """P and dP/d ln s of some rows with their nodes; NaN where a node's exponent overflows."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            part = np.exp(nodes.each(s + 1.0) * nodes.log_ratio + nodes.log_weight)
            first = part * nodes.log_ratio
            total = nodes.sums(part)
            mean, second = nodes.sums(first) / total, nodes.sums(first * nodes.log_ratio) / total
            p = self.steps[rows] * (s * mean - np.log(total))
            slope = self.steps[rows] * s * s * (second - mean * mean)
            if self.conversion == "improved":
                p, slope = p + np.log1p(s), slope + s / (s + 1.0)
            tiny = np.finfo(np.float64).tiny
            return np.maximum(p, tiny), np.maximum(slope, tiny)

    def on_grid(self, s: Array) -> tuple[Index, Array]:
        """The better one of the two orders of the grid around 1 + s, and ε there; −1 and inf where it is not known."""
        above = np.searchsorted(_S, np.nan_to_num(s, nan=1.0))
        inside = np.isfinite(s) & (above >= 3) & (above <= _S.size - 3)
        above = np.clip(above, 2, _S.size - 2)
        left, right = (self._epsilon(place) for place in (above - 1, above))
        best, value = np.where(left <= right, above - 1, above), np.minimum(left, right)
        # ε has one valley: where its other neighbour is no lower either, it is the least of all.
        inside &= np.isfinite(value) & (value <= self._epsilon(np.where(best == above, above + 1, above - 2)))
        return np.where(inside, best, -1), np.where(inside, value, np.inf)

    def _epsilon(self, place: Index) -> Array:
        """ε at one order of the grid a setting; NaN where digits or nodes are missing, inf where it is too large."""
        nodes, alpha = self.nodes, FINE_ORDERS[place]
        at_nodes = nodes.each(alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            power = at_nodes * nodes.log_ratio
            large = np.flatnonzero(power > 30.0)
            parts = nodes.weight * (np.expm1(np.minimum(power, 30.0)) - at_nodes * nodes.u)
            parts[large] += np.exp(power[large] + nodes.log_weight[large]) - nodes.weight[large] * np.exp(30.0)
            excess = nodes.sums(parts)
        settled = (excess >= LEAST_EXCESS) & (alpha - 1.0 <= 1.02 * self.top)
        moment = np.minimum(np.log1p(np.where(settled, excess, 1.0)), 0.5 * alpha * (alpha - 1.0) / self.sigma**2)
        moment[np.isinf(excess)] = np.inf  # no better known here: such an order decides nothing
        total = self.steps * moment / (alpha - 1.0)
        epsilon = epsilon_per_order(total[:, None], alpha[:, None], self.delta, self.conversion)[:, 0]
        return np.where(settled, epsilon, np.nan)
