"""Many different noise levels in one composition: groups err on the safe side, by little, in little memory."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

import dpviz
from dpviz._remember import MEMORY, MOST
from dpviz.accounting.pld import bounds
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.pld.noise_groups import GROUPED, MOST_DISTINCT, MOST_GROUPS, grouped_noise
from dpviz.mechanisms import Laplace, Mechanism, SampledGaussian

DELTA = 1e-5


def steps(low: float, high: float, number: int, rate: float = 0.01, count: int = 1) -> list[tuple[Mechanism, int]]:
    return [(SampledGaussian(float(sigma), rate), count) for sigma in np.geomspace(low, high, number)]


@pytest.mark.parametrize(("low", "high", "rate"), [(1.0, 1.4, 0.01), (0.7, 0.8, 0.002), (5.0, 6.0, 0.2)])
def test_groups_bound_the_exact_interval_from_outside_by_two_percent(
    low: float, high: float, rate: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = steps(low, high, 50, rate, 40)
    exact = tight_epsilon_of_events(events, DELTA)
    monkeypatch.setattr(bounds, "MOST_DISTINCT", 20)
    grouped = tight_epsilon_of_events(events, DELTA)
    assert exact.upper <= grouped.upper <= 1.02 * exact.upper
    assert 0.98 * exact.lower <= grouped.lower <= exact.lower
    assert (exact.reason, grouped.reason.startswith(GROUPED)) == ("", True)


def test_nobody_gets_more_noise_above_or_less_below_than_there_was() -> None:
    rng = np.random.default_rng(1)
    every: list[Mechanism] = [SampledGaussian(float(s), q) for q in (0.01, 0.3) for s in rng.uniform(0.05, 40.0, 900)]
    every += [Laplace(float(b), 0.1) for b in rng.uniform(1.0, 1.2, 60)]
    groups = grouped_noise(Counter(every))
    for step, (least, most) in groups.items():
        noises = [getattr(each, step.noise) for each in (least, step, most)]
        assert noises == sorted(noises)
        assert {(type(each), each.sample_rate) for each in (least, step, most)} == {
            (type(step), step.sample_rate)  # type: ignore[attr-defined]
        }
    assert groups.keys() == set(every)
    assert len({least for least, _ in groups.values()}) <= MOST_GROUPS + 3


def test_groups_of_a_narrow_range_are_one_percent_wide() -> None:
    groups = grouped_noise(Counter(dict(steps(2.0, 3.0, 3000))))
    widths = [most.noise_multiplier / least.noise_multiplier for least, most in groups.values()]
    assert max(widths) <= 1.011
    assert len(set(groups.values())) >= 30


def test_plain_gaussian_steps_and_single_ones_stay_as_they_are() -> None:
    alone = [(SampledGaussian(2.0 + k / 1000, 1.0), 1) for k in range(9)] + [(SampledGaussian(2.0, 0.1), 1)]
    assert all(step == least == most for step, (least, most) in grouped_noise(dict(alone)).items())


@pytest.mark.sweep
def test_thousands_of_noise_levels_take_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MEMORY, "most", MOST)  # as an app has it
    events = steps(1.0, 3.0, 3 * MOST_DISTINCT)
    tracemalloc.start()
    bound = dpviz.accountant("tight").of_events(events, DELTA)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200e6
    assert bound.reason.startswith(GROUPED)
    loudest = [(SampledGaussian(1.0, 0.01), 3 * MOST_DISTINCT)]
    assert 0.0 < float(bound.epsilon) < float(tight_epsilon_of_events(loudest, DELTA).lower)
