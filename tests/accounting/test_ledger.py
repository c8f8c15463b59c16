"""The ledger of a live run: what it keeps, how it merges, and that it says what its accountant says."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpviz.accounting.ledger import Ledger
from dpviz.accounting.renyi.accountant import Renyi
from dpviz.accounting.renyi.closed_form import ClosedForm
from dpviz.mechanisms import SampledGaussian

STEP, OTHER = SampledGaussian(4.0, 0.01), SampledGaussian(6.0, 0.05)


def test_records_runs() -> None:
    ledger = Ledger(Renyi())
    for mechanism, count in ((STEP, 1), (STEP, 2), (OTHER, 5), (OTHER, 0), (STEP, 1)):
        ledger.spend(mechanism, count)
    assert ledger.events == ((STEP, 3), (OTHER, 5), (STEP, 1))
    assert ledger.steps == 9


def test_asking_changes_nothing() -> None:
    asked, silent = Ledger(Renyi()), Ledger(Renyi())
    for _ in range(5):
        for mechanism in (STEP, OTHER):
            asked.spend(mechanism)
            silent.spend(mechanism)
            asked.bound(1e-5)
            asked.bound(1e-9)
    assert asked.bound(1e-5).epsilon == silent.bound(1e-5).epsilon


def test_alternating_steps_match_the_runs_merged() -> None:
    ledger = Ledger(Renyi())
    for _ in range(300):
        ledger.spend(STEP)
        ledger.spend(OTHER)
    merged = Renyi().of_events([(STEP, 300), (OTHER, 300)], 1e-5)
    assert float(ledger.bound(1e-5).epsilon) == pytest.approx(float(merged.epsilon), rel=1e-12)


def test_divergences_simply_add_up() -> None:
    """The order that decides for two runs together need not be that of either."""
    ledger = Ledger(Renyi(conversion="classic", order_values=(2.0, 4.0, 8.0)))
    ledger.spend(STEP, 5000)
    ledger.spend(OTHER, 200)
    orders = np.array([2.0, 4.0, 8.0])
    total = 5000 * Renyi(order_values=(2, 4, 8)).step_divergence(4.0, 0.01) + 200 * Renyi(
        order_values=(2, 4, 8)
    ).step_divergence(6.0, 0.05)
    expected = (total + math.log(1e5) / (orders - 1)).min()
    assert float(ledger.bound(1e-5).epsilon) == pytest.approx(expected, rel=1e-14)


def test_a_mechanism_without_a_bound_says_so_for_the_whole_run() -> None:
    ledger = Ledger(ClosedForm())
    ledger.spend(STEP, 10)
    assert not math.isnan(float(ledger.bound(1e-5).epsilon))
    ledger.spend(SampledGaussian(1.0, 0.01))
    ledger.spend(STEP, 10)
    bound = ledger.bound(1e-5)
    assert math.isnan(float(bound.epsilon))
    assert "σ >= 4 (σ is 1)" in bound.reason


@pytest.mark.parametrize("bad", [-1, 1.5, math.nan, "3", None, True])
def test_a_refused_step_leaves_no_trace(bad: object) -> None:
    ledger = Ledger(Renyi())
    ledger.spend(STEP, 3)
    before = ledger.events, float(ledger.bound(1e-5).epsilon)
    with pytest.raises(ValueError, match="Expected count"):
        ledger.spend(OTHER, bad)  # type: ignore[arg-type]
    assert (ledger.events, float(ledger.bound(1e-5).epsilon)) == before
