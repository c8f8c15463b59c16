"""The tight reference behind the same face as every other accountant."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.accounting.mechanism import Run, SampledGaussian
from dpviz.accounting.tight import TightResult, tight_delta, tight_epsilon, tight_epsilon_of_runs

Array = npt.NDArray[np.float64]

BOUNDS = ("upper", "lower")


@dataclass(frozen=True)
class Tight(Accountant):
    """The privacy loss distribution on a grid (see `dpviz.accounting.tight`).

    Attributes:
        bound: "upper", a valid bound as all others are, or "lower", which the truth never falls below.
    """

    name: ClassVar[str] = "tight"
    bound: str = "upper"

    def __post_init__(self) -> None:
        _validate.choice("bound", self.bound, BOUNDS)

    @property
    def kind(self) -> Kind:
        return Kind.UPPER if self.bound == "upper" else Kind.LOWER

    @property
    def kind_reason(self) -> str:
        if self.kind is Kind.UPPER:
            return ""
        return "The lower end of the tight interval is what the truth never falls below: take bound 'upper'."

    def _side(self, result: TightResult) -> Array:
        return result.upper if self.bound == "upper" else result.lower

    def _evaluate(self, sigma: Array, rate: Array, steps: Array, delta: Array) -> Bound:
        """One grid for all steps that share σ, q and δ; other combinations one after the other."""
        sigma, rate, steps, delta = np.broadcast_arrays(sigma, rate, steps, delta)
        epsilon = np.empty(steps.shape)
        settings = np.stack([sigma.ravel(), rate.ravel(), delta.ravel()], axis=1)
        different, member = np.unique(settings, axis=0, return_inverse=True)
        reasons: dict[str, None] = {}
        for i, (s, q, d) in enumerate(different.tolist()):
            chosen = (member.ravel() == i).reshape(steps.shape)
            result = tight_epsilon(SampledGaussian(s, q), steps[chosen], d)
            epsilon[chosen] = self._side(result)
            if result.reason:
                reasons[result.reason] = None
        return bound_without_orders(epsilon, " ".join(reasons))

    def of_runs(self, runs: Sequence[Run], delta: float) -> Bound:
        result = tight_epsilon_of_runs(runs, delta)
        return bound_without_orders(np.asarray(self._side(result)), result.reason)

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        every = np.broadcast_arrays(sigma, rate, steps, epsilon)
        found = [
            float(self._side(tight_delta(SampledGaussian(s, q), t, e)))
            for s, q, t, e in zip(*(part.ravel().tolist() for part in every), strict=True)
        ]
        return np.array(found).reshape(every[0].shape)
