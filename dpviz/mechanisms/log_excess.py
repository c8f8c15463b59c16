"""The excess of a power of a likelihood ratio over its tangent: the positive terms that Rényi divergences are sums of.

With a ratio X = 1 + u of mean 1, E[X^α] − 1 = E[(1 + u)^α − 1 − αu]: every term is ≥ 0, so nothing cancels, even where
the sum is 1e-12.
"""

from collections.abc import Iterator

import numpy as np

from dpviz._arrays import Array, Index

_TOGETHER = 2**17  # numbers


def batches(points: Array) -> Iterator[Index]:
    """Orders that are computed together, by their places: those that need about as many points (all finite)."""
    rising = np.argsort(points, kind="stable")
    start = 0
    while start < rising.size:
        most = 2.0 * points[rising[start]]
        same_size = int(np.searchsorted(points[rising], most, side="right"))
        stop = min(same_size, start + max(1, int(_TOGETHER / most)))
        yield rising[start:stop]
        start = stop


def log_sums(terms: Array) -> Array:
    """ln of the sums of e^terms along the last axis; some term is finite."""
    top = terms.max(axis=-1)
    return np.asarray(top + np.log(np.exp(terms - top[..., None]).sum(axis=-1)))


def log_mixture(rate: float, ratio: Array) -> Array:
    """ln(1 − q + q·e^ratio) without overflow, and with all digits near 0."""
    if rate == 1.0:
        return ratio
    grows = np.log(rate) + ratio + np.log1p((1.0 - rate) / rate * np.exp(-np.maximum(ratio, 30.0)))
    return np.where(ratio > 30.0, grows, np.log1p(rate * np.expm1(np.minimum(ratio, 30.0))))


def log_excess(u: Array, log_ratio: Array, alpha: Array) -> Array:
    """ln[(1+u)^α − 1 − αu] without cancellation, given u and ln(1+u) (exact also where u saturates); they broadcast."""
    u, log_ratio, alpha = np.broadcast_arrays(u, log_ratio, alpha)
    result = np.empty_like(u)
    product = alpha * u
    branches = (
        (np.abs(product) < 0.1, _log_excess_small),
        (product >= 0.1, _log_excess_above),
        (product <= -0.1, _log_excess_below),
    )
    for at, branch in branches:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            result[at] = branch(u[at], log_ratio[at], alpha[at])
    return result


def _log_excess_above(u: Array, log_ratio: Array, alpha: Array) -> Array:
    """u > 0: (1+u)^α (1 − e^t) with e^t = (1 + αu)/(1+u)^α."""
    s = alpha - 1.0
    t = np.log1p(s * -np.expm1(-log_ratio)) - s * log_ratio
    return np.asarray(alpha * log_ratio + np.log(-np.expm1(t)))


def _log_excess_below(u: Array, log_ratio: Array, alpha: Array) -> Array:
    """u < 0: the terms cancel at most twentyfold, as |αu| ≥ 0.1."""
    s = alpha - 1.0
    return np.log((1.0 + u) * np.expm1(s * log_ratio) - s * u)


def _log_excess_small(u: Array, log_ratio: Array, alpha: Array) -> Array:
    """|αu| < 0.1: C(α,2)u² [1 + (α−2)u/3 [1 + (α−3)u/4 [1 + …]]]."""
    nested = np.zeros_like(u)
    for n in range(11, 2, -1):
        nested = (alpha - (n - 1.0)) * u / n * (1.0 + nested)
    return np.log(0.5 * alpha * (alpha - 1.0)) + 2.0 * np.log(np.abs(u)) + np.log1p(nested)
