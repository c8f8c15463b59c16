"""The distribution of the privacy loss itself, to be drawn: of one sampled Gaussian step, and of T of them.

With P = (1 − q) N(0, σ²) + q N(1, σ²) and Q = N(0, σ²) the loss of a removed example is L = ln(P/Q) under P, of an
added one ln(Q/P) under Q (Abadi et al. 2016, §3.2). From its distribution follows δ(ε) = E[(1 − e^{ε − L})₊], at most
P(L > ε): of a loss beyond ε only the excess counts.

One step is exact, and so are any number of unsampled ones, which are one step with less noise. T sampled steps are
convolved on a grid that lies above the loss (`privacy_loss`): their δ is never too small, but for 1e-13. It is for the
eye; the tight accountant bounds δ from both sides.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.pld.privacy_loss import discretise
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_excess import log_sums
from dpviz.mechanisms.pair import UNIT

DIRECTIONS = ("remove", "add")
RESOLVED = 1e-13  # probabilities below are not resolved after T steps
LARGEST_GRID = 2**20
_TAIL = 12.0  # standard deviations of the noise
_POINTS = 4801  # at which one step's moments are summed
_FINE, _COARSE = 20.0, 5.0  # grid points to a standard deviation of one step's loss
_LARGEST_LOSS = 600.0  # whose exponential is still a number
_NATS = 36.0  # −ln of the probability that may lie outside the window, each side


@dataclass(frozen=True, slots=True, eq=False)
class LossDensity:
    """Density of the privacy loss L.

    Attributes:
        loss: values of L, shape (n,), ascending.
        density: probability per unit of L there, shape (n,); 0 where it is not resolved.
        beyond: P(L > ε).
        delta: δ(ε) of this direction.
        mean: E[L], the Kullback–Leibler divergence.
        exact: whether it is no convolution on a grid, whose probabilities below `RESOLVED` mean nothing.
    """

    loss: Array
    density: Array
    beyond: float
    delta: float
    mean: float
    exact: bool


def loss_density(
    mechanism: SampledGaussian, *, steps: int, epsilon: float, direction: str = "remove", points: int = 361
) -> LossDensity:
    """The loss of `steps` equal steps.

    Args:
        mechanism: one step, q > 0.
        steps: T ≥ 1, whole.
        epsilon: ε ≥ 0, for the tail and δ.
        direction: "remove": the example was in; "add": it was not.
        points: how many values of L are wanted, about.

    Raises:
        ValueError: q = 0 has no loss; the loss of several sampled steps is too large or too uneven for a grid.
    """
    count = _validate.whole(1, steps=steps)
    eps = _validate.number(epsilon=epsilon)
    _validate.choice("direction", direction, DIRECTIONS)
    if not mechanism.releases:
        raise ValueError("Expected sample_rate above 0: a step without examples has no privacy loss.")
    if mechanism.sample_rate == 1.0:
        return _one_step(SampledGaussian(mechanism.noise_multiplier / math.sqrt(count)), eps, direction, points)
    if count == 1:
        return _one_step(mechanism, eps, direction, points)
    return _read(*_convolved(mechanism, count, direction), eps, points)


def _outputs(mechanism: SampledGaussian, direction: str, points: int) -> tuple[Array, Array, Array]:
    """Outputs z, the loss and ln of the density at each, under the measure of the direction."""
    sigma, rate = mechanism.noise_multiplier, mechanism.sample_rate
    removed, away = direction == "remove", _TAIL * sigma
    shifted = removed and rate == 1.0
    z = np.linspace((1.0 if shifted else 0.0) - away, (1.0 if removed else 0.0) + away, points)
    if removed and not shifted and 2.0 * away < 1.0:  # with little noise nothing lies between the two parts of P
        z = np.concatenate([np.linspace(-away, away, points // 2), np.linspace(1.0 - away, 1.0 + away, points // 2)])
    loss = mechanism.pair().loss(z)
    log_density = -0.5 * ((z - shifted) / sigma) ** 2 - math.log(sigma * math.sqrt(2.0 * math.pi))
    if not removed:
        return z, -loss, log_density
    return z, loss, log_density if shifted else log_density + loss


def _one_step(mechanism: SampledGaussian, epsilon: float, direction: str, points: int) -> LossDensity:
    sigma, rate, pair = mechanism.noise_multiplier, mechanism.sample_rate, mechanism.pair()
    z, loss, log_density = _outputs(mechanism, direction, points)
    ratio = pair.noise.ratio(z)
    # dL/dz = ±(share of the sampled part in P)/σ²
    slope = math.log(rate) + ratio - pair.loss(z) - 2.0 * math.log(sigma)
    with np.errstate(over="ignore", under="ignore"):
        density = np.exp(log_density - slope)
    if direction == "remove":
        at = float(pair.output(epsilon))
        beyond, log_delta = pair.above(at)[1], pair.log_delta_removed(epsilon)
    else:
        at = float(pair.output(-epsilon))
        beyond, log_delta = pair.below(at)[0], pair.log_delta_added(epsilon)
        loss, density = loss[::-1], density[::-1]
    each, log_mass = _law(mechanism, direction)
    return LossDensity(loss, density, beyond, math.exp(log_delta), float(np.exp(log_mass) @ each), True)


def _law(mechanism: SampledGaussian, direction: str) -> tuple[Array, Array]:
    """Losses of one step and ln of their masses, which add up to 1: the trapezoidal rule."""
    z, loss, log_density = _outputs(mechanism, direction, _POINTS)
    top = float(log_density.max())
    mass = np.exp(log_density - top) * np.gradient(z)
    with np.errstate(divide="ignore"):
        return loss, np.log(mass / mass.sum())


@remembered
def _convolved(mechanism: SampledGaussian, steps: int, direction: str) -> tuple[float, float, Array, float]:
    """First loss, interval, masses and the mean of the convolution."""
    loss, log_mass = _law(mechanism, direction)
    mass = np.exp(log_mass)
    mean = float(mass @ loss)
    spread = math.sqrt(float(mass @ (loss - mean) ** 2))
    low, high = _window(loss - mean, log_mass, steps, spread)
    interval = max(spread / _FINE, (high - low) / LARGEST_GRID)
    furthest = float(np.abs(loss).max())
    if interval > spread / _COARSE or furthest > min(_LARGEST_LOSS, interval * LARGEST_GRID):
        raise ValueError(
            f"The loss of {steps} such steps is too large or too uneven to be shown on a grid: raise the noise σ, take "
            "fewer steps, or look at one step."
        )
    grid = getattr(discretise(mechanism, interval, _TAIL), f"{direction}_above")
    size = next_fast_len(max(math.ceil((high - low) / interval), grid.mass.size) + 1, real=True)
    power = irfft(rfft(grid.mass, size) ** steps, size)
    first = math.floor((steps * mean + low - steps * grid.anchor) / interval)
    masses = np.roll(power, -((first - steps * grid.start) % size))
    masses[masses < 64.0 * UNIT] = 0.0
    return steps * grid.anchor + first * interval, interval, masses, steps * mean


def _window(centred: Array, log_mass: Array, steps: int, spread: float) -> tuple[float, float]:
    """Between which the sum less its mean lies, but for e^−36 on each side (Chernoff)."""
    tilts = np.geomspace(1e-4, 40.0, 60) / (spread * math.sqrt(steps))
    ends = []
    for side in (-1.0, 1.0):
        log_moment = log_sums(side * tilts[:, None] * centred + log_mass)
        ends.append(side * float(((steps * log_moment + _NATS) / tilts).min()))
    return ends[0], ends[1]


def _read(start: float, interval: float, mass: Array, mean: float, epsilon: float, points: int) -> LossDensity:
    """The tail beyond ε, and the density in bins of a few grid points where there is any."""
    loss = start + interval * np.arange(mass.size)
    tail = loss > epsilon
    beyond = float(mass[tail].sum())
    delta = float(mass[tail] @ -np.expm1(epsilon - loss[tail]))
    seen = np.flatnonzero(mass > RESOLVED * 1e-3)
    first, last = int(seen[0]), int(seen[-1]) + 1
    bins = max(1, (last - first) // points)
    count = (last - first) // bins
    together = mass[first : first + count * bins].reshape(count, bins).sum(axis=1)
    middle = loss[first] + interval * (bins * np.arange(count) + 0.5 * (bins - 1))
    return LossDensity(middle, together / (bins * interval), beyond, delta, mean, False)
