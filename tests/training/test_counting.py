import pytest

from dpviz.accounting.adaptive.filter import Filter
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.counting import Counting, baseline, planned_counts
from dpviz.training.settings import RunSettings
from tests.accounting.released_counts import released

EXAMPLES = 10_000


def counting(**changed):
    settings = RunSettings(**{"noise_multiplier": 1.0, "batch_size": 512} | changed)
    return Counting(settings, EXAMPLES)


def test_a_count_is_due_after_so_many_epochs():
    found = counting(policy="adaptive_noise", count_every=2)
    due = [step for step in range(1, 101) if found.due(512)]
    assert due == [40, 80]  # an epoch is 20 batches of 512
    # Five epochs are done; with smaller batches an epoch takes more steps.
    assert [step for step in range(1, 161) if found.due(256)] == [40, 120]


def test_what_a_count_costs_is_what_the_policy_asks_for():
    found = counting(policy="adaptive_noise", count_noise=50.0)
    assert found.mechanism == SampledGaussian(50.0, 1.0)
    assert found.observe(released(4000, noise=50.0), None)["mechanism"] == [50.0, 1.0, 1]
    with pytest.raises(TypeError, match="Released"):
        found.observe(4000, None)


def test_noise_grows_after_a_rise_and_comes_back():
    found = counting(policy="adaptive_noise")
    first = found.observe(released(5000), None)
    assert (first["rose"], first["noise_multiplier"]) == (True, 1.1)
    again = found.observe(released(5000), None)
    assert (again["rose"], again["noise_multiplier"]) == (False, 1.0)


@pytest.mark.parametrize("margin", [0, 3, 50])
def test_a_budget_with_little_left_keeps_the_setting_and_says_so(margin):
    step, epoch = SampledGaussian(1.0, 512 / EXAMPLES), 20

    def with_room(epochs):
        budget = Filter(target_epsilon=30.0, delta=1e-5)
        budget.spend(step, int(budget.remaining_steps(step)) - epochs * epoch)
        return counting(policy="adaptive_noise", margin_epochs=margin).observe(released(5000), budget)

    at_margin = with_room(margin)
    assert (at_margin["noise_multiplier"], at_margin["blocked"]) == (1.0, True)
    assert f"no more than {margin} epochs" in at_margin["text"]
    above = with_room(margin + 1)
    assert (above["noise_multiplier"], above["blocked"], above["text"]) == (1.1, False, "")


def test_the_margin_is_asked_at_the_policy_s_own_noise():
    """Louder steps than the first ones: what is left lasts for more epochs of them."""
    found = counting(policy="adaptive_noise", margin_epochs=3)
    for count in (1000, 2000, 3000, 4000, 5000):
        found.observe(released(count), None)
    now, first = (SampledGaussian(sigma, 512 / EXAMPLES) for sigma in (1.5, 1.0))
    assert found.setting.noise_multiplier == 1.5
    budget = Filter(target_epsilon=30.0, delta=1e-5)
    budget.spend(now, int(budget.remaining_steps(now)) - 80)
    assert budget.remaining_steps(first) < 60 < budget.remaining_steps(now)
    assert found.observe(released(6000), budget)["noise_multiplier"] == 1.6


def test_the_goal_stops():
    found = counting(target_accuracy=0.6, target_measure="private")
    found.observe(released(5999), None)
    assert not found.stopped
    assert found.observe(released(6001), None)["accuracy"] > 0.6
    assert found.stopped


def test_fine_tuning_starts_loud_and_gets_quieter():
    found = counting(policy="fine_tuning", noise_multiplier=2.0, target_accuracy=0.95, target_measure="private")
    assert found.observe(released(9000), None)["noise_multiplier"] == 2.0
    assert found.observe(released(9000), None)["noise_multiplier"] == 1.9
    assert not found.stopped
    found.observe(released(9990), None)
    assert found.stopped


def test_the_baseline_is_the_plan_with_its_counts():
    settings = RunSettings(policy="adaptive_noise", count_every=2, steps=150)
    assert planned_counts(settings, EXAMPLES) == 7
    step, count = SampledGaussian(2.0, 0.1024), SampledGaussian(100.0)
    assert baseline(settings, EXAMPLES) == ((step, 150), (count, 7))
    assert baseline(settings.with_(policy="fixed"), EXAMPLES) == ((step, 150),)
