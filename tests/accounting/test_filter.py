"""The privacy filter: exact at its boundary, no trace of what it refused, never more than its promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpviz
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.odometer import PAPER_ORDERS
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.mechanisms.log_moments import renyi_divergence

STEP = dpviz.SampledGaussian(noise_multiplier=1.0, sample_rate=0.01024)
TWO_TO_32 = np.array([2.0, 8.0, 32.0])
TENTHS = [*(i / 10 for i in range(11, 110)), *range(12, 64)]

steps_of = st.builds(
    dpviz.SampledGaussian,
    noise_multiplier=st.floats(math.log(0.5), math.log(50)).map(math.exp),
    sample_rate=st.floats(math.log(1e-4), 0.0).map(math.exp),
)
targets = st.floats(0.05, 30.0)


class TestNumbers:
    @pytest.mark.parametrize(("target", "allowed"), [(10.0, 14_148), (3.0, 1_082)])
    def test_steps_of_a_budget(self, target: float, allowed: int) -> None:
        budget = Filter(target_epsilon=target, delta=1e-6, orders=TENTHS, conversion="classic")
        assert budget.remaining_steps(STEP) == allowed
        assert budget.allows(STEP, allowed)
        assert not budget.allows(STEP, allowed + 1)

    def test_union_takes_a_share_of_delta(self) -> None:
        budget = Filter(target_epsilon=3.0, delta=1e-6, orders=[2, 8, 32], union=True)
        np.testing.assert_allclose(budget.limits, 3.0 - math.log(3e6) / np.array([1.0, 7.0, 31.0]), rtol=1e-14)


class TestBoundary:
    @given(steps_of, targets, st.sampled_from(["classic", "improved"]))
    @settings(max_examples=50, deadline=None)
    def test_exact_for_equal_steps(self, step: dpviz.SampledGaussian, target: float, conversion: str) -> None:
        budget = Filter(target_epsilon=target, delta=1e-6, orders=PAPER_ORDERS, conversion=conversion)
        most = int(budget.remaining_steps(step))
        setting = {"noise_multiplier": step.noise_multiplier, "sample_rate": step.sample_rate, "delta": 1e-6}
        options = {"orders": PAPER_ORDERS, "conversion": conversion}
        now, next_ = np.asarray(dpviz.epsilon("renyi", steps=[most, most + 1], **setting, **options))
        assert now <= target < next_
        budget.spend(step, most)
        assert budget.epsilon() == now
        assert budget.remaining_steps(step) == 0
        with pytest.raises(BudgetExceeded):
            budget.spend(step)

    @given(st.lists(st.tuples(steps_of, st.integers(1, 20_000)), min_size=1, max_size=8), targets, st.booleans())
    @settings(max_examples=50, deadline=None)
    def test_no_trace_of_what_was_refused(
        self, asked: list[tuple[dpviz.SampledGaussian, int]], target: float, union: bool
    ) -> None:
        budget = Filter(target_epsilon=target, delta=1e-5, orders=PAPER_ORDERS, union=union)
        clean = Filter(target_epsilon=target, delta=1e-5, orders=PAPER_ORDERS, union=union)
        for step, count in asked:
            before = (budget.events, budget.steps, budget.spent.tolist(), budget.epsilon())
            if budget.allows(step, count):
                budget.spend(step, count)
                clean.spend(step, count)
                continue
            with pytest.raises(BudgetExceeded) as caught:
                budget.spend(step, count)
            assert (budget.events, budget.steps, budget.spent.tolist(), budget.epsilon()) == before
            fits = caught.value.fits
            assert (caught.value.mechanism, caught.value.count) == (step, count)
            assert fits == budget.remaining_steps(step) < count
            assert f"{fits} of them still fit" in str(caught.value)
            assert budget.allows(step, fits)
        assert budget.events == clean.events
        np.testing.assert_array_equal(budget.spent, clean.spent)
        assert budget.epsilon() <= target

    def test_one_by_one_is_all_at_once(self) -> None:
        budget, steps = Filter(target_epsilon=3.0, delta=1e-6, orders=TENTHS), 0
        while budget.allows(STEP):
            budget.spend(STEP)
            steps += 1
        assert steps == 1082
        assert budget.events == ((STEP, 1082),)

    @given(st.lists(st.tuples(steps_of, st.integers(1, 500)), min_size=1, max_size=5), targets)
    @settings(max_examples=25, deadline=None)
    def test_union_never_allows_more(self, asked: list[tuple[dpviz.SampledGaussian, int]], target: float) -> None:
        plain, union = (
            Filter(target_epsilon=target, delta=1e-5, orders=PAPER_ORDERS, union=flag) for flag in (False, True)
        )
        for step, count in asked:
            assert union.remaining_steps(step) <= plain.remaining_steps(step)
            if union.allows(step, count) and plain.allows(step, count):
                union.spend(step, count)
                plain.spend(step, count)

    def test_one_order_needs_no_union(self) -> None:
        plain, union = (Filter(target_epsilon=3.0, delta=1e-6, orders=[8], union=flag) for flag in (False, True))
        assert plain.remaining_steps(STEP) == union.remaining_steps(STEP)


class TestSound:
    @given(st.lists(st.tuples(steps_of, st.integers(1, 50)), min_size=2, max_size=12))
    @settings(max_examples=25, deadline=None)
    def test_nothing_that_was_spent_is_forgotten(self, asked: list[tuple[dpviz.SampledGaussian, int]]) -> None:
        """The sum of every mechanism's own divergences, whatever came between equal ones."""
        budget = Filter(target_epsilon=1e9, delta=1e-6, orders=[2.0, 8.0, 32.0])
        for step, count in (*asked, *asked[::-1]):
            ahead = budget.after(step, count)
            budget.spend(step, count)
            np.testing.assert_array_equal(budget.spent, ahead)
        total = sum(
            2 * count * renyi_divergence(np.array(step.noise_multiplier), np.array(step.sample_rate), TWO_TO_32)
            for step, count in asked
        )
        np.testing.assert_allclose(budget.spent, total, rtol=1e-12)

    @pytest.mark.parametrize("conversion", ["classic", "improved"])
    def test_a_full_budget_holds_by_the_tight_accountant(self, conversion: str) -> None:
        budget = Filter(target_epsilon=1.0, delta=1e-6, conversion=conversion)
        quiet, loud = dpviz.SampledGaussian(4.0, 0.01), dpviz.SampledGaussian(1.5, 0.01)
        budget.spend(loud, int(budget.remaining_steps(loud)) // 2)
        budget.spend(quiet, int(budget.remaining_steps(quiet)))
        assert len(budget.events) == 2
        assert float(tight_epsilon_of_events(budget.events, 1e-6).lower) <= 1.0


class TestEdges:
    def test_free_steps_never_end(self) -> None:
        free = dpviz.SampledGaussian(1.0, 0.0)
        budget = Filter(target_epsilon=1e-9, delta=1e-6)
        assert budget.remaining_steps(free) == math.inf
        budget.spend(free, 10**12)
        assert budget.epsilon() == 0.0
        assert not budget.allows(STEP)

    def test_no_steps_leave_no_trace(self) -> None:
        budget = Filter(target_epsilon=3.0, delta=1e-6)
        budget.spend(STEP, 0)
        assert budget.events == ()

    def test_epsilon_at_another_delta(self) -> None:
        budget = Filter(target_epsilon=3.0, delta=1e-6)
        budget.spend(STEP, 500)
        found = dpviz.epsilon(
            "renyi", conversion="classic", noise_multiplier=1.0, sample_rate=0.01024, steps=500, delta=1e-4
        )
        assert found <= budget.epsilon(1e-4) <= 1.002 * found  # a filter's orders are fixed: its grid alone
        assert budget.epsilon(1e-4) < budget.epsilon()

    @pytest.mark.parametrize("count", [-1, 0.5, math.nan, "3"])
    def test_bad_count_changes_nothing(self, count: object) -> None:
        budget = Filter(target_epsilon=3.0, delta=1e-6)
        with pytest.raises(ValueError, match="Expected count"):
            budget.spend(STEP, count)  # type: ignore[arg-type]
        assert budget.events == ()
