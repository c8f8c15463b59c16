"""Many rarely sampled steps on two grids: a fine one for what happens every time, a coarse one for the rare large loss.

At small q the loss of a step is about as large as q nearly always and some million times larger once in a while. One
grid would need the interval of the first and the reach of the second. So outputs are called large above a threshold:

* above: (P, Q) is dominated by R ⊗ S, where R shows a large output or else only that it was not large, and S shows
  a small output whether there was one or not (dropping it where R shows a large one gives (P, Q) back). T steps
  are dominated by Rᵀ ⊗ Sᵀ.
* below: with N of T outputs large, T − N small ones are shown. Where N ≤ m, Rᵀ ⊗ Sᵀ⁻ᵐ is got from them by leaving some
  out, so δ(ε) is at least its δ(ε) less Pr[N > m].

Sᵀ is composed on the fine grid with several tilts, each of which resolves its neighbourhood; bounds on each mass (its
computed value plus or minus the error) are put on the coarse grid by chords and tangents, as `privacy_loss` does, and
composed with Rᵀ.
"""

import math
from dataclasses import dataclass, replace
from typing import TypeGuard

import numpy as np
from scipy.special import ndtr, ndtri

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.composed_loss import ComposedLoss
from dpviz.accounting.pld.loss_transform import compose, masses_of
from dpviz.accounting.pld.plan import Aim
from dpviz.accounting.pld.privacy_loss import LossDistribution, discretise, lower_corners
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.mechanisms.pair import UNIT

LARGE_SHARE = 3e-5  # of the steps, about, that count as large
MOST_LARGE = 2.0  # expected number of large ones
FEWEST_STEPS = 3
LEAST_NOISE, MOST_NOISE = 0.3, 1.1  # with less noise even a threshold says nothing: it lies where no loss is yet
FURTHEST_BELOW = -25.0
MOST_OFTEN = 1e-3  # sample rate up to which there are two scales


@dataclass(frozen=True, slots=True)
class OutputSplit:
    """A step parted at an output: probabilities of a large one, and what "not large" says.

    Attributes:
        threshold: outputs above it are large.
        large: probability of a large output under P.
        quiet: ln of the likelihood ratio of "not large", ≤ 0.
    """

    threshold: float
    large: float
    quiet: float


def worth_it(mechanism: Mechanism, steps: float) -> TypeGuard[SampledGaussian]:
    """Whether the losses of a step differ by so much that two grids are quicker than one (about e^(8/σ) times)."""
    if not isinstance(mechanism, SampledGaussian):
        return False
    rare = mechanism.sample_rate <= MOST_OFTEN and LEAST_NOISE <= mechanism.noise_multiplier <= MOST_NOISE
    return rare and steps >= FEWEST_STEPS


def split_of(mechanism: SampledGaussian, steps: float) -> OutputSplit:
    sigma, q = mechanism.noise_multiplier, mechanism.sample_rate
    share = min(LARGE_SHARE, MOST_LARGE / steps)
    z = float(-sigma * ndtri(share))
    large_q = float(ndtr(-z / sigma))
    gain = q * (float(ndtr((1.0 - z) / sigma)) - large_q)
    return OutputSplit(z, large_q + gain, math.log1p(-gain / (1.0 - large_q)))


def most_large(split: OutputSplit, steps: float, probability: float) -> tuple[float, float]:
    """m and a bound on Pr[N > m] that is at most `probability`, by Chernoff."""
    mean = steps * split.large

    def log_tail(m: float) -> float:  # Pr[N ≥ m] for a binomial, by its Poisson bound
        return m - mean - m * math.log(m / mean) if m > mean else 0.0

    m = math.ceil(mean)
    while log_tail(m + 1.0) > math.log(probability) and m < steps:
        m += 1
    return float(m), math.exp(log_tail(m + 1.0)) * (1 + 1e-9)


def rounded_outwards(pld: LossDistribution, side: str) -> LossDistribution:
    """With all mass that rounding may have put at a neighbour moved up above, and down below: none is in doubt."""
    up = side.endswith("above")
    doubt = pld.shift / -math.expm1(-pld.interval)
    moved = np.minimum(doubt, pld.mass)
    ends = (0, 1) if up else (1, 0)
    mass = np.pad(pld.mass - moved, ends) + np.pad(doubt if up else moved, ends[::-1])
    rounding, shift = np.pad(pld.rounding, ends), np.zeros(mass.size)
    return replace(pld, start=pld.start - ends[0], mass=mass, rounding=rounding, shift=shift)


def _small(split: OutputSplit, side: str) -> float:
    """Probability of a small output, under P for removal and under Q for addition."""
    return (1.0 - split.large) * (1.0 if side.startswith("remove") else math.exp(-split.quiet))


def small_part(
    mechanism: SampledGaussian, split: OutputSplit, interval: float, tail: float, side: str
) -> LossDistribution:
    """S above or below; `side` names a distribution of `Brackets`."""
    whole = getattr(discretise(mechanism, interval, tail, -math.inf, split.threshold), side)
    pld, probability = rounded_outwards(whole, side), _small(split, side)
    mass = pld.mass / probability
    rounding = pld.rounding / probability + 8 * UNIT * mass
    anchor = pld.anchor - split.quiet if side.startswith("remove") else pld.anchor + split.quiet
    return replace(pld, anchor=anchor, mass=mass, rounding=rounding, infinite=pld.infinite / probability)


def large_part(
    mechanism: SampledGaussian, split: OutputSplit, interval: float, tail: float, side: str
) -> LossDistribution:
    """R above or below: "not large" is one atom, exactly on the grid."""
    pld: LossDistribution = getattr(discretise(mechanism, interval, tail, split.threshold, math.inf, split.quiet), side)
    first, last = min(pld.start, 0), max(pld.start + pld.mass.size, 1)
    ends = (pld.start - first, last - pld.start - pld.mass.size)
    mass, rounding, shift = (np.pad(part, ends) for part in (pld.mass, pld.rounding, pld.shift))
    mass[-first] += _small(split, side)
    rounding[-first] += 8 * UNIT * _small(split, side)
    return replace(pld, start=first, mass=mass, rounding=rounding, shift=shift)


def coarsened_above(loss: float, interval: float, mass: Array, infinite: float, ratio: int) -> LossDistribution:
    """The distribution with atoms `mass` at loss + i·interval, put on every ratio-th point by chords."""
    cell, r = np.divmod(np.arange(mass.size), ratio)
    whole = np.zeros(-(-mass.size // ratio) + 1)  # all terms are positive, so that errors stay relative
    left = np.expm1((ratio - r) * interval) / math.expm1(ratio * interval)
    right = np.exp((ratio - r) * interval) * np.expm1(r * interval) / math.expm1(ratio * interval)
    whole[:-1] += np.bincount(cell, mass * left, minlength=whole.size - 1)
    whole[1:] += np.bincount(cell, mass * right, minlength=whole.size - 1)
    terms = min(ratio, mass.size)  # in one sum
    return LossDistribution(
        loss, ratio * interval, 0, whole, 2 * UNIT * (terms + 16) * whole, np.zeros(whole.size), infinite
    )


def coarsened_below(loss: float, interval: float, mass: Array, ratio: int) -> LossDistribution:
    """The same from below, by tangents; `ratio` is even.

    Losses far below 0, where 1 + excess has no digits, are left out.
    """
    dropped = min(max(math.ceil((FURTHEST_BELOW - loss) / interval), 0), mass.size - 1)
    loss, mass = loss + dropped * interval, mass[dropped:]
    if loss < FURTHEST_BELOW or loss + mass.size * interval > -10.0 * FURTHEST_BELOW:
        return LossDistribution(loss, ratio * interval, 0, np.zeros(1), np.zeros(1), np.zeros(1), 0.0)
    count = -(-mass.size // ratio) + 2  # an empty cell at each end
    first = loss - ratio * interval
    place = ratio + np.arange(mass.size)
    at, half = first + place * interval, place // (ratio // 2)
    masses, gains = (
        np.asarray(np.bincount(half, part, minlength=2 * count), dtype=np.float64)
        for part in (mass * np.exp(-at), -mass * np.expm1(-at))
    )
    node = first + np.arange(count + 1) * (ratio * interval)
    excess = np.expm1(node)
    corners = lower_corners(excess, np.diff(excess), 0.0, masses, gains)
    cell = masses[0::2] + masses[1::2]
    moved = 32 * UNIT * (min(ratio, mass.size) + 4) * cell * (1.0 + np.abs(excess[:-1]) / np.diff(excess))
    shift = np.zeros(node.size)
    shift[:-1] += moved
    shift[1:] += moved
    shift = 3.0 * shift * -math.expm1(-ratio * interval) * np.exp(node)
    scaled = corners * np.exp(node)
    return LossDistribution(first, ratio * interval, 0, scaled, 32 * UNIT * scaled, shift, 0.0)


@dataclass(frozen=True, slots=True)
class Scales:
    """What to compose with: intervals (coarse = ratio·fine), tilts of the small part, whether it counts from below."""

    fine: float
    ratio: int
    tilts: tuple[float, ...]
    small_below: bool

    @property
    def coarse(self) -> float:
        return self.fine * self.ratio


@remembered
def _coarse_small(
    mechanism: SampledGaussian, split: OutputSplit, steps: float, scales: Scales, tail: float, side: str
) -> LossDistribution:
    pld = small_part(mechanism, split, scales.fine, tail, side)
    loss, upper, lower, beyond = masses_of(pld, steps, scales.tilts)
    if side.endswith("below"):
        return coarsened_below(loss, scales.fine, lower, scales.ratio)
    upper[0] += max(1.0 - float(lower.sum()), 0.0)  # all that may lie elsewhere, but for what is beyond
    return coarsened_above(loss, scales.fine, upper, min(beyond, 1.0), scales.ratio)


def composed(
    mechanism: SampledGaussian,
    split: OutputSplit,
    steps: float,
    scales: Scales,
    aim: Aim,
    tail: float,
    side: str,
    small: float,
) -> ComposedLoss:
    """Rᵀ ⊗ Sˢᵐᵃˡˡ on the coarse grid; `side` names a distribution of `Brackets`."""
    rare = large_part(mechanism, split, scales.coarse, tail, side)
    parts, counts = [rare], [steps]
    if side.endswith("above") or (scales.small_below and small >= 1.0):
        often = _coarse_small(mechanism, split, small, scales, tail, side)
        if often.mass.any():  # else nothing was resolved from below
            parts, counts = [rare, often], [steps, 1.0]
    return compose(parts, np.array([counts]), aim.tilt, aim.log_wrap)[0]


def reach_of_small(mechanism: SampledGaussian, split: OutputSplit, steps: float) -> tuple[float, float]:
    """Standard deviation of Sᵀ and the largest loss of S; estimates."""
    sigma = mechanism.noise_multiplier
    z = np.linspace(-9.0 * sigma, split.threshold, 801)
    loss = mechanism.pair().loss(z)
    weight = np.exp(-0.5 * (z / sigma) ** 2 + loss)
    weight /= weight.sum()
    mean = float(weight @ loss)
    return math.sqrt(steps * float(weight @ (loss - mean) ** 2)), float(loss[-1])


def _fine_interval(mechanism: SampledGaussian, steps: float, slope: float, width: float) -> float:
    """Interval that costs about a tenth of `width` where δ falls like exp(−slope·ε).

    Chords add interval²/6 to the variance of a loss, and no more than interval·E|X − 1| where it is mostly far below
    the interval.
    """
    sigma, q = mechanism.noise_multiplier, mechanism.sample_rate
    budget = 0.2 * width / ((1.0 + slope) * steps)
    return max(math.sqrt(6.0 * budget), budget / (2.0 * q * float(1.0 - 2.0 * ndtr(-0.5 / sigma))))


def scales_for(
    mechanism: SampledGaussian, split: OutputSplit, steps: float, epsilon: float, delta: float, width: float
) -> Scales:
    """Intervals for a width near ε; estimates."""
    slope = -math.log(delta) / max(epsilon, 1e-6)
    deviation, largest = reach_of_small(mechanism, split, steps)
    window = 18.0 * deviation + 6.0 * largest
    fine = min(max(_fine_interval(mechanism, steps, slope, width), window / 2**18), window / 512)
    budget = 0.2 * width / (1.0 + slope)
    coarse = max(math.sqrt(6.0 * budget), budget / deviation)
    if coarse > 0.5 * deviation and slope * deviation**2 > 0.2 * width:  # the small part is seen from below as well
        coarse = 0.5 * deviation
    coarse = min(coarse, math.sqrt(6.0 * budget / (steps * split.large)))
    ratio = 2 * max(1, round(coarse / fine / 2))
    tilts = tuple(min(part / deviation, 15.0 / largest) for part in (0.0, 3.5, 7.0))
    return Scales(fine, ratio, tuple(dict.fromkeys(tilts)), coarse <= 0.5 * deviation)
