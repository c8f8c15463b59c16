"""Numerically tight ε(δ) and δ(ε) of composed steps: a lower and an upper bound that pinch the truth.

    >>> from dpviz.mechanisms import SampledGaussian
    >>> found = tight_epsilon(SampledGaussian(noise_multiplier=4.0, sample_rate=0.01), [10_000], 1e-5)
    >>> [f"{bound:.3f}" for bound in (*found.lower, *found.upper)]
    ['0.946', '0.948']

How: the privacy loss of one step is put on a grid from above and from below (`privacy_loss`: polygons above and below
the privacy curve), composed by powers of one Fourier transform (`loss_transform`), and ε is read off. Both
directions, adding and removing one example, are composed from above, and the worse one is the upper bound. The lower
bound composes removal from below, which is a valid lower bound by itself. Interval, tilt and tails are chosen from T,
σ, q and δ (`tight_plan`), so that the discretisation, which moves ε by about (1 + λ)·T·interval²/8, stays near 0.2 % of
ε.

The bounds hold whatever plan is chosen. One step is solved in closed form (`single_step`), and so is q = 1, where T
steps are one Gaussian mechanism with σ/√T. Where a loss is too large for a grid, the Rényi bound (Canonne,
Kamath, Steinke 2020) is the upper and the single step the lower bound, and the reason says so.

Composition and domination: Zhu, Dong, Wang 2022, Theorem 10. Grids: Doroshenko et al. 2022; Gopi, Lee, Wutschitz 2021.
Tilted transforms: after Koskela, Jälkö, Honkela 2020 (the transform) and Esscher (the tilt).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.pld.grid import (
    LARGEST_EPSILON,
    delta_bounds,
    delta_of_row,
    epsilon_of_rows,
    in_turn,
    without_grid,
)
from dpviz.accounting.pld.plan import promised
from dpviz.mechanisms import Event, Mechanism, merge_events

IN_TURN = (
    "The upper end lets the rows of a person change one after the other (group privacy), which may be loose; the "
    "lower end is that of one row, or of two data sets."
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
    counts = _validate.steps(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    lower, upper = np.array(epsilon_of_rows([mechanism], wanted[:, None], target)).reshape(-1, 2).T
    # More steps never cost less: what holds for fewer holds below, what holds for more above.
    lower, upper = np.maximum.accumulate(lower), np.minimum.accumulate(upper[::-1])[::-1]
    lower, upper = (side[place].reshape(counts.shape) for side in (lower, upper))
    if mechanism.least != mechanism:
        lower = tight_epsilon(mechanism.least, counts, target).lower
    return TightResult(lower, upper, IN_TURN if in_turn(mechanism) else _reason(lower, upper))


def tight_epsilon_of_events(events: Iterable[Event], delta: float) -> TightResult:
    """Lower and upper ε at δ of events of equal steps [(mechanism, count), …] together; arrays of shape ()."""
    return tight_epsilon_of_each([events], delta)[0]


def tight_epsilon_of_each(several: Sequence[Iterable[Event]], delta: float) -> list[TightResult]:
    """The same of each of several lists of events, in one computation: they share mechanisms, or nearly so."""
    target = _validate.number(delta=delta)
    merged = [dict(merge_events(events)) for events in several]
    mechanisms = list(dict.fromkeys(mechanism for events in merged for mechanism in events))
    counts = np.array([[float(events.get(mechanism, 0)) for mechanism in mechanisms] for events in merged])
    ends = [(np.array(low), np.array(high)) for low, high in epsilon_of_rows(mechanisms, counts, target)]
    if any(mechanism.least != mechanism for mechanism in mechanisms):
        below = [[(mechanism.least, count) for mechanism, count in events.items()] for events in merged]
        ends = [(each.lower, high) for each, (_, high) in zip(tight_epsilon_of_each(below, target), ends, strict=True)]
    return [TightResult(*both, _reason(*both)) for both in ends]


def tight_delta(mechanism: Mechanism, steps: ArrayLike, epsilon: float) -> TightResult:
    """Lower and upper δ at ε after each number of steps: the inverse of `tight_epsilon`, to 0.1 % of δ.

    No width is promised; δ below 1e-299 is not told apart.
    """
    target = _validate.number(epsilon=epsilon)
    counts = _validate.steps(steps)
    wanted, place = np.unique(counts, return_inverse=True)
    intervals = [delta_of_row([mechanism], np.array([count]), target) for count in wanted]
    lower, upper = (np.array(side)[place].reshape(counts.shape) for side in zip(*intervals, strict=True))
    if mechanism.least != mechanism:
        lower = tight_delta(mechanism.least, counts, target).lower
    return TightResult(lower, upper)


def tight_profile(mechanism: Mechanism, steps: int, points: int = 200) -> TightProfile:
    """The privacy curve from ε = 0 to where δ passes 1e-10, for trade-off (ROC) curves; δ from above and below."""
    count = float(_validate.whole(0, steps=steps))
    last = float(tight_epsilon(mechanism, [count], 1e-10).upper[0])
    if not math.isfinite(last):
        raise ValueError(f"Expected noise large enough for a finite ε; found {mechanism}.")
    epsilon = np.linspace(0.0, max(last, 1e-6), points)
    lower, upper = _profile(mechanism, count, epsilon)
    if mechanism.least != mechanism:
        lower, _ = _profile(mechanism.least, count, epsilon)
    return TightProfile(epsilon, lower, upper)


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


def _reason(lower: Array, upper: Array) -> str:
    allowed = np.vectorize(promised, otypes=[float])(lower)
    wide = ~(upper - lower <= allowed)
    if not wide.any():
        return ""
    reason = "Its ends are further apart here than 1 % of ε and 0.005."
    if (lower[wide] > LARGEST_EPSILON).any():
        reason += f" There ε exceeds {LARGEST_EPSILON:g}: the noise is too small for a fine grid."
    return reason
