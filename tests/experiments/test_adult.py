"""The experiment on Adult can be repeated: trials of each kind give again what the record says."""

from __future__ import annotations

import pytest

from dpviz.experiments.adult import ADULT_METHODS
from dpviz.experiments.record import recorded
from dpviz.training.posterior_accuracy import accuracy


@pytest.mark.parametrize("arm", ["sample_010", "wang_010"])
def test_a_trial_gives_what_was_recorded(arm: str) -> None:
    found = accuracy(dict(ADULT_METHODS.arms[arm]), 0)
    stored = recorded(ADULT_METHODS.key).of(arm)[0].found
    assert set(found) == set(stored)
    # Another machine rounds otherwise, and may keep another draw.
    assert found["test_accuracy"] == pytest.approx(stored["test_accuracy"], abs=0.03)
    for name in set(found) - {"test_accuracy"}:
        assert found[name] == pytest.approx(stored[name], rel=1e-9)


def test_chains_learn_and_more_noise_learns_less() -> None:
    """Some steps of the chain by itself: 300 of the standard ones, and of ones with a tenth of the step size."""
    short = dict(ADULT_METHODS.arms["baseline"]) | {"steps": 300}
    large, small = (accuracy(short | {"first_step": first}, 0)["test_accuracy"] for first in (1.0, 0.01))
    assert large > 0.80 > small > 0.7
