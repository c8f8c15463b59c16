import pytest

from dpviz.accounting.mechanism import SampledGaussian
from dpviz.training.accounting import LiveAccounts
from dpviz.training.settings import RunSettings
from dpviz.training.summary import closing

SETTINGS = RunSettings(bayesian=True, bayesian_distances="pairs", steps=100)


def summary(distances, settings=SETTINGS):
    accounts = LiveAccounts(settings, examples=10_000)
    for _ in range(3):
        accounts.step(SampledGaussian(2.0, 0.1), distances)
    return closing(settings, accounts, state="done", reason="plan", steps=3, seconds=0.1)


def test_a_bayesian_epsilon_that_stands_for_what_nobody_saw_says_so():
    found = summary([0.01] * 32)
    assert 0.5 < found["tail_share"] <= 1.0
    assert f"{found['tail_share']:.0%} of its mean" in found["holds"]
    assert "no number of distances like these would halve it" in found["holds"]  # δ_μ alone costs more than half
    once = SETTINGS.with_(steps=3, delta_mu=0.01)
    found = summary([0.01] * 32, once)
    assert "times as many distances would halve it" in found["holds"]


@pytest.mark.parametrize("distances", [[2.0] * 32, []], ids=["all large", "on none"])
def test_one_on_large_distances_or_on_the_worst_case_says_nothing(distances):
    found = summary(distances)
    assert found["tail_share"] < 0.1
    assert "stands for" not in found["holds"]


def test_without_bayesian_accounting_there_is_no_tail():
    found = summary(None, RunSettings())
    assert found["tail_share"] is None
    assert "bayesian" not in found["epsilon"]


def test_a_re_planned_run_may_claim_what_all_its_steps_would_cost():
    settings = SETTINGS.with_(past_plan="replan", most_steps=250)
    assert "what all 250 would cost" in summary(None, settings)["holds"]
    assert "budget ε = 3" in summary(None, settings.with_(filter_epsilon=3.0))["holds"]
    adaptive = summary(None, settings.with_(policy="adaptive_noise"))["holds"]  # what was seen decides about its steps
    assert "would cost" not in adaptive
