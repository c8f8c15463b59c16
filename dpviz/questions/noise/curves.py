"""ε along the noise by every method, and where each crosses the target."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import ORDERS, BayesianBound
from dpviz.accounting.bayesian.sweep import BayesianSweep
from dpviz.accounting.methods import Renyi
from dpviz.accounting.renyi.best_epsilon import order_search
from dpviz.fields import several
from dpviz.gradients.law_bound import law_bound
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.questions.gradients import Gradients, Law, clipped
from dpviz.questions.kinds import with_noise
from dpviz.questions.methods import NAMES, method
from dpviz.questions.tight_band import noise_grid

Evaluate = Callable[[tuple[float, ...]], Array]

QUANTILES = several("noiseq")
HALVINGS = 4  # each by eight
# Where the crossing is looked for around the guess, relative: a grid that keeps three digits honest.
AROUND = 1.0 + np.array([-4e-3, -1e-3, -3e-4, 0.0, 3e-4, 1e-3, 4e-3])


@dataclass(frozen=True)
class NoiseAxis:
    """The axis of the noise, and what is the same all along it: so many steps of a mechanism, whose own noise is 1.

    `stride`: which points of the whole axis a curve has: every one, or every other.
    """

    low: float
    high: float
    mechanism: Mechanism
    steps: int
    stride: int = 1

    def __post_init__(self) -> None:
        noise_grid(self.low, self.high)  # ValueError where there is no such axis

    @property
    def sigma(self) -> Array:
        return noise_grid(self.low, self.high)[:: self.stride]

    @property
    def between(self) -> Array:
        """The points of the whole axis that curves leave out."""
        return noise_grid(self.low, self.high)[1::2] if self.stride == 2 else np.empty(0)

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
    """What a chart calls a method: "moments", "Bayesian (weaker) 0.50" with its quantile."""
    base, _, quantile = key.partition(".")
    first = "as printed" if base == "printed" else "Bayesian (weaker)"
    return f"{first} {QUANTILES.options[quantile]}" if quantile else NAMES[base]


@remembered
def dp_curve(key: str, amplification: str, plan: NoiseAxis, delta: float, target: float) -> Curve:
    """The curve of one DP method."""
    epsilon, order, reason = dp_values(key, amplification, plan, delta)
    needs = crossing(plan, epsilon, target, lambda at: dp_at(key, amplification, plan, delta, at)[0])
    return Curve(key, epsilon, order, needs, reason)


@remembered
def dp_values(key: str, amplification: str, plan: NoiseAxis, delta: float) -> tuple[Array, Array, str]:
    """ε and the deciding order along the noise, and why there is none where there is none."""
    epsilon, order, reason = dp_at(key, amplification, plan, delta, tuple(plan.sigma.tolist()))
    return epsilon, order, reason if np.isnan(epsilon).any() else ""


@remembered
def dp_at(
    key: str, amplification: str, plan: NoiseAxis, delta: float, sigma: tuple[float, ...]
) -> tuple[Array, Array, str]:
    """The same at any noise: all targets ask between the same points of the axis."""
    one, at = method(key, amplification), np.array(sigma)
    if isinstance(plan.mechanism, SampledGaussian):
        if isinstance(one, Renyi):
            kept = order_search(at.tobytes(), plan.rate)  # serves every T and δ
            return *kept.epsilon(float(plan.steps), delta, one.conversion), ""
        bound = one.evaluate(noise_multiplier=at, sample_rate=plan.rate, steps=plan.steps, delta=delta)
        return bound.epsilon, bound.order, bound.reason
    bound = one.epsilon_of_each([with_noise(plan.mechanism, noise) for noise in sigma], plan.steps, delta)
    return bound.epsilon, bound.order, bound.reason


@remembered
def bayesian_curves(gradients: Gradients, weak: BayesianAsk, plan: NoiseAxis, target: float) -> tuple[Curve, ...]:
    """Bayesian DP at one clipping quantile: certified, and the estimate as printed beside it; else that alone.

    Of a known distribution by Definition 2, as Rényi improved.

    Raises:
        ValueError: there is no sample, the quantile clips everything to 0, or δ_μ does not exceed γ.
    """
    sigma = plan.sigma
    if isinstance(gradients, Law):
        epsilon, order = law_values(gradients, weak, plan)
        needs = crossing(plan, epsilon, target, lambda at: law_at(gradients, weak, plan, at)[0])
        return (Curve(f"bayesian.{weak.quantile}", epsilon, order, needs),)
    seen = clipped(gradients, weak.share, weak.clip)
    bound = bayesian_values(gradients, weak, plan, seen.largest is not None)

    def evaluate(at: tuple[float, ...]) -> Array:
        # λ changes little between two points of the axis: a few more on either side are safe, for every one bounds ε.
        right = int(np.searchsorted(sigma, at[-1]).clip(max=sigma.size - 1))
        order = bound.order[max(right - 1, 0) : right + 1] - 1.0
        near = BayesianSweep(
            seen.distances,
            noise_std=np.array(at) * seen.sensitivity,
            sample_rate=plan.rate,
            estimator_failure=weak.failure,
            orders=range(max(int(order.min()) - 1, ORDERS[0]), min(int(order.max()) + 1, ORDERS[-1]) + 1),
            largest_distance=seen.largest,
        )
        return near.bound(steps=plan.steps, delta_mu=weak.delta_mu).epsilon

    needs = crossing(plan, bound.epsilon, target, evaluate)
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
def law_values(known: Law, weak: BayesianAsk, plan: NoiseAxis) -> tuple[Array, Array]:
    """ε_μ and the deciding order of a known distribution along σ."""
    return law_at(known, weak, plan, tuple(plan.sigma.tolist()))


@remembered
def law_at(known: Law, weak: BayesianAsk, plan: NoiseAxis, sigma: tuple[float, ...]) -> tuple[Array, Array]:
    """The same at any σ."""
    bound = law_bound(
        known.family,
        shape=known.shape,
        quantile=weak.share,
        noise_multiplier=np.array(sigma),
        sample_rate=plan.rate,
        steps=plan.steps,
        delta_mu=weak.delta_mu,
    )
    return bound.upper, bound.order


def crossing(plan: NoiseAxis, epsilon: Array, target: float, evaluate: Evaluate) -> float:
    """The smallest σ seen with ε ≤ target: between two points of the whole axis by a secant, then put to the test."""
    sigma = plan.sigma
    enough = epsilon <= target  # NaN is not
    if not enough.any():
        return np.inf
    right = int(enough.argmax())
    if right == 0:
        return float(sigma[0])
    low, high = float(sigma[right - 1]), float(sigma[right])
    above, below = float(epsilon[right - 1]), float(epsilon[right])
    for middle in plan.between[right - 1 : right].tolist():
        [value] = evaluate((middle,)).tolist()
        if value <= target:
            high, below = middle, value
        else:
            low, above = middle, value
    if np.isfinite(above) and below > 0.0:
        guess = low * (high / low) ** (np.log(above / target) / np.log(above / below))
        tried = np.clip(guess * AROUND, low, high)
        good = evaluate(tuple(tried.tolist())) <= target
        if good.any():
            return float(tried[int(good.argmax())])
    for _ in range(HALVINGS):  # a bound that starts or jumps between two points of the axis
        tried = np.geomspace(low, high, 9)[1:]
        good = evaluate(tuple(tried.tolist())) <= target
        first = int(good.argmax()) if good.any() else tried.size - 1
        low, high = (float(tried[first - 1]) if first else low), float(tried[first])
    return high
