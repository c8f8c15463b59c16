"""What correlated noise buys: the errors by brute force, the best λ, and what is beside it."""

import numpy as np
import pytest

import dpviz
from dpviz.mechanisms import BandedNoise, CorrelatedNoise, SampledGaussian
from dpviz.questions.noise.correlated import DECAYS, SETTLED, error, inverse

# λ → error × sensitivity ÷ that of independent noise at T 2340, t 234, to the digits shown.
PRINTED = {0.5: 0.578, 0.8: 0.337, 0.9: 0.239, 0.95: 0.185, 0.99: 0.2385}


def by_hand(run):
    """With matrices (T, T), and σ that gives every kind of noise the sensitivity 1."""
    steps = run.batches * run.epochs
    column = run.column(steps)
    strategy = np.array([[column[i - j] if i >= j else 0.0 for j in range(steps)] for i in range(steps)])
    sums = np.tril(np.ones((steps, steps))) @ np.linalg.inv(strategy)
    return np.linalg.norm(sums) / np.sqrt(steps) * np.linalg.norm(strategy[:, :: run.batches].sum(axis=1))


@pytest.mark.parametrize("run", [CorrelatedNoise(1.0, 0.7, 9, 4), BandedNoise(1.0, 9, 9, 4), BandedNoise(1.0, 4, 9, 4)])
def test_the_error_is_that_of_matrices(run):
    assert error(run, 36) == pytest.approx(by_hand(run), rel=1e-9)
    given = {"batches": 9, "epochs": 4, "decay": 0.7, "band": getattr(run, "band", 1)}
    facts = dpviz.ask("correlated", **given).answer.facts
    shown = facts.mine.error if isinstance(run, CorrelatedNoise) else facts.banded.error
    assert shown == pytest.approx(by_hand(run) / by_hand(CorrelatedNoise(1.0, 0.0, 9, 4)), rel=1e-9)


@pytest.mark.parametrize("band", [1, 2, 7, 60])
def test_running_sums_settle(band):
    run = BandedNoise(1.0, band, 60, 100)
    sums = np.cumsum(inverse(run.column(6000)))
    assert sums[SETTLED * band - 1 :] == pytest.approx(sums[-1], rel=1e-12)
    assert error(run, 6000) == pytest.approx(run.sensitivity * np.sqrt(np.mean(np.cumsum(sums**2))), rel=1e-11)


@pytest.mark.parametrize(("decay", "ratio"), PRINTED.items())
def test_printed_errors(decay, ratio):
    facts = dpviz.ask("correlated", batches=234, epochs=10, decay=decay).answer.facts
    assert facts.mine.error == pytest.approx(ratio, abs=5e-4)
    assert facts.best.error <= facts.mine.error * (1 + 1e-12)


def test_all_have_the_same_epsilon():
    given = {"target_epsilon": 3.0, "delta": 1e-5}
    asked = dpviz.ask("correlated", batches=50, epochs=4, decay=0.9, **given)
    facts = asked.answer.facts
    run = CorrelatedNoise(facts.noise, 0.9, 50, 4)
    assert 2.99 < dpviz.epsilon("tight", mechanism=run, steps=1, delta=1e-5) <= 3.0
    alone = facts.noise / CorrelatedNoise(1.0, 0.9, 50, 4).sensitivity * 2.0  # 4 epochs
    sampled = SampledGaussian(alone * facts.sampled, 1 / 50)
    assert 2.98 < dpviz.epsilon("tight", mechanism=sampled, steps=200, delta=1e-5) <= 3.01
    error_best = float(asked.data().set_index("decay").iloc[:, 0].min())
    assert error_best == facts.best.error
    assert f"{facts.best.decay:.3g}" in asked.headline
    assert facts.best.decay in DECAYS


def test_few_words_for_what_is_too_long_or_too_wide():
    with pytest.raises(ValueError, match=r"1000 batches × 1000 epochs has 1\D?000\D?000 steps: choose fewer"):
        dpviz.ask("correlated", batches=1000, epochs=1000)
    asked = dpviz.ask("correlated", batches=5, band=100)
    assert asked.answer.facts.banded.width == 5
    assert "wider than an epoch" in " ".join(note.text for note in asked.question.notes(asked.answer))
