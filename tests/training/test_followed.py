"""ε of single examples: never below what their own gradients cost, at orders that were fixed before the first step."""

import math

import numpy as np
import pytest
import torch

import dpviz
from dpviz.mechanisms import SampledGaussian
from dpviz.mechanisms.log_moments import renyi_divergence
from dpviz.training.accounts.followed import COLUMNS, FollowedAccount
from dpviz.training.checkpoint import save
from dpviz.training.engine.per_example import PerExample
from dpviz.training.sampling import loss_per_example
from dpviz.training.settings import RunSettings
from tests.training.small import ABALONE
from tests.training.test_checkpoint import advance, again, begun

STEP, DELTA = SampledGaussian(2.0, 0.1), 1e-5
LONG_CLIP = ABALONE.with_(max_grad_norm=2.0, followed=8)


def account(steps, examples=1, mechanism=STEP):
    return FollowedAccount([(mechanism, steps)], delta=DELTA, examples=examples)


def test_it_is_the_least_over_its_orders_of_the_example_s_own_divergences() -> None:
    """Written out for an example whose gradient is half as long as C, then a quarter, beside a private count."""
    found = account(40)
    for share in [0.5] * 30 + [0.25] * 10:
        found.charge(STEP, [share])
    found.charge_certain(SampledGaussian(100.0))
    by_order = []
    for alpha in found.orders:
        own = 30 * renyi_divergence(4.0, 0.1, alpha) + 10 * renyi_divergence(8.0, 0.1, alpha)
        own += renyi_divergence(100.0, 1.0, alpha)
        # Canonne, Kamath and Steinke 2020, Proposition 12, at an equal share of δ for each order.
        tail = math.log((alpha - 1.0) / alpha) - (math.log(DELTA / len(found.orders)) + math.log(alpha)) / (alpha - 1.0)
        by_order.append(float(own) + tail)
    assert found.epsilons().tolist() == pytest.approx([min(by_order)], rel=1e-9)


@pytest.mark.parametrize("share", [1.0, 0.7, 0.3, 0.05])
@pytest.mark.parametrize("steps", [1, 150, 4000])
def test_it_is_never_below_what_its_own_steps_cost_at_their_best_order(share: float, steps: int) -> None:
    plan = {"noise_multiplier": 2.0 / share, "sample_rate": 0.1, "steps": steps, "delta": DELTA}
    found = account(steps)
    for _ in range(steps):
        found.charge(STEP, [share])
    assert found.epsilons()[0] >= float(dpviz.epsilon("renyi", **plan))
    assert found.epsilons()[0] >= float(dpviz.epsilon("tight", **plan))


def test_lengths_are_rounded_up_and_what_is_not_known_costs_as_much_as_c() -> None:
    found = account(10, examples=6)
    found.charge(STEP, [0.5 + 1e-9, 513 / 1024, math.nan, math.inf, 1.0, 0.0])
    longer, same, *whole, nothing = found.epsilons().tolist()
    assert longer == same < whole[0]
    assert whole == [whole[0]] * 3
    assert nothing == 0.0
    with pytest.raises(ValueError, match="Expected shares of 6 examples, found shape"):
        found.charge(STEP, [1.0])


def test_the_orders_do_not_follow_from_what_is_seen() -> None:
    short, long = account(150), account(150)
    short.charge(STEP, [0.01])
    long.charge(STEP, [1.0])
    assert short.orders.tolist() == long.orders.tolist() == account(150).orders.tolist()


def test_no_example_is_said_to_have_lost_more_than_a_fixed_plan_has() -> None:
    found = account(150, examples=3)
    for _ in range(2):
        found.charge(STEP, [1.0, 0.5, 0.1])
    readings = found.readings([0.8, 0.01])
    assert [readings[name][1] for name in COLUMNS] == [0.01, 0.01, 0.01]
    assert readings["followed_lowest"][0] < readings["followed_median"][0] < readings["followed_highest"][0] <= 0.8
    assert found.readings([]) == {}


def test_a_run_measures_the_followed_examples_at_every_step_and_trains_as_without_them() -> None:
    """Norms by PyTorch's own gradients, one example at a time, at the weights of each step."""
    session, tell = begun(LONG_CLIP)
    without, _ = begun(LONG_CLIP.with_(followed=0))
    x, y = session._followed
    by_hand = account(LONG_CLIP.steps, 8, SampledGaussian(LONG_CLIP.noise_multiplier, 256 / session.examples))
    for _ in range(6):
        shares = []
        for one, label in zip(x, y, strict=True):
            loss = loss_per_example(session.network(one[None]), label[None]).sum()
            parts = torch.autograd.grad(loss, tuple(session.network.parameters()))
            shares.append(min(float(torch.cat([p.flatten() for p in parts]).double().norm()) / 2.0, 1.0))
        by_hand.charge(SampledGaussian(LONG_CLIP.noise_multiplier, 256 / session.examples), shares)
        session.advance()
        without.advance()
    session.flush()
    assert torch.equal(session.parameters, without.parameters)
    found = session.accounts.followed.epsilons()
    assert np.all(found >= by_hand.epsilons() - 1e-12)
    assert found == pytest.approx(by_hand.epsilons(), rel=0.02)
    assert found.min() < 0.9 * found.max()
    events = tell.of("step")
    rows = {name: [value for event in events for value in event[name]] for name in COLUMNS}
    renyi = [value for event in events for value in event["epsilon"]["renyi"]]
    assert len(rows["followed_median"]) == 6
    for lowest, median, highest, limit in zip(*(rows[name] for name in COLUMNS), renyi, strict=True):
        assert 0.0 < lowest <= median <= highest <= limit


def test_a_run_that_goes_on_charges_the_steps_of_before_in_full() -> None:
    first, _ = begun(LONG_CLIP, 5)
    session, _ = again(save(first), LONG_CLIP)
    worst = account(LONG_CLIP.steps, 8, SampledGaussian(LONG_CLIP.noise_multiplier, 256 / session.examples))
    for _ in range(5):
        worst.charge_certain(SampledGaussian(LONG_CLIP.noise_multiplier, 256 / session.examples))
    assert session.accounts.followed.epsilons() == pytest.approx(worst.epsilons(), rel=1e-9)
    advance(session, 1)
    assert (session.accounts.followed.epsilons() > worst.epsilons()).any()


def test_private_counts_are_charged_in_full_and_an_adaptive_run_has_no_fixed_plan() -> None:
    adaptive = LONG_CLIP.with_(policy="adaptive_noise", count_every=1, steps=30, noise_multiplier=3.0)
    session, _ = begun(adaptive, 1)
    before = session.accounts.followed.epsilons()
    session.accounts.count(SampledGaussian(20.0))
    assert np.all(session.accounts.followed.epsilons() > before)
    session.flush()
    session.accounts.step(SampledGaussian(3.0, 0.1), None)
    session.accounts.followed.charge(SampledGaussian(3.0, 0.1), [1.0] * 8)
    event = session.accounts.step_readings()
    assert event["followed_highest"][-1] > event["epsilon"]["renyi"][-1], "what the plan costs is no limit here"


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"method": "dpvi", "prior_std": 1.0}, "followed=0 with method='dpvi'"),
        ({"sampler": "shuffled"}, "followed=0 with sampler='shuffled'"),
        ({"views": 2, "data": "mnist-10k", "model": "mlp"}, "followed=0 with sampler='poisson'.*views=2"),
    ],
)
def test_what_has_no_single_gradients_refuses_to_follow(changed: dict, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        RunSettings(followed=4).with_(**changed).check()


def test_lengths_are_upper_ends() -> None:
    """Of the engine that measures them: what rounding may add is in them."""
    session, _ = begun(LONG_CLIP)
    x, y = session._followed
    single = PerExample(session.network.double(), loss_per_example)
    exact = single.clipped(x.double(), y, max_grad_norm=2.0).norms.clamp(max=2.0)
    again_single, _ = begun(LONG_CLIP)
    assert torch.all(again_single._lengths() >= exact)
