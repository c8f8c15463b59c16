"""The tight reference behind the same face as every other accountant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.accounting.pld.bounds import TightResult, tight_delta, tight_epsilon, tight_epsilon_of_events
from dpviz.mechanisms import Event, Mechanism, SampledGaussian

BOUNDS = ("upper", "lower")


@dataclass(frozen=True)
class Tight(Accountant):
    """The privacy loss distribution on a grid (see `dpviz.accounting.pld.bounds`).

    Attributes:
        bound: "upper", a valid bound as all others are, or "lower", which the truth never falls below.
    """

    name: ClassVar[str] = "tight"
    reference: ClassVar[str] = (
        "Doroshenko et al. 2022; Gopi, Lee, Wutschitz 2021; Koskela, Jälkö, Honkela 2020; Zhu, Dong, Wang 2022"
    )
    bibtex: ClassVar[tuple[str, ...]] = (
        "doroshenko2022", "gopi2021", "koskela2020", "zhu2022",
    )  # fmt: skip
    title: ClassVar[str] = "privacy loss distributions on a grid"
    about: ClassVar[str] = (
        "The whole distribution of a step's privacy loss is put on a grid, from above and from below, and composed by "
        "Fourier transforms. The truth lies between the two ends, which are close together."
    )
    when: ClassVar[str] = "For the ε that the mechanism really has: the least that may be claimed."
    options: ClassVar[Mapping[str, str]] = {"bound": "bound"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"bound": BOUNDS}
    bound: str = "upper"

    def __post_init__(self) -> None:
        _validate.choice("bound", self.bound, BOUNDS)

    @property
    def label(self) -> str:
        return "tight" if self.bound == "upper" else "tight, lower end"

    @property
    def formula(self) -> str:
        loss = r"L_1 + \dots + L_T,\ L = \ln\tfrac{P}{Q}"
        return rf"\min\{{\varepsilon : \mathbb E[(1-e^{{\varepsilon-({loss})}})_+] \le \delta\}}"

    def supports(self, mechanism: Mechanism) -> str:
        if mechanism.pair() is not None:
            return ""
        return "needs a dominating pair of a step, and none is known here."

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

    def _epsilon_of(self, mechanism: Mechanism, steps: Array, delta: Array) -> Bound:
        """One grid for all steps at one δ."""
        steps, delta = np.broadcast_arrays(steps, delta)
        epsilon = np.empty(steps.shape)
        reasons: dict[str, None] = {}
        for d in np.unique(delta).tolist():
            result = tight_epsilon(mechanism, steps[delta == d], d)
            epsilon[delta == d] = self._side(result)
            if result.reason:
                reasons[result.reason] = None
        return bound_without_orders(epsilon, " ".join(reasons))

    def _delta_of(self, mechanism: Mechanism, steps: Array, epsilon: Array) -> Array:
        every = np.broadcast_arrays(steps, epsilon)
        asked = zip(*(part.ravel().tolist() for part in every), strict=True)
        found = [float(self._side(tight_delta(mechanism, t, e))) for t, e in asked]
        return np.array(found).reshape(every[0].shape)

    def _of_events(self, events: tuple[Event, ...], delta: float) -> Bound:
        result = tight_epsilon_of_events(events, delta)
        return bound_without_orders(np.asarray(self._side(result)), result.reason)

    def _delta(self, sigma: Array, rate: Array, steps: Array, epsilon: Array) -> Array:
        every = np.broadcast_arrays(sigma, rate, steps, epsilon)
        found = [
            float(self._side(tight_delta(SampledGaussian(s, q), t, e)))
            for s, q, t, e in zip(*(part.ravel().tolist() for part in every), strict=True)
        ]
        return np.array(found).reshape(every[0].shape)
