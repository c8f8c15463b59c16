"""An accountant of additive divergences, bounded between tabulated noise levels: for noise that changes at every step.

A divergence of ever new σ costs milliseconds a step. Between tabulated 1/σ² it is bounded from above (`varying_noise`),
from a table that depends on q and the orders alone: whoever reads the same steps, live, ahead or again later, reads the
same numbers.

>>> from dpviz.accounting.renyi.accountant import Renyi
>>> exact, bounded = Renyi(order_values=(2.0, 8.0)), Tabulated(Renyi(order_values=(2.0, 8.0)))
>>> [f"{r:.8f}" for r in exact.step_divergence(4.0, 0.01)], [f"{r:.8f}" for r in bounded.step_divergence(4.0, 0.01)]
(['0.00000645', '0.00002590'], ['0.00000645', '0.00002590'])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz._arrays import Array, ArrayLike
from dpviz._remember import remembered
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.renyi.additive import AdditiveAccountant
from dpviz.accounting.renyi.varying_noise import moment_table, nodes_of


@dataclass(frozen=True)
class Tabulated(AdditiveAccountant):
    """`inner` with divergences that lie on or closely above its own.

    Attributes:
        inner: an accountant of exact Rényi divergences (Renyi, Moments, OdometerAccountant).
        nodes: noise multipliers that are tabulated themselves, beside the levels that every table has; those of a
            run's first steps, say, which may decide alone.
    """

    name: ClassVar[str] = "tabulated"
    reference: ClassVar[str] = ""  # its inner accountant's
    bibtex: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = "a table of Rényi divergences"
    about: ClassVar[str] = ""
    when: ClassVar[str] = ""
    inner: AdditiveAccountant
    nodes: frozenset[float] = frozenset()

    @property
    def kind(self) -> Kind:
        return self.inner.kind

    @property
    def formula(self) -> str:
        return self.inner.formula

    @property
    def kind_reason(self) -> str:
        return self.inner.kind_reason

    @property
    def orders(self) -> Array:
        return self.inner.orders

    @property
    def conversion(self) -> str:
        return self.inner.conversion

    def step_divergence(self, noise_multiplier: ArrayLike, sample_rate: ArrayLike) -> Array:
        sigma, rate = np.broadcast_arrays(np.asarray(noise_multiplier, dtype=np.float64), sample_rate)
        orders = self.orders
        found = np.empty((sigma.size, orders.size))
        for q in np.unique(rate):
            chosen = rate.ravel() == q
            table = moment_table(float(q), tuple(orders.tolist()))
            found[chosen] = table.bounds(inverse_variance(sigma.ravel()[chosen]), _nodes(self.nodes)) / (orders - 1.0)
        return found.reshape((*sigma.shape, orders.size))

    def bound(self, total: Array, delta: ArrayLike, reason: str = "") -> Bound:
        return self.inner.bound(total, delta, reason)


def inverse_variance(noise_multiplier: Array) -> Array:
    """1/σ², rounded up."""
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray((1.0 / noise_multiplier) ** 2 * (1.0 + 4e-16))


@remembered
def _nodes(noise_multipliers: frozenset[float]) -> Array:
    return nodes_of(inverse_variance(np.array(sorted(noise_multipliers))))
