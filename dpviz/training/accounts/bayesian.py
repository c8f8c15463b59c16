"""Bayesian differential privacy of a live run, from gradient distances that every step measures in its batch.

T, the number of steps, is fixed ahead: a step costs c_t(λ, T) = (1/T) ln E_t exp(Tψ(λ, d)) (Triastcyn & Faltings 2020,
Eq. 10), and ε_μ = min over λ of (Σ c_t(λ, T) − ln(δ_μ − γ))/λ. The authors estimate each c_t from the step's own few
distances (Eq. 14), which holds only as their number grows. Here the sum is bounded at once by all distances of all
steps of one mechanism (`bayesian.pool`): with probability 1 − γ no ε_μ of the run is too low, at whichever step it is
read or ended, however the distributions change. γ counts once for the run: its j-th mechanism takes γ/(j(j + 1)).
Definition 1, a tail, converts by Markov: ε_μ as above. Definition 2, which the paper states as its guarantee, speaks of
outcome and example together: Σ c_t/λ bounds the Rényi divergence of order λ + 1 between the two joint laws, so that it
converts as Rényi's does (`conversion`, "improved"), at δ_μ − γ.

As the evidence grows ε_μ may fall from one step to the next. It never exceeds what d_max throughout would cost.

Which distances: one example more or less changes the sum of clipped gradients by its own clipped gradient, so d is the
norm; Theorem 3's (1 − q) N(0, σ²) + q N(d, σ²) against N(0, σ²) is exactly that. The authors take distances between two
examples' gradients instead. That is usually more, √2 times for gradients at right angles, but it bounds neither
adjacency: equal gradients have distance 0 whatever one of them adds, and to replace g by g′ can cost more than
ψ(‖g − g′‖) where batches are sampled (σ = 2, q = 0.1, λ = 4: by 18 % for g′ = 0.3 g).

What is assumed: given the network, a batch's examples are random ones of those that ε_μ speaks of. That is so for an
example drawn from the training data, and for the next one of their distribution as far as a network treats both alike.
It is no promise to any example whatever. The distances themselves are not private.
"""

import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.accounting.bayesian.costs import FIRST_ORDERS as ORDERS
from dpviz.accounting.bayesian.costs import psi
from dpviz.accounting.bayesian.pool import Pool
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import SampledGaussian
from dpviz.training.words import refusal

# A release, with the distances of a step; None where its sensitivity is known for certain.
Charge = tuple[SampledGaussian, Array | None]
_TOGETHER = 64
_ALPHAS: Array = ORDERS.astype(np.float64) + 1.0
_NEAR = 0.02  # relative: noise levels this near are one mechanism, at the lowest of them


class Facts(NamedTuple):
    """Why ε_μ is what it is.

    Attributes:
        estimate: ε_μ by the paper's estimate from each step's own distances (Eq. 14), no bound.
        worst: What d_max throughout would cost.
        order: λ that decides.
        unseen: Share of the mean that stands for distances which nobody saw and which so few cannot exclude.
        longest: Share of the distances that are within 0.6 % of d_max; NaN without distances.
        distances: How many were measured.
    """

    estimate: float
    worst: float
    order: int
    unseen: float
    longest: float
    distances: int

    def reason(self) -> str:
        """Why the distances prove no less."""
        if not self.distances:
            return "No distance was measured, so every step costs as much as the longest possible gradient."
        as_large = f"{self.longest:.0%} of the sampled distances are as large as clipping allows"
        if self.longest >= 0.5:
            return f"{as_large} and cost as much as in DP."
        if self.unseen > 0.5:
            return (
                f"{self.unseen:.0%} of the bound covers large distances that were not in the sample but that so small "
                "a sample cannot rule out at γ."
            )
        if self.order == ORDERS[-1]:
            return f"Its best order is the largest one it tries, λ = {self.order}; Rényi DP uses larger orders."
        return f"{as_large}; the shorter ones gain less than whole orders λ ≤ {ORDERS[-1]:.0f} and γ cost."


def certain_cost(mechanism: SampledGaussian, ratio: float) -> Array:
    """ψ(λ, d) where no distance exceeds `ratio` sensitivities: a cost that holds without any estimate."""
    scaled = np.array([(ratio / mechanism.noise_multiplier) ** 2])
    return np.asarray(psi(scaled, mechanism.sample_rate)[0])


class BayesianAccount:
    """ε_μ as a run goes on.

    Attributes:
        total_steps: T, which the costs were computed for.
        delta_mu, failure: δ_μ and γ.
        farthest: No distance exceeds so many C: 2 between two clipped gradients, 1 for their norms.
        definition: 1 or 2.
        taken: steps charged so far.
    """

    def __init__(
        self,
        *,
        total_steps: int,
        delta_mu: float,
        failure: float,
        max_grad_norm: float,
        farthest: float = 2.0,
        definition: int = 2,
    ) -> None:
        self.definition = definition
        self.total_steps, self.farthest = total_steps, farthest
        self.delta_mu, self.failure, self.max_grad_norm = delta_mu, failure, max_grad_norm
        _validate.delta_beyond_failure(delta_mu, failure, 1)
        self.taken = 0
        self._charges: list[Charge] = []
        self._unread: list[float] = []
        self._lost: Array = np.zeros(ORDERS.size)
        self._forget()

    def _forget(self) -> None:
        """No charge is in the costs."""
        self._known = 0
        self._pools: dict[tuple[float, int], Pool] = {}
        # None: private counts, and steps that were lost.
        self._costs: dict[tuple[float, int] | None, Array] = {None: self._lost}
        self._worst = self._lost

    def charge(self, mechanism: SampledGaussian, distances: npt.ArrayLike) -> None:
        """One step, with the distances its clipped gradients made, in any number; none charge the worst case.

        Raises:
            ValueError: past the plan: the costs so far hold for T steps only. Call `replan` first.
        """
        if self.taken >= self.total_steps:
            raise refusal("past_plan", total_steps=self.total_steps)
        self._charges.append((mechanism, np.asarray(distances, dtype=np.float64)))
        self.taken += 1

    def charge_certain(self, mechanism: SampledGaussian) -> None:
        """A release beside the steps, one example changing it by at most its sensitivity (a private count)."""
        self._charges.append((mechanism, None))

    def charge_lost(self, mechanism: SampledGaussian, count: int) -> None:
        """Steps of an earlier process that are taken again: their distances are gone, so d_max; before any other."""
        self._lost = self._lost + count * certain_cost(mechanism, self.farthest)
        self._forget()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """Every charge of a step or a release, in order; not those of lost steps."""
        return tuple(self._charges)

    def go_on(self, charges: Iterable[Charge], total_steps: int) -> None:
        """Charge what the same run was charged when it was interrupted, its plan T being then `total_steps`."""
        self.total_steps = total_steps
        self._charges.extend(charges)
        self.taken = sum(distances is not None for _, distances in self._charges)
        self._add_up()
        self._unread = []

    def replan(self, total_steps: int) -> None:
        """All costs anew for another T, not less than the steps taken."""
        if total_steps < self.taken:
            raise ValueError(f"Expected total_steps={total_steps} >= {self.taken}, the steps already taken.")
        self._add_up()
        unread, self._unread = self._unread, []  # of the plan of then
        self.total_steps = total_steps
        self._forget()
        self._add_up()
        self._unread = unread

    def epsilon(self) -> float:
        """ε_μ of everything charged so far at δ_μ; 0 before anything was."""
        self._add_up()
        return self._epsilon(self._total(), self._worst) if self._charged else 0.0

    def worst_epsilon(self) -> float:
        """What the same would come to if every distance were d_max: it needs no sample and pays no γ."""
        self._add_up()
        return self._epsilon(self._worst, self._worst) if self._charged else 0.0

    @property
    def _charged(self) -> bool:
        return bool(self._charges) or bool(self._lost.any())

    def tail_share(self) -> float:
        """How much of the bound stands for distances that nobody saw and that so few cannot exclude, in [0, 1].

        At the order that decides, a mean over the steps; those without distances, charged the worst case, count as 0.
        """
        self._add_up()
        best = int(self._per_order(self._total(), self.delta_mu - self.failure).argmin())
        shares = (pool.counted * float(pool.unseen()[best]) for pool in self._pools.values())
        return sum(shares) / max(self.taken, 1)

    def facts(self) -> Facts:
        """What explains ε_μ now; something must have been charged."""
        self._add_up()
        printed = sum((pool.printed for pool in self._pools.values()), self._costs[None])
        net = self.delta_mu - self.failure
        cells = sum((pool.cells for pool in self._pools.values()), np.zeros(1))
        number = int(cells.sum())
        return Facts(
            estimate=max(float(self._per_order(printed, net).min()), 0.0),
            worst=self.worst_epsilon(),
            order=int(ORDERS[self._per_order(self._total(), net).argmin()]),
            unseen=self.tail_share(),
            longest=float(cells[-1]) / number if number else math.nan,
            distances=number,
        )

    def readings(self) -> list[float]:
        """ε_μ after each step since the last time this was asked, with the plan of then."""
        self._add_up()
        epsilons, self._unread = self._unread, []
        return epsilons

    def _add_up(self) -> None:
        """Costs are worked out for many steps together, when somebody looks."""
        new, self._known = self._charges[self._known :], len(self._charges)
        for key, equal in itertools.groupby(new, self._key):
            charges = list(equal)
            for start in range(0, len(charges), _TOGETHER):
                self._add(key, charges[start : start + _TOGETHER])

    def _key(self, charge: Charge) -> tuple[float, float, int] | None:
        mechanism, distances = charge
        if distances is None:
            return None
        sigma = mechanism.noise_multiplier
        return sigma, mechanism.sample_rate, math.floor(math.log(sigma) / _NEAR) if sigma > 0.0 else 0

    def _add(self, key: tuple[float, float, int] | None, charges: list[Charge]) -> None:
        if key is None:
            for mechanism, _ in charges:
                self._costs[None] = self._costs[None] + certain_cost(mechanism, 1.0)
                self._worst = self._worst + certain_cost(mechanism, 1.0)
            return
        pooled = key[1:]
        if pooled not in self._pools:
            number = len(self._pools) + 1
            failure = self.failure / (number * (number + 1.0))
            self._pools[pooled] = Pool(rate=key[1], total_steps=self.total_steps, failure=failure)
        scale = (self.farthest / key[0]) ** 2
        most = self.farthest * self.max_grad_norm
        # What is not a number is as far as can be.
        parts = [np.nan_to_num(np.minimum(part, most) / most, nan=1.0) for _, part in charges if part is not None]
        others = sum((cost for other, cost in self._costs.items() if other != pooled), np.zeros(ORDERS.size))
        courses, worst = self._pools[pooled].add(scale, parts), certain_cost(charges[0][0], self.farthest)
        for course in courses:
            self._worst = self._worst + worst
            self._unread.append(self._epsilon(others + course, self._worst))
        self._costs[pooled] = courses[-1]

    def _total(self) -> Array:
        return np.asarray(sum(self._costs.values(), np.zeros(ORDERS.size)))

    def _epsilon(self, costs: Array, worst: Array) -> float:
        """The least of what the distances prove and of what needs none, which does not pay γ."""
        proven, certain = self._per_order(costs, self.delta_mu - self.failure), self._per_order(worst, self.delta_mu)
        return max(min(float(proven.min()), float(certain.min())), 0.0)

    def _per_order(self, costs: Array, delta: float) -> Array:
        conversion = "classic" if self.definition == 1 else "improved"
        return epsilon_per_order(costs / ORDERS, _ALPHAS, np.array(delta), conversion)
