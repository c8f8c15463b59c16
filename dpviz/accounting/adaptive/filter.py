"""The RDP filter: a budget (ε, δ) fixed in advance, and steps chosen as one goes (Lécuyer 2021, §3).

A step is refused when for every order α ∈ Λ the divergences Σε_i(α), with it, exceed

    ε_RDP(α) = ε − ln(1/δ)/(α − 1)      (or the improved conversion's, which is larger).

A refused step leaves no trace: `spend` raises `BudgetExceeded`, which tells how many such steps would still fit.

Theorem 1 is for one order. Over a set of orders (Corollary 1) the order that is left at the end is the same in every
outcome when only the number of steps depends on what was seen; where the mechanisms depend on it too, another outcome
may end with another order, and the corollary's proof does not say which one bounds both. A single order, fixed ahead,
covers that case at no price (`one_order`); where nothing says which, `union=True` asks each order to promise
(ε, δ/|Λ|), so that they all promise it together.

>>> from dpviz.mechanisms import SampledGaussian
>>> step = SampledGaussian(noise_multiplier=1.0, sample_rate=0.01024)
>>> budget = Filter(target_epsilon=3.0, delta=1e-6, orders=[2, 3, 4, 5, 6, 8, 12])
>>> budget.spend(step, 500)
>>> budget.remaining_steps(step)
581
>>> budget.allows(step, 582)
False

A budget for steps that depend on what was seen: a filter at one Rényi order, fixed before the first step.

Let each step be chosen from all that was released before it, and let the filter at order α see to it that the
divergences R_t(α) add up to at most ρ in every outcome. For neighbouring data, p_t and p′_t being what step t does to
either of them after the same past, E[(p_t/p′_t)^α | past] ≤ exp((α − 1) R_t(α)): so the product over t of
(p_t/p′_t)^α · exp(−(α − 1) R_t(α)) is a supermartingale that starts at 1, and the whole run has a divergence of at
most ρ at α, wherever it ends: steps that are not taken cost nothing (Feldman & Zrnic 2021, Theorem 3.1; Lécuyer 2021,
Theorem 1). Converted at that α, ρ is (ε, δ), as if all had been planned: adaptivity has no price, and nothing is
shared out over orders. Both directions of adding and removing are covered, since R is the larger of the two.

The order must not depend on the data. It is taken from a baseline plan: the one at which the budget holds it the most
times over. The plan's own ε, which its best order decides, is a budget that it just fits.

>>> from dpviz.mechanisms import SampledGaussian
>>> plan = [(SampledGaussian(2.0, 0.1), 150), (SampledGaussian(100.0), 15)]
>>> budget = one_order_filter(plan, target_epsilon=planned_epsilon(plan, 1e-5), delta=1e-5)
>>> [budget.spend(*part) for part in plan], round(budget.target_epsilon, 6)
([None, None], 3.174496)
>>> budget.allows(plan[0][0])
False

A privacy filter for each person: whoever's own gradients are short may take part longer (Feldman & Zrnic 2021).

One step of a sampled Gaussian with noise of absolute standard deviation s costs a person whose clipped gradient has the
norm r the divergence R(α) of noise multiplier s/r: α r²/(2s²) without sampling. An individual filter adds that up for
each person alone and leaves out whoever would exceed the budget ρ at the order α, before the step. Then every person
has a divergence of at most ρ, however the steps were chosen (their individual Rényi filter; the supermartingale of
`one_order`, with that person's own divergences), hence (ε, δ) as if all had been planned.

α is fixed before the first step: it is the order at which a person with the largest norm may take part longest.

What may be published are the noisy sums, and all that follows from them. Who has left, when, or how many are left
follows from people's own data, and is no part of what is promised.

>>> individual_steps([1.0, 0.5, 0.0], noise_std=20.0, largest_norm=1.0, target_epsilon=2.0, delta=1e-5).tolist()
[86.0, 346.0, inf]
"""

import math
from collections.abc import Sequence
from typing import NotRequired, TypedDict, Unpack

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools
from dpviz._remember import remembered
from dpviz.accounting.bound import Bound
from dpviz.accounting.card import card
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import Event, Mechanism, SampledGaussian, merge_events
from dpviz.mechanisms.log_moments import renyi_divergence

_LARGEST_COUNT = 2**53

NAME = "filter"  # of its claims and curves
CARD = card(NAME)


class BudgetExceeded(RuntimeError):
    """A step that the filter refused; nothing of it was recorded.

    Attributes:
        mechanism: what was asked for, or its ε and δ in words.
        count: how many steps of it.
        fits: how many steps of it the budget still allows.
        target_epsilon: the budget.
    """

    def __init__(self, mechanism: Mechanism | str, count: int, fits: int, target_epsilon: float) -> None:
        self.mechanism, self.count, self.fits, self.target_epsilon = mechanism, count, fits, target_epsilon
        super().__init__(
            f"Refused: {count} steps of {mechanism} would exceed the budget ε = {target_epsilon:.12g}; "
            f"{fits} of them still fit. Nothing was spent: lower the count, add noise or lower the sampling rate."
        )


class Filter(Ledger):
    """A privacy budget that refuses what would exceed it; refused steps are not among its events.

    Attributes:
        target_epsilon, delta: the promise, which holds for whatever the filter let pass.
        accountant: orders and conversion.
        union: whether δ is shared out over the orders, for mechanisms that depend on what was seen.
    """

    accountant: AdditiveAccountant
    _sum: RunningSum

    def __init__(
        self,
        *,
        target_epsilon: float,
        delta: float,
        orders: ArrayLike | None = None,
        conversion: str = "classic",
        union: bool = False,
        accountant: AdditiveAccountant | None = None,
    ) -> None:
        """Target ε ≥ 0, δ in (0, 1), orders α > 1, conversion "classic" (as the paper) or "improved".

        Where no orders are named, `DEFAULT_ORDERS` are taken; an accountant has both, orders and conversion, itself.
        """
        self.target_epsilon, self.delta = _validate.numbers(target_epsilon=target_epsilon, delta=delta)
        if accountant is None:
            accountant = Renyi(conversion, () if orders is None else tuple(_validate.orders(orders).tolist()))
        super().__init__(accountant)
        self.union = bool(union)
        self._share = self.delta / self.accountant.orders.size if self.union else self.delta

    @property
    def limits(self) -> Array:
        """ε_RDP(α) of each order, the divergence that exhausts it; negative where an order can never help."""
        return self.target_epsilon - self._per_order(np.zeros(self.accountant.orders.size))

    @property
    def spent(self) -> Array:
        """Σε_i(α) of each order, (orders,)."""
        return self._sum.total.copy()

    def _per_order(self, total: Array) -> Array:
        """ε(α) of divergences (orders,) at the share of δ that each order has."""
        return epsilon_per_order(total, self.accountant.orders, np.asarray(self._share), self.accountant.conversion)

    def after(self, mechanism: Mechanism, count: int | Array) -> Array:
        """Σε_i(α) if `count` steps more of `mechanism` were spent, (…, orders) for counts (…)."""
        return self._sum.after(mechanism, count)

    def allows(self, mechanism: Mechanism, count: int = 1) -> bool:
        """Whether `count` more steps of `mechanism` fit the budget."""
        total = self.after(mechanism, _validate.whole(0, count=count))
        # What releases nothing fits every budget, also one below every order's tail.
        return bool((self._per_order(total) <= self.target_epsilon).any()) or not total.any()

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record `count` more steps, all of them or none.

        Raises:
            BudgetExceeded: they do not fit; nothing was recorded, and `.fits` says how many would.
        """
        self.accountant.check(mechanism, self.first or mechanism)
        whole = _validate.whole(0, count=count)
        if not self.allows(mechanism, whole):
            fits = self.remaining_steps(mechanism)
            raise BudgetExceeded(mechanism, whole, int(min(fits, whole)), self.target_epsilon)
        super().spend(mechanism, whole)

    def remaining_steps(self, mechanism: Mechanism) -> int | float:
        """The most steps of `mechanism` that still fit; math.inf where they cost nothing (q = 0)."""
        step = self.accountant.divergence(mechanism)
        if not step.any():
            return math.inf
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            room = np.where(np.isfinite(step) & (step > 0.0), (self.limits - self._sum.total) / step, 0.0)
        guess = int(np.clip(np.floor(room.max()), 0, _LARGEST_COUNT))
        # The quotient was rounded; `allows` decides.
        while guess > 0 and not self.allows(mechanism, guess):
            guess -= max(1, guess >> 50)
        while guess < _LARGEST_COUNT and self.allows(mechanism, guess + 1):
            guess += 1
        return guess

    def bound(self, delta: float | None = None) -> Bound:
        """What the steps that passed cost had they been planned, by the filter's own orders; δ defaults to its own.

        The Rényi accountant finds a little less between two orders: a filter's are fixed before the first step.
        """
        at = self.delta if delta is None else _validate.number(delta=delta)
        return self.accountant.bound(self._sum.total, at)

    def epsilon(self, delta: float | None = None) -> float:
        """ε of what was spent, read as if planned: how full the budget is.

        Whoever lets results decide when to stop has the promise `target_epsilon`, not this; an odometer gives a bound
        that holds at every stop.
        """
        return float(self.bound(delta).epsilon)


_CONVERSION = "improved"
_ALL = Renyi(_CONVERSION)
# Divergences are added in another order along a run than here: room for the last digits.
_ROUNDING = 1e-9


def planned_epsilon(events: Sequence[Event], delta: float) -> float:
    """The least budget that all of `events` fit, in whatever order they come: ε of the plan at its best order.

    Infinite where no order has a finite divergence.
    """
    return _planned(merge_events(events), delta)


def one_order_filter(events: Sequence[Event], *, target_epsilon: float, delta: float) -> Filter:
    """A filter at the order at which the budget holds the plan `events` the most times over."""
    target = _validate.number(target_epsilon=target_epsilon)
    order = _best_order(merge_events(events), target, _validate.number(delta=delta))
    return Filter(target_epsilon=target_epsilon, delta=delta, orders=[order], conversion=_CONVERSION)


@remembered
def _planned(events: tuple[Event, ...], delta: float) -> float:
    least = float(np.nanmin(_tails(delta) + _ALL.total(events)))
    return max(least, 0.0) * (1.0 + _ROUNDING) + _ROUNDING


@remembered
def _best_order(events: tuple[Event, ...], target_epsilon: float, delta: float) -> float:
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        times = (target_epsilon - _tails(delta)) / _ALL.total(events)
    return float(_ALL.orders[int(np.nan_to_num(times, nan=-np.inf, posinf=np.inf, neginf=-np.inf).argmax())])


def _tails(delta: float) -> Array:
    """What the conversion adds to the divergence at each order, (orders,)."""
    orders = _ALL.orders
    return epsilon_per_order(np.zeros(orders.size), orders, np.asarray(delta), _CONVERSION)


_LEAST_SHARE = 1e-9  # of the largest norm: shorter gradients, but for 0, are charged like this one


class IndividualFilter:
    """What each of n people may still spend.

    Attributes:
        target_epsilon, delta: the promise to each of them.
        order: α, fixed ahead.
        budget: ρ, the divergence at α that nobody exceeds; below 0 where the target is too small for any step.
    """

    def __init__(
        self,
        *,
        people: int,
        noise_std: float,
        largest_norm: float,
        target_epsilon: float,
        delta: float,
        sample_rate: float = 1.0,
    ) -> None:
        """noise_std: absolute, on the sum; largest_norm: C, what gradients are clipped to; sample_rate q in (0, 1]."""
        self._noise, self._largest = _validate.numbers(noise_std=noise_std, largest_norm=largest_norm)
        self._rate = _validate.number(sample_rate=sample_rate)
        count = _validate.whole(1, people=people)
        worst = SampledGaussian(self._noise / self._largest, self._rate)
        planned = one_order_filter([(worst, 1)], target_epsilon=target_epsilon, delta=delta)
        self.target_epsilon, self.delta = planned.target_epsilon, planned.delta
        self.order, self.budget = float(planned.accountant.orders[0]), float(planned.limits[0])
        self._spent = np.zeros(count)

    @property
    def spent(self) -> Array:
        """Σ R(α) of each person, (n,): their own data decide it, so it must not be published."""
        return self._spent.copy()

    def divergence(self, norms: ArrayLike) -> Array:
        """R(α) of one step for clipped gradients of these norms, of any shape."""
        r = _validate.non_negative("norms", norms)
        if r.size and float(r.max()) > self._largest:
            raise ValueError(
                f"Expected norms={float(r.max()):.12g} <= largest_norm={self._largest:.12g}: clip the gradients first."
            )
        charged = np.maximum(r, _LEAST_SHARE * self._largest)
        return np.where(r > 0.0, renyi_divergence(self._noise / charged, self._rate, self.order), 0.0)

    def allows(self, norms: ArrayLike) -> Bools:
        """Who may take part in a step in which their clipped gradients have these norms, (n,)."""
        cost = self.divergence(norms)
        if cost.shape != self._spent.shape:
            raise ValueError(f"Expected norms of {self._spent.size} people, found shape {cost.shape}.")
        return np.asarray((self._spent + cost <= self.budget) | (cost == 0.0))

    def spend(self, norms: ArrayLike) -> Bools:
        """Charge a step to all who may take part, and say who they are: the others are to be left out of its sum."""
        passed = self.allows(norms)
        self._spent += np.where(passed, self.divergence(norms), 0.0)
        return passed


class Budget(TypedDict):
    """The arguments of `IndividualFilter`."""

    noise_std: float
    largest_norm: float
    target_epsilon: float
    delta: float
    sample_rate: NotRequired[float]


def individual_steps(norms: ArrayLike, **budget: Unpack[Budget]) -> Array:
    """How many equal steps people may take part in whose gradients always have these norms; inf where they are 0.

    Args:
        norms: norms of clipped gradients, at most largest_norm, of any shape.
        **budget: noise_std, largest_norm, target_epsilon, delta, sample_rate: as in `IndividualFilter`.
    """
    person = IndividualFilter(people=1, **budget)
    cost, most = person.divergence(norms), max(person.budget, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(cost > 0.0, np.floor(most / cost), np.inf)
        over = count * cost > most  # the quotient was rounded
    return np.where(np.isfinite(count) & over, count - 1.0, count)
