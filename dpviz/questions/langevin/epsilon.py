"""Largest step size against ε."""

from __future__ import annotations

from typing import Any

from dpviz.charts import numbers
from dpviz.charts.guides import Guide
from dpviz.charts.plot import Axis
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin import presets, sizes
from dpviz.questions.langevin.chain import TIGHT, Chain, ChainFacts, epsilon_grid, known, proven, step_sizes
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.langevin.sizes import headline, size_plot, theorems, wang_region
from dpviz.questions.langevin.words import ASSUMPTIONS, MORE, formulas, metrics
from dpviz.questions.question import Question


def against_epsilon(**setting: Any) -> Answer[ChainFacts]:
    """The largest step size for each ε, by theorem; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = epsilon_grid(chain.claim)
    facts = known(chain, epsilon=x)
    own = {chain.theorem: proven(facts.allowed.step_size[:-1])}
    curves = {t: own[t] if t in own else step_sizes(chain, t, x) for t in theorems(chain)}
    axis = Axis("ε", column="epsilon", log=True, hover="ε = %{x:.4~g}")
    here = Guide("x", chain.claim, f"ε = {chain.claim:g}", told=False)
    return Answer(size_plot(chain, curves, x, axis, here, wang_region(chain)), facts)


def notes(a: Answer[ChainFacts]) -> list[Note]:
    f, chain = a.facts, a.facts.chain
    if (chain.n, chain.steps, chain.clip, chain.step_size) != (50_000, 10_000, 1.0, 0.103):
        return sizes.notes(a)
    return sizes.notes(
        a,
        Note(
            "Printed 0.103 at ε = 0.1: composed, those steps cost "
            f"{numbers.epsilon(f.epsilon('classic'), up=True)} by the classic conversion. The printed 1.54e-6 "
            "of Wang et al. is their formula with ln(T/δ) for ln(2.5T/δ)."
        ),
    )


EPSILON: Question[ChainFacts] = Question(
    key="langevin_epsilon",
    option="epsilon",
    title="Largest step size against ε",
    settings=SETTINGS,
    answer=against_epsilon,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=(presets.FIGURE_1,),
    slow=(TIGHT,),
    layout=layout(),
    more=MORE,
)
