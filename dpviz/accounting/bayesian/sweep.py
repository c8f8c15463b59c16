"""ε_μ along a whole axis of noise levels at once: what a curve of ε_μ against σ needs.

The same estimator as `bayesian`, one plan of T steps for each noise level. ψ does not depend on T or δ_μ, so it is kept
between calls; orders are found by walking downhill from a few of them, as (T ĉ(λ) + ln(1/(δ_μ − Γ)))/λ has one valley
in practice: were it not so the answer would only be larger, for every order gives a bound.

    >>> sweep = BayesianSweep(np.random.default_rng(0).weibull(2.0, 1000), noise_std=[4.0, 8.0], sample_rate=0.01)
    >>> sweep.bound(steps=10_000, delta_mu=1e-5).epsilon.round(3)
    array([3.504, 1.488])
"""

import math
from collections.abc import Callable
from dataclasses import fields

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Index
from dpviz.accounting.bayesian.accountant import (
    ORDERS,
    TOO_LARGE,
    BayesianBound,
    bound_of_moments,
    prepared_sample,
    unique_orders,
)
from dpviz.accounting.bayesian.costs import step_costs
from dpviz.accounting.bayesian.estimator import Bins, Estimator, LogMeans, make_bins
from dpviz.accounting.renyi.search import downhill

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
        distances: ArrayLike,
        *,
        noise_std: ArrayLike,
        sample_rate: float,
        estimator_failure: float = 1e-15,
        orders: ArrayLike = ORDERS,
        largest_distance: float | None = None,
    ) -> None:
        self.failure = _validate.estimator_failure(estimator_failure)
        self.certified = largest_distance is not None
        values, masses, margin = prepared_sample(distances, self.failure, largest_distance)
        self.noise = np.atleast_1d(_validate.noise_multiplier(noise_std, "noise_std"))
        rate, top = _validate.number(sample_rate=sample_rate), float(values.max())
        relative = (values / top) ** 2 if top > 0.0 and rate > 0.0 else np.zeros_like(values)
        super().__init__(relative, unique_orders(orders), rate, margin, "left", masses)
        # u = (d/σ)² = relative · scale, with bins that fit every σ
        with np.errstate(over="ignore"):
            self._scale = (top / self.noise) ** 2
        self._groups: Bins = make_bins(self.ordered, None if values.size <= 2 * _BINS else _BINS, masses)
        # Only the groups are asked from here on, and sweeps are kept: the sample is not to be kept with them.
        del self.ordered, self.masses
        self._costs: dict[tuple[int, int], tuple[Array, Array, Array]] = {}

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return (3 * len(self._costs) + 5) * self._groups.low.nbytes

    def bound(self, *, steps: float, delta_mu: float) -> BayesianBound:
        """ε_μ of a plan of `steps` steps (whole, ≥ 1) at `delta_mu` for each noise level; arrays of shape (n,)."""
        total = float(_validate.whole(1, steps=steps))
        delta = _validate.scalar("delta_mu", _validate.delta_beyond_failure(delta_mu, self.failure, 1.0))
        slack = -math.log(delta - self.failure)
        tails: dict[tuple[int, int], tuple[float, float]] = {}
        value = np.full((self.noise.size, self.orders.size), np.inf)

        def epsilon(rows: Index, places: Index) -> Array:
            """ε of rows (k, 1) at places (k, m) of the orders, by each order itself."""
            for place in np.unique(places).tolist():
                asked = rows[(places == place).any(axis=1), 0]
                fresh = asked[np.isinf(value[asked, place])]
                if fresh.size:
                    means = self._means(fresh, place, total)
                    value[fresh, place] = (means.upper + slack) / self.orders[place]
                    finite = np.isfinite(means.upper)
                    facts = (np.where(finite, part, np.nan) for part in (means.largest_share, means.effective_size))
                    tails.update(zip([(row, place) for row in fresh.tolist()], zip(*facts, strict=True), strict=True))
            return value[rows, places]

        best = self._search(epsilon)
        rows = np.arange(self.noise.size)
        share, size = np.array([tails[at] for at in zip(rows.tolist(), best.tolist(), strict=True)]).T
        certain = self._worst(rows, best, total, delta) if self.certified else None
        return bound_of_moments(self, value[rows, best], best, np.asarray(slack), (share, size), certain)

    def _worst(self, rows: Index, best: Index, total: float, delta: float) -> Array:
        """ε of d = d_max throughout at each row's best order: it needs no sample, and pays no γ."""
        worst = np.empty(rows.size)
        for column in np.unique(best).tolist():
            chosen = np.flatnonzero(best == column)
            top = np.array([high[-1] for _, _, high in self._psi(rows[chosen], column)])
            worst[chosen] = (total * top - math.log(delta)) / float(self.orders[column])
        worst[self._scale > TOO_LARGE] = np.inf
        return worst

    def _search(self, epsilon: Callable[[Index, Index], Array]) -> Index:
        """Each row's best order: some rows search from afar, the others start where their neighbour ended."""
        rows, last = np.arange(self.noise.size), self.orders.size - 1
        lead = rows[_LED // 2 :: _LED] if rows.size > _LED else rows
        spread = np.unique(np.round(np.geomspace(1, last + 1, 6)).astype(np.intp) - 1)
        tried = epsilon(lead[:, None], np.broadcast_to(spread, (lead.size, spread.size)))
        best = spread[tried.argmin(axis=1)]
        for stride in _STRIDES:
            best, _ = downhill(lambda row, places: epsilon(lead[row], places), best, stride, last)
        nearest = np.abs(rows[:, None] - lead).argmin(axis=1)
        return downhill(epsilon, best[nearest], 1, last)[0]

    def _means(self, rows: Index, column: int, steps: float) -> LogMeans:
        """ln[mean x + τ·std x] at one order for several noise levels; infinite where (d/σ)² is too large."""
        means = LogMeans(*(np.full(rows.size, fill) for fill in (np.inf, np.inf, np.nan, np.nan)))
        sane = np.flatnonzero(self._scale[rows] <= TOO_LARGE)
        if sane.size:
            low, mean, high = (np.stack(part) for part in zip(*self._psi(rows[sane], column), strict=True))
            bounds = self.bounds(self._groups, low, mean, high, np.full(sane.size, steps))
            for field in fields(LogMeans):
                getattr(means, field.name)[sane] = getattr(bounds, field.name)
        return means

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
