"""What a known law's Bayesian target asks for holds for the very float, and nothing less does."""

from typing import Any

import pytest

from dpviz.gradients.law_bound import law_bound
from dpviz.gradients.law_solve import UNKNOWNS, solve_law

LAW: dict[str, Any] = {"family": "weibull", "shape": 0.5, "quantile": 0.95}
KNOWN: dict[str, float] = {"noise_multiplier": 4.0, "sample_rate": 0.01, "steps": 10_000.0, "delta_mu": 1e-5}


def without(unknown: str, **changed: float) -> dict[str, float]:
    return {name: value for name, value in (KNOWN | changed).items() if name != unknown}


@pytest.mark.parametrize("definition", [1, 2])
@pytest.mark.parametrize("unknown", UNKNOWNS)
@pytest.mark.parametrize("target", [0.9, 6.0])
def test_the_answer_holds_and_a_bit_less_does_not(unknown: str, definition: int, target: float) -> None:
    known = without(unknown, sample_rate=0.05 if target > 1.0 else 0.01)
    answer = solve_law(unknown, target_epsilon=target, definition=definition, **LAW, **known)

    def epsilon(value: float) -> float:
        return float(law_bound(**LAW, definition=definition, **(known | {unknown: value})).upper)

    bolder = {"steps": answer + 1.0, "sample_rate": answer * (1.0 + 1e-6)}.get(unknown, answer * (1.0 - 1e-6))
    assert epsilon(answer) <= target < epsilon(bolder)
