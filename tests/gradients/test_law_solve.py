"""What a known law's Bayesian target asks for holds for the very float, and nothing less does."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dpviz
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


def test_less_noise_than_dp_needs() -> None:
    dp = dpviz.solve("noise_multiplier", method="renyi", target_epsilon=1.0, sample_rate=0.01, steps=10_000, delta=1e-5)
    known = without("noise_multiplier")
    found = [
        solve_law("noise_multiplier", target_epsilon=1.0, **(LAW | {"quantile": p}), **known) for p in (0.5, 0.9, 0.99)
    ]
    assert dp > found[0] > found[1] > found[2]


def test_where_any_value_will_do() -> None:
    assert solve_law("noise_multiplier", target_epsilon=1.0, **LAW, **without("noise_multiplier", sample_rate=0.0)) == 0
    rare = {"sample_rate": 1e-6, "steps": 3.0, "delta_mu": 0.01}
    assert solve_law("noise_multiplier", target_epsilon=0.0, **LAW, **without("noise_multiplier", **rare)) == 0.0
    assert solve_law("steps", target_epsilon=1.0, **LAW, **without("steps", sample_rate=0.0)) == math.inf
    assert solve_law("steps", target_epsilon=0.5, **LAW, **without("steps", noise_multiplier=0.3)) == 0.0
    assert solve_law("sample_rate", target_epsilon=50.0, **LAW, **without("sample_rate", steps=1.0)) == 1.0
    assert solve_law("delta_mu", target_epsilon=1.0, **LAW, **without("delta_mu", sample_rate=0.0)) == 0.0
