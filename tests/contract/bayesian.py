"""Bayesian DP with the face of an accountant, for the contract: one sample of distances, in units of their bound."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

import dpviz
from dpviz.accounting.accountant import Accountant, Composition
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.mechanisms import Mechanism, SampledGaussian

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bayesian(Accountant):
    """ε_μ of distances in units of the sensitivity, each at most 1.

    Attributes:
        distances: ‖g − g′‖/C. All at 1 they are what DP assumes of every pair, so that ε_μ bounds ε.
    """

    name: ClassVar[str] = "bayesian"
    distances: tuple[float, ...]

    @property
    def kind(self) -> Kind:
        return Kind.UPPER if min(self.distances) == 1.0 else Kind.APPROXIMATION

    @property
    def kind_reason(self) -> str:
        return "" if self.kind is Kind.UPPER else "ε_μ of such data, estimated from a sample: no bound on DP's ε."

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        if rows.count.shape[1] > 1:
            raise ValueError("Expected equal steps: a sample of distances knows one noise.")
        found = np.zeros(delta.size)
        for i in np.flatnonzero(rows.count.sum(axis=1)).tolist():
            ((step, count),) = rows.events(i)
            asked = settings_of(step) | {"steps": count, "delta_mu": delta[i]}
            found[i] = dpviz.bayesian_epsilon(np.array(self.distances), **asked, reading="planned")
        return bound_without_orders(found)

    def _delta(self, rows: Composition, epsilon: Array) -> Array:
        return np.array([self._one_delta(*rows.events(i)[0], target) for i, target in enumerate(epsilon.tolist())])

    def _one_delta(self, step: Mechanism, count: int, epsilon: float) -> float:
        if count == 0:
            return 0.0
        known = {**settings_of(step), "steps": count}
        try:
            return dpviz.bayesian.solve_bayesian("delta_mu", np.array(self.distances), target_epsilon=epsilon, **known)
        except ValueError:
            return 1.0


def settings_of(step: Mechanism | None) -> dict[str, float]:
    """Noise and rate, in units of the distances' bound."""
    assert isinstance(step, SampledGaussian)
    return {"noise_std": step.noise_multiplier, "sample_rate": step.sample_rate}
