"""Bayesian DP, Fig. 1: ε along 100 steps, 50 new gradients at each (Triastcyn & Faltings 2020)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from dpviz._arrays import Array
from dpviz.charts import Axis, LinePlot
from dpviz.fields import choice, number, numbers
from dpviz.questions import Answer, Formula, Metric, Note, Question, Slow, Words, experts
from dpviz.questions.papers.bayesian_curves import GRADIENTS, bayesian_lines, bayesian_pair, dp_lines, dp_pair
from dpviz.questions.printed import synthetic

SEED = number("pseed")
STEPS = np.arange(1.0, synthetic.STEPS + 1.0)


@dataclass(frozen=True)
class AlongStepsFacts:
    """ε after the last step, at the fixed order and at the best one; of Bayesian DP None while it is computed.

    Attributes:
        quantile: of the norms, which is C; a choice's text.
        order: λ of the figure.
    """

    dp_fixed: float
    dp_best: float
    quantile: str
    order: int
    seed: int
    bayesian_fixed: float | None = None
    bayesian_best: float | None = None


def along_steps(
    *, quantile: Annotated[str, choice("pquant")], order: Annotated[int, number("plam")], seed: Annotated[int, SEED]
) -> Answer[AlongStepsFacts]:
    """DP along the steps; quantile and seed decide the Bayesian curves, which come later."""
    pair = dp_pair(order, steps=STEPS, noise_multiplier=1.0)
    plot = LinePlot(
        x=Axis("steps", kind="steps", shown=(0.0, 100.0), hover="%{x:,d} steps", write=numbers.steps),
        y=Axis("ε", log=True, reading="attack"),
        lines=dp_lines(STEPS, order, pair),
    )
    facts = AlongStepsFacts(float(pair.fixed[-1]), float(pair.best[-1]), quantile, order, seed)
    return Answer(plot, facts)


def costs(answer: Answer[AlongStepsFacts]) -> Array:
    """ĉ_t(λ) of the steps."""
    return synthetic.fresh_costs(float(answer.facts.quantile), answer.facts.seed)


def with_bayesian(answer: Answer[AlongStepsFacts], costs: Array) -> Answer[AlongStepsFacts]:
    """The two Bayesian curves as well."""
    assert isinstance(answer.plot, LinePlot)
    pair = bayesian_pair(answer.facts.order, synthetic.epsilon_of_costs(costs))
    lines = (*answer.plot.lines, *bayesian_lines(STEPS, answer.facts.order, pair))
    facts = replace(answer.facts, bayesian_fixed=float(pair.fixed[-1]), bayesian_best=float(pair.best[-1]))
    return replace(answer, plot=replace(answer.plot, lines=lines), facts=facts)


def estimate(epsilon: float | None) -> str:
    """An estimate to four digits; "…" while it is computed."""
    return "…" if epsilon is None else numbers.epsilon(epsilon, digits=4)


def headline(f: AlongStepsFacts) -> str:
    return (
        f"After 100 steps, each at its best order, DP gives <b>ε = {numbers.up(f.dp_best, 4)}</b> and the Bayesian "
        f"estimate is <b>{estimate(f.bayesian_best)}</b>."
    )


def metrics(f: AlongStepsFacts) -> Iterator[Metric]:
    yield Metric("DP", numbers.up(f.dp_fixed, 4), f"λ = {f.order}")
    yield Metric("Bayesian DP", estimate(f.bayesian_fixed), f"λ = {f.order}, an estimate, no bound")
    yield Metric("DP at its best λ", numbers.up(f.dp_best, 4), "moments accountant")
    yield Metric("Bayesian DP at its best λ", estimate(f.bayesian_best), "an estimate, no bound")


def notes(f: AlongStepsFacts) -> Iterator[Note]:
    if f.bayesian_best is None:
        compared = "Both may use their best order, so a fair comparison includes this choice."
    elif f.bayesian_best < f.dp_best:
        compared = "At the best λ of each, the remaining gain is the distance between the lower two curves."
    else:
        compared = "At the best λ of each, Bayesian DP does not gain in this draw."
    yield Note(f"The paper draws both curves at λ = 16. {compared}")
    yield Note(
        "Dashed: the estimate of the authors' notebook, from all pairs of 50 new gradients per step. It is not a "
        "bound, because the pairs are not independent and unclipped gradients have no largest distance."
    )


FORMULAS = (
    Formula(
        "Bayesian DP at one order (Triastcyn & Faltings 2020, Theorem 2)",
        r"\varepsilon_\mu = \frac{1}{\lambda}\Big(\sum_t \hat c_t(\lambda,T) - \ln(\delta_\mu - \Gamma)\Big)",
    ),
    Formula("DP at one order", r"\varepsilon = \frac{1}{\lambda}\Big(T\,\alpha(\lambda) - \ln\delta\Big)"),
)
ASSUMPTIONS = f"""{GRADIENTS}
- **Fresh samples:** 50 new gradients, unclipped, at each of T = 100 steps; σ = 1.
"""

FIGURE_1 = Question(
    "bdp_figure1",
    "Bayesian DP, Fig. 1: ε along steps",
    along_steps,
    Words(headline, metrics, notes, lambda _: FORMULAS, ASSUMPTIONS),
    asks="bayesian_best",
    layout={"Question": ("quantile", "order", *experts(SEED))},
    slow=(Slow(lambda answer: (answer.facts.quantile, answer.facts.seed), costs, with_bayesian),),
    option="figure1",
)
