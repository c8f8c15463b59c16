"""The tight Bayesian ε of a known law of norms, where an example keeps its rank in every step.

The other example's distance is d = min(norm, C) at every step, C a quantile of the law. What is bounded is the joint
hockey-stick of Definition 2 (Triastcyn & Faltings 2020), over the outcome and the other example together:

    E_d[δ_d(ε)] = δ_μ,   δ_d(ε): the privacy curve of T sampled Gaussian steps at noise multiplier σC/d,

solved for ε in both directions, adding and removing the example. The stated definition, where the adversary's set of
outcomes may not depend on d, follows from it. No sample is drawn and no γ is spent: δ_d increases with d, so between
two sums over cells of d, one with each cell at its upper end and δ_d from above, one at its lower end and δ_d from
below, lies the truth; the mass beyond C is an atom there.

`law_bound` makes no such assumption. It needs the law of d at each step alone, however an example's ranks depend on
each other over steps (Hölder's inequality, Theorem 1 of the paper; ranks kept are its worst case), and lies
above this one, since it converts a moment of the same loss.

    >>> given = dict(quantile=0.9, noise_multiplier=4.0, sample_rate=0.01, steps=[10_000], delta_mu=1e-5)
    >>> found = bayesian_law_tight("weibull", shape=0.5, **given)
    >>> bool(0.794 < found.lower[0] <= found.upper[0] < 0.799)
    True
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Index
from dpviz.accounting.pld.bounds import TightResult, tight_epsilon
from dpviz.accounting.pld.grid import ADD, LARGEST_LOSS, REMOVE, too_large
from dpviz.accounting.pld.loss_transform import compose
from dpviz.accounting.pld.plan import aim_for_rows, rough_log_deltas, tail_for
from dpviz.accounting.pld.privacy_loss import discretise
from dpviz.accounting.pld.read_off import DeltaCurves
from dpviz.accounting.pld.single_step import SLACK
from dpviz.gradients.clipped_law import quantile_of
from dpviz.gradients.families import law
from dpviz.mechanisms.pair import gaussian_log_delta
from dpviz.mechanisms.sampled_gaussian import SampledGaussian

CELLS = 40
_SCAN = 10  # distances of a first look, on each of two scales
_FINE = 400  # among which the cells' ends are chosen
_POINTS, _PASSES = 120, 2  # ε tried at once, and how often between the two that remain
_SPREAD = 16.0  # of step counts that share grids
_SHARE = 0.4  # of δ_μ, divided by the most cells: what their width may cost where fewer suffice
_LEAST = 1e-9  # of C: no cell ends below

# E[δ_r(ε)] from below at the first ε (k,), from above at the second.
Curve = Callable[[Array, Array], tuple[Array, Array]]


def bayesian_law_tight(
    family: str,
    *,
    shape: float = 1.0,
    quantile: float,
    noise_multiplier: float,
    sample_rate: float,
    steps: ArrayLike,
    delta_mu: float,
    cells: int = CELLS,
) -> TightResult:
    """Bounds on ε_μ of norms of a family, clipped at a quantile C, where each example keeps its rank in all steps.

    Args:
        family, shape: as for `draw_norms`; the scale does not matter.
        quantile: share of norms below C, in (0, 1).
        noise_multiplier: σ; the noise added to a sum of clipped gradients has standard deviation σC.
        sample_rate, steps, delta_mu: q, whole numbers T ≥ 0 of any shape, δ_μ in (0, 1).
        cells: most cells of d; fewer are used where δ_μ is then known to 0.4/cells. Few make both bounds wider, in
            less time.

    Returns:
        The joint ε_μ lies in [lower, upper]; arrays of the steps' shape.

    Raises:
        ValueError: for arguments out of range.
    """
    known = law(family, shape, 1.0)
    share = quantile_of(quantile)
    sigma, rate = _validate.numbers(noise_multiplier=noise_multiplier, sample_rate=sample_rate)
    target = _validate.number(delta_mu=delta_mu)
    most = _validate.whole(1, cells=cells)
    counts = _validate.steps(steps)
    mixture = _Mixture(known, share, sigma, rate, target, most)
    wanted, place = np.unique(counts, return_inverse=True)
    above = tight_epsilon(mixture.at(1.0), wanted, target).upper  # d never exceeds C
    below = np.zeros(wanted.size)
    for rows in mixture.groups(wanted):
        low, high = mixture.epsilon(wanted[rows], above[rows])
        below[rows], above[rows] = low, np.minimum(above[rows], high)
    # More steps never cost less.
    below, above = np.maximum.accumulate(below), np.minimum.accumulate(above[::-1])[::-1]
    return TightResult(np.minimum(below, above)[place].reshape(counts.shape), above[place].reshape(counts.shape))


class _Mixture:
    """T steps at a noise multiplier σ/r, r = d/C drawn once; δ_μ, and at most so many cells of r."""

    def __init__(self, known: Any, share: float, sigma: float, rate: float, target: float, most: int) -> None:
        self.known, self.share, self.sigma, self.rate = known, share, sigma, rate
        self.target, self.most = target, most
        self.threshold = float(known.ppf(share))
        rare = known.isf(np.geomspace(1.0, 1.0 - share, _SCAN + 1)[1:-1]) / self.threshold
        self.scan = np.unique(np.concatenate([np.linspace(0.0, 1.0, _SCAN + 1)[1:], np.clip(rare, _LEAST, 1.0)]))
        self.weights = -np.diff(known.sf(self.threshold * np.append(0.0, self.scan)))
        self.weights[-1] += 1.0 - share

    def at(self, ratio: float) -> SampledGaussian:
        return SampledGaussian(self.sigma / ratio, self.rate)

    def variation(self, ratios: Array, counts: Array) -> Array:
        """Upper bounds of total variation, thus of δ_r(ε), by Pinsker: KL ≤ ln(1 + χ²), χ² = q² (e^(r²/σ²) − 1)."""
        squared = np.minimum((ratios / self.sigma) ** 2, LARGEST_LOSS)
        divergence = counts * np.log1p(self.rate**2 * np.expm1(squared))
        return np.minimum(np.sqrt(0.5 * divergence) * (1.0 + SLACK), 1.0)

    def groups(self, counts: Array) -> list[Index]:
        """Indices of ascending counts > 0 that are solved together; one alone where δ has a closed form."""
        if self.rate == 0.0:
            return []
        groups: list[list[int]] = []
        for i in np.flatnonzero(counts > 0).tolist():
            alone = self.rate == 1.0 or counts[i] == 1.0
            first = counts[groups[-1][0]] if groups else 0.0
            if alone or first <= 1.0 or counts[i] > _SPREAD * first:
                groups.append([i])
            else:
                groups[-1].append(i)
        return [np.array(group) for group in groups]

    def epsilon(self, counts: Array, above: Array) -> tuple[Array, Array]:
        """Lower and upper ε_μ after each of the counts, none of which exceeds `above`."""
        if (self.variation(self.scan, counts[-1:]) @ self.weights) * (1.0 + SLACK) <= self.target:
            return np.zeros(counts.size), np.zeros(counts.size)
        if too_large(self.at(1.0)):
            return np.zeros(counts.size), above
        most = np.where(np.isfinite(above), above, LARGEST_LOSS)
        ratios, heaviest, delta = self._cells(counts, most)
        beyond = np.append(self.known.sf(self.threshold * np.append(0.0, ratios[:-1])), 1.0 - self.share)
        inside = np.maximum(beyond[:-1] - beyond[1:], 0.0)
        heights = np.append(inside[:-1], inside[-1] + 1.0 - self.share)  # weight of each ratio as an upper end
        depths = np.append(inside[1:], 1.0 - self.share)  # and as a lower end
        if self.rate == 1.0 or counts[0] == 1.0:
            curves: Iterable[Curve] = [_closed(self.sigma / ratios / math.sqrt(counts[0]), self.rate, depths, heights)]
        else:
            curves = self._composed(ratios, counts, depths, heights, near=self.at(heaviest), delta=delta)
        intervals = [_solve(curve, self.target, top) for curve, top in zip(curves, most.tolist(), strict=True)]
        low, high = np.array(intervals).T
        return low, np.where(high >= most, above, high)

    def _cells(self, counts: Array, most: Array) -> tuple[Array, float, float]:
        """The cells' upper ends, ascending to 1; the ratio that most of δ_μ comes from, and its δ."""
        mechanisms = [self.at(ratio) for ratio in self.scan.tolist()]
        low, high = np.zeros(counts.size), most
        for _ in range(20):
            middle = 0.5 * (low + high)
            total = np.exp(rough_log_deltas(mechanisms, counts, middle)) @ self.weights
            low, high = np.where(total > self.target, middle, low), np.where(total > self.target, high, middle)
        log_delta = rough_log_deltas(mechanisms, counts, high).mean(axis=0)
        fine = np.unique(np.concatenate([np.linspace(0.0, 1.0, _FINE + 1)[1:], self.scan]))
        delta = np.exp(np.interp(fine, self.scan, log_delta))
        inside = -np.diff(self.known.sf(self.threshold * np.append(0.0, fine)))
        heaviest = int(np.argmax(delta * np.append(inside[:-1], inside[-1] + 1.0 - self.share)))
        ends = _ends(np.cumsum(inside), delta, self.most, _SHARE / self.most * self.target)
        return fine[ends], float(fine[heaviest]), float(delta[heaviest])

    def _composed(
        self, ratios: Array, counts: Array, depths: Array, heights: Array, near: SampledGaussian, delta: float
    ) -> Iterable[Curve]:
        """A curve for each count, composed on grids for each ratio: removal from both sides, addition from above."""
        rows, delta = counts[:, None], min(max(delta, 1e-200), 0.5)
        tail = tail_for(float(counts[-1]), min(self.target, delta))
        remove, add = (aim_for_rows([near], rows, way, delta) for way in (REMOVE, ADD))
        # What a grid makes of distances far below its interval is no use.
        variations = self.variation(ratios, rows)
        composed = []
        for ratio in ratios.tolist():
            removed, added = (discretise(self.at(ratio), 0.5 * aim.interval, tail) for aim in (remove, add))
            below, above = (
                compose([side], rows, remove.tilt, remove.log_wrap, thin=True)
                for side in (removed.remove_below, removed.remove_above)
            )
            composed.append((below, above, compose([added.add_above], rows, add.tilt, add.log_wrap, thin=True)))

        def curve(row: int) -> Curve:
            plds = [[sides[row] for sides in kind] for kind in zip(*composed, strict=True)]
            below, *upper = (DeltaCurves(kind, sign) for kind, sign in zip(plds, (-1.0, 1.0, 1.0), strict=True))
            slack = [np.array([[pld.slack] for pld in kind]) for kind in plds]

            def at(first: Array, second: Array) -> tuple[Array, Array]:
                least = below(first + slack[0])
                most = (delta(second - wide) for delta, wide in zip(upper, slack[1:], strict=True))
                removed, added = (heights @ np.minimum(delta, variations[row][:, None]) for delta in most)
                return depths @ least * (1.0 - SLACK), np.maximum(removed, added) * (1.0 + SLACK)

            return at

        return map(curve, range(counts.size))  # one at a time: each takes memory


def _ends(mass: Array, delta: Array, most: int, gap: float) -> list[int]:
    """Indices of the cells' upper ends, where the two sums differ by `gap`, or by more with the most cells allowed.

    They differ by the sum of (a cell's mass) · (rise of δ over it), each of which is allowed the same.
    """
    best = [mass.size - 1]
    low, high = 1e-9 * gap, max(float(mass[-1] * delta[-1]), gap)
    for _ in range(25):
        middle = math.sqrt(low * high)
        ends = [mass.size - 1]
        while len(ends) <= most and ends[-1] > 0:
            last = ends[-1]
            below = (mass[last] - mass[:last]) * (delta[last] - delta[:last])
            if mass[last] * delta[last] <= middle:
                break
            ends.append(min(int(np.searchsorted(-below, -middle)), last - 1))
        fewer = len(ends) > most
        low, high = (middle, high) if fewer or len(ends) * middle < gap else (low, middle)
        if not fewer:
            best = ends
    return best[::-1]


def _closed(sigmas: Array, rate: float, depths: Array, heights: Array) -> Curve:
    """One step, or q = 1: δ_r(ε) = q δ(ln(1 + (e^ε − 1)/q)), δ of a Gaussian; removal is the worse direction."""

    def delta(epsilon: Array) -> Array:
        near = np.log1p(np.expm1(np.minimum(epsilon, 1.0)) / rate)
        far = epsilon - math.log(rate) + np.log1p((rate - 1.0) * np.exp(-epsilon))
        return rate * np.exp(gaussian_log_delta(sigmas[:, None], np.where(epsilon > 1.0, far, near)))

    return lambda first, second: (depths @ delta(first) * (1.0 - SLACK), heights @ delta(second) * (1.0 + SLACK))


def _solve(curve: Curve, target: float, top: float) -> tuple[float, float]:
    """The largest ε ≥ 0 tried where the curve exceeds the target for certain, the least where it does not."""
    low, high = (0.0, top), (0.0, top)
    for _ in range(_PASSES):
        tried = np.stack([np.linspace(*ends, _POINTS) for ends in (low, high)])
        below, above = curve(*tried)
        exceeds, fits = np.flatnonzero(below >= target), np.flatnonzero(above <= target)
        i = int(exceeds[-1]) if exceeds.size else 0
        j = int(fits[0]) if fits.size else _POINTS - 1
        low = float(tried[0, i]), float(tried[0, min(i + 1, _POINTS - 1)])
        high = float(tried[1, max(j - 1, 0)]), float(tried[1, j])
    return low[0], high[1]
