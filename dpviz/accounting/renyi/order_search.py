"""The best Rényi orders of many settings, computing divergences only at orders that may decide.

ε(α) = R(α) + tail(α) is quasi-convex in s = α − 1: s·R is the convex log moment, and s·tail is −ln δ for the classic
conversion and s ln s − (s + 1) ln(s + 1) − ln δ, of second derivative 1/s − 1/(s + 1) > 0, for the improved one; a
convex function divided by s > 0 has one valley. ln δ(α) at a given ε is the same numerator without ln δ, less εs:
convex itself. So the best order of a grid is found by walking downhill, first in large strides, and some fifty
divergences do the work of ten thousand. The answer is the least over one fixed grid, whoever asks, so it is monotone in
all that ε(α) is monotone in. Whatever orders were looked at, it is an upper bound: every order gives one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpviz._arrays import Array, ArrayLike, Bools, Index
from dpviz._remember import remembered
from dpviz.accounting.accountant import GaussianSteps
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.total_variation import one_step_variation
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence

_STRIDES = (256, 64, 16, 1)
# From a guess, which may be far off where a solver has moved far.
_FROM_AFAR = (1024, 256, 64, 16)
_LADDER = np.array([-4096, -1024, -256, -64, -16, 0, 16, 64, 256, 1024, 4096])


class Divergences:
    """R(α) of one step at settings (σ, q) and places of one grid of orders, each computed once.

    Attributes:
        sigma, rate: the settings, shape (settings,) each.
        orders: the grid, increasing, shape (orders,).
    """

    def __init__(self, sigma: ArrayLike, rate: ArrayLike, orders: Array = FINE_ORDERS) -> None:
        given = np.broadcast_arrays(np.asarray(sigma, dtype=np.float64), np.asarray(rate, dtype=np.float64))
        self.sigma, self.rate = (np.atleast_1d(values).astype(np.float64) for values in given)
        self.orders = orders
        # Places as one number each, increasing, and what is there. Replaced together: pages ask from several threads.
        self._known: tuple[Index, Array] = np.empty(0, dtype=np.intp), np.empty(0)

    @property
    def releases(self) -> Bools:
        """Whether each setting releases anything, shape (settings,)."""
        return self.rate > 0.0

    @property
    def variation(self) -> Array:
        """The total variation distance that one step of each setting makes, at most; shape (settings,)."""
        return one_step_variation(self.sigma, self.rate)

    def _compute(self, setting: Index, place: Index) -> Array:
        return renyi_divergence(self.sigma[setting], self.rate[setting], self.orders[place])

    @property
    def looked_up(self) -> int:
        """How many divergences were computed so far."""
        return self._known[0].size

    @property
    def nbytes(self) -> int:
        """Bytes of what was computed so far."""
        return self._known[0].nbytes + self._known[1].nbytes

    def at(self, settings: Index, places: Index) -> Array:
        """R of those settings at those places of the grid; the two broadcast."""
        key = np.asarray(settings * self.orders.size + places)
        keys, values = self._known
        where = np.searchsorted(keys, key)
        found = where < keys.size
        found[found] = keys[where[found]] == key[found]
        if not found.all():
            new = np.unique(key[~found])
            setting, place = np.divmod(new, self.orders.size)
            computed = self._compute(setting, place)
            before = np.searchsorted(keys, new)
            keys, values = np.insert(keys, before, new), np.insert(values, before, computed)
            self._known = keys, values
            where = np.searchsorted(keys, key)
        return np.asarray(values[where])


class _OfMechanisms(Divergences):
    """The same for mechanisms of any kind, each by its own curve."""

    def __init__(self, mechanisms: tuple[Mechanism, ...]) -> None:
        super().__init__(np.zeros(len(mechanisms)), 0.0)
        self.mechanisms = mechanisms

    @property
    def releases(self) -> Bools:
        return np.array([mechanism.releases for mechanism in self.mechanisms])

    @property
    def variation(self) -> Array:
        return np.array([mechanism.total_variation for mechanism in self.mechanisms])

    def _compute(self, setting: Index, place: Index) -> Array:
        found = np.empty(setting.size)
        for j in np.unique(setting).tolist():
            curve = self.mechanisms[j].renyi()
            assert curve is not None  # `supports` asked
            found[setting == j] = curve(self.orders[place[setting == j]])
        return found


def divergences_of(mechanisms: tuple[Mechanism, ...] | GaussianSteps) -> Divergences:
    """Divergences at FINE_ORDERS; those of a few mechanisms are remembered: live runs and solvers ask again."""
    if isinstance(mechanisms, GaussianSteps):
        return Divergences(mechanisms.noise_multiplier, mechanisms.sample_rate)
    return _divergences_of(mechanisms)


@remembered
def _divergences_of(mechanisms: tuple[Mechanism, ...]) -> Divergences:
    gaussian = [mechanism for mechanism in mechanisms if isinstance(mechanism, SampledGaussian)]
    if len(gaussian) < len(mechanisms):
        return _OfMechanisms(mechanisms)
    return Divergences([m.noise_multiplier for m in gaussian], [m.sample_rate for m in gaussian])


def lowest(
    values: Callable[[Index, Index], Array], rows: int, places: int, guess: int | None = None
) -> tuple[Index, Array]:
    """The place of each row's smallest value, and that value; each row has one valley.

    Args:
        values: the values of rows (k, 1) at places (k, m), shape (k, m); inf where there is none.
        rows, places: how many there are.
        guess: a place that is known to be near, for all rows.
    """
    last, every = places - 1, np.arange(rows)
    coarse = np.unique(np.append(np.arange(0, last + 1, _STRIDES[0]), last))
    if guess is not None:  # all at once what the first strides, and total variation, would look at
        coarse = np.unique(np.clip(np.append(guess + _LADDER, 0), 0, last))
    found = values(every[:, None], np.broadcast_to(coarse, (rows, coarse.size)))
    best = coarse[found.argmin(axis=1)]
    for stride in _STRIDES[1:-1] if guess is None else _FROM_AFAR:
        best, _ = downhill(values, best, stride, last)
    return downhill(values, bottom_near(values, best, _STRIDES[-2], last), _STRIDES[-1], last)


def downhill(values: Callable[[Index, Index], Array], best: Index, stride: int, last: int) -> tuple[Index, Array]:
    """Walk in strides until no row's neighbours are lower; a tie stays where it is."""
    best, value = best.copy(), np.empty(best.size)
    rows = np.arange(best.size)
    while rows.size:
        # The middle first: argmin takes the first of equals.
        tried = np.clip(best[rows, None] + stride * np.array([0, -1, 1]), 0, last)
        found = values(rows[:, None], tried)
        chosen = found.argmin(axis=1)
        at = np.arange(rows.size)
        best[rows], value[rows] = tried[at, chosen], found[at, chosen]
        rows = rows[tried[at, chosen] != tried[:, 0]]
    return best, value


def bottom_near(values: Callable[[Index, Index], Array], best: Index, stride: int, last: int) -> Index:
    """The bottom of the parabola through each row's best place and its neighbours a stride away: a good start."""
    left, right = np.maximum(best - stride, 0), np.minimum(best + stride, last)
    inside = np.flatnonzero((best - left == stride) & (right - best == stride))
    if not inside.size:
        return best
    low, middle, high = values(inside[:, None], np.stack([left, best, right], axis=1)[inside]).T
    with np.errstate(invalid="ignore", divide="ignore"):
        shift = 0.5 * stride * (low - high) / (low - 2.0 * middle + high)
    bottom = best.copy()
    bottom[inside] += np.where(np.isfinite(shift), np.clip(np.round(shift), -stride, stride), 0.0).astype(np.intp)
    return bottom
