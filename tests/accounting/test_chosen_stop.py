"""The true δ of the planned ε at a stop that results chose, beside exact integrals of the same stopping problem."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from dpviz._arrays import Array
from dpviz.accounting.adaptive.chosen_stop import chosen_stop_delta, planned_stop_epsilon

GIVEN: dict[str, Any] = {"mu": 1.0, "steps": 10, "delta": 1e-5}


def hockey(epsilon: float, start: Array, spread: float) -> Array:
    """E(1 − e^{ε − L})₊ of L = start + N(spread²/2, spread²), in closed form."""
    above = (start + 0.5 * spread**2 - epsilon) / spread
    return ndtr(above) - np.exp(epsilon - start) * ndtr(above - spread)


def by_integrals(mu: float, steps: int, delta: float, begin: int) -> float:
    """δ* for two or three steps: the last step in closed form, those before on 200,000 losses."""
    spread, planned = mu / math.sqrt(steps), planned_stop_epsilon(mu=mu, steps=steps, delta=delta)
    if begin == steps:
        return float(hockey(planned[-1], np.zeros(1), mu)[0])
    z = np.linspace(-10.0, 10.0, 4001)
    weight = np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi) * (z[1] - z[0])

    def value(loss: Array, at: int) -> Array:
        ahead = hockey(planned[-1], loss, spread)
        if at < steps - 1:
            finer = np.linspace(loss.min() - 12.0 * spread, loss.max() + 12.0 * spread, 200_001)
            next_value = value(finer, at + 1)
            moved = loss[:, None] + 0.5 * spread**2 + spread * z
            ahead = np.interp(moved.ravel(), finer, next_value).reshape(moved.shape) @ weight
        stopped = np.maximum(-np.expm1(planned[at - 1] - loss), 0.0)
        return np.maximum(ahead, stopped) if at >= begin else ahead

    first = 0.5 * spread**2 + spread * z  # the losses after one step
    return float(value(first, 1) @ weight)


@pytest.mark.parametrize(("mu", "steps", "delta"), [(1.0, 2, 1e-5), (0.3, 2, 1e-3), (4.0, 3, 1e-8), (1.0, 3, 0.05)])
@pytest.mark.one_of(2)
def test_the_value_is_that_of_exact_integrals_and_never_below(mu: float, steps: int, delta: float) -> None:
    found = chosen_stop_delta(mu=mu, steps=steps, delta=delta)
    exact = [by_integrals(mu, steps, delta, begin) for begin in range(1, steps + 1)]
    assert np.all(found >= np.array(exact) * (1.0 - 1e-6))
    np.testing.assert_allclose(found, exact, rtol=0.01)


def test_a_planned_stop_costs_what_is_claimed_and_a_chosen_one_several_times_as_much() -> None:
    by_steps = [chosen_stop_delta(mu=1.0, steps=steps, delta=1e-5) / 1e-5 for steps in (2, 20, 100)]
    for times in by_steps:
        assert 1.0 <= times[-1] < 1.005
        assert np.all(np.diff(times) <= 0.0), "the later one may stop, the less there is to choose"
    firsts = [times[0] for times in by_steps]
    assert firsts == sorted(firsts)
    assert firsts[1:] == pytest.approx([7.1, 11.3], rel=0.02)


def test_a_feasible_rule_found_by_simulation_lies_below() -> None:
    """Stop where the loss so far passes the planned ε: some of what the best rule gives away, in 400,000 runs."""
    steps, delta, rng = 20, 1e-2, np.random.default_rng(0)
    planned, spread = planned_stop_epsilon(mu=1.0, steps=steps, delta=delta), 1.0 / math.sqrt(steps)
    losses = np.cumsum(0.5 * spread**2 + spread * rng.standard_normal((400_000, steps)), axis=1)
    gain = np.maximum(-np.expm1(planned - losses), 0.0)
    rule = gain[np.arange(len(gain)), np.where((gain > 0.1).any(axis=1), (gain > 0.1).argmax(axis=1), steps - 1)]
    most = chosen_stop_delta(mu=1.0, steps=steps, delta=delta)[0]
    assert 1.5 * delta < rule.mean() < most + 3.0 * rule.std() / math.sqrt(len(rule))


@pytest.mark.parametrize("wrong", [{"mu": 0.0}, {"mu": 21.0}, {"steps": 0}, {"steps": 301}, {"delta": 0.0}])
def test_what_is_out_of_range_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        chosen_stop_delta(**{**GIVEN, **wrong})
