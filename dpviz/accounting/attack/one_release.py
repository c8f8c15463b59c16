"""The two laws of one released output, without and with one person: densities, thresholds, draws, rounding.

>>> laws = NoiseLaws(Laplace(2.0), shift=1.0)
>>> [round(chance, 3) for chance in laws.above(0.5)]
[0.389, 0.611]
"""

import itertools
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp, ndtri
from scipy.stats import binom

from dpviz import _validate
from dpviz._arrays import Array, Bools
from dpviz.mechanisms import Laplace, RandomisedResponse, SampledGaussian
from dpviz.mechanisms.pair import LaplaceNoise

MOST_STEPS = 4000  # of a rounded output
LEAST = 1e-3  # probability of an outcome that the eye sees
_ROUNDING = 1e-12  # what sums of so many masses err by, many times


class Curves(NamedTuple):
    """Densities at outputs x, ascending, (n,) each; of steps, two points at each edge."""

    x: Array
    without: Array
    present: Array


class Laws(ABC):
    """The law of one output without the person, and with them."""

    @property
    @abstractmethod
    def extent(self) -> tuple[float, float]:
        """Between which nearly all outputs lie."""

    @property
    @abstractmethod
    def curves(self) -> Curves:
        """Their densities there."""

    @abstractmethod
    def above(self, threshold: float) -> tuple[float, float]:
        """Probabilities of an output above the threshold, without and with the person."""

    @abstractmethod
    def draw(self, uniform: Array, present: Bools) -> Array:
        """An output for each uniform number in [0, 1), with the person where `present`; (n,)."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """δ(ε), the worse of both directions, from above."""


@dataclass(frozen=True)
class NoiseLaws(Laws):
    """A number with noise, in its own unit; it is 0 without the person, and `shift` with them.

    Attributes:
        mechanism: the unsampled mechanism whose sensitivity is the shift.
        shift: > 0.
    """

    mechanism: Laplace | SampledGaussian
    shift: float

    @property
    def scale(self) -> float:
        """b, or σ."""
        return self.mechanism.pair().scale * self.shift

    @property
    def laplace(self) -> bool:
        return isinstance(self.mechanism.pair().noise, LaplaceNoise)

    @property
    def extent(self) -> tuple[float, float]:
        beyond = (5.0 if self.laplace else 3.5) * self.scale
        return -beyond, self.shift + beyond

    @property
    def curves(self) -> Curves:
        x = np.unique(np.r_[np.linspace(*self.extent, 401), 0.0, self.shift])
        return Curves(x, self._density(x), self._density(x - self.shift))

    def _density(self, x: Array) -> Array:
        z = x / self.scale
        if self.laplace:
            return np.asarray(np.exp(-np.abs(z)) / (2.0 * self.scale))
        return np.asarray(np.exp(-0.5 * z**2) / (math.sqrt(2.0 * math.pi) * self.scale))

    def above(self, threshold: float) -> tuple[float, float]:
        return self.mechanism.pair().above(threshold / self.shift)

    def draw(self, uniform: Array, present: Bools) -> Array:
        u = np.maximum(uniform, 2.0**-54)
        z = np.sign(u - 0.5) * -np.log1p(-np.abs(2.0 * u - 1.0)) if self.laplace else ndtri(u)
        return np.asarray(self.scale * z + np.where(present, self.shift, 0.0))

    def delta(self, epsilon: float) -> float:
        return min(math.exp(self.mechanism.pair().log_delta(epsilon)) * (1.0 + 1e-9), 1.0)

    def rounded(self, step: float) -> "StepLaws":
        """The output rounded to the nearest multiple of `step`, and kept within 20 scales of both centres.

        Post-processing: δ(ε) is at most what it was. The multiples next to the ends stand for all that lies beyond.

        Raises:
            ValueError: there are more than MOST_STEPS of them.
        """
        reach = 20.0 * self.scale
        first, last = math.floor(-reach / step), math.ceil((self.shift + reach) / step)
        if last - first > MOST_STEPS:
            raise ValueError(
                f"Rounding to multiples of {step:g} leaves {last - first:,d} outputs, more than {MOST_STEPS:,d}: "
                f"round to {(self.shift + 2.0 * reach) / (0.9 * MOST_STEPS):.2g} or more, or to 0 for no rounding."
            )
        edges: Array = (np.arange(float(first), last + 2.0) - 0.5) * step
        ends = edges / self.shift
        ends[0], ends[-1] = -math.inf, math.inf
        cells = self.mechanism.pair().cells(ends)
        return StepLaws(edges, cells.mass, np.maximum(cells.mass + cells.gain, 0.0))


@dataclass(frozen=True, eq=False)
class StepLaws(Laws):
    """One of a few outcomes: numbers, or candidates.

    Attributes:
        edges: between which each outcome is drawn, ascending, (n + 1,); it stands in their middle.
        without, present: probabilities, (n,) each.
    """

    edges: Array
    without: Array
    present: Array

    @property
    def outcomes(self) -> Array:
        return np.asarray(0.5 * (self.edges[:-1] + self.edges[1:]))

    @property
    def extent(self) -> tuple[float, float]:
        likely = np.flatnonzero(np.maximum(self.without, self.present) > LEAST)
        return float(self.edges[likely[0]]), float(self.edges[likely[-1] + 1])

    @property
    def curves(self) -> Curves:
        low, high = self.extent
        first, last = np.searchsorted(self.edges, (low, high))
        edges = self.edges[first : last + 1]
        sides = (np.repeat(mass[first:last] / np.diff(edges), 2) for mass in (self.without, self.present))
        return Curves(np.repeat(edges, 2)[1:-1], *map(np.asarray, sides))

    def above(self, threshold: float) -> tuple[float, float]:
        beyond = self.outcomes > threshold
        return float(self.without[beyond].sum()), float(self.present[beyond].sum())

    def draw(self, uniform: Array, present: Bools) -> Array:
        last = self.without.size - 1
        places = [
            np.minimum(np.searchsorted(np.cumsum(side), uniform, side="right"), last)
            for side in (self.without, self.present)
        ]
        return self.outcomes[np.where(present, places[1], places[0])]

    def delta(self, epsilon: float) -> float:
        ratio = math.exp(min(epsilon, 700.0))
        ways = (self.present - ratio * self.without, self.without - ratio * self.present)
        most = max(float(np.maximum(way, 0.0).sum()) for way in ways)
        return min(most + _ROUNDING, 1.0)

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of any outcome, either way; inf where one world alone can have it."""
        there = (self.present > 0.0) | (self.without > 0.0)
        with np.errstate(divide="ignore"):
            return float(np.abs(np.log(self.present[there]) - np.log(self.without[there])).max())


def answers(mechanism: RandomisedResponse, people: int) -> StepLaws:
    """The number of "yes" among `people` reports of randomised response, if all of them mean "no", and if "yes".

    The count tells as much as the reports do: its loss is that of `people` steps of the mechanism, exactly.
    """
    count = np.arange(people + 1)
    no, yes = (binom.pmf(count, people, p) for p in (1.0 - mechanism.truth, mechanism.truth))
    return StepLaws(np.arange(people + 2.0) - 0.5, np.asarray(no), np.asarray(yes))


def chosen(scores: Array, *, scale: float, change: float) -> StepLaws:
    """The candidate with the largest score after Gumbel noise (the exponential mechanism), and the worst neighbour.

    Candidate j wins with probability proportional to exp(u_j/scale) (McSherry & Talwar 2007). With the person the
    scores are `scores`; without them each score is another by at most `change`. Of all these data sets, the one here
    has the largest privacy loss. It is among the 2^n in which every score moves by the whole change, for the loss of an
    outcome rises or falls in each score: all of them are tried.

    Args:
        scores: u, shape (n,), n from 2 to 12.
        scale: of the noise, > 0; the mechanism is (2 change/scale)-DP whatever the scores are.
        change: what the people in question change of each score, at most; ≥ 0.
    """
    if not 2 <= scores.size <= 12:
        raise ValueError(f"Expected scores of 2 to 12 candidates, found {scores.size}: all their moves are tried.")
    _validate.positive("scale", scale)
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=scores.size)))
    log_present = scores / scale - logsumexp(scores / scale)
    moved = (scores + change * signs) / scale
    log_without = moved - logsumexp(moved, axis=1, keepdims=True)
    loss = np.abs(log_present - log_without).max(axis=1)
    worst = log_without[int(loss.argmax())]
    return StepLaws(np.arange(scores.size + 1.0) - 0.5, np.exp(worst), np.exp(log_present))
