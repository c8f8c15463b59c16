"""Write an accountant of your own: zero-concentrated DP, ρ = 1/(2σ²) a step (Bun & Steinke 2016, Proposition 1.3)."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import dpviz
from dpviz.accounting.accountant import Accountant, Array, Composition
from dpviz.accounting.bound import Bound, bound_without_orders


@dataclass(frozen=True)
class Concentrated(Accountant):
    """One number ρ for all steps. It ignores sampling, and so proves much less than the others."""

    name: ClassVar[str] = "concentrated"

    def _epsilon(self, rows: Composition, delta: Array) -> Bound:
        each = 0.5 / rows.gaussian.noise_multiplier**2
        rho = np.sum(rows.count * each[rows.member], axis=1)
        return bound_without_orders(np.asarray(rho + 2.0 * np.sqrt(-rho * np.log(delta))))


for rate in (1.0, 0.1, 0.01):
    plan = {"noise_multiplier": 20.0, "sample_rate": rate, "steps": 100, "delta": 1e-5}
    own, tight = float(Concentrated().evaluate(**plan).epsilon), dpviz.epsilon("tight", **plan)
    print(f"q = {rate:<4}: concentrated ε ≤ {own:.3f}, exact ε ≤ {tight:.3f}")
    assert own >= tight
