"""Dominating pairs known as atoms of the privacy loss: what is computed on a grid, and has no density."""

import math
from dataclasses import dataclass

import numpy as np

from dpviz._arrays import Array
from dpviz.mechanisms.pair import Cells, LossPair


@dataclass(frozen=True, slots=True, eq=False)
class DiscretePair(LossPair):
    """A pair of so many losses.

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
