"""The RDP filter: a budget (ε, δ) fixed in advance, and steps chosen as one goes (Lécuyer 2021, §3).

A step is refused when for every order α ∈ Λ the divergences Σε_i(α), with it, exceed

    ε_RDP(α) = ε − ln(1/δ)/(α − 1)      (or the improved conversion's, which is larger).

A refused step leaves no trace: `spend` raises `BudgetExceeded`, which tells how many such steps would still fit.

Theorem 1 is for one order. Over a set of orders (Corollary 1) the order that is left at the end is the same in every
outcome when only the number of steps depends on what was seen: the promise then is for steps planned beforehand, or
stopped early. Where the mechanisms depend on results too, another outcome may end with another order, and the
corollary's proof does not say which one bounds both: the promise fails (by 10.68 times its limit in an example). A
single order, fixed ahead, covers that case at no price (`one_order_filter`); where nothing says which, `union=True`
asks each order to promise (ε, δ/|Λ|), so that they all promise it together.

>>> from dpviz.mechanisms import SampledGaussian
>>> step = SampledGaussian(noise_multiplier=1.0, sample_rate=0.01024)
>>> budget = Filter(target_epsilon=3.0, delta=1e-6, orders=[2, 3, 4, 5, 6, 8, 12])
>>> budget.spend(step, 500)
>>> budget.remaining_steps(step)
581
>>> budget.allows(step, 582)
False
"""

import math

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike
from dpviz.accounting.bound import Bound
from dpviz.accounting.card import card
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import Mechanism

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

    With several orders, the promise is for steps planned beforehand, or stopped early because of results. If results
    also choose noise or batches, take one order fixed in advance (`one_order_filter`, or `orders=[α]`) or `union=True`.

    Attributes:
        target_epsilon, delta: the promise.
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
    def delta_of_each(self) -> float:
        """δ that each order has: the filter's own, or its share of it."""
        return self._share

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
