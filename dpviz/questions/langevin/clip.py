"""Largest step size against the norm that gradients are clipped to."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpviz.charts.guides import Guide
from dpviz.charts.plot import Axis
from dpviz.questions.answer import Answer, Note
from dpviz.questions.langevin import presets, sizes
from dpviz.questions.langevin.chain import EPSILON_POINTS, TIGHT, Chain, ChainFacts, known, step_sizes
from dpviz.questions.langevin.fields import SETTINGS, layout
from dpviz.questions.langevin.sizes import headline, size_plot, theorems
from dpviz.questions.langevin.words import ASSUMPTIONS, MORE, formulas, metrics
from dpviz.questions.question import Question


def against_clip(**setting: Any) -> Answer[ChainFacts]:
    """The largest step size for the claim at each L, by theorem; keywords as in `Chain`."""
    chain = Chain(**setting)
    x = np.geomspace(min(0.05, chain.clip / 2.0), max(20.0, 2.0 * chain.clip), EPSILON_POINTS)
    # Everything depends on L²η alone: one solution serves all L.
    curves = {t: float(step_sizes(chain, t, chain.claim)) * (chain.clip / x) ** 2 for t in theorems(chain)}
    axis = Axis("gradient norm L", column="clip", log=True, hover="gradient norm L = %{x:.4~g}")
    here = Guide("x", chain.clip, f"L = {chain.clip:g}", told=False)
    return Answer(size_plot(chain, curves, x, axis, here), known(chain))


def notes(a: Answer[ChainFacts]) -> list[Note]:
    return sizes.notes(
        a, Note("Composed exactly, the largest step size goes with 1/L²; Li et al. read about 1/L from their Fig. 2.")
    )


CLIP: Question[ChainFacts] = Question(
    key="langevin_clip",
    option="clip",
    title="Largest step size against L",
    settings=SETTINGS,
    answer=against_clip,
    headline=headline,
    metrics=metrics,
    notes=notes,
    formulas=formulas,
    assumptions=ASSUMPTIONS,
    presets=(presets.FIGURE_2_CLIP,),
    slow=(TIGHT,),
    layout=layout(),
    more=MORE,
)
