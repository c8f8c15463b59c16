"""ε along the noise by every method, and where each crosses the target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import ORDERS, BayesianBound, BayesianSweep
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.accounting.renyi.conversion import CONVERSIONS
from dpviz.accounting.renyi.search import OrderSearch
from dpviz.gradients.law_bound import law_bound
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.kinds import with_noise
from dpviz.questions.methods import NAMES, method
from dpviz.questions.noise.fields import QUANTILES
from dpviz.questions.tight_band import noise_grid

Evaluate = Callable[[Array], Array]

# Only at orders that may decide: divergences are exact.
SEARCHED = (Moments.name, *(Renyi(each).family for each in CONVERSIONS))
WHOLE_ORDERS = tuple(float(order) for order in range(2, 34))  # of the moments accountant, λ = 1..32
HALVINGS = 4  # each by eight
# Where the crossing is looked for around the guess, relative: a grid that keeps three digits honest.
AROUND = 1.0 + np.array([-4e-3, -1e-3, -3e-4, 0.0, 3e-4, 1e-3, 4e-3])


@dataclass(frozen=True)
class NoiseAxis:
    """The axis of the noise, and what is the same all along it: so many steps of a mechanism, whose own noise is 1."""

    low: float
    high: float
    mechanism: Mechanism
    steps: int

    @property
    def sigma(self) -> Array:
        return noise_grid(self.low, self.high)

    @property
    def rate(self) -> float:
        """q of a mechanism that has one."""
        rate: float = getattr(self.mechanism, "sample_rate", 1.0)
        return rate


@dataclass(frozen=True)
class BayesianAsk:
    """How Bayesian DP is asked: at which clipping quantile, a key of QUANTILES, and how surely."""

    quantile: str
    clip: str
    failure: float
    delta_mu: float

    @property
    def share(self) -> float:
        return share_of(self.quantile)


@dataclass(frozen=True, eq=False)
class Curve:
    """ε of one method at every σ; arrays of shape (n,).

    Attributes:
        key: of NAMES, or "bayesian.q50"; "printed.q50" for the estimate as printed beside a certified bound.
        epsilon: the bound; NaN where the method has none.
        order: α that decided, NaN for methods without orders.
        needs: the smallest σ found with ε ≤ target, rounded up; inf where the axis holds none.
        reason: why the method has no bound at some or all σ.
        bayesian: the tail's facts, for Bayesian curves of a sample.
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

    @property
    def quantile(self) -> str:
        """The clipping quantile of a Bayesian curve, a key of QUANTILES."""
        return self.key.partition(".")[2]

    @property
    def estimate(self) -> bool:
        """Whether it is Bayesian DP's asymptotic estimate, which is no bound."""
        return self.bayesian is not None and not self.bayesian.certified

    @property
    def dotted(self) -> int:
        """So many of the first σ reach up to the last one where one sample decides an estimate; 0 for none."""
        if self.bayesian is None or self.bayesian.certified:
            return 0
        return int(np.flatnonzero(self.bayesian.tail_dominated).max(initial=-1)) + 1


def share_of(quantile: str) -> float:
    """The clipping quantile that a key of QUANTILES names."""
    return float(QUANTILES.options[quantile])


def name_of(key: str) -> str:
    """What a chart calls a method: "moments", "Bayesian 0.50" with its quantile."""
    base, _, quantile = key.partition(".")
    first = "as printed" if base == "printed" else "Bayesian"
    return f"{first} {QUANTILES.options[quantile]}" if quantile else NAMES[base]


@remembered
def dp_curve(key: str, amplification: str, plan: NoiseAxis, delta: float, target: float) -> Curve:
    """The curve of one DP method."""
    sigma = plan.sigma
    epsilon, order, reason = dp_values(key, amplification, plan, delta)

    def evaluate(at: Array) -> Array:
        near = order[np.searchsorted(sigma, at[-1]).clip(max=order.size - 1)]
        return dp_at(key, amplification, plan, delta, at, near=None if np.isnan(near) else float(near))[0]

    return Curve(key, epsilon, order, crossing(sigma, epsilon, target, evaluate), reason)


@remembered
def dp_values(key: str, amplification: str, plan: NoiseAxis, delta: float) -> tuple[Array, Array, str]:
    """ε and the deciding order along the noise, and why there is none where there is none."""
    kept = search(key == Moments.name, plan.low, plan.high, plan.rate) if searched(key, plan) else None
    epsilon, order, reason = dp_at(key, amplification, plan, delta, plan.sigma, kept=kept)
    return epsilon, order, reason if np.isnan(epsilon).any() else ""


def searched(key: str, plan: NoiseAxis) -> bool:
    """Whether the divergences of all its noises are searched together."""
    return key in SEARCHED and isinstance(plan.mechanism, SampledGaussian)


def dp_at(
    key: str,
    amplification: str,
    plan: NoiseAxis,
    delta: float,
    sigma: Array,
    *,
    near: float | None = None,
    kept: OrderSearch | None = None,
) -> tuple[Array, Array, str]:
    """The same at any noise; `near` is an order that is known to decide close by, `kept` knows divergences there."""
    if searched(key, plan):
        known = kept or OrderSearch(sigma, plan.rate, WHOLE_ORDERS if key == Moments.name else None)
        conversion = "improved" if key == Renyi().family else "classic"
        return *known.epsilon(float(plan.steps), delta, conversion, near), ""
    one = method(key, amplification)
    if isinstance(plan.mechanism, SampledGaussian):
        bound = one.evaluate(noise_multiplier=sigma, sample_rate=plan.rate, steps=plan.steps, delta=delta)
        return bound.epsilon, bound.order, bound.reason
    bounds = [
        one.epsilon_of(with_noise(plan.mechanism, noise), steps=plan.steps, delta=delta) for noise in sigma.tolist()
    ]
    epsilon, order = (np.array([float(getattr(each, name)) for each in bounds]) for name in ("epsilon", "order"))
    return epsilon, order, bounds[0].reason


@remembered
def search(whole: bool, low: float, high: float, rate: float) -> OrderSearch:
    """Divergences along the axis: they serve every T and δ."""
    return OrderSearch(noise_grid(low, high), rate, WHOLE_ORDERS if whole else None)


@remembered
def bayesian_curves(gradients: Gradients, weak: BayesianAsk, plan: NoiseAxis, target: float) -> tuple[Curve, ...]:
    """Bayesian DP at one clipping quantile: certified, and the estimate as printed beside it; else that alone.

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    seen, sigma = clipped(gradients, weak.share, weak.clip), plan.sigma
    bound = bayesian_values(gradients, weak, plan, seen.largest is not None)

    def evaluate(at: Array) -> Array:
        # λ changes little between two points of the axis: a few more on either side are safe, for every one bounds ε.
        right = int(np.searchsorted(sigma, at[-1]).clip(max=sigma.size - 1))
        order = bound.order[max(right - 1, 0) : right + 1] - 1.0
        near = BayesianSweep(
            seen.distances,
            noise_std=at * seen.sensitivity,
            sample_rate=plan.rate,
            estimator_failure=weak.failure,
            orders=range(max(int(order.min()) - 1, ORDERS[0]), min(int(order.max()) + 1, ORDERS[-1]) + 1),
            largest_distance=seen.largest,
        )
        return near.bound(steps=plan.steps, delta_mu=weak.delta_mu).epsilon

    needs = crossing(sigma, bound.epsilon, target, evaluate)
    first = Curve(f"bayesian.{weak.quantile}", bound.epsilon, bound.order, needs, bayesian=bound)
    if seen.largest is None:
        return (first,)
    bound = bayesian_values(gradients, weak, plan, False)
    return first, Curve(f"printed.{weak.quantile}", bound.epsilon, bound.order, np.inf, bayesian=bound)


@remembered
def bayesian_values(gradients: Gradients, weak: BayesianAsk, plan: NoiseAxis, certified: bool) -> BayesianBound:
    kept = sweep(gradients, replace(weak, delta_mu=0.5), replace(plan, steps=1), certified)
    return kept.bound(steps=plan.steps, delta_mu=weak.delta_mu)


@remembered
def sweep(gradients: Gradients, weak: BayesianAsk, plan: NoiseAxis, certified: bool) -> BayesianSweep:
    """ψ along the axis: it serves every T and δ_μ."""
    seen = clipped(gradients, weak.share, weak.clip)
    return BayesianSweep(
        seen.distances,
        noise_std=plan.sigma * seen.sensitivity,
        sample_rate=plan.rate,
        estimator_failure=weak.failure,
        largest_distance=seen.largest if certified else None,
    )


@remembered
def law_curve(known: Law, quantile: str, plan: NoiseAxis, delta_mu: float, target: float) -> Curve:
    """Bayesian DP of a known distribution, clipped at one of its quantiles: by Definition 2, as Rényi improved."""
    epsilon, order = law_values(known, quantile, plan, delta_mu)
    needs = crossing(
        plan.sigma, epsilon, target, lambda at: law_at(known, quantile, plan, delta_mu, tuple(at.tolist()))[0]
    )
    return Curve(f"bayesian.{quantile}", epsilon, order, needs)


@remembered
def law_values(known: Law, quantile: str, plan: NoiseAxis, delta_mu: float) -> tuple[Array, Array]:
    """ε_μ and the deciding order along σ."""
    return law_at(known, quantile, plan, delta_mu, tuple(plan.sigma.tolist()))


def law_at(
    known: Law, quantile: str, plan: NoiseAxis, delta_mu: float, sigma: tuple[float, ...]
) -> tuple[Array, Array]:
    """The same at any σ."""
    asked = known.clip(share_of(quantile)) | {"sample_rate": plan.rate, "steps": plan.steps, "delta_mu": delta_mu}
    bounds = [law_bound(**asked, noise_multiplier=each) for each in sigma]
    return np.array([float(one.upper) for one in bounds]), np.array([float(one.order) for one in bounds])


def crossing(sigma: Array, epsilon: Array, target: float, evaluate: Evaluate) -> float:
    """The smallest σ seen with ε ≤ target: between two grid points by a secant, then put to the test around it."""
    enough = epsilon <= target  # NaN is not
    if not enough.any():
        return np.inf
    right = int(enough.argmax())
    if right == 0:
        return float(sigma[0])
    low, high = float(sigma[right - 1]), float(sigma[right])
    above, below = float(epsilon[right - 1]), float(epsilon[right])
    if np.isfinite(above) and below > 0.0:
        guess = low * (high / low) ** (np.log(above / target) / np.log(above / below))
        tried = np.clip(guess * AROUND, low, high)
        good = evaluate(tried) <= target
        if good.any():
            return float(tried[int(good.argmax())])
    for _ in range(HALVINGS):  # a bound that starts or jumps between two points of the axis
        tried = np.geomspace(low, high, 9)[1:]
        good = evaluate(tried) <= target
        first = int(good.argmax()) if good.any() else tried.size - 1
        low, high = (float(tried[first - 1]) if first else low), float(tried[first])
    return high
