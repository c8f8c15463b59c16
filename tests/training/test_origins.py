"""What earlier runs spent on the same data is part of every ε; what they learned elsewhere is told."""

from dataclasses import replace
from typing import Any

import pytest

from dpviz.accounting.adaptive.fully_adaptive import MixtureOdometer
from dpviz.accounting.pld.bounds import tight_epsilon_of_events
from dpviz.accounting.renyi.accountant import Moments, Renyi
from dpviz.mechanisms import SampledGaussian, merge_events
from dpviz.training.accounts.claims import claim_at, planned_claim, was_planned
from dpviz.training.accounts.live import LiveAccounts, budget_filter, check_run, promised
from dpviz.training.accounts.origins import spent_before, start_words
from dpviz.training.plan import mechanism_at
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing
from dpviz.training.values import Origin

N = 10_000
LOUD = Origin(run="a", name="Run 1", data="mnist-10k", mechanisms=((1.2, 0.05, 80),), epsilon=2.5)
QUIET = Origin(run="b", name="Run 2", data="mnist", mechanisms=((4.0, 0.01, 500),), epsilon=0.4)
ELSEWHERE = Origin(run="c", name="Run 3", data="adult", mechanisms=((0.9, 0.1, 50),), epsilon=7.0123)
PLAIN = RunSettings(steps=100, noise_multiplier=2.0, batch_size=500)


def after(*origins: Origin, **changed: Any) -> RunSettings:
    return PLAIN.with_(**({"start_from": "x.pt", "origins": origins} | changed))


def tight(*runs: Any) -> float:
    return float(tight_epsilon_of_events(merge_events(runs), 1e-5).upper)


def test_they_come_back_from_json() -> None:
    settings = after(LOUD, ELSEWHERE, Origin(run="d", name="Run 4", data="own:tea", unbounded="no noise"))
    assert RunSettings.from_json(settings.to_json()) == settings
    assert spent_before(settings) == ((SampledGaussian(1.2, 0.05), 80),)


@pytest.mark.parametrize("origins", [(LOUD,), (QUIET,), (LOUD, QUIET, ELSEWHERE)])
def test_the_claim_is_that_of_all_runs_on_the_same_data_together(origins: tuple[Origin, ...]) -> None:
    settings = after(*origins)
    mine = (mechanism_at(settings, 1, N), 100)
    same = [event for origin in origins if origin is not ELSEWHERE for event in origin.events]
    claim = planned_claim(settings, N)
    assert claim.epsilon == tight(*same, mine)
    assert claim.epsilon > max(planned_claim(PLAIN, N).epsilon, tight(*same))
    assert claim.steps == 100


def test_the_same_mechanism_twice_is_one_long_run() -> None:
    first = Origin(run="a", name="Run 1", data="mnist-10k", mechanisms=((2.0, 0.05, 60),))
    claim, whole = planned_claim(after(first), N), planned_claim(PLAIN.with_(steps=160), N)
    assert (claim.epsilon, claim.success) == (whole.epsilon, whole.success)


TOLD: list[tuple[dict[str, Any], str]] = [
    ({}, "nobody is in both MNIST, 10k digits, the only data that this ε covers, and UCI Adult"),
    ({}, "with its own ε ≤ 7.02 and δ = 1e-05"),
    ({"mechanisms": (), "epsilon": None, "unbounded": "no noise"}, "without an ε, so those data must be public"),
    ({"replayable": True}, "can be replayed, so those data must be public"),
]


@pytest.mark.parametrize(("changed", "words"), TOLD)
def test_other_data_costs_these_nothing_and_is_told(changed: dict[str, Any], words: str) -> None:
    settings = after(replace(ELSEWHERE, **changed))
    claim = planned_claim(settings, N)
    assert claim.epsilon == planned_claim(PLAIN, N).epsilon
    assert words in claim.conditions[0]
    assert start_words(settings) == ", for these data only"


@pytest.mark.parametrize("secure", [True, False])
def test_every_reading_begins_with_what_was_spent(secure: bool) -> None:
    settings = after(LOUD, QUIET, secure_noise=secure)
    accounts = LiveAccounts(settings, examples=N)
    before, mine = spent_before(settings), mechanism_at(settings, 1, N)
    of_all = {"moments": Moments(), "renyi": Renyi(), "mixture": MixtureOdometer()}
    for steps in (0, 1, 2):
        runs = (*before, (mine, steps)) if steps else before
        for name, accountant in of_all.items():
            wanted = float(accountant.of_events(runs, 1e-5).epsilon)  # type: ignore[attr-defined]
            assert accounts.epsilons()[name] == pytest.approx(wanted, rel=1e-12)
        accounts.step(mine, None)
    assert accounts.events == ((mine, 3),)
    ended = closing(settings, accounts, examples=N, state="stopped", reason="stopped", steps=3, seconds=0.1)
    assert ended["epsilon"]["tight"] == tight(*before, (mine, 3))


def test_an_early_end_never_falls_below_what_was_spent() -> None:
    settings = after(LOUD)
    accounts = LiveAccounts(settings, examples=N)
    for step in range(3):
        odometer = accounts.epsilons()["mixture"]
        claim = claim_at(settings, N, charged=accounts.events, odometer=odometer, step=step)
        assert claim.epsilon >= tight(*LOUD.events)
        accounts.step(mechanism_at(settings, 1, N), None)


@pytest.mark.parametrize("policy", ["fixed", "adaptive_noise"])
def test_a_budget_holds_both(policy: str) -> None:
    settings = after(LOUD, policy=policy, filter_epsilon=6.0)
    budget = budget_filter(settings, N)
    assert budget.events == LOUD.events
    mine = mechanism_at(settings, 1, N)
    fits = int(budget.remaining_steps(mine))
    assert tight(*LOUD.events, (mine, fits)) <= 6.0
    assert fits < budget_filter(PLAIN.with_(policy=policy, filter_epsilon=6.0), N).remaining_steps(mine)
    assert planned_claim(settings, N).epsilon <= 6.0
    with pytest.raises(ValueError, match="filter_epsilon=1 to be more than what Run 1 may have spent"):
        check_run(after(LOUD, policy=policy, filter_epsilon=1.0), N)


def test_a_record_that_overspent_what_was_left_is_noticed() -> None:
    settings = after(LOUD, policy="adaptive_noise", filter_epsilon=6.0)
    mine = mechanism_at(settings, 1, N)
    fits = int(budget_filter(settings, N).remaining_steps(mine))
    assert was_planned(((mine, fits),), settings, N)
    assert not was_planned(((mine, fits + 1),), settings, N)


def test_what_an_adaptive_run_promises_holds_both() -> None:
    alone = promised(PLAIN.with_(policy="adaptive_noise"), N)
    both = promised(after(LOUD, policy="adaptive_noise"), N)
    assert alone is not None
    assert both is not None
    assert both > max(alone, tight(*LOUD.events))


def started(origin: dict[str, Any] | None = None, **changed: Any) -> None:
    """Check a run that starts from one on the same data."""
    values = {"run": "a", "name": "Run 1", "data": "mnist", "mechanisms": ((1.0, 0.1, 5),)} | (origin or {})
    after(Origin(**values), **changed).check()


def test_what_no_epsilon_covers_may_start_what_none_covers() -> None:
    after(Origin(run="a", name="Run 1", data="mnist", unbounded="no noise"), method="sgd").check()
    replayable = Origin(run="a", name="Run 1", data="mnist", mechanisms=((1.0, 0.1, 5),), replayable=True)
    seeded = after(replayable, secure_noise=False)
    seeded.check()
    assert planned_claim(seeded, N).demonstration
    assert planned_claim(seeded, N).shown.epsilon > planned_claim(PLAIN, N).epsilon
