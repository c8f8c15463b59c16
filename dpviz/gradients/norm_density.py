"""Density of a known law's norms along the logarithm of the norm, in units of the median: for a picture of the law.

On a logarithmic axis the area below this curve between two norms is the share of examples between them, however heavy
the tail is.
"""

from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.gradients.families import law

_LEAST, _MOST = 0.02, 0.9999  # shares of the examples between which norms are shown
_LOWEST = 0.1  # × the median: the axis begins there or below
_BEYOND = 10.0  # times the longest norm shown: room for noise that is louder than any norm
_PLACES = 64


@dataclass(frozen=True, eq=False, slots=True)
class NormDensity:
    """The density along ln(norm), its highest value 1.

    Attributes:
        norms: norm ÷ median, even on a logarithmic axis, shape (n,).
        density: at these, shape (n,).
        low, high: norm ÷ median where an axis of it begins and ends; they depend on the law alone.
    """

    norms: Array
    density: Array
    low: float
    high: float


@remembered
def norm_density(family: str, shape: float) -> NormDensity:
    """The density of a family's norms; arguments as for `draw_norms`.

    >>> weibull = norm_density("weibull", 0.5)
    >>> weibull.density.max(), weibull.low < 1.0 < weibull.high
    (np.float64(1.0), True)
    """
    distribution = law(family, shape, 1.0)
    median = float(distribution.median())
    first, last = (float(distribution.ppf(share)) / median for share in (_LEAST, _MOST))
    low = min(first, _LOWEST)
    norms = np.geomspace(low, last, _PLACES)
    density = norms * distribution.pdf(norms * median)
    return NormDensity(norms, density / density.max(), low, last * _BEYOND)
