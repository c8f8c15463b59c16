"""ε of releasing only the last model, for convex losses: it stops growing (docs/work/proofs.md, "The last iterate").

Chourasia, Ye & Shokri 2021 bound noisy gradient descent on all data with a strongly convex, smooth loss;
Altschuler & Talwar 2022 noisy SGD with a convex, smooth loss on a set of bounded diameter, up to a
constant. The bounds here have their assumptions and explicit constants. At the order α, for a window of the last n of T
steps, in units of what one example moves a step, s = ηL/τ, with noise multiplier σ and c = 1 − ηm:

    z = min(D/s, 1 + c + … + c^{T−n−1})     how far apart the two runs can be when the window begins (0 for n = T)
    R ≤ n [ αa²/(2σ²) + α/(α−1) ln(1 − q + r) + R_α(σ, r/(1 − q + r)) ],
        r = q exp((α−1)a/σ²),  a = z c^n/(1 + c + … + c^{n−1})                        (each step sampled)
    R ≤ α/(2σ²) (k(1 + … + c^{n−1}) + c^n z)² / (1 + c² + … + c^{2(n−1)})             (iterations, no sampling)

with R_α(σ, q) the divergence of a sampled Gaussian step, and k = 1, or 2 where an example is replaced. Every window
gives a bound; the first with n = T is ordinary composition, the second with n = T is exact for a quadratic loss.
"""

import math
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.bound import Bound
from dpviz.accounting.langevin.cost import Langevin, Sampler, langevin_bound
from dpviz.accounting.renyi.conversion import to_bound
from dpviz.accounting.schedules import PowerSchedule
from dpviz.mechanisms.log_moments import renyi_divergence

LAST_ORDERS: tuple[float, ...] = (*np.arange(2.0, 17.0).tolist(), *(2.0 ** np.arange(4.25, 9.1, 0.25)).round().tolist())
_WINDOWS = np.unique((2.0 ** np.arange(0.0, 53.0, 0.25)).round())  # that are tried, beside all steps


@dataclass(frozen=True, slots=True)
class ConvexLoss:
    """What is assumed of the loss; nothing here is checked against data.

    Attributes:
        smoothness: β > 0: each example's loss is convex and β-smooth, and its gradients are no longer than L anyway.
        strong_convexity: m ≥ 0 of the prior's share −ln p(θ)/N, which is m‖θ‖²/2 but for a constant.
        diameter: D > 0 of the convex set to which each iterate is projected; inf without projection.
    """

    smoothness: float
    strong_convexity: float = 0.0
    diameter: float = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "smoothness", _validate.number(smoothness=self.smoothness))
        m = _validate.scalar("strong_convexity", _validate.non_negative("strong_convexity", self.strong_convexity))
        object.__setattr__(self, "strong_convexity", m)
        if self.diameter != math.inf:  # iterates are projected
            object.__setattr__(self, "diameter", _validate.number(diameter=self.diameter))

    def failure(self, setting: Langevin, step_size: float, steps: float) -> float:
        """A bound on the chance that some batch is too large for its step to bring any two models no further apart.

        With B examples in it, a step's smoothness is m + βB/τ, which must be at most 2/η − m. B is binomial (Chernoff).
        """
        largest = setting.batch_size * (2.0 / step_size - 2.0 * self.strong_convexity) / self.smoothness
        share, rate = largest / setting.n, setting.sample_rate
        if share >= 1.0:
            return 0.0
        if share <= rate:
            return 1.0
        away = share * math.log(share / rate) + (1.0 - share) * math.log((1.0 - share) / (1.0 - rate))
        return min(1.0, steps * math.exp(-setting.n * away))


def last_iterate_bound(
    setting: Langevin,
    step_size: float,
    loss: ConvexLoss,
    *,
    marks: ArrayLike,
    delta: float,
    conversion: str = "improved",
) -> Bound:
    """ε of releasing only the model after each number of steps in `marks` (increasing), shape (marks,).

    Raises:
        ValueError: momentum, or a step size too large for the smoothness: then nothing is proven.
    """
    ends = np.asarray(marks, dtype=np.float64)
    if reason := not_covered(setting, step_size, loss, float(ends[-1]), delta):
        raise ValueError(reason)
    left = delta - loss.failure(setting, step_size, float(ends[-1]))
    return to_bound(_divergences(setting, step_size, loss, ends), np.array(LAST_ORDERS), left, conversion)


def last_iterate_epsilon(
    step_size: float,
    *,
    steps: int,
    delta: float,
    smoothness: float,
    strong_convexity: float = 0.0,
    diameter: float = math.inf,
    conversion: str = "improved",
    **sampler: Unpack[Sampler],
) -> float:
    """ε of releasing only the model after `steps` Langevin steps of one size, never too small, never above all steps'.

    Args:
        step_size: η of every step.
        steps, delta, conversion: see `langevin_epsilon`.
        smoothness, strong_convexity, diameter: see `ConvexLoss`.
        **sampler: n, batch_size, clip, adjacency: see `Langevin`.

    Raises:
        ValueError: as `last_iterate_bound`, or for arguments out of range.

    >>> logistic = {"n": 10_000, "batch_size": 1000, "clip": 1, "smoothness": 0.25, "strong_convexity": 0.01}
    >>> [round(last_iterate_epsilon(0.5, steps=10**k, delta=1e-5, **logistic), 3) for k in (2, 3, 4, 5)]
    [0.262, 0.893, 0.954, 0.954]
    """
    eta, target = _validate.numbers(step_size=step_size, delta=delta)
    setting, loss = Langevin(**sampler), ConvexLoss(smoothness, strong_convexity, diameter)
    schedule = PowerSchedule(eta, 0.0, steps)
    last = last_iterate_bound(setting, eta, loss, marks=[steps], delta=target, conversion=conversion)
    composed = langevin_bound(setting, schedule, delta=target, conversion=conversion)
    return float(min(last.epsilon[0], composed.epsilon[0]))


def not_covered(setting: Langevin, step_size: float, loss: ConvexLoss, steps: float, delta: float) -> str:
    """Why nothing is proven of the last model; empty where something is."""
    if setting.friction is not None:
        return "Expected SGLD without momentum: nothing is proven of the last model of SGHMC or SGNHT."
    if loss.failure(setting, step_size, steps) < delta:
        return ""
    largest = 2.0 / (2.0 * loss.strong_convexity + loss.smoothness)
    return (
        f"Expected step_size={step_size:.6g} small enough for smoothness={loss.smoothness:.6g}: with an average batch "
        f"it must be below {largest:.4g}, and batches vary. Take smaller steps."
    )


def _divergences(setting: Langevin, step_size: float, loss: ConvexLoss, ends: Array) -> Array:
    """R of the last iterate at each end and order, (ends, orders): the best window of each kind."""
    sigma = float(setting.noise_multiplier(step_size))
    rate, k = setting.sample_rate, setting.sensitivity / setting.clip
    shrink = step_size * loss.strong_convexity
    diameter = loss.diameter * setting.batch_size / (step_size * setting.clip)
    alpha = np.array(LAST_ORDERS)
    best = np.empty((ends.size, alpha.size))
    for i, end in enumerate(ends.tolist()):
        n = np.append(_WINDOWS[end > _WINDOWS], end)
        apart = np.where(n < end, np.minimum(diameter, k * _geometric(end - n, shrink)), 0.0)
        kept = (1.0 - shrink) ** n * apart
        moved = (k * _geometric(n, shrink) + kept) ** 2 / _geometric(n, shrink * (2.0 - shrink))
        best[i] = alpha * (moved.min() / (2.0 * sigma * sigma))
        if not setting.replaced:
            shift = (kept / _geometric(n, shrink))[:, None]
            best[i] = np.minimum(best[i], (n[:, None] * _shifted(shift, sigma, rate, alpha)).min(axis=0))
    return best


def _geometric(n: Array, shrink: float) -> Array:
    """1 + c + … + c^{n−1} for c = 1 − `shrink`."""
    if shrink == 0.0:
        return n
    if shrink >= 1.0:
        return np.minimum(n, 1.0)
    return np.asarray(-np.expm1(n * math.log1p(-shrink)) / shrink)


def _shifted(shift: Array, sigma: float, rate: float, alpha: Array) -> Array:
    """The divergence of one sampled step whose noise must also hide a shift a, in units of the sensitivity."""
    with np.errstate(over="ignore", divide="ignore"):
        log_r = math.log(rate) + (alpha - 1.0) * shift / sigma**2
        log_mass = np.logaddexp(np.log1p(-rate), log_r)
        tilted = np.minimum(np.exp(log_r - log_mass), 1.0)
    sampled = renyi_divergence(sigma, tilted, np.broadcast_to(alpha, tilted.shape))
    return np.asarray(alpha * shift**2 / (2.0 * sigma**2) + alpha / (alpha - 1.0) * log_mass + sampled)
