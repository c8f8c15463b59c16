"""ε of single examples of a live run, each by the norms of its own gradients (Feldman & Zrnic 2021; Yu et al. 2023).

At every step the gradients of the same few examples are measured at the weights as they are, whether the batch holds
them or not. A step costs example i the divergence of the sampled Gaussian whose noise multiplier is σC ÷ ‖g_i‖, g_i
being clipped: adding or removing it moves the sum by ‖g_i‖ and no more. These divergences add up for each example alone
(Feldman & Zrnic 2021, Theorem 3.1), and if they never exceed a budget that was set first, an individual filter of that
budget would have let the example take part in all steps. ε here is the smallest such budget.

Gradients follow from what was released before, so the orders may not be chosen by what is seen: a few are fixed before
the first step, the best one of the plan and multiples of it, and δ is shared out among them (`Filter`, union). Where
the plan is fixed, its own ε by Rényi divergences covers every example, and none is said to have more.

On the safe side: lengths are upper ends, rounded up to the next 1024th of C; what is not finite counts as C, and so
does every step whose gradients are not known. An ε of this kind depends on the example itself. It is not private, and
that of one who looks nothing like the followed ones may be as large as the plan's.

>>> account = FollowedAccount([(SampledGaussian(2.0, 0.1), 150)], delta=1e-5, examples=2)
>>> for _ in range(150):
...     account.charge(SampledGaussian(2.0, 0.1), [1.0, 0.1])
>>> [round(epsilon, 2) for epsilon in account.epsilons().tolist()]
[3.49, 0.26]
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dpviz._arrays import Array
from dpviz.accounting.adaptive.one_order import one_order_filter, planned_epsilon
from dpviz.accounting.renyi.conversion import epsilon_per_order
from dpviz.mechanisms import Event, Mechanism, SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence

MULTIPLES = np.exp2(np.arange(6.0))  # of the plan's order
MOST_ORDER = 1024.0  # up to which divergences are exact
SHARES = 1024  # of C that lengths are rounded up to
COLUMNS = ("followed_lowest", "followed_median", "followed_highest")  # of an event "step"
LENGTHS = "followed_shares"  # likewise: what these follow from, a list a step


class FollowedAccount:
    """What each of some examples has spent.

    Attributes:
        orders: α, (orders,), fixed ahead.
    """

    def __init__(self, plan: Sequence[Event], *, delta: float, examples: int, before: Sequence[Event] = ()) -> None:
        """plan: all that may run, `before` included, which was spent on the same data; examples: how many are followed.

        Raises:
            ValueError: for noise so small that no budget is finite.
        """
        best = one_order_filter(plan, target_epsilon=planned_epsilon(plan, delta), delta=delta)
        self.orders = np.unique(np.minimum(float(best.accountant.orders[0]) * MULTIPLES, MOST_ORDER))
        shared = np.asarray(delta / self.orders.size)
        self._tails = epsilon_per_order(np.zeros(self.orders.size), self.orders, shared, "improved")
        self._spent = np.zeros((examples, self.orders.size))
        self._costs: tuple[SampledGaussian | None, Array] = (None, np.zeros(0))
        self._unread: list[tuple[Array, list[int]]] = []
        for mechanism, count in before:
            self.charge_certain(mechanism, count)

    def charge(self, mechanism: SampledGaussian, shares: npt.ArrayLike) -> None:
        """A step, with the lengths of the clipped gradients in units of C, (examples,)."""
        share = np.nan_to_num(np.asarray(shares, dtype=np.float64), nan=1.0, posinf=1.0)
        self.charge_whole(mechanism, np.ceil(np.clip(share, 0.0, 1.0) * SHARES))

    def charge_whole(self, mechanism: SampledGaussian, lengths: npt.ArrayLike) -> None:
        """A step, with the lengths in whole SHARES-ths of C, 0 to SHARES, (examples,): as `readings` tells them."""
        whole = np.asarray(lengths).astype(np.int64)
        if whole.shape != self._spent.shape[:1]:
            raise ValueError(f"Expected shares of {len(self._spent)} examples, found shape {whole.shape}.")
        self._spent += self._cost(mechanism, whole)
        self._unread.append((self.epsilons(), whole.tolist()))

    def charge_certain(self, mechanism: Mechanism, count: int = 1) -> None:
        """Releases that each example may change by the whole sensitivity: private counts, and steps of before."""
        curve = mechanism.renyi()
        self._spent += np.inf if curve is None else count * curve(self.orders)

    def epsilons(self) -> Array:
        """ε of each example now, (examples,); 0 where nothing was spent."""
        least = np.maximum((self._spent + self._tails).min(axis=1), 0.0)
        return np.where(self._spent.any(axis=1), least, 0.0)

    def readings(self, limits: Sequence[float] | None) -> dict[str, list[Any]]:
        """Lowest, median and highest ε after each step since the last time this was asked, by the names of `COLUMNS`.

        With them stand the lengths of each of these steps, under LENGTHS: who has them finds the same ε again.

        Args:
            limits: What covers every example after these steps; None where nothing fixed ahead does.
        """
        unread, self._unread = self._unread, []
        rows = [epsilons for epsilons, _ in unread]
        if limits is not None:
            rows = [np.minimum(row, limit) for row, limit in zip(rows, limits, strict=True)]
        if not rows:
            return {}
        picked = [np.quantile(row, (0.0, 0.5, 1.0), method="higher").tolist() for row in rows]
        columns: dict[str, list[Any]] = dict(zip(COLUMNS, map(list, zip(*picked, strict=True)), strict=True))
        return columns | {LENGTHS: [whole for _, whole in unread]}

    def _cost(self, mechanism: SampledGaussian, whole: npt.NDArray[np.int64]) -> Array:
        """Divergences of one step, (examples, orders), for lengths of so many SHARES-ths of C."""
        previous, table = self._costs
        if previous != mechanism:
            table = np.full((SHARES + 1, self.orders.size), np.nan)
            table[0] = 0.0
            self._costs = mechanism, table
        new = np.unique(whole[np.isnan(table[whole, 0])])
        if new.size:
            noise = mechanism.noise_multiplier * SHARES / new[:, None]
            table[new] = renyi_divergence(noise, mechanism.sample_rate, self.orders)
        return np.asarray(table[whole])
