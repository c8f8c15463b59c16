"""Recorded training runs of policies, read with today's accountants."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import OdometerAccountant
from dpviz.experiments.record import ExperimentRecord, recorded
from dpviz.mechanisms import SampledGaussian
from dpviz.training.accounts.live import budget_filter, promised
from dpviz.training.samplers import steps_per_epoch
from dpviz.training.settings import RunSettings

ENDS = {"plan": "plan done", "budget": "budget used up", "goal": "goal reached"}


@dataclass(frozen=True, eq=False)
class Course:
    """One run; arrays over its evaluations, the first before training.

    Attributes:
        epochs: so many had passed, an epoch being N ÷ batch steps, rounded up.
        noise_multiplier, batch_size: of the step before it (of the first step at 0).
        accuracy: on test data.
        planned: how full the budget is: ε at δ of steps and counts so far, at the order of the policies' filter; NaN
            where there is no budget.
        odometer: ε at δ that holds whenever one stops.
        reason: why it ended (`dpviz.training.events`).
    """

    epochs: Array
    noise_multiplier: Array
    batch_size: Array
    accuracy: Array
    planned: Array
    odometer: Array
    reason: str

    @property
    def ended(self) -> str:
        return ENDS[self.reason]


@dataclass(frozen=True, eq=False)
class Courses:
    """A recorded experiment's runs, by arm.

    Attributes:
        record: what was recorded.
        arms: a run a seed.
        budget: the ε at δ that the adaptive runs promise and use up; NaN where runs end at a goal.
        delta: δ.
    """

    record: ExperimentRecord
    arms: Mapping[str, tuple[Course, ...]]
    budget: float
    delta: float


@remembered
def courses(key: str, variant: str) -> Courses:
    """All runs of the experiment `key`, their odometer being `variant`."""
    record = recorded(key)
    settings = {arm: RunSettings.from_json(dict(stored)) for arm, stored in record.settings.items()}
    [delta], size = {one.delta for one in settings.values()}, record.trials[0].found["examples"]
    budgeted = next((one for one in settings.values() if one.adaptive and one.target_accuracy is None), None)
    target = promised(budgeted, size) if budgeted is not None else None
    runs = {arm: tuple(course(t.found, delta, variant, budgeted) for t in record.of(arm)) for arm in settings}
    return Courses(record, runs, math.nan if target is None else target, delta)


def course(outcome: Mapping[str, Any], delta: float, variant: str, budgeted: RunSettings | None) -> Course:
    """One run from what was recorded of it; `budgeted` are the settings whose filter reads it, where there is one."""
    size, ledger = outcome["examples"], Ledger(OdometerAccountant(variant))
    budget = None if budgeted is None else budget_filter(budgeted, size)

    def spend(mechanism: SampledGaussian, count: int = 1) -> None:
        ledger.spend(mechanism, count)
        if budget is not None:
            budget.spend(mechanism, count)

    blocks, counts = [list(block) for block in outcome["schedule"]], list(outcome["counts"])
    sigma, batch = blocks[0][:2]
    at, epochs, rows = 0, 0.0, []
    for step, accuracy in outcome["evaluations"]:
        while at < step:
            sigma, batch, left = blocks[0]
            taken = min(left, step - at)
            spend(SampledGaussian(sigma, batch / size), taken)
            at, epochs, blocks[0][2] = at + taken, epochs + taken / steps_per_epoch(size, batch), left - taken
            if not blocks[0][2]:
                blocks.pop(0)
        while counts and counts[0][0] <= step:
            spend(SampledGaussian(counts.pop(0)[2]))
        filled = math.nan if budget is None else budget.epsilon() if at else 0.0
        rows.append((epochs, sigma, batch, accuracy, filled, float(ledger.bound(delta).epsilon) if at else 0.0))
    epochs_at, sigmas, batches, reached, filled_at, running = np.array(rows).T
    return Course(epochs_at, sigmas, batches, reached, filled_at, running, outcome["reason"])


def mean_and_range(runs: Sequence[Course], quantity: str) -> tuple[Array, Array, Array, Array]:
    """Epochs (E,) up to where the first run ends, and mean, lowest and highest over the runs there.

    Between evaluations accuracy and ε are taken along a line; σ and batch are those of the next one.
    """
    last = min(run.epochs[-1] for run in runs)
    grid = np.unique(np.append(np.arange(0.0, last + 1e-9), last))
    stepped = quantity in ("noise_multiplier", "batch_size")
    each = []
    for run in runs:
        values = getattr(run, quantity)
        after = np.searchsorted(run.epochs, grid - 1e-9).clip(max=len(values) - 1)
        each.append(values[after] if stepped else np.interp(grid, run.epochs, values))
    all_of_them = np.array(each)
    return grid, all_of_them.mean(axis=0), all_of_them.min(axis=0), all_of_them.max(axis=0)
