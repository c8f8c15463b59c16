"""ε of stochastic gradient Langevin dynamics: its steps as sampled Gaussian mechanisms, composed.

Algorithm 1 of Li, Chen, Liu, Carin 2019: θ ← θ − η_t (∇(−log p(θ))/N + (1/τ) Σ_{i∈J} g̃_i) + N(0, (η_t/N) I), with g̃
clipped to L and a batch J that each example joins with probability q = τ/N. It is a sampled Gaussian step with noise
multiplier σ_t = τ/(L √(η_t N)): a smaller step size is more noise for each gradient, and more privacy.

That noise is half of what a sampler of the posterior needs. The paper's own diffusion, and SGLD of Welling & Teh 2011,
add N(0, (2η_t/N) I): σ_t = τ √2/(L √(η_t N)). Algorithm 1 as printed samples with about half of the posterior's
variance and costs more. Code decides which of the two a chain is: `noise` says it, "algorithm1" unless told otherwise,
the larger ε.

SGHMC: p ← (1−β) p − η(…) + N(0, (2βη/N) I), θ ← θ + p releases the same gradient with σ_t = τ √(2β/(η_t N))/L; what
momentum makes of it is post-processing, and so is the thermostat of SGNHT (Ding et al. 2014), whose friction follows
the momentum: with the same noise it costs the same.

>>> from dpviz.accounting.schedules import PowerSchedule
>>> steps = PowerSchedule(first=0.1, exponent=1 / 3, steps=245)
>>> round(langevin_epsilon(steps, n=60_000, batch_size=245, clip=4, delta=1e-5), 2)
1.33
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NotRequired, TypedDict, Unpack, overload

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Index
from dpviz.accounting.bound import Bound
from dpviz.accounting.methods import Renyi, Tight, method_name
from dpviz.accounting.pld.bounds import tight_epsilon_of_each, tight_epsilon_of_events
from dpviz.accounting.renyi.conversion import CONVERSIONS, to_bound
from dpviz.accounting.renyi.varying_noise import VARYING_ORDERS, composed_divergence
from dpviz.accounting.schedules import Schedule, StepSizes, checked, grouped, scaled, total_steps
from dpviz.mechanisms import Event, ReplaceOneGaussian, SampledGaussian

ADJACENCIES = ("add_remove", "replace_one")
NOISES = {"algorithm1": 1.0, "sgld": 2.0}  # the variance of a step's noise in units of η/N
METHODS = (Renyi.name, Tight.name)
GROUPS = 300
STRIDE = 6  # among the orders that are tried first


@dataclass(frozen=True, slots=True)
class Langevin:
    """The sampler's setting beside its step sizes.

    Attributes:
        n: N, size of the data set, ≥ 1.
        batch_size: τ, expected batch, in (0, N].
        clip: L, the norm to which each example's gradient is clipped, > 0.
        friction: β of SGHMC, or of SGNHT's noise, in (0, 1]; None for SGLD.
        adjacency: "add_remove" one example, or "replace_one": each step is then a `ReplaceOneGaussian` of the same σ.
        noise: of steps without friction: "algorithm1", N(0, η/N) as Li et al. print it, or "sgld", N(0, 2η/N), with
            which the chain samples the posterior. Choose what the code adds.
    """

    n: float
    batch_size: float
    clip: float
    friction: float | None = None
    adjacency: str = "add_remove"
    noise: str = "algorithm1"

    def __post_init__(self) -> None:
        n = float(_validate.whole(1, n=self.n))
        batch, clip = _validate.numbers(batch_size=self.batch_size, clip=self.clip)
        if batch > n:
            raise ValueError(f"Expected batch_size={batch:.12g} <= n={n:.12g}: a batch cannot exceed the data.")
        if self.friction is not None:
            friction = _validate.number(friction=self.friction)
            if friction > 1.0:
                raise ValueError(f"Expected friction={friction:.12g} in (0, 1].")
            object.__setattr__(self, "friction", friction)
        _validate.choice("adjacency", self.adjacency, ADJACENCIES)
        if _validate.choice("noise", self.noise, tuple(NOISES)) == "sgld" and self.friction is not None:
            raise ValueError(
                f"Expected noise='sgld' without friction={self.friction:.12g}: with friction β the noise is 2βη/N. "
                "Leave one out."
            )
        object.__setattr__(self, "n", n)
        object.__setattr__(self, "batch_size", batch)
        object.__setattr__(self, "clip", clip)
        if not (0.0 < self.cost < np.inf):
            raise ValueError(
                f"Expected clip={clip:.12g} and batch_size={batch:.12g} in the range of "
                "floating-point numbers. Choose less extreme values."
            )

    @property
    def sample_rate(self) -> float:
        """q = τ/N."""
        return self.batch_size / self.n

    @property
    def replaced(self) -> bool:
        """Whether neighbours replace an example."""
        return self.adjacency == "replace_one"

    @property
    def sensitivity(self) -> float:
        """The most that one example changes the sum of clipped gradients: L, or 2L when it is replaced."""
        return self.clip * (2.0 if self.replaced else 1.0)

    @property
    def heat(self) -> float:
        """The variance of a step's noise in units of η/N: 1 of Algorithm 1, 2 of SGLD, 2β of momentum's."""
        return NOISES[self.noise] if self.friction is None else 2.0 * self.friction

    @property
    def cost(self) -> float:
        """1/σ² for each unit of step size, where σ is the noise's standard deviation ÷ L."""
        each = self.clip / self.batch_size
        return each * each * self.n / self.heat  # inf rather than an OverflowError, as each**2 would be

    def noise_multiplier(self, step_sizes: ArrayLike) -> Array:
        """σ of each step size; inf where the step size is 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / np.sqrt(self.cost * np.abs(_validate.non_negative("step_sizes", step_sizes))))

    def step_size(self, noise_multiplier: ArrayLike) -> Array:
        """The step size whose noise multiplier this is."""
        return np.asarray(1.0 / (self.cost * _validate.noise_multiplier(noise_multiplier) ** 2))


class Sampler(TypedDict):
    """The arguments of `Langevin`."""

    n: float
    batch_size: float
    clip: float
    friction: NotRequired[float | None]
    adjacency: NotRequired[Literal["add_remove", "replace_one"]]
    noise: NotRequired[Literal["algorithm1", "sgld"]]


@overload
def langevin_noise_multiplier(step_sizes: float, **sampler: Unpack[Sampler]) -> float: ...
@overload
def langevin_noise_multiplier(step_sizes: ArrayLike, **sampler: Unpack[Sampler]) -> float | Array: ...
def langevin_noise_multiplier(step_sizes: ArrayLike, **sampler: Unpack[Sampler]) -> float | Array:
    """σ_t = τ/(L √(η_t N)) of Algorithm 1, √2 times that of SGLD, or τ √(2β/(η_t N))/L of SGHMC with `friction` β.

    Arguments as in `Langevin`.

    >>> round(langevin_noise_multiplier(0.1, n=60_000, batch_size=245, clip=4), 2)
    0.79
    """
    noise = Langevin(**sampler).noise_multiplier(step_sizes)
    return float(noise) if noise.ndim == 0 else noise


def langevin_epsilon(
    step_sizes: StepSizes,
    *,
    delta: float,
    method: str = Renyi.name,
    conversion: str = "improved",
    steps: int | None = None,
    orders: Sequence[float] | None = None,
    groups: int = GROUPS,
    marks: ArrayLike | None = None,
    **sampler: Unpack[Sampler],
) -> float | Array:
    """ε at `delta` of all steps together, or of those up to each mark, never too small.

    Args:
        step_sizes: a `PowerSchedule`, a list of step sizes (at most 10^7), or a function of t = 1, 2, …, `steps`.
        delta: δ in (0, 1).
        method: "renyi", whose divergences are composed cell by cell (`varying_noise`), or "tight", the upper end of
            the numerically tight interval, which takes seconds for hundreds of different steps.
        conversion: of "renyi": "improved" or "classic".
        steps: how many steps a function is asked for.
        orders: Rényi orders > 1 instead of the default ones.
        groups: for "tight": step sizes are gathered in so many groups, each taken at its largest: an upper bound.
        marks: increasing step counts; with them the answer of "renyi" is an array, ε after so many steps.
        **sampler: n, batch_size, clip, friction, adjacency, noise: see `Langevin`.

    Raises:
        ValueError: for arguments out of range, a batch larger than the data among them.
    """
    setting = Langevin(**sampler)
    schedule = checked(step_sizes, steps)
    target = _validate.number(delta=delta)
    if method_name(method, METHODS) == Tight.name:
        if marks is not None:
            raise ValueError("Expected no marks with method 'tight': call it once for each number of steps.")
        return float(tight_epsilon_of_events(langevin_events(setting, schedule, groups), target).upper)
    bound = langevin_bound(setting, schedule, delta=target, conversion=conversion, orders=orders, marks=marks)
    return bound.epsilon if marks is not None else float(bound.epsilon[-1])


def langevin_bound(
    setting: Langevin,
    schedule: Schedule,
    *,
    delta: float,
    conversion: str = "improved",
    marks: ArrayLike | None = None,
    orders: Sequence[float] | None = None,
) -> Bound:
    """The Rényi bound after each number of steps in `marks` (increasing; all steps by default), shape (marks,).

    `schedule` holds step sizes. Millions of steps cost no more than hundreds.
    """
    _validate.choice("conversion", conversion, CONVERSIONS)
    return langevin_bounds(setting, schedule, delta=delta, conversions=(conversion,), marks=marks, orders=orders)[
        conversion
    ]


def langevin_bounds(
    setting: Langevin,
    schedule: Schedule,
    *,
    delta: float,
    conversions: Sequence[str] = CONVERSIONS,
    marks: ArrayLike | None = None,
    orders: Sequence[float] | None = None,
) -> dict[str, Bound]:
    """The same by several conversions, from one composition.

    ε has one valley along the orders, so some of them tell where the best ones are and only those are looked up beside
    (every order gives a bound, whichever are looked at).
    """
    every = np.array(VARYING_ORDERS) if orders is None else np.unique(_validate.orders(orders))
    ends, steps = _marks(marks, total_steps(schedule)), scaled(schedule, setting.cost)

    def totals(kept: Index) -> Array:
        rate, replaced = setting.sample_rate, setting.replaced
        return composed_divergence(
            steps, sample_rate=rate, orders=every.tolist(), marks=ends, replaced=replaced, kept=kept
        )

    def bounds(total: Array, kept: Index) -> dict[str, Bound]:
        return {each: to_bound(total, every[kept], delta, each) for each in conversions}

    some = np.unique(np.append(np.arange(0, every.size, STRIDE), every.size - 1))
    total = totals(some)
    tried = np.concatenate([bound.order for bound in bounds(total, some).values()])
    best = np.searchsorted(every, np.unique(tried[np.isfinite(tried)]))
    beside = (best[:, None] + np.arange(-STRIDE, STRIDE + 1)).clip(0, every.size - 1)
    more = np.setdiff1d(beside, some)
    kept = np.append(some, more)
    rising = np.argsort(kept)
    return bounds(np.append(total, totals(more), axis=1)[:, rising], kept[rising])


def _marks(marks: ArrayLike | None, steps: int) -> Array:
    if marks is None:
        return np.array([float(steps)])
    ends = np.atleast_1d(_validate.steps(marks, "marks", minimum=1))
    if ends.ndim != 1 or ends.size == 0 or (np.diff(ends) <= 0).any() or ends[-1] > steps:
        raise ValueError(f"Expected marks as increasing step counts up to {steps}.")
    return ends


def langevin_tight(setting: Langevin, schedule: Schedule, delta: float, groups: int = GROUPS) -> tuple[float, float]:
    """Lower and upper ε, numerically tight up to the grouping: from below every group takes its smallest step size."""
    low, high = langevin_tight_at(setting, schedule, delta, [float(total_steps(schedule))], groups)
    return float(low[0]), float(high[0])


def langevin_tight_at(
    setting: Langevin, schedule: Schedule, delta: float, marks: Sequence[float], groups: int = GROUPS
) -> tuple[Array, Array]:
    """The same after each number of steps in `marks` (rising; of a list of step sizes all steps alone), (marks,) each.

    Marks share groups, and so what is known of a step: several cost little more than the last one.
    """
    sides = [langevin_events(setting, schedule, groups, smallest=small, marks=marks) for small in (True, False)]
    ends = [np.cumsum([count for _, count in events]) for events in sides]
    rows = [e[: np.searchsorted(end, t, side="right")] for t in marks for e, end in zip(sides, ends, strict=True)]
    results = tight_epsilon_of_each(rows, delta)
    return np.array([float(r.lower) for r in results[::2]]), np.array([float(r.upper) for r in results[1::2]])


def langevin_events(
    setting: Langevin, schedule: Schedule, groups: int = GROUPS, *, smallest: bool = False, marks: Sequence[float] = ()
) -> list[Event]:
    """The steps as events of equal steps for any accountant: at most `groups`, each at its largest step size.

    With `smallest` each at its smallest, for bounds from below; `marks` as in `grouped`.
    """
    most = _validate.whole(1, groups=groups)
    counts, sizes = grouped(schedule, most, smallest=smallest, marks=marks)
    noise = setting.noise_multiplier(sizes)
    mechanism = ReplaceOneGaussian if setting.replaced else SampledGaussian
    return [
        (mechanism(float(s), setting.sample_rate), int(c))
        for s, c in zip(noise, counts, strict=True)
        if np.isfinite(s)  # a step size of 0 releases nothing
    ]
