"""Numerically tight ε(δ) and δ(ε) of composed sampled Gaussians: a lower and an upper bound that pinch the truth.

    >>> found = tight_epsilon(SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), [10_000], 1e-5)
    >>> [f"{bound:.3f}" for bound in (*found.lower, *found.upper)]
    ['0.946', '0.948']

How: the privacy loss of one step is put on a grid from above and from below (`privacy_loss`: polygons above and below
the privacy curve), composed by powers of one Fourier transform (`loss_transform`), and ε is read off. Both
directions, adding and removing one example, are composed from above, and the worse one is the upper bound. The lower
bound composes removal from below, which is a valid lower bound by itself. Mesh, tilt and tails are chosen from T, σ, q
and δ (`tight_plan`), so that the discretisation, which moves ε by about (1 + λ)·T·mesh²/8, stays near 0.2 % of ε.

The bounds hold whatever plan is chosen. One step is solved in closed form (`single_step`), and so is q = 1, where T
steps are one Gaussian mechanism with σ/√T. Where a loss is too large for a grid, the Rényi bound (Canonne,
Kamath, Steinke 2020) is the upper and the single step the lower bound, and the reason says so.

Composition and domination: Zhu, Dong, Wang 2022, Theorem 10. Grids: Doroshenko et al. 2022; Gopi, Lee, Wutschitz 2021.
Tilted transforms: after Koskela, Jälkö, Honkela 2020 (the transform) and Esscher (the tilt).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting import two_scales
from dpviz.accounting.composed_law import ComposedLaw
from dpviz.accounting.law_reading import blurred, delta_at, epsilon_above, epsilon_below
from dpviz.accounting.loss_transform import compose
from dpviz.accounting.mechanism import Run, SampledGaussian, merge_runs
from dpviz.accounting.privacy_loss import discretise, loss_of_output
from dpviz.accounting.single_step import (
    around,
    gaussian_epsilon,
    gaussian_log_delta,
    single_step_delta,
    single_step_epsilon,
    single_step_log_delta,
)
from dpviz.accounting.tight_cap import renyi_epsilon
from dpviz.accounting.tight_inverse import delta_interval
from dpviz.accounting.tight_plan import (
    RELATIVE_WIDTH,
    Aim,
    aim_at_epsilon,
    aim_for_delta,
    finer,
    promised,
    rough_epsilon,
    rough_log_delta,
    tail_for,
    wanted,
)

Array = npt.NDArray[np.float64]
Mechanisms = Sequence[SampledGaussian]

LARGEST_LOSS = 250.0  # of one step, in units of ε; beyond, exp(loss) nears overflow
LEAST_NOISE = 1e-3  # below, the losses of one step are in the hundred thousands: only the Rényi bound is given
LARGEST_EPSILON = 50.0  # the width is promised up to here
ATTEMPTS = 6  # finer grids tried where the first one is not good enough


@dataclass(frozen=True, slots=True)
class TightResult:
    """Lower and upper bounds on ε (or δ); arrays of the shape of `steps`.

    Attributes:
        lower, upper: the truth lies between them, rounding included.
        reason: empty where the promised width is kept (1 % of ε or 0.005); else what was not, and where.
    """

    lower: Array
    upper: Array
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TightProfile:
    """Privacy curve: δ between `lower` and `upper` at each ε; all arrays have one shape."""

    epsilon: Array
    lower: Array
    upper: Array


def tight_epsilon(mechanism: SampledGaussian, steps: npt.ArrayLike, delta: float) -> TightResult:
    """Lower and upper ε at δ after each number of steps.

    Args:
        mechanism: one step.
        steps: whole numbers T ≥ 0, any shape.
        delta: δ in (0, 1).
    """
    target = _validate.scalar("delta", _validate.delta(delta))
    counts = _validate.steps(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    found = _epsilon_of_rows([mechanism], wanted[:, None], target)
    lower, upper = (np.array(side)[place].reshape(counts.shape) for side in zip(*found, strict=True))
    return TightResult(lower, upper, _reason(lower, upper, counts))


def tight_epsilon_of_runs(runs: Iterable[Run], delta: float) -> TightResult:
    """Lower and upper ε at δ of runs of equal steps [(mechanism, count), …] together; arrays of shape ()."""
    target = _validate.scalar("delta", _validate.delta(delta))
    merged = merge_runs(runs)
    ((low, high),) = _epsilon_of_rows([m for m, _ in merged], np.array([[float(t) for _, t in merged]]), target)
    lower, upper = np.array(low), np.array(high)
    return TightResult(lower, upper, _reason(lower, upper, np.array(float(sum(t for _, t in merged)))))


def tight_delta(mechanism: SampledGaussian, steps: npt.ArrayLike, epsilon: float) -> TightResult:
    """Lower and upper δ at ε after each number of steps: the inverse of `tight_epsilon`, to 0.1 % of δ.

    No width is promised; δ below 1e-299 is not told apart.
    """
    target = _validate.scalar("epsilon", _validate.epsilon(epsilon))
    counts = _validate.steps(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    found = [_delta_of_row([mechanism], np.array([count]), target) for count in wanted]
    lower, upper = (np.array(side)[place].reshape(counts.shape) for side in zip(*found, strict=True))
    return TightResult(lower, upper)


def tight_profile(mechanism: SampledGaussian, steps: int, points: int = 200) -> TightProfile:
    """The privacy curve from ε = 0 to where δ passes 1e-10, for trade-off (ROC) curves; δ from above and below."""
    count = _validate.scalar("steps", _validate.steps(steps))
    last = float(tight_epsilon(mechanism, [count], 1e-10).upper[0])
    if not math.isfinite(last):
        raise ValueError(f"Expected noise_multiplier={mechanism.noise_multiplier:g} large enough for a finite ε.")
    epsilon = np.linspace(0.0, max(last, 1e-6), points)
    if count in (0.0, 1.0) or mechanism.sample_rate in (0.0, 1.0) or _too_large([mechanism]):
        sides = [_delta_of_row([mechanism], np.array([count]), float(e)) for e in epsilon]
        return TightProfile(epsilon, *(np.array(side) for side in zip(*sides, strict=True)))
    lower, upper = np.zeros(points), np.ones(points)
    for anchor in np.linspace(0.0, last, 7):  # one tilt resolves its neighbourhood; take the best of several
        below, above = _delta_bounds([mechanism], np.array([count]), float(anchor), epsilon)
        lower, upper = np.maximum(lower, below), np.minimum(upper, above)
    return TightProfile(epsilon, lower, upper)


# What can be said without a grid -----------------------------------------------------------------------------------


def _active(mechanisms: Mechanisms, counts: Array) -> tuple[list[SampledGaussian], Array]:
    """The mechanisms that release something, and how often."""
    kept = [j for j, m in enumerate(mechanisms) if counts[j] > 0 and m.sample_rate > 0]
    return [mechanisms[j] for j in kept], counts[kept]


def _one_gaussian(mechanisms: Mechanisms, counts: Array) -> float:
    """The noise multiplier of the one Gaussian mechanism that unsampled steps together are."""
    return 1.0 / math.sqrt(sum(t / m.noise_multiplier**2 for m, t in zip(mechanisms, counts.tolist(), strict=True)))


def _epsilon_without_grid(mechanisms: Mechanisms, counts: Array, delta: float) -> tuple[float, float] | None:
    if not mechanisms:
        return 0.0, 0.0
    if all(m.sample_rate == 1.0 for m in mechanisms):
        return gaussian_epsilon(_one_gaussian(mechanisms, counts), delta)
    if min(m.noise_multiplier for m in mechanisms) < LEAST_NOISE:
        return 0.0, renyi_epsilon(mechanisms, counts, delta)
    if counts.sum() == 1.0:
        return single_step_epsilon(mechanisms[0], delta)
    if sum(t * single_step_delta(m, 0.0) for m, t in zip(mechanisms, counts, strict=True)) * (1 + 1e-9) <= delta:
        return 0.0, 0.0  # total variation adds up at most
    if _too_large(mechanisms):
        single = max(single_step_epsilon(m, delta)[0] for m in mechanisms)
        return single, renyi_epsilon(mechanisms, counts, delta)
    return None


def _too_large(mechanisms: Mechanisms) -> bool:
    """Whether a step's loss reaches beyond what a grid can hold, within 12 standard deviations."""
    for m in mechanisms:
        reach = 12.0 * m.noise_multiplier
        if max(float(loss_of_output(m, 1.0 + reach)), -float(loss_of_output(m, -reach))) > LARGEST_LOSS:
            return True
    return False


# On a grid ---------------------------------------------------------------------------------------------------------


REMOVE, ADD = 0, 1


def _removed(mechanisms: Mechanisms, counts: Array, aim: Aim, tail: float) -> list[tuple[ComposedLaw, ComposedLaw]]:
    """Removing one example, from above and from below, for each row of counts (curves, mechanisms)."""
    laws = [discretise(m, aim.mesh, tail) for m in mechanisms]
    above = compose([law.remove_above for law in laws], counts, aim.tilt, aim.log_wrap)
    below = compose([law.remove_below for law in laws], counts, aim.tilt, aim.log_wrap)
    return list(zip(above, below, strict=True))


def _added(mechanisms: Mechanisms, counts: Array, aim: Aim, tail: float) -> ComposedLaw:
    """Adding one example, from above."""
    laws = [discretise(m, aim.mesh, tail).add_above for m in mechanisms]
    return compose(laws, counts[None], aim.tilt, aim.log_wrap)[0]


def _epsilon_of_rows(mechanisms: Mechanisms, rows: Array, delta: float) -> list[tuple[float, float]]:
    """(lower, upper) ε for each row of counts; rows of one mechanism that lie close share a grid and its transforms."""
    answers: dict[int, tuple[float, float]] = {}
    groups: list[tuple[Aim, list[int]]] = []
    for i, row in enumerate(rows):
        active, counts = _active(mechanisms, row)
        known = _epsilon_without_grid(active, counts, delta)
        if known is not None:
            answers[i] = known
            continue
        if len(active) == 1 and two_scales.worth_it(active[0], float(counts[0])):
            answers[i] = _on_two_scales(active[0], float(counts[0]), delta)
            if answers[i][1] - answers[i][0] <= promised(answers[i][0]):
                continue
        aim = aim_for_delta(active, counts, REMOVE, delta)
        near = bool(groups) and row.sum() <= 2.0 * rows[groups[-1][1][0]].sum()
        if near and len(mechanisms) == 1 and _shared(groups[-1][0], aim):
            groups[-1][1].append(i)
        else:
            groups.append((aim, [i]))
    for aim, members in groups:
        active, _ = _active(mechanisms, rows[members[0]])
        counts = np.array([_active(mechanisms, rows[i])[1] for i in members])
        tail = tail_for(float(counts.sum(axis=1).max()), delta)
        for i, row, laws in zip(members, counts, _removed(active, counts, aim, tail), strict=True):
            lower, upper = _remove_refined(active, row, delta, aim, laws, len(members) > 1)
            upper = max(upper, _add_refined(active, row, delta, lower, upper))
            low, high = answers.get(i, (0.0, math.inf))
            answers[i] = max(low, lower), min(high, upper)
    return [_not_above_renyi(mechanisms, row, delta, *answers[i]) for i, row in enumerate(rows)]


def _not_above_renyi(
    mechanisms: Mechanisms, row: Array, delta: float, lower: float, upper: float
) -> tuple[float, float]:
    """The bounds, the upper one no higher than Rényi's where that may be lower: small ε, and T far above 10⁹."""
    if upper - lower <= RELATIVE_WIDTH * lower or upper == 0.0:
        return lower, upper
    bound = renyi_epsilon(*_active(mechanisms, row), delta) * (1 + 1e-9)
    return lower, min(upper, bound) if bound >= lower else upper


def _shared(aim: Aim, other: Aim) -> bool:
    """Whether a later row (more steps) may use an earlier one's grid and tilt.

    A tilt √2 off costs a factor e⁸ of numerical error at δ = 1e-12, of some e²⁰ to spare; if it is too much all the
    same, the row is looked at again with its own aim.
    """
    return 1 / 1.5 < aim.tilt / other.tilt < 1.5 and 0.7 < aim.mesh / other.mesh < 1.5


def _remove_refined(
    mechanisms: Mechanisms, counts: Array, delta: float, aim: Aim, laws: tuple[ComposedLaw, ComposedLaw], shared: bool
) -> tuple[float, float]:
    """Lower and upper ε of removal; looked at again, aimed at the ε found, on finer grids while too wide."""
    lower, upper = epsilon_below(laws[1], delta), epsilon_above(laws[0], delta)
    tail = tail_for(float(counts.sum()), delta)
    for attempt in range(ATTEMPTS):
        if upper - lower <= 0.7 * promised(lower) or (lower > LARGEST_EPSILON and not shared):
            break
        if shared and attempt == 0:  # the aim was another row's
            aim = aim_for_delta(mechanisms, counts, REMOVE, delta)
        elif math.isfinite(upper):
            numeric = blurred(laws[0], upper, delta)
            mesh = aim.mesh if numeric else finer(aim.mesh, lower, upper)
            near = math.sqrt(max(lower, 0.1 * upper) * upper) if numeric else upper
            last, aim = aim, aim_at_epsilon(mechanisms, counts, REMOVE, near, delta, mesh)
            if aim.mesh > 0.9 * last.mesh and 0.99 < aim.tilt / last.tilt < 1.01 and attempt > 1:
                break  # as fine as it gets
        else:
            break
        (laws,) = _removed(mechanisms, counts[None], aim, tail)
        lower, upper = max(lower, epsilon_below(laws[1], delta)), min(upper, epsilon_above(laws[0], delta))
    return lower, upper


def _on_two_scales(mechanism: SampledGaussian, steps: float, delta: float) -> tuple[float, float]:
    """Lower and upper ε, both directions, of many rarely sampled steps."""
    split = two_scales.split_of(mechanism, steps)
    left_out, missed = two_scales.most_large(split, steps, 1e-4 * delta)
    tail, counts = tail_for(steps, delta), np.array([steps])
    lower, upper, removed = 0.0, math.inf, math.inf
    added = -steps * math.log1p(-mechanism.sample_rate) * (1 + 1e-12)  # no loss of addition exceeds it
    near = rough_epsilon(mechanism, steps, delta)
    if near > 3.0 * LARGEST_EPSILON:
        return lower, upper
    for attempt in range(4):
        scales = two_scales.scales_for(mechanism, split, steps, near, delta, wanted(near) / 2.0 ** (attempt + 1))
        remove, add = (aim_at_epsilon([mechanism], counts, way, near, delta, scales.coarse) for way in (REMOVE, ADD))

        def law(aim: Aim, side: str, small: float, scales: two_scales.Scales = scales) -> ComposedLaw:
            return two_scales.composed(mechanism, split, steps, scales, aim, tail, side, small)

        above = law(remove, "remove_above", steps)
        lower = max(lower, epsilon_below(law(remove, "remove_below", steps - left_out), delta + missed))
        removed = min(removed, epsilon_above(above, delta))
        if added > lower:  # else removal decides
            added = min(added, epsilon_above(law(add, "add_above", steps), delta))
        upper = max(removed, added)
        width = upper - lower
        if width <= wanted(lower) or (attempt and width <= 0.7 * promised(lower)) or lower > LARGEST_EPSILON:
            break
        near = math.sqrt(max(lower, 0.1 * min(upper, near)) * min(upper, near))
    return lower, upper


def _add_refined(mechanisms: Mechanisms, counts: Array, delta: float, lower: float, removed: float) -> float:
    """Upper ε of addition, in as much detail as it takes to see that removal decides."""
    pure = -sum(t * math.log1p(-min(m.sample_rate, 1 - 1e-16)) for m, t in zip(mechanisms, counts, strict=True))
    upper = math.inf if any(m.sample_rate == 1.0 for m in mechanisms) else pure * (1 + 1e-12)  # no loss exceeds it
    if upper <= removed:
        return upper
    tail = tail_for(float(counts.sum()), delta)
    aim = aim_for_delta(mechanisms, counts, ADD, delta)
    for _ in range(ATTEMPTS):  # also the first look
        law = _added(mechanisms, counts, aim, tail)
        upper = min(upper, epsilon_above(law, delta))
        if upper - lower <= max(removed - lower, 0.7 * promised(lower)):
            break
        mesh = aim.mesh if blurred(law, upper, delta) else finer(aim.mesh, lower, upper)
        aim = aim_at_epsilon(mechanisms, counts, ADD, min(upper, removed), delta, mesh)
    return upper


def _delta_of_row(mechanisms: Mechanisms, counts: Array, epsilon: float) -> tuple[float, float]:
    active, counts = _active(mechanisms, counts)
    if not active:
        return 0.0, 0.0
    if all(m.sample_rate == 1.0 for m in active):
        return around(float(gaussian_log_delta(_one_gaussian(active, counts), epsilon)))
    if counts.sum() == 1.0:
        return around(single_step_log_delta(active[0], epsilon))

    def interval(delta: float) -> tuple[float, float]:
        ((lower, upper),) = _epsilon_of_rows(active, counts[None], delta)
        return lower, upper

    return delta_interval(interval, epsilon, *rough_log_delta(active, counts, epsilon))


def _delta_bounds(mechanisms: Mechanisms, counts: Array, near: float, epsilon: Array) -> tuple[Array, Array]:
    """Lower and upper δ at each ε, resolved best at `near`."""
    delta = math.exp(min(max(rough_log_delta(mechanisms, counts, near)[0], -600.0), -5.0))
    tail = tail_for(float(counts.sum()), delta)
    aim = aim_at_epsilon(mechanisms, counts, REMOVE, near, delta)
    ((above, below),) = _removed(mechanisms, counts[None], aim, tail)
    added = _added(mechanisms, counts, aim_at_epsilon(mechanisms, counts, ADD, near, delta), tail)
    return delta_at(below, epsilon, -1.0), np.maximum(delta_at(above, epsilon, 1.0), delta_at(added, epsilon, 1.0))


def _reason(lower: Array, upper: Array, steps: Array) -> str:
    allowed = np.vectorize(promised, otypes=[float])(lower)
    wide = ~(upper - lower <= allowed)
    reasons = []
    if wide.any():
        reasons.append(f"Wider than 1 % of ε and 0.005 at steps {_listed(steps[wide])}.")
        if (lower[wide] > LARGEST_EPSILON).any():
            reasons.append(f"ε there exceeds {LARGEST_EPSILON:g}: too little noise for a fine grid.")
    return " ".join(reasons)


def _listed(steps: Array) -> str:
    several = np.unique(steps)
    shown = ", ".join(f"{step:.0f}" for step in several[:4])
    return shown + (", …" if several.size > 4 else "")
