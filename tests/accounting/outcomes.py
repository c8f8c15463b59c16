"""Exactly: how often each class comes out of a noisy maximum, by quadrature, and how far two such lists are apart."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr, logsumexp

Array = npt.NDArray[np.float64]


def gaussian(votes: Array, std: float) -> Array:
    """ln of each class's probability under N(0, σ²) on every count.

    The trapezoid rule on a smooth integrand that falls off at both ends is exact to the last digits.
    """
    z = np.linspace(-12.0, 108.0, 1201)
    density = -0.5 * z**2 - 0.5 * np.log(2.0 * np.pi) + np.log(z[1] - z[0])
    counts, of, times = np.unique(votes, return_inverse=True, return_counts=True)
    found = []
    for one, count in enumerate(counts):
        others = times - (np.arange(counts.size) == one)
        found.append(logsumexp(density + log_ndtr(z[:, None] + (count - counts) / std) @ others))
    return np.array(found)[of]


def laplace(votes: Array, scale: float) -> Array:
    """The same under Lap(b): Gauss–Legendre between the kinks, which lie where another count does."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    counts, of, times = np.unique(votes, return_inverse=True, return_counts=True)
    found = []
    for one, count in enumerate(counts):
        behind, others = (counts - count) / scale, times - (np.arange(counts.size) == one)
        kinks = np.unique(np.concatenate([[0.0], behind, np.arange(-39.5, 40.0, 2.0)]))
        middle, half = (kinks[1:] + kinks[:-1]) / 2.0, np.diff(kinks) / 2.0
        z = (middle[:, None] + half[:, None] * nodes).ravel()
        apart = z[:, None] - behind
        below = np.where(apart < 0.0, np.minimum(apart, 0.0) - np.log(2.0), np.log1p(-np.exp(-np.abs(apart)) / 2.0))
        log_weights = np.log((half[:, None] * weights).ravel()) - np.abs(z) - np.log(2.0)
        found.append(logsumexp(log_weights + below @ others))
    return np.array(found)[of]


def divergence(p: Array, q: Array, orders: Array) -> Array:
    """D_α(P‖Q) of two lists of ln probabilities: (orders,)."""
    each = orders[:, None] * p + (1.0 - orders[:, None]) * q
    return np.asarray(logsumexp(each, axis=1) / (orders - 1.0))


def neighbours(votes: Array) -> Iterator[Array]:
    """The same votes with one of them moved to another class."""
    for given in np.flatnonzero(votes):
        for taken in range(votes.size):
            if taken != given:
                moved = votes.copy()
                moved[given] -= 1.0
                moved[taken] += 1.0
                yield moved
