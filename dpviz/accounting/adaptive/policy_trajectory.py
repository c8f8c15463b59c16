"""Simulated run of an adaptive policy: settings, accuracy and ε by epoch, on an assumed accuracy without training.

The accuracy is a plain assumption, meant to be plausible and to be changed: each epoch closes a share `pace` of the
distance to a ceiling, and the ceiling falls as the noise per example, σ/batch, grows:

    accuracy += pace · (top − toll · ln[(σ/batch) ÷ (1/512)] − accuracy) + wobble · N(0, 1).

Budgets are not assumed: they are those of the steps and counts that the policy asked for.
"""

import math
from dataclasses import dataclass

import numpy as np

from dpviz import _validate
from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.adaptive.filter import BudgetExceeded, Filter
from dpviz.accounting.adaptive.odometer import OdometerAccountant
from dpviz.accounting.adaptive.one_order import one_order_filter
from dpviz.accounting.adaptive.policies import Policy, Setting
from dpviz.accounting.adaptive.released import Spending, release
from dpviz.accounting.renyi.additive import RunningSum
from dpviz.mechanisms import Event, SampledGaussian

_REFERENCE_BATCH = 512.0  # of the paper's non-adaptive runs, with σ = 1
MARGIN_EPOCHS = 50  # the paper's: a step's budget is lowered only while the filter would let pass more epochs


@dataclass(frozen=True)
class Scenario:
    """An assumed training: see the module's formula.

    Attributes:
        size: N, examples in the training set.
        first, top: accuracy before training and what σ = 1 with batches of 512 tends to, in [0, 1].
        pace: share of the distance closed in an epoch, in (0, 1].
        toll: accuracy lost for each factor e of noise per example.
        wobble: standard deviation of an epoch's accuracy.
        seed: of the wobble and of the counts' noise.
    """

    size: int = 50_000
    first: float = 0.1
    top: float = 0.6
    pace: float = 0.04
    toll: float = 0.04
    wobble: float = 0.001
    seed: int = 0

    def __post_init__(self) -> None:
        _validate.steps(self.size, "size", minimum=1)
        for name in ("first", "top"):
            _validate.probability(name, getattr(self, name))
        _validate.open_probability("pace", min(self.pace, 0.999_999_999))
        for name in ("toll", "wobble"):
            _validate.non_negative(name, getattr(self, name))
        _validate.steps(self.seed, "seed")


@dataclass(frozen=True, eq=False)
class PolicyTrajectory:
    """What happened; arrays over epochs 0, 1, …, E, index 0 being before training.

    Attributes:
        noise_multiplier, batch_size: what the epoch's steps used (index 0: the first setting).
        accuracy: assumed.
        count: the private count after the epoch, NaN where none was taken.
        blocked: 1 where a count rose and the margin kept the setting all the same.
        planned: ε at δ of all steps and counts so far, read as if planned: how full the filter is.
        odometer: ε at δ that holds whenever one stops.
        ended: "budget" (the filter refused), "goal" (the policy stopped), or "epochs" (as many as were asked for).
        events: what was spent, neighbouring equal steps merged.
    """

    noise_multiplier: Array
    batch_size: Array
    accuracy: Array
    count: Array
    blocked: Array
    planned: Array
    odometer: Array
    ended: str
    events: tuple[Event, ...]

    @property
    def epochs(self) -> Array:
        return np.arange(float(self.accuracy.size))


def _epoch(setting: Setting, size: int) -> Event:
    """An epoch's steps: as many as batches fit into the data, rounded up."""
    batch = min(setting.batch_size, size)
    return SampledGaussian(setting.noise_multiplier, batch / size), math.ceil(size / batch)


@remembered
def policy_trajectory(
    policy: Policy,
    scenario: Scenario,
    *,
    delta: float,
    target_epsilon: float | None = None,
    most_epochs: int = 100,
    variant: str = "paper",
    filter_orders: str = "one",
    margin_epochs: int = MARGIN_EPOCHS,
) -> PolicyTrajectory:
    """Follow `policy` epoch by epoch until the budget, the goal or `most_epochs` ends it.

    Args:
        policy: its first state.
        scenario: the assumed training.
        delta: δ of filter and odometer.
        target_epsilon: the filter's budget; None lets everything pass.
        most_epochs: ≥ 1.
        variant: the odometer's, whose orders the filter uses too where it has several.
        filter_orders: "one": the filter keeps to one order, fixed in advance, at which the budget holds the most epochs
            of the first setting with their counts. "union": all of the odometer's, with δ shared among them. Both are
            proved for whatever the policy does. "paper": all of them with the whole δ each, by the classic conversion,
            which is proved only if results decide nothing but when to stop.
        margin_epochs: the budget of a step is lowered only while the filter would let pass more epochs than this.
    """
    most = _validate.whole(1, most_epochs=most_epochs)
    margin = _validate.whole(0, margin_epochs=margin_epochs)
    odometer = OdometerAccountant(variant)
    _validate.choice("filter_orders", filter_orders, ("one", "union", "paper"))
    budget = _budget(policy, scenario, delta, target_epsilon, filter_orders, odometer.orders)
    spending, running = Spending(budget), RunningSum(odometer)
    random = np.random.default_rng(scenario.seed)
    accuracy, ended = scenario.first, "epochs"
    rows = [(*policy.setting, accuracy, math.nan, 0.0)]
    totals = [(budget.spent, running.total)]
    setting, steps = policy.setting, _epoch(policy.setting, scenario.size)
    for epoch in range(1, most + 1):
        if policy.setting != setting:
            setting, steps = policy.setting, _epoch(policy.setting, scenario.size)
        try:
            budget.spend(*steps)
        except BudgetExceeded:
            ended = "budget"
            break
        running.add(*steps)
        accuracy = _trained(accuracy, setting, scenario, random)
        count, blocked = math.nan, False
        if policy.every and epoch % policy.every == 0 and budget.allows(policy.count_mechanism):
            right = scenario.size * accuracy
            seen = release(lambda: right, mechanism=policy.count_mechanism, account=spending, random=random)  # noqa: B023
            running.add(seen.mechanism, 1)
            # Without a budget there is always room.
            room = target_epsilon is None or budget.remaining_steps(steps[0]) > margin * steps[1]
            count, blocked = seen.value, policy.blocked(seen, may_lower=room)
            policy = policy.observe(seen, may_lower=room)
        rows.append((*setting, accuracy, count, float(blocked)))
        totals.append((budget.spent, running.total))
        if policy.stopped:
            ended = "goal"
            break
    filled, released = (np.array(total) for total in zip(*totals, strict=True))
    planned = budget.accountant.bound(filled, budget.delta_of_each).epsilon
    stopped = odometer.bound(released, delta).epsilon
    sigma, batch, reached, counts, held = np.array(rows).T
    return PolicyTrajectory(sigma, batch, reached, counts, held, planned, stopped, ended, budget.events)


def _budget(
    policy: Policy, scenario: Scenario, delta: float, target_epsilon: float | None, filter_orders: str, orders: Array
) -> Filter:
    if filter_orders == "paper":
        return Filter(target_epsilon=1e300 if target_epsilon is None else target_epsilon, delta=delta, orders=orders)
    if target_epsilon is None:  # without a budget nothing is promised, only read
        return Filter(target_epsilon=1e300, delta=delta, orders=orders, conversion="improved")
    if filter_orders == "union":
        return Filter(target_epsilon=target_epsilon, delta=delta, orders=orders, conversion="improved", union=True)
    steps, count = _epoch(policy.setting, scenario.size)
    baseline = [(steps, count * max(policy.every, 1)), (policy.count_mechanism, min(policy.every, 1))]
    return one_order_filter(baseline, target_epsilon=target_epsilon, delta=delta)


def _trained(accuracy: float, setting: Setting, scenario: Scenario, random: np.random.Generator) -> float:
    """The assumed accuracy after one more epoch."""
    louder = math.log(_REFERENCE_BATCH * setting.noise_multiplier / setting.batch_size)
    ceiling = min(max(scenario.top - scenario.toll * louder, 0.0), 1.0)
    moved = accuracy + scenario.pace * (ceiling - accuracy) + scenario.wobble * random.standard_normal()
    return min(max(moved, 0.0), 1.0)
