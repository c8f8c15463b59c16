"""What the scale of noise alone reveals: N(0, I) against N(0, r² I) in n dimensions.

Where a noisy sum is divided by a number that follows the size N of the data, one person more or less changes the scale
of the noise by a ratio r, in each of n = dT coordinates (d parameters, T steps), whatever σ and C are. The likelihood
ratio depends on |y|² alone, so δ(ε) is an integral over a χ² law with n degrees of freedom, on each side of the
threshold where that ratio is e^ε. For large n it is that of Gaussian DP with μ = √(2n) |ln r|.
"""

from typing import Any

import numpy as np
from scipy.special import gammaln

from dpviz import _validate
from dpviz._arrays import Array

NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
# Ends of the panels of a quadrature, in deviations of the law from a threshold outwards: behind a threshold the loss
# turns within 1/μ of a deviation, and with few dimensions the law falls off slowly.
ENDS = np.concatenate(
    [[0.0], 0.5 ** np.arange(14.0, 0.0, -1.0), np.arange(1.0, 17.0), 16.0 + 2.0 ** np.arange(1.0, 7.0)]
)
SPAN = 40.0  # deviations from the mode beyond which the law has less than any δ
DOUBT, ROUNDING = 1e-9, 4e-15  # relative, of an integral: of the quadrature, and of ln(|y|²/n) in floating point ÷ √n
NEWTON = 12  # iterations
NUDGE = 1e-13  # by which ε grows, relative, and by four times as much each time, until its δ is small enough


def noise_scale_delta(epsilon: Any, *, dimension: Any, ratio: Any) -> Array:
    """δ(ε) of the scale alone, in both directions, rounded up.

    Args:
        epsilon: ≥ 0.
        dimension: n, coordinates that are released in all: parameters × steps, ≥ 1.
        ratio: r of the two scales, > 0; r and 1/r are alike.

    Returns:
        δ, of the shape of all three together.

    Raises:
        ValueError: a value is out of range.
    """
    epsilon = _validate.epsilon(epsilon)
    dimension, slope = _checked(dimension, ratio)
    delta, _ = _delta(*np.broadcast_arrays(epsilon, dimension, slope))
    return delta


def noise_scale_epsilon(*, dimension: Any, ratio: Any, delta: Any) -> Array:
    """ε of the scale alone at this δ, in both directions, rounded up: the upper end of a bisection.

    Args:
        dimension: n, coordinates that are released in all: parameters × steps, ≥ 1.
        ratio: r of the two scales, > 0; r and 1/r are alike; at 1 nothing is revealed.
        delta: in (0, 1).

    Returns:
        ε, of the shape of all three together.

    Raises:
        ValueError: a value is out of range.

    >>> round(float(noise_scale_epsilon(dimension=26_010 * 150, ratio=10_000 / 9_999, delta=1e-5)), 3)
    1.047
    """
    delta = _validate.delta(delta)
    dimension, slope = _checked(dimension, ratio)
    dimension, slope, delta = np.broadcast_arrays(dimension, slope, delta)
    mu = np.sqrt(2.0 * dimension) * slope
    epsilon, nudge = 0.5 * mu**2 + mu * np.sqrt(-2.0 * np.log(delta)), NUDGE
    for _ in range(NEWTON):  # ln δ(ε) is concave but for rounding: from above, each iterate lies above the solution
        now, change = _delta(epsilon, dimension, slope)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = now * np.log(now / delta) / change
        epsilon = np.maximum(epsilon + np.where(np.isfinite(step), step, 0.0), 0.0)
    while (over := _delta(epsilon, dimension, slope)[0] > delta).any():
        epsilon, nudge = np.where(over, epsilon * (1.0 + nudge) + nudge, epsilon), 4.0 * nudge
    return np.asarray(epsilon)


def _checked(dimension: Any, ratio: Any) -> tuple[Array, Array]:
    """n and |ln r|."""
    dimension = _validate.dimension(dimension)
    return dimension, np.abs(np.log(_validate.positive("ratio", ratio)))


def _delta(epsilon: Array, dimension: Array, slope: Array) -> tuple[Array, Array]:
    """δ(ε) of the direction that has more, and −dδ/dε.

    With v = ln(|y|²/n) of the narrow law, the loss of the narrow law against the wide one is n(ln r − a e^v), where
    a = (1 − r⁻²)/2: it is above ε left of a threshold. Of the wide law, in its own v, the loss is n(b e^v − ln r),
    where b = (r² − 1)/2: above ε right of a threshold.
    """
    narrow, wide = -0.5 * np.expm1(-2.0 * slope), 0.5 * np.expm1(2.0 * slope)
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.log((slope - epsilon / dimension) / narrow)
        right = np.log((slope + epsilon / dimension) / wide)
    below = _tail(left, dimension, epsilon, -narrow, slope, -1.0)
    delta, change = np.maximum(below, _tail(right, dimension, epsilon, wide, -slope, 1.0))
    above = delta * (1.0 + DOUBT + ROUNDING * np.sqrt(dimension))
    return np.asarray(np.minimum(np.where(slope > 0.0, above, 0.0), 1.0)), np.asarray(change)


def _tail(threshold: Array, dimension: Array, epsilon: Array, rate: Array, offset: Array, side: float) -> Array:
    """∫ (1 − e^{ε − loss}) and ∫ e^{ε − loss} over v beyond a threshold, shape (2, …): right (+1) or left (−1) of it;
    loss = n(offset + rate e^v).
    """
    deviation = np.sqrt(2.0 / dimension)
    near = np.where(np.isfinite(threshold), side * threshold, np.inf)  # no threshold: the loss is below ε everywhere
    start = np.clip(near, -SPAN * deviation, SPAN * deviation)
    widths = 0.5 * np.diff(ENDS)[:, None]
    at, weight = (ENDS[:-1, None] + widths * (1.0 + NODES)).ravel(), (widths * WEIGHTS).ravel()
    v = side * (start[..., None] + deviation[..., None] * at)
    n = dimension[..., None]
    with np.errstate(over="ignore", under="ignore"):
        excess = np.maximum(n * (offset[..., None] + rate[..., None] * np.exp(v)) - epsilon[..., None], 0.0)
        law, lost = np.exp(_log_density(v, n)), np.exp(-excess)
    sums = np.stack([-(law * np.expm1(-excess)) @ weight, (law * lost) @ weight])
    return np.asarray(np.where(np.isfinite(near), sums * deviation, 0.0))


def _log_density(v: Array, dimension: Array) -> Array:
    """Of v = ln(χ²_n/n)."""
    half = 0.5 * dimension
    with np.errstate(over="ignore"):
        return 0.5 * np.log(half / (2.0 * np.pi)) - half * _above_line(v) - _stirling(half)


def _above_line(v: Array) -> Array:
    """e^v − 1 − v without cancellation."""
    small = np.abs(v) < 0.01
    series = 0.5 * v * v * (1.0 + v / 3.0 * (1.0 + v / 4.0 * (1.0 + v / 5.0 * (1.0 + v / 6.0 * (1.0 + v / 7.0)))))
    return np.where(small, series, np.expm1(v) - v)


def _stirling(x: Array) -> Array:
    """ln Γ(x) beyond Stirling's formula."""
    large = np.maximum(x, 20.0)
    series = 1.0 / (12.0 * large) - 1.0 / (360.0 * large**3) + 1.0 / (1260.0 * large**5)
    exact = gammaln(x) - ((x - 0.5) * np.log(x) - x + 0.5 * np.log(2.0 * np.pi))
    return np.where(x > 20.0, series, exact)
