"""Numerically tight ε(δ) and δ(ε) of composed steps: a lower and an upper bound, close together.

    >>> from dpviz.mechanisms import SampledGaussian
    >>> found = tight_epsilon(SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), [10_000], 1e-5)
    >>> [f"{bound:.3f}" for bound in (*found.lower, *found.upper)]
    ['0.946', '0.948']

How: the privacy loss of one step is put on a grid from above and from below (`privacy_loss`: polygons above and below
the privacy curve), composed by powers of one Fourier transform (`loss_transform`), and ε is read off. Both
directions, adding and removing one example, are composed from above, and the worse one is the upper bound. The lower
bound composes removal from below, which is a valid lower bound by itself. Interval, tilt and tails are chosen from T,
σ, q and δ (`plan`), so that the discretisation, which moves ε by about (1 + λ)·T·interval²/8, stays near 0.2 % of
ε.

The bounds hold whatever plan is chosen. One step is solved in closed form (`grid`), and so is q = 1, where T
steps are one Gaussian mechanism with σ/√T. Only where a loss of 12 deviations exceeds 20,000, or σ is below 1e-3, the
Rényi bound (Canonne, Kamath, Steinke 2020) is the upper and the single step the lower bound, and the reason says so.

Composition and domination: Zhu, Dong, Wang 2022, Theorem 10. Grids: Doroshenko et al. 2022; Gopi, Lee, Wutschitz 2021.
Tilted transforms: after Koskela, Jälkö, Honkela 2020 (the transform) and Esscher (the tilt).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.pld.grid import (
    LARGEST_EPSILON,
    beyond_grids,
    delta_bounds,
    delta_of_row,
    epsilon_of_rows,
    in_turn,
    without_grid,
)
from dpviz.accounting.pld.noise_groups import GROUPED, MOST_DISTINCT, grouped_noise
from dpviz.accounting.pld.plan import promised
from dpviz.mechanisms import Event, Mechanism, merge_events

IN_TURN = (
    "The upper end lets the rows of a person change one after the other (group privacy), which may be loose; the "
    "lower end is that of one row, or of two data sets."
)


FALLBACK = (
    "No grid holds so large a loss: the upper end is the Rényi bound (RDP), the lower end what one step shows; the "
    "PLD ε lies between them."
)


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


def tight_epsilon(mechanism: Mechanism, steps: ArrayLike, delta: float) -> TightResult:
    """Lower and upper ε at δ after each number of steps; the lower one is `Mechanism.least`'s.

    Args:
        mechanism: one step.
        steps: whole numbers T ≥ 0, any shape.
        delta: δ in (0, 1).
    """
    target = _validate.number(delta=delta)
    counts = mechanism.counted(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    lower, upper = np.array(epsilon_of_rows([mechanism], wanted[:, None], target)).reshape(-1, 2).T
    # More steps never cost less: what holds for fewer holds below, what holds for more above.
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    lower, upper = (side[place].reshape(counts.shape) for side in (lower, upper))
    if mechanism.least != mechanism:
        lower = tight_epsilon(mechanism.least, counts, target).lower
    return TightResult(lower, upper, IN_TURN if in_turn(mechanism) else _reason([mechanism], lower, upper))


def tight_epsilon_of_events(events: Iterable[Event], delta: float) -> TightResult:
    """Lower and upper ε at δ of events of equal steps [(mechanism, count), …] together; arrays of shape ().

    Of more than MOST_DISTINCT different mechanisms, those whose noise is within about 1 % are taken together
    (`noise_groups`): the upper end errs upwards, as each of a group gets its least noise, and the lower end downwards,
    as each gets its most. Both stay bounds, some percent further apart.
    """
    return tight_epsilon_of_each([events], delta)[0]


def tight_epsilon_of_each(several: Sequence[Iterable[Event]], delta: float) -> list[TightResult]:
    """The same of each of several lists of events, in one computation: they share mechanisms, or nearly so."""
    target = _validate.number(delta=delta)
    merged = [dict(merge_events(events)) for events in several]
    together: Counter[Mechanism] = Counter()
    for events in merged:
        together.update(events)
    if len(together) <= MOST_DISTINCT:
        return _epsilon_of_each(merged, target)
    groups = grouped_noise(together)
    quieter, louder = ([_moved(events, groups, side) for events in merged] for side in (0, 1))
    results = _epsilon_of_each([*quieter, *louder], target)
    ends = zip(results[: len(merged)], results[len(merged) :], strict=True)
    return [TightResult(low.lower, high.upper, " ".join([GROUPED, high.reason]).strip()) for high, low in ends]


def _moved(
    counts: Mapping[Mechanism, int], groups: Mapping[Mechanism, tuple[Mechanism, Mechanism]], side: int
) -> dict[Mechanism, int]:
    """The steps with no more noise than each has (side 0), or with no less (side 1)."""
    moved: Counter[Mechanism] = Counter()
    for step, count in counts.items():
        moved[groups[step][side]] += count
    return moved


def _epsilon_of_each(merged: Sequence[dict[Mechanism, int]], target: float) -> list[TightResult]:
    """`tight_epsilon_of_each` where each mechanism has its own grids."""
    mechanisms = list(dict.fromkeys(mechanism for events in merged for mechanism in events))
    counts = np.array([[float(events.get(mechanism, 0)) for mechanism in mechanisms] for events in merged])
    ends = [(np.array(low), np.array(high)) for low, high in epsilon_of_rows(mechanisms, counts, target)]
    if any(mechanism.least != mechanism for mechanism in mechanisms):
        below = [[(mechanism.least, count) for mechanism, count in events.items()] for events in merged]
        least = [dict(merge_events(events)) for events in below]
        ends = [(each.lower, high) for each, (_, high) in zip(_epsilon_of_each(least, target), ends, strict=True)]
    return [TightResult(*both, _reason(list(events), *both)) for events, both in zip(merged, ends, strict=True)]


def tight_delta(mechanism: Mechanism, steps: ArrayLike, epsilon: float) -> TightResult:
    """Lower and upper δ at ε after each number of steps: the inverse of `tight_epsilon`, to 0.1 % of δ.

    No width is promised; δ below 1e-299 is not told apart.
    """
    target = _validate.number(epsilon=epsilon)
    counts = mechanism.counted(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    intervals = [delta_of_row([mechanism], np.array([count]), target) for count in wanted]
    lower, upper = (np.array(side)[place].reshape(counts.shape) for side in zip(*intervals, strict=True))
    if mechanism.least != mechanism:
        lower = tight_delta(mechanism.least, counts, target).lower
    return TightResult(lower, upper)


def tight_profile(mechanism: Mechanism, steps: int, points: int = 200) -> TightProfile:
    """The privacy curve from ε = 0 to where δ passes 1e-10, for trade-off (ROC) curves; δ from above and below."""
    count = float(mechanism.counted(_validate.whole(0, steps=steps)))
    last = float(tight_epsilon(mechanism, [count], 1e-10).upper[0])
    if not math.isfinite(last):
        raise ValueError(f"Expected noise large enough for a finite ε; found {mechanism}.")
    return tight_curve(mechanism, steps, np.linspace(0.0, max(last, 1e-6), points))


def tight_curve(mechanism: Mechanism, steps: int, epsilon: ArrayLike) -> TightProfile:
    """Lower and upper δ at each ε ≥ 0, rising, (points,): as `tight_delta`, but a few grids answer for all."""
    each = np.asarray(epsilon, dtype=float)
    count = float(mechanism.counted(_validate.whole(0, steps=steps)))
    lower, upper = _profile(mechanism, count, each)
    if mechanism.least != mechanism:
        lower, _ = _profile(mechanism.least, count, each)
    return TightProfile(each, lower, upper)


def _profile(mechanism: Mechanism, count: float, epsilon: Array) -> tuple[Array, Array]:
    """δ from below and above at each ε, rising."""
    if without_grid(mechanism, count):
        sides = [delta_of_row([mechanism], np.array([count]), float(e)) for e in epsilon]
        lower, upper = (np.array(side) for side in zip(*sides, strict=True))
        return lower, upper
    lower, upper = np.zeros(epsilon.size), np.ones(epsilon.size)
    for anchor in np.linspace(0.0, float(epsilon[-1]), 7):  # one tilt resolves its neighbourhood; the best of several
        below, above = delta_bounds([mechanism], np.array([count]), float(anchor), epsilon)
        lower, upper = np.maximum(lower, below), np.minimum(upper, above)
    return lower, upper


def _reason(mechanisms: Sequence[Mechanism], lower: Array, upper: Array) -> str:
    allowed = np.vectorize(promised, otypes=[float])(lower)
    wide = ~(upper - lower <= allowed)
    if not wide.any():
        return ""
    if any(beyond_grids(mechanism) for mechanism in mechanisms):
        return FALLBACK
    reason = "Its ends are further apart here than 1 % of ε and 0.005."
    if (lower[wide] > LARGEST_EPSILON).any():
        reason += f" There ε exceeds {LARGEST_EPSILON:g}: the noise is too small for a fine grid."
    return reason
