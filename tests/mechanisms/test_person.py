"""Several rows of one person with any mechanism: brute force over batches, exact cases."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom, hypergeom, norm

import dpviz
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.pld.bounds import IN_TURN, tight_delta, tight_epsilon, tight_epsilon_of_events
from dpviz.accounting.pld.persons import group_curve
from dpviz.mechanisms import (
    MECHANISMS,
    CorrelatedNoise,
    FixedPartition,
    FixedSize,
    Laplace,
    Mechanism,
    PersonOf,
    PersonRows,
    RandomAllocation,
    ReplaceOneGaussian,
    SampledGaussian,
    Shuffled,
    TruncatedPoisson,
    WithReplacement,
    of_person,
)
from dpviz.mechanisms.pair import gaussian_log_delta

Z, WIDTH = np.linspace(-24.0, 24.0, 2401, retstep=True)


def on_line(weights: dict[float, float], sigma: float) -> np.ndarray:
    """Probabilities of cells under a mixture of Gaussians."""
    return np.asarray(sum(w * norm.pdf(Z, c, sigma) for c, w in weights.items()) * WIDTH)


def apart(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(
        max(np.maximum(p - math.exp(epsilon) * q, 0.0).sum(), np.maximum(q - math.exp(epsilon) * p, 0.0).sum())
    )


def twice(p: np.ndarray) -> np.ndarray:
    return np.outer(p, p)


def truths(rows: int) -> list[tuple[Mechanism, int, np.ndarray, np.ndarray]]:
    """Mechanisms, steps, and what two data sets show that differ in so many rows of one person."""
    sigma, q = 1.5, 0.3
    drawn = {float(j): float(binom.pmf(j, rows, q)) for j in range(rows + 1)}
    in_batch = {2.0 * j: float(hypergeom.pmf(j, 8, rows, 3)) for j in range(rows + 1)}
    places = {2.0 * j: float(binom.pmf(j, 3, rows / 8)) for j in range(4)}
    plain = on_line({0.0: 1.0}, sigma)
    bins = [np.bincount(bin, minlength=2) for bin in itertools.product((0, 1), repeat=rows)]
    allotted = [np.outer(*(on_line({float(c): 1.0}, sigma) for c in counts)) for counts in bins]
    laplace = sum(w * np.exp(-abs(Z - j) / 2.0) for j, w in drawn.items()) / 4.0 * WIDTH
    return [
        (ReplaceOneGaussian(sigma, q), 2, twice(on_line(drawn, sigma)),
         twice(on_line({-j: w for j, w in drawn.items()}, sigma))),
        (FixedSize(sigma, 8, 3), 2, twice(on_line(in_batch, sigma)), twice(plain)),
        (WithReplacement(sigma, 8, 3), 2, twice(on_line(places, sigma)), twice(plain)),
        (RandomAllocation(sigma, 2), 1, np.asarray(sum(allotted) / len(allotted)), twice(plain)),
        (FixedPartition(sigma), 1, on_line({float(rows): 1.0}, sigma), plain),
        (Laplace(2.0, q), 2, twice(laplace), twice(np.exp(-abs(Z) / 2.0) / 4.0 * WIDTH)),
        (TruncatedPoisson(sigma, q, 8, 8), 2, twice(on_line(drawn, sigma)), twice(plain)),
    ]  # fmt: skip


@pytest.mark.sweep
@pytest.mark.parametrize("rows", [2, 3])
def test_the_interval_holds_what_data_sets_show(rows: int) -> None:
    for mechanism, steps, p, q in truths(rows):
        person = of_person(mechanism, rows)
        for epsilon in (0.0, 0.4, 1.5, 3.0):
            truth = apart(p, q, epsilon)
            interval = tight_delta(person, steps, epsilon)
            assert interval.lower <= interval.upper
            assert truth <= interval.upper + 2e-5, (person.text, epsilon)
            if isinstance(mechanism, ReplaceOneGaussian):
                assert interval.lower == pytest.approx(truth, rel=1e-2, abs=1e-6), (person.text, epsilon)
            if person.least is person:
                assert interval.lower == pytest.approx(truth, rel=1e-2, abs=1e-6), (person.text, epsilon)
            elif truth > 1e-3:  # loose, not useless
                assert interval.upper <= min(1.0, 3.5 * truth), (person.text, epsilon)
        assert best_accuracy(mechanism=person, steps=steps).upper >= 0.5 + 0.5 * apart(p, q, 0.0) - 1e-6


def test_it_is_exact_for_gaussian_noise_and_near_for_many_steps() -> None:
    epsilon = np.linspace(0.0, 8.0, 513)
    curve = group_curve(epsilon, gaussian_log_delta(2.0, epsilon), 5)
    for at in (0.5, 2.0, 6.0, 12.0):
        exact = float(gaussian_log_delta(0.4, at))
        assert exact <= curve.delta_at(at) <= exact + 0.02
        assert curve.epsilon_at(exact) == pytest.approx(at, rel=5e-3)
    rate, steps = 256 / 60_000, 14_062
    assert tight_epsilon(PersonOf(FixedSize(1.1, 100, 5), 2), 3, 1e-5).reason == IN_TURN
    for rows, exact in ((2, 5.2708), (5, 16.129)):
        person = PersonOf(TruncatedPoisson(1.1, rate, 60_000, 60_000), rows)  # no batch is cut: exact is `PersonRows`
        group = float(tight_epsilon(person, steps, 1e-5).upper)
        assert exact <= group <= 1.03 * exact


def test_the_curve_is_below_the_rule_for_equal_rows() -> None:
    """(kε, δ (e^{kε} − 1)/(e^ε − 1)) is one of the chains."""
    epsilon = np.linspace(0.0, 8.0, 257)
    log_delta = gaussian_log_delta(3.0, epsilon)
    for rows in (2, 3, 10):
        curve = group_curve(epsilon, log_delta, rows)
        for i in (16, 64, 200):
            rule = log_delta[i] + math.log(math.expm1(rows * epsilon[i]) / math.expm1(epsilon[i]))
            assert curve.delta_at(rows * epsilon[i]) <= min(rule, 0.0) + 1e-6


def test_a_curve_of_pure_privacy() -> None:
    curve = group_curve(np.array([0.5]), np.array([-math.inf]), 4)
    assert curve.epsilon_at(math.log(1e-12)) == pytest.approx(2.0)
    assert curve.delta_at(2.0) < -600.0
    assert curve.epsilon_at(0.0) == 0.0


@pytest.mark.parametrize("kind", MECHANISMS)
@pytest.mark.one_of(3)
def test_more_rows_cost_no_less(kind: type[Mechanism]) -> None:
    given = {"noise_multiplier": 3.0, "scale": 3.0, "sample_rate": 0.05, "size": 1000, "batch": 50, "largest_batch": 90}
    given |= {"batches": 20, "epochs": 2, "decay": 0.5, "band": 4}
    step = kind(**{name: given[name] for name in kind.parameters()})
    every = [tight_epsilon(of_person(step, rows), [1, 4], 1e-5) for rows in (1, 3)]
    for fewer, more in itertools.pairwise(every):
        assert (more.upper >= fewer.upper * (1.0 - 1e-9)).all()
        assert (more.lower <= more.upper).all()
    assert all(each.upper[1] >= each.upper[0] for each in every)
    assert of_person(step, 2).adjacency.unit == "one person"


def test_together_with_other_steps() -> None:
    """A person's rows take part in every step: what costs more alone costs more together."""
    events = [(of_person(RandomAllocation(2.0, 10), 2), 2), (PersonRows(2.0, 0.1, 2), 5)]
    alone = dpviz.epsilon("tight", mechanism=events[0][0], steps=2, delta=1e-5)
    both = float(dpviz.accountant("tight").of_events(events, 1e-5).epsilon)
    assert both > alone
    with pytest.raises(ValueError, match="one adjacency"):
        dpviz.accountant("tight").of_events([events[0], (SampledGaussian(2.0, 0.1), 1)], 1e-5)


def test_it_is_what_it_is_where_nothing_is_gained() -> None:
    assert of_person(RandomAllocation(1.0, 5), 1) == RandomAllocation(1.0, 5)
    assert of_person(SampledGaussian(1.0, 0.1), 3) == PersonRows(1.0, 0.1, 3)
    assert of_person(CorrelatedNoise(4.0), 2).as_gaussian == pytest.approx(0.5 * CorrelatedNoise(4.0).as_gaussian)
    assert of_person(Shuffled(4.0, 7), 2).as_gaussian == 2.0
    assert of_person(Shuffled(4.0, 7), 2).least == Shuffled(4.0, 7).least


@pytest.mark.parametrize(
    ("step", "rows", "why"),
    [
        (FixedSize(1.0, 10, 2), 11, "rows=11 <= size=10"),
        (FixedSize(1.0, 10_000, 2), 1001, "rows=1001 <= 1000"),
        (Laplace(1.0, 0.5), 0, "rows=0"),
        (PersonRows(1.0, 0.5, 2), 2, "for one example"),
    ],
)
def test_bad_rows(step: Mechanism, rows: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        of_person(step, rows)


def test_rows_that_are_nearly_always_drawn_count_fully() -> None:
    """3 rows of 10 in batches of 9, all v or all −v: of any two data sets' outputs, the upper end holds."""
    step = FixedSize(2.0, 10, 9)
    z = np.linspace(-25.0, 25.0, 20_001)
    with_v = 0.3 * norm.pdf(z, 2.0, 2.0) + 0.7 * norm.pdf(z, 3.0, 2.0)
    for others in ([], [(of_person(FixedSize(1e3, 10, 9), 2), 1)]):  # a person with fewer rows elsewhere
        epsilon = float(tight_epsilon_of_events([(of_person(step, 3), 1), *others], 1e-3).upper)
        assert np.maximum(with_v - math.exp(epsilon) * with_v[::-1], 0.0).sum() * (z[1] - z[0]) <= 1e-3
