"""Bayesian DP with the face of an accountant, for the contract: one sample of distances, in units of their bound."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

import dpviz
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.mechanisms import Event, SampledGaussian

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Bayesian(Accountant):
    """ε_μ of distances in units of the sensitivity, each at most 1.

    Attributes:
        distances: ‖g − g′‖/C. All at 1 they are what DP assumes of every pair, so that ε_μ bounds ε.
    """

    name: ClassVar[str] = "bayesian"
    reference: ClassVar[str] = "Triastcyn & Faltings 2020"
    bibtex: ClassVar[tuple[str, ...]] = ()
    title: ClassVar[str] = ""
    about: ClassVar[str] = ""
    when: ClassVar[str] = ""
    distances: tuple[float, ...]

    @property
    def formula(self) -> str:
        return ""

    @property
    def kind(self) -> Kind:
        return Kind.UPPER if min(self.distances) == 1.0 else Kind.APPROXIMATION

    @property
    def kind_reason(self) -> str:
        return "" if self.kind is Kind.UPPER else "ε_μ of such data, estimated from a sample: no bound on DP's ε."

    def _evaluate(self, sigma: Array, rate: Array, steps: Array, delta: Array) -> Bound:
        every = np.broadcast_arrays(sigma, rate, steps, delta)
        found = [
            0.0
            if t == 0.0
            else dpviz.bayesian_epsilon(
                np.array(self.distances), noise_std=s, sample_rate=q, steps=t, delta_mu=d, reading="planned"
            )
            for s, q, t, d in zip(*(part.ravel().tolist() for part in every), strict=True)
        ]
        return bound_without_orders(np.array(found, dtype=np.float64).reshape(every[0].shape))

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        every = np.broadcast_arrays(sigma, rate, steps, epsilon)
        found = [
            self._one_delta(s, q, t, e) for s, q, t, e in zip(*(part.ravel().tolist() for part in every), strict=True)
        ]
        return np.array(found, dtype=np.float64).reshape(every[0].shape)

    def _one_delta(self, sigma: float, rate: float, steps: float, epsilon: float) -> float:
        known = {"noise_std": sigma, "sample_rate": rate, "steps": steps}
        if steps == 0.0:
            return 0.0
        try:
            return dpviz.solve_bayesian("delta_mu", np.array(self.distances), target_epsilon=epsilon, **known)
        except ValueError:
            return 1.0

    def _of_events(self, events: tuple[Event, ...], delta: float) -> Bound:
        if len(events) > 1:
            raise ValueError("Expected equal steps: a sample of distances knows one noise.")
        if not events:
            return bound_without_orders(np.zeros(()))
        ((step, count),) = events
        assert isinstance(step, SampledGaussian)
        return self.evaluate(
            noise_multiplier=step.noise_multiplier, sample_rate=step.sample_rate, steps=count, delta=delta
        )
