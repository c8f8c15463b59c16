"""The best Rényi orders of many settings, computing divergences only at orders that may decide.

ε(α) = R(α) + tail(α) is quasi-convex in s = α − 1: s·R is the convex log moment, and s·tail is −ln δ for the classic
conversion and s ln s − (s + 1) ln(s + 1) − ln δ, of second derivative 1/s − 1/(s + 1) > 0, for the improved one; a
convex function divided by s > 0 has one valley. ln δ(α) at a given ε is the same numerator without ln δ, less εs:
convex itself. So the best order of a grid lies between the neighbours of the best one that was looked at: six looks,
each four times closer, and some forty divergences do the work of ten thousand. The answer is the least over one fixed
grid, whoever asks, so it is monotone in all that ε(α) is monotone in. Whatever orders were looked at, it is an upper
bound: every order gives one.
"""

from collections.abc import Callable

import numpy as np

from dpviz._arrays import Array, Index
from dpviz._remember import remembered
from dpviz.accounting.accountant import GaussianSteps, gaussian_steps
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.total_variation import one_step_variation
from dpviz.mechanisms import Mechanism
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.row_moments import divergences

_STRIDES = 4 ** np.arange(5, -1, -1)
_BETWEEN = np.array([0, -3, -2, -1, 1, 2, 3])  # strides that lie within one of the larger ones; the middle first
_BESIDE = np.array([0, -1, 1])
# From a guess, which may be far off where a solver has moved far.
_FROM_AFAR = (1024, 256, 64, 16)
_LADDER = np.array([-4096, -1024, -256, -64, -16, 0, 16, 64, 256, 1024, 4096])


class Once:
    """Rows of numbers at places, each computed once. `nbytes`: bytes of what was computed so far."""

    def __init__(self, *shape: int) -> None:
        # Places, increasing, and what is there. Replaced together: pages ask from several threads.
        self._rows: tuple[Index, Array] = np.empty(0, dtype=np.intp), np.empty((0, *shape))
        self.nbytes = 0

    def rows(self, key: Index, compute: Callable[[Index], Array]) -> Array:
        """The rows at these places; `compute` makes those that are new, places increasing."""
        keys, values = self._rows
        where = np.searchsorted(keys, key)
        computed = where < keys.size
        computed[computed] = keys[where[computed]] == key[computed]
        if not computed.all():  # a search asks hundreds of times for what is there: only what is new is sorted
            new = np.unique(key[~computed])
            at, rows = np.searchsorted(keys, new), compute(new)
            self._rows = keys, values = np.insert(keys, at, new), np.insert(values, at, rows, axis=0)
            self.nbytes += new.nbytes + rows.nbytes
            where = np.searchsorted(keys, key)
        return np.asarray(values[where])


class Divergences(Once):
    """R(α) of one step of different mechanisms at places of one grid of orders, each computed once.

    Attributes:
        mechanisms: the different steps.
        orders: the grid, increasing, shape (orders,).
    """

    def __init__(self, mechanisms: tuple[Mechanism, ...] | GaussianSteps, orders: Array = FINE_ORDERS) -> None:
        super().__init__()
        gaussian = gaussian_steps(mechanisms)
        one_each = isinstance(mechanisms, GaussianSteps) or gaussian.sample_rate.size == len(mechanisms)
        self.mechanisms = gaussian if one_each else mechanisms
        self.orders = orders

    @property
    def variation(self) -> Array:
        """The total variation distance that one step of each makes, at most; shape (mechanisms,)."""
        if isinstance(self.mechanisms, GaussianSteps):
            return one_step_variation(self.mechanisms.noise_multiplier, self.mechanisms.sample_rate)
        return np.array([mechanism.total_variation for mechanism in self.mechanisms])

    def _compute(self, key: Index) -> Array:
        which, place = np.divmod(key, self.orders.size)
        if isinstance(self.mechanisms, GaussianSteps):
            sigma, rate = self.mechanisms.noise_multiplier[which], self.mechanisms.sample_rate[which]
            return renyi_divergence(sigma, rate, self.orders[place])
        curves = [curve for one in self.mechanisms if (curve := one.renyi())]
        assert len(curves) == len(self.mechanisms)  # `supports` asked
        return divergences(curves, which, self.orders[place])

    def at(self, which: Index, places: Index) -> Array:
        """R of those mechanisms at those places of the grid; the two broadcast."""
        return self.rows(np.asarray(which * self.orders.size + places), self._compute)


remembered_divergences = remembered(Divergences)


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
    seen = values(every[:, None], np.broadcast_to(coarse, (rows, coarse.size)))
    best = coarse[seen.argmin(axis=1)]
    for stride in _FROM_AFAR if guess is not None else ():
        best, _ = downhill(values, best, stride, last)
    for stride in _STRIDES[1:-2] if guess is None else ():
        best, _ = _least(values, every, best, stride * _BETWEEN, last)
    bottom = bottom_near(values, best, _STRIDES[-3], last)
    place, value = _least(values, every, bottom, _BESIDE, last)
    bent = np.flatnonzero(place != bottom)  # where R(α) turns steep within a stride no parabola says where
    for stride in _STRIDES[-2:] if bent.size else ():
        best[bent], value[bent] = _least(values, bent, best[bent], stride * _BETWEEN, last)
    place[bent] = best[bent]
    return place, value


def _least(
    values: Callable[[Index, Index], Array], rows: Index, places: Index, beside: Index, last: int
) -> tuple[Index, Array]:
    """The best of some places beside one of each row, and its value."""
    tried = np.clip(places[:, None] + beside, 0, last)
    seen = values(rows[:, None], tried)
    return tried[np.arange(rows.size), seen.argmin(axis=1)], seen.min(axis=1)


def downhill(values: Callable[[Index, Index], Array], best: Index, stride: int, last: int) -> tuple[Index, Array]:
    """Walk in strides until no row's neighbours are lower; a tie stays where it is."""
    best, value = best.copy(), np.empty(best.size)
    rows = np.arange(best.size)
    while rows.size:
        # The middle first: argmin takes the first of equals.
        tried = np.clip(best[rows, None] + stride * _BESIDE, 0, last)
        seen = values(rows[:, None], tried)
        chosen = seen.argmin(axis=1)
        at = np.arange(rows.size)
        best[rows], value[rows] = tried[at, chosen], seen[at, chosen]
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
