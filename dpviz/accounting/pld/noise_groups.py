"""Groups of steps whose noise is nearly equal, for compositions of more different steps than can have their own grids.

A step with more noise shows no more: N(0, σ²) is N(0, s²) with further noise for every s ≤ σ, and Laplace noise
likewise, which is post-processing. So ε is at most that of the same steps at each group's least noise, and at least
that at its most.

What a rarely sampled step costs grows as √(e^(1/σ²) − 1), and as 1/σ where there is much noise: groups are WIDTH wide
in its logarithm. Where these are too many, they are joined where they cost least: widths w add ∫ρw to a cost of density
ρ, and there are ∫1/w of them, so that w ~ 1/√ρ is best.
"""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from dpviz._arrays import Array, Index
from dpviz.mechanisms import Mechanism

MOST_DISTINCT = 400  # steps up to which each has grids of its own
MOST_GROUPS = 64  # each takes up to a fourth of a second
WIDTH = 0.01
GROUPED = (
    f"Of more than {MOST_DISTINCT} different noise levels, those within about {100 * WIDTH:g} % are taken together: at "
    "no more noise than each has for the upper end, at no less for the lower end."
)

M = TypeVar("M", bound=Mechanism)


def grouped_noise(counts: Mapping[M, float]) -> dict[M, tuple[M, M]]:
    """For each mechanism one with no more noise and one with no less: the least of its group and the least of the next.

    Where the next group is further away it is the most of its own. It is itself for one that differs from all others in
    more than its noise, and for a plain Gaussian one, whose composition has a closed form.

    Args:
        counts: how often each was run, which decides where groups are wide.
    """
    kinds: dict[object, list[M]] = {}
    for mechanism in counts:
        kinds.setdefault(_all_but_noise(mechanism), []).append(mechanism)
    several = [sorted(kind, key=_noise) for kind in kinds.values() if len(kind) > 1]
    groups = {kind[0]: (kind[0], kind[0]) for kind in kinds.values() if len(kind) == 1}
    if not several:
        return groups
    every = [mechanism for kind in several for mechanism in kind]
    kind_of = np.repeat(np.arange(len(several)), [len(kind) for kind in several])
    log_cost = _log_step_cost(np.array([_noise(mechanism) for mechanism in every]))
    often = np.array([counts[m] * max(getattr(m, "sample_rate", 1.0), 1e-150) ** 2 for m in every])
    starts = np.flatnonzero(np.diff(_cells(kind_of, log_cost, often), prepend=-1))
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(every)], strict=True):
        least, most = every[start], every[stop - 1]
        if (
            stop < len(every)
            and kind_of[stop] == kind_of[start]
            and _noise(every[stop]) <= (1.0 + WIDTH) * _noise(most)
        ):
            most = every[stop]  # fewer grids
        groups |= dict.fromkeys(every[start:stop], (least, most))
    return groups


def _noise(mechanism: Mechanism) -> float:
    return float(getattr(mechanism, mechanism.noise))


def _all_but_noise(mechanism: Mechanism) -> object:
    """What mechanisms of one group have in common; the mechanism itself where it stays alone."""
    names = mechanism.parameters()
    if mechanism.noise not in names or mechanism.as_gaussian is not None:
        return mechanism
    return type(mechanism), *(getattr(mechanism, name) for name in names if name != mechanism.noise)


def _log_step_cost(noise: Array) -> Array:
    """½ ln(e^(1/σ²) − 1), without overflow."""
    exponent = np.maximum(noise, 1e-150) ** -2.0
    some, much = np.log(np.expm1(np.minimum(exponent, 1.0))), np.log1p(-np.exp(-np.maximum(exponent, 1.0)))
    return np.asarray(0.5 * np.where(exponent > 1.0, exponent + much, some))


def _cells(kind: Index, log_cost: Array, often: Array) -> Index:
    """The group of each step, rising; (n,) each, by kind and by rising noise."""

    def numbered(place: Array) -> Index:
        return np.cumsum((np.diff(kind, prepend=kind[:1]) != 0) | (np.diff(place, prepend=place[:1]) != 0))

    cell = numbered(np.floor(log_cost / WIDTH))
    if cell[-1] < MOST_GROUPS:
        return cell
    cost = np.sqrt(np.bincount(cell, often * np.exp(2.0 * (log_cost - log_cost.max()))))
    share = np.cumsum(cost) - 0.5 * cost
    return numbered(np.floor(MOST_GROUPS * share / cost.sum())[cell])
