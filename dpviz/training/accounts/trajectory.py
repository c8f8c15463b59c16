"""What an accountant reads after each of many charges, all of them at once.

A live run charges at every step and shows what it spent a few times a second. Adding up is cheap; turning the sum into
ε is not, and costs hardly more for all the steps since the last look than for one.

>>> from dpviz.accounting.renyi.accountant import Renyi
>>> Trajectory(Renyi(), 1e-5).read([SampledGaussian(2.0, 0.1)] * 3).round(3).tolist()
[0.526, 0.593, 0.649]
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.mechanisms import SampledGaussian

Array = npt.NDArray[np.float64]


class Trajectory:
    """One accountant along a run; the same arithmetic as `Ledger`, to the last digit.

    Args:
        accountant: Whose divergences are added up.
        delta: δ of the readings.
    """

    def __init__(self, accountant: AdditiveAccountant, delta: float) -> None:
        self._accountant, self._delta = accountant, delta
        self._sum = RunningSum(accountant)
        self._counts: dict[SampledGaussian, int] = {}

    def begin(self, mechanism: SampledGaussian, count: int) -> float:
        """`count` charges at once, as before a run; ε after them."""
        total = self._sum.after(mechanism, np.array([float(count)]))
        self._sum.add(mechanism, count)
        self._counts[mechanism] = self._counts.get(mechanism, 0) + count
        if not self._accountant.searches(len(self._counts)):
            return float(self._accountant.bound(total, self._delta).epsilon[0])
        rows = np.array([list(self._counts.values())], dtype=np.float64)
        return float(self._accountant.of_counts(tuple(self._counts), rows, self._delta).epsilon[0])

    def read(self, charges: Sequence[SampledGaussian]) -> Array:
        """ε after each further charge, (n,)."""
        if not charges:
            return np.zeros(0)
        groups = [(mechanism, len(list(same))) for mechanism, same in itertools.groupby(charges)]
        if self._accountant.searches(1):
            return np.concatenate([self._searched(mechanism, count) for mechanism, count in groups])
        totals = np.concatenate([self._after(mechanism, count) for mechanism, count in groups])
        return np.asarray(self._accountant.bound(totals, self._delta).epsilon)

    def _searched(self, mechanism: SampledGaussian, count: int) -> Array:
        """ε after each of `count` charges of `mechanism` by an accountant that looks between its orders."""
        totals, before = self._after(mechanism, count), self._counts.get(mechanism, 0)
        self._counts[mechanism] = before + count
        if not self._accountant.searches(len(self._counts)):
            return np.asarray(self._accountant.bound(totals, self._delta).epsilon)
        rows = np.tile(np.array(list(self._counts.values()), dtype=np.float64), (count, 1))
        rows[:, list(self._counts).index(mechanism)] = np.arange(before + 1.0, before + count + 1.0)
        return np.asarray(self._accountant.of_counts(tuple(self._counts), rows, self._delta).epsilon)

    def _after(self, mechanism: SampledGaussian, count: int) -> Array:
        """Divergences after each of `count` charges of `mechanism`, (count, orders)."""
        totals = self._sum.after(mechanism, np.arange(1.0, count + 1.0))
        self._sum.add(mechanism, count)
        return totals
