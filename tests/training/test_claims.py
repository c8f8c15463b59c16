"""The one claim of a run, against what the accountants say of the same mechanisms."""

import math

import pytest

import dpviz
from dpviz.accounting.attack.best_accuracy import best_accuracy
from dpviz.accounting.claims import Claim
from dpviz.accounting.pld.bounds import tight_epsilon
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.claims import (
    assumptions,
    claim_at,
    everything_planned,
    planned_claim,
    planned_counts,
    was_planned,
)
from dpviz.training.accounts.live import LiveAccounts, budget_filter
from dpviz.training.covered import PUBLIC_PERSONS, PUBLIC_SIZE
from dpviz.training.plan import mechanism_at
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing
from dpviz.training.values import Origin

N = 10_000
PLAIN = RunSettings(steps=100, noise_multiplier=2.0, batch_size=500)
COUNTED = PLAIN.with_(target_accuracy=0.9, target_measure="private", count_every=1, count_noise=20.0)
FIRST = Origin(run="a", name="Run 1", data="mnist-10k", mechanisms=((0.6, 0.05, 100),), epsilon=20.0)
RESTARTED = PLAIN.with_(start_from="x.pt", origins=(FIRST,))


def test_a_fixed_plan_claims_what_the_tight_accountant_says_of_all_its_steps():
    claim = planned_claim(PLAIN, N)
    interval = tight_epsilon(SampledGaussian(2.0, 0.05), 100, 1e-5)
    assert (claim.accountant, claim.covers, claim.steps) == ("tight", "plan", 100)
    assert (claim.lower, claim.epsilon) == (float(interval.lower), float(interval.upper))
    assert claim.guess == best_accuracy(noise_multiplier=2.0, sample_rate=0.05, steps=100).upper
    assert claim.guess < claim.pair


def test_private_counts_are_in_it():
    assert planned_counts(COUNTED, N) == 5
    assert dict(everything_planned(COUNTED, N)) == {SampledGaussian(2.0, 0.05): 100, SampledGaussian(20.0, 1.0): 5}
    assert planned_claim(COUNTED, N).epsilon > planned_claim(PLAIN, N).epsilon
    assert planned_claim(COUNTED, N).counts == 5


@pytest.mark.parametrize("settings", [COUNTED, RESTARTED, PLAIN.with_(method="dp_sgld", learning_rate=0.1, steps=9)])
def test_several_mechanisms_are_not_judged_by_the_privacy_curve_of_one(settings):
    """The run before RESTARTED alone lets an attacker be right in 99 % of all cases, its own steps in 70 %."""
    claim = planned_claim(settings, N)
    assert claim.accountant == "tight"
    assert claim.success is None
    assert claim.guess == claim.pair


@pytest.mark.parametrize("settings", [PLAIN, COUNTED, RESTARTED])
def test_a_run_that_may_go_on_claims_its_last_possible_step(settings):
    longer, whole = settings.with_(past_plan="replan", most_steps=250), settings.with_(steps=250)
    assert everything_planned(longer, N) == everything_planned(whole, N)
    assert planned_claim(longer, N) == planned_claim(whole, N)


def test_a_budget_below_the_plan_is_claimed():
    """Equal steps end at a step that is known ahead: it is those that are claimed."""
    small = planned_claim(PLAIN.with_(filter_epsilon=1.0), N)
    steps = budget_filter(PLAIN.with_(filter_epsilon=1.0), N).remaining_steps(SampledGaussian(2.0, 0.05))
    assert small.steps == steps < 100
    assert small.epsilon == planned_claim(PLAIN.with_(steps=steps), N).epsilon < 1.0
    assert planned_claim(PLAIN.with_(filter_epsilon=50.0), N).epsilon == planned_claim(PLAIN, N).epsilon
    assert planned_claim(COUNTED.with_(filter_epsilon=0.7), N).epsilon == 0.7


@pytest.mark.parametrize("method", ["dp_sgld", "dp_sghmc"])
def test_langevin_steps_are_those_that_were_planned(method):
    settings = RunSettings(method=method, steps=30, learning_rate=0.1, batch_size=100, max_grad_norm=1.0)
    charged = [(mechanism_at(settings, step, N), 1) for step in range(1, 31)]
    assert was_planned(charged, settings, N)
    assert not was_planned([*charged, charged[0]], settings, N)
    assert planned_claim(settings, N).holds


@pytest.mark.parametrize("changed", [{}, {"filter_epsilon": 3.0}])
def test_an_adaptive_run_claims_the_budget_that_its_filter_holds(changed):
    settings = PLAIN.with_(policy="adaptive_noise", **changed)
    claim, budget = planned_claim(settings, N), budget_filter(settings, N)
    assert (claim.accountant, claim.covers, claim.order) == ("filter", "adaptive", *budget.accountant.orders)
    assert claim.epsilon == budget.target_epsilon >= changed.get("filter_epsilon", planned_claim(PLAIN, N).epsilon)


def spent(settings, steps, mechanism=None):
    accounts = LiveAccounts(settings, examples=N)
    for _ in range(steps):
        accounts.step(mechanism or mechanism_at(settings, 1, N), None)
    return claim_at(settings, N, charged=accounts.events, odometer=accounts.epsilons().get("mixture", 0.0), step=steps)


def test_along_the_plan_it_rises_to_the_plan_and_no_further():
    loud = PLAIN.with_(noise_multiplier=0.8)  # the odometer's least reading lies well below this plan
    claims = [spent(loud, steps) for steps in (0, 1, 5, 20, 50, 100)]
    epsilons = [claim.epsilon for claim in claims]
    assert epsilons == sorted(epsilons)
    assert epsilons[0] == 0.0
    assert epsilons[1] < epsilons[-1] == planned_claim(loud, N).epsilon
    assert [claim.covers for claim in claims[1:2] + claims[-1:]] == ["any_end", "plan"]


def test_a_run_that_ends_early_claims_what_the_mixture_odometer_reads():
    loud, accounts = PLAIN.with_(noise_multiplier=0.8), LiveAccounts(PLAIN.with_(noise_multiplier=0.8), examples=N)
    for _ in range(3):
        accounts.step(mechanism_at(loud, 1, N), None)
    summary = closing(loud, accounts, examples=N, state="stopped", reason="stop", steps=3, seconds=1.0)
    read = dpviz.epsilon("mixture", noise_multiplier=0.8, sample_rate=0.05, steps=3, delta=loud.delta)
    assert summary["epsilon"]["mixture"] == pytest.approx(read, rel=1e-12)
    claim = Claim.from_json(summary["claim"])
    assert (claim.accountant, claim.covers, claim.epsilon) == ("mixture", "any_end", summary["epsilon"]["mixture"])


def test_what_was_not_planned_is_claimed_by_the_odometer_alone():
    """Less noise, or one step more than the plan: the plan's ε says nothing of that."""
    for more in (spent(PLAIN, 101), spent(PLAIN, 100, SampledGaussian(1.9, 0.05))):
        assert more.covers == "any_end"
        assert more.epsilon > planned_claim(PLAIN, N).epsilon


@pytest.mark.parametrize("device", ["auto", "cpu", "cuda"])
def test_a_gpu_is_a_condition_of_the_claim(device):
    settings = PLAIN.with_(device=device, start_from="x.pt")
    odd = [planned_claim(settings, N), spent(settings, 100, SampledGaussian(1.9, 0.05)), spent(settings, 3)]
    for claim in odd:
        assert all(condition.startswith("on condition that ") for condition in claim.conditions)
        said = [condition for condition in claim.conditions if "clipping was not tested on a GPU" in condition]
        assert len(said) == (device == "cuda")


def test_an_end_that_unreleased_losses_decided_is_not_claimed():
    charged = [(SampledGaussian(2.0, 0.05), 3)]
    found = claim_at(PLAIN, N, charged=charged, odometer=1.0, step=3, reason="not finite")
    assert not found.holds
    assert "losses" in found.reason


def test_the_assumptions_name_whose_number_is_public():
    examples, persons = (assumptions(PLAIN.with_(unit=unit)) for unit in ("example", "person"))
    assert PUBLIC_SIZE in examples
    assert PUBLIC_PERSONS in persons
    assert (PUBLIC_PERSONS in examples, PUBLIC_SIZE in persons) == (False, False)
    assert "one person with all their rows" in persons[0]


def test_conditions_are_told():
    assert planned_claim(PLAIN, N).conditions == ()
    assert "optimiser state" in planned_claim(PLAIN.with_(start_from="x.pt"), N).conditions[0]
    odd = spent(PLAIN.with_(start_from="x.pt"), 100, SampledGaussian(1.9, 0.05))
    assert odd.covers == "any_end"
    assert "optimiser state" in odd.conditions[0]


@pytest.mark.parametrize("changed", [{}, {"policy": "adaptive_noise", "filter_epsilon": 3.0}])
def test_noise_that_can_be_replayed_claims_nothing_and_says_what_secret_noise_would(changed):
    secret = planned_claim(PLAIN.with_(**changed), N)
    seeded = planned_claim(PLAIN.with_(secure_noise=False, **changed), N)
    assert secret.holds
    assert not secret.demonstration
    assert seeded.demonstration
    assert not seeded.holds
    assert seeded.guess == 1.0
    assert seeded.shown == secret
    assert "replayed" in seeded.reason
    for mechanism in (None, SampledGaussian(1.9, 0.05)):  # as planned, and not
        ended = spent(PLAIN.with_(secure_noise=False, **changed), 20, mechanism)
        assert not ended.holds
        assert ended.shown == spent(PLAIN.with_(**changed), 20, mechanism)


def test_nothing_proven_is_nothing_claimed():
    claim = planned_claim(PLAIN.with_(noise_multiplier=1e-200), N)
    assert math.isinf(claim.epsilon)
    assert claim.reason
