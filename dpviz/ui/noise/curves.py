"""ε along σ for every method, and where each crosses the target: what the first view's chart and table share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz.accounting.bayesian import BayesianBound
from dpviz.accounting.bayesian_sweep import BayesianSweep
from dpviz.accounting.order_search import OrderSearch
from dpviz.accounting.orders import DEFAULT_ORDERS
from dpviz.ui.methods import NAMES, method
from dpviz.ui.noise.settings import QUANTILES, Bayesian, Settings
from dpviz.ui.sources import Sample

Array = npt.NDArray[np.float64]

POINTS = 61
_WHOLE_ORDERS = tuple(float(order) for order in range(2, 34))  # of the moments accountant, λ = 1..32
# Where the crossing is looked for around the guess, relative: a grid that keeps three digits honest.
_AROUND = 1.0 + np.array([-4e-3, -1e-3, -3e-4, 0.0, 3e-4, 1e-3, 4e-3])


@dataclass(frozen=True, eq=False)
class Curve:
    """ε of one method at every σ; arrays of shape (n,).

    Attributes:
        key: of NAMES, or "bayesian.q50".
        epsilon: the bound; NaN where the method has none.
        order: α that decided, NaN for methods without orders.
        needs: the smallest σ found with ε ≤ target, rounded up; inf where the axis holds none.
        reason: why the method has no bound at some or all σ.
        bayesian: the tail's facts, for Bayesian curves.
    """

    key: str
    epsilon: Array
    order: Array
    needs: float
    reason: str = ""
    bayesian: BayesianBound | None = None

    @property
    def name(self) -> str:
        return name_of(self.key)


def name_of(key: str) -> str:
    """What a chart calls a method: "moments", "Bayesian 0.50" with its quantile."""
    base, _, quantile = key.partition(".")
    return f"Bayesian {QUANTILES.options[quantile]}" if quantile else NAMES.get(base, base)


def long_name(key: str) -> str:
    """The same in a sentence: "Bayesian DP with C at the 0.50-quantile"."""
    _, _, quantile = key.partition(".")
    return f"Bayesian DP with C at the {QUANTILES.options[quantile]}-quantile" if quantile else name_of(key)


def quantile_of(key: str) -> float:
    """0.5 for "q50"."""
    return float(QUANTILES.options[key])


def sigma_grid(low: float, high: float) -> Array:
    """POINTS noise multipliers from `low` to `high`, even on a log axis."""
    return np.geomspace(low, high, POINTS)


Evaluate = Callable[[Array], tuple[Array, Array]]


def dp_curve(key: str, settings: Settings) -> Curve:
    """The curve of one DP method."""
    sigma = sigma_grid(settings.low, settings.high)
    epsilon, order = _dp(key, settings, _search(key, settings.low, settings.high, settings.rate), sigma)
    needs = _crossing(sigma, epsilon, settings.target, lambda s: _dp(key, settings, None, s)[0])
    reason = ""
    if np.isnan(epsilon).any():
        reason = method(key, settings.amplification).evaluate(**_mechanism(settings, sigma)).reason
    return Curve(key, epsilon, order, needs, reason)


def _mechanism(settings: Settings, sigma: Array) -> dict[str, Array | float]:
    return {
        "noise_multiplier": sigma,
        "sample_rate": settings.rate,
        "steps": settings.steps,
        "delta": settings.delta,
    }


def _dp(key: str, settings: Settings, search: OrderSearch | None, sigma: Array) -> tuple[Array, Array]:
    """ε and deciding order at each σ; methods with exact divergences look only at orders that may decide."""
    if key not in ("moments", "renyi_classic", "renyi_improved"):
        bound = method(key, settings.amplification).evaluate(**_mechanism(settings, sigma))
        return bound.epsilon, bound.order
    orders = _WHOLE_ORDERS if key == "moments" else DEFAULT_ORDERS
    search = search or OrderSearch(sigma, settings.rate, orders)
    conversion = "improved" if key == "renyi_improved" else "classic"
    epsilon, best = search.epsilon(float(settings.steps), settings.delta, conversion)
    return epsilon, search.orders[best]


def _search(key: str, low: float, high: float, rate: float) -> OrderSearch | None:
    if key == "moments":
        return _kept_search(low, high, rate, _WHOLE_ORDERS)
    return _kept_search(low, high, rate, DEFAULT_ORDERS) if key.startswith("renyi_") else None


@lru_cache(maxsize=64)
def _kept_search(low: float, high: float, rate: float, orders: tuple[float, ...]) -> OrderSearch:
    """Divergences along the axis: they serve every T and δ."""
    return OrderSearch(sigma_grid(low, high), rate, orders)


def bayesian_curve(quantile: str, settings: Settings, chosen: Bayesian, sample: Sample) -> Curve:
    """The curve of Bayesian DP at one clipping quantile.

    Raises:
        ValueError: when the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sigma = sigma_grid(settings.low, settings.high)
    sweep = _kept_sweep(sample, quantile, chosen.clip, chosen.failure, settings.rate, settings.low, settings.high)
    bound = sweep.bound(steps=settings.steps, delta_mu=chosen.delta_mu)

    def evaluate(at: Array) -> Array:
        distances, sensitivity = scene(sample, quantile, chosen.clip)
        near = BayesianSweep(
            distances, noise_std=at * sensitivity, sample_rate=settings.rate, estimator_failure=chosen.failure
        )
        return near.bound(steps=settings.steps, delta_mu=chosen.delta_mu).epsilon

    needs = _crossing(sigma, bound.epsilon, settings.target, evaluate)
    return Curve(f"bayesian.{quantile}", bound.epsilon, bound.order, needs, bayesian=bound)


@lru_cache(maxsize=64)
def scene(sample: Sample, quantile: str, clip: str) -> tuple[Array, float]:
    """Distances (clipped or not) and the sensitivity, for C at a quantile of the norms."""
    threshold = sample.gradients.threshold(quantile_of(quantile))
    distances = sample.gradients.distances(threshold if clip == "both" else None)
    return distances, sample.gradients.sensitivity(threshold)


@lru_cache(maxsize=64)
def _kept_sweep(
    sample: Sample, quantile: str, clip: str, failure: float, rate: float, low: float, high: float
) -> BayesianSweep:
    distances, sensitivity = scene(sample, quantile, clip)
    noise = sigma_grid(low, high) * sensitivity
    return BayesianSweep(distances, noise_std=noise, sample_rate=rate, estimator_failure=failure)


def epsilon_at(key: str, settings: Settings, sigma: float) -> float:
    """ε of one DP method at one σ, which need not be on the axis."""
    return float(_dp(key, settings, None, np.array([sigma]))[0][0])


def _crossing(sigma: Array, epsilon: Array, target: float, evaluate: Callable[[Array], Array]) -> float:
    """The smallest σ seen with ε ≤ target: between two grid points by a secant, then put to the test around it."""
    enough = epsilon <= target  # NaN is not
    if not enough.any():
        return np.inf
    right = int(enough.argmax())
    if right == 0:
        return float(sigma[0])
    above, below = float(epsilon[right - 1]), float(epsilon[right])
    guess = float(np.sqrt(sigma[right - 1] * sigma[right]))
    if np.isfinite(above) and below > 0.0:
        part = np.log(above / target) / np.log(above / below)
        guess = float(sigma[right - 1] * (sigma[right] / sigma[right - 1]) ** part)
    tried = np.clip(guess * _AROUND, sigma[right - 1], sigma[right])
    good = evaluate(tried) <= target
    return float(tried[int(good.argmax())]) if good.any() else float(sigma[right])
