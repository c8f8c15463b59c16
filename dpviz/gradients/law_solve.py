"""The missing one of (σ, q, T, δ_μ) for a target ε_μ of a known law of norms, never on the unsafe side.

>>> known = dict(family="weibull", shape=0.5, quantile=0.95, sample_rate=0.01, steps=10_000, delta_mu=1e-5)
>>> round(solve_law("noise_multiplier", target_epsilon=1.0, **known), 3)
3.461
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from dpviz import _validate
from dpviz.accounting.bayesian.solve import dp_answer
from dpviz.accounting.boundary import size_of_gap
from dpviz.accounting.calibration import HARDLY_ANY_NOISE, TOLERANCE, Calibration
from dpviz.accounting.no_answer import NoAnswer, no_answer
from dpviz.accounting.no_noise import chance_of_being_drawn
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.gradients.law_bound import LawBound, law_bound

UNKNOWNS = ("noise_multiplier", "sample_rate", "steps", "delta_mu")
_METHODS = {1: Moments.name, 2: Renyi.name}


def solve_law(
    unknown: str,
    *,
    target_epsilon: float,
    noise_multiplier: float | None = None,
    sample_rate: float | None = None,
    steps: float | None = None,
    delta_mu: float | None = None,
    definition: int = 2,
    **clipped: Any,
) -> float:
    """The missing one of (noise_multiplier, sample_rate, steps, delta_mu) at which ε_μ ≤ target_epsilon.

    Args:
        unknown: "noise_multiplier" (the smallest), "sample_rate" (the largest), "steps" (the longest plan) or
            "delta_mu" (the smallest): leave that argument out and give the three others.
        target_epsilon: ε_μ ≥ 0.
        noise_multiplier, sample_rate, steps, delta_mu, definition, and clipped (family, shape, quantile): as in
            `bayesian_law_epsilon`, whose upper bound is solved for.

    Returns:
        noise_multiplier and delta_mu rounded up, sample_rate down, within 2e-7; steps whole (at most 2^53; 0.0 where
        one step costs more). Where any value will do: 0.0 for noise_multiplier and delta_mu, 1.0 for sample_rate, inf
        for steps. bayesian_law_epsilon(…, answer) ≤ target_epsilon holds for the very float.

    Raises:
        ValueError: for a bad argument, and where no value will do, with the reason and the way out.
    """
    _validate.choice("unknown", unknown, UNKNOWNS)
    given = dict(zip(UNKNOWNS, (noise_multiplier, sample_rate, steps, delta_mu), strict=True))
    known = _validate.all_but_one(unknown, given, fewest_steps=1)
    target = _validate.number(target_epsilon=target_epsilon)
    problem = _LawProblem(target, known, TOLERANCE, definition, clipped)
    problem.floor = float(problem.bound(unknown, problem.starts[unknown]).floor)  # checks all arguments, too
    answer: float = getattr(problem, unknown)()
    return answer


@dataclass
class _LawProblem(Calibration):
    """One law, one target, three of the four numbers; `floor` is what the largest order charges for doing nothing."""

    definition: int
    clipped: dict[str, Any]
    floor: float = 0.0
    starts: ClassVar[dict[str, float]] = Calibration.starts | {"noise_multiplier": 1.0, "delta_mu": 1e-5}

    def bound(self, name: str, value: float) -> LawBound:
        """ε_μ with this value of the missing number."""
        asked: dict[str, Any] = self.clipped | self.known | {name: value}
        return law_bound(definition=self.definition, **asked)

    def gap(self, name: str, value: float) -> float:
        return size_of_gap(float(self.bound(name, value).upper), self.target)

    def start(self, name: str) -> float:
        """What the accountant to compare with answers."""
        answer = dp_answer(name, self.target, _METHODS[self.definition], tuple(self.known.items()))
        return answer if 0.0 < answer < math.inf else super().start(name)

    def check_floor(self) -> None:
        if self.target < self.floor and not self.free:
            raise no_answer("law_floor", target=self.target, floor=self.floor)

    @property
    def free(self) -> bool:
        """Whether nothing is released."""
        return self.known.get("sample_rate") == 0.0

    def unreachable(self, name: str) -> NoAnswer:
        return no_answer("law_unreachable", target=self.target, unknown=name)

    def noise_multiplier(self) -> float:
        self.check_floor()
        drawn = chance_of_being_drawn(self.known["sample_rate"], self.known["steps"])
        if drawn == 0.0 or (self.known["delta_mu"] >= drawn and self.fits("noise_multiplier", HARDLY_ANY_NOISE)):
            return 0.0
        return self.least("noise_multiplier")

    def sample_rate(self) -> float:
        return self.largest("sample_rate")

    def steps(self) -> float:
        return math.inf if self.free else self.longest()

    def delta_mu(self) -> float:
        return 0.0 if self.free else self.least_delta("delta_mu")
