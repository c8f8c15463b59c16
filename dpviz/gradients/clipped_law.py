"""A known law of clipped norms as two discrete ones: what increases and is convex in d² has its mean between theirs.

A norm of the family is clipped at C, the law's quantile p: an atom of 1 − p at C, and below it cells whose mass and
mean of r = (d/C)² are known exactly. In a cell Jensen's inequality puts all mass at the mean, from below; the chord
between the cell's ends (Edmundson–Madansky) parts it between them with the mean kept, from above.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import gamma, gammainc, log_ndtr

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.gradients.families import law

# Ends of the cells as parts of C²: narrower towards 1, where exp(Tψ) piles up, and in ratio where it is nearly 1.
_FALL = np.expm1(1.5 * np.linspace(1.0, 0.0, 72)) / np.expm1(1.5)  # 1 − r, from 1 to 0
_EDGES = np.concatenate([[1e-30], np.geomspace(1e-3, 0.02, 6), 1.0 - _FALL[1:-1], 1.0 - _FALL[-2] / [4.0, 16.0], [1.0]])
_EDGES.setflags(write=False)
_ROUNDING = 1e-13  # of the part of E d² below a cell's upper end


@dataclass(frozen=True, slots=True)
class ClippedLaw:
    """A law of scale 1, clipped.

    Attributes:
        family, shape: as for `draw_norms`.
        threshold: C.
        beyond: P(d > C), the atom's mass.
    """

    family: str
    shape: float
    threshold: float
    beyond: float


@dataclass(frozen=True, eq=False, slots=True)
class LawCells:
    """Values of r = (d/C)², ascending to 1, and their masses, from below and from above; shape (values,) each."""

    lower: Array
    lower_mass: Array
    upper: Array
    upper_mass: Array


def quantile_of(value: object) -> float:
    """Checks the clipping quantile."""
    share = _validate.number(quantile=value)
    if share == 1.0:
        raise ValueError(
            "Expected quantile=1 in (0, 1): the law's norms have no upper end, so their quantile 1 would clip nothing "
            "and no noise would do. Take one below 1, such as 0.9999."
        )
    return _validate.scalar("quantile", _validate.open_probability("quantile", share))


@remembered
def threshold_over_median(family: str, shape: float, quantile: float) -> float:
    """C ÷ the median norm: how much louder the noise is than where one clips at the median.

    >>> round(threshold_over_median("weibull", 0.5, 0.95), 1)
    18.7
    """
    known = law(family, shape, 1.0)
    return float(known.ppf(quantile_of(quantile)) / known.median())


@remembered
def clipped_law(family: str, shape: float, quantile: float) -> ClippedLaw:
    """The law clipped at its quantile, checked."""
    beyond = 1.0 - quantile_of(quantile)
    return ClippedLaw(family, float(shape), float(law(family, shape, 1.0).isf(beyond)), beyond)


@remembered
def law_cells(clipped: ClippedLaw) -> LawCells:
    """The two discrete laws of a clipped one."""
    ends = clipped.threshold * np.sqrt(_EDGES)
    known = law(clipped.family, clipped.shape, 1.0)
    tail = np.concatenate([[1.0], np.maximum(known.sf(ends[1:-1]), clipped.beyond), [clipped.beyond]])
    share = np.maximum(-np.diff(tail), 0.0)
    squares = _squares_below(clipped.family, clipped.shape, ends) / clipped.threshold / clipped.threshold
    squares[0] = 0.0
    low, high = _EDGES[:-1], _EDGES[1:]
    means = [
        np.clip(np.divide(np.diff(squares) + lean * squares[1:], share, out=high.copy(), where=share > 0.0), low, high)
        for lean in (-_ROUNDING, _ROUNDING)
    ]
    raised = share * (means[1] - low) / (high - low)
    upper_mass = np.append(share - raised, clipped.beyond)
    upper_mass[1:] += raised
    # Below the first end there is mass, too: from below it counts as nothing.
    lower = np.append(means[0], 1.0)
    lower[0] = min(float(squares[1] * (1.0 - _ROUNDING) / share[0]), high[0]) if share[0] > 0.0 else 0.0
    return LawCells(lower, np.append(share, clipped.beyond), _EDGES, upper_mass)


def _squares_below(family: str, shape: float, ends: Array) -> Array:
    """E[d²; d ≤ end] of the law of scale 1."""
    with np.errstate(over="ignore"):
        squared, power = ends**2, ends**shape
    if family == "lognormal":
        return np.asarray(np.exp(2.0 * shape**2 + log_ndtr(np.log(ends) / shape - 2.0 * shape)))
    if family == "weibull":
        return np.asarray(gamma(1.0 + 2.0 / shape) * gammainc(1.0 + 2.0 / shape, power))
    return np.asarray(gammainc(1.5, squared / 2.0))
