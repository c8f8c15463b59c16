"""The record of a live run's steps, with the ε that one accountant finds for them."""

from dpviz import _validate
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound
from dpviz.accounting.renyi.additive import AdditiveAccountant, RunningSum
from dpviz.mechanisms import History, Mechanism


class Ledger(History[Mechanism]):
    """What a live run has spent, in order, for one accountant: O(orders) a step for additive accountants.

    >>> from dpviz.accounting.renyi.accountant import Renyi
    >>> from dpviz.mechanisms import SampledGaussian
    >>> ledger = Ledger(Renyi())
    >>> ledger.spend(SampledGaussian(4.0, 0.01), 10_000)
    >>> round(float(ledger.bound(1e-5).epsilon), 4)
    1.0354
    """

    def __init__(self, accountant: Accountant) -> None:
        super().__init__()
        self.accountant = accountant
        self._counts: dict[Mechanism, int] = {}
        self._sum = RunningSum(accountant) if isinstance(accountant, AdditiveAccountant) else None

    def spend(self, mechanism: Mechanism, count: int = 1) -> None:
        """Record `count` more steps of `mechanism`; ValueError where the accountant does not know it."""
        if mechanism not in self._counts:
            self.accountant.check(mechanism, self.first or mechanism)
        whole = _validate.whole(0, count=count)
        if whole == 0:
            return
        self._counts[mechanism] = self._counts.get(mechanism, 0) + whole
        self.add(mechanism, whole)
        if self._sum is not None:
            self._sum.add(mechanism, whole)

    def bound(self, delta: float) -> Bound:
        """The bound on ε of everything spent so far, of shape ()."""
        checked = _validate.number(delta=delta)
        if self._sum is not None and not self._sum.accountant.searches(len(self._counts)):
            adding = self._sum.accountant
            return adding.bound(self._sum.total, checked, adding.reasons(self._counts))
        return self.accountant.of_events(tuple(self._counts.items()), checked)
