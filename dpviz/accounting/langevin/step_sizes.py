"""The largest first step size whose composed moments still give (ε, δ): where the constants c and c₂ come from.

Everything depends on u₁ = 1/σ₁² alone, for u_t = u₁ t^(−p). The moments of all steps, F_α(u₁) = Σ_t ln A_α(u_t), are
tabulated on a grid of u₁; as ln A_α is convex in u for whole α (`varying_noise`), F is, its chords lie above it, and
the u₁ at which a chord reaches what (ε, δ) allows at α is never too large. The best α gives the answer. Where one
example is replaced F only rises with u: steps and answers are then taken at the grid's points, on the safe side.

Li, Chen, Liu, Carin 2019, App. C, find their constants in the same way: they run the moments accountant over whole λ.
"""

import math
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.langevin.cost import Langevin, langevin_bound
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order
from dpviz.accounting.renyi.varying_noise import WHOLE_ORDERS, MomentTable, moment_table
from dpviz.accounting.schedules import PowerSchedule, split

_FINE = 8  # grid points per octave
_SLOW_ORDERS = 40
_OCTAVES_DOWN = 5  # of the schedule, tabulated finely; below, cells widen


def largest_inverse_variance(
    *,
    epsilon: ArrayLike,
    delta: float,
    sample_rate: float,
    exponent: float,
    steps: int,
    conversion: str = "classic",
    replaced: bool = False,
) -> tuple[Array, Array]:
    """u₁ for each ε: the largest 1/σ₁² at which `steps` steps with u_t = u₁ t^(−exponent) are (ε, δ)-DP.

    Where one example is `replaced` it is up to 15 % too small.

    Returns:
        u₁ and the order α = λ + 1 that decides, each of the shape of `epsilon`; u₁ is on the safe side.
    """
    targets = np.asarray(epsilon, dtype=np.float64)
    flat = np.atleast_1d(targets).ravel()
    orders = _useful_orders(flat, delta)
    if replaced:  # every order gives a bound, and these are slow
        orders = orders[:: -(-orders.size // _SLOW_ORDERS)]
    allowed = (orders - 1.0) * -epsilon_per_order(
        -flat[:, None] * np.ones(orders.size), orders, np.full(flat.size, delta), conversion
    )  # ε per order is linear in the total, so this is the total that leaves ε exactly, times α − 1
    inverse, best = _invert(allowed, moment_table(sample_rate, tuple(orders.tolist()), replaced), exponent, steps)
    return inverse.reshape(targets.shape), best.reshape(targets.shape)


def _useful_orders(epsilon: Array, delta: float) -> Array:
    """Orders that can decide: λ ε must exceed ln(1/δ), or nothing is left to spend; the best is near 2 ln(1/δ)."""
    whole = np.array(WHOLE_ORDERS)
    log = -math.log(delta)
    low, high = 0.5 * log / max(float(epsilon.max()), 1e-12), 2.7 * log / max(float(epsilon.min()), 1e-12) + 8.0
    kept = whole[(whole - 1.0 >= min(low, 0.5 * whole[-1])) & (whole - 1.0 <= high)]
    return kept if kept.size else whole[-4:]


def _invert(allowed: Array, table: MomentTable, exponent: float, steps: int) -> tuple[Array, Array]:
    """Largest u₁ with F_α(u₁) ≤ allowed for some α: `allowed` is (targets, orders)."""
    weights, offsets = _cells(exponent, steps, convex=not table.replaced)
    low, high = _bracket(allowed, table, float(weights @ np.exp2(-offsets / _FINE)))
    while True:
        k = np.arange(low, high + 1, dtype=np.float64)
        totals = _totals(table, weights, offsets, k)
        grid = np.concatenate([[0.0], np.exp2(k / _FINE)])
        reached, best = _reach(allowed, totals, grid, table)
        if reached.max() < grid[-1] or high > 40 * _FINE:
            return reached, best
        high += 4 * _FINE


def _reach(allowed: Array, totals: Array, grid: Array, table: MomentTable) -> tuple[Array, Array]:
    furthest, best = np.zeros(allowed.shape[0]), np.full(allowed.shape[0], np.nan)
    for j, order in enumerate(table.orders.tolist()):
        height = totals[:, j]
        last = int(np.isfinite(height).sum())
        if table.replaced:
            reach = grid[np.maximum(np.searchsorted(height[:last], allowed[:, j], side="right") - 1, 0)]
        else:
            reach = np.interp(allowed[:, j], height[:last], grid[:last])
        reach = np.where(allowed[:, j] > 0.0, reach * (1.0 - 1e-12), 0.0)
        better = reach > furthest
        furthest, best = np.where(better, reach, furthest), np.where(better, order, best)
    return furthest, best


def _cells(exponent: float, steps: int, *, convex: bool) -> tuple[Array, Array]:
    """The schedule t^(−p) as weights on the points 2^(−j/_FINE): convex functions sum to no more than their chords.

    Far below the first step the cells widen, and the last one reaches to 0, where moments vanish. Without `convex` they
    do not, and each step counts at the point above it.
    """
    octaves = _OCTAVES_DOWN if convex else 2 * _OCTAVES_DOWN
    down = np.concatenate([np.arange(octaves * _FINE), _FINE * np.arange(octaves, octaves + 9)])
    edges = np.concatenate([[0.0], np.exp2(-down[::-1] / _FINE)])
    parts = split(PowerSchedule(1.0, exponent, steps), [steps], edges)
    right = np.clip(np.searchsorted(edges, parts.mean if convex else parts.largest), 1, edges.size - 1)
    if not convex:
        return np.bincount(right, parts.count, edges.size)[:0:-1].astype(np.float64), down.astype(np.float64)
    part = np.clip((parts.mean - edges[right - 1]) / (edges[right] - edges[right - 1]), 0.0, 1.0)
    weights = np.bincount(right, parts.count * part, edges.size) + np.bincount(
        right - 1, parts.count * (1.0 - part), edges.size
    )
    return np.asarray(weights[:0:-1], dtype=np.float64), down.astype(np.float64)  # the point 0 costs nothing


def _totals(table: MomentTable, weights: Array, offsets: Array, k: Array) -> Array:
    """F_α at u₁ = 0 and at 2^(k/_FINE), shape (1 + k, orders)."""
    used = weights > 0.0
    wanted = k[:, None] - offsets[used]
    needed, place = np.unique(wanted, return_inverse=True)
    rows = table.rows(np.exp2(needed / _FINE))
    place = place.reshape(wanted.shape)
    totals = np.zeros((k.size + 1, table.orders.size))
    for j, weight in enumerate(weights[used]):
        totals[1:] += weight * rows[place[:, j]]
    return totals


def _bracket(allowed: Array, table: MomentTable, total_weight: float) -> tuple[int, int]:
    """Grid indices between which the answers lie, from above by two simple lower bounds on the moments."""
    rate, orders = table.rate, table.orders
    pairs = orders * (orders - 1.0)
    # Twice the quadratic regime, and the last term of the binomial sum for the first step alone.
    quadratic = 4.0 * allowed / (pairs * rate**2 * total_weight)
    last_term = 2.0 * (allowed - orders * math.log(rate)) / pairs
    guess = np.where(allowed > 0.0, np.minimum(quadratic, last_term), 0.0).max(axis=1)
    some = guess[guess > 0.0]
    if not some.size:
        return 0, 1
    return math.floor(_FINE * math.log2(some.min() / 12.0)), math.ceil(_FINE * math.log2(some.max()))


THEOREMS = ("theorem3", "theorem4", "wang", "wang_as_plotted")
READINGS = ("rederived", "printed")
EXPONENTS = {"theorem3": 1.0 / 3.0, "theorem4": 0.0}


def composed_step_size(
    setting: Langevin, *, epsilon: ArrayLike, refine: bool = True, **plan: Any
) -> tuple[Array, Array]:
    """The largest η₁ of η₁ t^(−exponent) that composed whole moments allow at each ε, and the order λ + 1 deciding.

    `plan` (delta, exponent, steps, conversion) as in `largest_inverse_variance`.
    """
    _validate.choice("conversion", plan.get("conversion", "classic"), CONVERSIONS)
    targets = _validate.positive("epsilon", epsilon)
    inverse, order = largest_inverse_variance(
        epsilon=targets, sample_rate=setting.sample_rate, replaced=setting.replaced, **plan
    )
    sizes = inverse / setting.cost
    if refine:
        pairs = zip(targets.ravel().tolist(), sizes.ravel().tolist(), strict=True)
        sizes = np.array([_refined(setting, target, size, **plan) for target, size in pairs]).reshape(targets.shape)
    return np.asarray(sizes), order


def _refined(
    setting: Langevin,
    epsilon: float,
    size: float,
    *,
    delta: float,
    exponent: float,
    steps: int,
    conversion: str = "classic",
) -> float:
    """A step size at least `size` whose composed ε is within the target, by bisection on the safe side."""

    def fits(first: float) -> bool:
        schedule = PowerSchedule(first, exponent, steps)
        bound = langevin_bound(setting, schedule, delta=delta, conversion=conversion, orders=WHOLE_ORDERS)
        return bool(bound.epsilon[-1] <= epsilon)

    if size <= 0.0:
        return size
    low, high = size, 1.06 * size
    while fits(high):
        low, high = high, 1.06 * high
    while high / low > 1.0005:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low
