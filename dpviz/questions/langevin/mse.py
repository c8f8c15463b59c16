"""Error against step size."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.charts import look
from dpviz.charts.guides import Guide
from dpviz.charts.marks import Line
from dpviz.charts.plot import Axis, LinePlot
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin import words
from dpviz.questions.langevin.chain import EPSILON_POINTS, TIGHT, Chain, ChainFacts, known
from dpviz.questions.langevin.error import COMPARE, VARIANCE, error, error_axis, headline, least
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.langevin.words import ASSUMPTIONS, MORE, formulas, metrics
from dpviz.questions.question import Question


def against_step_size(*, gradient_variance: float, **setting: Any) -> Answer[ChainFacts]:
    """The error bound around the best, the present and the largest private step size; keywords as in `Chain`, and Γ."""
    chain = Chain(**setting)
    facts, best = known(chain), least(chain)
    places = {"least error": best, "yours": chain.step_size}
    if facts.largest > 0.0:
        places[f"largest for ε = {chain.claim:g}"] = facts.largest
    x = np.geomspace(min(places.values()) / 5.0, max(places.values()) * 5.0, EPSILON_POINTS)
    bound = error(chain, x, gradient_variance)
    plot = LinePlot(
        x=Axis("step size η₁", column="step_size", log=True, hover="step size η₁ = %{x:.4~g}"),
        y=error_axis(),
        lines=(Line("bound", "error bound", x, bound, "moments", color=look.BLUE),),
        guides=tuple(Guide("x", at, name, told=False) for name, at in places.items()),
    )
    return Answer(plot, facts)


def notes(a: Answer[ChainFacts]) -> list[Note]:
    return [*words.notes(a), COMPARE]


MSE: Question[ChainFacts] = Question(
    key="langevin_mse",
    option="mse",
    title="Error against step size",
    settings={**SETTINGS, "gradient_variance": VARIANCE},
    answer=against_step_size,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    slow=(TIGHT,),
    layout=layout(VARIANCE),
    more=MORE,
)
