"""All accountants there are, each with what its numbers may and may not be asked.

Every method of METHODS joins by itself, with every combination of its closed choices; what is special is said here.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz.accounting.accountant import Accountant
from dpviz.accounting.bound import Kind
from dpviz.accounting.methods import accountant, every_choice
from dpviz.mechanisms import Mechanism
from tests.contract.bayesian import Bayesian

# Relative rounding that two ways to the same number may differ by.
DIGITS = 1e-12


def no_room(epsilon: float) -> float:
    return 0.0


def promised(epsilon: float) -> float:
    """The width of the tight interval: the truth lies within it, so neighbours may swap by no more."""
    return max(0.01 * epsilon, 0.005)


@dataclass(frozen=True)
class Case:
    """One accountant.

    Attributes:
        method: the accountant.
        solving: method and options as `solve` takes them; () for what `solve` does not know.
        slow: asked a few settings with a common σ, q, T and δ instead of many extreme ones.
        room: how much of ε may be the answer's own width: neighbours may swap within it.
        stairs: ε is a staircase, which a smaller δ may climb later (its own tests say so).
        mixes: knows runs of different steps.
        floor: charges something where next to nothing, or nothing, is released.
        kind: the mechanism of a noise and a rate; None for sampled Gaussians, of which there may be arrays.
    """

    method: Accountant
    solving: tuple[str, dict[str, str]] | tuple[()] = ()
    slow: bool = False
    room: Callable[[float], float] = no_room
    stairs: bool = False
    mixes: bool = True
    floor: bool = False
    kind: Callable[[float, float], Mechanism] | None = None

    def epsilon(self, sigma: Any, rate: Any, steps: Any, delta: Any) -> Any:
        if self.kind is not None:
            return self.of_step(self.kind(sigma, rate), steps, delta)
        found = self.method.evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta).epsilon
        return found if found.ndim else float(found)

    def of_step(self, step: Mechanism, steps: Any, delta: Any) -> Any:
        found = self.method.epsilon_of(step, steps=steps, delta=delta).epsilon
        return found if found.ndim else float(found)

    def of_events(self, events: list[tuple[Mechanism, int]], delta: float) -> float:
        return float(self.method.of_events(events, delta).epsilon)

    def delta(self, sigma: float, rate: float, steps: int, epsilon: float) -> float:
        if self.kind is not None:
            return float(self.method.delta_of(self.kind(sigma, rate), steps=steps, epsilon=epsilon))
        return float(self.method.delta(noise_multiplier=sigma, sample_rate=rate, steps=steps, epsilon=epsilon))


# What sets a method apart from those that compute a formula to the last digit.
_SPECIAL: dict[str, dict[str, Any]] = {
    "tight": {"slow": True, "room": promised},
    "odometer": {"stairs": True},
}

CASES: dict[str, Case] = {
    ", ".join([name, *options.values()]): Case(accountant(name, **options), (name, options), **_SPECIAL.get(name, {}))
    for name, options in every_choice()
}
_BAYESIAN: dict[str, Any] = {"slow": True, "mixes": False, "floor": True}
CASES |= {
    "bayesian, as DP assumes": Case(Bayesian((1.0,) * 30), **_BAYESIAN),
    "bayesian, light": Case(Bayesian(tuple(np.linspace(0.05, 0.6, 30).tolist())), **_BAYESIAN),
}

QUICK = {name: case for name, case in CASES.items() if not case.slow}
SLOW = {name: case for name, case in CASES.items() if case.slow}
UPPER = {name: case for name, case in CASES.items() if case.method.kind is Kind.UPPER}
