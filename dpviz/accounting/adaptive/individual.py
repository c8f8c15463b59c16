"""A privacy filter for each person: whoever's own gradients are short may take part longer (Feldman & Zrnic 2021).

One step of a sampled Gaussian with noise of absolute standard deviation s costs a person whose clipped gradient has the
norm r the divergence R(α) of noise multiplier s/r: α r²/(2s²) without sampling. An individual filter adds that up for
each person alone and leaves out whoever would exceed the budget ρ at the order α, before the step. Then every person
has a divergence of at most ρ, however the steps were chosen (their individual Rényi filter; the supermartingale of
`one_order_filter`, with that person's own divergences), hence (ε, δ) as if all had been planned.

α is fixed before the first step: it is the order at which a person with the largest norm may take part longest.

What may be published are the noisy sums, and all that follows from them. Who has left, when, or how many are left
follows from people's own data, and is no part of what is promised.

>>> individual_steps([1.0, 0.5, 0.0], noise_std=20.0, largest_norm=1.0, target_epsilon=2.0, delta=1e-5).tolist()
[86.0, 346.0, inf]
"""

from typing import NotRequired, TypedDict, Unpack

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array, ArrayLike, Bools
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence

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
