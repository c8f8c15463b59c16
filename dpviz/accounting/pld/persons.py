"""Several rows of one person: group privacy of a whole privacy curve, as strong as the curve of one row allows.

Where one row changes Pr[A] = x to at most h(x) = min over ε of δ(ε) + e^ε x, for any event A, k rows in turn change it
to at most h(h(…h(x))) (Dong, Roth, Su 2022, Theorem 2.14). One (ε_i, δ_i) of the curve for each row is a line above h,
and lines in a row make one line above all of it:

    ε = ε_1 + … + ε_k,   δ = δ_k + e^{ε_k} (δ_{k−1} + e^{ε_{k−1}} (… + δ_1)).

So any choice proves an upper bound, and the best one, taken here for many x, is exact for Gaussian noise. The same pair
k times is the rule (kε, δ (e^{kε} − 1)/(e^ε − 1)), which may have twice that ε. Whoever adds and whoever removes rows
is bounded by the worse of both directions of a row, so that δ(−ε) = 1 − e^−ε (1 − δ(ε)) gives lines too.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array, Index

_STARTS = 4096  # probabilities x at which a chain of lines starts
_SLACK = 1e-9  # relative, of δ: covers rounding of a thousand lines many times over


@dataclass(frozen=True, slots=True, eq=False)
class GroupCurve:
    """Points (ε, δ) of a privacy curve, at most, by rising ε; between two of them δ lies below the chord in e^ε.

    Attributes:
        epsilon: shape (n,), strictly rising.
        log_delta: ln δ, shape (n,), falling.
    """

    epsilon: Array
    log_delta: Array

    def delta_at(self, epsilon: float) -> float:
        """ln δ at ε, at most 0."""
        right = int(np.searchsorted(self.epsilon, epsilon, side="right"))
        if right in (0, self.epsilon.size):
            return min(float(self.log_delta[-1]), 0.0) if right else 0.0
        low, high = self.epsilon[right - 1 : right + 1]
        # The share of the right end, (e^(ε − low) − 1)/(e^(high − low) − 1), without overflow.
        share = np.exp(epsilon - high) * np.expm1(low - epsilon) / np.expm1(low - high)
        left_part = np.log1p(-min(share, 1.0)) if share < 1.0 else -np.inf
        with np.errstate(divide="ignore"):
            chord = np.logaddexp(left_part + self.log_delta[right - 1], np.log(share) + self.log_delta[right])
        return min(float(chord), 0.0)

    def epsilon_at(self, log_delta: float) -> float:
        """The least ε ≥ 0 whose δ is small enough; inf where the curve ends above it."""
        if self.delta_at(0.0) <= log_delta:
            return 0.0
        right = int(np.searchsorted(-self.log_delta, -log_delta))
        if right == self.epsilon.size:
            return float("inf")
        if right == 0 or self.epsilon[right] - self.epsilon[right - 1] > 50.0:
            return max(float(self.epsilon[right]), 0.0)
        low, high = self.epsilon[right - 1 : right + 1]
        left, at, end = np.exp(self.log_delta[right - 1 : right + 1].tolist() + [log_delta])[[0, 2, 1]]
        share = min((left - at) / (left - end), 1.0) if left > end else 1.0
        return max(float(low + np.log1p(share * np.expm1(high - low))), 0.0)


def group_curve(epsilon: Array, log_delta: Array, rows: int) -> GroupCurve:
    """The curve of k rows.

    Args:
        epsilon: ε ≥ 0 of points of one row's curve, strictly rising, (n,).
        log_delta: ln δ there, at most: an upper bound in both directions; −∞ for δ = 0.
        rows: k ≥ 1.
    """
    some = epsilon > 0.0
    with np.errstate(divide="ignore"):
        back = np.log(-np.expm1(-epsilon[some] + np.log1p(-np.exp(np.minimum(log_delta[some], -1e-300)))))
    slope = np.concatenate([-epsilon[some][::-1], epsilon])
    height = np.concatenate([back[::-1], log_delta])
    lowest, meets = _envelope(slope, height)
    slope, height = slope[lowest], height[lowest]
    start = np.linspace(min(float(meets[-1]) - (rows - 1) * float(slope[-1]), 0.0) - 1.0, 0.0, _STARTS)
    x, total, apart = start.copy(), np.zeros(_STARTS), np.full(_STARTS, -np.inf)
    for _ in range(rows):
        line = np.searchsorted(-meets[1:], -x)  # any line is right; this one is the lowest
        x = np.logaddexp(height[line], slope[line] + x)
        apart = np.logaddexp(height[line], slope[line] + apart)
        total += slope[line]
    order = np.argsort(total, kind="stable")
    total, apart = total[order], np.minimum.accumulate(apart[order])
    last = np.append(np.diff(total) > 0.0, True)
    return GroupCurve(total[last], apart[last] + _SLACK)


def _envelope(slope: Array, height: Array) -> tuple[Index, Array]:
    """The lines δ + e^ε x that are the lowest somewhere, and ln of the x up to which each is, falling.

    Args:
        slope: ε, strictly rising, (n,).
        height: ln δ, (n,).
    """
    lowest, meets = [0], [math.inf]
    for i in range(1, slope.size):
        while height[i] < height[lowest[-1]]:  # else it lies above that line everywhere
            top = lowest[-1]
            fall = height[top] + math.log(-math.expm1(height[i] - height[top]))
            meet = fall - slope[i] - math.log(-math.expm1(slope[top] - slope[i]))
            if meet < meets[-1]:
                lowest.append(i)
                meets.append(meet)
                break
            lowest.pop()
            meets.pop()
    return np.array(lowest), np.array(meets)
