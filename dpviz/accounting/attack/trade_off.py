"""Risks read off the whole privacy curve δ(ε) of composed steps, each from above.

    >>> from dpviz.mechanisms import SampledGaussian
    >>> step = SampledGaussian(noise_multiplier=4.0, sample_rate=0.01)
    >>> f"{best_advantage(mechanism=step, steps=10_000):.4f}"
    '0.1010'
    >>> f"{best_tpr(mechanism=step, steps=10_000, fpr=0.01):.4f}"
    '0.0191'
    >>> mu, regret = gaussian_mu(mechanism=step, steps=10_000)
    >>> f"{mu:.3f} {regret:.1e}"
    '0.255 2.4e-04'

Every pair (ε, δ) of the curve bounds every attack, and each risk is the least that any pair allows. So a curve that is
known at some ε only, and from above, never says too little. The grid that shows it is aimed at the ε that decides.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from scipy.special import expit, log_ndtr, logit

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.attack.membership import roc_bound
from dpviz.accounting.methods import AnyStep, Tight, one_mechanism
from dpviz.accounting.pld.grid import ADD, REMOVE, delta_of_row, in_turn, too_large, without_grid
from dpviz.accounting.pld.loss_transform import compose
from dpviz.accounting.pld.plan import aim_at_epsilon, rough_epsilon, rough_log_delta, tail_for
from dpviz.accounting.pld.privacy_loss import discretise, pair_of
from dpviz.accounting.pld.read_off import delta_at
from dpviz.mechanisms import Mechanism
from dpviz.mechanisms.pair import gaussian_log_delta

POINTS = 513  # of a curve, and again about the ε that decides
LAST_EPSILON = 3e5  # of a curve; e^ε does not overflow between two of its points
MOST_CELLS = 2**18  # of one step's grid: more take long, and the look without a tilt gains little
FINER = 0.25  # of the interval that ε(δ) takes: δ is then known to some 1e-4 of itself
LEAST_TILT = 1e-3  # times the largest ε: less weighs all of a curve alike, as no tilt does
MIDDLE = 0.4  # of the largest ε of a curve: where its grid is aimed
LEAST_DELTA = 1e-10  # where curves end, or far below the rate that is asked for
MOST_MU = 1e3


@remembered
def upper_deltas(mechanism: Mechanism, steps: int, near: float, low: float, high: float) -> Array:
    """δ from above at POINTS equally spaced ε from `low` to `high`, resolved best at `near`."""
    if steps == 0 or not mechanism.releases:
        return np.zeros(POINTS)
    epsilon, apart = np.linspace(low, high, POINTS), mechanism.total_variation
    most = min(-math.expm1(steps * math.log1p(-apart)) * (1.0 + 1e-9), 1.0) if apart < 1.0 else 1.0
    if not without_grid(mechanism, steps):
        upper = _on_a_grid(mechanism, float(steps), near, epsilon)
    elif mechanism.as_gaussian is None and not in_turn(mechanism) and too_large(mechanism):
        upper = np.ones(POINTS)
    else:
        upper = np.array([delta_of_row([mechanism], np.array([float(steps)]), e)[1] for e in epsilon.tolist()])
    return np.minimum(np.minimum.accumulate(upper), most)  # δ falls


def _on_a_grid(mechanism: Mechanism, steps: float, near: float, epsilon: Array) -> Array:
    """The same from one grid: without a tilt, which shows all δ above 1e-10, and with one for those near `near`."""
    counts = np.array([steps])
    delta = math.exp(min(max(rough_log_delta([mechanism], counts, near)[0], -600.0), -5.0))
    tail = tail_for(steps, delta)
    remove = aim_at_epsilon([mechanism], counts, REMOVE, near, delta)
    low, high = pair_of(mechanism).loss(np.array(pair_of(mechanism).reach(tail))).tolist()
    least = (high - low) / MOST_CELLS
    interval = max(
        FINER * remove.interval, least
    )  # of both: what adding shows may end below `near`, and asks for too fine a grid
    add = aim_at_epsilon([mechanism], counts, ADD, near, delta, interval)
    both = discretise(mechanism, interval, tail)
    directions = [both.remove_above] if pair_of(mechanism).symmetric else [both.remove_above, both.add_above]
    most = np.zeros(epsilon.shape)
    for pld, aim in zip(directions, (remove, add), strict=False):
        tilts = (0.0, aim.tilt) if aim.tilt * epsilon[-1] > LEAST_TILT else (0.0,)
        looks = [compose([pld], counts[None], tilt, aim.log_wrap)[0] for tilt in tilts]
        most = np.maximum(most, np.min([delta_at(look, epsilon, 1.0) for look in looks], axis=0))
    return most


def curve_at(mechanism: Mechanism, steps: int, epsilon: Array) -> Array:
    """δ from above at any ε ≥ 0, by chords of two curves: one to where δ is LEAST_DELTA, and one near 0."""
    last = _reach(mechanism, steps, LEAST_DELTA)
    most = np.ones(epsilon.shape)
    for high in (last, last / 16):
        upper = upper_deltas(mechanism, steps, MIDDLE * high, 0.0, high)
        points = np.linspace(0.0, high, POINTS)
        place = np.searchsorted(points, epsilon, side="right") - 1
        inside = np.clip(place, 0, POINTS - 2)
        part = np.expm1(np.clip(epsilon - points[inside], 0.0, points[1])) / math.expm1(points[1])
        chord = upper[inside] + part * (upper[inside + 1] - upper[inside])  # δ is convex in e^ε
        most = np.minimum(most, np.where(place < POINTS - 1, chord, upper[POINTS - 1]))
    return most


def _reach(mechanism: Mechanism, steps: int, delta: float) -> float:
    """An ε > 0 at which δ is about `delta`, and hardly above it."""
    if steps == 0 or not mechanism.releases:
        return 1.0
    return min(max(1.05 * rough_epsilon(mechanism, steps, delta), 1e-6), LAST_EPSILON)


@dataclass(frozen=True)
class Risk(ABC):
    """One reading of the curve.

    Attributes:
        target: what `dpviz.solve` calls the largest that may be.
        given: the arguments that it needs beside.
        most: what it cannot exceed.
    """

    target: ClassVar[str]
    given: ClassVar[tuple[str, ...]]
    most: ClassVar[float] = 1.0

    @abstractmethod
    def each(self, epsilon: Array, delta: Array) -> Array:
        """What each pair allows; the least of them bounds the risk."""

    def check(self, value: float) -> float:
        """A target as it is compared: what no noise at all could reach is refused."""
        return _validate.scalar(self.target, _validate.open_probability(self.target, value))

    def excess(self, value: float) -> float:
        """The part of it that noise takes away; the search for the noise goes by its logarithm."""
        return value

    @property
    def least_delta(self) -> float:
        return LEAST_DELTA

    def of(self, mechanism: Mechanism, steps: int) -> float:
        """The risk from above: read off a whole curve, and again off one aimed at the ε that decides."""
        last = _reach(mechanism, steps, self.least_delta)
        low, high, near, least = 0.0, last, MIDDLE * last, math.inf
        for _ in range(2):
            allowed = self.each(np.linspace(low, high, POINTS), upper_deltas(mechanism, steps, near, low, high))
            best, least = float(np.linspace(low, high, POINTS)[allowed.argmin()]), min(least, float(allowed.min()))
            low, high = max(best - last / 16, 0.0), best + last / 16
            near = max(best, last / 16)  # a grid for smaller ε would be needlessly fine
        return least


@dataclass(frozen=True)
class Advantage(Risk):
    """TPR − FPR of the best attack: δ at ε = 0, the total variation distance."""

    target: ClassVar[str] = "target_advantage"
    given: ClassVar[tuple[str, ...]] = ()

    def each(self, epsilon: Array, delta: Array) -> Array:
        return np.asarray((np.expm1(epsilon) + 2.0 * delta) / (np.exp(epsilon) + 1.0))

    def of(self, mechanism: Mechanism, steps: int) -> float:
        return max(2.0 * best_accuracy(mechanism=mechanism, steps=steps).upper - 1.0, 0.0)


@dataclass(frozen=True)
class Detection(Risk):
    """TPR of the best attack at one FPR (Dong, Roth, Su 2022, Proposition 2.13; `profile_roc`).

    Attributes:
        fpr: false positive rate, in (0, 1).
    """

    target: ClassVar[str] = "target_tpr"
    given: ClassVar[tuple[str, ...]] = ("fpr",)
    fpr: float

    def each(self, epsilon: Array, delta: Array) -> Array:
        return roc_bound(self.fpr, epsilon=epsilon, delta=delta)

    def check(self, value: float) -> float:
        rate = Risk.check(self, value)
        if rate <= self.fpr:
            name = self.given[0]
            raise ValueError(
                f"Expected {self.target}={rate:.12g} > {name}={self.fpr:.12g}: an attack that sees nothing has that."
            )
        return rate

    def excess(self, value: float) -> float:
        return value - self.fpr

    @property
    def least_delta(self) -> float:
        return min(LEAST_DELTA, 1e-3 * self.fpr)


@dataclass(frozen=True)
class Reconstruction(Detection):
    """Chance to reconstruct a record, of an attacker who succeeds with chance κ unseen: TPR at FPR = κ.

    Hayes, Mahloujifar, Balle 2023 (ReRo); Kulynych et al. 2024.
    """

    target: ClassVar[str] = "target_reconstruction"
    given: ClassVar[tuple[str, ...]] = ("prior",)


@dataclass(frozen=True)
class Belief(Risk):
    """Belief in membership that the attacker may come to, but for outputs of probability δ.

    `posterior_belief` of each pair of the curve: the argument there holds for every one of them.

    Attributes:
        prior: belief before, in (0, 1).
        failure: probability of the outputs that are left out, in (0, 1).
    """

    target: ClassVar[str] = "target_posterior"
    given: ClassVar[tuple[str, ...]] = ("prior", "delta")
    prior: float
    failure: float

    def each(self, epsilon: Array, delta: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(expit(epsilon - np.log1p(-np.minimum(delta / self.failure, 1.0)) + logit(self.prior)))

    def check(self, value: float) -> float:
        belief = Risk.check(self, value)
        if belief <= self.prior:
            raise ValueError(f"Expected target_posterior={belief:.12g} > prior={self.prior:.12g}, the belief before.")
        return belief

    def excess(self, value: float) -> float:
        return float(logit(value) - logit(self.prior))

    @property
    def least_delta(self) -> float:
        return min(LEAST_DELTA, 1e-3 * self.failure)


@dataclass(frozen=True)
class GaussianDP(Risk):
    """μ of `gaussian_mu`.

    Attributes:
        delta: what δ are compared down to, in (0, 1).
    """

    target: ClassVar[str] = "target_mu"
    given: ClassVar[tuple[str, ...]] = ("delta",)
    most: ClassVar[float] = math.inf
    delta: float

    def each(self, epsilon: Array, delta: Array) -> Array:
        return np.asarray(_mu_above(epsilon, delta, self.delta))

    def check(self, value: float) -> float:
        return _validate.number(target_mu=value)

    def of(self, mechanism: Mechanism, steps: int) -> float:
        return _mu_of(mechanism, steps, self.delta).mu


RISKS: tuple[type[Any], ...] = (Advantage, Detection, Belief, Reconstruction, GaussianDP)


def best_advantage(*, steps: int, **step: Unpack[AnyStep]) -> float:
    """The largest TPR − FPR of any attack on membership, from above; arguments as for `best_accuracy`."""
    return Advantage().of(*_checked(step, steps))


def best_tpr(*, steps: int, fpr: float, **step: Unpack[AnyStep]) -> float:
    """The largest true positive rate of any attack on membership at one false positive rate, from above.

    Args:
        steps, step: as for `best_accuracy`.
        fpr: in (0, 1). With an attacker's chance to reconstruct a record unseen in its place, the chance afterwards.
    """
    return Detection(_validate.number(fpr=fpr)).of(*_checked(step, steps))


class GaussianMu(NamedTuple):
    """μ of Gaussian differential privacy, from above, and how much it says too much.

    Attributes:
        mu: μ ≥ 0; inf where no finite one was found.
        regret: the least shift of both error rates that brings the curve of μ above the mechanism's own; 0 where the
            mechanism is a Gaussian one. Of the curve from above: the accountant's own width is not in it.
    """

    mu: float
    regret: float


def gaussian_mu(*, steps: int, delta: float = 1e-5, **step: Unpack[AnyStep]) -> GaussianMu:
    """The least μ whose curve has every (ε, δ(ε)) of the mechanism with δ(ε) > `delta`, from the whole privacy curve.

    So no attack has a TPR above Φ(Φ⁻¹(FPR) + μ) + `delta` (Dong, Roth, Su 2022, Corollary 2.13 and Proposition 2.13).
    At every δ, down to 0, the least μ of sampled steps is √T/σ, as if everybody took part in each: events decide it
    that are as rare as an example that is drawn every time. Regret is Δ = max (δ_μ(ε) − δ(ε))/(1 + e^ε):
    a shift by Δ adds (1 + e^ε)Δ to each δ (regret: Gomez et al. 2025).

    Args:
        steps, step: as for `best_accuracy`.
        delta: down to which δ are compared, in (0, 1).
    """
    return _mu_of(*_checked(step, steps), _validate.number(delta=delta))


def _checked(step: AnyStep, steps: int) -> tuple[Mechanism, int]:
    mechanism = one_mechanism(**step)
    Tight().check(mechanism)
    return mechanism, int(mechanism.counted(_validate.whole(0, steps=steps)))


def _mu_of(mechanism: Mechanism, steps: int, slack: float) -> GaussianMu:
    sigma = mechanism.as_gaussian
    if steps == 0 or not mechanism.releases:
        return GaussianMu(0.0, 0.0)
    if sigma is not None:
        return GaussianMu(math.sqrt(steps) / sigma * (1.0 + 1e-15), 0.0)
    last = _reach(mechanism, steps, slack)
    epsilon, delta = np.linspace(0.0, last, POINTS), upper_deltas(mechanism, steps, MIDDLE * last, 0.0, last)
    mu = _mu_above(epsilon, delta, slack)
    if not math.isfinite(mu):
        return GaussianMu(math.inf, math.inf)
    gap = np.exp(gaussian_log_delta(1.0 / mu, epsilon)) - delta
    return GaussianMu(mu, max(float((gap * expit(-epsilon)).max()), 0.0))


def _mu_above(epsilon: Array, delta: Array, least: float) -> float:
    """The least μ with δ ≤ δ_μ as long as δ > least, between the points too; to 1e-9, rounded up; inf for none."""
    if not delta[-1] <= least:
        return math.inf
    shown = int(np.argmax(delta <= least)) + 1
    epsilon, delta = epsilon[:shown], delta[:shown]
    low, high = 1e-9, MOST_MU
    if not _gaussian_above(high, epsilon, delta):
        return math.inf
    while high > low * (1.0 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if _gaussian_above(middle, epsilon, delta) else (middle, high)
    return high


def _gaussian_above(mu: float, epsilon: Array, delta: Array) -> bool:
    """Whether δ_μ lies above a curve that is at most `delta` at the points and convex in e^ε, as every δ is.

    Between two points the curve lies below its chord and δ_μ above its two tangents: the chord is compared with them
    where they cross. Slopes, −Φ(−ε/μ − μ/2), and widths are in units of e^ε at the left point.
    """
    height = np.exp(gaussian_log_delta(1.0 / mu, epsilon))
    log_slope = log_ndtr(-epsilon / mu - mu / 2.0)
    left, right = np.exp(epsilon[:-1] + log_slope[:-1]), np.exp(epsilon[:-1] + log_slope[1:])
    width = np.expm1(np.diff(epsilon))
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = np.where(left > right, (height[:-1] - height[1:] - right * width) / (left - right), 0.0)
    crossing = np.clip(crossing, 0.0, width)
    chord = delta[:-1] + crossing / width * np.diff(delta)
    return bool((delta <= height).all() and (chord <= height[:-1] - left * crossing).all())
