"""The tight value of a known distribution's Bayesian DP, where an example keeps its rank in every step."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from dpviz.charts.marks import Band
from dpviz.charts.plot import LinePlot
from dpviz.gradients.law_tight import law_tight
from dpviz.questions import tight_band
from dpviz.questions.answer import Answer
from dpviz.questions.compose.bayesian import failure_of
from dpviz.questions.compose.curves import ComposeFacts
from dpviz.questions.compose.law import law_of
from dpviz.questions.tight_band import LARGEST_EPSILON, TightBand


def rank_key(a: Answer[ComposeFacts]) -> Hashable | None:
    """What decides it; None where no tight interval is asked, or there is none: for the strong form, at a large ε."""
    g, law = a.given, a.facts.law
    if law is None or "tight" not in g["curves"] or g["definition"] != "2" or not law.last <= LARGEST_EPSILON:
        return None
    decide = ("mechanism", "steps", "log_steps", "quantile")
    return (*(g[key] for key in decide), failure_of(g), g["gradients"].key)


def rank_part(a: Answer[ComposeFacts]) -> TightBand:
    """The interval at marked steps; a second."""
    steps = tight_band.marked_steps(a.given["steps"], log=a.given["log_steps"])
    found = law_tight(**law_of(a.given), steps=steps)
    return TightBand(steps, found.lower, found.upper)


def with_rank(a: Answer[ComposeFacts], found: TightBand) -> Answer[ComposeFacts]:
    """The same answer with it."""
    assert isinstance(a.plot, LinePlot)
    name = "Bayesian, tight"
    band = Band(name, found.x, found.lower, found.upper, key="bayesian_tight", family="bayesian")
    return replace(a, plot=replace(a.plot, bands=(*a.plot.bands, band)), facts=replace(a.facts, rank=found))
