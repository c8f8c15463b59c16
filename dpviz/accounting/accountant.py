"""One face for all accountants: a frozen value that turns steps into ε and says what that number is (`kind`).

What-if pages ask `evaluate` for whole curves (arrays broadcast, cost independent of the number of steps); a live run
asks a `Ledger`, step by step. Both go through the same per-step cost and the same conversion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting import conversion
from dpviz.accounting.bound import Bound, Kind
from dpviz.accounting.mechanism import Run, SampledGaussian, merge_runs

Array = npt.NDArray[np.float64]

_SMALLEST_LOG_DELTA = -700.0


@dataclass(frozen=True)
class Accountant(ABC):
    """ε and δ of composed sampled Gaussian steps."""

    name: ClassVar[str]

    @property
    @abstractmethod
    def kind(self) -> Kind:
        """Whether these numbers bound the truth, and from which side; it may depend on the options."""

    @property
    def kind_reason(self) -> str:
        """Why this is no upper bound, and what to choose instead; empty where it is one."""
        return ""

    def evaluate(
        self,
        *,
        noise_multiplier: npt.ArrayLike,
        sample_rate: npt.ArrayLike,
        steps: npt.ArrayLike,
        delta: npt.ArrayLike,
    ) -> Bound:
        """ε of `steps` equal steps; all four broadcast. σ > 0, q in [0, 1], whole steps ≥ 0, δ in (0, 1)."""
        return self._evaluate(
            _validate.noise_multiplier(noise_multiplier),
            _validate.sample_rate(sample_rate),
            _validate.steps(steps),
            _validate.delta(delta),
        )

    @abstractmethod
    def _evaluate(self, sigma: Array, rate: Array, steps: Array, delta: Array) -> Bound: ...

    @abstractmethod
    def of_runs(self, runs: Sequence[Run], delta: float) -> Bound:
        """ε of runs of different steps, in any order (a bound of shape ())."""

    def delta(
        self,
        *,
        noise_multiplier: npt.ArrayLike,
        sample_rate: npt.ArrayLike,
        steps: npt.ArrayLike,
        epsilon: npt.ArrayLike,
    ) -> Array:
        """The smallest δ with ε(δ) ≤ `epsilon`, rounded up; 1 where no δ < 1 will do. All four broadcast."""
        sigma = _validate.noise_multiplier(noise_multiplier)
        rate = _validate.sample_rate(sample_rate)
        count = _validate.steps(steps)
        return self._delta(sigma, rate, count, _validate.epsilon(epsilon))

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        """Bisection on ln δ, keeping the end whose ε is small enough."""
        shape = np.broadcast_shapes(sigma.shape, rate.shape, steps.shape, epsilon.shape)
        low, high = np.full(shape, _SMALLEST_LOG_DELTA), np.zeros(shape)
        for _ in range(60):
            middle = 0.5 * (low + high)
            enough = self._evaluate(sigma, rate, steps, np.exp(middle)).epsilon <= epsilon
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        zero = self._evaluate(sigma, rate, steps, np.full(shape, np.exp(_SMALLEST_LOG_DELTA))).epsilon <= epsilon
        nothing_released = (steps == 0.0) | (rate == 0.0)
        return np.where(nothing_released, 0.0, np.where(zero, np.exp(_SMALLEST_LOG_DELTA), np.exp(high)))


@dataclass(frozen=True)
class AdditiveAccountant(Accountant):
    """An accountant whose state is a vector of divergences, one an order, that simply adds up over steps."""

    @property
    @abstractmethod
    def orders(self) -> Array:
        """Rényi orders α > 1, increasing."""

    @abstractmethod
    def step_divergence(self, noise_multiplier: npt.ArrayLike, sample_rate: npt.ArrayLike) -> Array:
        """R(α) of one step: shape of the two arguments broadcast, then (orders,); NaN where the bound has none."""

    @property
    @abstractmethod
    def conversion(self) -> str: ...

    def reason(self, sigma: Array, rate: Array) -> str:
        """Why some of these settings have no bound; empty when all have."""
        return ""

    def searches(self, mechanisms: int) -> bool:
        """Whether ε of so many different mechanisms is looked for between `orders` too: then only `of_counts` knows it.

        A bound from `orders` alone (`bound`) holds as well, and may be a little larger.
        """
        return False

    def of_counts(self, mechanisms: Sequence[SampledGaussian], counts: Array, delta: float) -> Bound:
        """ε after each row of counts (rows, mechanisms), whole and ≥ 0: a bound of shape (rows,)."""
        total = np.zeros((counts.shape[0], self.orders.size))
        for mechanism, count in zip(mechanisms, counts.T, strict=True):
            total += self._total(np.asarray(mechanism.noise_multiplier), np.asarray(mechanism.sample_rate), count)
        return self.bound(total, delta)

    def bound(self, total: Array, delta: npt.ArrayLike, reason: str = "") -> Bound:
        """ε of divergences (…, orders) that were added up over all steps."""
        return conversion.to_bound(total, self.orders, delta, self.conversion, reason)

    def _total(self, sigma: Array, rate: Array, steps: Array) -> Array:
        per_step = self.step_divergence(sigma, rate)
        with np.errstate(invalid="ignore", over="ignore"):
            total = steps[..., None] * per_step
        # No steps cost nothing even where one step costs infinitely much.
        return np.where(steps[..., None] == 0.0, 0.0, total)

    def _evaluate(self, sigma: Array, rate: Array, steps: Array, delta: Array) -> Bound:
        return self.bound(self._total(sigma, rate, steps), delta, self.reason(sigma, rate))

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        return conversion.to_delta(self._total(sigma, rate, steps), self.orders, epsilon, self.conversion)

    def of_runs(self, runs: Sequence[Run], delta: float) -> Bound:
        ledger = Ledger(self)
        for mechanism, count in merge_runs(runs):
            ledger.spend(mechanism, count)
        return ledger.bound(delta)


class Ledger:
    """What a live run has spent, for one accountant: O(orders) a step for additive accountants.

    >>> from dpviz.accounting.renyi import Renyi
    >>> ledger = Ledger(Renyi())
    >>> ledger.spend(SampledGaussian(4.0, 0.01), 10_000)
    >>> round(float(ledger.bound(1e-5).epsilon), 4)
    1.0354
    """

    def __init__(self, accountant: Accountant) -> None:
        self.accountant = accountant
        self._runs: list[Run] = []
        self._counts: dict[SampledGaussian, int] = {}
        self._closed: Array | None = None  # divergences of all runs but the last, added up

    @property
    def runs(self) -> tuple[Run, ...]:
        """What was spent, in order, neighbouring equal steps merged."""
        return tuple(self._runs)

    @property
    def steps(self) -> int:
        return sum(count for _, count in self._runs)

    def spend(self, mechanism: SampledGaussian, count: int = 1) -> None:
        """Record `count` more steps of `mechanism`."""
        whole = int(_validate.scalar("count", _validate.steps(count, "count")))
        if whole == 0:
            return
        self._counts[mechanism] = self._counts.get(mechanism, 0) + whole
        if self._runs and self._runs[-1][0] == mechanism:
            self._runs[-1] = (mechanism, self._runs[-1][1] + whole)
            return
        if self._runs and isinstance(self.accountant, AdditiveAccountant):
            self._closed = self._total()
        self._runs.append((mechanism, whole))

    def bound(self, delta: float) -> Bound:
        """The bound on ε of everything spent so far, of shape ()."""
        checked = _validate.scalar("delta", _validate.delta(delta))
        if isinstance(self.accountant, AdditiveAccountant) and self.accountant.searches(len(self._counts)):
            return self.accountant.of_runs(tuple(self._counts.items()), checked)
        if isinstance(self.accountant, AdditiveAccountant):
            reasons = {self._reason(mechanism) for mechanism, _ in self._runs} - {""}
            return self.accountant.bound(self._total(), checked, "; ".join(sorted(reasons)))
        return self.accountant.of_runs(self._runs, checked)

    def _reason(self, mechanism: SampledGaussian) -> str:
        assert isinstance(self.accountant, AdditiveAccountant)
        return self.accountant.reason(np.asarray(mechanism.noise_multiplier), np.asarray(mechanism.sample_rate))

    def _total(self) -> Array:
        assert isinstance(self.accountant, AdditiveAccountant)
        total = np.zeros(self.accountant.orders.size) if self._closed is None else self._closed
        if not self._runs:
            return total
        mechanism, count = self._runs[-1]
        step = self.accountant.step_divergence(mechanism.noise_multiplier, mechanism.sample_rate)
        with np.errstate(over="ignore"):
            return total + count * step
