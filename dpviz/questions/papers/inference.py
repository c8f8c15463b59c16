"""Table 1 of Triastcyn & Faltings 2020, Abalone and Adult: what private variational inference reaches at which ε."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from dpviz.charts.marks import Band, Column, Guide, Line, Point
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Rerun
from dpviz.questions.papers.fields import INFERRED
from dpviz.questions.papers.reproduction import Facts, reproduction
from dpviz.questions.printed import BY_KEY
from dpviz.questions.printed.bayesian import LAST_ORDER
from dpviz.questions.printed.inferred import PLAIN, inferred
from dpviz.questions.question import Block
from dpviz.questions.words import tenths

TABLE = "Triastcyn & Faltings 2020, Table 1"
ROWS = {"dp": "dp-{}", "bayesian": "bdp-{}", "plain": "accuracy-{}-0", "private": "accuracy-{}-1"}


def inference(*, data: str) -> Answer[Facts]:
    """Accuracy against ε, by two accounts of the same runs."""
    runs = inferred(data)
    claims = {name: BY_KEY[f"bdp-table1-{row.format(data)}"] for name, row in ROWS.items()}
    printed = Facts(**{name: float(claim.printed.removesuffix(" %")) for name, claim in claims.items()})
    mean, lowest, highest = (100.0 * np.array(column) for column in zip(*runs.accuracy, strict=True))
    without, dp, bayesian, private = 100.0 * runs.without.mean, printed.dp, printed.bayesian, printed.private
    order = np.argsort(runs.moments)
    noise = Column("σ", runs.sigma[order], key="sigma")
    low, high = min(lowest.min(), private, without), max(highest.max(), private, without)
    shown = (0.8 * min(bayesian, dp, runs.moments.min()), 1.4 * max(runs.bayesian.max(), runs.moments.max(), dp))
    plot = LinePlot(
        Axis("ε of the whole run", name="ε", column="epsilon", log=True, hover="ε = %{x:,.3~r}", shown=shown,
             marks=tuple(np.sort(np.concatenate([runs.moments, runs.bayesian])))),
        Axis("test accuracy, %", name="accuracy", column="accuracy_percent", shown=(low - 0.5, high + 0.5),
             write=percent),
        (
            Line("moments", "moments, δ = 10⁻⁵", runs.moments[order], mean[order], "moments", hover=(noise,),
                 write=percent),
            Line("bayesian", "Bayesian, δ_μ = 10⁻¹⁰", runs.bayesian[order], mean[order], "bayesian", hover=(noise,),
                 write=percent),
        ),
        bands=(Band("all seeds", runs.moments[order], lowest[order], highest[order], key="seeds"),),
        points=(
            Point(dp, private, f"{private:g} % at DP's ε = {dp:g}, {TABLE}", "moments"),
            Point(bayesian, private, f"{private:g} % at Bayesian ε = {bayesian:g}, {TABLE}", "bayesian"),
        ),
        guides=(Guide("y", without, f"without privacy {percent(without)}"),),
        end_values=False,
        names_on_lines=True,
    )  # fmt: skip
    at = runs.within(dp)
    settings = {name: runs.settings[name] for name in ("batch_size", "steps", "max_grad_norm")}
    facts = Facts(
        runs=runs,
        printed=printed,
        reached=runs.accuracy[at],
        without=runs.without,
        made=runs.record.made,
        least=-math.log(runs.settings["delta"]) / LAST_ORDER,
        least_mu=-math.log(runs.settings["delta_mu"]) / LAST_ORDER,
        **settings,
        **{name: float(getattr(runs, name)[at]) for name in ("sigma", "moments", "strict", "bayesian", "clipped")},
    )
    return Answer(plot, facts)


def percent(value: float) -> str:
    return f"{value:.1f}\u00a0%"


def table(answer: Answer[Facts]) -> list[Block]:
    """A row for each level of noise."""
    runs, share = answer.facts.runs, tenths
    levels = (
        {"σ": "none", "ε, moments": "–", "ε_μ, Bayesian": "–", "clipped": "–"},
        *(
            {
                "σ": f"{runs.sigma[i]:g}",
                "ε, moments": numbers.epsilon(runs.moments[i], up=True),
                "ε_μ, Bayesian": numbers.epsilon(runs.bayesian[i], up=True),
                "clipped": numbers.probability(float(runs.clipped[i])),
            }
            for i in range(len(runs.arms))
        ),
    )
    reached = (runs.without, *runs.accuracy)
    rows = [
        level
        | {
            "accuracy": share(spread.mean),
            "seeds from to": f"{share(spread.lowest)} to {share(spread.highest)}",
            "of the mean weights": share(runs.record.spread(arm, "test_accuracy").mean),
        }
        for level, spread, arm in zip(levels, reached, (PLAIN, *runs.arms), strict=True)
    ]
    columns = ["σ", "ε, moments", "ε_μ, Bayesian", "accuracy", "seeds from to", "of the mean weights", "clipped"]
    return [pd.DataFrame(rows)[columns]]


INFERENCE = reproduction(
    "bayesian",
    "inference",
    inference,
    {"data": INFERRED},
    {"Question": (INFERRED,)},
    more={"The runs": table, "One run again": lambda answer: (Rerun(answer.facts.runs.record.key),)},
    option="bdpvi",
)
