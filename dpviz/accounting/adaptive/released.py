"""Released numbers, the only ones that may decide about a run.

A policy or a goal that looked at the data itself would leak what no ε accounts for. So what they take is a `Released`,
and only `release` makes one: it reserves the mechanism from the budget (refused: nothing was looked at), draws the
noise, charges every account, and only then looks. A process that goes on with an interrupted run has the released
numbers of the earlier one from `released_before`, which asks for their charge.

>>> from dpviz.accounting.adaptive.filter import Filter
>>> budget = Filter(target_epsilon=1.0, delta=1e-5)
>>> count = release(lambda: 9_000, mechanism=SampledGaussian(100.0), account=Spending(budget),
...                 random=np.random.default_rng(0))
>>> round(count.value, 2), budget.events
(9012.57, ((SampledGaussian(noise_multiplier=100.0, sample_rate=1.0), 1),))
>>> Released(9_000.0, SampledGaussian(100.0), None)
Traceback (most recent call last):
TypeError: Expected release() to create a Released, found one created elsewhere, for which nothing was charged.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, final

import numpy as np

from dpviz.accounting.adaptive.filter import Filter
from dpviz.mechanisms import Event, SampledGaussian


@final
class _Maker:
    """Who may make a `Released`: there is one, in this module."""


_MAKER = _Maker()


@final
class Released:
    """A number with its noise, charged for.

    Attributes:
        value: What was seen, noise included.
        mechanism: What it cost: Gaussian noise on all the data.
    """

    __slots__ = ("_mechanism", "_value")

    def __init__(self, value: float, mechanism: SampledGaussian, maker: _Maker) -> None:
        if maker is not _MAKER:
            raise TypeError(
                "Expected release() to create a Released, found one created elsewhere, for which nothing was charged."
            )
        self._value, self._mechanism = float(value), mechanism

    def __init_subclass__(cls) -> None:
        raise TypeError("Expected no subclass of Released: only release() creates it.")

    @property
    def value(self) -> float:
        return self._value

    @property
    def mechanism(self) -> SampledGaussian:
        return self._mechanism

    def __repr__(self) -> str:
        return f"Released({self._value:.6g}, {self._mechanism})"


def released_before(value: float, mechanism: SampledGaussian, charged: Iterable[Event]) -> Released:
    """A number that an earlier process of the same run released, for one that goes on with it.

    Args:
        value: Noise included.
        mechanism: What it cost.
        charged: What this process has charged to its accounts for the earlier one.

    Raises:
        ValueError: where `charged` does not hold the mechanism.
    """
    if not any(count for charge, count in charged if charge == mechanism):
        raise ValueError(f"Expected {mechanism} among the charges of the number that it released, found none.")
    return Released(value, mechanism, _MAKER)


class Account(Protocol):
    """Where a release is paid."""

    def reserve(self, mechanism: SampledGaussian) -> None:
        """Take it from the budget, if there is one; raises `BudgetExceeded`, without a trace, where it does not fit."""

    def count(self, mechanism: SampledGaussian) -> None:
        """Charge every accountant."""


class Spending:
    """A filter as the only account: what it let pass is what was charged."""

    def __init__(self, budget: Filter) -> None:
        self._budget = budget

    def reserve(self, mechanism: SampledGaussian) -> None:
        self._budget.spend(mechanism)

    def count(self, mechanism: SampledGaussian) -> None:
        """Nothing more: the filter's own sum is all that is read."""


def release(
    look: Callable[[], float], *, mechanism: SampledGaussian, account: Account, random: np.random.Generator
) -> Released:
    """What `look` says, with Gaussian noise.

    Args:
        look: The true number; one example more or less in the data changes it by at most 1. Asked last, so that an
            error in it leaves a charge too many, never one too few.
        mechanism: σ of the noise, on all the data.
        account: Who is asked and charged.
        random: Of the noise.

    Raises:
        BudgetExceeded: if the budget has no room; nothing was looked at, drawn or charged.
        ValueError: for a mechanism that samples: the number is of all the data.
    """
    if mechanism.sample_rate != 1.0:
        raise ValueError(f"Expected sample_rate={mechanism.sample_rate:.12g} to be 1: the count uses all data.")
    account.reserve(mechanism)
    noise = mechanism.noise_multiplier * float(random.standard_normal())
    account.count(mechanism)
    return Released(look() + noise, mechanism, _MAKER)
