"""ε_μ along a whole axis of noise levels at once: what a curve of ε_μ against σ needs.

The same estimator as `bayesian`, one plan of T steps for each noise level. ψ does not depend on T or δ_μ, so it is kept
between calls; orders are found by walking downhill from a few of them, as (T ĉ(λ) + ln(1/(δ_μ − Γ)))/λ has one valley
in practice: were it not so the answer would only be larger, for every order gives a bound.

    >>> sweep = BayesianSweep(np.random.default_rng(0).weibull(2.0, 1000), noise_std=[4.0, 8.0], sample_rate=0.01)
    >>> sweep.bound(steps=10_000, delta_mu=1e-5).epsilon.round(3)
    array([3.504, 1.488])
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, Index
from dpviz.accounting.bayesian.accountant import ORDERS, TOO_LARGE, BayesianBound, largest_of, student_margin
from dpviz.accounting.bayesian.envelope import envelope
from dpviz.accounting.bayesian.psi import step_costs
from dpviz.accounting.bayesian.table import Bins, Estimator, LogMeans, make_bins

_BINS = 192  # more distances than twice that are grouped, from above: ε_μ reads at most about 0.1 % high
_STRIDES = (8, 2, 1)
_LED = 7  # rows that share one search from afar


class BayesianSweep(Estimator):
    """ψ of every noise level and order that was looked at; see `bayesian_epsilon` for the arguments.

    Args:
        distances: ‖g − g′‖ of m ≥ 2 independent pairs, shape (m,).
        noise_std: absolute standard deviations of the noise, shape (n,), > 0.
        sample_rate: q in [0, 1].
        estimator_failure: γ.
        orders: λ, whole numbers ≥ 1.
        largest_distance: d_max, for the bound that holds at every m; None for the asymptotic estimate.

    Raises:
        ValueError: for an argument out of its range.
    """

    def __init__(
        self,
        distances: Any,
        *,
        noise_std: Any,
        sample_rate: Any,
        estimator_failure: Any = 1e-15,
        orders: Any = ORDERS,
        largest_distance: Any = None,
    ) -> None:
        found = _validate.distances(distances)
        self.failure = _validate.estimator_failure(estimator_failure)
        self.certified, masses = largest_distance is not None, None
        self.noise = np.atleast_1d(_validate.noise_multiplier(noise_std, "noise_std"))
        rate = _validate.number(sample_rate=sample_rate)
        whole = np.unique(_validate.whole_orders(orders)).astype(np.int64)
        if self.certified:
            found, masses = envelope(found, largest_of(found, largest_distance), self.failure)
            tau = 0.0
        else:
            tau = student_margin(found.size, self.failure)
        top = float(found.max())
        relative = (found / top) ** 2 if top > 0.0 and rate > 0.0 else np.zeros_like(found)
        super().__init__(relative, whole, rate, tau, "left", masses)
        # u = (d/σ)² = relative · scale, with bins that fit every σ
        with np.errstate(over="ignore"):
            self._scale = (top / self.noise) ** 2
        self._groups: Bins = make_bins(self.ordered, None if found.size <= 2 * _BINS else _BINS, masses)
        # Only the groups are asked from here on, and sweeps are kept: the sample is not to be kept with them.
        del self.ordered, self.masses
        self._costs: dict[tuple[int, int], tuple[Array, Array, Array]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return (3 * len(self._costs) + 5) * self._groups.low.nbytes

    def bound(self, *, steps: Any, delta_mu: Any) -> BayesianBound:
        """ε_μ of a plan of `steps` steps (whole, ≥ 1) at `delta_mu` for each noise level; arrays of shape (n,)."""
        total = float(_validate.whole(1, steps=steps))
        delta = _validate.scalar("delta_mu", _validate.delta_beyond_failure(delta_mu, self.failure, 1.0))
        slack = -math.log(delta - self.failure)
        rows = np.arange(self.noise.size)
        means: dict[tuple[int, int], tuple[float, float, float]] = {}
        value = np.full((rows.size, self.orders.size), np.inf)

        def look(wanted_rows: Index, columns: Index) -> None:
            for column in np.unique(columns).tolist():
                asked = wanted_rows[columns == column]
                fresh = asked[np.isinf(value[asked, column])]
                if fresh.size:
                    answer = self._means(fresh, column, total)
                    value[fresh, column] = (answer.upper + slack) / self.orders[column]
                    facts = zip(answer.upper, answer.largest_share, answer.effective_size, strict=True)
                    means.update({(int(r), column): fact for r, fact in zip(fresh, facts, strict=True)})

        best = self._search(rows, value, look)
        last = self.orders.size - 1
        facts = np.array([means[row, column] for row, column in zip(rows.tolist(), best.tolist(), strict=True)])
        finite = np.isfinite(facts[:, 0])
        share = np.where(finite, facts[:, 1], np.nan)
        epsilon, worst = value[rows, best], np.zeros(rows.size, dtype=np.bool_)
        certain = np.full(rows.size, np.inf)
        size = np.where(finite, facts[:, 2], np.nan)
        if self.certified:
            certain = self._worst(rows, best, total, delta)
            worst, size = certain <= epsilon, np.full(rows.size, np.nan)
            epsilon, share = np.minimum(epsilon, certain), np.where(worst, 1.0, share)
        return BayesianBound(
            epsilon=np.maximum(epsilon, 0.0),
            order=np.asarray(self.orders[best] + 1.0, dtype=np.float64),
            at_grid_end=(best == 0) | (best == last),
            floor=np.full(rows.size, max(slack / float(self.orders[-1]), 0.0)),
            largest_share=share,
            effective_size=size,
            tail_dominated=share > 0.5,
            certified=self.certified,
            worst_case=worst,
            ceiling=np.maximum(certain, 0.0),
        )

    def _worst(self, rows: Index, best: Index, total: float, delta: float) -> Array:
        """ε of d = d_max throughout at each row's best order: it needs no sample, and pays no γ."""
        found = np.empty(rows.size)
        for column in np.unique(best).tolist():
            chosen = np.flatnonzero(best == column)
            top = np.array([high[-1] for _, _, high in self._psi(rows[chosen], column)])
            found[chosen] = (total * top - math.log(delta)) / float(self.orders[column])
        found[self._scale > TOO_LARGE] = np.inf
        return found

    def _search(self, rows: Index, value: Array, look: Callable[[Index, Index], None]) -> Index:
        """Each row's best order: some rows search from afar, the others start where their neighbour ended."""
        last = self.orders.size - 1
        best = np.zeros(rows.size, dtype=np.intp)
        leaders = rows[_LED // 2 :: _LED] if rows.size > _LED else rows
        for column in np.unique(np.round(np.geomspace(1, last + 1, 6)).astype(np.intp) - 1).tolist():
            look(leaders, np.full(leaders.size, column, dtype=np.intp))
        best[leaders] = value[leaders].argmin(axis=1)
        for stride in _STRIDES:
            self._downhill(leaders, stride, best, value, look)
        nearest: Index = np.abs(rows[:, None] - leaders[None, :]).argmin(axis=1)
        best = np.asarray(best[leaders[nearest]], dtype=np.intp)
        look(rows, best)
        self._downhill(rows, 1, best, value, look)
        return best

    def _downhill(
        self, rows: Index, stride: int, best: Index, value: Array, look: Callable[[Index, Index], None]
    ) -> None:
        """Walk in strides until no row's neighbours are lower; `best` is changed in place."""
        while rows.size:
            for step in (-stride, stride):
                look(rows, np.clip(best[rows] + step, 0, self.orders.size - 1))
            found = value[rows].argmin(axis=1)
            moved = found != best[rows]
            best[rows] = found
            rows = rows[moved]

    def _means(self, rows: Index, column: int, steps: float) -> LogMeans:
        """ln[mean x + τ·std x] at one order for several noise levels."""
        low, mean, high = (np.stack(part) for part in zip(*self._psi(rows, column), strict=True))
        top = high[:, -1:]
        result = LogMeans(*(np.full(rows.size, fill) for fill in (np.inf, np.inf, np.nan, np.nan)))
        small, sane = steps * top[:, 0] <= 1.0, self._scale[rows] <= TOO_LARGE
        for regime, base in ((small & sane, 1.0), (~small & sane, 0.0)):
            chosen = np.flatnonzero(regime)
            if chosen.size:
                shift = np.zeros((chosen.size, 1)) if base else top[chosen]
                ends = [part[chosen] - shift for part in (low, mean, high)]
                found = self._block(self._groups, ends[0], ends[1], ends[2], np.full(chosen.size, steps), base)
                result.lower[chosen] = steps * shift[:, 0] + found.lower
                result.upper[chosen] = steps * shift[:, 0] + found.upper
                result.largest_share[chosen] = found.largest_share
                result.effective_size[chosen] = found.effective_size
        return result

    def _psi(self, rows: Index, column: int) -> list[tuple[Array, Array, Array]]:
        """ψ at the lower ends, means and upper ends of the groups, for each row; kept."""
        fresh = [row for row in rows.tolist() if (row, column) not in self._costs]
        if fresh:
            ends = (
                [self._groups.high] if self._groups.exact else [self._groups.low, self._groups.mean, self._groups.high]
            )
            scale = np.minimum(self._scale[fresh], TOO_LARGE)
            u = scale[:, None, None] * np.stack(ends)
            psi = step_costs(u.ravel(), self.orders[[column]], self.rate, "left").reshape(u.shape)
            for row, cost in zip(fresh, psi, strict=True):
                self._costs[row, column] = (cost[0], cost[len(ends) // 2], cost[-1])
        return [self._costs[row, column] for row in rows.tolist()]
