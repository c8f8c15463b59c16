"""The Bayesian cost of a known law of gradient norms: no sample, no γ.

An example's distance d is its norm, clipped at C, the law's quantile p; the noise has standard deviation σC. With
A(α, u) the α-th moment of one step's likelihood ratio at u = (d/(σC))², the joint moment of T steps is E_d[A(α, u)^T]
(Triastcyn & Faltings 2020, Theorem 1, in which Hölder's inequality covers examples that change their d).

It lies between two sums over cells of d², for A(α, u)^T rises and is convex in u (docs/work/proofs.md, "Between two
sums"); the sum from above is at most what d = C throughout costs: at the same orders Bayesian DP never lies above DP.

Definition 1 is a tail and converts by Markov's inequality, as the moments accountant; Definition 2 a hockey-stick, and
converts as the Rényi accountant does (docs/work/proofs.md, "The two definitions"): compare each with its own.

    >>> known = dict(noise_multiplier=4.0, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
    >>> [round(bayesian_law_epsilon("weibull", shape=0.5, quantile=p, **known), 3) for p in (0.25, 0.95, 0.9999)]
    [1.018, 0.845, 0.525]
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools, Index
from dpviz._remember import remembered
from dpviz.accounting.bayesian.accountant import READINGS, TOO_LARGE
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.best_epsilon import order_search
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.accounting.renyi.orders import FINE_ORDERS
from dpviz.accounting.renyi.search import Once, bottom_near, downhill
from dpviz.gradients.clipped_law import LawCells, clipped_law, law_cells
from dpviz.mechanisms.log_excess import log_sums
from dpviz.mechanisms.log_moments import MOST_STEPS, log_moment
from dpviz.mechanisms.moment_table import log_moment_table
from dpviz.mechanisms.sampled_gaussian import SampledGaussian

MARKOV_ORDERS = np.arange(2.0, 34.0)  # λ = 1 … 32
_CONVERSIONS = {1: "classic", 2: "improved"}
_GRIDS = {1: MARKOV_ORDERS, 2: FINE_ORDERS}
_STRIDES = (256, 64, 16)
_LEADERS = 9


@dataclass(frozen=True, eq=False, slots=True)
class LawBound:
    """ε_μ at the best of the orders looked at lies in [lower, upper]; arrays of one shared shape.

    Attributes:
        upper: the sum over cells from above, which may be promised.
        below: works out `lower`, the sum from below.
        order: α = λ + 1 of the order that decided the upper one; NaN where none did.
        at_grid_end: True where it is the first or last order tried: other orders might do better.
        floor: what the largest order charges for doing nothing, below which no ε can be with these orders.
    """

    upper: Array
    below: Callable[[], Array]
    order: Array
    at_grid_end: Bools
    floor: Array

    @property
    def lower(self) -> Array:
        return self.below()


@dataclass(frozen=True, eq=False, slots=True)
class LawPlan:
    """What is asked of a clipped law, checked; arguments and errors as in `bayesian_law_epsilon`.

    Attributes:
        noise_multiplier: σ, or several, whose axis comes before those of the steps.
        steps, delta_mu: broadcast to one shape.
        reading: "planned": each element of steps is a plan of its own. "running": the largest is the plan, and the
            others are moments of that run. "another": the differing example is drawn anew in each step, so that T
            steps cost T times one; a promise to nobody who takes part in all of them, and no more than "planned".
        rough: whether orders between some will do, but for the last bound: some 1e-4 more, for every order gives a
            bound.
    """

    noise_multiplier: Any  # this and what has Any below: numbers or lists when given, arrays once checked
    sample_rate: float
    steps: Any
    delta_mu: Any
    definition: int = 2
    orders: Any = None
    reading: str = "planned"
    rough: bool = False

    def __post_init__(self) -> None:
        sigma, rate = _validate.noise_multiplier(self.noise_multiplier), _validate.number(sample_rate=self.sample_rate)
        delta = _validate.delta(self.delta_mu, "delta_mu")
        shaped = np.broadcast_arrays(_validate.steps(self.steps, minimum=1), delta)
        if self.definition not in _CONVERSIONS or isinstance(self.definition, bool):
            raise ValueError(f"Expected definition={self.definition!r} to be 1 or 2.")
        _validate.choice("reading", self.reading, READINGS)
        if shaped[0].size == 0:
            raise ValueError("Expected steps as at least one number, found none.")
        orders = None if self.orders is None else np.unique(_validate.orders(self.orders))
        checked = (sigma, rate, *shaped, orders)
        names = ("noise_multiplier", "sample_rate", "steps", "delta_mu", "orders")
        for name, value in zip(names, checked, strict=True):
            object.__setattr__(self, name, value)

    @property
    def grid(self) -> Array:
        """The orders α that are tried."""
        given: Array | None = self.orders
        return _GRIDS[self.definition] if given is None else given


def bayesian_law_epsilon(
    family: str,
    *,
    shape: float = 1.0,
    quantile: float,
    noise_multiplier: ArrayLike,
    sample_rate: float,
    steps: ArrayLike,
    delta_mu: ArrayLike,
    definition: int = 2,
    orders: ArrayLike | None = None,
    bound: str = "upper",
    reading: str = "planned",
) -> Any:
    """ε_μ of norms drawn from a known family and clipped at one of its quantiles: within 0.1 % (or 1e-4), no sample.

    Args:
        family: "weibull", "lognormal" or "halfnormal", of whatever scale.
        shape: the family's, > 0.
        quantile: p in (0, 1); C is the law's quantile p, distances are norms clipped at C.
        noise_multiplier: σ, noise standard deviation ÷ C.
        sample_rate: q in [0, 1].
        steps: numbers of steps ≥ 1, each a plan of its own; a number or an array.
        delta_mu: δ_μ in (0, 1); a number or an array that broadcasts with steps.
        definition: 1 for the strong definition, a tail, 2 for the guarantee that the paper states (`law_bound`).
        orders: Rényi orders α = λ + 1 > 1; None for those of the accountant to compare with: λ = 1 … 32 for
            Definition 1, the Rényi accountant's for Definition 2.
        bound: "upper", never too low, or "lower".
        reading: "planned", "running" or "another" (`LawPlan`): whose steps these are.

    Returns:
        A float if steps and delta_mu are numbers, else an array of their broadcast shape.

    Raises:
        ValueError: for an argument out of its range, with the value.
    """
    _validate.choice("bound", bound, ("upper", "lower"))
    plan = LawPlan(noise_multiplier, sample_rate, steps, delta_mu, definition, orders, reading)
    interval = clipped_bound(law_cells(clipped_law(family, shape, quantile)), plan)
    epsilon: Array = interval.upper if bound == "upper" else interval.lower
    return float(epsilon) if epsilon.ndim == 0 else epsilon


def law_bound(family: str, *, shape: float = 1.0, quantile: float, **asked: Any) -> LawBound:
    """ε_μ of a plan, keywords as in `LawPlan`, with what decided it; arrays of the steps' shape."""
    return clipped_bound(law_cells(clipped_law(family, shape, quantile)), LawPlan(**asked))


def clipped_bound(cells: LawCells, asked: LawPlan) -> LawBound:
    """`law_bound` of a law that is clipped already."""
    rate, given, grid, conversion = asked.sample_rate, asked.steps, asked.grid, _CONVERSIONS[asked.definition]
    sigma = np.ravel(asked.noise_multiplier)
    shape = (*np.shape(asked.noise_multiplier), *given.shape)
    noise = np.repeat(np.arange(sigma.size), given.size)
    taken, slack = (np.tile(values.ravel(), sigma.size) for values in (given, asked.delta_mu))
    plan = {"planned": taken, "running": np.full(taken.size, taken.max()), "another": np.ones(taken.size)}[
        asked.reading
    ]
    free = asked.orders is None and asked.definition == 2
    ceiling, start = np.full(taken.size, np.inf), np.zeros(taken.size, dtype=np.intp)
    if free:
        ceiling, start = _renyi(sigma.tobytes(), rate, given.tobytes(), asked.delta_mu.tobytes())
    some = np.flatnonzero((rate > 0.0) & (ceiling > 0.0))
    rows = np.arange(some.size)

    def side(values: Array, mass: Array) -> _LawRows:
        orders = None if asked.orders is None else grid.tobytes()
        known = values.tobytes(), sigma.tobytes(), rate, asked.definition, orders, bool(plan.max() > MOST_STEPS)
        parts = noise[some], plan[some], (taken / plan)[some], slack[some]
        return _LawRows(_moments_of(*known), mass, *parts, conversion)

    above = side(cells.upper, cells.upper_mass)
    tried: Index = np.broadcast_to(np.arange(grid.size), (some.size, grid.size))
    if free and some.size:
        tried = above.best(start[some], asked.rough)[:, None]
    seen = above.epsilon(rows[:, None], tried)
    best = seen.argmin(axis=1)
    epsilon, order = np.zeros(taken.size), np.full(taken.size, np.nan)
    least = np.where(above.moments.blind[noise[some]], np.inf, np.maximum(seen[rows, best], 0.0))
    epsilon[some], order[some] = np.minimum(least, ceiling[some]), grid[tried[rows, best]]

    def below() -> Array:
        lower = np.zeros(taken.size)
        lower[some] = side(cells.lower, cells.lower_mass).epsilon(rows[:, None], tried).min(axis=1)
        return np.minimum(np.maximum(lower, 0.0), epsilon).reshape(shape)

    at_end = (epsilon > 0.0) & ((order == grid[0]) | (order == grid[-1]))
    floor = np.maximum(epsilon_per_order(np.zeros((taken.size, 1)), grid[-1:], slack, conversion)[:, 0], 0.0)
    upper, order, at_end, floor = (values.reshape(shape) for values in (epsilon, order, at_end, floor))
    return LawBound(upper, below, order, at_end, floor)


@remembered
def _renyi(sigma: bytes, rate: float, steps: bytes, delta: bytes) -> tuple[Array, Index]:
    """What d = C throughout costs by the Rényi accountant, and the place of the order that decides; (σ · steps,)."""
    noise, count, slack = (np.frombuffer(part) for part in (sigma, steps, delta))
    if noise.size == 1:  # whose divergences a curve of that accountant has already
        dp = Renyi().epsilon_of(SampledGaussian(float(noise[0]), rate), steps=count, delta=slack)
        epsilon, order = dp.epsilon, dp.order
    else:
        kept, plans = order_search(sigma, rate), zip(count.tolist(), slack.tolist(), strict=True)
        epsilon, order = np.stack([kept.epsilon(*plan, Renyi().conversion) for plan in plans], axis=-1).reshape(2, -1)
    return epsilon, np.searchsorted(FINE_ORDERS, np.nan_to_num(order, nan=2.0))


class _LawMoments(Once):
    """ln A at r·C²/(σC)² for the values r of a discrete law, some σ and places of a grid of orders, each computed once.

    `blind`: for which σ only what needs no number below may be said.
    """

    def __init__(self, values: Array, sigma: Array, rate: float, grid: Array, exact: bool) -> None:
        super().__init__(values.size)
        with np.errstate(over="ignore"):
            scaled = values / sigma[:, None] / sigma[:, None]
        self.blind: Bools = scaled.max(axis=1) > TOO_LARGE
        self._u, self._rate, self._exact = np.clip(scaled, _validate.LEAST, TOO_LARGE), rate, exact
        self.grid, self.nbytes = grid, self._u.nbytes

    def at(self, which: Index, places: Index) -> Array:
        """(…, values) of those σ at places (…); the two broadcast."""
        return self.rows(which * self.grid.size + places, self._compute)

    def _compute(self, key: Index) -> Array:
        of, place = np.divmod(key, self.grid.size)
        return np.concatenate([self._moments(one, place[of == one]) for one in np.unique(of).tolist()])

    def _moments(self, one: int, places: Index) -> Array:
        if self._exact:
            return log_moment(1.0 / np.sqrt(self._u[one]), self._rate, self.grid[places, None])
        return log_moment_table(self._u[one], self._rate, self.grid[places])


@remembered
def _moments_of(
    values: bytes, sigma: bytes, rate: float, definition: int, orders: bytes | None, exact: bool
) -> _LawMoments:
    """Float64s as bytes: what was computed serves every T and δ_μ."""
    grid = _GRIDS[definition] if orders is None else np.frombuffer(orders)
    return _LawMoments(np.frombuffer(values), np.frombuffer(sigma), rate, grid, exact)


@dataclass(frozen=True, eq=False, slots=True)
class _LawRows:
    """ε of rows at orders under one of the two discrete laws.

    Attributes:
        moments, mass: of the law's values.
        noise: which σ of the moments each row has.
        plan, share, delta: T, t/T and δ_μ of each row.
        conversion: of moments to ε.
    """

    moments: _LawMoments
    mass: Array
    noise: Index
    plan: Array
    share: Array
    delta: Array
    conversion: str

    def epsilon(self, rows: Index, places: Index) -> Array:
        """ε of rows (k, 1) at places (k, m): (k, m)."""
        row, some, orders = rows[:, 0], self.mass > 0.0, self.moments.grid[places]
        logs = self.moments.at(self.noise[rows], places)[..., some]
        joint = log_sums(self.plan[row, None, None] * logs + np.log(self.mass[some]))
        return epsilon_per_order(self.share[rows] * joint / (orders - 1.0), orders, self.delta[row], self.conversion)

    def best(self, start: Index, rough: bool) -> Index:
        """The place of each row's best order, looked for from where the least ε of d = C throughout is; (rows,).

        Some rows search, the others begin between their neighbours' ends: s·ε is the logarithm of a mean of
        exponentials of functions convex in s = α − 1, hence convex as the Rényi accountant's is, and ε has one valley
        (`order_search`). Where it may be `rough` that is where they stay, but for the last row.
        """
        spread = np.linspace(start.min(), start.max(), min(_LEADERS, 2 + int(np.ptp(start)) // _STRIDES[0]))
        rising = np.argsort(start, kind="stable")
        lead = rising[np.unique(np.searchsorted(start[rising], [*spread.round(), start[-1]]))]
        last = self.moments.grid.size - 1

        def of_leaders(rows: Index, places: Index) -> Array:
            return self.epsilon(lead[rows], places)

        best = start[lead]
        for stride in _STRIDES:
            best, _ = downhill(of_leaders, best, stride, last)
        if rough:
            best = bottom_near(of_leaders, best, _STRIDES[-1], last)
        between = np.interp(start, start[lead], best).round().astype(np.intp)
        if rough:
            end, _ = downhill(lambda rows, places: self.epsilon(rows + start.size - 1, places), between[-1:], 1, last)
            return np.append(between[:-1], end)
        best, _ = downhill(self.epsilon, between, _STRIDES[-1], last)
        best, _ = downhill(self.epsilon, bottom_near(self.epsilon, best, _STRIDES[-1], last), 1, last)
        return best
