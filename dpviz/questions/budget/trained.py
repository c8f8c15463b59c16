"""Policies in recorded training runs: what they used, cost and reached, with error bars."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pandas as pd

from dpviz.charts import Axis, Column, Line, LinePlot, Ring, look
from dpviz.experiments.record import ExperimentRecord, Spread, Trial
from dpviz.fields import choice, numbers
from dpviz.questions import (
    LOG_Y,
    Answer,
    FieldControl,
    Formula,
    Layout,
    Metric,
    Note,
    Question,
    Reader,
    Rerun,
    Words,
    published,
)
from dpviz.questions.budget import shared
from dpviz.questions.budget.courses import Course, courses, mean_and_range
from dpviz.questions.budget.shared import NAMES, ODOMETER, QUANTITIES, budget_axis, floors
from dpviz.questions.mechanism import PUBLIC_SIZE

RUNS, NETWORK = choice("brun"), choice("bnet")
OFFERED = {"budget": ("fixed", "noise", "batch"), "early": ("fixed", "tune")}
COLUMNS = ("policy", "seed", "epochs", "test accuracy", "ε filled", "ε odometer", "ended", "computing", "made")


@dataclass(frozen=True, eq=False)
class TrainedFacts:
    """The recorded runs of the policies that are shown.

    Attributes:
        arms: of each policy, a run a seed.
        record: what was recorded.
        budget: the ε at δ that the adaptive runs promise and use up; NaN where runs end at a goal.
        delta: δ.
        runs: "budget" for those that use one up, "early" for those that end at an accuracy.
        network: which one was trained.
        shown: the quantity on the chart.
    """

    arms: Mapping[str, tuple[Course, ...]]
    record: ExperimentRecord
    budget: float
    delta: float
    runs: str
    network: str
    shown: str

    @property
    def early(self) -> bool:
        """Whether runs end at an accuracy."""
        return self.runs == "early"

    @property
    def seeds(self) -> int:
        """Runs of each policy."""
        return len(next(iter(self.arms.values())))

    def last(self, arm: str, quantity: str) -> Spread:
        """A quantity at the ends of an arm's runs."""
        return Spread.of([getattr(run, quantity)[-1] for run in self.arms[arm]])


def trained(
    *,
    runs: Annotated[str, RUNS],
    network: Annotated[str, NETWORK],
    variant: Annotated[str, shared.VARIANT],
    policies: Annotated[tuple[str, ...], shared.POLICIES],
    shown: Annotated[str, shared.SHOWN],
    log_y: Annotated[bool, LOG_Y],
) -> Answer[TrainedFacts]:
    """What the recorded runs of each policy used, cost and reached: mean over seeds, lowest and highest."""
    experiment = courses(f"{runs}_{network}", variant)
    arms = {key: experiment.arms[key] for key in OFFERED[runs] if key in policies}
    budgeted, costs = runs == "budget", shown == "epsilon"
    quantity = QUANTITIES.get(shown, "planned" if budgeted else "odometer")
    floor = experiment.budget if budgeted and costs else None
    lines, y_is_setting = [], shown in ("noise", "batch")
    y = budget_axis(shown, "test accuracy", log=log_y, budget=floor, span=zoomed if shown == "accuracy" else None)
    for key, of_seeds in arms.items():
        epochs, mean, lowest, highest = mean_and_range(of_seeds, quantity)
        ends = (Column("lowest", lowest), Column("highest", highest))
        family, colour = ODOMETER if costs else look.SOLID, look.POLICIES[key]
        lines.append(Line(key, NAMES[key], epochs, mean, family, color=colour, hover=ends, spread=(lowest, highest)))
    end = max((float(run.epochs[-1]) for of_seeds in arms.values() for run in of_seeds), default=1.0)
    end = end if budgeted else max(end, 8.0)  # up to where the paper's printed values lie
    plot = LinePlot(
        x=Axis("epochs", shown=(0.0, 1.02 * end), hover="%{x:,.3~r} epochs"),
        y=y,
        lines=tuple(lines),
        floors=floors(floor),
        rings=tuple(end_of_runs(key, of_seeds, quantity, y) for key, of_seeds in arms.items() if not y_is_setting),
        names_on_lines=not y_is_setting,  # a curve ends with the first of its runs; headline and rings are about all
        summary="Error bars reach from the lowest to the highest seed; circles are means of the runs' ends.",
    )
    facts = TrainedFacts(
        arms=arms,
        record=experiment.record,
        budget=experiment.budget,
        delta=experiment.delta,
        runs=runs,
        network=network,
        shown=shown,
    )
    return Answer(plot, facts)


def end_of_runs(arm: str, runs: Sequence[Course], quantity: str, y: Axis) -> Ring:
    """The mean of a policy's runs at their own ends, with lowest and highest: what the headline says of them."""
    end, last = (Spread.of([float(getattr(run, name)[-1]) for run in runs]) for name in ("epochs", quantity))
    text = f"mean of the {len(runs)} runs at their ends, after {epochs_text(end.mean)} epochs on average"
    name = y.writes(last.mean)
    return Ring(end.mean, last.mean, f"{NAMES[arm]}: {text}", look.POLICIES[arm], last.lowest, last.highest, name=name)


def zoomed(lines: Sequence[Line]) -> tuple[float, float]:
    """Accuracies from the tenth below the lowest after the first epoch: before it all of them are at chance."""
    later = [np.asarray(line.y)[1:] for line in lines]
    lowest = min((float(y.min()) for y in later if y.size), default=0.0)
    return math.floor(10.0 * lowest) / 10.0, 1.0


def epochs_text(epochs: float) -> str:
    """ "12": epochs to two digits."""
    return numbers.plain(epochs, digits=2)


def headline(f: TrainedFacts) -> str:
    if not f.arms:
        return "No policy is switched on: choose one beside the chart."
    results = []
    for k, key in enumerate(f.arms):
        epochs = f"<b>{epochs_text(f.last(key, 'epochs').mean)}</b>{' epochs' * (k == 0)}"
        if f.early:
            results.append(f"{NAMES[key]} {epochs} (<b>ε = {numbers.up(f.last(key, 'odometer').mean)}</b>)")
        else:
            accuracy = numbers.probability(f.last(key, "accuracy").mean)
            results.append(f"{NAMES[key]} <b>{accuracy}</b> in {epochs}")
    if f.early:
        answer, how = f"80 % accuracy took: {', '.join(results)}.", "with an odometer"
    else:
        answer, how = f"Accuracy: {', '.join(results)}.", f"with the budget <b>ε = {numbers.up(f.budget)}</b>"
    return f"{answer} Trained on 10,000 digits {how} at δ = {numbers.delta(f.delta)} (mean of {f.seeds} seeds)."


def metrics(f: TrainedFacts) -> Iterator[Metric]:
    for key, runs in f.arms.items():
        mean, lowest, highest = map(numbers.probability, f.last(key, "accuracy"))
        ends = " or ".join(sorted({run.ended for run in runs}))
        epochs = between(epochs_text, f.last(key, "epochs"))
        yield Metric(NAMES[key].capitalize(), mean, f"{lowest} to {highest}; {epochs} epochs; {ends}")


def between(write: Callable[[float], str], spread: Spread) -> str:
    """ "94.1 % (93.9 % to 94.4 %)", or one value where all seeds have the same."""
    mean, low, high = map(write, spread)
    return mean if low == high else f"{mean} ({low} to {high})"


def notes(f: TrainedFacts) -> Iterator[Note]:
    yield Note(
        f"Recorded runs: MNIST, 10,000 digits included in dpviz, {NETWORK.options[f.network]}, batches of 102; "
        f"{f.record.made}. They are seeded, so that anyone can repeat them. Such runs protect nobody; ε is what they "
        f"would cost with secret noise. “{f.record.command}” repeats all of them, “Run again” one."
    )
    if f.early and {"fixed", "tune"} <= f.arms.keys():
        tuned, fixed = (cost_and_length(f, key) for key in ("tune", "fixed"))
        yield Note(
            "Printed: ε = 1.45 in under 8 epochs with fine-tuning, and 3.24 in 6 without (Fig. 2d). Here: "
            f"{tuned}, and {fixed}. An epoch costs the same in both. The number of epochs, and when σ decreases, "
            "depend on data and network: there an ImageNet network on CIFAR-10, here digits."
        )
    if not f.early and "fixed" in f.arms and len(f.arms) > 1:
        gains = "; ".join(f"{NAMES[key]} {against_fixed(f, key)}" for key in f.arms if key != "fixed")
        yield Note(
            "Printed: adaptive noise trains up to 3 times as long and gains 2.64 points; adaptive batch gains 0.98 "
            f"(Fig. 1). Here: {gains}. These networks learn most of the digits within five epochs, and the step size "
            "stays the same when the noise per example grows. Papers has both on one chart (Figs. 1 and 2 of Lécuyer)."
        )


def cost_and_length(f: TrainedFacts, arm: str) -> str:
    """ "ε = 1.45 (1.40 to 1.50) after 8 epochs"."""
    epsilon, epochs = between(numbers.up, f.last(arm, "odometer")), between(epochs_text, f.last(arm, "epochs"))
    return f"ε = {epsilon} after {epochs} epochs"


def against_fixed(f: TrainedFacts, arm: str) -> str:
    """ "1.21 times as long, −0.8 points": an adaptive policy beside the fixed plan, both by their means."""
    longer = f.last(arm, "epochs").mean / f.last("fixed", "epochs").mean
    gained = 100.0 * (f.last(arm, "accuracy").mean - f.last("fixed", "accuracy").mean)
    return f"{longer:.2f} times as long, {gained:+.1f} points".replace("-", "−")


def formulas(f: TrainedFacts) -> Iterator[Formula]:
    yield shared.count_formula("c", 100 if f.early else 20)
    yield Formula(
        "a point and its bar, over the seeds s = 1 … S of an arm",
        r"\bar y = \frac1S \sum_s y_s, \qquad \left[\min_s y_s,\ \max_s y_s\right]",
    )


ASSUMPTIONS = f"""
- **Runs:** DP-SGD with the training loop of dpviz on the included digits, one CPU thread, seeds 0, 1 and 2. σ = 1 (2 at
  the start of fine-tuning), Poisson batches of 102 of 10,000, δ = 1e-6: q is 0.0102 instead of the paper's 0.01024.
- **One budget:** that of 20 epochs at σ = 1 with a count after every second epoch; the paper has 100 epochs, 10 counts
  and a margin of 50, five times as much. A count has noise 20, the same share of the data as in the paper; a rise of 60
  is significant. A run ends when its filter, which uses one order fixed in advance, refuses a step. “ε filled” is
  computed at that order for all runs.
- **To 80 %:** a count with noise 100 after every epoch, as in the paper; the run stops when a count reaches 8000. With
  steps of this size σ = 1 takes about five epochs. The odometer holds whenever one stops.
- **Step sizes were not tuned:** for the budgets they are each model's usual ones, reduced as its usual batch size is.
- **Accuracy** is measured on 2,000 test digits, without noise. An epoch has N ÷ batch steps, rounded up.
{PUBLIC_SIZE}"""


def runs_table(f: TrainedFacts) -> pd.DataFrame:
    """A row a run."""
    rows = [
        cells_of(trial, run) for key, runs in f.arms.items() for trial, run in zip(f.record.of(key), runs, strict=True)
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"seed": int})


def cells_of(trial: Trial, run: Course) -> dict[str, object]:
    return {
        "policy": NAMES[trial.arm],
        "seed": trial.seed,
        "epochs": epochs_text(run.epochs[-1]),
        "test accuracy": numbers.probability(run.accuracy[-1]),
        "ε filled": numbers.up(run.planned[-1], 4),
        "ε odometer": numbers.up(run.odometer[-1], 4),
        "ended": run.ended,
        "computing": f"{trial.seconds:.0f} s",
        "made": trial.date,
    }


def layout(get: Reader) -> Layout:
    return {
        "Budget": ("runs", "network", FieldControl((shared.POLICIES,), options=OFFERED[get(RUNS)]), "shown"),
        "Show": (
            *((LOG_Y,) if get(shared.SHOWN) == "epsilon" else ()),
            *((shared.VARIANT,) if get(RUNS) == "early" else ()),
        ),
    }


TRAINED = Question(
    "trained",
    "What did trained policies reach?",
    trained,
    Words(headline, metrics, notes, formulas, ASSUMPTIONS),
    asks="arms",
    presets=published("fo1a", "fo1b", "fo1c", "fo1d", "fo2c", "fo2d"),
    layout=layout,
    printed=lambda answer: answer.facts.early and answer.facts.shown == "epsilon",
    more={
        "The runs": lambda answer: [runs_table(answer.facts)],
        "Run again": lambda answer: [Rerun(answer.facts.record.key)],
    },
)
