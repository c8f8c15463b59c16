"""What any accountant must keep, whatever it computes: one function a property, for one setting."""

import math
from typing import Any

import numpy as np
import pytest

from dpviz.accounting.ledger import Ledger
from dpviz.mechanisms import Mechanism
from tests.contract.cases import DIGITS, Case

Runs = list[tuple[Mechanism, int]]


def never_lower(case: Case, more: float, less: float) -> None:
    """`more` is not below `less`, but for the last digits and the accountant's own width; NaN says nothing."""
    assert math.isnan(more) or math.isnan(less) or more >= less * (1 - DIGITS) - case.room(less)


def monotone(case: Case, sigma: float, rate: float, steps: int, delta: float, factor: float) -> None:
    """More steps, more sampling, less noise, smaller δ never lower ε.

    Where the closed form ceases to hold ε is NaN, and where it holds for fewer orders it may only rise.
    """
    here = case.epsilon(sigma, rate, steps, delta)
    never_lower(case, case.epsilon(sigma, rate, math.ceil(steps * factor), delta), here)
    never_lower(case, case.epsilon(sigma, min(1.0, rate * factor), steps, delta), here)
    never_lower(case, case.epsilon(sigma / factor, rate, steps, delta), here)
    if not case.stairs:
        never_lower(case, case.epsilon(sigma, rate, steps, delta / factor), here)


def delta_falls_in_epsilon(case: Case, sigma: float, rate: float, steps: int, target: float, factor: float) -> None:
    wide, narrow = (case.delta(sigma, rate, steps, epsilon) for epsilon in (target, target * factor))
    assert math.isnan(wide) or 0.0 <= narrow <= wide * (1 + DIGITS) <= 1.0 + DIGITS or (case.slow and narrow <= 1.0)


def delta_inverts_epsilon(case: Case, sigma: float, rate: float, steps: int, delta: float) -> None:
    """δ(ε(δ)) holds at ε, and is no better than δ; a staircase may do with less."""
    epsilon = case.epsilon(sigma, rate, steps, delta)
    if math.isnan(epsilon) or math.isinf(epsilon) or epsilon == 0.0:
        return
    back = case.delta(sigma, rate, steps, epsilon * (1 + 1e-9) + 2.0 * case.room(epsilon))
    assert back <= delta * (1 + 1e-6)
    if 1e-290 < back < 1.0:
        again = case.epsilon(sigma, rate, steps, back)
        assert again <= epsilon * (1 + 1e-6) + 4.0 * case.room(epsilon)
    if not case.stairs:
        less = case.delta(sigma, rate, steps, max(0.99 * epsilon - 2.0 * case.room(epsilon), 0.0))
        assert less >= delta * (1 - 1e-9) or less == 1.0


def curve_is_step_by_step(case: Case, step: Mechanism, steps: int, delta: float) -> None:
    curve = case.of_step(step, np.arange(steps + 1), delta)
    ledger = Ledger(case.method)
    live = [float(ledger.bound(delta).epsilon)]
    for _ in range(steps):
        ledger.spend(step)
        live.append(float(ledger.bound(delta).epsilon))
    for mine, theirs in zip(live, curve, strict=True):
        assert mine == pytest.approx(theirs, rel=DIGITS, abs=case.room(mine))


def equal_runs_merge(case: Case, step: Mechanism, first: int, second: int, delta: float) -> None:
    whole = case.of_step(step, first + second, delta)
    ledger = Ledger(case.method)
    ledger.spend(step, first)
    ledger.spend(step, second)
    parts = [case.of_events([(step, first), (step, second)], delta), float(ledger.bound(delta).epsilon)]
    assert parts == pytest.approx([whole, whole], rel=DIGITS, abs=case.room(whole))


def order_does_not_matter(case: Case, events: Runs, shuffled: Runs, delta: float) -> None:
    found = case.of_events(events, delta)
    ledger = Ledger(case.method)
    for mechanism, count in shuffled:
        ledger.spend(mechanism, count)
    both = [case.of_events(shuffled, delta), float(ledger.bound(delta).epsilon)]
    assert both == pytest.approx([found, found], rel=DIGITS, abs=case.room(found))


def one_more_never_lowers(case: Case, events: Runs, step: Mechanism, delta: float) -> None:
    never_lower(case, case.of_events([*events, (step, 1)], delta), case.of_events(events, delta))


def arrays_are_scalars_side_by_side(case: Case, sigma: Any, rate: Any, steps: Any, delta: Any) -> None:
    together = case.epsilon(sigma, rate, steps, delta)
    every = np.broadcast_arrays(sigma, rate, steps, delta)
    assert together.shape == every[0].shape
    for found, *setting in zip(together.ravel(), *(part.ravel() for part in every), strict=True):
        alone = case.epsilon(*setting)
        assert found == pytest.approx(alone, rel=DIGITS, abs=case.room(alone), nan_ok=True)


def nothing_released_costs_nothing(case: Case, sigma: float) -> None:
    assert case.epsilon(sigma, 0.5, 0, 1e-5) == 0.0
    assert case.of_events([], 1e-5) == 0.0
    if not case.floor:
        assert case.epsilon(sigma, 0.0, [1, 10**9], 1e-300).tolist() == [0.0, 0.0]
        assert case.epsilon(sigma, 0.0, 7, 1e-14) == 0.0


def a_number_or_a_reason(case: Case, sigma: float, rate: float, steps: Any, delta: float) -> None:
    bound = case.method.evaluate(noise_multiplier=sigma, sample_rate=rate, steps=steps, delta=delta)
    assert not np.isnan(bound.epsilon).any() or bound.reason
    assert (np.isnan(bound.epsilon) | (bound.epsilon >= 0.0)).all()
