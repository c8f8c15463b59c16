"""Correlated noise: its sensitivity by brute force over all uses of one example, prefixes, and refusals."""

import itertools
import math

import numpy as np
import pytest

import dpviz
from dpviz.mechanisms import BandedNoise, CorrelatedEpoch, CorrelatedNoise, SampledGaussian

RUNS = [
    CorrelatedNoise(1.0, 0.9, 3, 3),
    CorrelatedNoise(1.0, 0.5, 1, 5),
    CorrelatedNoise(1.0, 0.0, 2, 4),
    BandedNoise(1.0, 3, 3, 3),
    BandedNoise(1.0, 2, 5, 2),
]


def strategy(run, steps):
    """C, (T, T)."""
    column = run.column(steps)
    return np.array([[column[i - j] if i >= j else 0.0 for j in range(steps)] for i in range(steps)])


def uses(steps, apart):
    """All sets of steps that lie `apart` or more."""
    for size in range(1, steps // apart + 2):
        for chosen in itertools.combinations(range(steps), size):
            if (np.diff(chosen) >= apart).all():
                yield list(chosen)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.text)
def test_no_set_of_steps_shows_more_than_the_first_batch(run):
    """Also where the changes point anywhere: as far as a thousand of them go."""
    steps = run.batches * run.epochs
    matrix, draw = strategy(run, steps), np.random.default_rng(0)
    lengths = [np.linalg.norm(matrix[:, chosen].sum(axis=1)) for chosen in uses(steps, run.batches)]
    assert run.sensitivity == pytest.approx(max(lengths), rel=1e-12)
    assert run.sensitivity >= max(lengths)
    first = np.arange(0, steps, run.batches)
    assert run.sensitivity == pytest.approx(np.linalg.norm(matrix[:, first].sum(axis=1)), rel=1e-12)
    changes = draw.standard_normal((1000, first.size, 2))
    changes /= np.linalg.norm(changes, axis=2, keepdims=True)
    assert (np.linalg.norm(matrix[:, first] @ changes, axis=(1, 2)) <= run.sensitivity).all()


@pytest.mark.parametrize("decay", [0.0, 0.3, 0.9, 0.999])
def test_epochs_add_up_to_the_run_and_no_prefix_costs_more(decay):
    parts = np.cumsum([CorrelatedEpoch(1.0, decay, 7, epoch).sensitivity ** 2 for epoch in range(1, 9)])
    for epochs in (1, 2, 8):
        run = CorrelatedNoise(1.0, decay, 7, epochs)
        assert math.sqrt(parts[epochs - 1]) == pytest.approx(run.sensitivity, rel=1e-12)
        column = strategy(run, 7 * epochs)[:, ::7].sum(axis=1)
        prefixes = np.cumsum(column**2)
        assert (prefixes <= np.repeat(parts[:epochs], 7)).all()


def test_late_epochs_are_one_mechanism_that_costs_no_less():
    late = CorrelatedEpoch(1.0, 0.9, 234, 50)
    assert late == CorrelatedEpoch(1.0, 0.9, 234, 51)
    assert late.sensitivity**2 * 50 >= CorrelatedNoise(1.0, 0.9, 234, 50).sensitivity ** 2


def test_printed_sensitivity():
    assert CorrelatedNoise(4.0, 0.9, 100, 10).sensitivity == pytest.approx(7.254935, abs=1e-6)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run.text)
def test_a_run_is_one_gaussian_mechanism(run):
    for steps in (1, 3):
        whole = dpviz.epsilon("tight", mechanism=run, steps=steps, delta=1e-5)
        plain = SampledGaussian(1.0 / run.sensitivity)
        assert whole == dpviz.epsilon("tight", mechanism=plain, steps=steps, delta=1e-5)
        assert dpviz.epsilon("renyi", mechanism=run, steps=steps, delta=1e-5) >= whole


def test_no_correlation_is_the_same_batches_in_every_epoch():
    once = dpviz.epsilon("tight", mechanism=dpviz.FixedPartition(1.1), steps=15, delta=1e-5)
    for run in (CorrelatedNoise(1.1, 0.0, 234, 15), BandedNoise(1.1, 1, 234, 15)):
        assert dpviz.epsilon("tight", mechanism=run, steps=1, delta=1e-5) == pytest.approx(once, rel=1e-10)


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        (CorrelatedNoise, (1.0, 1.0), r"decay=1 in \[0, 1\)"),
        (CorrelatedNoise, (1.0, -0.1), r"decay=-0.1 in \[0, 1\)"),
        (CorrelatedNoise, (1.0, math.nan), "decay .* NaN"),
        (CorrelatedNoise, (1.0, 0.5, 2.5), "batches=2.5 to be a whole number"),
        (CorrelatedNoise, (1.0, 0.5, 5, 0), "epochs=0 to be a whole number"),
        (CorrelatedNoise, (1.0, 0.5, 100_001), "batches=100001 <= 100000"),
        (BandedNoise, (1.0, 11, 10), "band=11 <= batches=10"),
        (BandedNoise, (1.0, 0, 10), "band=0"),
    ],
)
def test_refusals(kind, values, words):
    with pytest.raises(ValueError, match=words):
        kind(*values)


@pytest.mark.parametrize("method", ["basic", "closed_form"])
def test_no_other_accountant_takes_it_in_silence(method):
    with pytest.raises(ValueError, match="Expected a mechanism that"):
        dpviz.epsilon(method, mechanism=RUNS[0], steps=3, delta=1e-5)
