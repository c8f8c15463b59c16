"""What a policy would do and cost over epochs, on an assumed accuracy: nothing is trained here.

The accuracy is a plain assumption, meant to be plausible and to be changed: each epoch closes a share `pace` of the
distance to a ceiling, and the ceiling falls as the noise per example, σ/batch, grows:

    accuracy += pace · (top − toll · ln[(σ/batch) ÷ (1/512)] − accuracy) + wobble · N(0, 1).

Budgets are not assumed: they are those of the steps and counts that the policy asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from dpviz import _validate
from dpviz.accounting.filter import BudgetExceeded, Filter
from dpviz.accounting.mechanism import Run, SampledGaussian
from dpviz.accounting.odometer import OdometerAccountant
from dpviz.accounting.policies import Policy, Setting

Array = npt.NDArray[np.float64]

_REFERENCE_BATCH = 512.0  # of the paper's non-adaptive runs, with σ = 1
MARGIN_EPOCHS = 50  # the budget of a step is lowered only while the filter would let pass more epochs than this


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
class Course:
    """What happened; arrays over epochs 0, 1, …, E, index 0 being before training.

    Attributes:
        noise_multiplier, batch_size: what the epoch's steps used (index 0: the first setting).
        accuracy: assumed.
        count: the private count after the epoch, NaN where none was taken.
        planned: ε at δ of all steps and counts so far, read as if planned: how full a filter is.
        odometer: ε at δ that holds whenever one stops.
        ended: "budget" (the filter refused), "goal" (the policy stopped), or "epochs" (as many as were asked for).
        runs: what was spent, neighbouring equal steps merged.
    """

    noise_multiplier: Array
    batch_size: Array
    accuracy: Array
    count: Array
    planned: Array
    odometer: Array
    ended: str
    runs: tuple[Run, ...]

    @property
    def epochs(self) -> Array:
        return np.arange(float(self.accuracy.size))


def _epoch(setting: Setting, size: int) -> Run:
    """An epoch's steps: as many as batches fit into the data, rounded up."""
    batch = min(setting.batch_size, size)
    return SampledGaussian(setting.noise_multiplier, batch / size), math.ceil(size / batch)


@lru_cache(maxsize=64)
def policy_course(
    policy: Policy,
    scenario: Scenario,
    *,
    delta: float,
    target_epsilon: float | None = None,
    most_epochs: int = 100,
    variant: str = "paper",
    union: bool = False,
) -> Course:
    """Follow `policy` epoch by epoch until the budget, the goal or `most_epochs` ends it.

    Args:
        policy: its first state.
        scenario: the assumed training.
        delta: δ of filter and odometer.
        target_epsilon: the filter's budget; None lets everything pass.
        most_epochs: ≥ 1.
        variant: the odometer's, whose orders the filter uses too.
        union: the filter's, see `Filter`.
    """
    most = int(_validate.scalar("most_epochs", _validate.steps(most_epochs, "most_epochs", minimum=1)))
    odometer = OdometerAccountant(variant)
    target = 1e300 if target_epsilon is None else target_epsilon
    budget = Filter(target_epsilon=target, delta=delta, orders=odometer.orders, union=union)
    random = np.random.default_rng(scenario.seed)
    accuracy, ended = scenario.first, "epochs"
    rows, spent = [(*policy.setting, accuracy, math.nan)], [budget.spent]
    for epoch in range(1, most + 1):
        setting = policy.setting
        steps = _epoch(setting, scenario.size)
        if not _spent(budget, *steps):
            ended = "budget"
            break
        accuracy = _trained(accuracy, setting, scenario, random)
        count = math.nan
        if policy.every and epoch % policy.every == 0 and _spent(budget, policy.count_mechanism, 1):
            count = scenario.size * accuracy + policy.count_noise * random.standard_normal()
            # Without a budget there is always room.
            room = target_epsilon is None or budget.remaining_steps(steps[0]) > MARGIN_EPOCHS * steps[1]
            policy = policy.observe(count, may_lower=room)
        rows.append((*setting, accuracy, count))
        spent.append(budget.spent)
        if policy.stopped:
            ended = "goal"
            break
    sigma, batch, reached, counts = np.array(rows).T
    # The filter tracks the odometer's orders, so one ledger serves both readings.
    total = np.array(spent)
    planned, running = (each.bound(total, delta).epsilon for each in (budget.accountant, odometer))
    return Course(sigma, batch, reached, counts, planned, running, ended, budget.runs)


def _spent(budget: Filter, mechanism: SampledGaussian, count: int) -> bool:
    """Spend and say whether the filter let it pass."""
    try:
        budget.spend(mechanism, count)
    except BudgetExceeded:
        return False
    return True


def _trained(accuracy: float, setting: Setting, scenario: Scenario, random: np.random.Generator) -> float:
    """The assumed accuracy after one more epoch."""
    louder = math.log(_REFERENCE_BATCH * setting.noise_multiplier / setting.batch_size)
    ceiling = min(max(scenario.top - scenario.toll * louder, 0.0), 1.0)
    moved = accuracy + scenario.pace * (ceiling - accuracy) + scenario.wobble * random.standard_normal()
    return min(max(moved, 0.0), 1.0)
