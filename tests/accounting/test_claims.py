import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpviz.accounting.claims import Claim, rounded_up

PLANNED = Claim(epsilon=3.0, delta=1e-5, accountant="tight", covers="plan", lower=2.98, steps=150, success=0.7)


def test_a_claim_is_the_least_of_plan_and_odometer():
    early = PLANNED.if_it_ended(odometer=1.5, step=20)
    assert (early.epsilon, early.accountant, early.covers, early.steps) == (1.5, "mixture", "any_end", 20)
    assert early.lower is None  # the plan's interval says nothing of fewer steps
    assert PLANNED.if_it_ended(odometer=3.5, step=150) is PLANNED
    assert PLANNED.if_it_ended(odometer=math.inf, step=150) is PLANNED
    assert PLANNED.if_it_ended(odometer=math.nan, step=150) is PLANNED


@given(st.lists(st.floats(0.0, 50.0), min_size=1))
def test_it_never_rises_above_the_plan_and_never_falls_as_the_odometer_rises(readings):
    said = [PLANNED.if_it_ended(odometer=value, step=1).epsilon for value in sorted(readings)]
    assert said == sorted(said)
    assert max(said) <= PLANNED.epsilon


def test_the_guess_is_no_more_than_what_the_pair_allows():
    assert PLANNED.guess == 0.7
    alone = Claim(epsilon=3.0, delta=1e-5, accountant="renyi", covers="plan")
    assert alone.guess == pytest.approx((math.exp(3.0) + 1e-5) / (1 + math.exp(3.0)))
    fixed, counted = PLANNED, replace(PLANNED, success=None)
    # Whatever ends a run whose steps are fixed ahead, the attacker sees no more than the whole plan would show.
    assert fixed.if_it_ended(odometer=2.9, step=3).guess == 0.7
    assert counted.if_it_ended(odometer=2.9, step=3).guess > 0.9
    early = fixed.if_it_ended(odometer=0.01, step=1)
    assert early.guess == early.pair < 0.51


def test_no_claim_says_why():
    none = Claim.nothing("it was trained without noise")
    assert not none.holds
    assert none.guess == 1.0
    assert none.coverage == "it was trained without noise"
    assert none.if_it_ended(odometer=2.0, step=5).coverage != none.coverage


def test_a_demonstration_claims_nothing_whatever_comes():
    claim = Claim(epsilon=2.0, delta=1e-5, accountant="tight", covers="plan", steps=9)
    found = claim.as_demonstration()
    assert Claim.from_json(found.to_json()) == found
    for now in (found, found.if_it_ended(odometer=0.5, step=3)):
        assert now.demonstration
        assert not now.holds
        assert now.guess == 1.0
    assert found.shown == claim
    assert found.if_it_ended(odometer=0.5, step=3).shown.epsilon == 0.5


def test_there_and_back():
    for claim in (PLANNED, Claim.nothing("no reason", 1e-6), PLANNED.if_it_ended(odometer=1.0, step=2)):
        assert Claim.from_json(claim.to_json()) == claim


@given(st.floats(1e-6, 1e6))
def test_shown_numbers_are_never_below(value):
    assert value <= rounded_up(value) <= value * 1.011
