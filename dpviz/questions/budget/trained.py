"""What policies did in training runs that were recorded, with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from dpviz.charts.marks import Column, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.experiments.record import Spread
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note, Rerun
from dpviz.questions.budget import fields
from dpviz.questions.budget.courses import Course, Courses, courses, together
from dpviz.questions.budget.policy import COLORS
from dpviz.questions.budget.trajectories import NAMES, QUANTITIES
from dpviz.questions.budget.words import TRAINED_ASSUMPTIONS, budget_axis, epsilon, floors, rise_formula
from dpviz.questions.layout import Groups, Offered, Reader
from dpviz.questions.presets import presets
from dpviz.questions.question import Block, Question
from dpviz.questions.shared import IMAGE, LOG_Y

OFFERED = {"budget": ("fixed", "noise", "batch"), "early": ("fixed", "tune")}
ENDS = {"plan": "plan done", "budget": "budget used up", "goal": "goal reached"}


def trained(
    *, runs: str, network: str, variant: str, policies: tuple[str, ...], shown: str, log_y: bool
) -> Answer[Courses]:
    """What the recorded runs of each policy used, cost and reached: mean over seeds, lowest and highest."""
    found = courses(f"{runs}_{network}", variant)
    arms = {key: found.arms[key] for key in OFFERED[runs] if key in policies}
    budgeted, costs = runs == "budget", shown == "epsilon"
    quantity = QUANTITIES.get(shown, "planned" if budgeted else "odometer")
    floor = found.budget if budgeted and costs else None
    lines = []
    for key, of_seeds in arms.items():
        epochs, mean, lowest, highest = together(of_seeds, quantity)
        ends = (Column("lowest", lowest), Column("highest", highest))
        colour, spread = COLORS[key], (lowest, highest)
        lines.append(Line(key, NAMES[key], epochs, mean, "odometer", color=colour, hover=ends, spread=spread))
    end = max((float(run.epochs[-1]) for of_seeds in arms.values() for run in of_seeds), default=1.0)
    end = end if budgeted else max(end, 8.0)  # up to where the paper's printed values lie
    plot = LinePlot(
        x=Axis("epochs", shown=(0.0, 1.02 * end), hover="%{x:,.3~r} epochs"),
        y=budget_axis(shown, "test accuracy", log=log_y, budget=floor, span=zoomed if shown == "accuracy" else None),
        lines=tuple(lines),
        floors=floors(floor),
        said="Error bars reach from the lowest to the highest seed.",
    )
    return Answer(plot, Courses(found.record, arms, found.budget, found.delta))


def last(of_seeds: tuple[Course, ...], quantity: str) -> Spread:
    """A quantity at the runs' ends."""
    return Spread.of([getattr(run, quantity)[-1] for run in of_seeds])


def between(spread: Spread, write: partial[str]) -> str:
    """ "94.1 % (93.9 % to 94.4 %)", or one value where all seeds have the same."""
    mean, low, high = (write(value) for value in spread)
    return mean if low == high else f"{mean} ({low} to {high})"


EPOCHS = partial(numbers.plain, digits=2)
SHARE = partial(numbers.probability)
COST = partial(epsilon)


def headline(a: Answer[Courses]) -> str:
    f, early = a.facts, a.given["runs"] == "early"
    if not f.arms:
        return "No policy is switched on: switch one on beside the chart."
    said = []
    for key, of_seeds in f.arms.items():
        epochs = between(last(of_seeds, "epochs"), EPOCHS)
        got = f"ε {between(last(of_seeds, 'odometer'), COST)}" if early else between(last(of_seeds, "accuracy"), SHARE)
        said.append(f"{NAMES[key]} <b>{epochs}</b> epochs, <b>{got}</b>")
    delta, seeds = numbers.delta(f.delta), len(next(iter(f.arms.values())))
    head = f"Really trained on 10,000 digits to 80 %, read by an odometer at δ = {delta}"
    if not early:
        head = f"Really trained on 10,000 digits with a budget of <b>ε = {epsilon(f.budget)}</b> at δ = {delta}"
    return f"{head}, mean of {seeds} seeds (lowest to highest): {'; '.join(said)}."


def metrics(a: Answer[Courses]) -> list[Metric]:
    built = []
    for key, of_seeds in a.facts.arms.items():
        accuracy, epochs = last(of_seeds, "accuracy"), between(last(of_seeds, "epochs"), EPOCHS)
        ended = " or ".join(sorted({ENDS[run.reason] for run in of_seeds}))
        ends = f"{numbers.probability(accuracy.lowest)} to {numbers.probability(accuracy.highest)}"
        built.append(
            Metric(NAMES[key].capitalize(), numbers.probability(accuracy.mean), f"{ends}; {epochs} epochs; {ended}")
        )
    return built


def notes(a: Answer[Courses]) -> list[Note]:
    f, network = a.facts, fields.NETWORK.options[a.given["network"]]
    said = [
        Note(
            f"Recorded runs: MNIST, 10,000 digits shipped with dpviz, {network}, batches of 102; {f.record.made}. "
            "They are seeded, so that anyone can repeat them: such runs protect nobody, and ε is what secret noise "
            f"would allow. “{f.record.command}” makes all of them again, Run again one."
        )
    ]
    if a.given["runs"] == "early" and {"fixed", "tune"} <= set(f.arms):
        costs, epochs = ({key: last(runs, name) for key, runs in f.arms.items()} for name in ("odometer", "epochs"))
        here = {key: f"ε = {between(costs[key], COST)} after {between(epochs[key], EPOCHS)} epochs" for key in f.arms}
        said.append(
            Note(
                "Printed: ε = 1.45 in under 8 epochs with fine-tuning, and 3.24 in 6 without (Fig. 2d). Here: "
                f"{here['tune']}, and {here['fixed']}. An epoch costs the same in both; how many it takes, and when σ "
                "falls, depends on data and network: there an ImageNet network on CIFAR-10, here digits."
            )
        )
    if a.given["runs"] == "budget" and "fixed" in f.arms and len(f.arms) > 1:
        beside = "; ".join(f"{NAMES[key]} {against(f.arms['fixed'], f.arms[key])}" for key in f.arms if key != "fixed")
        said.append(
            Note(
                "Printed: adaptive noise trains up to 3 times as long and gains 2.64 points; adaptive batch gains 0.98 "
                f"(Fig. 1). Here: {beside}. Most of what these networks learn of digits they learn within five epochs, "
                "and steps keep their length when the noise per example grows."
            )
        )
    return said


def against(fixed: tuple[Course, ...], adapted: tuple[Course, ...]) -> str:
    """ "1.21 times as long, −0.8 points": means of an adaptive policy beside those of the fixed plan."""
    longer = last(adapted, "epochs").mean / last(fixed, "epochs").mean
    gained = 100.0 * (last(adapted, "accuracy").mean - last(fixed, "accuracy").mean)
    return f"{longer:.2f} times as long, {gained:+.1f} points".replace("-", "−")


def zoomed(lines: Sequence[Line]) -> tuple[float, float]:
    """Accuracies from the tenth below the lowest after the first epoch: before it all of them are at chance."""
    later = [np.asarray(line.y)[1:] for line in lines]
    lowest = min((float(y.min()) for y in later if y.size), default=0.0)
    return math.floor(10.0 * lowest) / 10.0, 1.0


def formulas(a: Answer[Courses]) -> list[tuple[str, str]]:
    return [
        rise_formula("c", 100 if a.given["runs"] == "early" else 20),
        (
            "a point and its bar, over the seeds s = 1 … S of an arm",
            r"\bar y = \frac1S \sum_s y_s, \qquad \left[\min_s y_s,\ \max_s y_s\right]",
        ),
    ]


def runs_table(a: Answer[Courses]) -> pd.DataFrame:
    """A row a run."""
    rows = [
        (
            NAMES[key],
            trial.seed,
            EPOCHS(run.epochs[-1]),
            numbers.probability(float(run.accuracy[-1])),
            epsilon(float(run.planned[-1]), 4),
            epsilon(float(run.odometer[-1]), 4),
            ENDS[run.reason],
            f"{trial.seconds:.0f} s",
            trial.date,
        )
        for key, of_seeds in a.facts.arms.items()
        for trial, run in zip(a.facts.record.of(key), of_seeds, strict=True)
    ]
    names = ("policy", "seed", "epochs", "test accuracy", "ε filled", "ε odometer", "ended", "computing", "made")
    return pd.DataFrame(rows, columns=names)


def again(a: Answer[Courses]) -> list[Block]:
    return [Rerun(a.facts.record.key)]


def layout(get: Reader) -> Groups:
    return {
        "Budget": (fields.RUNS, fields.NETWORK, Offered(fields.POLICIES, OFFERED[get(fields.RUNS)]), fields.SHOWN),
        "Show": (
            *((LOG_Y,) if get(fields.SHOWN) == "epsilon" else ()),
            *((fields.VARIANT,) if get(fields.RUNS) == "early" else ()),
            IMAGE,
        ),
    }


TRAINED: Question[Courses] = Question(
    key="trained",
    title="Policies, really trained",
    settings={
        "runs": fields.RUNS,
        "network": fields.NETWORK,
        "variant": fields.VARIANT,
        "policies": fields.POLICIES,
        "shown": fields.SHOWN,
        "log_y": LOG_Y,
    },
    answer=trained,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=TRAINED_ASSUMPTIONS,
    presets=presets("fo1a", "fo1b", "fo1c", "fo1d", "fo2c", "fo2d"),
    printed=lambda a: a.given["shown"] == "epsilon" and a.given["runs"] == "early",
    layout=layout,
    more={"The runs": lambda a: [runs_table(a)], "Run again": again},
)
