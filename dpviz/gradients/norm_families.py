"""Families of gradients whose clipping is known in closed form: groups of Weibull norms, each with a direction.

A group's norms are scale · W with P(W > w) = e^(−w^shape), so that E[min(r, C)] is an incomplete gamma function; its
gradients all point one way, `angle` from the first group's. No sample is drawn.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from dpviz._arrays import Array, ArrayLike


@dataclass(frozen=True)
class NormGroup:
    """A share of the examples; `angle` in radians."""

    share: float
    scale: float
    shape: float
    angle: float = 0.0

    @property
    def mean(self) -> float:
        """E[r]."""
        return self.scale * math.gamma(1.0 + 1.0 / self.shape)

    def clipped_mean(self, threshold: ArrayLike) -> Array:
        """E[min(r, C)] for thresholds C ≥ 0 of any shape: the integral of P(r > t) up to C."""
        t = np.asarray(threshold, dtype=np.float64) / self.scale
        return np.asarray(self.mean * gammainc(1.0 / self.shape, t**self.shape))

    def beyond(self, norm: ArrayLike) -> Array:
        """P(r > norm)."""
        return np.exp(-((np.asarray(norm, dtype=np.float64) / self.scale) ** self.shape))


@dataclass(frozen=True)
class NormFamily:
    """A mixture of groups, whose shares add up to 1."""

    name: str
    groups: tuple[NormGroup, ...]

    @property
    def mean_norm(self) -> float:
        """E[r]."""
        return sum(group.share * group.mean for group in self.groups)

    def clipped_norm(self, threshold: ArrayLike) -> Array:
        """E[min(r, C)]."""
        return np.asarray(sum(group.share * group.clipped_mean(threshold) for group in self.groups))

    def beyond(self, norm: ArrayLike) -> Array:
        """P(r > norm)."""
        return np.asarray(sum(group.share * group.beyond(norm) for group in self.groups))

    @property
    def mean(self) -> Array:
        """E[g] in the plane of the groups' directions, shape (2,)."""
        return np.asarray(sum(group.share * group.mean * _direction(group.angle) for group in self.groups))

    def clipped(self, threshold: ArrayLike) -> Array:
        """E[g · min(1, C/‖g‖)], shape (…, 2)."""
        return np.asarray(
            sum(g.share * g.clipped_mean(threshold)[..., None] * _direction(g.angle) for g in self.groups)
        )

    def largest(self, examples: ArrayLike) -> Array:
        """The norm that the largest of so many (≥ 1) examples exceeds with probability ½."""
        count = np.asarray(examples, dtype=np.float64)
        wanted = -np.expm1(-math.log(2.0) / count)  # P(one norm is beyond it)
        low, high = np.zeros(count.shape), np.full(count.shape, 1e9)
        for _ in range(100):
            middle = np.sqrt(np.maximum(low, 1e-9) * high)
            more = self.beyond(middle) > wanted
            low, high = np.where(more, middle, low), np.where(more, high, middle)
        return high


def _direction(angle: float) -> Array:
    return np.array([math.cos(angle), math.sin(angle)])


# By their key in links; mean norms of about 1.
FAMILIES = {
    "alike": NormFamily("Alike", (NormGroup(1.0, 1.0, 4.0),)),
    "spread": NormFamily("Spread out", (NormGroup(1.0, 1.0, 1.0),)),
    "heavy": NormFamily("Heavy tail", (NormGroup(1.0, 0.5, 0.5),)),
    "minority": NormFamily("A minority", (NormGroup(0.95, 0.5, 2.0), NormGroup(0.05, 10.0, 2.0, math.pi / 2.0))),
}
