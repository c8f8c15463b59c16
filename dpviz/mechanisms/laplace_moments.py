"""Rényi divergence of the sampled Laplace mechanism, one example added or removed, rounded up.

Q = Lap(0, b), P = (1 − q) Lap(0, b) + q Lap(1, b), X = P/Q = 1 + u with u = q·expm1(y), where y = (2z − 1)/b for
outputs z in [0, 1] and constant on either side of it: two atoms and a smooth piece, by Gauss–Legendre quadrature. Both
directions are computed, E_Q[X^α] and E_P[X^−α], and the larger counts. Unsampled it is Mironov 2017, Proposition 6.

Very high orders take more points than they are worth: there R(α) ≤ R(∞), the largest loss.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from dpviz._remember import remembered
from dpviz.mechanisms.excess import batches, log_excess, log_sums
from dpviz.mechanisms.sampled import log_mixture

Array = npt.NDArray[np.float64]

ROUNDING = 1e-10  # relative, of E[X^α] − 1: many times what the quadrature errs by
_POINTS = 16  # of a panel
_NATS = 8.0  # by which the integrand may grow within a panel
_MOST_PANELS = 1024


@remembered
def _rule() -> tuple[Array, Array]:
    """Nodes in (0, 1) and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    return 0.5 * (nodes + 1.0), 0.5 * weights


def laplace_divergence(scale: float, sample_rate: float, orders: npt.ArrayLike) -> Array:
    """R(α) of one step, in nats, for orders α > 1 of any shape: at most 1e-10 of it above the truth, or R(∞).

    Args:
        scale: b > 0, the noise's scale ÷ sensitivity.
        sample_rate: q in [0, 1].
        orders: α > 1.
    """
    return np.asarray(laplace_directions(scale, sample_rate, orders).max(axis=0))


def laplace_directions(scale: float, sample_rate: float, orders: npt.ArrayLike) -> Array:
    """The same of the removed and of the added example, ln E_Q[X^α]/(α − 1) and ln E_P[X^−α]/(α − 1): (2, …)."""
    alpha = np.asarray(orders, dtype=np.float64)
    if sample_rate == 0.0:
        return np.zeros((2, *alpha.shape))
    ends = np.array([-1.0, 1.0]) / scale
    largest = float(np.abs(log_mixture(sample_rate, ends)).max())
    found = _log_moments(scale, sample_rate, alpha.ravel()).reshape(2, *alpha.shape)
    return np.asarray(np.minimum(found / (alpha - 1.0), largest))


def _log_moments(scale: float, rate: float, alpha: Array) -> Array:
    """ln of both moments, (2, orders); inf where that takes too many points."""
    panels = np.ceil((2.0 * alpha / _NATS + 2.0) / scale + 1.0)
    found = np.full((2, *alpha.shape), math.inf)
    few = np.flatnonzero(panels <= _MOST_PANELS)
    for batch in batches(panels[few] * _POINTS):
        chosen = few[batch]
        found[:, chosen] = _integrals(int(panels[chosen].max()), scale, rate, alpha[chosen])
    return found


def _integrals(count: int, scale: float, rate: float, alpha: Array) -> Array:
    """The same for orders (n,) on one grid of `count` panels."""
    nodes, weights = _rule()
    z = ((np.arange(count)[:, None] + nodes) / count).ravel()
    weight = np.log(np.tile(weights, count) / (2.0 * scale * count)) - z / scale
    z = np.concatenate([[0.0, 1.0], z])
    log_q = np.concatenate([[-math.log(2.0), -math.log(2.0) - 1.0 / scale], weight])
    ratio = log_mixture(rate, (2.0 * z - 1.0) / scale)
    return np.stack([_log_powers(log_q, ratio, alpha), _log_powers(log_q + ratio, -ratio, alpha)])


def _log_powers(log_mass: Array, ratio: Array, alpha: Array) -> Array:
    """ln E[e^(α·ratio)] over masses whose E[e^ratio] is 1, for orders (n,)."""
    excess = log_excess(np.expm1(np.minimum(ratio, 30.0)), ratio, alpha[:, None])
    return np.logaddexp(0.0, log_sums(log_mass + excess) + math.log1p(ROUNDING))
