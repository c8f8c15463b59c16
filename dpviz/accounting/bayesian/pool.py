"""A certified bound on many steps' Bayesian cost together, from the distances measured at each of them.

The network changes from step to step, and with it the distances' distribution: no step's sample speaks of another's.
But the sum of costs needs only their mean, of which all distances together tell (docs/work/proofs.md, "Pooled steps").
For thresholds s fixed ahead, the share of distances above s is at most

    p ≤ (1 − exp(−(ηX + ln(1/γ′))/N))/(1 − e^{−η})      after every step at once, whenever the run may end,

where X of N distances exceed s; γ is shared among the thresholds and some η.
"""

import math

import numpy as np

from dpviz._arrays import Array, Index
from dpviz.accounting.bayesian.accountant import student_margin
from dpviz.accounting.bayesian.costs import FIRST_ORDERS, psi

# Upper ends of the cells, in parts of d_max: even where costs grow, in ratios below.
_ENDS = np.concatenate([np.geomspace(0.01, 0.25, 64), np.linspace(0.25, 1.0, 129)[1:]])
_TILTS = 6.0 * 0.5 ** np.arange(9)  # η: √(2 ln(1/γ′)/X) is best, for X of 1 to 10⁵
_GROWN = -np.expm1(-_TILTS)
_NONE = 0.5  # of γ for η = ∞


class Pool:
    """Steps of one sampling rate and (nearly) one noise level.

    Args:
        rate: q.
        total_steps: T.
        failure: γ of this pool.

    Attributes:
        cells: Distances in each cell; whole numbers. The last cell is all within 0.6 % of d_max.
        printed: Σ of the costs that the paper's Eq. 14 estimates from each step's own distances, (32,): no bound.
        steps, counted: n, and how many of them had distances; the others cost what d_max costs.
    """

    def __init__(self, *, rate: float, total_steps: int, failure: float) -> None:
        self.rate, self.total_steps, self._failure = rate, total_steps, failure
        share = failure / (_ENDS.size - 1)
        self._doubt_none = -math.log(_NONE * share)
        self._doubt = -math.log((1.0 - _NONE) * share / _TILTS.size)
        self.steps = self.counted = 0
        self.cells = np.zeros(_ENDS.size)
        self._log_sizes = 0.0
        self.printed = np.zeros(FIRST_ORDERS.size)
        self._scale = 0.0  # the largest (d_max/σ)² so far
        self._table: tuple[float, Array] | None = None

    def add(self, scale: float, distances: list[Array]) -> Array:
        """Steps in order, of noise with (d_max/σ)² = `scale`; their distances as parts of d_max, in [0, 1].

        Returns:
            Σ of the costs of all steps so far, after each one: (len(distances), 32).
        """
        self._scale = max(self._scale, scale)
        sizes = np.array([part.size for part in distances])
        cells = np.searchsorted(_ENDS, np.concatenate(distances), side="left").clip(max=_ENDS.size - 1)
        place = np.repeat(np.arange(sizes.size), sizes) * _ENDS.size + cells
        each = np.bincount(place, minlength=sizes.size * _ENDS.size).reshape(sizes.size, _ENDS.size)
        held = self.cells + np.cumsum(each, axis=0)
        logs = np.cumsum(np.append(self._log_sizes, np.log(np.maximum(sizes, 1))))[1:]
        counted = self.counted + np.cumsum(sizes > 0, dtype=np.float64)
        without = self.steps - self.counted + np.cumsum(sizes == 0, dtype=np.float64)
        self.cells, self._log_sizes = held[-1], float(logs[-1])
        self.steps, self.counted = self.steps + sizes.size, int(counted[-1])
        self.printed = self.printed + self._estimates(each, sizes)
        return self._costs(held, counted, logs, without)

    def _estimates(self, each: Index, sizes: Index) -> Array:
        """Σ of (1/T) ln[M + τ S], M and S of exp(Tψ) over a step's own distances; what d_max costs without two."""
        grown = self._grown()
        top, some = grown[-1], sizes > 1
        if not some.any() or not np.isfinite(top).all():
            return np.asarray(top / self.total_steps * sizes.size)
        number, values = sizes[some, None], self._values()
        different, which = np.unique(sizes[some], return_inverse=True)
        margin = np.array([student_margin(int(size), self._failure) for size in different])[which, None]
        mean = each[some] @ values / number
        spread = np.sqrt(np.maximum(each[some] @ values**2 / number - mean**2, 0.0))
        estimates = self._logs(mean + margin * spread).sum(axis=0) + top * (~some).sum()
        return np.asarray(estimates / self.total_steps)

    def unseen(self) -> Array:
        """Of the mean that bounds the cost, the part beyond what the distances themselves come to: (32,), in [0, 1]."""
        if not self.counted:
            return np.zeros(FIRST_ORDERS.size)
        seen = self._log_means(self.cells[None] / self.cells.sum())[0]
        bound = self._log_means(self._masses(self.cells[None]))[0]
        return np.asarray(-np.expm1(np.minimum(seen - bound, 0.0)))

    def _costs(self, held: Array, counted: Array, log_sizes: Array, without: Array) -> Array:
        worst = self._grown()[-1] / self.total_steps
        costs = worst * (counted + without)[:, None]
        some = counted > 0
        if some.any():
            number, total = counted[some, None], held[some].sum(axis=1, keepdims=True)
            uneven = np.maximum(np.log(total / number) - log_sizes[some, None] / number, 0.0)
            means = self._log_means(self._masses(held[some])) + uneven
            bound = number / self.total_steps * means + worst * without[some, None]
            costs[some] = np.minimum(costs[some], bound)
        return np.asarray(costs)

    def _masses(self, held: Array) -> Array:
        """An upper distribution over the cells, (n, cells), from the numbers of distances in them."""
        total = held.sum(axis=1, keepdims=True)
        above = total - np.cumsum(held, axis=1)[:, :-1]
        share = np.where(above > 0, 1.0, -np.expm1(-self._doubt_none / total))
        for tilt, grown in zip(_TILTS.tolist(), _GROWN.tolist(), strict=True):
            np.minimum(share, -np.expm1(-(tilt * above + self._doubt) / total) / grown, out=share)
        share = np.minimum.accumulate(share, axis=1)
        ones, zeros = np.ones((len(held), 1)), np.zeros((len(held), 1))
        return np.asarray(-np.diff(np.concatenate((ones, share, zeros), axis=1), axis=1))

    def _log_means(self, masses: Array) -> Array:
        """ln Σ masses · exp(Tψ) at the cells' upper ends: (n, 32)."""
        top = self._grown()[-1]
        if not np.isfinite(top).all():
            return np.full((len(masses), top.size), np.inf)
        # A sum row by row, whatever their number: a matrix product's last digits depend on it.
        return self._logs((masses[:, :, None] * self._values()).sum(axis=1))

    def _values(self) -> Array:
        """x near 1 loses its digits in exp, large x overflows there: as x − 1, and as x/x_max."""
        grown = self._grown()
        return np.where(grown[-1] <= 1.0, np.expm1(np.minimum(grown, 1.0)), np.exp(grown - grown[-1]))

    def _logs(self, means: Array) -> Array:
        """ln of means of x, from means of `_values`."""
        top = self._grown()[-1]
        return np.where(top <= 1.0, np.log1p(means), top + np.log(np.maximum(means, 1e-300)))

    def _grown(self) -> Array:
        """T·ψ at the cells' upper ends and λ = 1 … 32."""
        if self._table is None or self._table[0] != self._scale:
            self._table = self._scale, self.total_steps * psi(self._scale * _ENDS**2, self.rate)
        return self._table[1]
