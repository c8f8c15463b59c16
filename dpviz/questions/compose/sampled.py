"""What a sample of m norms of a known distribution would say: the estimate as printed, and the certified bound."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace

from dpviz.charts.marks import Line
from dpviz.charts.plot import LinePlot
from dpviz.fields import numbers
from dpviz.gradients.law_sample import LawSample, law_sample
from dpviz.questions import guessing
from dpviz.questions.answer import Answer, Note
from dpviz.questions.compose.bayesian import Array, failure_of
from dpviz.questions.compose.curves import ComposeFacts, SampledCost
from dpviz.questions.compose.law import law_of
from dpviz.questions.methods import NAMES

STRIDE = 3  # of the known distribution's points has a value: a sample costs more


def sampled_key(a: Answer[ComposeFacts]) -> Hashable | None:
    """What decides it; None where no sample is asked, where γ leaves nothing of δ_μ, or along the steps of one plan."""
    g, law = a.given, a.facts.law
    if law is None or g["samples"] is None or g["reading"] == "running" or g["failure"] >= failure_of(g):
        return None
    decide = ("mechanism", "steps", "log_steps", "quantile", "definition", "order", "samples", "failure")
    return (*(g[key] for key in decide), failure_of(g), g["gradients"].key)


def sampled_part(a: Answer[ComposeFacts]) -> SampledCost:
    """Both at some of the steps; some 30 ms."""
    g = a.given
    assert a.facts.law is not None
    steps = a.facts.law.steps[::-1][::STRIDE][::-1]
    cost = law_sample(
        **law_of(g),
        steps=steps,
        samples=g["samples"],
        failure=g["failure"],
        definition=int(g["definition"]),
        orders=None if g["order"] is None else (g["order"] + 1.0,),
    )
    return SampledCost(steps, cost)


def with_sampled(a: Answer[ComposeFacts], found: SampledCost) -> Answer[ComposeFacts]:
    """The same answer with both curves: the bound solid, the estimate dashed."""
    assert isinstance(a.plot, LinePlot)
    name = f"certified by {numbers.steps(a.given['samples'])} norms"
    cost: LawSample = found.cost
    lines = (
        _line("bayesian_sample", name, found.steps, cost.certified, a, approximate=False),
        _line("bayesian_printed", NAMES["bayesian_printed"], found.steps, cost.estimate, a, approximate=True),
    )
    plot = replace(a.plot, lines=(*a.plot.lines, *lines))
    return replace(a, plot=plot, facts=replace(a.facts, sampled=found))


def _line(key: str, name: str, steps: Array, epsilon: Array, a: Answer[ComposeFacts], *, approximate: bool) -> Line:
    right = guessing.allowed("right by ε_μ alone:", epsilon, failure_of(a.given))
    return Line(key, name, steps, epsilon, "bayesian", approximate=approximate, hover=(right,), kept=False)


def sampled_notes(a: Answer[ComposeFacts]) -> list[Note]:
    """What the sample proves, beside the distribution itself; why there is none."""
    g, law = a.given, a.facts.law
    if law is None or g["samples"] is None:
        return []
    if g["reading"] == "running":
        return [Note("A sample of norms is drawn for plans alone: set “Bayesian curve” to “Planned”.", "caution")]
    if g["failure"] >= failure_of(g):
        limits = f"γ = {numbers.delta(g['failure'])} is not below δ_μ = {numbers.delta(failure_of(g))}"
        return [Note(f"A sample proves nothing here: {limits}, out of which it is paid. Lower γ.", "problem")]
    if a.facts.sampled is None:
        return []
    certified, estimate = (float(side[-1]) for side in (a.facts.sampled.cost.certified, a.facts.sampled.cost.estimate))
    size, gamma = numbers.steps(g["samples"]), numbers.delta(g["failure"])
    proof = f"ε_μ ≤ {numbers.epsilon(certified, up=True)}" if math.isfinite(certified) else "nothing"
    return [
        Note(
            f"{size} norms of this distribution prove {proof} (γ = {gamma}); the distribution itself costs "
            f"{numbers.epsilon(law.last, up=True)} at most. The estimate as printed, "
            f"{numbers.epsilon(estimate, up=True)}, is no bound, and stands for the strong form."
        )
    ]
