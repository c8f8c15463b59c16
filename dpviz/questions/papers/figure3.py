"""Figs. 3 and 4 of Triastcyn & Faltings 2020: ε of one step against σ, at the paper's order and at the best one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import Answer, Metric, Note
from dpviz.questions.layout import Expert, Groups, Reader, experts
from dpviz.questions.papers.fields import CLIP_AT, ORDER_3, SEED, UNCLIPPED
from dpviz.questions.papers.figure1 import SYNTHETIC
from dpviz.questions.printed.synthetic import DELTA, ORDERS, RATE, clipped_sample, one_step_curve
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

SIGMAS = tuple(float(s) for s in np.round(np.linspace(0.55, 1.35, 33), 4))


@dataclass(frozen=True)
class NoiseFacts:
    """ε at the least σ, of DP and Bayesian DP, at one order and at the best one; the median distance ÷ 2C."""

    dp_fixed: float
    dp_best: float
    bayes_fixed: float
    bayes_best: float
    median: float


def against_noise(*, quantile: str, unclipped: bool, order: int, seed: int) -> Answer[NoiseFacts]:
    """ε of one step against σ."""
    x = np.array(SIGMAS)
    known: dict[str, Any] = {"sample_rate": RATE, "steps": 1, "delta": DELTA, "noise_multiplier": x}
    fixed = np.asarray(dpviz.epsilon("renyi", conversion="classic", orders=[order + 1.0], **known))
    best = np.asarray(dpviz.epsilon("moments", **known))
    each = one_step_curve(float(quantile), unclipped, seed, SIGMAS)
    bayes, least = each[:, ORDERS.index(order)], each.min(axis=1)
    lines = (
        Line("dp_fixed", f"DP, λ = {order}", x, fixed, "renyi_classic", color=look.BLUE),
        Line("dp_best", "DP, best λ", x, best, "moments"),
        Line("bayesian_fixed", f"Bayesian, λ = {order}", x, bayes, "bayesian", approximate=True),
        Line("bayesian_best", "Bayesian, best λ", x, least, "bayesian", approximate=True, color=look.BROWN),
    )
    plot = LinePlot(
        Axis("noise σ", column="noise_multiplier", hover="σ = %{x:,.3~r}"),
        Axis("ε", log=True, reading="attack"),
        lines,
    )
    distances, sensitivity = clipped_sample(float(quantile), seed)
    median = float(np.median(distances)) / sensitivity
    return Answer(plot, NoiseFacts(float(fixed[0]), float(best[0]), float(bayes[0]), float(least[0]), median))


def headline(a: Answer[NoiseFacts]) -> str:
    f = a.facts
    return (
        f"One step at σ = {SIGMAS[0]:g} costs at λ = {a.given['order']} <b>{short(f.dp_fixed)}</b> by DP and "
        f"<b>{short(f.bayes_fixed)}</b> by Bayesian DP; at the best order of each <b>{short(f.dp_best)}</b> and "
        f"<b>{short(f.bayes_best)}</b>."
    )


def short(value: float) -> str:
    return numbers.epsilon(value)


def metrics(a: Answer[NoiseFacts]) -> list[Metric]:
    f, at = a.facts, f"σ = {SIGMAS[0]:g}, λ = {a.given['order']}"
    return [
        Metric("DP", short(f.dp_fixed), at),
        Metric("Bayesian DP", short(f.bayes_fixed), f"{at}, an estimate"),
        Metric("DP at its best λ", short(f.dp_best), "moments accountant"),
        Metric("Median distance ÷ 2C", numbers.plain(f.median), "of clipped gradients; DP takes 1"),
    ]


def notes(a: Answer[NoiseFacts]) -> list[Note]:
    said = (
        "The paper says that the Bayesian curve nears DP's as C shrinks. It does not here: clipped gradients have one "
        "norm, yet not one direction, and the median distance stays far below 2C at every quantile."
    )
    if a.given["unclipped"]:
        said = (
            "Unclipped gradients have no largest distance: the estimate rests on the largest that was drawn, and "
            "another draw may give another curve."
        )
    return [
        Note(said),
        Note("The paper draws one λ for both; at the best λ of each, both curves lie far lower."),
    ]


def formulas(a: Answer[NoiseFacts]) -> list[tuple[str, str]]:
    return [("One step", r"\varepsilon_\mu = \frac{1}{\lambda}\Big(\hat c(\lambda, 1) - \ln(\delta_\mu - \gamma)\Big)")]


def layout(get: Reader) -> Groups:
    return {"Question": (CLIP_AT, UNCLIPPED, ORDER_3, Expert(SEED)), "Show": experts(IMAGE)}


FIGURE_3: Question[NoiseFacts] = Question(
    key="bdp_figure3",
    option="figure3",
    title="Bayesian DP, Figs. 3 and 4: ε against σ",
    settings={"quantile": CLIP_AT, "unclipped": UNCLIPPED, "order": ORDER_3, "seed": SEED},
    answer=against_noise,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=SYNTHETIC + "- **One step:** T = 1, σ from 0.55 to 1.35. All pairs are not independent: no bound.\n",
    layout=layout,
)
