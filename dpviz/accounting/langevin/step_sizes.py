"""The largest step sizes of private Langevin dynamics: what published theorems allow, and what composing allows.

The largest first step size whose composed moments still give (ε, δ): where the constants c and c₂ come from.

Everything depends on u₁ = 1/σ₁² alone, for u_t = u₁ t^(−p). The moments of all steps, F_α(u₁) = Σ_t ln A_α(u_t), are
tabulated on a grid of u₁; as ln A_α is convex in u for whole α (`varying_noise`), F is, its chords lie above it, and
the u₁ at which a chord reaches what (ε, δ) allows at α is never too large. The best α gives the answer. Where one
example is replaced F only rises with u: steps and answers are then taken at the grid's points, on the safe side.

Li, Chen, Liu, Carin 2019, App. C, find their constants in the same way: they run the moments accountant over whole λ.

Published bounds on the step sizes of private Langevin dynamics, their constants, and where they hold.

Li, Chen, Liu, Carin 2019, Theorem 3 (η_t = η₁ t^(−1/3)): Algorithm 1 is (ε, δ)-DP, for ε < c₁ q² T^(2/3), when
    (1) η_t ≤ N/L²,   (2) η_t > q² N/(256 L²),   (3) η_t < ε² N t^(−1/3)/(c₂² L² T^(2/3) ln(1/δ)).
(1) and (2) are σ_t ≥ 1 and q < 1/(16 σ_t) of the moment bound (their Lemma 2). As η_t = q² N/(σ_t² L²), they read
    (1) η_t ≤ q² N/L²,   (2) η_t > 256 q⁴ N/L²:
App. A loses a q² on the way. (3) is unharmed, for its q cancels. Both readings are offered, "rederived" and "printed".

The constants depend on (N, T, ε, δ, L, q): they are what the largest step size, found by composing, makes of (3).

How well private Langevin dynamics estimates: bounds on the mean squared error, up to the constant C.

Li, Chen, Liu, Carin 2019, §3.2. For step sizes η_t their source (Chen, Ding, Carin 2015, Theorem 5; App. E) says
    MSE/C ≤ Σ η_t²/S² · (N/τ − 1) N² Γ + 1/S + (Σ η_t²)²/S²,   S = Σ η_t,
which is Lemma 6 for a fixed step size: (N/τ − 1) N² Γ/T + 1/(Tη) + η².
Proposition 5 is meant to be the same for η_t = η₁ t^(−1/3), yet neither its powers of T nor its factors follow from it
(Σ η_t²/S² tends to 4/(3T), where 2/(3T) is printed). `mse_of_schedule` sums; `mse_proposition5` is what is printed.

Γ measures how much gradients differ between examples. It is not known and no step size changes its term.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.langevin.cost import Langevin, langevin_bound
from dpviz.accounting.renyi.conversion import CONVERSIONS, epsilon_per_order
from dpviz.accounting.renyi.varying_noise import WHOLE_ORDERS, MomentTable, moment_table
from dpviz.accounting.schedules import PowerSchedule, power_sums, split

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


def langevin_step_size(
    theorem: str,
    *,
    epsilon: ArrayLike,
    delta: float,
    n: float,
    steps: int,
    clip: float,
    batch_size: float | None = None,
    conversion: str = "classic",
    friction: float | None = None,
    adjacency: str = "add_remove",
    refine: bool = True,
) -> float | Array:
    """The largest step size that the theorem proves to give (ε, δ).

    What its steps really cost, often far less, `langevin_epsilon` says.

    Args:
        theorem: "theorem3" (the first of η₁ t^(−1/3)) or "theorem4" (fixed), with the constant that composing whole
            moments gives; "wang" (Wang, Fienberg, Smola 2015, as printed by Li et al.), which holds up to
            `wang_largest_epsilon`, or "wang_as_plotted", with ln(T/δ) for ln(2.5 T/δ), which is what Li et al.'s
            1.54e-6 is: drawn to compare with, no theorem's bound.
        epsilon: ε > 0, any shape.
        delta: δ in (0, 1).
        n, clip, batch_size, friction, adjacency: see `Langevin`; the Wang bounds know no friction, and take every
            example in each step if `batch_size` is left out.
        steps: T ≥ 1.
        conversion: "classic", as the paper's accountant, or "improved".
        refine: come within 0.1 % of the largest step size; without it the answer is quick, and up to 5 % too small
            where ε exceeds 1, up to 15 % where one example is replaced.

    Raises:
        ValueError: for arguments out of range, and for an ε at which the condition of Wang et al. fails.

    >>> round(langevin_step_size("wang", epsilon=0.1, delta=1e-5, n=50_000, steps=10_000, clip=1) * 1e6, 3)
    1.479
    """
    _validate.choice("theorem", theorem, THEOREMS)
    targets = _validate.positive("epsilon", epsilon)
    target_delta = _validate.number(delta=delta)
    count = _validate.whole(1, steps=steps)
    if theorem.startswith("wang"):
        if friction is not None:
            raise ValueError(
                f"Expected friction={friction} to be left out: Wang, Fienberg, Smola 2015 bound only SGLD."
            )
        setting = Langevin(n, n if batch_size is None else batch_size, clip, None, adjacency)
        sizes = _wang(theorem, targets, target_delta, setting, count)
    else:
        if batch_size is None:
            raise ValueError(f"Expected batch_size with {theorem!r}: the constant depends on it.")
        setting = Langevin(n, batch_size, clip, friction, adjacency)
        plan = {"delta": target_delta, "exponent": EXPONENTS[theorem], "steps": count, "conversion": conversion}
        sizes, _ = composed_step_size(setting, epsilon=targets, refine=refine, **plan)
    return float(sizes) if sizes.ndim == 0 else sizes


def _wang(theorem: str, epsilon: Array, delta: float, setting: Langevin, steps: int) -> Array:
    largest = wang_largest_epsilon(sample_rate=setting.sample_rate, steps=steps, delta=delta)
    if (epsilon > largest).any():
        raise ValueError(
            f"Expected epsilon={epsilon.max():.12g} <= {largest:.6g}: beyond it the theorem of Wang, Fienberg, Smola "
            "2015 does not hold, for it needs T ≥ ε²/(32 q² ln(2/δ)). Take a larger batch or more steps, or another "
            "theorem."
        )
    inside = 2.5 * steps / delta if theorem == "wang" else steps / delta
    below = 128.0 * setting.sensitivity**2 * steps * math.log(inside) * math.log(2.0 / delta)
    return np.asarray(epsilon**2 * setting.n / below)


def wang_largest_epsilon(*, sample_rate: float, steps: float, delta: float) -> float:
    """The largest ε of Wang, Fienberg, Smola 2015: T ≥ ε²/(32 q² ln(2/δ)) for T steps.

    They count T in passes over the data, each of 1/q steps: passes ≥ ε² N/(32 τ ln(2/δ)).

    >>> round(wang_largest_epsilon(sample_rate=1e-4, steps=100, delta=1e-6), 4)
    0.0215
    """
    return sample_rate * math.sqrt(32.0 * steps * math.log(2.0 / delta))


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


@dataclass(frozen=True, slots=True)
class LangevinConstants:
    """What composing makes of the theorems' constants; each of the shape of ε.

    Attributes:
        step_size: the largest η₁ (or η).
        c_squared: c₂² of Theorem 3, or c² of Theorem 4: ε² N/(η L² T^(1−p) ln(1/δ)).
        c1: ε/(q² T^(1−p)): the theorem needs a c₁ above it.
        order: λ + 1 that decided.
    """

    step_size: Array
    c_squared: Array
    c1: Array
    order: Array


def langevin_constants(
    setting: Langevin, *, epsilon: ArrayLike, delta: float, exponent: float, steps: int, **how: Any
) -> LangevinConstants:
    """c₂² (exponent 1/3) or c² (exponent 0) and c₁ where composed moments give (ε, δ) exactly.

    `how` (conversion, refine) as in `composed_step_size`.
    """
    targets = _validate.positive("epsilon", epsilon)
    sizes, order = composed_step_size(setting, epsilon=targets, delta=delta, exponent=exponent, steps=steps, **how)
    length = float(steps) ** (1.0 - exponent)
    with np.errstate(divide="ignore"):
        c_squared = targets**2 * setting.n / (sizes * setting.clip**2 * length * -math.log(delta))
    return LangevinConstants(sizes, c_squared, targets / (setting.sample_rate**2 * length), order)


def step_size_limits(setting: Langevin, reading: str = "rederived") -> tuple[float, float]:
    """Conditions (1) and (2) of Theorem 3: η_t must lie above the first number and not above the second.

    As re-derived they are q < 1/(16 σ_t) and σ_t ≥ 1 for the setting's own σ_t, friction and adjacency included;
    "printed" gives q² N/(256 L²) and N/L².

    >>> step_size_limits(Langevin(n=60_000, batch_size=60_000**0.5, clip=4))[1]   # Table 1's MNIST takes 0.1
    0.0625...
    """
    _validate.choice("reading", reading, READINGS)
    if reading == "printed":
        top = setting.n / setting.clip**2
        return setting.sample_rate**2 * top / 256.0, top
    return 256.0 * setting.sample_rate**2 / setting.cost, 1.0 / setting.cost


def mse_of_schedule(
    step_size: ArrayLike, *, exponent: float, steps: int, n: float, batch_size: float, gradient_variance: float = 0.0
) -> Array:
    """MSE/C of η_t = step_size · t^(−exponent), t ≤ steps; exponent 0 is Lemma 6. Shape of `step_size`."""
    size = _validate.positive("step_size", step_size)
    sampling, slow, bias = _terms(exponent, steps, n, batch_size, gradient_variance)
    return np.asarray(sampling + slow / size + bias * size**2)


def best_step_size(*, exponent: float, steps: int) -> float:
    """The step size that minimises `mse_of_schedule`: (2T)^(−1/3) for a fixed one, O(T^(−1/3)) as in Lemma 6."""
    _, slow, bias = _terms(exponent, steps, 1.0, 1.0, 0.0)
    return float((slow / (2.0 * bias)) ** (1.0 / 3.0))


def _terms(exponent: float, steps: int, n: float, batch_size: float, variance: float) -> tuple[float, float, float]:
    p = _validate.number(exponent=exponent)
    last = np.array([float(_validate.whole(1, steps=steps))])
    first = np.ones(1)
    total, squares = float(power_sums(first, last, p)[0]), float(power_sums(first, last, 2.0 * p)[0])
    return squares / total**2 * _sampling(n, batch_size, variance), 1.0 / total, (squares / total) ** 2


def _sampling(n: float, batch_size: float, variance: float) -> float:
    size, batch, spread = _validate.numbers(n=n, batch_size=batch_size, gradient_variance=variance)
    if batch > size:
        raise ValueError(f"Expected batch_size={batch:.12g} <= n={size:.12g}.")
    return (size / batch - 1.0) * size**2 * spread


def mse_proposition5(
    scale: ArrayLike, *, steps: int, n: float, batch_size: float, gradient_variance: float = 0.0
) -> Array:
    """MSE/C of Proposition 5 as printed; `scale` is η̃₀ = ε²/(c₂² L² ln(1/δ)) > 0."""
    eta = _validate.positive("scale", scale)
    length = float(_validate.whole(1, steps=steps))
    sampling = 2.0 / 3.0 * _sampling(n, batch_size, gradient_variance) / length
    return np.asarray(sampling + 1.0 / (3.0 * eta) + 2.0 * eta**2 * length ** (-2.0 / 3.0))
