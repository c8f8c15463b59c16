"""Bayesian DP, Figs. 3 and 4: ε of one step against σ (Triastcyn & Faltings 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from dpviz.charts import Axis, LinePlot
from dpviz.fields import choice, flag, number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Question, Words, experts
from dpviz.questions.papers.bayesian_curves import GRADIENTS, bayesian_lines, bayesian_pair, dp_lines, dp_pair
from dpviz.questions.printed import synthetic

SEED = number("pseed")
SIGMAS = tuple(float(sigma) for sigma in np.round(np.linspace(0.55, 1.35, 33), 4))


@dataclass(frozen=True)
class AgainstNoiseFacts:
    """ε at the least noise, at the fixed order and at the best one; of Bayesian DP estimates.

    Attributes:
        median: the median distance of clipped gradients ÷ 2C.
        order: λ of the figures.
        unclipped: whether the gradients of Bayesian DP are.
    """

    dp_fixed: float
    dp_best: float
    bayesian_fixed: float
    bayesian_best: float
    median: float
    order: int
    unclipped: bool


def against_noise(
    *,
    quantile: Annotated[str, choice("pclip")],
    unclipped: Annotated[bool, flag("punclip")],
    order: Annotated[int, number("plam3")],
    seed: Annotated[int, SEED],
) -> Answer[AgainstNoiseFacts]:
    """All four curves."""
    x = np.array(SIGMAS)
    dp = dp_pair(order, steps=1, noise_multiplier=x)
    bayesian = bayesian_pair(order, synthetic.one_step_curve(float(quantile), unclipped, seed, SIGMAS))
    plot = LinePlot(
        x=Axis("noise σ", column="noise_multiplier", hover="σ = %{x:,.3~r}"),
        y=Axis("ε", log=True, reading="attack"),
        lines=(*dp_lines(x, order, dp), *bayesian_lines(x, order, bayesian)),
    )
    facts = AgainstNoiseFacts(
        dp_fixed=float(dp.fixed[0]),
        dp_best=float(dp.best[0]),
        bayesian_fixed=float(bayesian.fixed[0]),
        bayesian_best=float(bayesian.best[0]),
        median=synthetic.median_share(float(quantile), seed),
        order=order,
        unclipped=unclipped,
    )
    return Answer(plot, facts)


def headline(f: AgainstNoiseFacts) -> str:
    return (
        f"For one step at σ = 0.55, each at its best order, DP gives <b>ε = {numbers.up(f.dp_best)}</b> and the "
        f"Bayesian estimate is <b>{numbers.epsilon(f.bayesian_best)}</b>."
    )


def metrics(f: AgainstNoiseFacts) -> Iterator[Metric]:
    yield Metric("DP", numbers.up(f.dp_fixed), f"σ = 0.55, λ = {f.order}")
    yield Metric("Bayesian DP", numbers.epsilon(f.bayesian_fixed), f"σ = 0.55, λ = {f.order}, an estimate")
    yield Metric("DP at its best λ", numbers.up(f.dp_best), "moments accountant")
    yield Metric("Median distance ÷ 2C", numbers.plain(f.median), "of clipped gradients; DP takes 1")


def notes(f: AgainstNoiseFacts) -> Iterator[Note]:
    if f.unclipped:
        yield Note(
            "Unclipped gradients have no largest distance: the estimate depends on the largest one drawn, and another "
            "draw may give another curve."
        )
    else:
        yield Note(
            "The paper says that the Bayesian curve approaches that of DP as C decreases. Here it moves towards that "
            "curve but does not reach it: clipped gradients have the same norm but different directions, so the median "
            "distance stays below 2C."
        )
    yield Note("The paper draws both at the same λ; at the best λ of each, both curves are far lower.")


FORMULAS = (
    Formula("One step", r"\varepsilon_\mu = \frac{1}{\lambda}\Big(\hat c(\lambda, 1) - \ln(\delta_\mu - \gamma)\Big)"),
)
ASSUMPTIONS = f"""{GRADIENTS}
- **One step:** T = 1, σ from 0.55 to 1.35. All pairs are not independent: no bound.
"""

FIGURE_3 = Question(
    "bdp_figure3",
    "Bayesian DP, Figs. 3 and 4: ε against σ",
    against_noise,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    asks="bayesian_best",
    layout={"Question": ("quantile", "unclipped", "order", *experts(SEED))},
    option="figure3",
)
