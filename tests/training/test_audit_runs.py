"""Runs for audits: what honest runs release has the claimed law, each fault leaves its mark, and one's own training."""

import re

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

from dpviz.accounting.audit.counts import joint_bound
from dpviz.accounting.audit.threshold import attacked
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.experiments.catalogue import EXPERIMENTS
from dpviz.mechanisms import SampledGaussian
from dpviz.questions.attack.audit_runs import own_row, record_of
from dpviz.training import PrivateTraining
from dpviz.training.audit import FAULTS, RUNS, _released, canary_runs, more_runs
from dpviz.training.audit_own import own_audit

pytestmark = pytest.mark.filterwarnings("ignore:δ = .* is not below 1/N", "ignore:In the first 10 steps no example")


def plan(fault):
    return dict(EXPERIMENTS["audit" if fault == "honest" else "audit_faults"].arms[fault])


def test_scores_of_honest_runs_have_the_claimed_law():
    """One step with everybody: loss ± 1/(2σ²), normal with deviation 1/σ, without the canary and with it."""
    sigma, made = plan("honest")["noise_multiplier"], more_runs(plan("honest"), range(100, 105))
    for side, mean in (("without", -0.5 / sigma**2), ("with", 0.5 / sigma**2)):
        scores = np.array(made[side])
        assert len(scores) == 5 * RUNS
        assert stats.kstest(scores, stats.norm(mean, 1.0 / sigma).cdf).pvalue > 1e-3


@pytest.mark.parametrize(("fault", "mean", "spread"), [("noise", 0.5, 0.5), ("clip", 5.1, 1.0), ("twice", 1.5, 1.0)])
def test_a_fault_moves_what_is_released(fault, mean, spread):
    """Half of the spread; a signal of √8 ÷ C = 5.66 or of 2 in place of 1. In units of 1/σ² and 1/σ."""
    sigma, made = plan(fault)["noise_multiplier"], more_runs(plan(fault), [100, 101])
    assert np.mean(made["with"]) == pytest.approx(mean / sigma**2, abs=0.35)
    assert np.std(made["without"]) == pytest.approx(spread / sigma, rel=0.2)


@pytest.mark.parametrize("fault", [key for key in FAULTS if key != "divisor"])  # whose runs take seconds
def test_a_record_is_what_its_seeds_give(fault):
    trial = record_of(fault).of(fault)[0]
    again = canary_runs(plan(fault), trial.seed)
    for side in ("without", "with"):
        assert again[side] == pytest.approx(trial.found[side], abs=2e-3)


def test_the_noise_is_as_long_as_the_divisor_makes_it():
    """σ ÷ the number drawn of 8 by a coin each: the length of the noise tells which of 0 … 8 it was."""
    settings = plan("divisor")
    lengths = [_released(settings, np.array([True]), seed).noise[0] for seed in range(60)]
    drawn = settings["noise_multiplier"] * settings["batch_size"] / np.array(lengths)
    assert np.median(np.abs(drawn - drawn.round())) < 0.2
    assert np.var(drawn) == pytest.approx(2.0, rel=0.5)
    assert np.mean(drawn) == pytest.approx(4.0, abs=0.6)


def test_a_divisor_that_follows_the_batch_is_seen_by_the_noise(monkeypatch):
    monkeypatch.setattr("dpviz.training.audit.RUNS", 10)
    made = canary_runs(plan("divisor"), 77)
    assert np.mean(made["with"]) > np.mean(made["without"]) + 0.5


def training(member, *, row=0, steps=1):
    x = torch.zeros(6, 3)
    x[:, 1] = torch.linspace(-1.0, 1.0, 6)
    x[row] = torch.tensor([6.0, 0.0, 0.0]) * member
    network = nn.Linear(3, 2, bias=False)
    nn.init.zeros_(network.weight)
    return PrivateTraining(
        network, (x, torch.zeros(6, dtype=torch.int64)), torch.optim.SGD(network.parameters(), lr=0.01), steps=steps,
        batch_size=6, noise_multiplier=0.5, delta=0.01, max_grad_norm=0.5, disjoint_data=True,
    )  # fmt: skip


def test_ones_own_training_is_audited_along_the_row():
    audit = own_audit(training, runs=240)
    apart = audit.with_it.mean() - audit.without.mean()
    assert apart / audit.without.std() == pytest.approx(2.0, abs=0.6)  # 1/σ, and four times its deviation
    both = tight_epsilon(SampledGaussian(0.5), [1], 0.01)
    assert audit.claim == pytest.approx(float(both.upper[0]))
    assert audit.claim > 0.5 * (both.lower[0] + both.upper[0])
    _, counts = attacked(audit.without, audit.with_it, 0.01)
    assert 0.3 < joint_bound(counts, 0.01) < audit.claim


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda member: training(False), "differ in one row, with the row and without it; found 0"),
        (lambda member: training(member, row=1 if member else 0), "found 2"),
        (lambda member: training(member, steps=1 + member), "with one plan"),
    ],
)
def test_trainings_that_differ_otherwise_are_refused(make, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        own_audit(make, runs=20)


def biased(member, **changed):
    """One row of label 0, or of label 1: its gradient is that of the biases, and the other way round."""
    y = torch.zeros(8, dtype=torch.int64)
    y[0] = int(member)
    network = nn.Linear(1, 2)
    for part in network.parameters():
        nn.init.zeros_(part)
    return PrivateTraining(
        network, (torch.zeros(8, 1), y), torch.optim.SGD(network.parameters(), lr=0.01), steps=1, delta=0.01,
        noise_multiplier=1.117, max_grad_norm=0.5, disjoint_data=True, **{"batch_size": 8} | changed,
    )  # fmt: skip


@pytest.mark.parametrize(("changed", "apart"), [({}, 1.0), ({"sampler": "fixed", "batch_size": 7}, 2.0)])
def test_a_row_that_is_out_is_in_no_batch_unless_the_claim_is_for_one_in_the_place_of_another(changed, apart):
    """With biases every row has a gradient: left in, the other row would move the sum by 2C against a claim for C."""
    audit = own_audit(lambda member: biased(member, **changed), runs=300)
    found = (audit.with_it.mean() - audit.without.mean()) / audit.without.std() * 1.117
    assert found == pytest.approx(apart, abs=0.48)  # four times its deviation


def test_an_audit_of_persons_is_refused():
    with pytest.raises(ValueError, match="an audit of persons is not available"):
        own_audit(lambda member: biased(member, persons=[0, 0, 1, 2, 3, 4, 5, 6], batch_size=7), runs=20)


def test_a_name_that_is_no_function_is_refused():
    for target in ("nowhere:training", "nowhere.py:training", f"{__file__}:nothing", f"{__file__}:"):
        with pytest.raises(ValueError, match="Give MODULE:FUNCTION"):
            own_row(target, 20, None)
    with pytest.raises(ValueError, match="Expected a PrivateTraining from the function, found bool"):
        own_row("builtins:bool", 20, None)
