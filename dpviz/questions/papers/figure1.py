"""Fig. 1 of Triastcyn & Faltings 2020: ε along 100 steps, at the paper's order and at the best one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpviz import library as dpviz
from dpviz.charts import look
from dpviz.charts.marks import Array, Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.fields import numbers
from dpviz.questions.answer import PENDING, Answer, Metric, Note, Pending, Slow
from dpviz.questions.layout import Expert, Groups, Reader, experts
from dpviz.questions.papers.fields import ORDER_1, PANEL, SEED
from dpviz.questions.printed.synthetic import DELTA, ORDERS, RATE, STEPS, epsilon_of_costs, fresh_costs
from dpviz.questions.question import Question
from dpviz.questions.shared import IMAGE

MECHANISM: dict[str, Any] = {"noise_multiplier": 1.0, "sample_rate": RATE}


@dataclass(frozen=True)
class StepsFacts:
    """ε after 100 steps: of DP and of Bayesian DP, at one order and at the best one."""

    dp_fixed: float
    dp_best: float
    bayes_fixed: float | Pending = PENDING
    bayes_best: float | Pending = PENDING


def along_steps(*, quantile: str, order: int, seed: int) -> Answer[StepsFacts]:
    """DP along the steps; quantile and seed decide the Bayesian curves, which come later."""
    x = np.arange(1.0, STEPS + 1.0)
    fixed = np.asarray(
        dpviz.epsilon("renyi", conversion="classic", orders=[order + 1.0], steps=x, delta=DELTA, **MECHANISM)
    )
    best = np.asarray(dpviz.epsilon("moments", steps=x, delta=DELTA, **MECHANISM))
    lines = (
        Line("dp_fixed", f"DP, λ = {order}", x, fixed, "renyi_classic", color=look.BLUE),
        Line("dp_best", "DP, best λ", x, best, "moments"),
    )
    axis = Axis("steps", shown=(0.0, float(STEPS)), hover="%{x:,d} steps", kind="steps", write=numbers.steps)
    plot = LinePlot(axis, Axis("ε", log=True, reading="attack"), lines)
    return Answer(plot, StepsFacts(float(fixed[-1]), float(best[-1])))


def drawn_costs(a: Answer[StepsFacts]) -> Array:
    """ĉ_t(λ) of the 100 steps, 50 new gradients each."""
    return fresh_costs(float(a.given["quantile"]), a.given["seed"])


def with_bayesian(a: Answer[StepsFacts], costs: Array) -> Answer[StepsFacts]:
    """The two Bayesian curves."""
    assert isinstance(a.plot, LinePlot)
    order = a.given["order"]
    each = epsilon_of_costs(costs)
    fixed, best = each[:, ORDERS.index(order)], each.min(axis=1)
    x = np.arange(1.0, STEPS + 1.0)
    lines = (
        Line("bayesian_fixed", f"Bayesian, λ = {order}", x, fixed, "bayesian", approximate=True),
        Line("bayesian_best", "Bayesian, best λ", x, best, "bayesian", approximate=True, color=look.BROWN),
    )
    facts = replace(a.facts, bayes_fixed=float(fixed[-1]), bayes_best=float(best[-1]))
    return replace(a, plot=replace(a.plot, lines=(*a.plot.lines, *lines)), facts=facts)


def headline(a: Answer[StepsFacts]) -> str:
    f = a.facts
    return (
        f"After {STEPS} steps at λ = {a.given['order']} for both, DP costs <b>{eps(f.dp_fixed)}</b> and Bayesian DP "
        f"<b>{eps(f.bayes_fixed)}</b>; at the best order of each, DP <b>{eps(f.dp_best)}</b> and Bayesian DP "
        f"<b>{eps(f.bayes_best)}</b>."
    )


def eps(value: float | Pending) -> str:
    return "…" if value is PENDING else numbers.epsilon(value, digits=4)


def metrics(a: Answer[StepsFacts]) -> list[Metric]:
    f, at = a.facts, f"λ = {a.given['order']}"
    return [
        Metric("DP", eps(f.dp_fixed), at),
        Metric("Bayesian DP", eps(f.bayes_fixed), f"{at}, an estimate, no bound"),
        Metric("DP at its best λ", eps(f.dp_best), "moments accountant"),
        Metric("Bayesian DP at its best λ", eps(f.bayes_best), "an estimate, no bound"),
    ]


def notes(a: Answer[StepsFacts]) -> list[Note]:
    f = a.facts
    if f.bayes_best is PENDING:
        gain = "An order is free to choose in both, so what each gains by choosing belongs to the comparison."
    elif f.bayes_best < f.dp_best:
        gain = "At the best λ of each the gain is what is left between the lower two curves."
    else:
        gain = (
            "An order is free to choose in both, so what DP gains by choosing belongs to the comparison; with it, "
            "Bayesian DP does not gain in this draw."
        )
    return [
        Note(f"The paper draws the two curves of one λ, 16. {gain}"),
        Note(
            "Dashed: the estimate as the authors' notebook makes it, from all pairs of 50 new gradients a step. These "
            "pairs are not independent and unclipped gradients have no largest distance: it is no bound."
        ),
    ]


def formulas(a: Answer[StepsFacts]) -> list[tuple[str, str]]:
    return [
        (
            "Bayesian DP at one order (Triastcyn & Faltings 2020, Theorem 2)",
            r"\varepsilon_\mu = \frac{1}{\lambda}\Big(\sum_t \hat c_t(\lambda,T) - \ln(\delta_\mu - \Gamma)\Big)",
        ),
        ("DP at one order", r"\varepsilon = \frac{1}{\lambda}\Big(T\,\alpha(\lambda) - \ln\delta\Big)"),
    ]


def layout(get: Reader) -> Groups:
    return {"Question": (PANEL, ORDER_1, Expert(SEED)), "Show": experts(IMAGE)}


SYNTHETIC = """
- **Gradients** (Triastcyn & Faltings 2020, §5.1 and their public notebook): 50 vectors of 1000 Weibull(0.5)
  coordinates, all 1225 pairs.
- **Noise:** C is a quantile of the norms; DP has the sensitivity 2C of two clipped gradients; both have the noise
  2σC. q = 1/1000, δ = δ_μ = 1e-5, γ = 1e-15 for each estimate.
- **One draw:** another seed gives other Bayesian curves.
"""

FIGURE_1: Question[StepsFacts] = Question(
    key="bdp_figure1",
    option="figure1",
    title="Bayesian DP, Fig. 1: ε along steps",
    settings={"quantile": PANEL, "order": ORDER_1, "seed": SEED},
    answer=along_steps,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=SYNTHETIC + "- **Fresh samples:** 50 new gradients, unclipped, at each of T = 100 steps; σ = 1.\n",
    slow=(Slow(lambda a: (a.given["quantile"], a.given["seed"]), drawn_costs, with_bayesian),),
    layout=layout,
)
