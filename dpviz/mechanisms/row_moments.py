"""Log moments of P = Σ w_j N(j, σ²), j whole and ≥ 0, against Q = N(0, σ²): of many σ and orders at once.

With x = z/σ and X = P/Q = 1 + u = Σ w_j e^(jx/σ − j²/(2σ²)), E_Q[X^α] − 1 is the integral over x of N(x; 0, 1) times
g = X^α − 1 − αu. E_P[X^−α] is no larger (docs/proofs.md, "Rows removed and added").

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
from dpviz.mechanisms.log_moments import chunks, log_excess, log_sum_segments, log_sums
from dpviz.mechanisms.pair import LEAST_SCALE, UNIT

Weights = tuple[tuple[float, float], ...]
ROUNDING = 1e-10  # relative, of E[X^α] − 1

_BEYOND = 12.0  # deviations beyond the last place where the integrand can have a peak
_NATS = 40.0  # by which what is left out is less than the whole
_APART = 60.0  # likewise a term of X
_LOOKS, _FINE = 24, 2.0  # points of one look; their distance from which on the integrand is summed
_MOST_NODES = 2**14  # of one integral
_MANY = 32  # terms of X
_TOGETHER = 2**17  # numbers in one temporary
_LARGEST = 650.0  # an exponent that leaves room in a double


class RowRatios:
    """X of one set of weights w_j, by j = 0, 1, … without gaps."""

    def __init__(self, weights: Weights) -> None:
        self.j, self.weight = np.array(weights).T
        self.log_weight = np.log(self.weight)
        self.presence = float(self.weight[self.j > 0.0].sum())
        bend = np.diff(self.log_weight, 2)
        self._bend = max(-float(bend.max()), 0.0) if bend.size else math.inf  # of ln w_j, for these are log-concave
        self._before = np.append(0.0, np.cumsum(self.weight))
        self._after = np.append(np.cumsum(self.weight[::-1])[::-1], 0.0)

    def width(self, sigma: float) -> int:
        """How many terms count at one output: those of the largest one's neighbours that are not e^−60 of it."""
        return min(len(self.j), 3 + 2 * math.ceil(math.sqrt(2.0 * _APART / (self._bend + sigma**-2))))

    def at(self, x: Array, sigma: Array) -> tuple[Array, Array]:
        """u and ln X at outputs x = z/σ, flat; σ of the same shape."""
        width = self.width(float(sigma.max()))
        if width > _MANY:  # orders share outputs
            each, where = np.unique(sigma + 1j * x, return_inverse=True)
            sigma, x = each.real, each.imag
        u, log_ratio = np.empty((2, x.size))
        together = max(_TOGETHER // width, 1)
        for start in range(0, x.size, together):
            part = slice(start, start + together)
            u[part], log_ratio[part] = self._at(x[part], sigma[part])
        return (u[where], log_ratio[where]) if width > _MANY else (u, log_ratio)

    def _at(self, x: Array, sigma: Array) -> tuple[Array, Array]:
        width, others = self.width(float(sigma.max())), np.zeros(1)
        first = np.zeros(1, dtype=np.intp)
        if width < self.j.size:
            first = np.clip(self._largest(x, sigma) - width // 2, 0, self.j.size - width)
            others = self._before[first] + self._after[first + width]
        near = first[:, None] + np.arange(width)
        exponent = (x / sigma)[:, None] * self.j[near] - 0.5 * (self.j[near] / sigma[:, None]) ** 2
        u = (self.weight[near] * np.expm1(np.minimum(exponent, _LARGEST))).sum(axis=1) - others
        with np.errstate(divide="ignore"):
            log_ratio = np.log1p(np.maximum(u, -1.0))
        far = np.flatnonzero(exponent.max(axis=1) > _LARGEST)
        log_ratio[far] = log_sums((exponent + self.log_weight[near])[far])
        u[far] = np.expm1(np.minimum(log_ratio[far], _LARGEST))
        return u, log_ratio

    def _largest(self, x: Array, sigma: Array) -> Index:
        """The place of the largest term: the next one is larger from an output on that rises with j."""
        place = np.empty(x.size, dtype=np.intp)
        for one in np.unique(sigma).tolist():
            here = sigma == one
            place[here] = np.searchsorted(one * -np.diff(self.log_weight) + (self.j[1:] - 0.5) / one, x[here])
        return place


@dataclass(frozen=True, slots=True)
class RowsCurve:
    """R(α) of one step, the larger of both directions: at most α j²/(2σ²) of the largest j.

    Attributes:
        sigma: σ > 0, in the unit of j.
        weights: (j, w_j) by rising j, without gaps.
    """

    sigma: float
    weights: Weights

    def __call__(self, orders: Array) -> Array:
        alpha = np.asarray(orders, dtype=np.float64)
        flat = alpha.ravel()
        return rows_divergence(self.weights, np.full(flat.shape, self.sigma), flat).reshape(alpha.shape)


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
    """R(α) for σ and α of one shape (n,)."""
    most = weights[-1][0]
    if most == 0.0:
        return np.zeros(alpha.shape)
    with np.errstate(over="ignore"):
        unsampled = 0.5 * alpha * (most / sigma) ** 2  # joint quasi-convexity: of single centres
    few = np.flatnonzero(sigma >= LEAST_SCALE)
    result = unsampled.copy()
    if few.size:
        result[few] = np.minimum(unsampled[few], log_row_moments(weights, sigma[few], alpha[few]) / (alpha[few] - 1.0))
    return np.maximum(result, _validate.LEAST)


def log_row_moments(weights: Weights, sigma: Array, alpha: Array) -> Array:
    """ln E_Q[X^α] for σ > 0 and α > 1 of one shape (n,), rounded up; inf where that would take too many points."""
    result, ratios = np.full(alpha.shape, math.inf), RowRatios(weights)
    low, high = _support(ratios, sigma, alpha)
    spacing = np.minimum(0.4, 0.55 * sigma)
    start = np.floor(low / spacing)
    nodes = (np.ceil(high / spacing) - start).astype(np.int64) + 1
    few = np.flatnonzero(nodes <= _MOST_NODES)
    for part in chunks(nodes[few]) if few.size else ():
        rows = few[part]
        count = nodes[rows]
        starts = np.cumsum(count) - count
        first = start[rows] - starts
        s, a, first, step = (np.repeat(each, count) for each in (sigma[rows], alpha[rows], first, spacing[rows]))
        x = step * (first + np.arange(count.sum()))
        terms = log_excess(*ratios.at(x, s), a) - 0.5 * x * x
        total = log_sum_segments(terms, starts, count) + np.log(spacing[rows] / math.sqrt(2.0 * math.pi))
        # Exponents of up to x² are rounded.
        rounding = ROUNDING + 8.0 * UNIT * np.maximum(low[rows] ** 2, high[rows] ** 2)
        result[rows] = np.logaddexp(0.0, total + np.log1p(rounding))
    return result


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
