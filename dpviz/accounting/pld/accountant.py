"""The tight accountant, numerical bounds on ε, with the interface of every other accountant."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dpviz._arrays import Array
from dpviz.accounting.accountant import Accountant, Composition
from dpviz.accounting.bound import Bound, Kind, bound_without_orders
from dpviz.accounting.pld.bounds import TightResult, tight_delta, tight_epsilon, tight_epsilon_of_events
from dpviz.mechanisms import Mechanism

BOUNDS = ("upper", "lower")


@dataclass(frozen=True)
class Tight(Accountant):
    """The privacy loss distribution on a grid (see `dpviz.accounting.pld.bounds`).

    Attributes:
        bound: "upper", a valid bound as all others are, or "lower", which the truth never falls below.
    """

    name: ClassVar[Literal["tight"]] = "tight"
    aliases: ClassVar[tuple[str, ...]] = ("pld",)
    options: ClassVar[Mapping[str, str]] = {"bound": "bound"}
    choices: ClassVar[Mapping[str, tuple[str, ...]]] = {"bound": BOUNDS}
    bound: str = "upper"

    def supports(self, mechanism: Mechanism) -> str:
        if self._sided(mechanism).has_pair:
            return ""
        if mechanism.least.has_pair:
            return "only a lower bound is known: ask for bound 'lower'."
        return "a dominating pair of a step is needed, and none is known here."

    def _sided(self, mechanism: Mechanism) -> Mechanism:
        """What this bound is read from."""
        return mechanism.least if self.bound == "lower" else mechanism

    @property
    def kind(self) -> Kind:
        return Kind.UPPER if self.bound == "upper" else Kind.LOWER

    def _side(self, result: TightResult) -> Array:
        return result.upper if self.bound == "upper" else result.lower

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        """One grid for all rows that share mechanism and δ; rows of several mechanisms one after the other."""
        equal = rows.member if rows.count.shape[1] == 1 else np.arange(delta.size)[:, None]
        settings, group = np.unique(np.column_stack([equal, delta]), axis=0, return_inverse=True)
        epsilon = np.empty(delta.size)
        reasons: dict[str, None] = {}
        for i, (first, target) in enumerate(settings.tolist()):
            chosen = group.ravel() == i
            if rows.count.shape[1] == 1:
                result = tight_epsilon(self._sided(rows.mechanism(int(first))), rows.count[chosen, 0], target)
            else:
                events = ((self._sided(mechanism), count) for mechanism, count in rows.events(int(first)))
                result = tight_epsilon_of_events(events, target)
            epsilon[chosen] = self._side(result)
            reasons[result.reason] = None
        return bound_without_orders(epsilon, " ".join(reason for reason in reasons if reason))

    def _delta(self, rows: Composition, epsilon: Array) -> Array:
        asked = zip(rows.member[:, 0].tolist(), rows.count[:, 0].tolist(), epsilon.tolist(), strict=True)
        return np.array([float(self._side(tight_delta(self._sided(rows.mechanism(m)), t, e))) for m, t, e in asked])
