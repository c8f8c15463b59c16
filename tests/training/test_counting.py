import pytest

from dpviz.accounting.adaptive.filter import Filter
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.counting import Counting
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


@pytest.mark.parametrize("margin", [0, 3, 50])
def test_a_budget_with_little_left_keeps_the_setting_and_says_so(margin):
    step, epoch = SampledGaussian(1.0, 512 / EXAMPLES), 20

    def with_room(epochs):
        budget = Filter(target_epsilon=30.0, delta=1e-5)
        budget.spend(step, int(budget.remaining_steps(step)) - epochs * epoch)
        return counting(policy="adaptive_noise", margin_epochs=margin).observe(released(5000), budget)

    at_margin = with_room(margin)
    assert (at_margin["noise_multiplier"], at_margin["blocked"]) == (1.0, True)
    assert f"at most {margin} epochs" in at_margin["text"]
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


GOAL = {"target_measure": "private"}


@pytest.mark.parametrize(("changed", "counts", "sigmas", "stops"), [
    ({"policy": "adaptive_noise"}, (5000, 5000), (1.1, 1.0), (False, False)),  # a rise, and none
    (GOAL | {"target_accuracy": 0.6}, (5999, 6001), (1.0, 1.0), (False, True)),
    (GOAL | {"target_accuracy": 0.95, "policy": "fine_tuning", "noise_multiplier": 2.0}, (9000, 9000, 9990),
     (2.0, 1.9, 1.9), (False, False, True)),  # starts loud and gets quieter
])  # fmt: skip
def test_what_a_policy_makes_of_counts(changed, counts, sigmas, stops):
    found = counting(**changed)
    events = [found.observe(released(count), None) | {"stopped": found.stopped} for count in counts]
    assert [event["noise_multiplier"] for event in events] == [*sigmas]
    assert [event["stopped"] for event in events] == [*stops]
    assert [event["rose"] for event in events[:2]] == [True, False]
    assert events[-1]["accuracy"] == pytest.approx(counts[-1] / EXAMPLES)
