"""Audits exceed the true ε in at most one of twenty, wherever the threshold comes from the same stream of runs."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpviz.accounting.audit.counts import CONFIDENCE, Counts, interval_bound, joint_bound
from dpviz.accounting.audit.threshold import ThresholdAttack, attacked
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import RandomisedResponse, SampledGaussian

AUDITS = 400


def gaussian(random: np.random.Generator, without: int, with_it: int) -> tuple[np.ndarray, np.ndarray]:
    return random.standard_normal(without), 1.0 + random.standard_normal(with_it)


def mirrored(random: np.random.Generator, without: int, with_it: int) -> tuple[np.ndarray, np.ndarray]:
    """The example is seen by low scores, in the place of high ones."""
    low, high = gaussian(random, with_it, without)
    return high, low


def response(random: np.random.Generator, without: int, with_it: int) -> tuple[np.ndarray, np.ndarray]:
    """Two scores only."""
    return (random.random(without) < 0.2).astype(float), (random.random(with_it) < 0.8).astype(float)


def nothing(random: np.random.Generator, without: int, with_it: int) -> tuple[np.ndarray, np.ndarray]:
    """The example has no part in the scores: ε is 0."""
    return random.standard_normal(without), random.standard_normal(with_it)


def truth(law: object, delta: float) -> float:
    if law is nothing:
        return 0.0
    if law is response:
        return RandomisedResponse(0.8).epsilon if delta < 1e-6 else math.log((0.8 - delta) / 0.2)
    return float(tight_epsilon(SampledGaussian(1.0), [1], delta).lower[0])


@pytest.mark.long
@pytest.mark.parametrize("delta", [1e-9, 0.01])
@pytest.mark.parametrize(("without", "with_it"), [(200, 200), (60, 200)])
@pytest.mark.parametrize("law", [gaussian, mirrored, response, nothing])
def test_one_audit_in_twenty_at_most_exceeds_the_truth(law, without: int, with_it: int, delta: float) -> None:  # type: ignore[no-untyped-def]
    """By 400 seeded audits; the allowance of three deviations is what chance adds to one in twenty."""
    exact, above = truth(law, delta), np.zeros(2)
    for seed in range(AUDITS):
        _, counts = attacked(*law(np.random.default_rng(seed), without, with_it), delta)
        above += [bound(counts, delta) > exact for bound in (interval_bound, joint_bound)]
    doubt = 1.0 - CONFIDENCE
    assert above.max() / AUDITS <= doubt + 3.0 * math.sqrt(doubt * CONFIDENCE / AUDITS)


SIDES = st.integers(1, 60)


@settings(max_examples=60, deadline=None)
@given(without=SIDES, with_it=SIDES, data=st.data(), delta=st.sampled_from([1e-12, 1e-5, 0.01, 0.3]))
def test_bounds_are_finite_and_below_what_was_seen(
    without: int, with_it: int, data: st.DataObject, delta: float
) -> None:
    """No bound lies above the ratio of the rates that were seen, one run added to each so that none is 0."""
    counts = Counts(data.draw(st.integers(0, without)), without, data.draw(st.integers(0, with_it)), with_it)
    seen = math.log(max((counts.hits + 1) / with_it, 1e-300) / ((counts.alarms + 0.05) / without))
    for bound in (interval_bound(counts, delta), joint_bound(counts, delta)):
        assert 0.0 <= bound <= max(0.0, seen)
    if counts.hits == 0 or counts.alarms == without:
        assert interval_bound(counts, delta) == joint_bound(counts, delta) == 0.0


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=20), st.lists(st.floats(-5, 5), min_size=1, max_size=20))
def test_a_mirrored_attack_counts_as_the_other_way_round(one: list[float], other: list[float]) -> None:
    """Scores with the other sign, and roles exchanged."""
    one_side, other_side = np.round(one, 3), np.round(other, 3)
    for cut in (0.00005, -1.00005, 3.00005):  # no score lies there
        plain = ThresholdAttack(cut).counts(one_side, other_side)
        assert ThresholdAttack(-cut, mirrored=True).counts(-other_side, -one_side) == plain
