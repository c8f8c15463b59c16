"""Dominating pairs of Gaussian mixtures on the line: P = Σ w_c N(c, σ²), Q = Σ v_c N(c, σ²), with w_c/v_c rising in c.

Then P/Q rises too: the Gaussian kernel is totally positive (Karlin 1968, Chapter 1), so P − kQ changes its sign once.
Everything is written against one centre b: densities and probabilities as their logarithms' differences r_c from b's,

    P/Q = Σ w_c e^r_c / Σ v_c e^r_c,   P/Q − 1 = Σ (w_c − v_c) (e^r_c − 1) / Σ v_c e^r_c,

the second of which keeps all digits where P and Q nearly agree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpviz._arrays import Array, Bools
from dpviz._remember import remembered
from dpviz.mechanisms.log_excess import log_sums
from dpviz.mechanisms.pair import LEAST_SCALE, ULPS, UNIT, Cells, DominatingPair, LossSplit

Weights = tuple[tuple[float, float], ...]

_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(12)
_TOGETHER = 1024  # outputs looked at together
_TABLE = 4096  # outputs between which inversion starts
_FURTHEST = 40.0  # deviations to which they reach: beyond, a probability is no double
_APART = 80.0  # −ln of a share that no sum of doubles sees
_NOISELESS = 1e-100  # σ below which squares overflow
_LARGEST = 600.0  # logarithm of what still has room in a double, times many


@dataclass(frozen=True, slots=True)
class MixturePair(DominatingPair):
    """P and Q as (centre, weight) each; weights > 0 are right to 2^−53, relatively, and add up to 1 up to rounding.

    Attributes:
        sigma: σ, in the unit of the centres.
        p, q: the mixtures, by rising centres.
    """

    sigma: float
    p: Weights
    q: Weights
    _centre: Array = field(init=False, repr=False, compare=False)
    _weights: Array = field(init=False, repr=False, compare=False)
    _log_weights: Array = field(init=False, repr=False, compare=False)
    _base: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        w, v = dict(self.p), dict(self.q)
        centre = np.array(sorted({*w, *v}))
        weights = np.array([[side.get(c, 0.0) for c in centre.tolist()] for side in (w, v)])
        with np.errstate(divide="ignore"):
            log_weights = np.log(weights)
        ratio = log_weights[0] - log_weights[1]
        if not (ratio[1:] >= ratio[:-1] - 1e-12).all():
            raise ValueError("Expected weights whose ratio P/Q rises from centre to centre.")
        common = np.flatnonzero(weights.min(axis=0) > 0.0)
        base = common[np.argmax(weights[1, common])] if common.size else int(np.argmax(weights[1]))
        object.__setattr__(self, "_centre", centre)
        object.__setattr__(self, "_weights", weights)
        object.__setattr__(self, "_log_weights", log_weights)
        object.__setattr__(self, "_base", float(centre[base]))

    @property
    def scale(self) -> float:
        return self.sigma

    @property
    def mirrored(self) -> MixturePair:
        """(Q, P) of −z: addition's removal."""
        q, p = (tuple((-c, weight) for c, weight in reversed(side)) for side in (self.p, self.q))
        return MixturePair(self.sigma, p, q)

    @property
    def symmetric(self) -> bool:
        ends = self._centre[0] + self._centre[-1]
        same_places = np.array_equal(ends - self._centre[::-1], self._centre)
        return same_places and np.array_equal(self._weights[::-1, ::-1], self._weights)

    @property
    def largest_losses(self) -> tuple[float, float]:
        log_ratio = self._log_weights[0] - self._log_weights[1]
        return float(log_ratio[-1]), float(-log_ratio[0])

    def loss(self, z: Array | float) -> Array:
        return self._loss_and_slope(np.asarray(z, dtype=np.float64))[0]

    def output(self, loss: Array | float) -> Array:
        """By Newton's method inside brackets, until the loss there is right up to rounding.

        A cell whose edge errs by η in loss errs by η² times the density, far less than by the rounding of `cells`.
        """
        wanted = np.asarray(loss, dtype=np.float64)
        most, least = self.largest_losses
        flat = wanted.ravel()
        z = np.where(flat >= most, math.inf, -math.inf)
        inside = np.flatnonzero((flat < most) & (flat > -least))
        if inside.size:
            z[inside] = self._inverted(flat[inside])
        return z.reshape(wanted.shape)

    def cells(self, z: Array) -> Cells:
        """A centre's differences are taken of its smaller tails.

        What an argument x errs by moves ln Φ(x) by x times it: x rounds twice, scipy's x/√2 twice, its square once.
        """
        unit = UNIT * self._centre.size  # of a sum's roundings, and of the weights'
        mass, gain, mass_error, gain_error = np.zeros((4, z.size - 1))
        base, near = self._tail_cells(z, self._base), self._near(float(z[0]), float(z[-1]))
        for c, w, v in zip(self._centre[near].tolist(), *self._weights[:, near].tolist(), strict=True):
            each, error = base if c == self._base else self._tail_cells(z, c)
            mass += v * each
            mass_error += v * (error + unit * each)
            gain += (w - v) * (each - base[0])
            gain_error += abs(w - v) * (error + base[1]) + unit * (w + v) * np.abs(each - base[0])
        far = float(np.sum(self._weights[0, ~near] - self._weights[1, ~near]))
        gain -= far * base[0]
        left = self._centre.size * math.exp(-_APART)
        gain_error += abs(far) * (base[1] + unit * base[0]) + left * (2.0 * mass + np.abs(gain))
        return Cells(mass, gain, mass_error + left * mass, gain_error)

    def _near(self, low: float, high: float) -> Bools:
        """Centres that count at outputs from low to high."""
        ends = self._ratios(np.clip([low, high], -1e200, 1e200))
        return np.asarray(counting(self._log_weights[0] + ends) | counting(self._log_weights[1] + ends))

    def _tail_cells(self, z: Array, centre: float) -> tuple[Array, Array]:
        """Probabilities of the cells under N(centre, σ²) and what they err by at most."""
        x = (z - centre) / self.sigma
        tail = ndtr(-np.abs(x))
        error = np.where(tail > 0.0, (ULPS + 5.0 * np.minimum(np.abs(x), _FURTHEST) ** 2) * UNIT * tail, 0.0)
        across = (x[:-1] < 0.0) & (x[1:] > 0.0)
        mass = np.where(across, 1.0 - tail[:-1] - tail[1:], np.abs(np.diff(tail)))
        return mass, np.maximum(error[:-1], error[1:]) + across * UNIT

    def split(self, loss: float) -> LossSplit:
        z = float(self.output(loss))
        x = (z - self._centre) / self.sigma
        tails = log_ndtr(x), log_ndtr(-x)
        left, right = (
            float(self._log_ratio(log - log[self._centre == self._base], self._centre == self._centre)[0])
            for log in tails
        )
        return LossSplit(left, right, self.below(z)[0])

    def below(self, z: float) -> tuple[float, float]:
        p, q = self._weights @ ndtr((z - self._centre) / self.sigma)
        return float(q), float(p)

    def above(self, z: float) -> tuple[float, float]:
        p, q = self._weights @ ndtr((self._centre - z) / self.sigma)
        return float(q), float(p)

    def reach(self, tail: float) -> tuple[float, float]:
        return -_quantile(self.mirrored, tail), _quantile(self, tail)

    def rough(self, tail: float) -> tuple[Array, Array]:
        pair = replace(self, sigma=max(self.sigma, LEAST_SCALE))
        low, high = pair.reach(tail)
        z = np.linspace(low, high, int(min(max(481.0, 20.0 * (high - low) / pair.sigma), 20_001.0)))
        density = pair._ratios(z) - 0.5 * (((z - self._base) / pair.sigma) ** 2)[:, None]
        width = (z[1] - z[0]) / (pair.sigma * math.sqrt(2.0 * math.pi))
        return pair.loss(z), log_sums(density + self._log_weights[1]) + math.log(width)

    def log_delta(self, epsilon: float) -> float:
        if self.sigma < _NOISELESS:  # no less is told by more noise where any loss is beyond ε anyway
            return replace(self, sigma=_NOISELESS).log_delta(epsilon)
        removed = self._log_delta(epsilon)
        return removed if self.symmetric else max(removed, self.mirrored._log_delta(epsilon))

    def _log_delta(self, epsilon: float) -> float:
        """ln of P less e^ε Q above the output z with loss ε: Σ (w_c − v_c)(S_c − S_b) − (e^ε − 1) Σ v_c S_c.

        An error of z counts by its square, for the integrand is 0 there.
        """
        z = float(self.output(epsilon))
        if z == math.inf:
            return -math.inf
        y, h = (z - self._base) / self.sigma, (self._centre - self._base) / self.sigma
        log_tails = log_ndtr(h - y)
        grown = epsilon + math.log(-math.expm1(-epsilon)) if epsilon > 0.0 else -math.inf
        apart = self._weights[0] - self._weights[1]
        with np.errstate(divide="ignore"):
            between = _log_between(y, h) + np.log(np.abs(apart))
        logs = np.append(between, log_sums(log_tails + self._log_weights[1]) + grown)
        top = float(logs.max())
        total = float(np.append(np.sign(apart * h), -1.0) @ np.exp(logs - top)) if top > -math.inf else 0.0
        return top + math.log(total) if total > 0.0 else -math.inf

    def _ratios(self, z: Array) -> Array:
        """r_c of densities at z (n,), (n, centres)."""
        far = (self._centre - self._base) / self.sigma
        return np.asarray(np.multiply.outer((z - self._base) / self.sigma, far) - 0.5 * far**2)

    def _log_ratio(self, r: Array, near: Bools) -> tuple[Array, Array]:
        """ln(P/Q) from r of the centres `near`, and by how much centres' means differ given r, in units of σ."""
        tops, logs, means, centre = [], [], [], self._centre[near]
        for log_weights in self._log_weights[:, near]:
            kept = log_weights > -math.inf
            tops.append(r[..., kept].max(axis=-1))  # apart from the weights: r may be 1e20
            exponent = r[..., kept] - tops[-1][..., None] + log_weights[kept]
            largest = exponent.max(axis=-1)
            weight = np.exp(exponent - largest[..., None])
            total = weight.sum(axis=-1)
            logs.append(largest + np.log(total))
            means.append(weight @ (centre[kept] - self._base) / (total * self.sigma))
        ratio = np.asarray((tops[0] - tops[1]) + (logs[0] - logs[1]))
        near_one = (np.abs(ratio) < 0.5) & (r.max(axis=-1) < _LARGEST)
        more = self._weights[0] - self._weights[1]
        apart = np.expm1(r[near_one]) @ more[near] - more[~near].sum()
        ratio[near_one] = np.log1p(apart / np.exp(tops[1][near_one] + logs[1][near_one]))
        return ratio, np.asarray(means[0] - means[1])

    def _loss_and_slope(self, z: Array) -> tuple[Array, Array]:
        """Losses at z and their derivatives, which only steer."""
        flat = z.ravel()
        loss, slope = np.empty((2, flat.size))
        for start in range(0, flat.size, _TOGETHER):
            here = slice(start, start + _TOGETHER)
            near = self._near(float(flat[here].min()), float(flat[here].max()))
            loss[here], slope[here] = self._log_ratio(self._ratios(flat[here])[:, near], near)
        return loss.reshape(z.shape), slope.reshape(z.shape) / self.sigma

    def _inverted(self, wanted: Array) -> Array:
        """Outputs with losses that there are, of shape (n,)."""
        z, losses = _table(self)
        at = np.searchsorted(losses, wanted)
        with np.errstate(invalid="ignore"):
            result = np.interp(wanted, losses, z)
        low, high = z[np.maximum(at - 1, 0)], z[np.minimum(at, z.size - 1)]
        open_ = np.arange(wanted.size)
        settled = 1e-9 * self.sigma * min(1.0, self.sigma / max(float(np.ptp(self._centre)), 1e-300))
        for _ in range(200):
            here = result[open_]
            loss, slope = self._loss_and_slope(here)
            beyond = loss - wanted[open_]
            high[open_], low[open_] = (
                np.where(beyond > 0.0, here, high[open_]),
                np.where(beyond > 0.0, low[open_], here),
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                new = here - beyond / slope
            outside = ~((new > low[open_]) & (new < high[open_]))
            new = np.where(outside, 0.5 * (low[open_] + high[open_]), new)
            exact = np.abs(beyond) <= 4.0 * UNIT * np.abs(wanted[open_])
            result[open_] = np.where(exact, here, new)
            narrow = high[open_] - low[open_] <= 4.0 * UNIT * np.abs(new)
            open_ = open_[~(exact | narrow | (~outside & (np.abs(new - here) <= settled)))]
            if not open_.size:
                break
        return np.asarray(result)


@remembered
def _table(pair: MixturePair) -> tuple[Array, Array]:
    """Outputs and their rising losses; at the ends far between, up to where all losses are that there are."""
    low, high = pair.reach(_FURTHEST)
    away = (high - low) * 2.0 ** np.arange(60.0)
    z = np.concatenate([low - away[::-1], np.linspace(low, high, _TABLE), high + away])
    return z, np.maximum.accumulate(pair.loss(z))


@remembered
def _quantile(pair: MixturePair, tail: float) -> float:
    """An output that P exceeds no more often than a Gaussian its mean by `tail` deviations; nearly the least."""
    centre, log_weights = np.array([(c, math.log(weight)) for c, weight in pair.p]).T
    low, high = (float(end) + tail * pair.sigma for end in (centre[0], centre[-1]))
    for _ in range(24):
        middle = 0.5 * (low + high)
        if log_sums(log_ndtr((centre - middle) / pair.sigma) + log_weights) > log_ndtr(-tail):
            low = middle
        else:
            high = middle
    return high


def counting(ends: Array) -> Bools:
    """Which parts of a mixture count between two outputs: each other's is e^−80 of one of these, at every output.

    A part over that of a centre further left rises with the output, so that the ends decide.

    Args:
        ends: ln of the parts by rising centres, at the lower and at the upper output, (2, centres).
    """
    (left, right), (first, last), order = ends, np.argmax(ends, axis=1), np.arange(ends.shape[1])
    from_first = (order >= first) | (left > left[first] - _APART)
    to_last = (order <= last) | (right > right[last] - _APART)
    return np.asarray(from_first & to_last)


def _log_between(y: float, h: Array) -> Array:
    """ln |S(y − h) − S(y)| of the Gaussian's upper tail S: where h is short φ(y) ∫ e^(y s − s²/2) ds from 0 to h."""
    sign = -1.0 if y < 0.0 else 1.0
    one, other = log_ndtr(sign * (h - y)), log_ndtr(-sign * y)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):  # infinite y: `short` is not used there
        differ = np.where(one == other, 0.0, np.abs(np.where(one == other, 0.0, one) - other))  # both may be −∞
        apart = np.maximum(one, other) + np.log(-np.expm1(-differ))
        s = np.multiply.outer(h, 0.5 * (_NODES + 1.0))
        inside = np.exp(np.minimum(y * s - 0.5 * s * s, 1.0)) @ _NODE_WEIGHTS
        short = np.log(0.5 * np.abs(h) * inside) - 0.5 * y * y - 0.5 * math.log(2.0 * math.pi)
        return np.where(np.abs(h) * (1.0 + abs(y)) < 0.5, short, apart)
