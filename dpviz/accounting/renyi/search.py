"""The best Rényi orders of many settings: ε and δ at the best of a fine grid, capped by what total variation implies.

How far apart two worlds can be at all: an upper bound on δ(0), and so on every δ(ε).

(ε, δ)-DP with ε = 0 says that no event's probability changes by more than δ, i.e. that the total variation distance of
the outputs with and without one example is at most δ. Three bounds on it, all valid for any steps:

- One step: TV(N(0, σ²), (1−q)N(0, σ²) + qN(1, σ²)) = q(2Φ(1/(2σ)) − 1), which is at most q: an example that is not
  drawn leaves no trace. Couple the steps one after the other, each equal with probability 1 − TV_i given an equal past:
  all are equal with probability Π(1 − TV_i), so together TV ≤ 1 − Π(1 − TV_i) ≤ 1 − (1 − q)^T, however little noise.
- Pinsker: TV ≤ √(KL/2).
- Bretagnolle & Huber 1979: TV ≤ √(1 − e^−KL).

KL is at most R(α) for every α > 1, and adds up over steps as R does. TV is the same in both directions (add, remove).

The best Rényi orders of many settings, computing divergences only at orders that may decide.

ε(α) = R(α) + tail(α) is quasi-convex in s = α − 1: s·R is the convex log moment, and s·tail is −ln δ for the classic
conversion and s ln s − (s + 1) ln(s + 1) − ln δ, of second derivative 1/s − 1/(s + 1) > 0, for the improved one; a
convex function divided by s > 0 has one valley. ln δ(α) at a given ε is the same numerator without ln δ, less εs:
convex itself. So the best order of a grid lies between the neighbours of the best one that was looked at: six looks,
each four times closer, and some forty divergences do the work of ten thousand. The answer is the least over one fixed
grid, whoever asks, so it is monotone in all that ε(α) is monotone in. Whatever orders were looked at, it is an upper
bound: every order gives one.

ε and δ at the best of FINE_ORDERS, for rows of what was spent, capped by what total variation implies.

The cap: δ(ε) ≤ δ(0) ≤ TV for every ε ≥ 0, so ε = 0 holds wherever δ ≥ TV (`total_variation`). An example that is never
drawn leaves no trace, so δ ≥ 1 − (1 − q)^T needs no noise at all: an order, whose ε cannot be below ln(1/δ)/(α − 1) or
so, would not say it. With ε(δ) = 0 from TV on, the least δ with ε(δ) ≤ ε is the smaller of TV and what the orders say:
the two stay each other's inverse.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from dpviz._arrays import Array, ArrayLike, Index
from dpviz._remember import remembered
from dpviz.accounting.accountant import Composition, GaussianSteps, gaussian_steps
from dpviz.accounting.bound import Bound
from dpviz.accounting.renyi.conversion import epsilon_per_order, log_delta_per_order
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.mechanisms import Mechanism
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.row_moments import divergences

_ROUNDING = 1e-9  # relative; far above what the closed forms and R(α) lose


def one_step_variation(sigma: Array, rate: Array) -> Array:
    """Total variation distance of one sampled Gaussian step; σ > 0 and q in [0, 1] broadcast."""
    return np.asarray(rate * erf(1.0 / (2.0 * math.sqrt(2.0) * np.maximum(sigma, 1e-290))))


def total_variation(one: Array, count: Array, divergence: Array) -> Array:
    """An upper bound on δ(0) of `count` steps of each of several mechanisms together.

    Args:
        one, count: TV_i of one step, at most, and T of each, shape (…, mechanisms); they broadcast.
        divergence: R(α) of all steps together at some order α > 1, the smallest at hand; shape (…).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = -np.expm1(np.where(count > 0.0, count * np.log1p(-one), 0.0).sum(axis=-1))
    some = np.maximum(divergence, np.finfo(np.float64).tiny)  # what underflows to 0 is not nothing
    pinsker, huber = np.sqrt(0.5 * some), np.sqrt(-np.expm1(-some))
    return np.asarray(np.minimum(np.minimum(apart, np.minimum(pinsker, huber)) * (1.0 + _ROUNDING), 1.0))


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
        alike = isinstance(mechanisms, GaussianSteps) or gaussian.sample_rate.size == len(mechanisms)
        self.mechanisms = gaussian if alike else mechanisms
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


_remembered = remembered(Divergences)


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


@dataclass(frozen=True, eq=False, slots=True)
class Spent:
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

    def total_variation(self) -> Array:
        """An upper bound on δ(0), shape (rows,)."""
        count = self.rows.count
        first = np.zeros((count.shape[0], 1), dtype=np.intp)
        divergence = self.total(np.arange(count.shape[0])[:, None], first)[:, 0]
        return total_variation(self.divergences.variation[self.rows.member], count, divergence)


def spent(rows: Composition) -> Spent:
    """The rows with the divergences of their mechanisms: remembered where these are few, as live runs ask again."""
    few = not isinstance(rows.mechanisms, GaussianSteps)
    return Spent((_remembered if few else Divergences)(rows.mechanisms), rows)


def best_epsilon(
    spent: Spent, delta: Array, conversion: str, guess: int | None = None, *, capped: bool = True
) -> tuple[Array, Index]:
    """ε of each row at its δ, (rows,), and the place of the order that decided; −1 where none did.

    Where it is `capped`, 0 where δ is at least the total variation.
    """
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return epsilon_per_order(spent.total(rows, places), orders[places], delta[rows[:, 0]], conversion)

    place, value = lowest(values, delta.size, orders.size, guess)
    some = spent.rows.releases
    if capped:
        some &= delta < spent.total_variation()
    return np.where(some, np.maximum(value, 0.0), 0.0), np.where(some & np.isfinite(value), place, -1)


def capped_bound(spent: Spent, delta: Array, conversion: str) -> Bound:
    """`best_epsilon` with what decided it; `delta` (rows,)."""
    epsilon, place = best_epsilon(spent, delta, conversion)
    decided = place >= 0
    last = epsilon_per_order(np.zeros((delta.size, 1)), FINE_ORDERS[-1:], delta, conversion)[:, 0]
    return Bound(
        epsilon=epsilon,
        order=np.where(decided, FINE_ORDERS[place], np.nan),
        at_grid_end=decided & (epsilon > 0.0) & ((place == 0) | (place == FINE_ORDERS.size - 1)),
        floor=np.where(delta >= 1.0, 0.0, np.maximum(last, 0.0)),
    )


def capped_delta(spent: Spent, epsilon: Array, conversion: str) -> Array:
    """The least δ of each row at its ε, (rows,): over orders, and total variation's; at most 1."""
    orders = spent.divergences.orders

    def values(rows: Index, places: Index) -> Array:
        return log_delta_per_order(spent.total(rows, places), orders[places], epsilon[rows[:, 0]], conversion)

    _, log_delta = lowest(values, epsilon.size, orders.size)
    delta = np.minimum(np.exp(np.minimum(log_delta, 0.0)), spent.total_variation())
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
        epsilon, place = best_epsilon(Spent(self, rows), np.full(n, delta), conversion, guess, capped=self._capped)
        return epsilon, np.where(place >= 0, self.orders[place], np.nan)


@remembered
def order_search(sigma: bytes, rate: float) -> OrderSearch:
    """Along these σ, float64s as bytes: its divergences serve every T and δ."""
    return OrderSearch(np.frombuffer(sigma), rate)
