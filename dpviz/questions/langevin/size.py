"""Largest step size against the size of the data set."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from dpviz.charts import numbers
from dpviz.charts.guides import Guide
from dpviz.charts.plot import Axis
from dpviz.questions.answer import Answer
from dpviz.questions.fields import Flag
from dpviz.questions.langevin import presets
from dpviz.questions.langevin.chain import TIGHT, Chain, ChainFacts, known, step_sizes
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.langevin.sizes import headline, notes, size_plot, theorems
from dpviz.questions.langevin.words import ASSUMPTIONS, MORE, formulas, metrics
from dpviz.questions.question import Question

RULE = Flag(
    key="lrule",
    label="τ = √N, T = N, δ = 1/N",
    default=True,
    help="The rule of Li et al., Fig. 2; without it τ, T and δ stay as they are set.",
)


def against_size(*, rule: bool, **setting: Any) -> Answer[ChainFacts]:
    """The largest step size for the claim at each N, by theorem; keywords as in `Chain`, and Li et al.'s rule."""
    chain = Chain(**setting)
    x = np.unique(np.round(np.geomspace(1e3, 1e6, 7)))
    chains = [with_size(chain, float(n), rule) for n in x]
    curves = {
        theorem: np.array([largest(other, theorem) if other.batch_size <= other.n else np.nan for other in chains])
        for theorem in theorems(chain)
    }
    axis = Axis("data set N", column="n", log=True, kind="steps", hover="N = %{x:,d}", write=numbers.steps)
    here = Guide("x", chain.n, f"N = {chain.n:g}", told=False)
    return Answer(size_plot(chain, curves, x, axis, here), known(chain))


def with_size(chain: Chain, n: float, rule: bool) -> Chain:
    """The same steps for a data set of `n`, by the rule or with all else as it is."""
    if not rule:
        return replace(chain, n=n)
    return replace(chain, n=n, batch_size=math.sqrt(n), steps=round(n), delta=1.0 / n)


def largest(chain: Chain, theorem: str) -> float:
    return float(step_sizes(chain, theorem, chain.claim))


SIZE: Question[ChainFacts] = Question(
    key="langevin_size",
    option="size",
    title="Largest step size against N",
    settings={**SETTINGS, "rule": RULE},
    answer=against_size,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=(presets.FIGURE_2_SIZE,),
    slow=(TIGHT,),
    layout=layout(RULE),
    more=MORE,
)
