"""Accountants that add up Rényi divergences, and the one sum that all of them keep."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dpviz._arrays import Array, ArrayLike
from dpviz._remember import remembered
from dpviz.accounting.accountant import Accountant, Composition, GaussianSteps, needs_sampled_gaussian
from dpviz.accounting.bound import Bound
from dpviz.accounting.formula import composed_latex
from dpviz.accounting.renyi import conversion
from dpviz.accounting.renyi.varying_noise import tabulated_divergence
from dpviz.mechanisms import Mechanism, SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence


@dataclass(frozen=True)
class AdditiveAccountant(Accountant):
    """An accountant whose state is a vector of divergences, one an order, that simply adds up over steps.

    Attributes:
        nodes: where any are named, σ of any size are bounded between tabulated ones, these among them, for noise that
            changes at every step (`varying_noise`).
    """

    nodes: frozenset[float] = field(default=frozenset(), kw_only=True)

    @property
    @abstractmethod
    def orders(self) -> Array:
        """Rényi orders α > 1, increasing."""

    def supports(self, mechanism: Mechanism) -> str:
        if self.nodes:
            return needs_sampled_gaussian(mechanism)
        return "" if mechanism.renyi() else "the Rényi divergence of a step is needed, and none is known here."

    def step_divergence(self, noise_multiplier: ArrayLike, sample_rate: ArrayLike) -> Array:
        """R(α) of one sampled Gaussian step, NaN where it has none: both arguments broadcast, then (orders,)."""
        orders = tuple(self.orders.tolist())
        if not self.nodes:
            return exact_divergence(noise_multiplier, sample_rate, orders)
        sigma, rate = np.broadcast_arrays(np.asarray(noise_multiplier, dtype=np.float64), sample_rate)
        return tabulated_divergence(sigma, rate, orders, self.nodes)

    def divergence(self, mechanism: Mechanism) -> Array:
        """R(α) of one step of any mechanism that it supports, shape (orders,)."""
        if isinstance(mechanism, SampledGaussian):
            return self.step_divergence(mechanism.noise_multiplier, mechanism.sample_rate)
        self.check(mechanism)
        return renyi_of(mechanism, tuple(self.orders.tolist()))

    @property
    def conversion(self) -> str:
        return "classic"

    def reason(self, sigma: Array, rate: Array) -> str:
        """Why some of these settings, shape (n,), have no bound; empty when all have."""
        return ""

    def searches(self, mechanisms: int) -> bool:
        """Whether ε of so many different mechanisms is looked for between `orders` too: then only `of_counts` knows it.

        A bound from `orders` alone (`bound`) holds as well, and may be a little larger.
        """
        return False

    def total(self, events: Iterable[tuple[Mechanism, int | Array]]) -> Array:
        """Σ count · R(α) of all events, (…, orders) for counts (…)."""
        total = np.zeros(self.orders.size)
        for mechanism, count in events:
            total = total + times(self.divergence(mechanism), np.asarray(count))
        return total

    def reasons(self, mechanisms: Iterable[Mechanism]) -> str:
        """What `reason` says of them."""
        steps = [(m.noise_multiplier, m.sample_rate) for m in mechanisms if isinstance(m, SampledGaussian)]
        return self.reason(*np.array(steps).T) if steps else ""

    def bound(self, total: Array, delta: ArrayLike, reason: str = "") -> Bound:
        """ε of divergences (…, orders) that were added up over all steps."""
        return conversion.to_bound(total, self.orders, delta, self.conversion, reason)

    def _least_delta(self, total: Array, epsilon: Array) -> Array:
        """The smallest δ of divergences (…, orders) that were added up over all steps."""
        return conversion.to_delta(total, self.orders, epsilon, self.conversion)

    def _total(self, rows: Composition) -> Array:
        """Σ count · R(α) of each row, (rows, orders)."""
        if isinstance(rows.mechanisms, GaussianSteps):
            each = self.step_divergence(rows.mechanisms.noise_multiplier, rows.mechanisms.sample_rate)
        else:
            each = np.array([self.divergence(mechanism) for mechanism in rows.mechanisms])
        total = np.zeros((len(rows.count), self.orders.size))
        for member, count in zip(rows.member.T, rows.count.T, strict=True):
            total += times(each[member], count)
        return total

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        steps = rows.gaussian
        reason = self.reason(steps.noise_multiplier, steps.sample_rate) if steps.sample_rate.size else ""
        return self.bound(self._total(rows), delta, reason)

    def _delta(self, rows: Composition, epsilon: Array) -> Array:
        return self._least_delta(self._total(rows), epsilon)

    def latex(self, mechanism: Mechanism, steps: int, delta: float) -> str:
        bound = self.epsilon_of(mechanism, steps=steps, delta=delta)
        return composed_latex(self.conversion, float(bound.epsilon), float(bound.order), steps, delta)


def times(divergence: Array, steps: Array) -> Array:
    """Divergences (…, orders) of as many steps (…); no steps cost nothing even where one costs infinitely much."""
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(steps[..., None] == 0.0, 0.0, steps[..., None] * divergence)


@remembered
def renyi_of(mechanism: Mechanism, orders: tuple[float, ...]) -> Array:
    """R(α) of one step at these orders, remembered."""
    curve = mechanism.renyi()
    assert curve is not None  # `supports` asked
    divergence = np.array(curve(np.array(orders)))
    divergence.setflags(write=False)
    return divergence


def exact_divergence(noise_multiplier: ArrayLike, sample_rate: ArrayLike, orders: tuple[float, ...]) -> Array:
    """R(α) for the broadcast shape of σ and q, then (orders,); one setting at a time is remembered by value."""
    sigma, rate = np.broadcast_arrays(np.asarray(noise_multiplier, dtype=np.float64), sample_rate)
    if sigma.size == 1:
        return renyi_of(SampledGaussian(sigma.item(), rate.item()), orders).reshape((*sigma.shape, len(orders)))
    return renyi_divergence(sigma[..., None], rate[..., None], np.array(orders))


_FEW = 8  # mechanisms that take turns: their divergences are kept


class RunningSum:
    """Σ R(α) of steps as they come, O(orders) each: equal steps that follow one another are multiplied, not added.

    Ledgers, filters and the readings along a run keep this one sum, so that they agree to the last digit.
    """

    def __init__(self, accountant: AdditiveAccountant) -> None:
        self.accountant = accountant
        self._before = np.zeros(accountant.orders.size)  # of all steps but the last equal ones
        self._total: Array | None = self._before  # None where it must be worked out anew
        self._last: Mechanism | None = None
        self._count = 0
        self._step: dict[Mechanism, Array] = {}  # the divergence of one step of each of the last ones

    @property
    def total(self) -> Array:
        """Of all steps so far, (orders,)."""
        if self._total is None:
            assert self._last is not None  # a step was added
            self._total = self.after(self._last, 0)
        return self._total

    def after(self, mechanism: Mechanism, count: int | Array) -> Array:
        """The sum if `count` steps more were taken, (…, orders) for counts (…)."""
        if mechanism == self._last:
            before, count = self._before, self._count + count
        else:
            before = self.total
        if mechanism not in self._step:
            if len(self._step) == _FEW:
                self._step.clear()
            self._step[mechanism] = self.accountant.divergence(mechanism)
        return np.asarray(before + times(self._step[mechanism], np.asarray(count)))

    def add(self, mechanism: Mechanism, count: int) -> None:
        """`count` steps more."""
        if mechanism != self._last:
            self._before, self._last, self._count = self.total, mechanism, 0
        self._count += count
        self._total = None
