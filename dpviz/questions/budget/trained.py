"""What policies did in training runs that were recorded, with error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from dpviz.charts.marks import Column, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Rerun
from dpviz.questions.budget import fields
from dpviz.questions.budget.courses import ENDS, WRITTEN, Courses, courses, together
from dpviz.questions.budget.shared import COLORS, POLICIES, QUANTITIES, budget_axis, epsilon, floors
from dpviz.questions.layout import Groups, Offered, Reader
from dpviz.questions.presets import presets
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE, LOG_Y
from dpviz.questions.words import words

OFFERED = {"budget": ("fixed", "noise", "batch"), "early": ("fixed", "tune")}


def trained(
    *, runs: str, network: str, variant: str, policies: tuple[str, ...], shown: str, log_y: bool
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
        lines.append(Line(key, POLICIES[key], epochs, mean, "odometer", color=colour, hover=ends, spread=spread))
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
    rows = [
        (
            POLICIES[key],
            trial.seed,
            WRITTEN["epochs"](run.epochs[-1]),
            numbers.probability(float(run.accuracy[-1])),
            epsilon(float(run.planned[-1]), 4),
            epsilon(float(run.odometer[-1]), 4),
            ENDS[run.reason],
            f"{trial.seconds:.0f} s",
            trial.date,
        )
        for key, of_seeds in answer.facts.arms.items()
        for trial, run in zip(answer.facts.record.of(key), of_seeds, strict=True)
    ]
    names = ("policy", "seed", "epochs", "test accuracy", "ε filled", "ε odometer", "ended", "computing", "made")
    return pd.DataFrame(rows, columns=names)


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
    settings={
        "runs": fields.RUNS,
        "network": fields.NETWORK,
        "variant": fields.VARIANT,
        "policies": fields.POLICIES,
        "shown": fields.SHOWN,
        "log_y": LOG_Y,
    },
    answer=trained,
    **words("budget", "trained"),
    presets=presets("fo1a", "fo1b", "fo1c", "fo1d", "fo2c", "fo2d"),
    printed=lambda answer: answer.given["shown"] == "epsilon" and answer.given["runs"] == "early",
    layout=layout,
    more={
        "The runs": lambda answer: [runs_table(answer)],
        "Run again": lambda answer: [Rerun(answer.facts.record.key)],
    },
)
