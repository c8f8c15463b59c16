"""Dominating pairs whose outputs are losses: on a grid, as one of several pairs at random, or in both directions."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz.mechanisms.pair import UNIT, Cells, DominatingPair, LossSplit, SampledPair


class LossPair(DominatingPair):
    """An output is its own loss, ln(P/Q)."""

    __slots__ = ()

    def loss(self, z: Array | float) -> Array:
        return np.asarray(z, dtype=np.float64)

    def output(self, loss: Array | float) -> Array:
        loss = np.asarray(loss, dtype=np.float64)
        removed, added = self.largest_losses
        return np.where(loss >= removed, math.inf, np.where(loss <= -added, -math.inf, loss))

    def split(self, loss: float) -> LossSplit:
        below, above = self.below(loss), self.above(loss)
        with np.errstate(divide="ignore", invalid="ignore"):
            left, right = (float(np.log(p) - np.log(q)) for q, p in np.array([below, above]))
        return LossSplit(left, right, below[0])


@dataclass(frozen=True, slots=True, eq=False)
class DiscretePair(LossPair):
    """Losses computed on a grid, which have no density.

    Attributes:
        noise: its scale.
        losses: rising, (n,).
        mass: Q's probabilities of them, (n,); P's are exp(loss) times as large.
        error: what rounding may have done to each, (n,).
        side: 1 where the pair dominates a mechanism, −1 where it is dominated: the side on which `log_delta` errs.
        never: Q's probability of an output that P never gives.
        always: P's probability of an output that Q never gives.
    """

    noise: float
    losses: Array
    mass: Array
    error: Array
    side: float
    never: float = 0.0
    always: float = 0.0

    @property
    def scale(self) -> float:
        return self.noise

    @property
    def symmetric(self) -> bool:
        return False

    @property
    def largest_losses(self) -> tuple[float, float]:
        return (
            math.inf if self.always > 0.0 else float(self.losses[-1]),
            math.inf if self.never > 0.0 else -float(self.losses[0]),
        )

    def output(self, loss: Array | float) -> Array:
        loss = np.asarray(loss, dtype=np.float64)
        return np.where(loss < self.losses[0], -math.inf, np.where(loss > self.losses[-1], math.inf, loss))

    def cells(self, z: Array) -> Cells:
        gain = self.mass * np.expm1(self.losses)
        parts = self.mass, gain, self.error, self.error * (1.0 + np.exp(self.losses))
        at = np.searchsorted(self.losses, z, side="right")
        cell = np.repeat(np.arange(z.size - 1), np.diff(at))
        inside = slice(at[0], at[-1])
        sums = (np.bincount(cell, part[inside], minlength=z.size - 1) for part in parts)
        return Cells(*(np.asarray(each, dtype=np.float64) for each in sums))

    def below(self, z: float) -> tuple[float, float]:
        mass = self.mass[: np.searchsorted(self.losses, z, side="right")]
        return self.never + float(mass.sum()), float(mass @ np.exp(self.losses[: mass.size]))

    def above(self, z: float) -> tuple[float, float]:
        first = np.searchsorted(self.losses, z, side="right")
        mass = self.mass[first:]
        return float(mass.sum()), self.always + float(mass @ np.exp(self.losses[first:]))

    def reach(self, tail: float) -> tuple[float, float]:
        return float(self.losses[0]), float(self.losses[-1])

    def rough(self, tail: float) -> tuple[Array, Array]:
        return self.losses, np.log(self.mass)

    def log_delta(self, epsilon: float) -> float:
        mass = self.mass + self.side * self.error
        removed = mass @ (np.exp(self.losses) * -np.expm1(np.minimum(epsilon - self.losses, 0.0))) + self.always
        added = mass @ -np.expm1(np.minimum(epsilon + self.losses, 0.0)) + self.never
        delta = max(float(removed), float(added))
        return math.log(delta) if delta > 0.0 else -math.inf


@dataclass(frozen=True, slots=True)
class OneOfPairs(LossPair):
    """One of several pairs at random, the same under P and Q, and who sees the output is told which.

    Attributes:
        parts: probabilities > 0, which add up to 1, and pairs.
    """

    parts: tuple[tuple[float, DominatingPair], ...]

    @property
    def scale(self) -> float:
        return min(pair.scale for _, pair in self.parts)

    @property
    def symmetric(self) -> bool:
        return all(pair.symmetric for _, pair in self.parts)

    @property
    def largest_losses(self) -> tuple[float, float]:
        removed, added = zip(*(pair.largest_losses for _, pair in self.parts), strict=True)
        return max(removed), max(added)

    def cells(self, z: Array) -> Cells:
        each = (weight * np.array(pair.cells(pair.output(z))) for weight, pair in self.parts)
        return Cells(*sum(each, np.zeros((4, z.size - 1))))

    def below(self, z: float) -> tuple[float, float]:
        return self._total((pair.below(float(pair.output(z))) for _, pair in self.parts))

    def above(self, z: float) -> tuple[float, float]:
        return self._total((pair.above(float(pair.output(z))) for _, pair in self.parts))

    def _total(self, each: Iterable[tuple[float, float]]) -> tuple[float, float]:
        q, p = np.array([weight for weight, _ in self.parts]) @ np.array(list(each))
        return float(q), float(p)

    def reach(self, tail: float) -> tuple[float, float]:
        low, high = np.array([pair.loss(np.array(pair.reach(tail))) for _, pair in self.parts]).T
        return float(low.min()), float(high.max())

    def rough(self, tail: float) -> tuple[Array, Array]:
        looks = [(pair.rough(tail), math.log(weight)) for weight, pair in self.parts]
        loss, weight = zip(*((loss, mass + log) for (loss, mass), log in looks), strict=True)
        return np.concatenate(loss), np.concatenate(weight)

    def log_delta(self, epsilon: float) -> float:
        """At most: each part's worse direction, which for sampled pairs is removal for all."""
        logs = [math.log(weight) + pair.log_delta(epsilon) for weight, pair in self.parts]
        return float(np.logaddexp.reduce(logs))


@dataclass(frozen=True, slots=True)
class BothWaysPair(LossPair):
    """The least pair that dominates (P, Q) and (Q, P) of a sampled pair at every ε ≥ 0, whichever way they are told.

    For ε ≥ 0 its δ(ε) is removal's, f, in both directions, so that for k = e^ε < 1 it is 1 − k + k f(1/k). This is a
    privacy profile, convex in k: at k = 1 its slope rises if P(A) + Q(A) ≤ 1, A where P > Q, and what is missing there
    is an atom of loss 0. So losses above 0 are (P, Q)'s and losses below 0 those of (Q, P).

    Attributes:
        base: (P, Q), noise symmetric about 0, P(A) + Q(A) ≤ 1.
    """

    base: SampledPair

    @property
    def scale(self) -> float:
        return self.base.scale

    @property
    def symmetric(self) -> bool:
        return True

    @property
    def largest_losses(self) -> tuple[float, float]:
        most = self.base.largest_losses[0]
        return most, most

    @property
    def _atom(self) -> float:
        return 1.0 - sum(self.base.above(float(self.base.output(0.0))))

    def cells(self, z: Array) -> Cells:
        here = np.array(self.base.cells(self.base.output(np.maximum(z, 0.0))))
        mass, gain, mass_error, gain_error = np.where(z[1:] > 0.0, here, 0.0)
        there = np.array(self.base.cells(self.base.output(np.maximum(-z[::-1], 0.0))))[:, ::-1]
        other_mass, other_gain, other_error, other_gain_error = np.where(z[:-1] < 0.0, there, 0.0)
        atom = np.where((z[:-1] < 0.0) & (z[1:] >= 0.0), self._atom, 0.0)
        mass += other_mass + other_gain + atom
        mass_error += other_error + other_gain_error + 32.0 * UNIT * atom
        return Cells(mass, gain - other_gain, mass_error, gain_error + other_gain_error)

    def below(self, z: float) -> tuple[float, float]:
        if z < 0.0:
            q, p = self.base.above(float(self.base.output(-z)))
            return p, q
        q, p = self.above(z)
        return 1.0 - q, 1.0 - p

    def above(self, z: float) -> tuple[float, float]:
        if z >= 0.0:
            return self.base.above(float(self.base.output(z)))
        q, p = self.below(z)
        return 1.0 - q, 1.0 - p

    def reach(self, tail: float) -> tuple[float, float]:
        high = float(self.base.loss(self.base.reach(tail)[1]))
        return -high, high

    def rough(self, tail: float) -> tuple[Array, Array]:
        loss, weight = self.base.rough(tail)
        loss, weight = loss[loss > 0.0], weight[loss > 0.0]
        both = np.concatenate([weight + loss, weight])
        atom = math.log(max(1.0 - float(np.exp(both).sum()), 1e-300))  # so that they add up to 1 over many steps
        return np.concatenate([-loss, loss, [0.0]]), np.concatenate([both, [atom]])

    def log_delta(self, epsilon: float) -> float:
        return self.base.log_delta_removed(epsilon)
