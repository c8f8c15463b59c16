"""Rényi divergences by quadrature, rounded up: of sampled Gaussian mixtures, and of sampled Laplace noise.

With X = P/Q = 1 + u they are sums of positive terms (`excess`), E_Q[X^α] − 1 = E_Q[X^α − 1 − α(X − 1)], and `ROUNDING`
covers many times what the quadratures err by. Orders that would need very many points have closed upper bounds.
"""

import math
from collections.abc import Callable

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz._remember import Memory, remembered
from dpviz.mechanisms.log_excess import batches, log_excess, log_mixture, log_sums
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.mechanisms.mixture_pair import MixturePair, Weights, counting

ROUNDING = 1e-10  # relative, of E[X^α] − 1
_STANDS_STILL = 1e-11
_MOST_NODES = 2**15
_PANEL_NODES = 16
_TOGETHER = 768  # outputs looked at together
_NATS = 8.0  # by which the integrand may grow within a panel


def _log_moments(points: Array, most: float, integrals: Callable[[int, Array], Array], alpha: Array) -> Array:
    """ln E_Q[X^α], (orders,), by `integrals` of so many points together; inf where that takes too many points."""
    result = np.full(alpha.shape, math.inf)
    few = np.flatnonzero(points <= most)
    for batch in batches(points[few]):
        chosen = few[batch]
        result[chosen] = np.logaddexp(0.0, integrals(int(points[chosen].max()), alpha[chosen]) + math.log1p(ROUNDING))
    return result


def mixture_divergence(pair: MixturePair, orders: ArrayLike) -> Array:
    """R(α) of one step, the larger of both directions: at most 1e-10 of it above the truth, or α·span²/(2σ²).

    The weights are such as sampling makes: ratios whose zeros in e^(z/σ²) lie on the negative axis, as the binomial's
    do, which Gaussian factors leave there (Laguerre; Pólya & Schur 1914).

    Args:
        pair: P and Q; nothing is released where they are equal.
        orders: α > 1, any shape.
    """
    alpha = np.asarray(orders, dtype=np.float64)
    if pair.p == pair.q:
        return np.zeros(alpha.shape)
    most = max(pair.p[-1][0] - pair.q[0][0], pair.q[-1][0] - pair.p[0][0])
    with np.errstate(over="ignore"):
        unsampled = 0.5 * alpha * (most / pair.sigma) ** 2  # joint quasi-convexity: of single centres
    ways = (pair,) if pair.symmetric else (pair, pair.mirrored)
    logs = np.max([_log_mixture_moments(each, alpha.ravel()) for each in ways], axis=0).reshape(alpha.shape)
    return np.asarray(np.maximum(np.minimum(unsampled, logs / (alpha - 1.0)), _validate.LEAST))


def replaced_divergence(noise_multiplier: float, sample_rate: float, orders: ArrayLike) -> Array:
    """The same where one example is replaced (`sampled.ReplacedPair`).

    There R(α) ≤ R⁺(α) + ln(1/(1 − q)) too, R⁺ being that of adding or removing, for Q ≥ (1 − q) N(0, σ²).

    Args:
        noise_multiplier: σ > 0, noise standard deviation ÷ clipping norm.
        sample_rate: q in [0, 1].
        orders: α > 1, any shape.
    """
    alpha, q = np.asarray(orders, dtype=np.float64), sample_rate
    if q == 0.0:
        return np.zeros(alpha.shape)
    if q == 1.0:
        with np.errstate(over="ignore"):
            return np.asarray(np.maximum(2.0 * alpha / noise_multiplier / noise_multiplier, _validate.LEAST))
    pair = MixturePair(noise_multiplier, ((0.0, 1.0 - q), (1.0, q)), ((-1.0, q), (0.0, 1.0 - q)))
    cap = renyi_divergence(noise_multiplier, q, alpha) - math.log1p(-q)
    return np.asarray(np.minimum(cap, mixture_divergence(pair, alpha)))


class _Grid:
    """ln of P's and Q's densities over N(0, σ²)'s at the points x = z/σ of a trapezoidal rule and at those halfway
    between, again and again: each computed once, in blocks, for all orders that ask. `nbytes`: bytes so far.
    """

    def __init__(self, pair: MixturePair) -> None:
        self.pair, self.spacing = pair, min(0.4, 0.55 * pair.sigma)
        # Beyond, there are Gaussian tails of 10 deviations and more.
        self.low = min(pair.p[0][0], pair.q[0][0]) / pair.sigma - 10.0
        self._blocks: dict[tuple[int, int], Array] = {}
        self.nbytes = 0

    def at(self, halving: int, count: int) -> Array:
        """x and ln of both densities at the first points, (3, count): of the rule, or new by a halving."""
        blocks = range(-(-count // _TOGETHER))
        return np.concatenate([self._block(halving, k) for k in blocks], axis=1)[:, :count]

    def _block(self, halving: int, k: int) -> Array:
        if (halving, k) not in self._blocks:
            step = self.spacing * 0.5 ** max(halving - 1, 0)
            x = self.low + step * np.arange(k * _TOGETHER, (k + 1) * _TOGETHER, dtype=np.float64)
            x += 0.5 * step * (halving > 0)
            rows = [x, *(_log_weighted(side, x, self.pair.sigma) for side in (self.pair.p, self.pair.q))]
            self._blocks[halving, k] = np.array(rows)
            self.nbytes += self._blocks[halving, k].nbytes
        return self._blocks[halving, k]


_GRIDS = Memory(8 * 2**20)  # bytes; of their own, for they would crowd out answers


def _log_mixture_moments(pair: MixturePair, alpha: Array) -> Array:
    """ln E_Q[X^α], by the trapezoidal rule over x = z/σ, halved until it stands still.

    For an integrand that is analytic around the real line (here in a strip of half-width πσ) its error falls
    geometrically, so that the last halving is off by far less than it moved.
    """
    grid, sigma, span = _GRIDS.recall(pair, lambda: _Grid(pair)), pair.sigma, pair.p[-1][0] - pair.q[0][0]
    high = (pair.q[-1][0] + alpha * span) / sigma + 10.0

    def log_totals(halving: int, count: int, some: Array) -> Array:
        x, ups, downs = grid.at(halving, count)
        ratio = ups - downs
        excess = log_excess(np.expm1(np.minimum(ratio, 30.0)), ratio, some[:, None])
        return log_sums(excess + downs - 0.5 * x * x - 0.5 * math.log(2.0 * math.pi))

    def integrals(nodes: int, some: Array) -> Array:
        halving, log_sum = 0, log_totals(0, nodes + 1, some)
        while 2 * nodes <= _MOST_NODES:
            halving += 1
            both = np.logaddexp(log_sum, log_totals(halving, nodes, some))
            moved = np.abs(np.expm1(both - math.log(2.0) - log_sum))
            nodes, log_sum = 2 * nodes, both
            if (moved <= _STANDS_STILL).all():
                return log_sum + math.log(grid.spacing * 0.5**halving)
        return np.full(some.shape, math.inf)

    return _log_moments(np.ceil((high - grid.low) / grid.spacing), _MOST_NODES, integrals, alpha)


def _log_weighted(side: Weights, x: Array, sigma: float) -> Array:
    """ln of a mixture's density over N(0, σ²)'s, at z = σx, rising: with all digits near 0, and without overflow."""
    centre, weight = np.array(side).T
    logs, far = np.log(weight), centre / sigma
    near = counting(np.multiply.outer(x[[0, -1]], far) - 0.5 * far**2 + logs)
    ratio = np.multiply.outer(x, far[near]) - 0.5 * far[near] ** 2
    small = np.expm1(np.minimum(ratio, 30.0)) @ weight[near] - weight[~near].sum()
    with np.errstate(divide="ignore", invalid="ignore"):  # beside what is taken of `ratio`
        away = (ratio.max(axis=1) > 30.0) | (small < -0.5)  # near −1, the sum itself has the digits
        return np.where(away, log_sums(ratio + logs[near]), np.log1p(small))


def laplace_divergence(scale: float, sample_rate: float, orders: ArrayLike) -> Array:
    """R(α) of one sampled Laplace step, an example added or removed: at most 1e-10 of it above the truth, or R(∞).

    Args:
        scale: b > 0, the noise's scale ÷ sensitivity.
        sample_rate: q in [0, 1].
        orders: α > 1, any shape.
    """
    return np.asarray(laplace_directions(scale, sample_rate, orders).max(axis=0))


def laplace_directions(scale: float, sample_rate: float, orders: ArrayLike) -> Array:
    """The same of the removed and of the added example, ln E_Q[X^α]/(α − 1) and ln E_P[X^−α]/(α − 1): (2, …).

    Q = Lap(0, b), P = (1 − q) Lap(0, b) + q Lap(1, b), and u = q·expm1(y), where y = (2z − 1)/b for outputs z in [0, 1]
    and constant on either side of it: two atoms and a smooth piece, by Gauss–Legendre quadrature. Unsampled it is
    Mironov 2017, Proposition 6.
    """
    alpha = np.asarray(orders, dtype=np.float64)
    if sample_rate == 0.0:
        return np.zeros((2, *alpha.shape))
    largest = float(np.abs(log_mixture(sample_rate, np.array([-1.0, 1.0]) / scale)).max())
    points = np.ceil((2.0 * alpha.ravel() / _NATS + 2.0) / scale + 1.0) * _PANEL_NODES
    logs = []
    for sign in (1.0, -1.0):

        def integrals(count: int, some: Array, sign: float = sign) -> Array:
            log_q, ratio = _panels(count // _PANEL_NODES, scale, sample_rate)
            log_mass, ratio = log_q if sign > 0.0 else log_q + ratio, sign * ratio
            excess = log_excess(np.expm1(np.minimum(ratio, 30.0)), ratio, some[:, None])
            return log_sums(log_mass + excess)

        logs.append(_log_moments(points, 1024 * _PANEL_NODES, integrals, alpha.ravel()).reshape(alpha.shape))
    return np.asarray(np.minimum(np.array(logs) / (alpha - 1.0), largest))


def _panels(count: int, scale: float, rate: float) -> tuple[Array, Array]:
    """ln of Q's masses, the two atoms first, and ln X there."""
    nodes, weights = _rule()
    z = ((np.arange(count)[:, None] + nodes) / count).ravel()
    weight = np.log(np.tile(weights, count) / (2.0 * scale * count)) - z / scale
    z = np.concatenate([[0.0, 1.0], z])
    log_q = np.concatenate([[-math.log(2.0), -math.log(2.0) - 1.0 / scale], weight])
    return log_q, log_mixture(rate, (2.0 * z - 1.0) / scale)


@remembered
def _rule() -> tuple[Array, Array]:
    """Nodes in (0, 1) and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(_PANEL_NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights
