"""Error against ε."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.accounting.langevin.mse import mse_proposition5
from dpviz.charts import look
from dpviz.charts.guides import Guide
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import TIGHT, Array, Chain, ChainFacts, epsilon_grid, known, proven, step_sizes
from dpviz.questions.langevin.error import COMPARE, VARIANCE, error, error_axis, headline
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.langevin.sizes import wang_region
from dpviz.questions.langevin.words import ASSUMPTIONS, MORE, formulas, metrics, wang_note
from dpviz.questions.question import Question


def error_of_epsilon(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound at the largest step size for each ε; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    x = epsilon_grid(chain.claim)
    facts = known(chain, epsilon=x)
    sizes = proven(facts.allowed.step_size[:-1])
    bound = error(chain, sizes, gradient_variance)
    lines = [Line("composed", "largest private steps", x, bound, "moments", color=look.BLUE)]
    if not chain.momentum:
        wang = error(chain, step_sizes(chain, "wang", x), gradient_variance)
        lines.append(Line("wang", "Wang et al. 2015", x, wang, "moments", color=look.ORANGE, kept=False))
        if chain.exponent:
            printed = proposition5(chain, sizes, gradient_variance)
            name = "Prop. 5 as printed"
            lines.append(
                Line("proposition5", name, x, printed, "moments", color=look.GREY, approximate=True, kept=False)
            )
    plot = LinePlot(
        x=Axis("ε", column="epsilon", log=True, hover="ε = %{x:.4~g}"),
        y=error_axis(),
        lines=tuple(lines),
        regions=wang_region(chain),
        guides=(Guide("x", chain.claim, f"claimed ε = {chain.claim:g}", told=False),),
    )
    return Answer(plot, facts)


@np.errstate(all="ignore")
def proposition5(chain: Chain, step_size: Array, variance: float) -> Array:
    """Proposition 5 as printed: η̃₀ = ε²/(c₂² L² ln(1/δ)) is the largest step size without its N and T."""
    scale = step_size * chain.steps ** (2 / 3) / chain.n
    found, there = np.full(scale.shape, np.nan), np.isfinite(scale)
    if there.any():
        found[there] = mse_proposition5(
            scale[there], steps=chain.steps, n=chain.n, batch_size=chain.batch_size, gradient_variance=variance
        )
    return found


def notes(a: Answer[ChainFacts]) -> list[Note]:
    chain, built = a.facts.chain, words.notes(a)
    if chain.exponent and not chain.momentum:
        built.append(
            Note(
                "Proposition 5 as printed does not follow from its source (other powers of T, no N): it is drawn "
                "dashed; the other curves sum the step sizes themselves."
            )
        )
    return [*built, COMPARE, wang_note(chain)]


MSE_EPSILON: Question[ChainFacts] = Question(
    key="langevin_mse_epsilon",
    option="mse_epsilon",
    title="Error against ε",
    settings={**SETTINGS, "gradient_variance": VARIANCE},
    answer=error_of_epsilon,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    slow=(TIGHT,),
    layout=layout(VARIANCE),
    more=MORE,
)
