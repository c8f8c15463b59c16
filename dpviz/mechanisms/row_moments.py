"""Log moments of P = Σ w_j N(j, σ²), j whole and ≥ 0, against Q = N(0, σ²): of many σ and orders at once.

With x = z/σ and X = P/Q = 1 + u = Σ w_j e^(jx/σ − j²/(2σ²)), E_Q[X^α] − 1 is the integral over x of N(x; 0, 1) times
g = X^α − 1 − αu. E_P[X^−α] is no larger (docs/work/proofs.md, "Rows removed and added").

*Trapezoidal rule.* X is a polynomial in e^(x/σ). The zeros of those that sampling makes lie on the negative axis, where
the factors e^(−j²/(2σ²)) leave them (Laguerre; Pólya & Schur 1914), so that g is analytic for |Im x| < πσ. There
|X(x + it)| ≤ X(x): the error does not grow with α, and the spacing of `log_moments` keeps it below 1e-13.

*Where the integrand counts.* With w = u + 2 Pr[j ≥ 1] ≥ |u|, g ≤ max(α, 2)(α − 1)/2 w² max(1, X)^max(α − 2, 0); where
u > 0, g ≤ X^α too. The logarithms of both are convex in x. So with the Gaussian they lie, between two points s apart,
at most s²/8 above the higher one, and intervals where the smaller of both is negligible are left out.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import erf

from dpviz import _validate
from dpviz._arrays import Array, Index
from dpviz.mechanisms.divergences import ROUNDING
from dpviz.mechanisms.log_excess import log_excess, log_sums
from dpviz.mechanisms.log_moments import chunks, log_sum_segments
from dpviz.mechanisms.mixture_pair import Weights
from dpviz.mechanisms.pair import LEAST_SCALE, UNIT

_BEYOND = 12.0  # deviations beyond the last place where the integrand can have a peak
_NATS = 40.0  # by which what is left out is less than the whole
_LOOKS, _FINE = 24, 2.0  # points of one look; their distance from which on the integrand is summed
_MOST_NODES = 2**14  # of one integral
_MANY = 32  # terms of X from which on an output is worth a search
_TOGETHER = 2**17  # numbers in one temporary
_LARGEST = 650.0  # an exponent that leaves room in a double


class RowRatios:
    """X of one set of weights w_j, by rising j."""

    def __init__(self, weights: Weights) -> None:
        self.j, self.weight = np.array(weights).T
        self.log_weight, self.presence = np.log(self.weight), float(self.weight[self.j > 0.0].sum())

    def at(self, x: Array, sigma: Array) -> tuple[Array, Array]:
        """u and ln X at outputs x = z/σ, flat; σ of the same shape. Orders may share outputs."""
        pairs, where = sigma + 1j * x, np.arange(x.size)
        if self.j.size > _MANY:
            pairs, where = np.unique(pairs, return_inverse=True)
        u, log_ratio = np.empty((2, pairs.size))
        together = max(_TOGETHER // self.j.size, 1)
        for start in range(0, pairs.size, together):
            part = slice(start, start + together)
            y, h = pairs[part].imag / pairs[part].real, self.j / pairs[part].real[:, None]
            exponent = y[:, None] * self.j - 0.5 * h * h
            u[part] = np.expm1(np.minimum(exponent, _LARGEST)) @ self.weight
            far = np.flatnonzero(exponent.max(axis=1) > _LARGEST)
            with np.errstate(divide="ignore"):
                log_ratio[part] = np.log1p(np.maximum(u[part], -1.0))
            log_ratio[far + start] = log_sums(exponent[far] + self.log_weight)
            u[far + start] = np.expm1(np.minimum(log_ratio[far + start], _LARGEST))
        return u[where], log_ratio[where]


@dataclass(frozen=True, slots=True)
class RowsCurve:
    """R(α) of one step, the larger of both directions.

    Attributes:
        sigma: σ > 0, in the unit of j.
        weights: (j, w_j) by rising j.
    """

    sigma: float
    weights: Weights

    def __call__(self, orders: Array) -> Array:
        alpha = np.asarray(orders, dtype=np.float64)
        return divergences((self,), np.zeros(alpha.size, dtype=np.intp), alpha.ravel()).reshape(alpha.shape)


def divergences(curves: Sequence[Callable[[Array], Array]], which: Index, orders: Array) -> Array:
    """R(α) of curves[which] at orders, (n,): of equal weights together, whatever the noise."""
    rows = [curve for curve in curves if isinstance(curve, RowsCurve)]
    if len(rows) == len(curves) and all(one.weights == rows[0].weights for one in rows):
        return rows_divergence(rows[0].weights, np.array([one.sigma for one in rows])[which], orders)
    result = np.empty(which.size)
    for j in np.unique(which).tolist():
        result[which == j] = curves[j](orders[which == j])
    return result


def rows_divergence(weights: Weights, sigma: Array, alpha: Array) -> Array:
    """R(α) for σ and α of one shape (n,), rounded up; at most α j²/(2σ²) of the largest j (joint quasi-convexity).

    It is that where more points would be needed.
    """
    ratios, s = RowRatios(weights), np.maximum(sigma, LEAST_SCALE)
    if ratios.presence == 0.0:
        return np.zeros(alpha.shape)
    with np.errstate(over="ignore"):
        result = 0.5 * alpha * (ratios.j[-1] / sigma) ** 2
    low, high = _support(ratios, s, alpha)
    spacing = np.minimum(0.4, 0.55 * s)
    start = np.floor(low / spacing)
    nodes = (np.ceil(high / spacing) - start).astype(np.int64) + 1
    few = np.flatnonzero((nodes <= _MOST_NODES) & (sigma == s))
    for part in chunks(nodes[few]) if few.size else ():
        rows, count = few[part], nodes[few[part]]
        starts = np.cumsum(count) - count
        each = s[rows], alpha[rows], start[rows] - starts, spacing[rows]
        at, a, first, step = (np.repeat(values, count) for values in each)
        x = step * (first + np.arange(count.sum()))
        terms = log_excess(*ratios.at(x, at), a) - 0.5 * x * x
        # Exponents of up to x² are rounded.
        rounding = np.log1p(ROUNDING + 8.0 * UNIT * np.maximum(low[rows] ** 2, high[rows] ** 2))
        total = log_sum_segments(terms, starts, count) + np.log(spacing[rows] / math.sqrt(2.0 * math.pi)) + rounding
        result[rows] = np.minimum(result[rows], np.logaddexp(0.0, total) / (alpha[rows] - 1.0))
    return np.asarray(np.maximum(result, _validate.LEAST))


def _support(ratios: RowRatios, sigma: Array, alpha: Array) -> tuple[Array, Array]:
    """Between which x the integrand counts."""
    low, high = np.full(alpha.shape, -_BEYOND), alpha * ratios.j[-1] / sigma + _BEYOND
    # What the bounds may exceed the integrand by, at their peak.
    nats = _NATS + 2.0 * np.log(alpha * (1.0 + 2.0 * sigma)) + np.log1p(1.0 / (alpha - 1.0))
    curved = np.log(0.5 * np.maximum(alpha, 2.0) * (alpha - 1.0))[:, None]
    active, ends, every = np.arange(alpha.size), np.linspace(0.0, 1.0, _LOOKS), np.arange(alpha.size)
    while active.size:
        width = high[active] - low[active]
        x = low[active, None] + width[:, None] * ends
        a, step = alpha[active, None], width / (_LOOKS - 1)
        u, log_ratio = (each.reshape(x.shape) for each in ratios.at(x.ravel(), np.repeat(sigma[active], _LOOKS)))
        log_w = np.where(log_ratio > 30.0, log_ratio, np.log(np.minimum(u, 1e20) + 2.0 * ratios.presence))
        more = np.maximum(log_ratio, 0.0)
        first = curved[active] + 2.0 * log_w + np.maximum(a - 2.0, 0.0) * more - 0.5 * x * x
        second = np.where(u > 0.0, a * more - 0.5 * x * x, np.inf)
        between = np.minimum(*(np.maximum(each[:, :-1], each[:, 1:]) for each in (first, second)))
        least = (np.minimum(first, second).max(axis=1) - nats[active] - step**2 / 8.0)[:, None]
        kept, rows = between >= least, every[: active.size]
        low[active] = x[rows, kept.argmax(axis=1)]
        high[active] = x[rows, _LOOKS - 1 - kept[:, ::-1].argmax(axis=1)]
        active = active[(step > _FINE) & (high[active] - low[active] < 0.9 * width)]
    return low, high


def row_variation(weights: Weights, sigma: float) -> float:
    """The total variation distance of P and Q, rounded up: at z with X = 1, by Newton's method.

    At another z at most |X − 1| is lost, which is added. ln X is convex, and positive from half of the largest j on.
    """
    j, weight = np.array(weights).T
    if sigma < LEAST_SCALE or j[-1] == 0.0:
        return min(float(weight[j > 0.0].sum()), 1.0)
    z, log_weight = 0.5 * float(j[-1]), np.log(weight)
    for _ in range(64):
        exponent = (j * z - 0.5 * j * j) / sigma / sigma
        terms = exponent + log_weight
        log_ratio = total = float(log_sums(terms))
        if exponent.max() < _LARGEST:
            log_ratio = math.log1p(float(weight @ np.expm1(exponent)))
        step = log_ratio * sigma * sigma / float(np.exp(terms - total) @ j)
        if not step > 1e-14 * z:
            break
        z -= step
    apart = 0.5 * (erf(z / sigma * math.sqrt(0.5)) - erf((z - j) / sigma * math.sqrt(0.5)))
    return min(float(weight @ apart) * (1.0 + 1e-12) + abs(math.expm1(min(log_ratio, 1.0))), 1.0)
