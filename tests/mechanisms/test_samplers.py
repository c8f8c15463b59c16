"""Samplers as loaders run them: reference numbers, brute force over all batches, simulations, and refusals."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import binom, norm

import dpviz
from dpviz.accounting.pld.bounds import tight_delta, tight_epsilon, tight_epsilon_of_events, tight_profile
from dpviz.mechanisms import (
    FixedPartition,
    FixedSize,
    Mechanism,
    PersonRows,
    SampledGaussian,
    SecretPartition,
    Shuffled,
    TruncatedPoisson,
    WithReplacement,
)
from dpviz.mechanisms.random_allocation import RandomAllocation

Z, WIDTH = np.linspace(-14.0, 14.0, 56_001, retstep=True)


def ends(mechanism: Mechanism, steps: int, delta: float) -> tuple[float, float]:
    return tuple(  # type: ignore[return-value]
        dpviz.epsilon("tight", mechanism=mechanism, steps=steps, delta=delta, bound=bound)  # type: ignore[arg-type]
        for bound in ("lower", "upper")
    )


def mixture(sums: list[float], sigma: float) -> np.ndarray:
    """The density of the noisy sum when all batches are equally likely, times the width of a cell."""
    values, counts = np.unique(np.round(sums, 12), return_counts=True)
    return sum(n / len(sums) * norm.pdf(Z, v, sigma) for v, n in zip(values, counts, strict=True)) * WIDTH


def hockey_stick(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    return float(max(np.maximum(p - math.exp(epsilon) * q, 0).sum(), np.maximum(q - math.exp(epsilon) * p, 0).sum()))


# ε at δ of so many steps: between these, both ends of the interval or one where the other is far.
REFERENCE: list[tuple[Mechanism, int, float, float]] = [
    (FixedPartition(1.1), 15, 20.562, 20.563),
    (SecretPartition(1.1, 234, 15), 1, 15.10, 15.12),
    (WithReplacement(1.1, 60_000, 256), 14_062, 15.9, 16.1),
    (TruncatedPoisson(1.1, 256 / 60_000, 60_000, 600), 14_062, 2.379, 2.385),
]


@pytest.mark.parametrize(("mechanism", "steps", "low", "high"), REFERENCE, ids=lambda x: str(x)[:20])
def test_reference(mechanism: Mechanism, steps: int, low: float, high: float) -> None:
    lower, upper = ends(mechanism, steps, 1e-5)
    assert low <= lower <= upper <= high


@pytest.mark.parametrize(("epochs", "least", "most"), [(15, 6.0, 20.563), (60, 10.85, 54.05)])
def test_shuffled_is_an_interval(epochs: int, least: float, most: float) -> None:
    lower, upper = ends(Shuffled(1.1, 234), epochs, 1e-5)
    assert least <= lower <= upper <= most
    assert upper == dpviz.epsilon("tight", mechanism=SampledGaussian(1.1), steps=epochs, delta=1e-5)


@pytest.mark.parametrize("batches", [2, 234, 100_000])
def test_shuffled_without_noise_to_speak_of_stands(batches: int) -> None:
    """Below the least noise that cells can hold, the lower end is that noise's."""
    for sigma in (1e-3, 0.01):
        lower, upper = ends(Shuffled(sigma, batches), 1, 1e-5)
        assert 50.0 < lower <= upper
    assert ends(Shuffled(0.04, batches), 1, 1e-5)[0] == lower


@pytest.mark.parametrize("sigma", [0.7, 1.5])
def test_what_shuffling_shows_is_what_a_simulation_shows(sigma: float) -> None:
    """The attack's own sums, drawn: no δ from below exceeds what the best rule on all of them makes."""
    pair = Shuffled(sigma, 5).least.pair()
    assert pair is not None
    x = np.random.default_rng(3).normal(scale=sigma, size=(200_000, 5))
    x[:, 0] += 1.0  # Q
    log_p, log_q = (np.logaddexp.reduce((c * x - 0.5 * c * c) / sigma**2, axis=1) for c in (2.0, 1.0))
    ratio = np.exp(log_p - log_q)
    for epsilon in (0.1, 0.5):
        excess = np.maximum(ratio - math.exp(epsilon), 0.0)
        error = 5.0 * float(excess.std()) / math.sqrt(excess.size)
        shown = math.exp(pair.log_delta(epsilon))
        assert 0.6 * excess.mean() <= shown <= excess.mean() + error


@pytest.mark.parametrize("others", list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
def test_no_data_set_of_four_shows_more_than_a_batch_of_two(others: tuple[float, ...]) -> None:
    sigma, step = 1.3, FixedSize(1.3, 4, 2)

    def outputs(example: float) -> np.ndarray:
        return mixture([sum(batch) for batch in itertools.combinations((*others, example), 2)], sigma)

    both = [(outputs(a), outputs(b)) for a, b in ((1.0, -1.0), (1.0, 0.0), (0.0, -1.0))]
    for epsilon in (0.0, 0.4, 1.2):
        most = max(hockey_stick(p, q, epsilon) for p, q in both)
        bound = tight_delta(step, 1, epsilon)
        assert most <= float(bound.upper) + 1e-8
        if set(others) == {-1.0}:
            assert most == pytest.approx(float(bound.lower), abs=1e-8)


def test_two_steps_of_a_fixed_size_by_brute_force() -> None:
    """The worse of adding and removing at each step, as an attacker may choose."""
    q, s = 0.5, 1.3
    z = np.linspace(-9.0, 11.0, 1201)
    w = z[1] - z[0]
    p0, q0 = ((1 - q) * norm.pdf(z, 0, s) + q * norm.pdf(z, 2, s)) * w, norm.pdf(z, 0, s) * w
    step = FixedSize(1.3, 4, 2)
    for epsilon in (0.5, 2.0):
        ways = [((p0, q0), (p0, q0)), ((p0, q0), (q0, p0))]
        shown = [np.maximum(np.outer(a, c) - math.exp(epsilon) * np.outer(b, d), 0).sum() for (a, b), (c, d) in ways]
        bound = tight_delta(step, 2, epsilon)
        assert max(shown) <= float(bound.upper) * 1.001
        assert float(bound.lower) <= shown[0] * 1.002


def test_adding_one_to_a_batch_of_fixed_size_is_the_lower_end() -> None:
    lower = ends(FixedSize(1.1, 1000, 20), 50, 1e-5)[0]
    sampled = dpviz.epsilon("tight", noise_multiplier=0.55, sample_rate=0.02, steps=50, delta=1e-5, bound="lower")
    assert lower == sampled


@pytest.mark.parametrize("others", [(-1.0, -1.0), (0.0, 0.0), (1.0, -1.0)])
def test_drawn_with_replacement_by_brute_force(others: tuple[float, ...]) -> None:
    sigma = 1.3

    def outputs(examples: tuple[float, ...]) -> np.ndarray:
        return mixture([sum(batch) for batch in itertools.product(examples, repeat=3)], sigma)

    p, q = outputs((*others, 1.0)), outputs(others)
    for epsilon in (0.0, 0.7, 2.0):
        bound = tight_delta(WithReplacement(sigma, 3, 3), 1, epsilon)
        assert hockey_stick(p, q, epsilon) <= float(bound.upper) + 1e-8
        if others == (-1.0, -1.0):
            assert hockey_stick(p, q, epsilon) == pytest.approx(float(bound.lower), abs=1e-8)


@pytest.mark.parametrize("others", list(itertools.product((-1.0, 1.0), repeat=3)))
@pytest.mark.parametrize("first_come", [True, False])
def test_a_cut_poisson_sample_by_brute_force(others: tuple[float, ...], first_come: bool) -> None:
    sigma, rate, most = 1.3, 0.4, 2

    def outputs(examples: tuple[float, ...]) -> np.ndarray:
        total: Any = 0.0
        for joins in itertools.product((0, 1), repeat=len(examples)):
            sample = [g for g, j in zip(examples, joins, strict=True) if j]
            chance = rate ** sum(joins) * (1 - rate) ** (len(joins) - sum(joins))
            kept = (
                [tuple(sample[:most])] if first_come else list(itertools.combinations(sample, min(most, len(sample))))
            )
            total = total + chance * mixture([sum(batch) for batch in kept], sigma)
        return np.asarray(total)

    step = TruncatedPoisson(sigma, rate, 4, most)
    assert step.cut == pytest.approx(binom.sf(most - 1, 3, rate))
    p, q = outputs((1.0, *others)), outputs(others)
    for epsilon in (0.0, 0.4, 1.0):
        assert hockey_stick(p, q, epsilon) <= float(tight_delta(step, 1, epsilon).upper) + 1e-8


def test_a_smaller_largest_batch_costs_more_and_none_costs_a_poisson_sample() -> None:
    steps = [TruncatedPoisson(1.1, 0.01, 10_000, most) for most in (10_000, 200, 120, 100)]
    uppers = [ends(step, 500, 1e-5)[1] for step in steps]
    assert uppers == sorted(uppers)
    plain = dpviz.epsilon("tight", noise_multiplier=1.1, sample_rate=0.01, steps=500, delta=1e-5)
    assert uppers[0] == plain
    assert uppers[1] == pytest.approx(plain, rel=1e-3)
    assert dpviz.epsilon("renyi", mechanism=steps[1], steps=500, delta=1e-5) >= ends(steps[1], 500, 1e-5)[0]


@pytest.mark.parametrize(
    "step",
    [FixedSize(1.3, 4, 2), FixedSize(2.0, 1000, 20), TruncatedPoisson(1.1, 0.1, 100, 8)],
    ids=lambda one: one.text,
)
@pytest.mark.parametrize("order", [1.5, 4.0, 16.0])
def test_no_divergence_lies_below_that_of_the_pair(step: Mechanism, order: float) -> None:
    """E_Q[(P/Q)^α] of the pair's cells, whose means err below."""
    pair, curve = step.pair(), step.renyi()
    assert pair is not None
    assert curve is not None
    mass, gain, *_ = pair.cells(pair.output(np.linspace(*pair.reach(600.0), 200_001)))
    some = (mass > 0.0) & (gain > -mass)
    below = float(logsumexp(np.log(mass[some]) + order * np.log1p(gain[some] / mass[some]))) / (order - 1.0)
    assert below <= float(curve(np.array(order))) * (1 + 1e-9) <= 2.0 * below * (1 + 1e-3)


def test_the_chance_of_a_cut_is_a_number_for_any_size() -> None:
    """Beyond 2³¹ examples too, and to more digits than what it is rounded up by: 40 digits of the sum, by mpmath."""
    assert TruncatedPoisson(4.0, 0.01, 4_056_987_377, 800).cut == 1.0
    assert TruncatedPoisson(1.1, 256 / 60_000, 60_000, 300).cut == pytest.approx(0.0038715239183432084, rel=1.01e-9)


ALL: list[Mechanism] = [
    FixedSize(1.1, 1000, 20),
    WithReplacement(1.1, 1000, 20),
    Shuffled(1.1, 50),
    Shuffled(0.7, 50),
    FixedPartition(1.1),
    SecretPartition(1.1, 50, 3),
    TruncatedPoisson(1.1, 0.02, 1000, 30),
]


@pytest.mark.parametrize("step", ALL, ids=lambda step: step.text)
@pytest.mark.one_of(2)
def test_ends_keep_their_sides_and_their_order(step: Any) -> None:
    lows, highs = np.array([ends(step, steps, 1e-5) for steps in (1, 2, 9)]).T
    assert (lows > 0.0).all()
    assert (lows <= highs).all()
    assert (np.diff(lows) > 0.0).all()
    assert (np.diff(highs) > 0.0).all()
    more = type(step)(**{name: getattr(step, name) for name in step.parameters()} | {"noise_multiplier": 2.5})
    assert ends(more, 2, 1e-5)[1] < highs[1]
    profile = tight_profile(step, 2, points=12)
    assert (profile.lower <= profile.upper).all()
    for epsilon, low in list(zip(profile.epsilon.tolist(), profile.lower.tolist(), strict=True))[1:6:4]:
        assert low <= float(tight_delta(step.least, 2, epsilon).upper) * 1.002
    events = tight_epsilon_of_events([(step, 2)], 1e-5)
    assert (float(events.lower), float(events.upper)) == pytest.approx((lows[1], highs[1]), rel=0.01)
    accuracy = dpviz.best_accuracy(mechanism=step, steps=2)
    assert 0.5 < accuracy.lower <= accuracy.upper < 1.0
    assert accuracy.lower <= dpviz.best_accuracy(mechanism=step.least, steps=2).upper


@pytest.mark.parametrize(
    ("kind", "values", "name"),
    [
        (FixedSize, (1.1, 10, 11), "batch"),
        (FixedSize, (1.1, 10, 0), "batch"),
        (FixedSize, (1.1, 10.5, 2), "size"),
        (WithReplacement, (1.1, 10_000, 1001), "batch"),
        (Shuffled, (1.1, 0), "batches"),
        (Shuffled, (1.1, 100_001), "batches"),
        (SecretPartition, (1.1, 10, 0), "epochs"),
        (TruncatedPoisson, (1.1, 0.1, 10, 0), "largest_batch"),
        (FixedPartition, (0.0,), "noise_multiplier"),
    ],
)
def test_refusals(kind: Any, values: tuple[float, ...], name: str) -> None:
    with pytest.raises(ValueError, match=name):
        kind(*values)


def asked_of(step: Mechanism, steps: int) -> list[Callable[[], object]]:
    """Every question of the library that takes one mechanism and how often it ran."""
    known: Any = {"mechanism": step, "steps": steps}
    return [
        lambda: dpviz.epsilon("tight", **known, delta=1e-5),
        lambda: dpviz.delta("tight", **known, epsilon=1.0),
        lambda: dpviz.solve("noise_multiplier", method="tight", **known, delta=1e-5, target_epsilon=3.0),
        lambda: dpviz.best_accuracy(**known),
        lambda: dpviz.best_advantage(**known),
        lambda: dpviz.best_tpr(**known, fpr=0.01),
        lambda: dpviz.gaussian_mu(**known),
        lambda: dpviz.tuned_epsilon(**known, delta=1e-5, runs=4),
        lambda: tight_epsilon(step, [1, steps], 1e-5),
        lambda: tight_delta(step, steps, 1.0),
        lambda: tight_profile(step, steps),
    ]


@pytest.mark.parametrize("which", range(11))
def test_epochs_of_a_partition_cut_once_are_not_counted_as_fresh_cuts(which: int) -> None:
    told = r"steps=15 to be 1 .* SecretPartition\(1.1, 234, epochs=15\).* RandomAllocation\(1.1, 234\)"
    with pytest.raises(ValueError, match=told):
        asked_of(SecretPartition(1.1, 234), 15)[which]()


def test_several_whole_runs_of_a_partition_cut_once_are_counted() -> None:
    assert ends(SecretPartition(1.1, 50, 3), 2, 1e-5) > ends(SecretPartition(1.1, 50, 3), 1, 1e-5)
    assert ends(SecretPartition(1.1, 50), 1, 1e-5) == ends(RandomAllocation(1.1, 50), 1, 1e-5)


@pytest.mark.parametrize("step", [RandomAllocation(1.1, 10), SecretPartition(1.1, 10, 2)], ids=["allocation", "secret"])
@pytest.mark.parametrize("method", ["renyi", "moments", "closed_form"])
def test_no_other_accountant_takes_them_in_silence(step: Mechanism, method: Any) -> None:
    with pytest.raises(ValueError, match="Expected a mechanism that"):
        dpviz.epsilon(method, mechanism=step, steps=3, delta=1e-5)


def test_full_batches_are_the_gaussian_mechanism() -> None:
    assert ends(FixedSize(2.0, 10, 10), 3, 1e-5) == ends(SampledGaussian(1.0), 3, 1e-5)
    rows = ends(PersonRows(1.0, 0.1, 4), 3, 1e-5)
    assert ends(WithReplacement(2.0, 10, 4), 3, 1e-5) == pytest.approx(rows, rel=1e-9)
