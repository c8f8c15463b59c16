"""Policies in recorded training runs: read with today's accountants, and drawn with error bars."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

import numpy as np
import pandas as pd

from dpviz._arrays import Array
from dpviz._remember import remembered
from dpviz.accounting.ledger import Ledger
from dpviz.accounting.methods import OdometerAccountant
from dpviz.charts import Axis, Column, Line, LinePlot
from dpviz.experiments.record import ExperimentRecord, Spread, recorded
from dpviz.fields import numbers
from dpviz.mechanisms import SampledGaussian
from dpviz.questions import LOG_Y, Answer, Groups, Offered, Reader, Rerun, make_question, table
from dpviz.questions.budget import shared
from dpviz.questions.budget.shared import COLORS, NAMES, ODOMETER, QUANTITIES, budget_axis, epsilon, floors
from dpviz.training.accounts.live import budget_filter, promised
from dpviz.training.samplers import steps_per_epoch
from dpviz.training.settings import RunSettings

ENDS = {"plan": "plan done", "budget": "budget used up", "goal": "goal reached"}
WRITTEN: dict[str, Callable[[float], str]] = {
    "epochs": partial(numbers.plain, digits=2),
    "accuracy": numbers.probability,
    "odometer": epsilon,
}


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
    names = NAMES
    networks = shared.NETWORK.options

    def last(self, arm: str, quantity: str) -> Spread:
        """A quantity at the ends of an arm's runs."""
        return Spread.of([getattr(run, quantity)[-1] for run in self.arms[arm]])

    def between(self, arm: str, quantity: str) -> str:
        """ "94.1 % (93.9 % to 94.4 %)", or one value where all seeds have the same."""
        mean, low, high = (WRITTEN[quantity](value) for value in self.last(arm, quantity))
        return mean if low == high else f"{mean} ({low} to {high})"

    def mean(self, arm: str, quantity: str) -> str:
        """ "94.1 %": the mean over the runs of an arm."""
        return WRITTEN[quantity](self.last(arm, quantity).mean)

    def ended(self, arm: str) -> str:
        return " or ".join(sorted({run.ended for run in self.arms[arm]}))

    def against_fixed(self, arm: str) -> str:
        """ "1.21 times as long, −0.8 points": an adaptive policy beside the fixed plan, both by their means."""
        longer = self.last(arm, "epochs").mean / self.last("fixed", "epochs").mean
        gained = 100.0 * (self.last(arm, "accuracy").mean - self.last("fixed", "accuracy").mean)
        return f"{longer:.2f} times as long, {gained:+.1f} points".replace("-", "−")


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


def together(runs: Sequence[Course], quantity: str) -> tuple[Array, Array, Array, Array]:
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


OFFERED = {"budget": ("fixed", "noise", "batch"), "early": ("fixed", "tune")}


def trained(
    *,
    runs: Annotated[str, shared.RUNS],
    network: Annotated[str, shared.NETWORK],
    variant: Annotated[str, shared.VARIANT],
    policies: Annotated[tuple[str, ...], shared.POLICIES],
    shown: Annotated[str, shared.SHOWN],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[Courses]:
    """What the recorded runs of each policy used, cost and reached: mean over seeds, lowest and highest."""
    recorded = courses(f"{runs}_{network}", variant)
    arms = {key: recorded.arms[key] for key in OFFERED[runs] if key in policies}
    budgeted, costs = runs == "budget", shown == "epsilon"
    quantity = QUANTITIES.get(shown, "planned" if budgeted else "odometer")
    floor = recorded.budget if budgeted and costs else None
    lines = []
    for key, of_seeds in arms.items():
        epochs, mean, lowest, highest = together(of_seeds, quantity)
        ends = (Column("lowest", lowest), Column("highest", highest))
        colour, spread = COLORS[key], (lowest, highest)
        lines.append(Line(key, NAMES[key], epochs, mean, ODOMETER, color=colour, hover=ends, spread=spread))
    end = max((float(run.epochs[-1]) for of_seeds in arms.values() for run in of_seeds), default=1.0)
    end = end if budgeted else max(end, 8.0)  # up to where the paper's printed values lie
    plot = LinePlot(
        x=Axis("epochs", shown=(0.0, 1.02 * end), hover="%{x:,.3~r} epochs"),
        y=budget_axis(shown, "test accuracy", log=log_y, budget=floor, span=zoomed if shown == "accuracy" else None),
        lines=tuple(lines),
        floors=floors(floor),
        summary="Error bars reach from the lowest to the highest seed.",
    )
    return Answer(plot, Courses(recorded.record, arms, recorded.budget, recorded.delta))


def zoomed(lines: Sequence[Line]) -> tuple[float, float]:
    """Accuracies from the tenth below the lowest after the first epoch: before it all of them are at chance."""
    later = [np.asarray(line.y)[1:] for line in lines]
    lowest = min((float(y.min()) for y in later if y.size), default=0.0)
    return math.floor(10.0 * lowest) / 10.0, 1.0


def runs_table(answer: Answer[Courses]) -> pd.DataFrame:
    """A row a run."""
    facts = answer.facts
    runs = [pair for key, each in facts.arms.items() for pair in zip(facts.record.of(key), each, strict=True)]
    return table("budget", "runs", [(NAMES[trial.arm], trial, run) for trial, run in runs], "seed")


def layout(get: Reader) -> Groups:
    return {
        "Budget": (shared.RUNS, shared.NETWORK, Offered(shared.POLICIES, OFFERED[get(shared.RUNS)]), shared.SHOWN),
        "Show": (
            *((LOG_Y,) if get(shared.SHOWN) == "epsilon" else ()),
            *((shared.VARIANT,) if get(shared.RUNS) == "early" else ()),
        ),
    }


TRAINED = make_question(
    "budget/trained",
    trained,
    layout,
    presets=("fo1a", "fo1b", "fo1c", "fo1d", "fo2c", "fo2d"),
    printed=lambda answer: answer.given["shown"] == "epsilon" and answer.given["runs"] == "early",
    more={
        "The runs": lambda answer: [runs_table(answer)],
        "Run again": lambda answer: [Rerun(answer.facts.record.key)],
    },
)
