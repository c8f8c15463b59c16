"""Batches of a pass over the data: shuffled anew in every epoch, or cut once for all epochs.

>>> Shuffled(noise_multiplier=1.1, batches=234).text
'Gaussian, σ = 1.1, 234 batches of a shuffled pass'
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr

from dpviz._arrays import Array, ArrayLike
from dpviz._remember import remembered
from dpviz.mechanisms.loss_pairs import DiscretePair
from dpviz.mechanisms.mechanism import Adjacency, Mechanism, RenyiCurve
from dpviz.mechanisms.pair import UNIT, DominatingPair, GaussianNoise, SampledPair
from dpviz.mechanisms.random_allocation import RandomAllocation
from dpviz.mechanisms.sampled_gaussian import SampledGaussian

_CELLS = 4096
_LEAST_NOISE = 0.04  # σ below which no cell is likely under both


@dataclass(frozen=True, slots=True)
class FixedPartition(Mechanism):
    """One epoch over batches that are the same in all epochs, and that an attacker knows: those of a file's order.

    Exactly one batch has the example in it, and the attacker knows which: an epoch is one Gaussian step, and E of them
    are one with σ/√E. Others keep their places. Who does not know how a loader makes its batches must count this one.

    Attributes:
        noise_multiplier: σ, noise standard deviation ÷ clipping norm C; dimensionless, > 0.
    """

    adjacency: ClassVar[Adjacency] = Adjacency.ZERO_OUT
    kind: ClassVar[str] = "partition"
    noise_multiplier: float

    def pair(self) -> DominatingPair:
        return SampledPair(GaussianNoise(self.noise_multiplier), 1.0)

    def renyi(self) -> RenyiCurve | None:
        return SampledGaussian(self.noise_multiplier).renyi()

    @property
    def as_gaussian(self) -> float | None:
        return self.noise_multiplier


@dataclass(frozen=True, slots=True)
class SecretPartition(RandomAllocation):
    """A whole run over batches that are cut once: each example joins one of t, uniformly and in secret, for E epochs.

    The noise of a batch's E sums averages: the run is one epoch of `RandomAllocation` at σ/√E. One step is one run;
    several are cut anew each. Several runs of one epoch are refused: they are those of `RandomAllocation`, far cheaper
    than the epochs of one run that `steps` looks like.

    Attributes:
        epochs: E; whole, ≥ 1.
    """

    kind: ClassVar[str] = "secret"
    epochs: int = 1

    def counted(self, steps: ArrayLike) -> Array:
        count = RandomAllocation.counted(self, steps)
        if self.epochs == 1 and (most := count.max(initial=0.0)) > 1.0:
            shown = f"{self.noise_multiplier:.6g}, {self.batches}"
            raise ValueError(
                f"Expected steps={most:.0f} to be 1 with “{self.title}”: one step is a whole run, and each run cuts "
                f"its batches anew. For {most:.0f} epochs over batches cut once, use SecretPartition({shown}, "
                f"epochs={most:.0f}) with steps=1; for batches cut anew in each of {most:.0f} epochs, "
                f"RandomAllocation({shown}) with steps={most:.0f}."
            )
        return count

    def _epoch(self) -> RandomAllocation:
        return RandomAllocation(self.noise_multiplier / math.sqrt(self.epochs), self.batches)

    def pair(self) -> DominatingPair:
        return self._epoch().pair()

    @property
    def least(self) -> Mechanism:
        return self._epoch().least

    @property
    def gaussian_above(self) -> float:
        return self._epoch().gaussian_above


@dataclass(frozen=True, slots=True)
class Shuffled(FixedPartition):
    """One epoch: the data are shuffled anew and cut into t batches of one size.

    An example that counts as nothing keeps its place, so that with the order given one of t sums moves by up to C. To
    tell the order tells no less (joint convexity): the upper end is the Gaussian mechanism once an epoch, a proof that
    leaves much. Where all others' gradients are −v and the example's is v, the t sums are P = (1/t) Σ N(2e_i, σ²I) with
    it and Q = (1/t) Σ N(e_i, σ²I) without it (Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang 2024, "How private
    are DP-SGD implementations?"). The lower end is what a function of these shows over all epochs (`_shown`).

    Attributes:
        batches: t, batches of an epoch; whole, 1 to 100,000.
    """

    kind: ClassVar[str] = "shuffled"
    most: ClassVar[Mapping[str, int]] = {"batches": 100_000}
    batches: int = 100

    @property
    def least(self) -> Mechanism:
        return _Attacked(self.noise_multiplier, self.batches) if self.batches > 1 else self


@dataclass(frozen=True, slots=True)
class _Attacked(Shuffled):
    """What a function of an epoch's sums shows of two data sets."""

    kind: ClassVar[str] = ""

    def pair(self) -> DominatingPair:
        return _shown(max(self.noise_multiplier, _LEAST_NOISE), self.batches)  # more noise shows less

    @property
    def least(self) -> Mechanism:
        return self

    @property
    def as_gaussian(self) -> float | None:
        return None

    def renyi(self) -> None:
        return None


@remembered
def _shown(sigma: float, batches: int) -> DiscretePair:
    """Cells of the largest sum, or, with more noise, of a sum of powers, whichever tends to show more."""
    p, q, doubt = (_largest if sigma < 1.0 else _powers)(sigma, batches)
    there = np.minimum(p, q) > 1e-290  # what is left out shows nothing
    p, q, doubt = p[there], q[there], doubt[there]
    loss = np.log(p / q)
    cell = np.floor((loss - loss.min()) / max(float(np.ptp(loss)), 1e-9) * _CELLS).astype(int)
    p, q, error = (np.bincount(cell, each).astype(np.float64) for each in (p, q, doubt * q))
    here = q > 0.0
    p, q, error = p[here], q[here], error[here]
    return DiscretePair(sigma, np.log(p / q), q, error + 8.0 * UNIT * q, -1.0)


def _largest(sigma: float, batches: int) -> tuple[Array, Array, Array]:
    """Probabilities under P and Q of cells of the largest sum, and their relative errors.

    It is at most z with probability Φ(z/σ)^(t−1) Φ((z − c)/σ).
    """
    z = np.linspace(-9.0 * sigma, 2.0 + 9.0 * sigma, _CELLS)

    def cells(centre: float) -> tuple[Array, Array]:
        log = np.append((batches - 1) * log_ndtr(z / sigma) + log_ndtr((z - centre) / sigma), 0.0)
        low, high = np.exp(log), -np.expm1(log)
        left = log < -0.7
        mass = np.where(left, np.diff(low, prepend=0.0), -np.diff(high, prepend=1.0))
        rounding = 2000.0 * UNIT * (1.0 + np.minimum(-log, 800.0)) * np.where(left, low, np.append(1.0, high[:-1]))
        return mass, rounding / np.maximum(mass, 1e-300)  # z rounds x² times, ln Φ(x) of it |ln Φ| times

    (p, p_doubt), (q, q_doubt) = cells(2.0), cells(1.0)
    return p, q, np.maximum(p_doubt, q_doubt)


def _powers(sigma: float, batches: int) -> tuple[Array, Array, Array]:
    """The same of Σ e^{2.5 x_j/σ²} over batches, each term rounded down to a whole multiple and their sum modulo m.

    Both are functions of the sums x_j. All that is added up is positive, so that relative errors do no more than add.
    """
    power, steps = 2.5 / sigma**2, _CELLS

    def term(centre: float) -> tuple[Array, float]:
        edges = np.log(np.arange(1, steps) / steps) + power * (2.0 + 4.5 * sigma)
        x = (edges / power - centre) / sigma
        low, high = np.append(ndtr(x), 1.0), np.append(1.0, ndtr(-x))
        left = np.append(x, 1.0) < 0.0
        mass = np.where(left, np.diff(low, prepend=0.0), -np.diff(high, append=0.0))
        doubt = float(np.max(400.0 * UNIT * np.where(left, low, high) / np.maximum(mass, 1e-300)))
        return np.pad(mass, (0, _CELLS - steps)), doubt

    (each, doubt), at = term(0.0), np.arange(_CELLS)
    while steps > 64 and 12.0 * math.sqrt(batches * float(at**2 @ each)) > _CELLS:
        steps //= 2
        each, doubt = term(0.0)
    total = np.eye(1, _CELLS)[0]
    for bit in range((batches - 1).bit_length()):
        each = _sums(each, each) if bit else each
        total = _sums(total, each) if (batches - 1) >> bit & 1 else total
    (p, p_doubt), (q, q_doubt) = term(2.0), term(1.0)
    error = batches * ((_CELLS + 8) * UNIT + max(doubt, p_doubt, q_doubt))
    return _sums(total, p), _sums(total, q), np.full(_CELLS, error)


def _sums(a: Array, b: Array) -> Array:
    """The law of the sum of two independent whole numbers, modulo how many there are."""
    total = np.append(np.convolve(a, b), 0.0)
    return np.asarray(total.reshape(2, -1).sum(axis=0))
